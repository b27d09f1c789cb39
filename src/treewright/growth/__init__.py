"""Growing trees and sending rows down them: the only room with compiled code.

Nothing is imported here, because loading Numba takes a quarter of a second: `engine` is imported when a
learner first fits, `descend` when it first predicts.
"""
