"""Pruning: against scikit-learn's sequence of trees, figures of C4.5, and what must hold for every method."""

from __future__ import annotations

import copy
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets as sklearn_datasets
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier as TheirClassifier
from sklearn.tree import DecisionTreeRegressor as TheirRegressor

from treewright import (
    C45Classifier,
    CARTClassifier,
    CARTRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    cost_complexity_path,
    cross_validate_ccp_alpha,
    datasets,
    prune,
)
from treewright.tree import SplitKind
from treewright.tree.pruning.methods import extra_errors, weakest_links


def noisy(n_rows=600, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 4))
    y = (X[:, 0] > 0) ^ (random.random(n_rows) < 0.2)
    return X, np.where(y, "yes", "no")


def leaves_above(tree, smaller):
    """Is each leaf of the smaller tree a node of the larger one, reached by the same tests?"""
    waiting = [(tree.root, smaller.root)]
    while waiting:
        here, there = waiting.pop()
        if here.weight != there.weight:
            return False
        if there.is_leaf:
            continue
        if here.is_leaf or here.tests != there.tests:
            return False
        waiting.extend(zip(here.children, there.children, strict=True))
    return True


@pytest.mark.parametrize("load", [sklearn_datasets.load_breast_cancer, sklearn_datasets.load_wine])
def test_the_sequence_on_impurity_is_scikit_learns(load):
    X, y = load(return_X_y=True)
    path = cost_complexity_path(DecisionTreeClassifier().fit(X, y), risk="impurity")
    theirs = TheirClassifier(random_state=0).fit(X, y).cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(path.ccp_alphas, theirs.ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(path.risks, theirs.impurities, atol=1e-12)
    for ccp_alpha, leaves in zip(path.ccp_alphas, path.leaves, strict=True):
        model = TheirClassifier(random_state=0, ccp_alpha=ccp_alpha + 1e-12).fit(X, y)
        assert model.get_n_leaves() == leaves


def test_a_regression_tree_is_pruned_as_scikit_learn_prunes_it():
    X, y = sklearn_datasets.load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor().fit(X, y)
    for ccp_alpha in (20.0, 50.0, 100.0, 1_000.0):  # smaller nodes than these leave have splits that tie
        ours = prune(model, "cost_complexity", ccp_alpha=ccp_alpha)
        theirs = TheirRegressor(random_state=0, ccp_alpha=ccp_alpha).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


@pytest.mark.parametrize("risk", ["error", "impurity"])
def test_each_tree_of_the_sequence_is_nested_in_the_one_before(risk):
    X, y = noisy()
    model = DecisionTreeClassifier().fit(X, y)
    path = cost_complexity_path(model, risk=risk)
    assert path.leaves[-1] == 1
    assert (np.diff(path.ccp_alphas) > 0).all()
    assert (np.diff(path.leaves) < 0).all()
    before = model
    for ccp_alpha, leaves in zip(path.ccp_alphas, path.leaves, strict=True):
        smaller = prune(model, "cost_complexity", ccp_alpha=ccp_alpha, risk=risk)
        assert smaller.tree_.n_leaves == leaves
        assert leaves_above(before.tree_, smaller.tree_)
        before = smaller


def test_no_subtree_beats_the_one_cost_complexity_chooses():
    X, y = noisy(60, seed=3)
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y).tree_
    inner = np.flatnonzero(tree.kind != SplitKind.LEAF)
    for ccp_alpha in (0.0, 0.005, 0.01, 0.03, 0.1):
        costs = []
        for pattern in range(1 << len(inner)):
            at = {int(node) for k, node in enumerate(inner) if pattern >> k & 1}
            smaller = prune(tree, where=lambda node, at=at: node.index in at)
            errors = sum(node.errors for node in smaller if node.is_leaf)
            costs.append((round(errors / 60 + ccp_alpha * smaller.n_leaves, 12), smaller.n_leaves))
        chosen = prune(tree, "cost_complexity", ccp_alpha=ccp_alpha)
        errors = sum(node.errors for node in chosen if node.is_leaf)
        assert (round(errors / 60 + ccp_alpha * chosen.n_leaves, 12), chosen.n_leaves) == min(costs)


