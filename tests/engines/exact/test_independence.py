"""The chi-squared test: its tail against SciPy's, and which roots it lets split by brute force."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency
from sklearn.base import clone

from treewright import C45Classifier, CARTClassifier, DecisionTreeClassifier, ID3Classifier
from treewright.engines.exact.independence import chance_of_more

# What an unlimited tree of each learner is, so that only the test can stop it.
LEARNERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "DecisionTree": (DecisionTreeClassifier, {}),
    "DecisionTree-multiway": (DecisionTreeClassifier, {"categorical": "multiway", "criterion": "information_gain"}),
    "CART": (CARTClassifier, {"prune": None}),
    "C45": (C45Classifier, {"prune": None, "min_samples_leaf": 1}),
    "ID3": (ID3Classifier, {}),
}


FORMS = {"plain": chance_of_more, "compiled": numba.njit(error_model="numpy")(chance_of_more)}


@pytest.fixture(params=FORMS)
def tail(request: pytest.FixtureRequest) -> Callable[[float, int], float]:
    """The kernel as Python runs it, and as Numba compiles it."""
    return FORMS[request.param]


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 7, 10, 19, 30, 57, 100, 333, 1_000])
def test_the_tail_is_that_of_scipy(tail: Callable[[float, int], float], freedom: int) -> None:
    around_the_mean = freedom + np.sqrt(2.0 * freedom) * np.linspace(-4.0, 12.0, 81)
    statistics = np.concatenate([np.geomspace(1e-6, 600.0, 60), around_the_mean[around_the_mean > 0]])
    ours = [tail(statistic, freedom) for statistic in statistics]
    np.testing.assert_allclose(ours, chi2.sf(statistics, freedom), rtol=1e-10, atol=1e-290)


def test_the_tail_is_that_of_printed_tables(tail: Callable[[float, int], float]) -> None:
    # The critical values that textbooks print for 5 and 1 per cent.
    for statistic, freedom, chance in [(3.841, 1, 0.05), (5.991, 2, 0.05), (6.635, 1, 0.01), (18.307, 10, 0.05)]:
        assert tail(statistic, freedom) == pytest.approx(chance, rel=1e-3)


def test_nothing_is_surprising_without_a_statistic_or_without_freedom(tail: Callable[[float, int], float]) -> None:
    assert tail(0.0, 3) == 1.0
    assert tail(-1e-12, 1) == 1.0
    assert tail(5.0, 0) == 1.0


def chance_of_root(tree: Any, path: np.ndarray, y: np.ndarray) -> float:
    """SciPy's p-value of the classes in the branches of the root; 1 where there is nothing to compare."""
    branches = [np.asarray(path[:, child.index]).ravel().astype(bool) for child in tree.root.children]
    table = np.array([[np.count_nonzero(y[inside] == name) for name in np.unique(y)] for inside in branches])
    table = table[table.sum(axis=1) > 0]
    if min(table.shape) < 2:
        return 1.0
    return float(chi2_contingency(table, correction=False).pvalue)


def assert_root_is_split_unless_by_chance(learner: Any, X: Any, y: np.ndarray, most: float) -> None:
    unlimited = clone(learner).fit(X, y)
    tested = clone(learner).set_params(max_p_value=most).fit(X, y)
    if unlimited.tree_.root.is_leaf:
        assert tested.tree_.root.is_leaf
        return
    chance = chance_of_root(unlimited.tree_, unlimited.decision_path(X).toarray(), y)
    assume(abs(chance - most) >= 1e-9)
    assert tested.tree_.root.is_leaf == (chance > most)
    if not tested.tree_.root.is_leaf:
        assert tested.tree_.to_dict() == unlimited.tree_.to_dict()


@st.composite
def small_tables(draw: st.DrawFn) -> tuple[pd.DataFrame, np.ndarray]:
    n_rows = draw(st.integers(4, 30))
    n_classes = draw(st.integers(2, 4))

    def rows_of(values: list[Any]) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=n_rows, max_size=n_rows))

    columns = {"sky": rows_of(["sun", "rain", "fog"]), "wind": rows_of(["weak", "strong"])}
    return pd.DataFrame(columns), np.array(rows_of(["a", "b", "c", "d"][:n_classes]))


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
@given(table=small_tables(), most=st.sampled_from([0.001, 0.01, 0.05, 0.2, 0.5, 0.9]))
def test_the_root_is_split_if_chance_would_hardly_do_it(
    name: str, table: tuple[pd.DataFrame, np.ndarray], most: float
) -> None:
    learner, choices = LEARNERS[name]
    X, y = table
    assert_root_is_split_unless_by_chance(learner(**choices, max_depth=1), X, y, most)


