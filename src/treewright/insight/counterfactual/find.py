"""`counterfactual`: the nearest change of a row that changes the prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from treewright.estimators.base import TableLearner, columns_of, read_rows, reading_values
from treewright.estimators.parameters import is_whole, parameter_error
from treewright.estimators.single.base import TreeLearner
from treewright.insight.counterfactual.choices import MOST_VALUES, Choices, Limits, choices_of
from treewright.insight.counterfactual.goals import Goal, Interval
from treewright.insight.counterfactual.leaves import distinct_choices, list_leaves
from treewright.insight.counterfactual.models import (
    goal_of,
    loose_columns,
    searchable_sum,
    thresholds_of,
    tolerance_of,
)
from treewright.insight.counterfactual.result import Change, Counterfactual
from treewright.insight.counterfactual.search import (
    Found,
    Plan,
    cost_of,
    search_predictions,
    search_sum,
    search_tree,
    without_needless,
)
from treewright.insight.one_row import check_model, names_of_columns, open_row
from treewright.insight.shapley.models import SumOfTrees
from treewright.table import read_frame
from treewright.table.categories import some
from treewright.table.column import Column, Unit
from treewright.table.frame import read_like
from treewright.table.sparse import in_full
from treewright.tree.descent import descend_rows


def counterfactual(
    model: Any,
    row: Any,
    target: Any = None,
    *,
    frozen: Sequence[str] = (),
    only_increase: Sequence[str] = (),
    only_decrease: Sequence[str] = (),
    X: Any = None,
    max_nodes: int = 20_000,
) -> Counterfactual:
    """Find the nearest change of a row that changes the prediction of a model.

    Nearer is a change of fewer columns. Of changes of equally many columns, the one with the smaller sum of magnitudes
    is nearer:

    - A category: 1. An ordered category: the distance in the order, divided by the largest possible one. A value
      instead of a missing one: 1.
    - A number with `X`: the change divided by the standard deviation of the column in X. Columns change only to values
      that occur in X.
    - A number without `X`: the fraction of the column's thresholds in the model (for forests and boosting: of the
      borders of its bins) that the change crosses. The new value is next to a threshold.

    The result is proven to be the nearest one for single trees, by one pass over the leaves that training rows reach.
    For forests, bagging and gradient boosting, branch and bound proves it, or states how much nearer another one could
    be if `max_nodes` is not enough. For other models, all changes of one column, then of two, and so on are predicted,
    with at most 32 values of each number in X.

    Parameters
    ----------
    model : fitted classifier or regressor of treewright
    row : dict, one-row table, list or array
        The row to change.
    target : class, (low, high) or None, default=None
        The wanted class, or an interval for a number. None is any other class.
    frozen : list of column names, default=()
        Columns that keep their value.
    only_increase, only_decrease : list of column names, default=()
        Numbers and ordered categories that may only become larger, or smaller. If the value is missing it stays so.
    X : table or None, default=None
        Training rows, for the spread and the values of the columns. Other models than sums of trees need them.
    max_nodes : int, default=20000
        Number of boxes of choices (for other models: of predictions) after which the search ends.

    Returns
    -------
    Counterfactual
        Prints as sentences; `row` is the changed row, `changes` what has changed, `proven` and `bound` what is known
        about nearer ones.

    Examples
    --------
    >>> from treewright import CARTClassifier, counterfactual, datasets
    >>> iris = datasets.load_iris()
    >>> model = CARTClassifier().fit(iris.X, iris.y)
    >>> counterfactual(model, [5.1, 3.5, 1.4, 0.2], target="virginica", X=iris.X)
    The prediction changes from setosa to virginica with:
    column        from  to  magnitude
    petal_length  1.4   5       2.046
    It is proven that no allowed change is nearer.
    """
    check_model(model)
    if getattr(model, "n_outputs_", 1) != 1:
        raise ValueError("the model predicts several targets, and a counterfactual is defined for one")
    if not is_whole(max_nodes, 1):
        raise parameter_error("max_nodes", max_nodes, "a whole number of 1 or more")
    table = open_row(model, row)
    found = searchable_sum(model)
    if found is None and X is None:
        raise ValueError(
            f"{type(model).__name__} is not a sum of trees whose thresholds could be tried; "
            "give training rows as X, whose values are tried"
        )
    problem = _open(model, table, found, X)
    wanted = _read_target(model, target, problem.prediction)
    limits = _read_limits(problem, frozen, only_increase, only_decrease)
    goal_words = _goal_words(wanted, problem.prediction)
    if wanted is not None and Goal(*_NOTHING, wanted, problem.prediction).is_reached(problem.prediction):
        return _result(problem, Found({}, True, (0, 0.0)), problem.choices(limits, None), goal_words)
    return _search(problem, found, wanted, limits, max_nodes, goal_words)


# The conditions of a goal that is only compared with predictions.
_NOTHING = np.zeros((0, 0)), np.zeros(0), True


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, a row in its terms, and the training rows if they are given."""

    model: Any
    columns: tuple[Column, ...]
    row: np.ndarray
    observed: np.ndarray | None
    prediction: Any
    reads_values: bool

    def choices(self, limits: Limits, thresholds: list[np.ndarray] | None, tolerance: float = 0.0) -> list[Choices]:
        """What each column may change to."""
        found = []
        for place, column in enumerate(self.columns):
            own = float(self.row[0, place])
            training = None if self.observed is None else self.observed[:, place]
            one = choices_of(column, own, None if thresholds is None else thresholds[place], training, tolerance)
            allowed = limits.allows(place, own, one.values)
            allowed[0] = True
            found.append(one.take(np.flatnonzero(allowed)))
        return found

    def has_many_values(self) -> bool:
        """Whether some number has more training values than are tried where thresholds are not known."""
        if self.observed is None:
            return False
        numbers = [place for place, column in enumerate(self.columns) if column.is_numeric]
        return any(len(np.unique(self.observed[:, place])) > MOST_VALUES for place in numbers)

    def predict(self, rows: np.ndarray) -> list[Any]:
        """The predictions for rows in the terms of the model."""
        if self.reads_values:
            return np.asarray(reading_values(self.model).predict(rows)).tolist()
        lines = [[user_value(*pair) for pair in zip(self.columns, line, strict=True)] for line in rows.tolist()]
        if not hasattr(self.model, "feature_names_in_"):
            return np.asarray(self.model.predict(lines)).tolist()
        names = [column.name for column in self.columns]
        return np.asarray(self.model.predict([dict(zip(names, line, strict=True)) for line in lines])).tolist()

    def changed(self, plan: Plan, choices: list[Choices]) -> np.ndarray:
        """The row with a change."""
        row = self.row.copy()
        for place, choice in plan.items():
            row[0, place] = choices[place].values[choice]
        return row


