"""The input of predictions: a matrix of numbers is not read column by column, and everything else is as before."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from treewright import GradientBoostingClassifier, RandomForestClassifier

LEARNERS = [
    GradientBoostingClassifier(n_estimators=5, random_state=0),
    RandomForestClassifier(n_estimators=5, random_state=0, max_features=2, min_samples_leaf=1),
]
NAMES = ["a", "b", "c"]


def name_of(learner):
    return type(learner).__name__


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    y = X[:, 0] * X[:, 1] > 0.0
    X[random.random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.mark.parametrize("learner", LEARNERS, ids=name_of)
def test_all_forms_of_a_table_get_the_same_predictions(learner, table):
    X, y = table
    by_position = clone(learner).fit(X, y)
    by_name = clone(learner).fit(pd.DataFrame(X, columns=NAMES), y)
    expected = by_position.predict_proba(X.tolist())
    for form in (X, np.asfortranarray(X), np.ma.masked_invalid(X), X.astype(">f8"), np.repeat(X, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(by_position.predict_proba(form), expected)
    unaligned = np.frombuffer(b"-" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape)
    assert not unaligned.flags.aligned
    np.testing.assert_array_equal(by_position.predict_proba(unaligned), expected)
    np.testing.assert_array_equal(by_position.predict_proba(unaligned[:1]), expected[:1])
    frame = pd.DataFrame(X, columns=NAMES)
    for form in (frame, frame[["c", "a", "b"]], frame.assign(more=1.0), frame.astype(object), frame.to_dict("list")):
        np.testing.assert_array_equal(by_name.predict_proba(form), expected)
    for place in range(40):
        np.testing.assert_array_equal(by_position.predict_proba(X[place : place + 1])[0], expected[place])
        np.testing.assert_array_equal(by_name.predict_proba(frame.iloc[place : place + 1])[0], expected[place])


@pytest.mark.parametrize("learner", LEARNERS, ids=name_of)
def test_wrong_tables_are_refused_as_before(learner, table):
    X, y = table
    model = clone(learner)
    with pytest.raises(NotFittedError):
        model.predict_proba(X)
    model.fit(X, y)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
        model.predict_proba(X[:1, :2])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict_proba(X[:0])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict_proba(X[0])
    with pytest.warns(UserWarning, match="X has feature names"):
        model.predict_proba(pd.DataFrame(X[:1], columns=NAMES))
    named = clone(learner).fit(pd.DataFrame(X, columns=NAMES), y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named.predict_proba(X[:1])
    with pytest.raises(ValueError, match="lacks columns"):
        named.predict_proba(pd.DataFrame(X[:1, :2], columns=NAMES[:2]))
    with pytest.raises(ValueError, match="column 'c' was numeric"):
        named.predict_proba(pd.DataFrame({"a": [1.0], "b": [2.0], "c": ["red"]}))


def test_missing_values_are_refused_where_the_user_wants_it(table):
    X, y = table
    complete = ~np.isnan(X).any(axis=1)
    model = RandomForestClassifier(n_estimators=3, missing="error", random_state=0).fit(X[complete], y[complete])
    assert model.predict_proba(X[complete][:1]).shape == (1, 2)
    with pytest.raises(ValueError, match="missing"):
        model.predict_proba(X[~complete][:1])


@pytest.mark.parametrize("learner", LEARNERS, ids=name_of)
def test_prediction_leaves_nothing_in_the_learner_and_copies_predict_the_same(learner, table):
    X, y = table
    model = clone(learner).fit(X, y)
    before, size = set(vars(model)), len(pickle.dumps(model))
    expected = model.predict_proba(X)
    assert set(vars(model)) == before
    assert len(pickle.dumps(model)) == size
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(X), expected)
    refitted = model.fit(X[:, ::-1], y)
    np.testing.assert_array_equal(refitted.predict_proba(X), clone(learner).fit(X[:, ::-1], y).predict_proba(X))
