"""Parameters of the learners: stored, checked one by one, and turned into the recipe that growth reads."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from treewright.engines.criteria import CODES, OWN, criteria_of
from treewright.engines.missing_values import STRATEGIES, MissingStrategy
from treewright.estimators.equivalents import our_value
from treewright.tree.tree import UNSEEN

if TYPE_CHECKING:
    from treewright.encoding.ranks import Grid
    from treewright.engines.exact.workspace import Recipe

CLASS_CRITERIA = criteria_of(classes=True)
NUMBER_CRITERIA = criteria_of(classes=False)
CATEGORICAL = ("subset", "multiway", "one_vs_rest", "best_subset")

# What becomes of missing values.
MISSING = tuple(STRATEGIES)

# Deeper than any tree can be, and still a depth that the engine can hold.
NO_DEPTH_LIMIT = 2**31 - 1

# A level of an oblivious tree has twice the nodes of the one above, whether rows reach them or not.
MOST_LEVELS = 16

# The exhaustive search of a column's subsets rates this many at most.
MOST_SUBSETS = 512


def store_parameters(learner: Any, given: Mapping[str, Any]) -> None:
    """Store the arguments of `__init__`, which are its `locals()`, as attributes in the order of its signature.

    >>> class Learner:
    ...     def __init__(self, *, max_depth=None, n_jobs=None):
    ...         store_parameters(self, locals())
    >>> vars(Learner(n_jobs=2))
    {'max_depth': None, 'n_jobs': 2}
    """
    for name, value in given.items():
        if name != "self":
            setattr(learner, name, value)


@dataclass(frozen=True)
class Plan:
    """How to grow a tree: every choice checked, shares of rows and columns still to be resolved.

    Parameters
    ----------
    criterion, categorical, candidates, splitter, max_depth, min_samples_split, min_samples_leaf, \
    min_weight_fraction_leaf, min_split_gain, min_impurity_decrease, max_leaf_nodes, max_features, n_jobs, \
    missing, max_p_value
        As `DecisionTreeClassifier` describes them.
    quinlan : bool, default=False
        Whether to choose splits by all of C4.5's rules.
    oblivious : bool, default=False
        Whether all nodes of a level have the same split.
    textbook : bool, default=False
        Whether splits of many categories are rated as in textbooks, including the gain that categories have by chance.

    >>> Plan(max_depth=3, min_samples_leaf=0.05).recipe(n_rows=100, n_columns=4).min_samples_leaf
    5
    """

    criterion: str | Callable[..., Any] = "gini"
    categorical: str = "subset"
    candidates: str | tuple[str, float] = "midpoints"
    splitter: str | tuple[str, int] = "best"
    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    min_weight_fraction_leaf: float = 0.0
    min_split_gain: float = 0.0
    min_impurity_decrease: float = 0.0
    max_leaf_nodes: int | None = None
    max_features: int | float | str | None = None
    n_jobs: int | None = None
    missing: str | tuple[str, str] = "learned"
    max_p_value: float = 1.0
    quinlan: bool = False
    oblivious: bool = False
    textbook: bool = False

    @property
    def grid(self) -> Grid:
        """The grid of thresholds in numeric columns, None for those between neighbouring values."""
        return self.candidates if isinstance(self.candidates, tuple) else None

    @property
    def strategy(self) -> MissingStrategy:
        """What becomes of missing values."""
        return STRATEGIES[self.missing if isinstance(self.missing, str) else self.missing[0]]

    @property
    def is_random(self) -> bool:
        """Whether the seed can make a difference."""
        return self.splitter != "best" or self.max_features is not None

    @property
    def adjusts(self) -> bool:
        """Whether splits of many categories are rated without the gain that these have by chance."""
        searches = self.categorical in ("subset", "multiway") and self.splitter != "random"
        return searches and not (self.quinlan or self.textbook)

    def recipe(self, n_rows: int, n_columns: int, weights: np.ndarray | None = None) -> Recipe:
        """The recipe for a table of this size, whose rows have these weights."""
        # Imported here because only growing needs them.
        from treewright.engines.exact import layout
        from treewright.engines.exact.workspace import Recipe

        modes = {
            "multiway": layout.MULTIWAY,
            "subset": layout.SUBSET,
            "one_vs_rest": layout.ONE_VS_REST,
            "best_subset": layout.SUBSET,
        }
        among = self.splitter[1] if isinstance(self.splitter, tuple) else 1
        total_weight = 0.0 if weights is None else float(weights.sum())
        return Recipe(
            criterion=CODES[self.criterion] if isinstance(self.criterion, str) else OWN,
            categorical=int(modes[self.categorical]),
            class_boundaries=self.candidates == "class_boundaries",
            random_cuts=self.splitter == "random",
            among=min(among, n_columns * max(n_rows, MOST_SUBSETS)),
            max_depth=NO_DEPTH_LIMIT if self.max_depth is None else min(self.max_depth, NO_DEPTH_LIMIT),
            min_samples_split=max(2, _rows(self.min_samples_split, n_rows)),
            min_samples_leaf=_rows(self.min_samples_leaf, n_rows),
            min_weight_leaf=_least_weight(self.min_weight_fraction_leaf * total_weight, weights),
            min_split_gain=float(self.min_split_gain),
            # A gain may fall short of the limit by rounding alone.
            min_total_gain=self.min_impurity_decrease * total_weight * (1.0 - 1e-12),
            max_leaf_nodes=min(self.max_leaf_nodes or 0, NO_DEPTH_LIMIT),
            max_features=columns_to_draw(self.max_features, n_columns),
            quinlan=self.quinlan,
            strategy=int(self.strategy.code),
            max_p_value=self.max_p_value,
            own=0 if isinstance(self.criterion, str) else self.criterion,
            adjusts=self.adjusts,
        )


def check_plan(parameters: Mapping[str, Any], criteria: tuple[str, ...], *, single: bool = False) -> Plan:
    """Check the parameters that shape a tree; others in the mapping are not looked at.

    Parameters
    ----------
    parameters : mapping
        Parameters by name; a parameter that is not there keeps the default of `Plan`.
    criteria : tuple of str
        The criteria that the target allows, its default first.
    single : bool, default=False
        Whether this is for a single tree, which takes a criterion of the user's, too.

    >>> check_plan({"max_depth": -1}, CLASS_CRITERIA)
    Traceback (most recent call last):
        ...
    ValueError: max_depth is -1; give a whole number of 0 or more, or None for no limit
    """
    known = {field.name for field in fields(Plan)}
    chosen = {"criterion": criteria[0], **{name: parameters[name] for name in parameters if name in known}}
    same = our_value("criterion", chosen["criterion"])
    chosen["criterion"] = same if same in criteria else chosen["criterion"]
    _check_criterion(chosen, criteria, single)
    if criteria[0] in NUMBER_CRITERIA and is_text(chosen.get("candidates"), "class_boundaries"):
        raise ValueError(
            "candidates is 'class_boundaries', but a regressor's target has no classes; "
            "use 'midpoints', ('bins', k) or ('step', width)"
        )
    checked = {name: _CHECKS[name](name, value) if name in _CHECKS else value for name, value in chosen.items()}
    plan = Plan(**checked)
    if plan.oblivious:
        _check_oblivious(plan)
    return plan


def _check_criterion(chosen: Mapping[str, Any], criteria: tuple[str, ...], single: bool) -> None:
    """One of the names, or for a single tree a function that measures impurity."""
    criterion = chosen["criterion"]
    oblivious = chosen.get("oblivious", False)
    takes_functions = single and not oblivious
    if not callable(criterion):
        # Whoever writes a name means one of these.
        either = ", or a function that measures impurity" if takes_functions and not isinstance(criterion, str) else ""
        _check_choice("criterion", criterion, criteria, either)
        return
    if not takes_functions:
        who = "which oblivious trees do not take" if oblivious else "which only single trees take"
        raise ValueError(f"criterion is a function, {who}; give {_listed(criteria)}")
    _check_arguments(criterion, of_classes=criteria[0] in CLASS_CRITERIA)
    if is_text(chosen.get("candidates"), "class_boundaries"):
        raise ValueError(
            "candidates is 'class_boundaries', but an own criterion may have its best split elsewhere; use 'midpoints'"
        )


def _check_arguments(criterion: Callable[..., Any], *, of_classes: bool) -> None:
    from treewright.engines.exact.own_criterion import name_of, takes

    if takes(criterion, 1 if of_classes else 3):
        return
    expected = (
        "a classifier calls it with one argument, the class weights of a node"
        if of_classes
        else "a regressor calls it with three arguments, weight, mean and variance of the target at a node"
    )
    raise ValueError(f"criterion {name_of(criterion)!r} takes other arguments; {expected}")


def _check_oblivious(plan: Plan) -> None:
    _check_choice("categorical", plan.categorical, ("subset", "one_vs_rest", "best_subset"))
    if plan.max_depth is None or plan.max_depth > MOST_LEVELS:
        raise parameter_error(
            "max_depth",
            plan.max_depth,
            f"a whole number from 0 to {MOST_LEVELS}: each level doubles the leaves of an oblivious tree",
        )


def is_whole(value: object, least: int) -> bool:
    """Whether this is a whole number of at least `least`; True and 3.0 are none.

    >>> is_whole(3, 1), is_whole(True, 1), is_whole(3.0, 1)
    (True, False, False)
    """
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= least


def is_real(value: object) -> bool:
    """Whether this is a finite number; True is none.

    >>> is_real(0.5), is_real(float("nan")), is_real("0.5")
    (True, False, False)
    """
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)


def parameter_error(name: str, value: object, expected: str) -> ValueError:
    """The sentence for a parameter that makes no sense."""
    shown = repr(value)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return ValueError(f"{name} is {shown}; give {expected}")


def check_min_bucket(value: Any) -> float:
    """Holte's least number of rows of the majority class in an interval."""
    if not is_real(value) or value < 1:
        raise parameter_error("min_bucket", value, "a number of 1 or more")
    return float(value)