def _open(model: Any, table: Any, found: SumOfTrees | None, X: Any) -> Problem:
    prediction = np.asarray(model.predict(table)).tolist()[0]
    named = hasattr(model, "feature_names_in_")
    if isinstance(model, TableLearner):
        row = np.array(in_full(read_rows(model, table)), dtype=np.float64)
        observed = None if X is None else np.asarray(in_full(read_rows(model, X)), dtype=np.float64)
        return Problem(model, columns_of(model), row, observed, prediction, found is not None)
    training = read_frame(X)
    if named:
        places = {column.name: place for place, column in enumerate(training.columns)}
        absent = [name for name in names_of_columns(model) if name not in places]
        if absent:
            raise ValueError(f"X lacks columns that the model was trained on: {some(absent, most=10)}")
        order = [places[name] for name in names_of_columns(model)]
    else:
        order = list(range(len(training.columns)))
    columns = tuple(training.columns[place] for place in order)
    row = np.array(in_full(read_like(table, columns, named=named)), dtype=np.float64)
    observed = np.asarray(in_full(training.values), dtype=np.float64)[:, order]
    return Problem(model, columns, row, observed, prediction, False)


def _search(
    problem: Problem, found: SumOfTrees | None, wanted: Any, limits: Limits, max_nodes: int, words: str
) -> Counterfactual:
    """Search by the leaves of a tree, by branch and bound, or by predictions."""
    if found is None:
        choices = problem.choices(limits, None)
        goal = Goal(*_NOTHING, wanted, problem.prediction)
        best = _search_any(problem, choices, goal, max_nodes)
        if problem.has_many_values():
            note = f"At most {MOST_VALUES} values of each number were tried, so another change may be nearer."
            best = Found(best.plan, False, (0 if best.plan is None else 1, 0.0))
            return replace(_result(problem, best, choices, words), note=note)
        return _result(problem, best, choices, words)
    choices = problem.choices(limits, thresholds_of(problem.model), tolerance_of(problem.model))
    goal = goal_of(problem.model, found, problem.prediction, wanted)
    if not len(goal.direction):
        return _result(problem, Found(None, True, (0, 0.0)), choices, words)
    loose = loose_columns(problem.model, problem.row)
    leaves = list_leaves(found, problem.row, choices, loose, found.constant)
    if not loose:
        leaves, choices = distinct_choices(leaves, choices)

    def check(plan: Plan) -> bool:
        row = problem.changed(plan, choices)
        return goal.is_reached(problem.predict(row)[0]) and _is_trained(problem.model, row)

    if leaves.n_trees == 1 and not leaves.is_divided:
        best = search_tree(leaves, choices, goal, check)
    else:
        best = search_sum(leaves, choices, goal, check, max_nodes)
    return _result(problem, best, choices, words)


def _is_trained(model: Any, row: np.ndarray) -> bool:
    """Whether training rows reach the leaves of a single tree that a row reaches."""
    if not isinstance(model, TreeLearner):
        return True
    return bool((model.tree_.weight[descend_rows(model.tree_, row).nodes] > 0.0).all())


