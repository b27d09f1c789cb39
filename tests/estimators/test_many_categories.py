"""Columns of many categories, such as names and postal codes, do not spoil a model, and names are warned of."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from treewright import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    CARTClassifier,
    CARTRegressor,
    DecisionStumpClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    ID3Classifier,
    ObliviousTreeClassifier,
    ObliviousTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreeClassifier,
)
from treewright.engines.chance import chance_share

N_ROWS = 240


def gini_of(weights: np.ndarray) -> float:
    """A criterion of the user."""
    return float(1.0 - ((weights / weights.sum()) ** 2).sum())


CLASSIFIERS = [
    DecisionTreeClassifier(),
    DecisionTreeClassifier(criterion="information_gain"),
    DecisionTreeClassifier(criterion="gain_ratio"),
    DecisionTreeClassifier(criterion="error"),
    DecisionTreeClassifier(categorical="multiway"),
    DecisionTreeClassifier(missing="surrogate", max_depth=6),
    DecisionTreeClassifier(criterion=gini_of, max_depth=4),
    CARTClassifier(),
    DecisionStumpClassifier(),
    RandomTreeClassifier(max_features=None, random_state=0),
    ObliviousTreeClassifier(),
    BaggingClassifier(n_estimators=10, random_state=0),
    AdaBoostClassifier(n_estimators=20, random_state=0),
    RandomForestClassifier(n_estimators=30, random_state=0, max_features=None),
    RandomForestClassifier(n_estimators=30, random_state=0, max_features=None, criterion="information_gain"),
]
REGRESSORS = [
    DecisionTreeRegressor(),
    DecisionTreeRegressor(criterion="absolute_error"),
    DecisionTreeRegressor(criterion="sdr"),
    CARTRegressor(),
    ObliviousTreeRegressor(),
    BaggingRegressor(n_estimators=10, random_state=0),
    RandomForestRegressor(n_estimators=30, random_state=0, max_features=None),
]


def make_table(rows_per_name: int, n_classes: int = 0, seed: int = 0) -> tuple[dict[str, Any], np.ndarray]:
    """Two numbers and a category that matter, and names that do not; training rows first, as many others after."""
    draw = np.random.default_rng(seed)
    n = 2 * N_ROWS
    table: dict[str, Any] = {
        "name": [f"n{number}" for number in draw.permutation(np.arange(n) // rows_per_name)],
        "x": draw.normal(size=n),
        "z": draw.normal(size=n),
        "kind": draw.choice(list("abc"), n).tolist(),
    }
    signal = table["x"] + 0.7 * table["z"] + (np.array(table["kind"]) == "a") + 0.3 * draw.normal(size=n)
    target = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes)) if n_classes else signal
    return table, target


def score_without_and_with_names(learner: Any, table: dict[str, Any], target: np.ndarray) -> tuple[float, float]:
    def score(names: list[str]) -> float:
        training = {name: table[name][:N_ROWS] for name in names}
        new = {name: table[name][N_ROWS:] for name in names}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(learner.fit(training, target[:N_ROWS]).score(new, target[N_ROWS:]))

    return score(["x", "z", "kind"]), score(list(table))


def name_of_case(learner: Any) -> str:
    """The learner as text, without the addresses of functions, which differ between processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", " ".join(str(learner).split()))


@pytest.mark.slow
@pytest.mark.parametrize("rows_per_name", [1, 2, 3])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("learner", CLASSIFIERS, ids=name_of_case)
def test_names_do_not_spoil_a_classifier(learner: Any, n_classes: int, rows_per_name: int) -> None:
    without, with_names = score_without_and_with_names(learner, *make_table(rows_per_name, n_classes))
    assert with_names > without - 0.06


@pytest.mark.slow
@pytest.mark.parametrize("rows_per_name", [1, 2, 3])
@pytest.mark.parametrize("learner", REGRESSORS, ids=name_of_case)
def test_names_do_not_spoil_a_regressor(learner: Any, rows_per_name: int) -> None:
    without, with_names = score_without_and_with_names(learner, *make_table(rows_per_name))
    assert with_names > without - 0.06