def test_the_kernel_is_the_same_plain_and_compiled(monkeypatch):
    X, y = noisy(400, seed=5)
    tree = DecisionTreeClassifier().fit(X, y).tree_
    found = []
    for form in ("plain", "compiled"):
        monkeypatch.setenv("TREEWRIGHT_FORM", form)
        found.append(weakest_links(tree))
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1].risks, found[1][1].risks)


@pytest.mark.parametrize(
    ("n", "errors", "expected"),
    [
        (14, 0, 1.319869),
        (14, 0.5, 1.390209),
        (14, 2, 1.603344),
        (6, 5.5, 0.5),
        (1, 0, 0.75),
        (2, 1, 0.791493),
        (100, 10, 2.749611),
    ],
)
def test_the_extra_errors_are_those_of_c45(n, errors, expected):
    assert extra_errors(n, errors, 0.25) == pytest.approx(expected, abs=5e-7)


def test_reduced_error_pruning_never_gets_worse_on_its_rows():
    X, y = noisy(900)
    model = DecisionTreeClassifier().fit(X[:600], y[:600])
    smaller = prune(model, "reduced_error", X=X[600:], y=y[600:])
    assert smaller.score(X[600:], y[600:]) >= model.score(X[600:], y[600:])
    assert smaller.tree_.n_leaves < model.tree_.n_leaves
    assert leaves_above(model.tree_, smaller.tree_)


def test_reduced_error_pruning_of_numbers_never_gets_worse_on_its_rows():
    X, y = sklearn_datasets.load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor().fit(X[:300], y[:300])
    smaller = prune(model, "reduced_error", X=X[300:], y=y[300:])
    assert smaller.score(X[300:], y[300:]) > model.score(X[300:], y[300:])


def test_reduced_error_pruning_takes_the_best_of_all_subtrees():
    X, y = noisy(160, seed=7)
    model = DecisionTreeClassifier(max_depth=3).fit(X[:80], y[:80])
    tree = model.tree_
    inner = np.flatnonzero(tree.kind != SplitKind.LEAF)
    scores = []
    for pattern in range(1 << len(inner)):
        at = {int(node) for k, node in enumerate(inner) if pattern >> k & 1}
        smaller = prune(model, where=lambda node, at=at: node.index in at)
        scores.append((smaller.score(X[80:], y[80:]), -smaller.tree_.n_leaves))
    chosen = prune(model, "reduced_error", X=X[80:], y=y[80:])
    assert (chosen.score(X[80:], y[80:]), -chosen.tree_.n_leaves) == max(scores)


@pytest.mark.parametrize("method", ["error_based", "pessimistic", "minimum_description_length", "collapse"])
def test_pruning_gives_a_smaller_tree_and_leaves_the_model_alone(method):
    X, y = noisy()
    model = DecisionTreeClassifier().fit(X, y)
    before = model.tree_.to_dict()
    smaller = prune(model, method)
    assert smaller.tree_.n_leaves <= model.tree_.n_leaves
    assert leaves_above(model.tree_, smaller.tree_)
    assert model.tree_.to_dict() == before
    assert smaller.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    if method != "collapse":
        assert smaller.tree_.n_leaves < model.tree_.n_leaves


def test_collapse_joins_only_branches_of_one_answer():
    X, y = noisy()
    model = DecisionTreeClassifier(max_depth=4).fit(X, y)
    smaller = prune(model, "collapse")
    assert (smaller.predict(X) == model.predict(X)).all()
    for node in smaller.tree_:
        if not node.is_leaf and all(child.is_leaf for child in node.children):
            assert len({child.prediction for child in node.children}) > 1


