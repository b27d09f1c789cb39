"""`evaluate`: how well a fitted model predicts rows whose target is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import (
    confusion_matrix,
    log_loss,
    mean_absolute_error,
    precision_recall_fscore_support,
    roc_auc_score,
)
from sklearn.utils.validation import check_is_fitted

from treewright.insight.scoring import Score, score_classes, score_numbers
from treewright.insight.text_table import write_figure, write_table
from treewright.table import read_classes, read_numbers


@dataclass(frozen=True)
class ClassScore:
    """How well one class is found.

    Attributes
    ----------
    name : the class.
    precision : the fraction of rows predicted as this class that are of it.
    recall : the fraction of the rows of this class that are predicted as it.
    rows : the number of rows of this class.
    """

    name: Any
    precision: float
    recall: float
    rows: int


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The scores of a model on a table; prints as tables.

    Attributes
    ----------
    scores : accuracy for classes, R2 and RMSE for numbers, with 95% intervals and the score of the best constant.
    measures : further measures by name: log loss and AUC for classes, the mean absolute error for numbers.
    classes : precision and recall of each class; empty for numbers.
    confusion : the number of rows of each class (a line each) predicted as each class; None for numbers.
    """

    scores: tuple[Score, ...]
    measures: dict[str, float]
    classes: tuple[ClassScore, ...] = ()
    confusion: np.ndarray | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        main, *others = (score.to_dict() for score in self.scores)
        found = {**main, "other_scores": others, "measures": self.measures}
        if self.confusion is None:
            return found
        names = [str(one.name) for one in self.classes]
        by_class = {
            name: {"precision": one.precision, "recall": one.recall, "rows": one.rows}
            for name, one in zip(names, self.classes, strict=True)
        }
        return {**found, "classes": by_class, "confusion": {"order": names, "rows": self.confusion.tolist()}}

    def tables(self) -> list[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
        """Headers and rows of the tables: the scores, and for classes precision, recall and the confusion matrix."""
        rows = [
            (score.measure, write_figure(score.value), _interval(score), f"{write_figure(score.baseline)} constant")
            for score in self.scores
        ]
        rows += [(name, write_figure(value), "", "") for name, value in self.measures.items()]
        found: list[tuple[tuple[str, ...], list[tuple[str, ...]]]] = [
            (("measure", "score", "95% interval", ""), [*rows])
        ]
        if self.confusion is None:
            return found
        by_class = [
            (str(one.name), write_figure(one.precision), write_figure(one.recall), str(one.rows))
            for one in self.classes
        ]
        found.append((("class", "precision", "recall", "rows"), [*by_class]))
        names = [str(one.name) for one in self.classes]
        lines = [(name, *map(str, line)) for name, line in zip(names, self.confusion.tolist(), strict=True)]
        return [*found, (("is / predicted as", *names), [*lines])]

    def __str__(self) -> str:
        return "\n\n".join(write_table(headers, rows, right=headers[1:]) for headers, rows in self.tables())

    __repr__ = __str__


def evaluate(model: Any, X: Any, y: Any) -> Evaluation:
    """Score a fitted model on rows that it was not fitted to.

    Parameters
    ----------
    model : fitted estimator
    X : table
    y : one value per row
        The true target.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from treewright import CARTClassifier, datasets, evaluate
    >>> iris = datasets.load_iris()
    >>> model = CARTClassifier(max_depth=2).fit(iris.X[::2], iris.y[::2])
    >>> found = evaluate(model, iris.X[1::2], iris.y[1::2])
    >>> round(found.scores[0].value, 3), found.confusion.tolist()
    (0.947, [[25, 0, 0], [0, 24, 1], [0, 3, 22]])
    """
    check_is_fitted(model)
    predicted = np.asarray(model.predict(X))
    if predicted.ndim > 1:
        raise ValueError(f"the model predicts {predicted.shape[1]} targets; evaluate takes models of one target")
    if not is_classifier(model):
        numbers = read_numbers(y)
        _check_length(numbers, predicted)
        return Evaluation(
            score_numbers(numbers, predicted), {"mean absolute error": mean_absolute_error(numbers, predicted)}
        )
    labels, names = read_classes(y)
    truth = np.asarray(names)[labels]
    _check_length(truth, predicted)
    return _evaluate_classes(model, X, truth, predicted)


def _check_length(truth: np.ndarray, predicted: np.ndarray) -> None:
    if len(truth) != len(predicted):
        raise ValueError(f"X has {len(predicted)} rows, but y has {len(truth)} values; give one target value per row")


def _evaluate_classes(model: Any, X: Any, truth: np.ndarray, predicted: np.ndarray) -> Evaluation:
    shares = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    return evaluate_predictions(truth, predicted, [str(one) for one in model.classes_], shares)


def evaluate_predictions(
    truth: np.ndarray, predicted: np.ndarray, known: list[str], shares: np.ndarray | None
) -> Evaluation:
    """The scores of predicted classes; `shares` are the probabilities of the classes that are known, if there are any.

    >>> found = evaluate_predictions(np.array(["a", "b"]), np.array(["a", "a"]), ["a", "b"], None)
    >>> found.classes[0].precision, found.classes[1].recall
    (0.5, 0.0)
    """
    # Compared as text, so that classes of a file are those of the model also if one of them became a number.
    words = truth.astype(str)
    order = [*known, *sorted(set(words) - set(known))]
    precision, recall, _, rows = precision_recall_fscore_support(
        words, predicted.astype(str), labels=order, zero_division=0.0
    )
    classes = tuple(
        ClassScore(*line)
        for line in zip(order, precision.tolist(), recall.tolist(), [int(count) for count in rows], strict=True)
    )
    confusion = confusion_matrix(words, predicted.astype(str), labels=order)
    measures = {} if shares is None else _measure_probabilities(shares, words, known)
    return Evaluation((score_classes(truth, predicted),), measures, classes, confusion)


def _measure_probabilities(shares: np.ndarray, words: np.ndarray, known: list[str]) -> dict[str, float]:
    """Log loss and AUC, of the rows whose class the model knows; AUC needs at least two classes."""
    place = {name: number for number, name in enumerate(known)}
    places = np.array([place.get(word, -1) for word in words])
    rows = places >= 0
    places = places[rows]
    if not len(places):
        return {}
    shares = shares[rows]
    found = {"log loss": float(log_loss(places, shares, labels=range(len(known))))} if len(known) > 1 else {}
    if len(set(places.tolist())) == len(known) == 2:
        found["AUC"] = float(roc_auc_score(places, shares[:, 1]))
    elif len(set(places.tolist())) == len(known) > 2:
        found["AUC, one against the rest"] = float(roc_auc_score(places, shares, multi_class="ovr"))
    return found


def _interval(score: Score) -> str:
    return "" if score.interval is None else f"{score.interval[0]:.3f} to {score.interval[1]:.3f}"