@examples(40)
@given(st.integers(8, 40), st.integers(2, 3), st.integers(0, 1 << 20), st.sampled_from(["gini", "information_gain"]))
def test_no_node_is_split_by_a_name_in_each_row(n_rows: int, n_classes: int, seed: int, criterion: str) -> None:
    draw = np.random.default_rng(seed)
    table = {"name": [f"n{row}" for row in range(n_rows)], "x": draw.integers(0, 4, n_rows)}
    y = draw.integers(0, n_classes, n_rows)
    with pytest.warns(UserWarning, match="column 'name' differs in every row"):
        model = DecisionTreeClassifier(criterion=criterion).fit(table, y)
    assert 0 not in model.tree_.column
    alone = DecisionTreeClassifier(criterion=criterion).fit({"x": table["x"]}, y)
    assert model.get_n_leaves() == alone.get_n_leaves()


@pytest.mark.parametrize(("n_rows", "n_categories"), [(40, 12), (60, 30), (50, 50), (200, 20)])
def test_the_gain_by_chance_is_that_of_random_targets(n_rows: int, n_categories: int) -> None:
    """Mean and standard deviation of the share of the variance that categories explain, by 4,000 permutations."""
    draw = np.random.default_rng(1)
    categories = np.arange(n_rows) % n_categories
    target = draw.normal(size=n_rows)
    target -= target.mean()
    sizes = np.bincount(categories)
    permuted = [draw.permutation(target) for _ in range(4000)]
    explained = [(np.bincount(categories, y) ** 2 / sizes).sum() / (target**2).sum() for y in permuted]
    expected = np.mean(explained) + np.std(explained)
    assert chance_share(n_categories, n_rows) == pytest.approx(expected, abs=0.02)


@examples(40)
@given(st.integers(12, 60), st.integers(2, 10), st.integers(0, 1 << 20))
def test_few_categories_are_split_as_ever(n_rows: int, n_categories: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    codes = np.concatenate([[0, 0], draw.integers(0, n_categories, n_rows - 2)])  # a repeated category is no name
    table = {"c": [f"c{code}" for code in codes], "x": draw.normal(size=n_rows)}
    y = draw.integers(0, 3, n_rows)
    for learner, target in ((DecisionTreeClassifier, y), (DecisionTreeRegressor, y + draw.normal(size=n_rows))):
        trees = [learner(categorical=mode).fit(table, target).tree_ for mode in ("subset", "best_subset")]
        assert trees[0].to_dict() == trees[1].to_dict()


def test_the_best_subset_separates_any_target() -> None:
    draw = np.random.default_rng(3)
    table = {"x": draw.normal(size=40), "name": [f"n{row}" for row in range(40)]}
    y = draw.integers(0, 2, 40)
    with pytest.warns(UserWarning, match="column 'name' differs in every row"):
        model = DecisionTreeClassifier(categorical="best_subset").fit(table, y)
    assert model.get_n_leaves() == 2
    assert model.score(table, y) == 1.0


@pytest.mark.parametrize("learner", [DecisionTreeRegressor(), RandomForestRegressor(n_estimators=20, random_state=0)])
def test_many_categories_that_matter_are_used(learner: Any) -> None:
    draw = np.random.default_rng(4)
    codes = np.arange(1200) % 60
    table = {"noise": draw.normal(size=1200), "town": [f"t{code}" for code in codes]}
    y = draw.normal(size=60)[codes] + 0.5 * draw.normal(size=1200)
    rows = draw.permutation(1200)
    training, new = (
        {name: np.array(values)[some] for name, values in table.items()} for some in (rows[:800], rows[800:])
    )
    assert learner.fit(training, y[rows[:800]]).score(new, y[rows[800:]]) > 0.5


@pytest.mark.parametrize(
    "learner",
    [
        CARTClassifier(),
        ID3Classifier(),
        RandomForestClassifier(n_estimators=3),
        GradientBoostingClassifier(n_estimators=3),
        BaggingClassifier(n_estimators=3),
        AdaBoostClassifier(n_estimators=3),
    ],
    ids=str,
)
def test_every_learner_warns_of_names(learner: Any) -> None:
    table = {"id": [f"n{row}" for row in range(20)], "sky": ["sun", "rain"] * 10}
    with pytest.warns(
        UserWarning, match="column 'id' differs in every row, as a name or number of the row does; leave"
    ):
        learner.fit(table, ["a", "b", "a", "a"] * 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.fit({"id": table["id"][:10] * 2, "sky": table["sky"]}, ["a", "b", "a", "a"] * 5)


def test_several_names_are_one_warning() -> None:
    names = [f"n{row}" for row in range(20)]
    with pytest.warns(UserWarning, match="each of the columns 'id', 'name' differs in every row") as caught:
        DecisionTreeClassifier().fit({"id": names, "name": names[::-1], "x": range(20)}, ["a", "b"] * 10)
    assert len(caught) == 1
    assert caught[0].filename == __file__
