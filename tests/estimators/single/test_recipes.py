"""What each recipe does, and that all learners behave as scikit-learn's do."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier as PeerClassifier
from sklearn.tree import DecisionTreeRegressor as PeerRegressor

import treewright
from treewright import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    ObliviousTreeClassifier,
    OneRClassifier,
    RandomTreeClassifier,
    RandomTreeRegressor,
    datasets,
)
from treewright.estimators import single
from treewright.table import Frame
from treewright.tree import SplitKind, Tree


def make(name: str, **parameters: Any) -> Any:
    learner = getattr(treewright, name)()
    special = {"ID3Classifier": {"categorical_features": "all"}}.get(name, {})
    known = {key: value for key, value in parameters.items() if key in learner.get_params()}
    return learner.set_params(**special, **known)


def words_and_numbers(n_rows: int = 150, seed: int = 0) -> tuple[dict[str, list[Any]], np.ndarray]:
    """Words, whole numbers and missing values; the target depends on both columns and is noisy."""
    rng = np.random.default_rng(seed)
    words = rng.choice(["a", "b", "c", "d"], n_rows)
    numbers = rng.integers(0, 12, n_rows).astype(float)
    target = ((words == "a") ^ (numbers > 5)).astype(int)
    target[rng.random(n_rows) < 0.1] ^= 1
    numbers[rng.random(n_rows) < 0.05] = np.nan
    return {"word": words.tolist(), "number": numbers.tolist()}, target


@pytest.fixture(scope="module")
def iris() -> Any:
    return load_iris()


def test_cart_asks_questions_with_two_answers_only() -> None:
    orchard = datasets.load_orchard()
    for model in (CARTClassifier(prune=None), CARTRegressor(prune=None)):
        target = orchard.y if isinstance(model, CARTClassifier) else np.arange(len(orchard.y))
        tree = model.fit(orchard.X, target).tree_
        assert set(tree.n_children.tolist()) == {0, 2}
        assert SplitKind.SUBSET in tree.kind


@pytest.mark.parametrize("depth", [1, 2, 3, None])
def test_cart_makes_the_errors_of_scikit_learn_on_iris(iris: Any, depth: int | None) -> None:
    ours = CARTClassifier(max_depth=depth, prune=None).fit(iris.data, iris.target)
    peer = PeerClassifier(max_depth=depth, random_state=0).fit(iris.data, iris.target)
    assert ours.score(iris.data, iris.target) == peer.score(iris.data, iris.target)


def test_a_stump_asks_one_question(iris: Any) -> None:
    assert DecisionStumpClassifier().fit(iris.data, iris.target).get_depth() == 1
    assert DecisionStumpRegressor().fit(iris.data, iris.target).get_depth() == 1
    weather = datasets.load_weather()
    multiway = DecisionStumpClassifier(criterion="information_gain", categorical="multiway")
    assert multiway.fit(weather.X, weather.y).get_n_leaves() == 3


def test_c45_prefers_the_gain_ratio_to_the_gain() -> None:
    """What Weka 3.6.14 prints for its sample weather.numeric.arff: weka.classifiers.trees.J48 -U -M 2."""
    outlook = "sunny sunny overcast rainy rainy rainy overcast sunny sunny rainy sunny overcast overcast rainy"
    table = {
        "outlook": outlook.split(),
        "temperature": [85, 80, 83, 70, 68, 65, 64, 72, 69, 75, 75, 72, 81, 71],
        "humidity": [85, 90, 86, 96, 80, 70, 65, 95, 70, 80, 70, 90, 75, 91],
        "windy": [False, True, False, False, False, True, True, False, False, False, True, True, False, True],
    }
    play = ["no", "no", "yes", "yes", "yes", "no", "yes", "no", "yes", "yes", "yes", "yes", "yes", "no"]
    model = C45Classifier(prune=None).fit(table, play)
    assert [str(rule) for rule in model.rules()] == [
        "outlook = sunny and humidity <= 75: yes (2.0)",
        "outlook = sunny and humidity > 75: no (3.0)",
        "outlook = overcast: yes (4.0)",
        "outlook = rainy and windy = False: yes (3.0)",
        "outlook = rainy and windy = True: no (2.0)",
    ]


def test_c45_keeps_two_rows_in_a_branch_by_default() -> None:
    table, target = words_and_numbers()
    assert C45Classifier().fit(table, target).get_n_leaves() <= (
        C45Classifier(min_samples_leaf=1).fit(table, target).get_n_leaves()
    )


def test_id3_takes_an_order_for_mere_categories() -> None:
    sizes = Frame({"size": ["S", "L", "M", "L"]}).declare("size", ("S", "M", "L"), ordered=True)
    model = ID3Classifier().fit(sizes, ["no", "yes", "no", "yes"])
    assert model.tree_.kind[0] == SplitKind.MULTIWAY
    assert model.predict(sizes).tolist() == ["no", "yes", "no", "yes"]


def test_random_trees_differ_by_seed_and_repeat_with_it(iris: Any) -> None:
    trees = [
        RandomTreeClassifier(random_state=seed).fit(iris.data, iris.target).tree_.to_dict() for seed in (0, 1, 2, 0)
    ]
    assert trees[0] == trees[3]
    assert trees[0] != trees[1] or trees[0] != trees[2]


def test_one_rule_on_iris_is_the_petal_width_with_six_errors(iris: Any) -> None:
    """Weka 3.6.14, weka.classifiers.rules.OneR -B 6: petalwidth < 0.8, < 1.75, >= 1.75 (144/150 instances correct)."""
    model = OneRClassifier().fit(iris.data, iris.target)
    assert sorted(model.tree_.threshold[model.tree_.kind > 0].tolist()) == pytest.approx([0.8, 1.75])
    assert set(model.tree_.column[model.tree_.kind > 0].tolist()) == {3}
    assert model.score(iris.data, iris.target) == 144 / 150


def test_one_rule_asks_about_one_column_and_stays_shallow() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 2)), rng.integers(0, 2, 3000)
    model = OneRClassifier(min_bucket=2).fit(X, y)
    assert len(set(model.tree_.column[model.tree_.kind > 0].tolist())) == 1
    assert model.get_n_leaves() > 100
    assert model.get_depth() <= np.ceil(np.log2(model.get_n_leaves()))


def test_one_rule_does_not_depend_on_the_order_of_the_rows() -> None:
    table, target = words_and_numbers()
    order = np.random.default_rng(3).permutation(len(target))
    frame = pd.DataFrame({"number": table["number"]})
    expected = OneRClassifier(min_bucket=3).fit(frame, target).tree_.to_dict()
    assert OneRClassifier(min_bucket=3).fit(frame.iloc[order], target[order]).tree_.to_dict() == expected


def test_one_rule_counts_the_training_rows_that_reach_each_leaf() -> None:
    table, target = words_and_numbers()
    for columns in ({"word": table["word"]}, {"number": table["number"]}):
        model = OneRClassifier(min_bucket=3).fit(columns, target)
        check_tree_against_its_rows(model, columns, target)


def test_one_rule_takes_the_column_with_the_fewest_errors() -> None:
    table, target = words_and_numbers()
    alone = {
        name: OneRClassifier().fit({name: cells}, target).score({name: cells}, target) for name, cells in table.items()
    }
    model = OneRClassifier().fit(table, target)
    assert model.score(table, target) == max(alone.values())


@pytest.mark.parametrize("name", ["ObliviousTreeClassifier", "ObliviousTreeRegressor"])
def test_all_nodes_of_a_level_of_an_oblivious_tree_ask_the_same(name: str) -> None:
    table, target = words_and_numbers()
    tree = make(name, max_depth=4).fit(table, target).tree_
    assert tree.depth == 4
    for depth in range(4):
        questions = {str(node.tests[0]) for node in tree if node.depth == depth}
        assert len(questions) == 1
    assert all(node.is_leaf == (node.depth == 4) for node in tree)


def test_an_oblivious_tree_of_one_level_is_a_stump() -> None:
    table, target = words_and_numbers()
    oblivious = ObliviousTreeClassifier(max_depth=1).fit(table, target)
    stump = DecisionStumpClassifier().fit(table, target)
    assert str(oblivious.rules()) == str(stump.rules())
    assert oblivious.tree_.root.gain == pytest.approx(stump.tree_.root.gain)


def check_tree_against_its_rows(model: Any, X: Any, y: np.ndarray) -> None:
    """Distribution, weight and rows of every node are those of the training rows that pass it."""
    paths = model.decision_path(X)
    tree: Tree = model.tree_
    np.testing.assert_array_equal(np.asarray(paths.sum(axis=0)).ravel(), tree.rows)
    if tree.target.is_classes:
        one_hot = (y[:, None] == model.classes_).astype(float)
        np.testing.assert_allclose(paths.T @ one_hot, tree.distribution)


@pytest.mark.parametrize("name", single.__all__)
def test_decision_path_and_apply_agree_with_the_tree(name: str) -> None:
    table, target = words_and_numbers()
    missing = "branch" if name == "OneRClassifier" else "learned"
    model = make(name, random_state=0, missing=missing, prune=None).fit(table, target)
    check_tree_against_its_rows(model, table, target)
    leaves = model.apply(table)
    assert np.all(model.tree_.kind[leaves] == SplitKind.LEAF)
    paths = model.decision_path(table)
    assert paths.shape == (len(target), model.tree_.n_nodes)
    assert paths.has_sorted_indices
    for row in range(5):
        nodes = paths[row].indices.tolist()
        assert nodes[0] == 0
        assert nodes[-1] == leaves[row]
        assert [int(model.tree_.parent[node]) for node in nodes[1:]] == nodes[:-1]
    np.testing.assert_array_equal(
        model.predict(table), np.asarray([model.tree_.node(int(leaf)).prediction for leaf in leaves])
    )


@pytest.mark.parametrize("name", single.__all__)
def test_a_row_of_weight_two_is_the_row_twice(name: str) -> None:
    table, target = words_and_numbers()
    frame = pd.DataFrame(table)
    weights = np.random.default_rng(1).integers(1, 4, len(target))
    twice = frame.loc[frame.index.repeat(weights)]
    # Rows are counted, not weighed, in the limits of a leaf; at 1 they never matter.
    # Cross-validation deals rows to folds, so repeated rows are judged by their copies: no pruning here.
    parameters = {"random_state": 0, "min_samples_leaf": 1, "prune": None}
    weighted = make(name, **parameters).fit(frame, target, sample_weight=weights)
    repeated = make(name, **parameters).fit(twice, np.repeat(target, weights))
    np.testing.assert_allclose(weighted.predict(frame), repeated.predict(frame))
    assert weighted.tree_.n_nodes == repeated.tree_.n_nodes
    np.testing.assert_allclose(weighted.tree_.weight, repeated.tree_.weight)
    np.testing.assert_array_equal(weighted.tree_.column, repeated.tree_.column)


@pytest.mark.parametrize("name", single.__all__)
def test_clone_and_pickle_keep_the_model(name: str) -> None:
    table, target = words_and_numbers()
    model = make(name, random_state=0).fit(table, target)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    assert again.tree_.to_dict() == model.tree_.to_dict()
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert clone(model).fit(table, target).tree_.to_dict() == model.tree_.to_dict()


@pytest.mark.parametrize("name", single.__all__)
def test_learners_work_in_pipelines_and_cross_validation(name: str, iris: Any) -> None:
    pipeline = make_pipeline(StandardScaler(), make(name, random_state=0))
    scores = cross_val_score(pipeline, iris.data, iris.target, cv=3)
    assert np.isfinite(scores).all()


def test_grid_search_finds_a_depth(iris: Any) -> None:
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [1, 3], "criterion": ["gini", "gain_ratio"], "candidates": ["midpoints", ("bins", 8)]},
        cv=3,
    )
    search.fit(iris.data, iris.target)
    assert search.best_params_["max_depth"] == 3
    assert search.best_score_ > 0.9


def test_random_trees_can_be_bagged(iris: Any) -> None:
    forest = BaggingClassifier(RandomTreeClassifier(), n_estimators=10, random_state=0)
    assert forest.fit(iris.data, iris.target).score(iris.data, iris.target) > 0.95


@pytest.mark.parametrize("name", single.__all__)
def test_of_two_equal_columns_the_first_is_asked_about(name: str) -> None:
    table, target = words_and_numbers()
    doubled = {f"{name}_{copy}": cells for name, cells in table.items() for copy in ("first", "second")}
    model = make(name, random_state=0, max_features=None).fit(doubled, target)
    asked = {node.column.name for node in model.tree_ if node.column}
    assert asked
    assert all(column.endswith("_first") for column in asked)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(),
        DecisionTreeClassifier(splitter="random", max_features="sqrt", random_state=1),
        DecisionTreeClassifier(splitter=("among", 5), max_depth=8, random_state=1),
        C45Classifier(),
        DecisionTreeRegressor(min_samples_leaf=5),
        RandomTreeRegressor(criterion="sdr", random_state=2, max_depth=12),
        ObliviousTreeClassifier(),
    ],
    ids=str,
)
def test_the_tree_does_not_depend_on_the_number_of_threads(model: Any) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60_000, 12))
    X[:, :4] = np.round(X[:, :4], 1)
    target = X @ rng.normal(size=12) + rng.normal(size=60_000)
    y = np.digitize(target, [-2, 2]) if hasattr(model, "predict_proba") else target
    weights = rng.lognormal(sigma=6.0, size=60_000)
    one, two = (clone(model).set_params(n_jobs=n_jobs).fit(X, y, sample_weight=weights).tree_ for n_jobs in (1, 2))
    assert one.n_nodes > 100
    for array in ("kind", "column", "threshold", "first_child", "weight", "gain", "distribution"):
        np.testing.assert_array_equal(getattr(one, array), getattr(two, array), err_msg=array)


def test_a_seed_repeats_what_is_random_and_changes_nothing_else(iris: Any) -> None:
    def grow(**parameters: Any) -> dict[str, Any]:
        return DecisionTreeClassifier(**parameters).fit(iris.data, iris.target).tree_.to_dict()

    for options in ({"splitter": "random"}, {"splitter": ("among", 4)}, {"max_features": 1}):
        assert grow(**options, random_state=3) == grow(**options, random_state=3)
        assert any(grow(**options, random_state=3) != grow(**options, random_state=seed) for seed in range(3))
    assert grow(random_state=3) == grow(random_state=None) == grow(splitter=("among", 1), random_state=9)


def test_a_fit_without_chance_leaves_the_global_generator_alone(iris: Any) -> None:
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    DecisionTreeClassifier().fit(iris.data, iris.target)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_growth_keeps_its_limits(iris: Any) -> None:
    def grow(**parameters: Any) -> Tree:
        return DecisionTreeClassifier(**parameters).fit(iris.data, iris.target).tree_

    assert grow(max_depth=0).n_nodes == 1
    assert grow(max_depth=2).depth == 2
    assert grow(max_leaf_nodes=4).n_leaves == 4
    assert grow(min_samples_leaf=10).rows.min() >= 10
    assert grow(min_samples_leaf=0.1).rows.min() >= 15
    tree = grow(min_samples_split=0.5)
    assert tree.rows[tree.kind != SplitKind.LEAF].min() >= 75
    assert grow(min_split_gain=0.2).gain[grow(min_split_gain=0.2).kind != SplitKind.LEAF].min() >= 0.2
    assert grow(min_samples_leaf=10**15, max_leaf_nodes=10**15, max_depth=10**15).n_nodes == 1
    assert grow(splitter=("among", 10**15), random_state=0, max_depth=1).n_nodes == 3


def test_thresholds_stand_on_the_grid_that_was_asked_for(iris: Any) -> None:
    tree = DecisionTreeClassifier(candidates=("step", 0.5)).fit(iris.data, iris.target).tree_
    thresholds = tree.threshold[tree.kind == SplitKind.THRESHOLD]
    np.testing.assert_array_equal(thresholds * 2, np.round(thresholds * 2))
    binned = DecisionTreeClassifier(candidates=("bins", 3)).fit(iris.data, iris.target).tree_
    inner = binned.kind == SplitKind.THRESHOLD
    for column in range(4):
        assert len(set(binned.threshold[inner & (binned.column == column)].tolist())) <= 2


def test_class_boundaries_give_the_same_tree_as_midpoints(iris: Any) -> None:
    for criterion in ("gini", "information_gain"):
        trees = [
            DecisionTreeClassifier(criterion=criterion, candidates=candidates).fit(iris.data, iris.target).tree_
            for candidates in ("midpoints", "class_boundaries")
        ]
        assert trees[0].to_dict() == trees[1].to_dict()


def test_balanced_classes_weigh_the_same_in_total(iris: Any) -> None:
    y = np.where(iris.target == 0, "rare", "common")
    tree = DecisionTreeClassifier(class_weight="balanced", max_depth=1).fit(iris.data, y).tree_
    np.testing.assert_allclose(tree.distribution[0], [75.0, 75.0])
    weights = np.where(y == "rare", 3.0, 1.0)
    tree = DecisionTreeClassifier(class_weight="balanced").fit(iris.data, y, sample_weight=weights).tree_
    np.testing.assert_allclose(tree.distribution[0], [125.0, 125.0])


def test_a_dict_of_class_weights_multiplies_the_weights_of_rows(iris: Any) -> None:
    by_class = DecisionTreeClassifier(class_weight={0: 2.0, 2: 0.5}).fit(iris.data, iris.target)
    by_row = DecisionTreeClassifier().fit(iris.data, iris.target, sample_weight=np.array([2.0, 1.0, 0.5])[iris.target])
    assert by_class.tree_.to_dict() == by_row.tree_.to_dict()


def test_importances_are_those_of_scikit_learn_where_the_trees_are_the_same() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = CARTRegressor(max_depth=3, prune=None).fit(X, y)
    peer = PeerRegressor(max_depth=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.feature_importances_, peer.feature_importances_)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_probabilities_are_the_shares_of_the_leaf(iris: Any) -> None:
    model = CARTClassifier(max_depth=2).fit(iris.data, iris.target)
    probabilities = model.predict_proba(iris.data)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(iris.data))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(iris.data)), probabilities)


@pytest.mark.parametrize("criterion", ["squared_error", "sdr", "absolute_error", "poisson"])
def test_regressors_fit_the_diabetes_table(criterion: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    full = DecisionTreeRegressor(criterion=criterion).fit(X, y)
    assert full.score(X, y) == pytest.approx(1.0)
    stump = DecisionTreeRegressor(criterion=criterion, max_depth=1).fit(X, y)
    answer = np.median if criterion == "absolute_error" else np.mean
    leaves = stump.apply(X)
    for leaf in (1, 2):
        assert stump.tree_.predictions[leaf, 0] == pytest.approx(answer(y[leaves == leaf]))


def test_rules_and_depth_are_those_of_the_tree() -> None:
    weather = datasets.load_weather()
    model = ID3Classifier().fit(weather.X, weather.y)
    assert (model.get_depth(), model.get_n_leaves(), len(model.rules())) == (2, 5, 5)


def test_positions_and_names_declare_the_same_columns() -> None:
    frame = pd.DataFrame({"code": [3, 1, 3, 2], "price": ["1.5", "2", "3", "1"]})
    y = [1, 0, 1, 0]
    by_name = DecisionTreeClassifier(categorical_features=["code"], numeric_features=["price"]).fit(frame, y)
    by_place = DecisionTreeClassifier(categorical_features=[0], numeric_features=[1]).fit(frame, y)
    assert by_name.tree_.to_dict() == by_place.tree_.to_dict()
    assert by_name.predict(frame).tolist() == y


def modules_after(code: str) -> set[str]:
    """The top-level modules that a fresh process has loaded after running some code."""
    code += "; import sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = {"numba", "sklearn", "scipy", "narwhals", "pandas", "polars", "pyarrow"}
    assert not heavy & modules_after("import treewright")


@pytest.mark.slow
def test_making_a_learner_does_not_load_numba() -> None:
    loaded = modules_after("from treewright import CARTClassifier; CARTClassifier()")
    assert "sklearn" in loaded
    assert "numba" not in loaded


@pytest.mark.parametrize(
    "criterion", ["poisson", "sdr", pytest.param(lambda weight, mean, variance: variance, marks=pytest.mark.slow)]
)
def test_of_two_columns_that_mirror_each_other_the_first_is_asked(monkeypatch, criterion):
    """Sums in another order differ in their last bits, which must not decide."""
    monkeypatch.setenv("TREEWRIGHT_FORM", "compiled")
    for seed in range(10):
        random = np.random.default_rng(seed)
        male, tenths = random.integers(0, 2, 2000) * 1.0, random.normal(size=2000).round(1)
        y = random.gamma(2.0, 1.0, 2000) + 100.0 + 0.3 * male + 0.3 * tenths
        for first in (male, tenths):
            model = DecisionTreeRegressor(criterion=criterion, max_depth=1).fit(np.column_stack([first, -first]), y)
            assert model.tree_.column[0] == 0


@pytest.mark.parametrize("missing", ["learned", "fractional", "majority", "branch"])
@pytest.mark.parametrize("learner", [DecisionTreeClassifier, CARTClassifier, C45Classifier])
def test_the_predicted_class_is_the_most_likely_one(learner, missing):
    random = np.random.default_rng(0)
    X = np.where(random.random((300, 3)) < 0.2, np.nan, random.normal(size=(300, 3)))
    y = random.integers(0, 40, 300)
    model = learner(missing=missing).fit(X[:200], y[:200])
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])


@pytest.mark.slow
def test_thousands_of_classes_need_no_table_of_rows_and_classes():
    X = np.arange(6000.0)[:, None]
    model = DecisionTreeClassifier().fit(X[:3000], np.arange(3000) // 2)
    tracemalloc.start()
    try:
        found = model.predict(np.repeat(X[:3000], 20, axis=0))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found, np.repeat(np.arange(3000) // 2, 20))
    assert most < 0.25 * 60_000 * 1500 * 8
