"""The error for arguments that scikit-learn refuses by a TypeError in some learners and by a ValueError in others."""

from __future__ import annotations


class ArgumentError(TypeError, ValueError):
    """An argument that cannot be used; code that expects either error catches it."""


class UnsupportedTargetError(NotImplementedError, ValueError):
    """A kind of target that a learner does not take."""
