"""The vote of the members of an ensemble, and the contributions of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from treewright.estimators.base import Ensemble, TableLearner, columns_of, read_rows
from treewright.estimators.boosting.base import Boosting
from treewright.insight.diversity import predictions_of_members
from treewright.insight.explanation.parts import Contribution, Contributions, Member, TreeSums
from treewright.insight.one_row import names_of_columns, value_of
from treewright.insight.shapley import shap_values
from treewright.insight.shapley.models import sum_of_trees
from treewright.table.sparse import in_full


def vote_of(model: Any, table: Any) -> tuple[Member, ...]:
    """The prediction of each member for one row; empty for models without members that predict the target."""
    if not isinstance(model, Ensemble) or getattr(model, "n_outputs_", 1) > 1:
        return ()
    predictions = predictions_of_members(model, table)
    weights = np.asarray(model.member_weights(), dtype=np.float64)
    return tuple(
        Member(name, line[0].item() if isinstance(line[0], np.generic) else line[0], float(weight))
        for name, line, weight in zip(_names(model, len(predictions)), predictions, weights, strict=True)
    )


def _names(model: Any, n_members: int) -> list[str]:
    named = getattr(model, "named_estimators_", None) or {}
    names = [name for name, member in named.items() if not isinstance(member, str)]
    return names if len(names) == n_members else [str(number) for number in range(n_members)]


def differs(model: Any, members: tuple[Member, ...], prediction: Any) -> tuple[Member, ...]:
    """The members that predict another class; for numbers, those more than two standard deviations from the mean."""
    if is_classifier(model):
        return tuple(member for member in members if member.prediction != prediction)
    numbers = np.array([member.prediction for member in members], dtype=np.float64)
    far = np.abs(numbers - numbers.mean()) > 2.0 * numbers.std() if len(numbers) else numbers > 0
    return tuple(member for member, is_far in zip(members, far, strict=True) if is_far)


def sums_of_boosting(model: Any, table: Any) -> tuple[TreeSums, ...]:
    """For each score of gradient boosting, what its trees add and subtract; empty for other models."""
    if not isinstance(model, Boosting):
        return ()
    found = sum_of_trees(model)
    assert found is not None
    values = np.asarray(in_full(found.read(table)))
    start = found.constant + (0.0 if found.of_row is None else found.of_row(table)[0])
    sums = []
    for place, output in enumerate(found.output_names):
        added = [
            _leaf_values(group, values, *part) for group in found.groups if (part := group.outputs[place]) is not None
        ]
        by_tree = np.concatenate(added)
        up, down = by_tree[by_tree > 0.0], by_tree[by_tree < 0.0]
        initial = float(start[place])
        score = initial + float(by_tree.sum())
        sums.append(TreeSums(output, initial, score, len(up), float(up.sum()), len(down), float(down.sum())))
    return tuple(sums)


def _leaf_values(group: Any, values: np.ndarray, output: int, sign: float) -> np.ndarray:
    """What each tree of a group adds for one row."""
    rows = group.encode(values)
    added = []
    for tree in group.trees:
        passed = tree.fractions(rows)[0]
        reached = np.ones(len(passed))
        for node in range(1, len(passed)):  # in preorder, so the parent comes first
            reached[node] = reached[tree.parent[node]] * passed[node]
        leaf = tree.is_leaf
        added.append(sign * group.weight * float(reached[leaf] @ tree.value[leaf, output]))
    return np.array(added)


def contributions_of(model: Any, table: Any, background: Any) -> tuple[tuple[Contributions, ...], str]:
    """The contributions of the columns to each output, and why there are none if there are none."""
    name = type(model).__name__
    if getattr(model, "n_outputs_", 1) != 1:
        return (), "Contributions of the columns are computed for one target, and this model predicts several."
    if background is None and sum_of_trees(model) is None:
        return (), (
            f"The prediction of {name} is not a sum of trees, so the contributions of the columns need background "
            "rows; give some training rows as background."
        )
    found = shap_values(model, table, background=background)
    shown = values_as_text(model, table)
    n_outputs = len(found.output_names)
    values, base = found.values.reshape(1, len(shown), n_outputs), found.base_values.reshape(1, n_outputs)
    return tuple(
        Contributions(
            output,
            float(base[0, place]),
            tuple(
                Contribution(column, shown[k], float(values[0, k, place]))
                for k, column in enumerate(found.feature_names)
            ),
        )
        for place, output in enumerate(found.output_names)
    ), ""


def values_as_text(model: Any, table: Any) -> list[str]:
    """The values of one row as people write them."""
    if not isinstance(model, TableLearner):
        return [_plain_text(value_of(table, place)) for place in range(len(names_of_columns(model)))]
    values = np.asarray(in_full(read_rows(model, table)))[0]
    return [_as_text(column, float(value)) for column, value in zip(columns_of(model), values, strict=True)]


def _as_text(column: Any, value: float) -> str:
    if np.isnan(value):
        return "missing"
    return "an unseen category" if value < 0 and not column.is_numeric else column.write(value)


def _plain_text(value: Any) -> str:
    return "missing" if value is None or value != value else str(value)