def _search_any(problem: Problem, choices: list[Choices], goal: Goal, max_nodes: int) -> Found:
    """Search by predictions; where there are too many, from the training rows that have the wanted prediction."""

    def check_many(plans: list[Plan]) -> list[bool]:
        if not plans:
            return []
        rows = np.concatenate([problem.changed(plan, choices) for plan in plans])
        return [goal.is_reached(prediction) for prediction in problem.predict(rows)]

    best = search_predictions(choices, check_many, max_nodes)
    if best.plan is None and not best.proven:
        best = Found(_from_training(problem, choices, goal, check_many), False, best.bound)
    return best


# So many training rows with the wanted prediction are the start of a change.
MOST_STARTS = 10


def _from_training(
    problem: Problem, choices: list[Choices], goal: Goal, check_many: Callable[[list[Plan]], list[bool]]
) -> Plan | None:
    """A change towards a training row that has the wanted prediction, without the columns that need not change."""
    assert problem.observed is not None
    plans = []
    for line in problem.observed[:1000]:
        nearest = [
            int(np.nanargmin(np.append(np.abs(one.values - line[k]), 0.0 if np.isnan(line[k]) else np.nan)))
            for k, one in enumerate(choices)
        ]
        plans.append({place: at for place, at in enumerate(nearest) if 0 < at < len(choices[place])})
    reached = [plan for plan, is_reached in zip(plans, check_many(plans), strict=True) if is_reached]
    reached.sort(key=lambda plan: (len(plan), cost_of(plan, choices)))
    shorter = [without_needless(plan, lambda one: check_many([one])[0]) for plan in reached[:MOST_STARTS]]
    return min(shorter, key=lambda plan: (len(plan), cost_of(plan, choices)), default=None)


def _read_target(model: Any, target: Any, own: Any) -> Any:
    """The wanted class or interval; None for any other class."""
    if is_classifier(model):
        if target is None or target in model.classes_.tolist():
            return target
        raise ValueError(f"target is {target!r}, and the classes are {some(model.classes_.tolist(), most=8)}")
    low_high = "an interval (low, high), such as (10, 20) or (10, float('inf'))"
    if target is None:
        raise ValueError(f"the model predicts numbers, so target must be {low_high}")
    ends = list(target) if isinstance(target, tuple | list) else []
    if len(ends) != 2 or not all(isinstance(end, int | float | np.number) for end in ends) or not ends[0] <= ends[1]:
        raise parameter_error("target", target, low_high)
    return Interval(float(ends[0]), float(ends[1]))


def _read_limits(problem: Problem, frozen: Any, increasing: Any, decreasing: Any) -> Limits:
    names = [column.name for column in problem.columns]
    read = {}
    for option, given in (("frozen", frozen), ("only_increase", increasing), ("only_decrease", decreasing)):
        listed = [given] if isinstance(given, str) else list(given)
        unknown = [name for name in listed if name not in names]
        if unknown:
            there_are = some(names, most=8)
            raise ValueError(f"{option} has {unknown[0]!r}, which is no column of the model; there are {there_are}")
        read[option] = frozenset(names.index(name) for name in listed)
        for place in read[option]:
            if option != "frozen" and problem.columns[place].is_categorical:
                name = names[place]
                raise ValueError(
                    f"{option}: column {name!r} has categories without an order; use frozen to keep its value"
                )
    return Limits(read["frozen"], read["only_increase"], read["only_decrease"])


def _goal_words(wanted: Any, own: Any) -> str:
    return f"another prediction than {own}" if wanted is None else f"the prediction {wanted}"


def _result(problem: Problem, best: Found, choices: list[Choices], words: str) -> Counterfactual:
    if best.plan is None:
        return Counterfactual((), None, problem.prediction, None, 0.0, best.proven, best.bound, words)
    changed = problem.changed(best.plan, choices)
    changes = tuple(
        Change(
            problem.columns[place].name,
            _as_text(problem.columns[place], float(problem.row[0, place])),
            problem.columns[place].write(float(changed[0, place])),
            float(choices[place].costs[choice]),
        )
        for place, choice in sorted(best.plan.items())
    )
    row = {
        column.name: user_value(column, float(value)) for column, value in zip(problem.columns, changed[0], strict=True)
    }
    after = problem.predict(changed)[0] if best.plan else problem.prediction
    distance = cost_of(best.plan, choices)
    return Counterfactual(changes, row, problem.prediction, after, distance, best.proven, best.bound, words)


def _as_text(column: Column, value: float) -> str:
    if np.isnan(value):
        return "missing"
    return "an unseen category" if value < 0 and not column.is_numeric else column.write(value)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def user_value(column: Column, value: float) -> Any:
    """A value as the user would give it: a number, a date, a category; None if it is missing."""
    if np.isnan(value) or (value < 0 and not column.is_numeric):
        return None
    if not column.is_numeric:
        return column.categories[int(value)]
    if column.unit is Unit.DATE:
        return date(1970, 1, 1) + timedelta(days=value)
    if column.unit in (Unit.DATETIME, Unit.UTC):
        moment = _EPOCH + timedelta(microseconds=value)
        return moment if column.unit is Unit.UTC else moment.replace(tzinfo=None)
    return float(value)
