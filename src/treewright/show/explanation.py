"""`explain`: why a model predicts what it predicts for one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from treewright.estimators.base import read_rows
from treewright.estimators.single.base import TreeLearner
from treewright.insight.explanation.ensembles import contributions_of, differs, sums_of_boosting, vote_of
from treewright.insight.explanation.parts import Contributions, Member, PathNode, ReachedLeaf, TreeSums
from treewright.insight.explanation.path import explain_path
from treewright.insight.one_row import check_model, open_row
from treewright.insight.text_table import write_figure
from treewright.show.sections import Section, html_of_sections, write_sections
from treewright.table.column import write_number
from treewright.table.sparse import in_full

# Longer lists are cut when they are printed; `to_dict` has all.
MOST_LINES = 20


@dataclass(frozen=True, eq=False, repr=False)
class RowExplanation:
    """Why a model predicts what it predicts for one row; prints as text.

    Attributes
    ----------
    learner : the class of the model.
    prediction : the predicted class or number; a tuple for several targets.
    is_classes : whether the target is classes.
    probabilities : the class probabilities, as pairs of class and probability; empty for numbers.
    path : for a single tree, the branches that the row follows, each with the training rows at the node it leads to.
    leaves : for a single tree, the leaves that the row reaches. A row with a missing value may reach several.
    n_rows : for a single tree, the weight of all training rows; without weights, their number.
    members : for an ensemble, the prediction of each member.
    differing : the members that predict another class; for numbers, those more than two standard deviations from the
        mean of the members.
    sums : for gradient boosting, what the trees add to and subtract from each score.
    contributions : for an ensemble, the contributions of the columns to each output.
    note : why there are no contributions, if there are none; else empty.
    """

    learner: str
    prediction: Any
    is_classes: bool
    probabilities: tuple[tuple[Any, float], ...] = ()
    path: tuple[PathNode, ...] = ()
    leaves: tuple[ReachedLeaf, ...] = ()
    n_rows: float = 0.0
    members: tuple[Member, ...] = ()
    differing: tuple[Member, ...] = ()
    sums: tuple[TreeSums, ...] = ()
    contributions: tuple[Contributions, ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain values, ready for JSON."""
        described: dict[str, Any] = {
            "learner": self.learner,
            "prediction": _plain(self.prediction),
            "probabilities": [{"class": _plain(name), "probability": share} for name, share in self.probabilities],
        }
        if self.leaves:
            described["training_rows"] = self.n_rows
            described["path"] = [asdict(one) for one in self.path]
            described["leaves"] = [_describe_leaf(leaf) for leaf in self.leaves]
            return described
        if self.members:
            described["members"] = [{**asdict(one), "prediction": _plain(one.prediction)} for one in self.members]
            described["differing"] = [one.name for one in self.differing]
        if self.sums:
            described["sums"] = [{**asdict(one), "output": _plain(one.output)} for one in self.sums]
        described["contributions"] = [{**asdict(one), "output": _plain(one.output)} for one in self.contributions]
        if self.note:
            described["note"] = self.note
        return described

    def sections(self) -> list[Section]:
        """The explanation as titled sections of sentences and tables."""
        found = [Section(f"{self.learner} predicts {_write(self.prediction)}", tuple(_probabilities(self)))]
        if self.leaves:
            found.append(_path_section(self))
            found.append(_leaf_section(self))
        if self.members:
            found.append(_vote_section(self))
        if self.sums:
            found.append(_sums_section(self))
        shown = _contributions_section(self)
        return [*found, shown] if shown is not None else found

    def __str__(self) -> str:
        return write_sections(self.sections())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_of_sections(self.sections())