def _rows(size: int | float, n_rows: int) -> int:
    """A number of rows, or a share of them; no more than one above all, which no node can have."""
    if isinstance(size, float):
        return max(1, math.ceil(size * n_rows))
    return min(size, n_rows + 1)


def _least_weight(limit: float, weights: np.ndarray | None) -> float:
    """The limit for a sum of weights, which may fall short of it by rounding alone, but not if all are whole."""
    are_whole = weights is None or bool((weights == np.floor(weights)).all())
    return limit if are_whole else limit * (1.0 - 1e-12)


def columns_to_draw(size: int | float | str | None, n_columns: int) -> int:
    """How many columns to draw at each node: at least one, at most all."""
    if size is None:
        return n_columns
    if size == "sqrt":
        return max(1, math.isqrt(n_columns))
    if size == "log2":
        return max(1, int(math.log2(n_columns)))
    if isinstance(size, float):
        return max(1, int(size * n_columns))
    assert isinstance(size, int)
    return min(size, n_columns)


def _check_choice(name: str, value: Any, choices: tuple[str, ...], either: str = "") -> Any:
    if not is_text(value, *choices):
        raise parameter_error(name, value, f"{_listed(choices)}{either}")
    return value


def _listed(choices: tuple[str, ...]) -> str:
    return f"one of {', '.join(repr(choice) for choice in choices[:-1])} or {choices[-1]!r}"


