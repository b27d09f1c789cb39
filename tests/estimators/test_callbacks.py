"""Callbacks of scikit-learn 1.9 on forests and gradient boosting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from treewright import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

callback = pytest.importorskip("sklearn.callback")

X, y = load_iris(return_X_y=True)

LEARNERS = [
    RandomForestClassifier(6, random_state=0),
    RandomForestRegressor(6, max_leaf_nodes=5, random_state=0),
    ExtraTreesRegressor(6, random_state=0),
    GradientBoostingClassifier(n_estimators=6, random_state=0),
    GradientBoostingRegressor(n_estimators=6, random_state=0),
]


class Recorder:
    """Keeps the scores after each task, and asks to stop after some of them."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after = stop_after
        self.events: list[str] = []
        self.scores: list[float] = []

    def setup(self, estimator: Any, context: Any) -> None:
        self.events.append("setup")

    def teardown(self, estimator: Any, context: Any) -> None:
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, X: Any = None, y: Any = None, fitted_estimator: Any = None
    ) -> bool:
        self.events.append(f"end {context.task_name}")
        self.scores.append(fitted_estimator.score(X, y))
        return len(self.scores) == self.stop_after


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_a_callback_sees_every_tree_and_changes_nothing(learner: Any) -> None:
    recorder = Recorder()
    plain = clone(learner).fit(X, y)
    model = clone(learner).set_callbacks(recorder).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    word = "round" if "Boosting" in type(learner).__name__ else "tree"
    steps = [event for number in range(6) for event in (f"begin {word} {number}", f"end {word} {number}")]
    assert recorder.events == ["setup", "begin fit", *steps, "end fit", "teardown"]
    assert recorder.scores[-1] == recorder.scores[-2] == plain.score(X, y)
    shorter = clone(learner).set_params(n_estimators=3).fit(X, y)
    assert recorder.scores[2] == pytest.approx(shorter.score(X, y), abs=1e-12)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_a_callback_ends_the_fit_with_the_trees_so_far(learner: Any) -> None:
    model = clone(learner).set_callbacks(Recorder(stop_after=3)).fit(X, y)
    shorter = clone(learner).set_params(n_estimators=3).fit(X, y)
    assert model.n_estimators_ == 3
    np.testing.assert_array_equal(model.predict(X), shorter.predict(X))
    model.set_callbacks().fit(X, y)
    assert model.n_estimators_ == 6


@pytest.mark.parametrize("learner", [LEARNERS[0], LEARNERS[3]], ids=lambda one: type(one).__name__)
def test_the_monitor_of_scikit_learn_records_scores(learner: Any, capsys: Any) -> None:
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = clone(learner).set_callbacks(monitor).fit(X, y, sample_weight=np.ones(len(X)))
    log = monitor.get_logs()
    assert log is not None
    search = GridSearchCV(clone(learner), {"max_depth": [1, 2]}, cv=2).set_callbacks(callback.ProgressBar())
    assert search.fit(X, y).best_score_ > 0.8
    assert model.score(X, y) > 0.9


def test_an_error_in_a_fit_tears_callbacks_down() -> None:
    recorder = Recorder()
    with pytest.raises(ValueError, match="max_depth is -1"):
        RandomForestClassifier(max_depth=-1).set_callbacks(recorder).fit(X, y)
    assert recorder.events[-1] == "teardown"
    with pytest.raises(TypeError, match="FitCallback"):
        RandomForestClassifier().set_callbacks("loud")
