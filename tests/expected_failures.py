"""Checks of scikit-learn that do not apply to some learners, with the reason."""

from __future__ import annotations

_WEIGHT_EQUIVALENCE = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def weight_equivalence(reason: str, *more: str) -> dict[str, str]:
    """A row of weight 2 is not the same as two rows, for this reason; `more` are checks that fail for it, too."""
    return dict.fromkeys((*_WEIGHT_EQUIVALENCE, *more), reason)


FOLDS = weight_equivalence("copies of a row are assigned to different folds, a row with a weight is not")
NO_WEIGHTS = weight_equivalence(
    "k-nearest neighbours, in the default set, take no weights", "check_sample_weights_not_overwritten"
)
