"""Several targets at once: a target of two columns or more, and its predictions, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from treewright.engines.missing_values import LEARNED
from treewright.estimators.parameters import Plan, is_text
from treewright.estimators.weights import weigh_classes
from treewright.tree import Target

# The criteria whose impurity is a sum over the classes or targets.
CRITERIA_OF_SEVERAL = ("gini", "information_gain", "squared_error", "absolute_error", "poisson")

# What a learner reads from one column of the target: labels or numbers, the classes that occur, and those declared.
ReadTarget = Callable[[Any], tuple[np.ndarray, np.ndarray, tuple[Any, ...]]]


def read_outputs(
    columns: Sequence[tuple[str, Any]], read: ReadTarget, class_weight: Any
) -> tuple[np.ndarray, list[np.ndarray], Target, np.ndarray]:
    """The targets of several columns: a line of entries per row, the classes, the target, and the weights of the rows.

    A column of classes has an entry for each class, which is 1 in the rows of the class.
    """
    found = [read(column) for _, column in columns]
    lengths = sorted({len(one[0]) for one in found})
    if len(lengths) > 1:
        raise ValueError(f"the columns of y have {lengths[0]} and {lengths[-1]} values; give one for each row")
    outputs = tuple(Target(name, declared) for (name, _), (_, _, declared) in zip(columns, found, strict=True))
    entries = [
        np.eye(output.width)[labels] if output.is_classes else labels[:, None]
        for output, (labels, _, _) in zip(outputs, found, strict=True)
    ]
    weights, ones = np.ones(lengths[0]), np.ones(lengths[0])
    for output, (labels, _, _), by_class in zip(outputs, found, _class_weights(class_weight, len(found)), strict=True):
        weights = weights * weigh_classes(by_class, output.classes, labels, ones)
    target = Target(", ".join(output.name for output in outputs), outputs=outputs)
    return np.ascontiguousarray(np.concatenate(entries, axis=1)), [one[1] for one in found], target, weights


def _class_weights(class_weight: Any, n_outputs: int) -> list[Any]:
    if class_weight is None or isinstance(class_weight, str):
        return [class_weight] * n_outputs
    if isinstance(class_weight, Mapping) or len(class_weight) != n_outputs:
        raise ValueError(
            f"number of elements in class_weight should match number of outputs; give a list of {n_outputs} dicts, "
            "'balanced', or None"
        )
    return list(class_weight)


def check_outputs(plan: Plan, **unused: Any) -> None:
    """Refuse what is not defined for several targets; `unused` are parameters that must be None."""
    if plan.criterion not in CRITERIA_OF_SEVERAL:
        listed = ", ".join(repr(name) for name in CRITERIA_OF_SEVERAL)
        raise _refusal("criterion", plan.criterion, f"use one of {listed}")
    if plan.strategy.code != LEARNED or (plan.strategy.imputes and plan.strategy.name != "majority"):
        raise _refusal("missing", plan.missing, "use 'learned', 'majority' or 'error'")
    if plan.categorical == "multiway":
        raise _refusal("categorical", plan.categorical, "use 'subset' or 'one_vs_rest'")
    if plan.candidates == "class_boundaries":
        raise _refusal("candidates", plan.candidates, "use 'midpoints'")
    if plan.max_p_value < 1.0:
        raise _refusal("max_p_value", plan.max_p_value, "use 1.0")
    for name, value in unused.items():
        if value is not None and name == "monotonic_cst":
            raise ValueError("Monotonicity constraints are not supported with multiple output; fit one at a time")
        if value is not None:
            raise _refusal(name, value, "leave it None")


def _refusal(name: str, value: Any, advice: str) -> ValueError:
    return ValueError(
        f"{name} is {value!r}, which is not available for several targets; {advice}, or fit one at a time"
    )


def labels_of_outputs(target: Target, y: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """The class labels of the rows and the number of classes, of each target of classes."""
    if not target.outputs:
        return [(y, len(target.classes))]
    pairs = zip(target.outputs, target.places, strict=True)
    return [(y[:, place].argmax(axis=1), output.width) for output, place in pairs if output.is_classes]


def shares_of(target: Target, classes: Sequence[np.ndarray], predictions: np.ndarray) -> list[np.ndarray]:
    """The class probabilities of each target, in the order of its classes."""
    found = []
    for output, place, known in zip(target.outputs, target.places, classes, strict=True):
        label_of = {name: label for label, name in enumerate(output.classes)}
        found.append(predictions[:, place][:, [label_of[name] for name in known.tolist()]])
    return found


def classes_of(shares: Sequence[np.ndarray], classes: Sequence[np.ndarray]) -> np.ndarray:
    """The most likely class of each target, a column each; of equally likely classes, the first."""
    chosen = [known[np.nan_to_num(one).argmax(axis=1)] for one, known in zip(shares, classes, strict=True)]
    if len({one.dtype.kind for one in chosen}) > 1:
        chosen = [one.astype(object) for one in chosen]
    return np.stack(chosen, axis=1)


def accuracy_of_all(truth: np.ndarray, predicted: np.ndarray, sample_weight: Any = None) -> float:
    """The fraction of rows whose targets are all predicted correctly."""
    right = (truth == predicted).all(axis=1)
    return float(np.average(right, weights=sample_weight))


def stacked(shares: Sequence[np.ndarray]) -> np.ndarray:
    """Class probabilities of all targets in one array of rows, classes and targets; 0 where a target has fewer."""
    most = max(one.shape[1] for one in shares)
    return np.stack([np.pad(one, ((0, 0), (0, most - one.shape[1]))) for one in shares], axis=2)


def refuse_text(name: str, value: Any, wrong: str, advice: str) -> None:
    """Refuse one value of a parameter of an ensemble for several targets."""
    if is_text(value, wrong):
        raise _refusal(name, value, advice)
