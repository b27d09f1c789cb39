"""Gradient boosting: each tree is fitted to the gradient of the loss of the trees before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from treewright.estimators.base import ClassPredictions, NumberPredictions, Training
from treewright.estimators.boosting.base import Boosting
from treewright.estimators.boosting.losses import Loss, LossChoices, ManyOutputs, Tweedie, function_of, read_loss
from treewright.estimators.boosting.options import read_targets
from treewright.estimators.boosting.own_classes import OwnClasses
from treewright.estimators.chunks import by_chunks
from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import store_parameters
from treewright.estimators.single.magnitudes import largest_target
from treewright.table import read_classes


@documented("boosting", "classes")
class GradientBoostingClassifier(ClassPredictions, Boosting):
    """Gradient boosting for classes: each tree is fitted to the gradient of the loss (Friedman 2001).

    It reads tables with text columns and missing values. Categories are split into two groups in the order of their
    gradients. Missing values go to the side with the smaller loss.

    Examples
    --------
    >>> from treewright import GradientBoostingClassifier, datasets
    >>> iris = datasets.load_iris()
    >>> model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(iris.X, iris.y)
    >>> round(model.score(iris.X, iris.y), 2)
    1.0
    """

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        class_weight: Any = None,
        n_estimators: int | str = "auto",
        learning_rate: float | str = "auto",
        growth: str = "auto",
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        min_samples_leaf: int | str = "auto",
        min_child_weight: float = 1e-3,
        l1_regularization: float = 0.0,
        l2_regularization: float = 1.0,
        min_split_gain: float = 0.0,
        min_impurity_decrease: float = 0.0,
        subsample: float | str = "auto",
        goss: Any = None,
        max_features: int | float | str | None = "auto",
        colsample_bytree: float = 1.0,
        colsample_bylevel: float = 1.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        max_bins: int = 255,
        validation_fraction: float | None = None,
        n_iter_no_change: int = 50,
        tol: float = 0.0,
        scoring: Any = "loss",
        eval_metric: Any = None,
        train_score: bool = False,
        init: Any = None,
        warm_start: bool = False,
        keep_on_interrupt: bool = False,
        checkpoint: Any = None,
        checkpoint_every: int = 20,
        unseen: str = "as_missing",
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores that shares are made of: of two classes that of the second, else a column per class."""
        return self._decision(self._all_scores(X))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """The result of `decision_function` after each round."""
        return map(self._decision, self._staged_scores(X))

    def apply(self, X: Any) -> np.ndarray:
        nodes = super().apply(X)
        return nodes if nodes.shape[2] == 1 else nodes[:, :, self._labels_of_classes()]

    def _decision(self, scores: np.ndarray) -> np.ndarray:
        labels = self._labels_of_classes()
        if len(scores) == 1:
            return scores[0] if labels[-1] == 1 else -scores[0]
        return scores.T[:, labels]

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The predicted classes after each round."""
        return (self._named(self._choose(shares)) for shares in self._staged_predictions(X))

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """The class probabilities after each round."""
        return (shares[:, self._labels_of_classes()] for shares in self._staged_predictions(X))

    def _read_loss(self, training: Training) -> Loss:
        n_classes = max(len(training.target.classes), 2)
        if callable(self.loss) and n_classes > 2:
            # Classes that were declared but have no rows come last.
            place = {name: position for position, name in enumerate(training.classes.tolist())}
            return OwnClasses(
                function_of(self.loss),
                np.array([place.setdefault(name, len(place)) for name in training.target.classes]),
            )
        return read_loss(self.loss, LossChoices(n_classes))

    def _read_validation_target(self, y: Any, training: Training) -> np.ndarray:
        labels, classes = read_classes(y)
        label_of = {name: label for label, name in enumerate(training.target.classes)}
        strange = [name for name in classes.tolist() if name not in label_of]
        if strange:
            raise ValueError(f"it has the class {strange[0]!r}, which the training rows do not have")
        return np.array([label_of[name] for name in classes.tolist()], dtype=np.float64)[labels]

    def _read_start(self, init_score: Any, training: Training, n_outputs: int) -> np.ndarray | None:
        start = super()._read_start(init_score, training, n_outputs)
        if start is None:
            return None
        if n_outputs == 1:
            return -start if _is_turned(training) else start
        place = {name: line for line, name in enumerate(training.classes.tolist())}
        if len(place) < n_outputs:
            raise ValueError("init_score needs rows of every class that the target declares")
        return np.ascontiguousarray(start[[place[name] for name in training.target.classes]])

    def _outputs(self, training: Training) -> dict[str, np.ndarray]:
        names = [f"share of {name!r}" for name in map(str, training.target.classes)]
        if len(names) <= 2:
            return {names[-1]: (training.y == len(names) - 1).astype(np.float64)}
        return {name: (training.y == label).astype(np.float64) for label, name in enumerate(names)}

    def _from_scores(self, scores: np.ndarray) -> np.ndarray:
        return super()._from_scores(scores)[:, : len(self.target_.classes)]

    def _directions(self, training: Training) -> np.ndarray:
        directions = super()._directions(training)
        if directions.any() and len(training.target.classes) != 2:
            n_classes = len(training.target.classes)
            raise ValueError(
                "Monotonicity constraints are not supported with multiclass classification, and y has "
                f"{n_classes} classes"
            )
        return -directions if _is_turned(training) else directions


def _is_turned(training: Training) -> bool:
    """Whether the second of two classes is the first in the order that the target declares."""
    return len(training.classes) == 2 and bool(training.target.classes[0] == training.classes.tolist()[1])


@documented("boosting", "numbers")
class GradientBoostingRegressor(NumberPredictions, Boosting):
    """Gradient boosting for numbers: each tree is fitted to the gradient of the loss (Friedman 2001).

    It reads tables with text columns and missing values. Categories are split into two groups in the order of their
    gradients. Missing values go to the side with the smaller loss.

    Examples
    --------
    >>> from treewright import GradientBoostingRegressor
    >>> model = GradientBoostingRegressor(n_estimators=50, min_samples_leaf=1)
    >>> model.fit({"rooms": [1, 2, 3, 4] * 5}, [10, 12, 20, 22] * 5).predict({"rooms": [1, 4]}).round()
    array([10., 22.])
    """

    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        quantile: float = 0.5,
        tweedie_power: float = 1.5,
        n_estimators: int | str = "auto",
        learning_rate: float | str = "auto",
        growth: str = "auto",
        max_leaf_nodes: int = 31,
        max_depth: int | None = None,
        min_samples_leaf: int | str = "auto",
        min_child_weight: float = 1e-3,
        l1_regularization: float = 0.0,
        l2_regularization: float = 1.0,
        min_split_gain: float = 0.0,
        min_impurity_decrease: float = 0.0,
        subsample: float | str = "auto",
        goss: Any = None,
        max_features: int | float | str | None = "auto",
        colsample_bytree: float = 1.0,
        colsample_bylevel: float = 1.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        max_bins: int = 255,
        validation_fraction: float | None = None,
        n_iter_no_change: int = 50,
        tol: float = 0.0,
        scoring: Any = "loss",
        eval_metric: Any = None,
        train_score: bool = False,
        init: Any = None,
        warm_start: bool = False,
        keep_on_interrupt: bool = False,
        checkpoint: Any = None,
        checkpoint_every: int = 20,
        unseen: str = "as_missing",
        categorical_features: Any = None,
        numeric_features: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        verbose: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    @by_chunks
    def predict(self, X: Any) -> np.ndarray:
        """The predicted number of each row; with several targets a column each."""
        return self._one_or_all(self._predictions(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination: 1 is perfect, 0 is as good as predicting the mean.

        With several targets it is averaged.
        """
        from sklearn.metrics import r2_score

        return float(r2_score(read_targets(y), self.predict(X), sample_weight=sample_weight))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The predicted numbers after each round."""
        return (self._one_or_all(predictions) for predictions in self._staged_predictions(X))

    def apply(self, X: Any) -> np.ndarray:
        nodes = super().apply(X)
        return nodes[:, :, 0] if nodes.shape[2] == 1 else nodes

    def _one_or_all(self, predictions: np.ndarray) -> np.ndarray:
        return predictions[:, 0] if predictions.shape[1] == 1 else predictions

    def _read_target(self, y: Any) -> tuple[np.ndarray, np.ndarray, tuple[Any, ...]]:
        return np.require(read_targets(y), requirements=["C", "W"]), np.empty(0), ()

    def _read_validation_target(self, y: Any, training: Training) -> np.ndarray:
        return np.ascontiguousarray(read_targets(y).T)

    def _outputs(self, training: Training) -> dict[str, np.ndarray]:
        columns = training.y.reshape(len(training.values), -1).T
        return {f"mean target {number}" if number else "mean target": column for number, column in enumerate(columns)}

    def _read_loss(self, training: Training) -> Loss:
        def read() -> Loss:
            return read_loss(self.loss, LossChoices(0, self.quantile, self.tweedie_power))

        largest_target(training.y)
        loss = read()
        if isinstance(loss, Tweedie) and not training.y.any(axis=0).all():
            raise ValueError(f"loss={self.loss!r} requires non-negative y and sum(y) > 0, but all are 0")
        if training.y.ndim > 1:
            loss = ManyOutputs([read() for _ in range(training.y.shape[1])])
        self._check_targets(loss, training.y.T)
        return loss

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