def _check_categorical(name: str, value: Any) -> Any:
    return _check_choice(name, value, CATEGORICAL)


def _limit(least: int) -> Callable[[str, Any], int | None]:
    """A check for a whole number or None."""

    def check(name: str, value: Any) -> int | None:
        if value is not None and not is_whole(value, least):
            raise parameter_error(name, value, f"a whole number of {least} or more, or None for no limit")
        return None if value is None else int(value)

    return check


def _size(least: int, *, share_of_all: bool) -> Callable[[str, Any], int | float]:
    """A check for a number of rows or a share of them; a share of 1.0 only where all rows make sense."""

    def check(name: str, value: Any) -> int | float:
        if is_whole(value, least):
            return int(value)
        is_share = is_real(value) and not isinstance(value, numbers.Integral)
        if is_share and (0.0 < value < 1.0 or (share_of_all and value == 1.0)):
            return float(value)
        end = "]" if share_of_all else ")"
        raise ValueError(
            f"The {name!r} parameter must be an int in the range [{least}, inf) or a float in the range "
            f"(0.0, 1.0{end}, which is a share of the rows, but it is {value!r}"
        )

    return check


def _check_min_gain(name: str, value: Any) -> float:
    if not is_real(value) or value < 0.0:
        raise parameter_error(name, value, "a number of 0 or more")
    return float(value)


def _check_max_features(name: str, value: Any) -> Any:
    if value is None or is_text(value, "sqrt", "log2"):
        return value
    if is_whole(value, 1):
        return int(value)
    if is_real(value) and not isinstance(value, numbers.Integral) and 0.0 < value <= 1.0:
        return float(value)
    raise parameter_error(
        name,
        value,
        "a number of columns, a share of them between 0.0 and 1.0, 'sqrt', 'log2', or None for all",
    )


