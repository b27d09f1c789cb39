"""Growing trees and sending rows down them.

Nothing is imported here, because loading Numba takes a quarter of a second. An engine is imported when a model is first
fitted, and its walk when the model first predicts.
"""