def test_trees_with_categories_and_empty_branches_can_be_pruned():
    concept = datasets.load_concept()
    model = ID3Classifier().fit(concept.X, concept.y)
    assert prune(model, "error_based").tree_.n_leaves <= model.tree_.n_leaves
    stump = prune(model.tree_, where=lambda node: node.depth == 0)
    assert stump.n_nodes == 1
    orchard = datasets.load_orchard()
    large = DecisionTreeClassifier().fit(orchard.X, orchard.y)
    small = prune(large, "cost_complexity", ccp_alpha=0.01)
    assert 1 < small.tree_.n_leaves < large.tree_.n_leaves
    assert small.score(orchard.X, orchard.y) > 0.5


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_cross_validation_judges_each_tree_as_pruning_by_hand_does(kind):
    if kind == "classes":
        X, y = noisy(300, seed=4)
        learner, rows_in_order = (
            DecisionTreeClassifier(),
            np.argsort(np.unique(y, return_inverse=True)[1], kind="stable"),
        )
    else:
        X, y = sklearn_datasets.load_diabetes(return_X_y=True)
        learner, rows_in_order = DecisionTreeRegressor(), np.argsort(y, kind="stable")
    judged = cross_validate_ccp_alpha(learner, X, y, folds=5)
    path = cost_complexity_path(learner.fit(X, y))
    assert np.array_equal(judged.leaves, path.leaves)
    fold_of = np.empty(len(y), dtype=int)
    fold_of[rows_in_order] = np.arange(len(y)) % 5
    for line in range(0, len(path), max(len(path) // 6, 1)):
        above = path.ccp_alphas[line + 1] if line + 1 < len(path) else np.inf
        losses = []
        for fold in range(5):
            inside = fold_of != fold
            model = type(learner)().fit(X[inside], y[inside])
            price = min(np.sqrt(path.ccp_alphas[line] * above), 1e300)
            pruned = prune(model, "cost_complexity", ccp_alpha=price)
            answers = pruned.predict(X[~inside])
            losses.extend((answers != y[~inside]) if kind == "classes" else (answers - y[~inside]) ** 2)
        assert judged.losses[line] == pytest.approx(np.mean(losses), rel=1e-9)
        assert judged.deviations[line] == pytest.approx(np.std(losses) / np.sqrt(len(y)), rel=1e-6)
    best = np.argmin(judged.losses)
    assert judged.losses[judged.chosen] <= judged.losses[best] + judged.deviations[best] + 1e-12
    assert (judged.losses[judged.chosen + 1 :] > judged.losses[best] + judged.deviations[best]).all()


def test_cross_validation_finds_the_one_split_behind_the_noise():
    X, y = noisy(2_000, seed=6)
    model = DecisionTreeClassifier().fit(X, y)
    judged = cross_validate_ccp_alpha(model, X, y)
    assert judged.leaves[judged.chosen] == 2
    smaller = prune(model, "cost_complexity", ccp_alpha=judged.ccp_alpha)
    X_new, y_new = noisy(2_000, seed=60)
    assert smaller.score(X_new, y_new) > model.score(X_new, y_new) + 0.05


@pytest.mark.parametrize("method", ["error_based", "pessimistic", "minimum_description_length", "collapse"])
def test_a_learner_prunes_while_fitting_as_prune_does_afterwards(method):
    X, y = noisy()
    for learner in (DecisionTreeClassifier, CARTClassifier):
        afterwards = prune(learner(prune=None).fit(X, y), method)
        while_fitting = learner(prune=method).fit(X, y)
        assert while_fitting.tree_.to_dict() == afterwards.tree_.to_dict()


@pytest.mark.slow
def test_a_learner_chooses_the_price_of_a_leaf_by_cross_validation():
    X, y = noisy(1_000, seed=8)
    model = CARTClassifier(prune="cost_complexity").fit(X, y)
    plain = CARTClassifier(prune=None).fit(X, y)
    judged = cross_validate_ccp_alpha(plain, X, y, deals=3, standard_errors=0)
    assert model.tree_.to_dict() == prune(plain, "cost_complexity", ccp_alpha=judged.ccp_alpha).tree_.to_dict()
    judged = cross_validate_ccp_alpha(plain, X, y, deals=3)
    smaller = CARTClassifier(ccp_alpha="1se").fit(X, y)
    assert smaller.tree_.to_dict() == prune(plain, "cost_complexity", ccp_alpha=judged.ccp_alpha).tree_.to_dict()
    assert smaller.tree_.n_leaves <= model.tree_.n_leaves
    given = CARTClassifier(prune="cost_complexity", ccp_alpha=0.05).fit(X, y)
    assert given.tree_.to_dict() == prune(plain, "cost_complexity", ccp_alpha=0.05).tree_.to_dict()
    search = GridSearchCV(CARTClassifier(prune="cost_complexity"), {"ccp_alpha": [0.0, 0.01, 0.3]}, cv=3).fit(X, y)
    assert search.best_params_["ccp_alpha"] == 0.01
    X_numbers, numbers = sklearn_datasets.load_diabetes(return_X_y=True)
    regressor = CARTRegressor(prune="cost_complexity").fit(X_numbers, numbers)
    assert regressor.tree_.n_leaves < 30
    assert DecisionTreeClassifier(prune="cost_complexity").fit([[1]], ["a"]).tree_.n_leaves == 1


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        (DecisionTreeClassifier(prune="magic"), "prune is 'magic'; give one of 'cost_complexity'"),
        (DecisionTreeClassifier(prune="reduced_error", validation_fraction=0.9), "validation_fraction is 0.9; give"),
        (C45Classifier(variant="r8"), "variant is 'r8'; give"),
        (DecisionTreeClassifier(prune="cost_complexity", ccp_alpha=-1), "ccp_alpha=-1 must be"),
        (DecisionTreeClassifier(prune="cost_complexity", ccp_alpha="best"), "ccp_alpha is 'best'; give a number"),
        (C45Classifier(prune="error_based", confidence=-0.1), "confidence=-0.1 must be a number from 0 to 1"),
        (C45Classifier(prune="error_based", confidence="x"), "confidence='x' must be"),
        (DecisionTreeRegressor(prune="pessimistic"), "which counts wrong classes"),
    ],
)
def test_pruning_that_cannot_be_done_is_refused_at_fit(learner, sentence):
    X, y = noisy(60)
    y = X[:, 0] if isinstance(learner, DecisionTreeRegressor) else y
    with pytest.raises(ValueError, match=sentence):
        learner.fit(X, y)
    assert not hasattr(learner, "tree_")