def explain(model: Any, row: Any, *, background: Any = None) -> RowExplanation:
    """Explain the prediction of a model for one row.

    - For a single tree: the path in words, with the training rows at each node, and the leaf. Each step states what
      happened to a missing or unseen value: a surrogate, fractions of the row, an imputed value, or the branch of
      missing values.
    - For an ensemble: the votes of the members, the members that differ, and the contribution of each column to the
      prediction (its Shapley value, see `shap_values`).

    Parameters
    ----------
    model : fitted classifier or regressor of treewright
    row : dict, one-row table, list or array
        One row. A list or an array has the values in the order of the columns.
    background : table or None, default=None
        Rows that represent columns that are not known, for the contributions. AdaBoost, voting, stacking, averaging
        and hard votes are not sums of trees and need them; without background their contributions are left out.

    Returns
    -------
    RowExplanation

    Examples
    --------
    >>> from treewright import C45Classifier, datasets, explain
    >>> weather = datasets.load_weather()
    >>> model = C45Classifier().fit(weather.X, weather.y)
    >>> explain(model, {"outlook": "rainy", "temperature": "mild", "humidity": "high", "wind": "weak"})
    C45Classifier predicts yes
    Probabilities: yes 1.000, no 0.000.
    <BLANKLINE>
    Path
    The tree was grown from 14 training rows.
    1. outlook is rainy, so outlook = rainy: 5 of 14 training rows (35.7%).
    2. wind is weak, so wind = weak: 3 of 14 training rows (21.4%).
    <BLANKLINE>
    Leaf
    Node 6 predicts yes, from 3 training rows (21.4%): yes 3 (100.0%), no 0 (0.0%).
    """
    check_model(model)
    table = open_row(model, row)
    prediction = _prediction(model, table)
    described: dict[str, Any] = {
        "learner": type(model).__name__,
        "prediction": prediction,
        "is_classes": is_classifier(model),
        "probabilities": _shares(model, table),
    }
    if isinstance(model, TreeLearner):
        tree = model.tree_
        path, leaves = explain_path(tree, np.asarray(in_full(read_rows(model, table)), dtype=np.float64))
        return RowExplanation(**described, path=path, leaves=leaves, n_rows=tree.root.weight)
    members = vote_of(model, table)
    contributions, note = contributions_of(model, table, background)
    return RowExplanation(
        **described,
        members=members,
        differing=differs(model, members, prediction),
        sums=sums_of_boosting(model, table),
        contributions=contributions,
        note=note,
    )


def _prediction(model: Any, table: Any) -> Any:
    predicted = np.asarray(model.predict(table))[0]
    if isinstance(predicted, np.ndarray):
        return tuple(predicted.tolist())
    return predicted.item() if isinstance(predicted, np.generic) else predicted


def _shares(model: Any, table: Any) -> tuple[tuple[Any, float], ...]:
    """The class probabilities, if the model has one target of classes and predicts probabilities."""
    if not is_classifier(model) or not hasattr(model, "predict_proba") or isinstance(model.classes_, list):
        return ()
    shares = np.asarray(model.predict_proba(table))[0].tolist()
    return tuple(zip(model.classes_.tolist(), shares, strict=True))


def _plain(value: Any) -> Any:
    """A class as a value for JSON."""
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _write(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_write, value))
    return write_number(value) if isinstance(value, float) else str(value)


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f}%"


def _weight(weight: float) -> str:
    return write_number(round(weight, 2))


def _describe_leaf(leaf: ReachedLeaf) -> dict[str, Any]:
    distribution = [{"class": _plain(name), "weight": weight} for name, weight in leaf.distribution]
    return {**asdict(leaf), "prediction": _plain(leaf.prediction), "distribution": distribution}


def _cut(words: Sequence[str], mark: str = ", ") -> str:
    shown = list(words[:MOST_LINES])
    return mark.join([*shown, f"... and {len(words) - MOST_LINES} more"] if len(words) > MOST_LINES else shown)


def _probabilities(found: RowExplanation) -> list[str]:
    if not found.probabilities:
        return []
    ranked = sorted(found.probabilities, key=lambda pair: -pair[1])
    return [f"Probabilities: {_cut([f'{name} {share:.3f}' for name, share in ranked])}."]


def _path_section(found: RowExplanation) -> Section:
    lines = [f"The tree was grown from {_weight(found.n_rows)} training rows."]
    if not found.path:
        lines.append("It has no splits, so every row gets the same prediction.")
    for number, one in enumerate(found.path[:MOST_LINES], 1):
        rows = f"{_weight(one.weight)} of {_weight(found.n_rows)} training rows ({_percent(one.share)})"
        fraction = "" if one.fraction == 1.0 else f" {_percent(one.fraction)} of the row follow it."
        if not one.test:
            lines.append(f"{number}. {one.column} is {one.value}: {one.reason} at a node with {rows}.{fraction}")
            continue
        why = f" ({one.reason})" if one.reason else ""
        lines.append(f"{number}. {one.column} is {one.value}, so {one.test}{why}: {rows}.{fraction}")
    if len(found.path) > MOST_LINES:
        lines.append(f"... and {len(found.path) - MOST_LINES} more steps; to_dict() has all.")
    return Section("Path", tuple(lines))


