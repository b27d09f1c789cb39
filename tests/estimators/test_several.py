"""Several targets at once: trees and forests for a target of two columns or more, as in scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import tree as sklearn_tree
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

from properties import examples
from sample_tables import mixed_table
from treewright import (
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreeRegressor,
    complexity_table,
    cost_complexity_path,
    diversity,
    prune,
    show,
)


def two_targets(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three columns, two numbers that follow from them, and classes of both: three and two."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    numbers = np.stack([X[:, 0] + 0.5 * random.normal(size=n_rows), X[:, 1] ** 2 + random.normal(size=n_rows)], axis=1)
    classes = np.stack([np.digitize(numbers[:, 0], [-0.5, 0.5]), numbers[:, 1] > 1.0], axis=1).astype(int)
    return X, numbers, classes


@pytest.mark.parametrize(
    ("criterion", "weighted"),
    [
        *(("squared_error", False), ("squared_error", True), ("poisson", False), ("poisson", True)),
        # Without weights, columns tie.
        *(("gini", True), ("entropy", True)),
        *(("absolute_error", False), ("absolute_error", True)),
    ],
)
@pytest.mark.parametrize(
    "parameters", [{"min_samples_leaf": 6}, {"min_samples_leaf": 8, "max_leaf_nodes": 12}], ids=str
)
def test_the_tree_is_that_of_scikit_learn(criterion, weighted, parameters):
    X, numbers, classes = two_targets(200)
    weights = np.random.default_rng(1).random(200) + 0.5 if weighted else None
    if criterion in ("gini", "entropy"):
        ours, theirs, y = DecisionTreeClassifier, sklearn_tree.DecisionTreeClassifier, classes
    else:
        ours, theirs = DecisionTreeRegressor, sklearn_tree.DecisionTreeRegressor
        y = np.exp(numbers) if criterion == "poisson" else numbers
    model = ours(criterion=criterion, **parameters).fit(X, y, weights)
    peer = theirs(criterion=criterion, random_state=0, **parameters).fit(X, y, weights)
    np.testing.assert_allclose(np.sort(model.tree_.impurity), np.sort(peer.tree_.impurity), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.feature_importances_, peer.feature_importances_, atol=1e-9)
    new = np.random.default_rng(2).normal(size=(300, 3))
    np.testing.assert_allclose(model.predict(new), peer.predict(new), rtol=1e-9)
    assert model.n_outputs_ == peer.n_outputs_ == model.tree_.n_outputs == 2
    np.testing.assert_array_equal(model.decision_path(new).sum(axis=1), peer.decision_path(new).sum(axis=1))
    if criterion in ("gini", "entropy"):
        for share, other in zip(model.predict_proba(new), peer.predict_proba(new), strict=True):
            np.testing.assert_allclose(share, other, atol=1e-12)
        assert model.n_classes_ == list(peer.n_classes_)
        assert [known.tolist() for known in model.classes_] == [known.tolist() for known in peer.classes_]


def impurity_of(Y: np.ndarray, criterion: str) -> float:
    """The mean impurity of all targets times the number of rows, by its definition."""
    if len(Y) == 0:
        return 0.0
    found = []
    for column in Y.T:
        shares = np.unique(column, return_counts=True)[1] / len(column)
        found.append(
            {
                "squared_error": column.var(),
                "absolute_error": np.abs(column - np.median(column)).mean(),
                "gini": 1.0 - (shares**2).sum(),
                "information_gain": -(shares * np.log2(shares)).sum(),
            }[criterion]
        )
    return len(Y) * float(np.mean(found))


@given(
    seed=st.integers(0, 10**6),
    criterion=st.sampled_from(["squared_error", "absolute_error", "gini", "information_gain"]),
)
@examples(40)
def test_no_first_split_is_better(seed, criterion):
    random = np.random.default_rng(seed)
    n_rows = int(random.integers(4, 14))
    number = random.integers(0, 5, n_rows).astype(float)
    number[random.random(n_rows) < 0.2] = np.nan
    kind = random.choice(["ash", "elm", "fir", "oak"], n_rows)
    Y = random.integers(0, 3, (n_rows, 2)).astype(float)
    learner = DecisionTreeRegressor if criterion.endswith("error") else DecisionTreeClassifier
    model = learner(criterion=criterion, max_depth=1).fit({"number": number, "kind": kind}, Y)
    sides = [np.isin(kind, chosen) for chosen in subsets(sorted(set(kind)))]
    missing = np.isnan(number)
    for limit in [*sorted(set(number[~missing])), np.inf]:
        low = ~missing & (number <= limit)
        sides += [low, low | missing]
    whole = impurity_of(Y, criterion)
    gains = [
        whole - impurity_of(Y[side], criterion) - impurity_of(Y[~side], criterion)
        for side in sides
        if 0 < side.sum() < n_rows
    ]
    found = model.tree_.gain[0] * n_rows if model.tree_.n_nodes > 1 else 0.0
    assert found == pytest.approx(max([0.0, *gains]), abs=1e-9)


def subsets(categories: list[str]) -> list[list[str]]:
    return [
        [name for bit, name in enumerate(categories) if pattern >> bit & 1] for pattern in range(1 << len(categories))
    ]


def test_a_column_repeated_as_target_gives_the_tree_of_one():
    X, y, numbers = mixed_table(300)
    for learner, target in ((DecisionTreeRegressor, numbers), (DecisionTreeClassifier, y)):
        one = learner(min_samples_leaf=5, categorical="one_vs_rest").fit(X, target)
        two = clone(one).fit(X, np.stack([target, target], axis=1))
        np.testing.assert_allclose(two.predict(X), np.stack([one.predict(X)] * 2, axis=1))


def test_many_categories_are_split_by_several_targets():
    random = np.random.default_rng(0)
    kind = random.integers(0, 20, 2000)
    Y = np.stack([kind % 2, kind // 10], axis=1) + 0.1 * random.normal(size=(2000, 2))
    model = DecisionTreeRegressor(max_leaf_nodes=4).fit({"kind": [f"k{code}" for code in kind]}, Y)
    assert model.score({"kind": [f"k{code}" for code in kind]}, Y) > 0.95


@pytest.mark.parametrize("learner", [RandomForestRegressor, ExtraTreesRegressor, RandomTreeRegressor])
def test_forests_of_several_numbers_average_their_trees(learner):
    X, Y, _ = two_targets(200)
    more = {} if learner is RandomTreeRegressor else {"n_estimators": 20, "oob_score": True, "bootstrap": True}
    model = learner(random_state=0, **more).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert model.score(X, Y) > 0.6
    if more:
        trees = np.mean([member.predict(X) for member in model.estimators_], axis=0)
        np.testing.assert_allclose(model.predict(X), trees)
        assert model.oob_prediction_.shape == Y.shape
        assert model.n_outputs_ == 2


@pytest.mark.parametrize("learner", [RandomForestClassifier, ExtraTreesClassifier])
def test_forests_of_several_classes_average_their_trees(learner):
    X, _, classes = two_targets(200)
    model = learner(n_estimators=20, oob_score=True, bootstrap=True, random_state=0).fit(X, classes)
    shares = model.predict_proba(X)
    assert [one.shape for one in shares] == [(200, 3), (200, 2)]
    for place, share in enumerate(shares):
        np.testing.assert_allclose(
            share, np.mean([member.predict_proba(X)[place] for member in model.estimators_], axis=0)
        )
        np.testing.assert_array_equal(model.predict(X)[:, place], model.classes_[place][share.argmax(axis=1)])
    assert model.oob_decision_function_.shape == (200, 3, 2)
    assert 0.3 < model.oob_score_ < model.score(X, classes)


def test_frames_name_the_targets_and_text_stays_text():
    X, _, classes = two_targets(150)
    y = pd.DataFrame({"size": np.array(["small", "medium", "large"])[classes[:, 0]], "wet": classes[:, 1] > 0})
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    assert model.predict(X).dtype == object
    assert set(model.predict(X)[:, 0]) <= set(y["size"])
    assert [output.name for output in model.tree_.target.outputs] == ["size", "wet"]
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    assert model.tree_.to_dict()["prediction"][0] in set(y["size"])
    assert str(model.rules()).count("\n") == model.get_n_leaves() - 1


def test_leaves_print_all_predictions(capsys):
    show(DecisionTreeRegressor().fit([[1.0], [2.0], [3.0]], [[1.0, 5.0], [1.0, 5.0], [2.5, 7.0]]))
    assert capsys.readouterr().out.startswith("x0 <= 2.5: 1, 5 (2.0)\nx0 > 2.5: 2.5, 7 (1.0)")


def test_class_weights_of_several_targets_multiply():
    X, _, classes = two_targets(200)
    parameters = {"max_depth": 3, "class_weight": [{0: 1, 1: 2, 2: 3}, {0: 1, 1: 5}]}
    model = DecisionTreeClassifier(**parameters).fit(X, classes)
    peer = sklearn_tree.DecisionTreeClassifier(random_state=0, **parameters).fit(X, classes)
    for share, other in zip(model.predict_proba(X), peer.predict_proba(X), strict=True):
        np.testing.assert_allclose(share, other, atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"prune": "cost_complexity"}, "prune is 'cost_complexity', which is not available for several targets"),
        ({"criterion": "gain_ratio"}, "criterion is 'gain_ratio'"),
        ({"missing": "surrogate"}, "missing is 'surrogate'"),
        ({"categorical": "multiway"}, "categorical is 'multiway'"),
        ({"max_p_value": 0.05}, "max_p_value is 0.05"),
        ({"smoothing": "laplace"}, "smoothing is"),
        ({"monotonic_cst": [1, 0, 0]}, "not supported with multiple output"),
        ({"class_weight": {0: 2}}, "list of 2 dicts"),
    ],
)
def test_what_several_targets_do_not_have_is_named(parameters, words):
    X, _, classes = two_targets(50)
    with pytest.raises(ValueError, match=words):
        DecisionTreeClassifier(**parameters).fit(X, classes)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda model, X, y: prune(model, "reduced_error", X=X, y=y), "pruned by its impurity only"),
        (lambda model, X, y: prune(model, "cost_complexity"), "pruned by its impurity only"),
        (lambda model, X, y: cost_complexity_path(model), "pruned by its impurity only"),
        (lambda model, X, y: complexity_table(model), "pruned by its impurity only"),
        (lambda model, X, y: model.rules(1), "several targets"),
        (lambda model, X, y: diversity(RandomForestClassifier(3).fit(X, y), X, y), "predicts 2 targets"),
    ],
)
def test_what_needs_one_target_says_so(act, words):
    X, _, classes = two_targets(50)
    model = DecisionTreeClassifier().fit(X, classes)
    with pytest.raises(ValueError, match=words):
        act(model, X, classes)


def test_a_tree_of_several_targets_is_pruned_by_impurity():
    X, Y, _ = two_targets(100)
    model = DecisionTreeRegressor().fit(X, Y)
    peer = sklearn_tree.DecisionTreeRegressor(ccp_alpha=0.05, random_state=0).fit(X, Y)
    assert prune(model, "cost_complexity", ccp_alpha=0.05, risk="impurity").get_n_leaves() == peer.get_n_leaves()


def test_other_learners_ask_for_one_target():
    X, Y, classes = two_targets(50)
    with pytest.raises(ValueError, match="1d array"):
        BaggingRegressor(n_estimators=2).fit(X, Y)
    with pytest.raises(ValueError, match="voting is 'hard'"):
        RandomForestClassifier(n_estimators=2, voting="hard").fit(X, classes)
    with pytest.raises(ValueError, match="quantiles are not available"):
        RandomForestRegressor(n_estimators=2, quantiles=True).fit(X, Y)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "gini", "information_gain"])
def test_plain_and_compiled_kernels_grow_the_same_tree(criterion, monkeypatch):
    X, _, _ = mixed_table(150)
    _, numbers, classes = two_targets(150)
    of_classes = criterion in ("gini", "information_gain")
    learner = DecisionTreeClassifier if of_classes else DecisionTreeRegressor
    y = classes if of_classes else np.exp(numbers)
    trees = []
    for form in ("plain", "compiled"):
        monkeypatch.setenv("TREEWRIGHT_FORM", form)
        trees.append(learner(criterion=criterion).fit(X, y).tree_)
    for name in ("column", "threshold", "distribution", "impurity", "gain", "missing_branch", "category_sets"):
        np.testing.assert_array_equal(getattr(trees[0], name), getattr(trees[1], name))


@pytest.mark.parametrize("learner", [RandomForestClassifier, ExtraTreesClassifier])
def test_the_classes_of_each_target_weigh_the_same_in_balanced_bags(learner):
    X, _, classes = two_targets(120)
    model = learner(n_estimators=4, class_weight="balanced_subsample", min_samples_leaf=5, random_state=0)
    whole = clone(model).set_params(bootstrap=False)
    balanced = clone(whole).set_params(class_weight="balanced").fit(X, classes)
    for ours, other in zip(whole.fit(X, classes).predict_proba(X), balanced.predict_proba(X), strict=True):
        np.testing.assert_allclose(ours, other, atol=1e-12)
    model.fit(X, classes)
    for tree, rows in zip(model.forest_, model.estimators_samples_, strict=True):
        weights = compute_sample_weight("balanced", classes, indices=rows)[rows]
        by_class = np.bincount(classes[rows, 0], weights) / weights.sum()
        np.testing.assert_allclose(tree.distribution[0, :3] / tree.weight[0], by_class)
    single = DecisionTreeClassifier(class_weight="balanced", max_depth=0).fit(X, classes)
    weights = compute_sample_weight("balanced", classes)
    for output, shares in enumerate(single.predict_proba(X[:1])):
        np.testing.assert_allclose(shares[0], np.bincount(classes[:, output], weights) / weights.sum())


def test_classes_of_bags_are_not_balanced_in_a_single_tree():
    X, _, classes = two_targets(20)
    with pytest.raises(ValueError, match="class_weight is 'balanced_subsample'; give None, 'balanced' or a dict"):
        DecisionTreeClassifier(class_weight="balanced_subsample").fit(X, classes)


@given(seed=st.integers(0, 10**6))
@examples(15)
def test_categories_in_any_number_are_split_by_absolute_error(seed):
    random = np.random.default_rng(seed)
    kind = random.integers(0, 16, 300)
    level = random.normal(size=16)
    Y = np.stack([level[kind], -level[kind]], axis=1)
    model = DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit({"kind": kind.astype(str)}, Y)
    order = np.argsort(level[kind])
    whole = impurity_of(Y, "absolute_error")
    gains = [
        whole - impurity_of(Y[order[:cut]], "absolute_error") - impurity_of(Y[order[cut:]], "absolute_error")
        for cut in range(1, 300)
        if kind[order[cut - 1]] != kind[order[cut]]
    ]
    assert model.tree_.gain[0] * 300 == pytest.approx(max(gains))


def test_forests_of_several_targets_use_the_absolute_error():
    X, numbers, _ = two_targets(80)
    model = ExtraTreesRegressor(n_estimators=3, criterion="absolute_error", bootstrap=False, max_features=None)
    single = DecisionTreeRegressor(criterion="absolute_error").fit(X, numbers)
    full = RandomForestRegressor(n_estimators=1, criterion="absolute_error", bootstrap=False, max_features=None)
    np.testing.assert_array_equal(full.set_params(min_samples_leaf=1).fit(X, numbers).predict(X), single.predict(X))
    np.testing.assert_allclose(model.set_params(min_samples_leaf=1).fit(X, numbers).predict(X), numbers)
