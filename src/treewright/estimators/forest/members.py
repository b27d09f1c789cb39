"""The trees of a forest as single learners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Members(Sequence[Any]):
    """The trees of a fitted forest as single learners, created on access."""

    def __init__(self, forest: Any) -> None:
        self._forest = forest

    def __len__(self) -> int:
        return len(self._forest.forest_)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        forest = self._forest
        member = forest._single_tree()
        member.tree_ = forest.forest_[index]
        for name in ("classes_", "n_classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(forest, name):
                setattr(member, name, getattr(forest, name))
        return member