def _leaf_section(found: RowExplanation) -> Section:
    lines = []
    for leaf in found.leaves[:MOST_LINES]:
        total = sum(weight for _, weight in leaf.distribution)
        ranked = sorted(leaf.distribution, key=lambda pair: -pair[1])
        counts = [f"{name} {_weight(weight)} ({_percent(weight / total if total else 0.0)})" for name, weight in ranked]
        fraction = "" if leaf.fraction == 1.0 else f"{_percent(leaf.fraction)} of the row: "
        word = "row" if leaf.weight == 1.0 else "rows"
        rows = f"{_weight(leaf.weight)} training {word} ({_percent(leaf.share)})"
        ending = f": {_cut(counts)}." if counts else "."
        lines.append(f"{fraction}Node {leaf.node} predicts {_write(leaf.prediction)}, from {rows}{ending}")
    if len(found.leaves) > MOST_LINES:
        lines.append(f"... and {len(found.leaves) - MOST_LINES} more leaves; to_dict() has all.")
    return Section("Leaf" if len(found.leaves) == 1 else "Leaves", tuple(lines))


def _vote_section(found: RowExplanation) -> Section:
    names = [member.name for member in found.differing]
    if found.is_classes:
        return _class_votes(found, names)
    numbers = np.array([member.prediction for member in found.members], dtype=np.float64)
    spread = (
        f"The {len(numbers)} members predict {write_number(float(numbers.min()))} to "
        f"{write_number(float(numbers.max()))}, with a mean of {write_number(float(numbers.mean()))} and a standard "
        f"deviation of {write_number(float(numbers.std()))}."
    )
    far = f"More than two standard deviations from the mean: {_cut(names)}." if names else ""
    return Section("Vote", (spread, far) if far else (spread,))


def _class_votes(found: RowExplanation, names: list[str]) -> Section:
    votes: dict[Any, list[float]] = {}
    for member in found.members:
        votes.setdefault(member.prediction, []).append(member.weight)
    ranked = sorted(votes.items(), key=lambda pair: -sum(pair[1]))
    rows = tuple((str(name), str(len(weights)), _percent(sum(weights))) for name, weights in ranked[:MOST_LINES])
    others = [f"{member.name} ({member.prediction})" for member in found.differing]
    agree = f"Members that differ: {_cut(others)}." if names else f"All {len(found.members)} members agree."
    return Section("Vote", (agree,), ("class", "members", "weight"), rows, ("members", "weight"))


def _sums_section(found: RowExplanation) -> Section:
    rows = tuple(
        (
            str(one.output),
            write_figure(one.initial),
            f"{one.n_raising} by {write_figure(one.raised)}",
            f"{one.n_lowering} by {write_figure(abs(one.lowered))}",
            write_figure(one.score),
        )
        for one in found.sums[:MOST_LINES]
    )
    headers = ("score of", "initial", "trees that raise it", "trees that lower it", "score")
    return Section("Trees", (), headers, rows, headers[1:])


def _contributions_section(found: RowExplanation) -> Section | None:
    if not found.contributions:
        return Section("Contributions", (found.note,)) if found.note else None
    chosen = next((one for one in found.contributions if one.output == found.prediction), found.contributions[0])
    what = "score" if found.sums else "probability" if found.probabilities else "prediction"
    ranked = sorted(chosen.columns, key=lambda one: -abs(one.contribution))
    rows = tuple((one.column, one.value, f"{one.contribution:+.4f}") for one in ranked[:MOST_LINES])
    of = f" of {chosen.output}" if what != "prediction" else ""
    sentence = (
        f"The {what}{of} is {write_figure(chosen.total)}: {write_figure(chosen.base)} if no column is known, plus the "
        "contributions of the columns."
    )
    left = len(ranked) - len(rows)
    note = f"... and {left} more columns; to_dict() has all." if left else ""
    return Section("Contributions", (sentence,), ("column", "value", "contribution"), rows, ("contribution",), note)
