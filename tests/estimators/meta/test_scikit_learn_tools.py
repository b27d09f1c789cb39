"""The learners within the tools of scikit-learn: metadata routing, pandas output, searches, calibration, plots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import ensemble
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.inspection import partial_dependence
from sklearn.inspection import permutation_importance as their_importance
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tests.metadata_routing_common import ConsumingClassifier, ConsumingRegressor, _Registry

import treewright as tw

X, y = load_iris(return_X_y=True)
NAMES = ["a", "b", "c", "d"]


@pytest.fixture
def routing() -> Any:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class Recorder(ConsumingClassifier):
    """Keeps what its fit received."""

    def fit(self, X: Any, y: Any, sample_weight: Any = "default", metadata: Any = "default") -> Any:
        super().fit(X, y, sample_weight=sample_weight, metadata=metadata)
        self.fitted_metadata_, self.fitted_weight_, self.fitted_rows_ = metadata, sample_weight, len(y)
        return self

    def predict(self, X: Any) -> np.ndarray:  # type: ignore[override]
        return np.full(len(X), self.classes_[0])

    def predict_proba(self, X: Any) -> np.ndarray:  # type: ignore[override]
        return np.full((len(X), len(self.classes_)), 1.0 / len(self.classes_))


def ensembles(member: Any) -> list[Any]:
    return [
        tw.BaggingClassifier(member, 2, random_state=0),
        tw.AdaBoostClassifier(member, n_estimators=1),
        tw.VotingClassifier([("one", member)]),
        # As in scikit-learn, the final estimator gets all metadata.
        tw.StackingClassifier([("one", member)], Recorder(registry=_Registry())),
    ]


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("number", range(4))
@pytest.mark.filterwarnings("ignore:the first member")
def test_metadata_reaches_the_members_that_request_it(number: int) -> None:
    member = Recorder(registry=_Registry()).set_fit_request(metadata=True, sample_weight=True)
    model = ensembles(member)[number].fit(X, y, metadata="m")
    assert [one.fitted_metadata_ for one in model.estimators_] == ["m"] * len(model.estimators_)
    per_row = np.arange(len(X))
    model = ensembles(member)[number].fit(X, y, metadata=per_row)
    for one in model.estimators_:
        assert len(one.fitted_metadata_) == one.fitted_rows_
        assert set(one.fitted_metadata_) <= set(per_row)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("number", range(4))
def test_metadata_that_nobody_requests_is_an_error_as_in_scikit_learn(number: int) -> None:
    member = Recorder(registry=_Registry())
    theirs = ensemble.VotingClassifier([("one", member)])
    sentence = "are passed but are not explicitly set as requested or not requested for Recorder.fit"
    for model in (theirs, ensembles(member)[number]):
        with pytest.raises(UnsetMetadataPassedError, match=sentence):
            model.fit(X, y, metadata="m")


@pytest.mark.parametrize("number", range(4))
def test_metadata_without_routing_is_an_error_that_says_so(number: int) -> None:
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        ensembles(tw.DecisionTreeClassifier())[number].fit(X, y, metadata="m")
    with pytest.raises(TypeError, match="only gradient boosting has validation sets"):
        ensembles(tw.DecisionTreeClassifier())[number].fit(X, y, eval_set=[(X, y)])


@pytest.mark.usefixtures("routing")
def test_weights_are_routed_to_the_members_of_voting_that_request_them() -> None:
    members = [
        ("weighted", Recorder(registry=_Registry()).set_fit_request(sample_weight=True)),
        ("plain", Recorder(registry=_Registry()).set_fit_request(sample_weight=False)),
    ]
    model = tw.VotingClassifier(members).fit(X, y, sample_weight=np.ones(len(X)))
    assert model.named_estimators_["weighted"].fitted_weight_.tolist() == [1.0] * len(X)
    assert model.named_estimators_["plain"].fitted_weight_ == "default"


@pytest.mark.usefixtures("routing")
def test_weights_pass_through_a_search_to_our_learners() -> None:
    weights = np.where(y == 0, 5.0, 1.0)
    learner = tw.DecisionTreeClassifier(max_depth=1).set_fit_request(sample_weight=True)
    learner.set_score_request(sample_weight=True)
    search = GridSearchCV(learner, {"max_depth": [1]}).fit(X, y, sample_weight=weights)
    plain = tw.DecisionTreeClassifier(max_depth=1).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(search.predict_proba(X), plain.predict_proba(X))
    found = cross_validate(learner, X, y, params={"sample_weight": weights}, error_score="raise")
    assert len(found["test_score"]) == 5


def test_the_final_estimator_gets_the_keywords_of_predict() -> None:
    from sklearn.linear_model import BayesianRidge

    table, target = load_diabetes(return_X_y=True)
    model = tw.StackingRegressor([("line", LinearRegression())], BayesianRidge()).fit(table, target)
    mean, deviation = model.predict(table[:3], return_std=True)
    np.testing.assert_array_equal(mean, model.predict(table[:3]))
    assert (deviation > 0.0).all()


MEMBERS = [("line", LogisticRegression(max_iter=1000)), ("tree", tw.DecisionTreeClassifier(max_depth=2))]
NUMBER_MEMBERS = [("line", LinearRegression()), ("tree", tw.DecisionTreeRegressor(max_depth=2))]


@pytest.mark.parametrize(
    ("name", "members", "options"),
    [
        ("VotingClassifier", MEMBERS, {}),
        ("VotingClassifier", MEMBERS, {"voting": "soft"}),
        ("VotingRegressor", NUMBER_MEMBERS, {}),
        ("StackingClassifier", MEMBERS, {}),
        ("StackingClassifier", MEMBERS, {"passthrough": True}),
        ("StackingRegressor", NUMBER_MEMBERS, {}),
        ("StackingRegressor", NUMBER_MEMBERS, {"passthrough": True}),
    ],
)
def test_columns_of_transform_have_the_names_of_scikit_learn(name: str, members: Any, options: Any) -> None:
    table = pd.DataFrame(X, columns=NAMES)
    ours, theirs = getattr(tw, name)(members, **options), getattr(ensemble, name)(members, **options)
    expected = theirs.fit(table, y).get_feature_names_out()
    np.testing.assert_array_equal(ours.fit(table, y).get_feature_names_out(), expected)
    np.testing.assert_array_equal(ours.get_feature_names_out(NAMES), theirs.get_feature_names_out(NAMES))
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        ours.get_feature_names_out(["w", "x", "y", "z"])
    frame = ours.set_output(transform="pandas").transform(table)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == expected.tolist()
    assert list(ours.named_estimators) == ["line", "tree"]


def test_the_preparer_returns_a_frame_with_its_names() -> None:
    frame = pd.DataFrame({"size": [1.0, None, 3.0], "colour": ["red", "blue", None]}, index=[7, 8, 9])
    found = tw.TablePreparer().set_output(transform="pandas").fit_transform(frame)
    assert found.columns.tolist() == ["size", "colour=red", "colour=blue"]
    assert found.index.tolist() == [7, 8, 9]


CLASSIFIERS = [
    tw.DecisionTreeClassifier(max_depth=3),
    tw.RandomForestClassifier(10, random_state=0),
    tw.GradientBoostingClassifier(n_estimators=5, random_state=0),
    tw.BaggingClassifier(n_estimators=5, random_state=0),
    tw.AdaBoostClassifier(n_estimators=5),
    tw.VotingClassifier(MEMBERS, voting="soft"),
    tw.StackingClassifier(MEMBERS),
]


@pytest.mark.slow
@pytest.mark.parametrize("learner", CLASSIFIERS, ids=lambda one: type(one).__name__)
def test_classifiers_are_calibrated_plotted_and_searched(learner: Any) -> None:
    calibrated = CalibratedClassifierCV(learner, cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.9
    model = sklearn.clone(learner).fit(X, y)
    curves = partial_dependence(model, X, [2], grid_resolution=5, kind="average")
    assert curves["average"].shape == (3, 5)
    by_hand = model.predict_proba(np.column_stack([X[:, :2], np.full(len(X), curves["grid_values"][0][2]), X[:, 3]]))
    np.testing.assert_allclose(curves["average"][:, 2], by_hand.mean(axis=0))
    assert their_importance(model, X, y, n_repeats=2, random_state=0).importances_mean.shape == (4,)
    pipeline = Pipeline([("scale", StandardScaler()), ("model", learner)])
    search = GridSearchCV(pipeline, {"scale__with_mean": [True, False]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.8


@pytest.mark.usefixtures("routing")
def test_a_pipeline_transforms_the_validation_set_too() -> None:
    half = FunctionTransformer(lambda values: values * 0.5)
    learner = tw.GradientBoostingClassifier(n_estimators=200, learning_rate=0.3, n_iter_no_change=5, random_state=0)
    pipeline = Pipeline(
        [("half", half), ("model", learner.set_fit_request(X_val=True, y_val=True))], transform_input=["X_val"]
    )
    pipeline.fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    alone = sklearn.clone(learner).fit(X[::2] * 0.5, y[::2], X_val=X[1::2] * 0.5, y_val=y[1::2])
    np.testing.assert_array_equal(pipeline.predict_proba(X), alone.predict_proba(X * 0.5))


@pytest.mark.usefixtures("routing")
def test_numbers_are_routed_too() -> None:
    member = ConsumingRegressor(registry=_Registry()).set_fit_request(metadata=True)
    table, target = load_diabetes(return_X_y=True)
    tw.VotingRegressor([("one", member)]).fit(table, target, metadata="m")
    tw.BaggingRegressor(member, 2, random_state=0).fit(table, target, metadata="m")
    assert len(member.registry) == 3
    assert {one._records["fit"]["fit"][0]["metadata"] for one in member.registry} == {"m"}


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "decision_function"])
def test_metadata_of_a_prediction_reaches_the_members_of_bagging(routing: None, method: str) -> None:
    used: list[str] = []

    class Doubting(LogisticRegression):
        def predict_proba(self, X: Any, metadata: Any = None) -> Any:
            used.append(f"predict_proba {metadata}")
            return super().predict_proba(X)

        def decision_function(self, X: Any, metadata: Any = None) -> Any:
            used.append(f"decision_function {metadata}")
            return super().decision_function(X)

    member = Doubting().set_predict_proba_request(metadata=True).set_decision_function_request(metadata=True)
    model = tw.BaggingClassifier(member, n_estimators=3, random_state=0).fit(X, y)
    plain = getattr(model, method)(X)
    used.clear()
    np.testing.assert_array_equal(getattr(model, method)(X, metadata="m"), plain)
    callee = "decision_function" if method == "decision_function" else "predict_proba"
    assert used.count(f"{callee} m") == 3
    with pytest.raises(TypeError, match="unexpected argument"):
        getattr(model, method)(X, other=1)


def test_metadata_reaches_the_members_that_vote(routing: None) -> None:
    used: list[Any] = []

    class Voter(LogisticRegression):
        def predict(self, X: Any, metadata: Any = None) -> Any:
            used.append(metadata)
            return super().predict(X)

    member = Voter().set_predict_request(metadata=True)
    model = tw.BaggingClassifier(member, n_estimators=3, voting="hard", random_state=0).fit(X, y)
    used.clear()
    model.predict(X, metadata="m")
    assert used == ["m"] * 3


def test_metadata_of_a_prediction_needs_routing() -> None:
    model = tw.BaggingRegressor(LinearRegression(), n_estimators=2).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"predict has no argument 'metadata'.*enable_metadata_routing"):
        model.predict(X, metadata=1)
