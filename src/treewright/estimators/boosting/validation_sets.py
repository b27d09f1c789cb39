"""Validation sets that a user gives to `fit`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class ValidationSet:
    """The rows that a user gives to validate on."""

    X: Any
    y: Any
    sample_weight: Any
    init_score: Any

    @property
    def is_given(self) -> bool:
        if (self.X is None) != (self.y is None):
            given, missing = ("X_val", "y_val") if self.y is None else ("y_val", "X_val")
            raise ValueError(f"{given} is provided, but {missing} was not provided; give both or none")
        if self.X is None and (self.sample_weight is not None or self.init_score is not None):
            raise ValueError("sample_weight_val and init_score_val describe rows of X_val, which is missing")
        return self.X is not None


def read_sets(X_val: Any, y_val: Any, weights: Any, scores: Any, eval_set: Any) -> list[ValidationSet]:
    """The validation sets that a user gives: one as X_val and y_val, or several as a list of pairs."""
    if eval_set is None:
        one = ValidationSet(X_val, y_val, weights, scores)
        return [one] if one.is_given else []
    if X_val is not None or y_val is not None:
        raise ValueError("X_val and eval_set both name rows to validate on; give one of them only")
    pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise ValueError("eval_set must be a list of pairs of a table and its target, such as [(X_val, y_val)]")
    described = []
    for name, given in (("sample_weight_val", weights), ("init_score_val", scores)):
        if given is not None and (not isinstance(given, list | tuple) or len(given) != len(pairs)):
            raise ValueError(f"{name} must be a list with an entry for each of the {len(pairs)} pairs of eval_set")
        described.append([None] * len(pairs) if given is None else list(given))
    return [ValidationSet(*pair, *more) for pair, *more in zip(pairs, *described, strict=True)]
