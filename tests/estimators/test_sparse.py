"""Sparse matrices: every learner fits and predicts them as it does the dense table, and most without making it."""

from __future__ import annotations

import inspect
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

import treewright
from treewright.table import read_frame
from treewright.table.sparse import SparseValues
from treewright.tree import descent

RANDOM = np.random.default_rng(3)
DENSE = RANDOM.poisson(0.4, size=(150, 8)) * RANDOM.normal(size=(150, 8)).round(2)
NUMBERS = DENSE[:, 0] * 2 + (DENSE[:, 1] > 0) + RANDOM.normal(size=150) * 0.1
LABELS = np.where(NUMBERS > 0.5, "high", np.where(NUMBERS < -0.2, "low", "none"))

FORMATS = [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array, sp.coo_matrix, sp.lil_matrix]

OPTIONS = {"n_estimators": 5, "random_state": 0}


def learners() -> list[Any]:
    found = []
    for name in treewright.__all__:
        kind = getattr(treewright, name)
        if inspect.isclass(kind) and hasattr(kind, "predict") and name != "ID3Classifier":
            known = inspect.signature(kind).parameters
            found.append(kind(**{option: value for option, value in OPTIONS.items() if option in known}))
    found.append(treewright.DecisionTreeClassifier(missing="majority"))
    found.append(treewright.DecisionTreeClassifier(prune="reduced_error"))
    found.append(treewright.RandomForestClassifier(3, max_leaf_nodes=6, random_state=0))
    found.append(treewright.RandomForestRegressor(3, max_bins=20, random_state=0))
    found.append(treewright.GradientBoostingRegressor(n_estimators="auto", random_state=0))
    found.append(treewright.BaggingClassifier(treewright.C45Classifier(), 3, max_features=0.5, random_state=0))
    return found


def name_of(model: Any) -> str:
    return repr(model).replace(" ", "").replace("\n", "")


def target_of(model: Any) -> np.ndarray:
    return NUMBERS if type(model).__name__.endswith("Regressor") else LABELS


def figures(model: Any, X: Any) -> np.ndarray:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


MEMBERS_OF_OTHERS = ("Voting", "Stacking", "BayesianAveraging")


@pytest.mark.slow
@pytest.mark.parametrize("learner", learners(), ids=name_of)
def test_a_sparse_matrix_gives_the_model_of_the_dense_table(learner: Any) -> None:
    y = target_of(learner)
    dense = clone(learner).fit(DENSE, y)
    if name_of(learner).startswith(MEMBERS_OF_OTHERS):
        # The members of other libraries get columns that are not centred, which they see to rounding only.
        model = clone(learner).fit(sp.csr_matrix(DENSE), y)
        assert (model.predict(sp.csc_matrix(DENSE)) == dense.predict(DENSE)).mean() > 0.9 or y is NUMBERS
        return
    for make in FORMATS[:1] if learner.get_params().get("n_estimators") == "auto" else FORMATS:
        model = clone(learner).fit(make(DENSE), y)
        np.testing.assert_array_equal(figures(model, make(DENSE)), figures(dense, DENSE))
        np.testing.assert_array_equal(figures(model, DENSE), figures(dense, DENSE))
        np.testing.assert_array_equal(figures(dense, make(DENSE)), figures(dense, DENSE))
        assert model.n_features_in_ == 8
        assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize(
    "learner",
    [
        treewright.DecisionTreeClassifier(),
        treewright.RandomForestClassifier(3, random_state=0),
        treewright.GradientBoostingClassifier(n_estimators=3, random_state=0),
        treewright.BaggingClassifier(n_estimators=3, random_state=0),
        treewright.AdaBoostClassifier(n_estimators=3),
    ],
    ids=name_of,
)
def test_weights_zeros_and_missing_values_of_a_sparse_matrix_are_those_of_the_table(learner: Any) -> None:
    table = DENSE.copy()
    table[::7, 2] = np.nan
    weights = np.where(np.arange(150) % 5 == 0, 0.0, 1.0 + np.arange(150) % 3)
    sparse = sp.csr_matrix(table)
    sparse.data = np.where(sparse.data == sparse.data.max(), 0.0, sparse.data)  # a zero that is stored
    table = np.where(table == np.nanmax(table), 0.0, table)
    ours, dense = clone(learner).fit(sparse, LABELS, weights), clone(learner).fit(table, LABELS, weights)
    np.testing.assert_array_equal(figures(ours, sparse), figures(dense, table))
    np.testing.assert_array_equal(ours.predict(sparse[:0:-1]), dense.predict(table[:0:-1]))


