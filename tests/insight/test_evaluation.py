"""The scores of `evaluate` against counts by hand and the metrics of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from treewright import DecisionTreeClassifier, DecisionTreeRegressor, datasets, evaluate


class Fixed:
    """A classifier that predicts given classes."""

    _estimator_type = "classifier"

    def __init__(self, classes: list[Any], predictions: list[Any]) -> None:
        self.classes_, self.predictions = np.array(classes, dtype=object), np.array(predictions, dtype=object)

    def fit(self) -> None: ...

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(),
        )

    def predict(self, X: Any) -> np.ndarray:
        return self.predictions


def test_precision_recall_and_confusion_are_counts() -> None:
    model = Fixed(["no", "yes"], ["yes", "yes", "no", "no", "yes"])
    found = evaluate(model, [[0]] * 5, ["yes", "no", "no", "yes", "yes"])
    assert found.scores[0].value == 3 / 5
    assert found.confusion.tolist() == [[1, 1], [1, 2]]
    assert [(one.precision, one.recall, one.rows) for one in found.classes] == [(1 / 2, 1 / 2, 2), (2 / 3, 2 / 3, 3)]
    assert found.measures == {}


def test_probabilities_are_measured_as_by_scikit_learn() -> None:
    orchard = datasets.load_orchard()
    model = DecisionTreeClassifier(max_depth=4).fit(orchard.X[::2], orchard.y[::2])
    found = evaluate(model, orchard.X[1::2], orchard.y[1::2])
    truth, shares = np.asarray(orchard.y[1::2]), model.predict_proba(orchard.X[1::2])
    assert found.measures["log loss"] == pytest.approx(log_loss(truth, shares, labels=model.classes_))
    expected = roc_auc_score(truth, shares, multi_class="ovr", labels=model.classes_)
    assert found.measures["AUC, one against the rest"] == pytest.approx(expected)


def test_a_class_that_the_model_does_not_know_counts_as_wrong() -> None:
    model = DecisionTreeClassifier().fit([[0], [1]], ["a", "b"])
    found = evaluate(model, [[0], [1], [1]], ["a", "b", "c"])
    assert found.scores[0].value == pytest.approx(2 / 3)
    assert [one.name for one in found.classes] == ["a", "b", "c"]
    assert found.confusion.tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0]]


def test_numbers_have_their_errors() -> None:
    model = DecisionTreeRegressor().fit([[0], [1]], [1.0, 3.0])
    found = evaluate(model, [[0], [1], [1]], [2.0, 3.0, 5.0])
    assert found.measures["mean absolute error"] == pytest.approx(1.0)
    assert found.scores[1].value == pytest.approx(np.sqrt(5 / 3))
    with pytest.raises(ValueError, match="X has 2 rows, but y has 1 values"):
        evaluate(model, [[0], [1]], [1.0])