def _pair(value: Any, word: str) -> Any:
    """The second half of a pair that begins with this word, else None."""
    is_pair = isinstance(value, tuple | list) and len(value) == 2
    return value[1] if is_pair and is_text(value[0], word) else None


def _check_candidates(name: str, value: Any) -> Any:
    if is_text(value, "midpoints", "class_boundaries"):
        return value
    n_bins, width = _pair(value, "bins"), _pair(value, "step")
    if is_whole(n_bins, 2):
        return "bins", int(n_bins)
    if is_real(width) and width > 0.0:
        return "step", float(width)
    raise parameter_error(
        name,
        value,
        "'midpoints', 'class_boundaries', ('bins', k) with 2 or more bins, or ('step', width) above 0",
    )


def _check_splitter(name: str, value: Any) -> Any:
    if is_text(value, "best", "random"):
        return value
    k = _pair(value, "among")
    if not is_whole(k, 1):
        raise parameter_error(name, value, "'best', 'random' or ('among', k) with k of 1 or more")
    return ("among", int(k)) if k > 1 else "best"


def _check_n_jobs(name: str, value: Any) -> int | None:
    if value is not None and (not is_whole(value, -(2**31)) or value == 0):
        raise parameter_error(name, value, "a number of threads, -1 for all cores, or None for all cores")
    return None if value is None else int(value)


def _check_missing(name: str, value: Any) -> Any:
    for strategy in ("majority", "class_majority"):
        if is_text(_pair(value, strategy), "mean", "median"):
            return strategy, str(value[1])
    if not is_text(value, *MISSING):
        listed = ", ".join(repr(choice) for choice in MISSING[:-1])
        raise parameter_error(
            name, value, f"one of {listed}, {MISSING[-1]!r}, or ('majority', 'mean') with the mean for numbers"
        )
    return value


def check_smoothing(value: Any) -> tuple[str, float] | None:
    """How class shares are kept from 0 and 1: a row more per class, or m rows in all."""
    if value is None:
        return None
    if is_text(value, "laplace"):
        return "laplace", 1.0
    m = _pair(value, "m_estimate")
    if is_real(m) and m > 0:
        return "m_estimate", float(m)
    raise parameter_error("smoothing", value, "None, 'auto', 'laplace' or ('m_estimate', m) with m above 0")


def check_unseen(value: Any) -> str:
    """What becomes of categories that were not there in training."""
    return str(_check_choice("unseen", value, UNSEEN))


def _check_weight_fraction(name: str, value: Any) -> float:
    if not is_real(value) or not 0.0 <= value <= 0.5:
        raise parameter_error(name, value, "a fraction of the total weight from 0.0 to 0.5")
    return float(value)


def _check_p_value(name: str, value: Any) -> float:
    if not is_real(value) or not 0.0 < value <= 1.0:
        raise parameter_error(name, value, "a number above 0.0 and up to 1.0, which tests nothing")
    return float(value)


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "categorical": _check_categorical,
    "candidates": _check_candidates,
    "splitter": _check_splitter,
    "max_depth": _limit(0),
    "min_samples_split": _size(2, share_of_all=True),
    "min_samples_leaf": _size(1, share_of_all=False),
    "min_split_gain": _check_min_gain,
    "min_impurity_decrease": _check_min_gain,
    "max_leaf_nodes": _limit(2),
    "min_weight_fraction_leaf": _check_weight_fraction,
    "max_features": _check_max_features,
    "n_jobs": _check_n_jobs,
    "missing": _check_missing,
    "max_p_value": _check_p_value,
}


def check_progress(learner: Any) -> None:
    """Refuse values of `progress` and `verbose` that make no sense."""
    progress, verbose = learner.progress, getattr(learner, "verbose", None)
    if progress is not None and not isinstance(progress, bool):
        raise parameter_error("progress", progress, "True, False, or None to show it in terminals and notebooks")
    if verbose is not None and not isinstance(verbose, bool) and not is_whole(verbose, 0):
        raise parameter_error("verbose", verbose, "a whole number of 0 or more, or None to leave it to progress")


def shows_progress(learner: Any) -> bool | None:
    """Whether a learner shows progress, by `verbose` if it is given, otherwise by `progress`."""
    verbose = getattr(learner, "verbose", None)
    return learner.progress if verbose is None else bool(verbose)


def is_text(value: object, *choices: str) -> bool:
    """Whether this is one of the choices; values of other types need not be comparable with text."""
    return isinstance(value, str) and value in choices


def is_auto(parameter: Any) -> bool:
    return is_text(parameter, "auto")