def test_a_validation_set_may_be_sparse() -> None:
    learner = treewright.GradientBoostingClassifier(n_estimators=30, n_iter_no_change=5, random_state=0)
    sparse, half = sp.csr_matrix(DENSE), slice(0, 100)
    ours = clone(learner).fit(sparse[half], LABELS[half], X_val=sparse[100:].tocsc(), y_val=LABELS[100:])
    dense = clone(learner).fit(DENSE[half], LABELS[half], X_val=DENSE[100:], y_val=LABELS[100:])
    np.testing.assert_array_equal(ours.validation_loss_, dense.validation_loss_)


def test_members_of_other_libraries_get_a_sparse_matrix() -> None:
    sparse = sp.csr_matrix(np.abs(DENSE))
    members = [("line", LogisticRegression()), ("bayes", MultinomialNB()), ("tree", treewright.CARTClassifier())]
    for model in (
        treewright.VotingClassifier(members),
        treewright.StackingClassifier(members, passthrough=True),
        treewright.BaggingClassifier(LinearSVC(), 3, max_features=0.5, random_state=0),
        treewright.AdaBoostClassifier(LogisticRegression(), n_estimators=3),
    ):
        model.fit(sparse, LABELS)
        assert (model.predict(sparse) == LABELS).mean() > 0.6
    stack = treewright.StackingClassifier(members, passthrough=True).fit(sparse, LABELS)
    assert sp.issparse(stack.transform(sparse))
    assert stack.transform(sparse).shape[1] == len(stack.get_feature_names_out())
    tree = treewright.DecisionTreeClassifier().fit(sparse, LABELS).tree_
    np.testing.assert_array_equal(tree.apply(sparse), tree.apply(sparse.toarray()))
    prepared = treewright.TablePreparer().fit(sparse).transform(sparse)
    assert sp.issparse(prepared)
    assert prepared.nnz == sparse.nnz
    np.testing.assert_allclose(prepared.toarray().std(axis=0), 1.0)


