"""The diversity of an ensemble: how much its members differ, and how much the ensemble gains by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from treewright.estimators.base import Ensemble
from treewright.estimators.parameters import parameter_error
from treewright.estimators.weights import read_weights
from treewright.table import read_classes, read_numbers
from treewright.table.selection import open_rows

# A table of more members than this is cut short when it is printed.
MOST_LINES = 20

# Pairs of members are compared on so many rows at a time.
BLOCK = 1 << 13


@dataclass(frozen=True, eq=False)
class Diversity:
    """The errors of members and ensemble, and measures of diversity; prints as a table.

    Parameters
    ----------
    names : tuple of str
        The members.
    errors : ndarray
        The error of each member: its error rate, or its mean squared error.
    mean_error : float
        Their mean.
    joint_error : float
        The error of the ensemble. The difference to the mean is the gain of the ensemble.
    disagreement : float
        For classes: the fraction of rows on which two members differ, mean over all pairs. 0 if all are the same.
    q_statistic : float
        For classes: Yule's Q of correct predictions, mean over all pairs. 1 if members make errors on the same rows, 0
        if their errors are independent, below 0 if on different rows. Pairs with a member without errors are left out.
    kappa : float
        For classes: Cohen's kappa, agreement beyond chance, mean over all pairs. 1 if all are the same.
    ambiguity : float
        For numbers: the mean squared distance of the members from their mean. The error of that mean is the mean error
        less the ambiguity (Krogh and Vedelsby 1995).
    correlation : float
        For numbers: the correlation of two members' errors, mean over all pairs.

    What does not apply is NaN.
    """

    names: tuple[str, ...]
    errors: np.ndarray
    mean_error: float
    joint_error: float
    disagreement: float = float("nan")
    q_statistic: float = float("nan")
    kappa: float = float("nan")
    ambiguity: float = float("nan")
    correlation: float = float("nan")

    def __str__(self) -> str:
        width = max(len(name) for name in (*self.names, "mean pairwise disagreement"))
        shown = list(zip(self.names, self.errors.tolist(), strict=True))
        cut = len(shown) > MOST_LINES
        lines = [f"{'member':<{width}}  error"]
        lines += [f"{name:<{width}}  {_figure(error)}" for name, error in shown[: MOST_LINES if cut else None]]
        lines += [f"... and {len(shown) - MOST_LINES} more"] if cut else []
        figures = {
            "mean of the members": self.mean_error,
            "ensemble": self.joint_error,
            "mean pairwise disagreement": self.disagreement,
            "mean Q statistic": self.q_statistic,
            "mean kappa": self.kappa,
            "ambiguity": self.ambiguity,
            "mean correlation of errors": self.correlation,
        }
        always = ("mean of the members", "ensemble")
        lines += [""]
        lines += [
            f"{what:<{width}}  {_figure(figure)}"
            for what, figure in figures.items()
            if what in always or figure == figure
        ]
        return "\n".join(lines)

    __repr__ = __str__


def _figure(number: float) -> str:
    # Adding 0 makes a zero of -0.
    return f"{round(number, 4) + 0.0:.4f}" if abs(number) < 1e4 else f"{number:.5g}"


def diversity(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Diversity:
    """How much the members of a fitted ensemble differ, with their errors and that of the ensemble.

    Parameters
    ----------
    model : fitted ensemble
        One of this library, or any of scikit-learn's with `estimators_`.
    X, y : table and target
        A test set: on the training rows members look better and more similar than they are.
    sample_weight : one number per row, a single number or None
        The weight of each row.

    >>> from treewright import DecisionTreeClassifier, datasets
    >>> from treewright import diversity
    >>> from treewright import VotingClassifier
    >>> iris = datasets.load_iris()
    >>> members = [(f"depth {depth}", DecisionTreeClassifier(max_depth=depth)) for depth in (1, 2, 3)]
    >>> model = VotingClassifier(members).fit(iris.X, iris.y)
    >>> diversity(model, iris.X, iris.y)
    member                      error
    depth 1                     0.3333
    depth 2                     0.0400
    depth 3                     0.0267
    <BLANKLINE>
    mean of the members         0.1333
    ensemble                    0.0400
    mean pairwise disagreement  0.2311
    mean Q statistic            0.5245
    mean kappa                  0.6514
    """
    check_is_fitted(model)
    if not (is_classifier(model) or is_regressor(model)) or not hasattr(model, "estimators_"):
        raise parameter_error("model", model, "a fitted ensemble of classifiers or regressors, with `estimators_`")
    if getattr(model, "n_outputs_", 1) > 1:
        raise ValueError(f"model predicts {model.n_outputs_} targets, but diversity is defined for one")
    predictions = predictions_of_members(model, X)
    names = _names(model, len(predictions))
    if is_classifier(model):
        labels, classes = read_classes(y)
        weights = _shares(sample_weight, len(labels), predictions)
        return _of_classes(names, predictions, np.asarray(model.predict(X)), classes[labels], weights)
    numbers = read_numbers(y)
    weights = _shares(sample_weight, len(numbers), predictions)
    weights_of_members = (
        model.member_weights() if isinstance(model, Ensemble) else np.full(len(predictions), 1.0 / len(predictions))
    )
    return _of_numbers(names, predictions, np.asarray(model.predict(X)), numbers, weights, weights_of_members)


def predictions_of_members(model: Any, X: Any) -> np.ndarray:
    """The predictions of each member: [member, row], classes in the user's own type, or numbers."""
    if isinstance(model, Ensemble):
        predictions = np.asarray(model.member_predictions(X))
        classes: Any = getattr(model, "classes_", None)
        return classes[predictions.argmax(axis=2)] if predictions.ndim == 3 else predictions
    members = model.estimators_
    if isinstance(members, np.ndarray) and members.ndim > 1:
        raise ValueError(
            f"the members of a {type(model).__name__} predict terms of a sum, not the target, "
            "so they have no errors of their own"
        )
    rows = open_rows(X)
    named = hasattr(model, "feature_names_in_")
    columns = getattr(model, "estimators_features_", [None] * len(members))
    predictions = np.array(
        [_predict(member, rows, places, named) for member, places in zip(members, columns, strict=True)]
    )
    return _in_classes(model, predictions) if is_classifier(model) else predictions