@pytest.mark.parametrize(("share", "least"), [(1 / 2, 2), (1 / 3, 3), (1 / 10, 10)])
def test_rows_too_few_to_set_a_share_aside_are_refused_at_fit(share, least):
    X, y = noisy(least)
    learner = DecisionTreeClassifier(prune="reduced_error", validation_fraction=share)
    with pytest.raises(ValueError, match=f"reduced_error pruning needs at least {least} rows .* not {least - 1}"):
        learner.fit(X[1:], y[1:])
    assert not hasattr(learner, "tree_")
    assert learner.fit(X, y).tree_.root.rows == least - 1


def test_at_a_confidence_of_zero_nothing_is_worth_a_split():
    X, y = noisy(60)
    assert C45Classifier().fit(X, y).tree_.n_leaves > 1
    assert C45Classifier(confidence=0).fit(X, y).tree_.n_leaves == 1


@pytest.mark.parametrize("variant", ["j48", "c4.5r8"])
def test_at_a_confidence_of_zero_every_answer_may_be_wrong(variant, monkeypatch):
    monkeypatch.setenv("TREEWRIGHT_FORM", "plain")  # compiled code goes on with minus infinity
    assert extra_errors(14, 0, 0.0, variant) == pytest.approx(14)


def test_mistakes_are_answered_with_a_sentence():
    X, y = noisy(100)
    model = DecisionTreeClassifier().fit(X, y)
    for arguments, sentence in [
        (((model,), {}), "prune needs a method"),
        (((model, "magic"), {}), "unknown pruning method 'magic'"),
        (((model, "reduced_error"), {}), "give X and y"),
        (((model, "cost_complexity"), {"ccp_alpha": -1}), "ccp_alpha=-1 must be a number from 0"),
        (((model, "cost_complexity"), {"risk": "luck"}), "must be 'error' or 'impurity'"),
        (((model, "error_based"), {"confidence": 2}), "confidence=2 must be a number from 0 to 1"),
        (((model, "reduced_error"), {"X": X, "y": ["maybe"] * 100}), "has the class 'maybe'"),
        (((DecisionTreeRegressor().fit(X, X[:, 0]), "pessimistic"), {}), "counts wrong classes"),
    ]:
        with pytest.raises(ValueError, match=sentence.replace("(", r"\(")):
            prune(*arguments[0], **arguments[1])
    with pytest.raises(TypeError, match="not a dict"):
        prune({}, "collapse")