class Seen(LogisticRegression):
    """A member that keeps the type of the table it was fitted to."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.seen_ = type(X)
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array])
def test_members_get_the_format_of_the_matrix(form: Any) -> None:
    matrix = form(np.abs(DENSE))
    for model in (
        treewright.BaggingClassifier(Seen(), 3, max_features=0.5, random_state=0),
        treewright.AdaBoostClassifier(Seen(), n_estimators=3),
        treewright.VotingClassifier([("line", Seen())]),
    ):
        members = model.fit(matrix, LABELS).estimators_
        assert {getattr(member, "steps", [("", member)])[-1][1].seen_ for member in members} == {form}


def test_reading_keeps_a_matrix_sparse_and_never_changes_it() -> None:
    matrix = sp.csr_matrix((np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    table = read_frame(matrix, keep_sparse=True)
    assert isinstance(table.values, SparseValues)
    np.testing.assert_array_equal(np.asarray(table.values), [[0.0, 3.0, 0.0], [3.0, 0.0, 0.0]])
    assert matrix.nnz == 3  # duplicate entries are still there
    np.testing.assert_array_equal(read_frame(matrix).values, matrix.toarray())
    assert read_frame(matrix, categorical_features=[0]).columns[0].is_categorical
    assert read_frame(sp.csr_matrix([[True, False]])).values.tolist() == [[1.0, 0.0]]


def test_what_is_no_table_of_numbers_is_refused() -> None:
    model = treewright.DecisionTreeClassifier()
    with pytest.raises(ValueError, match="Complex data not supported"):
        model.fit(sp.csr_matrix([[1j, 2.0]]), [1])
    with pytest.raises(ValueError, match="X has 3 rows, but y has 1 values"):
        model.fit(sp.csr_matrix(np.eye(3)), [1])
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.fit(sp.csr_matrix(np.eye(3)), [1, 2, 3]).predict(sp.csr_matrix(np.eye(2)))
    missing = sp.csr_matrix([[1.0, np.nan], [0.0, np.nan]])
    with pytest.raises(ValueError, match="some have no value in: 'x1' \\(2\\)"):
        treewright.DecisionTreeClassifier(missing="error").fit(missing, [1, 2])
    with pytest.raises(ValueError, match="ID3 knows categories only"):
        treewright.ID3Classifier().fit(sp.csr_matrix(np.eye(3)), [1, 2, 3])


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [
        treewright.RandomForestClassifier(2, max_depth=3, random_state=0, n_jobs=1),
        treewright.GradientBoostingClassifier(n_estimators=2, growth="best", max_leaf_nodes=4, n_jobs=1),
    ],
    ids=name_of,
)
def test_the_table_is_never_a_dense_matrix_of_numbers(learner: Any) -> None:
    X = sp.random(10_000, 1_500, density=0.002, format="csr", random_state=0)
    y = np.asarray(X[:, :40].sum(axis=1)).ravel() > 0.0
    learner = clone(learner).fit(X[:100], y[:100])  # imports
    tracemalloc.start()
    learner.fit(X, y).predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 120 MB as numbers, 15 MB as codes, which are there by column and by row.
    assert peak < 100e6


@pytest.mark.parametrize(
    "learner",
    [
        treewright.DecisionTreeClassifier(prune="cost_complexity"),
        treewright.DecisionTreeClassifier(prune="reduced_error"),
        treewright.DecisionTreeRegressor(prune="reduced_error"),
        treewright.DecisionTreeClassifier(missing="majority"),
        treewright.DecisionTreeClassifier(missing=("class_majority", "mean")),
        treewright.DecisionTreeClassifier(missing="model"),
        treewright.DecisionTreeRegressor(missing="surrogate"),
        treewright.CARTClassifier(),
        treewright.CARTRegressor(missing="majority"),
        treewright.C45Classifier(),
        treewright.C45Classifier(missing="majority", prune="reduced_error"),
        treewright.ObliviousTreeClassifier(max_depth=3),
        treewright.ObliviousTreeRegressor(max_depth=3, missing="branch"),
        treewright.OneRClassifier(),
        treewright.RandomForestClassifier(3, max_leaf_nodes=6, oob_score=True, random_state=0),
        treewright.RandomForestRegressor(3, criterion="absolute_error", max_leaf_nodes=6, random_state=0),
        treewright.BaggingClassifier(treewright.C45Classifier(), 3, random_state=0),
        treewright.AdaBoostClassifier(treewright.C45Classifier(), n_estimators=3),
    ],
    ids=name_of,
)
def test_only_blocks_of_rows_or_tested_columns_become_dense(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.hstack([DENSE, np.zeros((150, 12))])
    table[::7, 2] = table[3::11, 5] = np.nan
    y = target_of(learner)
    dense = clone(learner).fit(table, y)
    expected = figures(dense, table)
    monkeypatch.setattr(descent, "MOST_ROWS", 8)
    for matrix in (sp.csr_array, sp.csc_array):
        made: list[tuple[int, int]] = []
        to_dense = matrix.toarray

        def record(self: Any, *options: Any, made: Any = made, to_dense: Any = to_dense, **more: Any) -> Any:
            made.append(self.shape)
            return to_dense(self, *options, **more)

        with monkeypatch.context() as patch:
            patch.setattr(sp._compressed._cs_matrix, "toarray", record)
            model = clone(learner).fit(matrix(table), y)
            np.testing.assert_array_equal(figures(model, matrix(table)), expected)
        assert made
        assert all(n_rows <= 8 or n_columns <= 8 for n_rows, n_columns in made)


def test_a_tiny_column_of_a_sparse_matrix_is_scaled_as_in_a_table() -> None:
    table = DENSE * np.where(np.arange(8) % 2, 1e-5, 1.0)
    model = treewright.C45Classifier().fit(sp.csc_matrix(table), LABELS)
    dense = treewright.C45Classifier().fit(table, LABELS)
    np.testing.assert_array_equal(model.predict_proba(table), dense.predict_proba(table))
    assert (dense.tree_.column % 2 == 1).any()