def _predict(member: Any, X: Any, places: Any, named: bool) -> np.ndarray:
    """A member's predictions; one that was fitted to an array, or to some of the columns, gets these."""
    if places is not None or (named and not hasattr(member, "feature_names_in_")):
        X = np.asarray(X)
        X = X if places is None else X[:, places]
    return np.asarray(member.predict(X))


def _in_classes(model: Any, predictions: np.ndarray) -> np.ndarray:
    """Predictions as classes: the members of many ensembles of scikit-learn predict positions of classes."""
    own = set(model.classes_.tolist())
    by_place = any(
        not set(np.asarray(member.classes_).tolist()) <= own
        for member in model.estimators_
        if hasattr(member, "classes_")
    )
    return model.classes_[predictions.astype(np.intp)] if by_place else predictions


def _names(model: Any, n_members: int) -> tuple[str, ...]:
    named = getattr(model, "named_estimators_", None)
    if named is not None:
        names = [name for name, member in named.items() if not isinstance(member, str)]
        if len(names) == n_members:
            return tuple(names)
    return tuple(str(number) for number in range(1, n_members + 1))


def _shares(sample_weight: Any, n_rows: int, predictions: np.ndarray) -> np.ndarray:
    if predictions.shape[1] != n_rows:
        raise ValueError(f"X has {predictions.shape[1]} rows, but y has {n_rows} values; give one target value per row")
    weights = read_weights(sample_weight, n_rows)
    if not weights.any():
        raise ValueError("every row has a weight of zero; give some row more")
    return weights / weights.sum()


def _of_classes(
    names: Sequence[str], predictions: np.ndarray, joint: np.ndarray, target: np.ndarray, weights: np.ndarray
) -> Diversity:
    classes, codes = np.unique(predictions, return_inverse=True)
    codes = codes.reshape(predictions.shape)
    is_right = predictions == target
    errors = (~is_right).astype(np.float64) @ weights
    agreement, by_chance = _agreements(codes, len(classes), weights)
    both_right, _ = _agreements(is_right.astype(np.intp), 2, weights, only=1)
    pairs = np.triu_indices(len(predictions), k=1)
    right = 1.0 - errors
    n11 = both_right[pairs]
    n10, n01 = right[pairs[0]] - n11, right[pairs[1]] - n11
    n00 = 1.0 - n11 - n10 - n01
    return Diversity(
        tuple(names),
        errors,
        float(errors.mean()),
        float((joint != target).astype(np.float64) @ weights),
        disagreement=_mean(np.maximum(1.0 - agreement[pairs], 0.0)),
        q_statistic=_mean(_ratio(n11 * n00 - n01 * n10, n11 * n00 + n01 * n10)),
        kappa=_mean(_ratio(agreement[pairs] - by_chance[pairs], 1.0 - by_chance[pairs])),
    )


def _agreements(
    codes: np.ndarray, n_codes: int, weights: np.ndarray, only: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The weight of rows on which two members agree, and its expectation by chance, for all pairs.

    With `only`, rows on which both have this code.
    """
    n_members = len(codes)
    agreement, by_chance = np.zeros((n_members, n_members)), np.zeros((n_members, n_members))
    for code in range(n_codes) if only is None else (only,):
        share = np.zeros(n_members)
        for start in range(0, codes.shape[1], BLOCK):
            block = slice(start, start + BLOCK)
            has_code = (codes[:, block] == code).astype(np.float64)
            agreement += (has_code * weights[block]) @ has_code.T
            share += has_code @ weights[block]
        by_chance += np.outer(share, share)
    return agreement, by_chance


def _of_numbers(
    names: Sequence[str],
    predictions: np.ndarray,
    joint: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray,
    member_weights: np.ndarray,
) -> Diversity:
    distances = predictions - target
    errors = distances**2 @ weights
    mean = member_weights @ predictions
    centred = distances - (distances @ weights)[:, None]
    covariance = (centred * weights) @ centred.T
    deviations = np.sqrt(np.diag(covariance))
    pairs = np.triu_indices(len(predictions), k=1)
    return Diversity(
        tuple(names),
        errors,
        float(member_weights @ errors),
        float((joint - target) ** 2 @ weights),
        ambiguity=float(member_weights @ ((predictions - mean) ** 2 @ weights)),
        correlation=_mean(_ratio(covariance[pairs], np.outer(deviations, deviations)[pairs])),
    )


def _ratio(over: np.ndarray, under: np.ndarray) -> np.ndarray:
    """The ratio, NaN where the denominator is 0 up to rounding."""
    return np.divide(over, under, out=np.full(len(over), np.nan), where=np.abs(under) > 1e-14)


def _mean(figures: np.ndarray) -> float:
    known = figures[~np.isnan(figures)]
    return float(known.mean()) if len(known) else float("nan")