@pytest.mark.slow
@given(
    numbers=st.lists(st.tuples(st.integers(0, 8), st.sampled_from("ab")), min_size=4, max_size=30),
    most=st.sampled_from([0.01, 0.05, 0.3]),
)
@pytest.mark.parametrize("name", ["DecisionTree", "CART", "C45"])
def test_the_root_is_tested_at_its_threshold(name: str, numbers: list[tuple[int, str]], most: float) -> None:
    learner, choices = LEARNERS[name]
    X = np.array([[number] for number, _ in numbers], dtype=float)
    y = np.array([answer for _, answer in numbers])
    assert_root_is_split_unless_by_chance(learner(**choices, max_depth=1), X, y, most)


def test_every_split_of_a_tested_tree_passes_the_test() -> None:
    random = np.random.default_rng(2)
    X = random.standard_normal((800, 4))
    y = np.where((X[:, 0] > 0) ^ (random.random(800) < 0.25), "yes", "no")
    model = DecisionTreeClassifier(max_p_value=0.02).fit(X, y)
    path = model.decision_path(X).toarray().astype(bool)
    inner = [node for node in model.tree_ if not node.is_leaf]
    assert len(inner) > 3
    for node in inner:
        table = [
            [np.count_nonzero(path[:, child.index] & (y == name)) for name in ("no", "yes")] for child in node.children
        ]
        table = np.array(table)
        assert chi2_contingency(table[:, table.sum(axis=0) > 0], correction=False).pvalue <= 0.02 + 1e-9


@pytest.mark.parametrize("name", LEARNERS)
def test_noise_is_hardly_split(name: str) -> None:
    learner, choices = LEARNERS[name]
    random = np.random.default_rng(5)
    if name in ("ID3", "C45"):  # C4.5 holds numbers of no use back by itself
        X = pd.DataFrame({f"c{k}": random.choice(list("pqr"), 1_000) for k in range(6)})
    else:
        X = random.standard_normal((1_000, 5))
    y = random.choice(["no", "yes"], 1_000)
    noise = learner(**choices).fit(X, y)
    tested = learner(**choices, max_p_value=0.01).fit(X, y)
    assert noise.tree_.n_leaves > 100
    assert tested.tree_.n_leaves < noise.tree_.n_leaves / 5


def test_rows_without_a_value_are_no_evidence() -> None:
    # 8 known rows are told apart without an error, as chance does once in 200 times; the other 92 say nothing.
    X = np.array([[0.0]] * 4 + [[1.0]] * 4 + [[np.nan]] * 92)
    y = np.array(["a"] * 4 + ["b"] * 4 + ["a", "b"] * 46)
    chance = chi2_contingency([[4, 0], [0, 4]], correction=False).pvalue
    for most, is_leaf in [(chance * 1.01, False), (chance * 0.99, True)]:
        model = DecisionTreeClassifier(missing="fractional", max_depth=1, max_p_value=most).fit(X, y)
        assert model.tree_.root.is_leaf == is_leaf


def test_one_as_the_limit_tests_nothing() -> None:
    random = np.random.default_rng(6)
    X, y = random.standard_normal((200, 3)), random.choice(["no", "yes"], 200)
    plain, tested = DecisionTreeClassifier().fit(X, y), DecisionTreeClassifier(max_p_value=1.0).fit(X, y)
    assert plain.tree_.to_dict() == tested.tree_.to_dict()


@pytest.mark.parametrize("most", [0, 0.0, -0.1, 1.5, float("nan"), float("inf"), "0.05", True, None])
@pytest.mark.parametrize("name", ["DecisionTree", "CART", "C45", "ID3"])
def test_limits_that_are_no_chances_are_refused(name: str, most: Any) -> None:
    learner, choices = LEARNERS[name]
    with pytest.raises(ValueError, match=r"max_p_value is .*; give a number above 0.0 and up to 1.0") as refused:
        learner(**choices, max_p_value=most).fit(pd.DataFrame({"sky": ["sun", "rain"]}), ["a", "b"])
    assert "\n" not in str(refused.value)