def with_tree(model, tree):
    """The model with another tree in the place of its own."""
    other = copy.copy(model)
    other.tree_ = tree
    return other


def table_with_missing_values(n_rows, seed):
    """Numbers with missing values, and categories of which the second half of the rows has one more."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.standard_normal((n_rows, 3)), columns=["a", "b", "c"])
    X = X.mask(random.random(X.shape) < 0.15)
    later = np.arange(n_rows) >= n_rows // 2
    sky = np.where(later & (random.random(n_rows) < 0.3), "fog", random.choice(["sun", "rain", "hail"], n_rows))
    X["sky"] = sky
    signal = np.nan_to_num(X["a"].to_numpy()) + 1.5 * (sky == "sun") - (sky == "rain") + random.standard_normal(n_rows)
    return X, np.where(signal > 0, "yes", "no"), signal


@pytest.mark.parametrize("risk", ["error", "impurity"])
@pytest.mark.parametrize("missing", ["learned", "surrogate", "majority"])
@pytest.mark.parametrize("unseen", ["as_missing", "stop", "majority"])
def test_the_validation_errors_are_those_of_the_trees(risk, missing, unseen):
    X, y, _ = table_with_missing_values(600, seed=1)
    model = DecisionTreeClassifier(missing=missing, unseen=unseen, min_samples_leaf=3).fit(X[:300], y[:300])
    path = cost_complexity_path(model, X[300:], y[300:], risk=risk)
    trees = path.trees
    assert len(trees) == len(path) == len(path.validation) > 3
    wrong = [np.mean(with_tree(model, tree).predict(X[300:]) != y[300:]) for tree in trees]
    np.testing.assert_allclose(path.validation, wrong, atol=1e-12)


@pytest.mark.parametrize("missing", ["learned", "surrogate"])
@pytest.mark.parametrize("unseen", ["as_missing", "stop"])
def test_the_validation_errors_of_numbers_are_those_of_the_trees(missing, unseen):
    X, _, y = table_with_missing_values(600, seed=2)
    model = DecisionTreeRegressor(missing=missing, unseen=unseen, min_samples_leaf=3).fit(X[:300], y[:300])
    path = cost_complexity_path(model, X[300:], y[300:])
    squares = [np.mean((with_tree(model, tree).predict(X[300:]) - y[300:]) ** 2) for tree in path.trees]
    np.testing.assert_allclose(path.validation, squares, rtol=1e-9)


def test_the_validation_errors_are_those_of_the_trees_where_rows_are_divided():
    X, y, _ = table_with_missing_values(600, seed=1)
    model = DecisionTreeClassifier(missing="fractional", min_samples_leaf=3).fit(X[:300], y[:300])
    path = cost_complexity_path(model, X[300:], y[300:])
    wrong = [np.mean(with_tree(model, tree).predict(X[300:]) != y[300:]) for tree in path.trees]
    np.testing.assert_allclose(path.validation, wrong, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("risk", ["error", "impurity"])
def test_the_trees_of_a_path_are_nested_and_have_its_figures(risk):
    X, y, numbers = table_with_missing_values(500, seed=3)
    for model in (
        DecisionTreeClassifier(missing="fractional").fit(X, y),
        CARTClassifier(missing="surrogate", prune=None).fit(X, y),
        DecisionTreeRegressor(min_samples_leaf=5).fit(X, numbers),
    ):
        path = cost_complexity_path(model, risk=risk)
        trees = path.trees
        assert trees[-1].n_nodes == 1
        assert [tree.n_leaves for tree in trees] == path.leaves.tolist()
        assert all(leaves_above(larger, smaller) for larger, smaller in pairwise(trees))
        if risk == "error" and model.tree_.target.is_classes:
            errors = [sum(node.errors for node in tree if node.is_leaf) / 500 for tree in trees]
            np.testing.assert_allclose(path.risks, errors, atol=1e-9)


def test_tables_of_trees_become_frames():
    X, y, numbers = table_with_missing_values(400, seed=4)
    model = DecisionTreeClassifier(min_samples_leaf=5).fit(X[:200], y[:200])
    plain = pd.DataFrame(cost_complexity_path(model).as_dict())
    assert list(plain) == ["leaves", "ccp_alpha", "training_error"]
    path = cost_complexity_path(model, X[200:], y[200:])
    judged = pd.DataFrame(path.as_dict())
    assert list(judged) == ["leaves", "ccp_alpha", "training_error", "validation_error"]
    assert len(judged) == len(plain) == len(path)
    assert judged["leaves"].iloc[-1] == 1
    assert judged["ccp_alpha"].is_monotonic_increasing
    assert judged["training_error"].is_monotonic_increasing
    for learner, answers in [(DecisionTreeClassifier(), y), (DecisionTreeRegressor(min_samples_leaf=5), numbers)]:
        priced = cross_validate_ccp_alpha(learner, X, answers, folds=4)
        frame = pd.DataFrame(priced.as_dict())
        assert list(frame) == ["leaves", "ccp_alpha", "training_error", "validation_error", "standard_error"]
        assert frame.loc[priced.chosen, "ccp_alpha"] == priced.ccp_alpha
        assert frame["training_error"].is_monotonic_increasing
        assert frame.notna().all(axis=None)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("categorical", ["multiway", "subset"])
def test_reduced_error_pruning_never_gets_worse_where_rows_stop_half_way(seed, categorical):
    X, y, numbers = table_with_missing_values(400, seed)
    choices = {"unseen": "stop", "categorical": categorical}
    model = DecisionTreeClassifier(**choices).fit(X[:200], y[:200])
    assert (model.tree_.kind[model.apply(X[200:])] != SplitKind.LEAF).any()  # some rows do stop
    smaller = prune(model, "reduced_error", X=X[200:], y=y[200:])
    assert smaller.score(X[200:], y[200:]) >= model.score(X[200:], y[200:])
    assert smaller.tree_.n_leaves < model.tree_.n_leaves
    assert leaves_above(model.tree_, smaller.tree_)
    regressor = DecisionTreeRegressor(**choices).fit(X[:200], numbers[:200])
    pruned = prune(regressor, "reduced_error", X=X[200:], y=numbers[200:])
    assert pruned.score(X[200:], numbers[200:]) >= regressor.score(X[200:], numbers[200:])
    assert pruned.tree_.n_leaves < regressor.tree_.n_leaves


@pytest.mark.parametrize("seed", range(4))
def test_reduced_error_pruning_takes_the_best_of_all_subtrees_where_rows_stop(seed):
    X, y, _ = table_with_missing_values(240, seed)
    model = DecisionTreeClassifier(unseen="stop", max_depth=3).fit(X[:120], y[:120])
    inner = np.flatnonzero(model.tree_.kind != SplitKind.LEAF)
    scores = []
    for pattern in range(1 << len(inner)):
        at = {int(node) for k, node in enumerate(inner) if pattern >> k & 1}
        smaller = prune(model, where=lambda node, at=at: node.index in at)
        scores.append((smaller.score(X[120:], y[120:]), -smaller.tree_.n_leaves))
    chosen = prune(model, "reduced_error", X=X[120:], y=y[120:])
    assert (chosen.score(X[120:], y[120:]), -chosen.tree_.n_leaves) == max(scores)


@pytest.mark.parametrize(
    ("share", "held"), [(1 / 3, slice(2, None, 3)), (0.5, slice(1, None, 2)), (0.2, slice(4, None, 5))]
)
@pytest.mark.parametrize("learner", [DecisionTreeClassifier, CARTClassifier, DecisionTreeRegressor, CARTRegressor])
def test_a_learner_sets_rows_aside_for_reduced_error_pruning(learner, share, held):
    X, y = noisy(600, seed=9)
    y = y if issubclass(learner, DecisionTreeClassifier | CARTClassifier) else X[:, 0] + np.sin(9 * X[:, 1])
    order = np.argsort(y, kind="stable")  # in this order Weka deals to the folds in turn, and the last one prunes
    X, y = X[order], y[order]
    left = np.ones(600, dtype=bool)
    left[held] = False
    by_hand = prune(learner(prune=None).fit(X[left], y[left]), "reduced_error", X=X[~left], y=y[~left])
    model = learner(prune="reduced_error", validation_fraction=share).fit(X, y)
    assert [(node.tests, node.weight) for node in model.tree_] == [(node.tests, node.weight) for node in by_hand.tree_]
    np.testing.assert_allclose(model.tree_.predictions, by_hand.tree_.predictions, rtol=1e-9)
    assert model.tree_.weight[0] == np.count_nonzero(left)
    assert model.tree_.n_leaves < learner(prune=None).fit(X[left], y[left]).tree_.n_leaves


def test_too_few_rows_cannot_be_set_aside():
    with pytest.raises(ValueError, match="reduced_error pruning needs at least 3 rows"):
        DecisionTreeClassifier(prune="reduced_error").fit([[1], [2]], ["a", "b"])


@pytest.fixture(scope="module")
def forest_floor():
    """A model of about 100,000 nodes that learned noise by heart, and rows that it has not seen."""
    random = np.random.default_rng(0)
    X, y = random.standard_normal((220_000, 4)), random.choice(["no", "yes"], 220_000)
    return DecisionTreeClassifier().fit(X[:200_000], y[:200_000]), X[200_000:], y[200_000:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "choices"),
    [
        ("cost_complexity", {"ccp_alpha": 1e-4}),
        ("cost_complexity", {"ccp_alpha": 1e-4, "risk": "impurity"}),
        ("reduced_error", {}),
        ("error_based", {}),
        ("pessimistic", {}),
        ("minimum_description_length", {}),
    ],
)
def test_a_large_tree_is_pruned_by_every_method(forest_floor, method, choices):
    model, X, y = forest_floor
    assert model.tree_.n_nodes > 100_000
    unseen = {"X": X, "y": y} if method == "reduced_error" else {}
    smaller = prune(model, method, **choices, **unseen)
    assert smaller.tree_.n_leaves < model.tree_.n_leaves
    assert smaller.tree_.weight[0] == 200_000
    leaf = smaller.tree_.kind == SplitKind.LEAF
    assert smaller.tree_.rows[leaf].sum() == 200_000
    assert smaller.predict_proba(X[:100]).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.slow
def test_a_large_tree_has_a_path(forest_floor):
    model, X, y = forest_floor
    path = cost_complexity_path(model, X, y)
    assert path.leaves[0] <= model.tree_.n_leaves
    assert path.leaves[-1] == 1
    middle = len(path) // 2
    smaller = prune(model, "cost_complexity", ccp_alpha=path.ccp_alphas[middle])
    assert smaller.tree_.n_leaves == path.leaves[middle]
    assert 1 - smaller.score(X, y) == pytest.approx(path.validation[middle], abs=1e-12)
    assert prune(model, "collapse").tree_.n_leaves == model.tree_.n_leaves  # leaves of noise are pure, none repeats


@pytest.mark.slow
@pytest.mark.parametrize("method", ["cost_complexity", "error_based", "pessimistic", "minimum_description_length"])
def test_a_tree_deeper_than_pythons_call_stack_is_pruned(method):
    # Classes that take turns along one column: the gain ratio cuts off a row at an end each time.
    y = np.where(np.arange(3_000) % 2, "odd", "even")
    model = DecisionTreeClassifier(criterion="gain_ratio").fit(np.arange(3_000.0)[:, None], y)
    assert model.tree_.depth > 1_000
    assert prune(model, method, ccp_alpha=0.01).tree_.n_leaves < model.tree_.n_leaves


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_weights_count_in_cross_validation_as_by_hand(kind):
    X, y = noisy(300, seed=11)
    y = y if kind == "classes" else X[:, 0] + 0.3 * X[:, 1] ** 2
    learner = DecisionTreeClassifier if kind == "classes" else DecisionTreeRegressor
    weights = np.random.default_rng(3).uniform(0.2, 3.0, 300)
    judged = cross_validate_ccp_alpha(learner(min_samples_leaf=4), X, y, folds=4, sample_weight=weights)
    path = cost_complexity_path(learner(min_samples_leaf=4).fit(X, y, sample_weight=weights))
    assert np.array_equal(judged.leaves, path.leaves)
    np.testing.assert_allclose(judged.ccp_alphas, path.ccp_alphas)
    fold_of = np.empty(300, dtype=int)
    fold_of[np.argsort(y, kind="stable")] = np.arange(300) % 4
    for line in range(0, len(path), max(len(path) // 5, 1)):
        above = path.ccp_alphas[line + 1] if line + 1 < len(path) else np.inf
        price = min(np.sqrt(path.ccp_alphas[line] * above), 1e300)
        losses = np.empty(300)
        for fold in range(4):
            inside = fold_of != fold
            model = learner(min_samples_leaf=4).fit(X[inside], y[inside], sample_weight=weights[inside])
            answers = prune(model, "cost_complexity", ccp_alpha=price).predict(X[~inside])
            losses[~inside] = (answers != y[~inside]) if kind == "classes" else (answers - y[~inside]) ** 2
        assert judged.losses[line] == pytest.approx(np.average(losses, weights=weights), rel=1e-9)
    larger = cross_validate_ccp_alpha(learner(min_samples_leaf=4), X, y, folds=4, sample_weight=weights * 7)
    np.testing.assert_allclose(larger.losses, judged.losses, rtol=1e-9)
    assert larger.chosen == judged.chosen


def test_several_deals_are_averaged():
    X, y = noisy(60, seed=12)
    learner = DecisionTreeClassifier(min_samples_leaf=3)
    once, thrice = (cross_validate_ccp_alpha(learner, X, y, folds=5, deals=deals) for deals in (1, 3))
    again = cross_validate_ccp_alpha(learner, X, y, folds=5, deals=3)
    assert np.array_equal(thrice.losses, again.losses)
    assert np.array_equal(thrice.leaves, once.leaves)
    assert not np.array_equal(thrice.losses, once.losses)
    # Each deal judges all 60 rows, so three deals count in 180ths.
    np.testing.assert_allclose(thrice.losses * 180, np.round(thrice.losses * 180), atol=1e-6)
    # With a row in each fold there is only one way to deal.
    alone, often = (cross_validate_ccp_alpha(learner, X, y, folds=60, deals=deals) for deals in (1, 4))
    np.testing.assert_allclose(often.losses, alone.losses, atol=1e-12)
    np.testing.assert_allclose(often.deviations, alone.deviations, atol=1e-12)


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"deals": 0}, "deals=0 must be a whole number of 1 or more"),
        ({"deals": 1.5}, "deals=1.5 must be"),
        ({"deals": True}, "deals=True must be"),
        ({"folds": 1}, "folds=1 must be a whole number from 2 to the number of rows, 60"),
        ({"folds": 61}, "folds=61 must be"),
        ({"standard_errors": -1}, "standard_errors=-1 must be"),
        ({"risk": "luck"}, "must be 'error' or 'impurity'"),
        ({"sample_weight": [1.0]}, r"sample_weight.shape == \(1,\), expected \(60,\)"),
    ],
)
def test_cross_validation_that_cannot_be_done_is_refused(choices, sentence):
    X, y = noisy(60)
    with pytest.raises(ValueError, match=sentence):
        cross_validate_ccp_alpha(DecisionTreeClassifier(), X, y, **choices)


def test_raising_keeps_thresholds_to_the_last_bit():
    X, y = noisy(400, seed=3)
    full = C45Classifier(prune=None).fit(X, y).tree_
    pruned = C45Classifier(confidence=0.5).fit(X, y).tree_
    asked = pruned.threshold[pruned.n_children > 0]
    assert len(asked) > 0
    assert set(asked.tolist()) <= set(full.threshold.tolist())
