"""Pruning: against scikit-learn's sequence of trees, figures of C4.5, and what must hold for every method."""

from __future__ import annotations

import numpy as np
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
    cross_validate_alpha,
    datasets,
    prune,
)
from treewright.tree import SplitKind
from treewright.tree.prune import extra_errors, weakest_links


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
    np.testing.assert_allclose(path.alphas, theirs.ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(path.risks, theirs.impurities, atol=1e-12)
    for alpha, leaves in zip(path.alphas, path.leaves, strict=True):
        model = TheirClassifier(random_state=0, ccp_alpha=alpha + 1e-12).fit(X, y)
        assert model.get_n_leaves() == leaves


def test_a_regression_tree_is_pruned_as_scikit_learn_prunes_it():
    X, y = sklearn_datasets.load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor().fit(X, y)
    for alpha in (20.0, 50.0, 100.0, 1_000.0):  # smaller nodes than these leave have splits that tie
        ours = prune(model, "cost_complexity", alpha=alpha)
        theirs = TheirRegressor(random_state=0, ccp_alpha=alpha).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


@pytest.mark.parametrize("risk", ["error", "impurity"])
def test_each_tree_of_the_sequence_is_nested_in_the_one_before(risk):
    X, y = noisy()
    model = DecisionTreeClassifier().fit(X, y)
    path = cost_complexity_path(model, risk=risk)
    assert path.leaves[-1] == 1
    assert (np.diff(path.alphas) > 0).all()
    assert (np.diff(path.leaves) < 0).all()
    before = model
    for alpha, leaves in zip(path.alphas, path.leaves, strict=True):
        smaller = prune(model, "cost_complexity", alpha=alpha, risk=risk)
        assert smaller.tree_.n_leaves == leaves
        assert leaves_above(before.tree_, smaller.tree_)
        before = smaller


def test_no_subtree_beats_the_one_cost_complexity_chooses():
    X, y = noisy(60, seed=3)
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y).tree_
    inner = np.flatnonzero(tree.kind != SplitKind.LEAF)
    for alpha in (0.0, 0.005, 0.01, 0.03, 0.1):
        costs = []
        for pattern in range(1 << len(inner)):
            at = {int(node) for k, node in enumerate(inner) if pattern >> k & 1}
            smaller = prune(tree, where=lambda node, at=at: node.index in at)
            errors = sum(node.errors for node in smaller if node.is_leaf)
            costs.append((round(errors / 60 + alpha * smaller.n_leaves, 12), smaller.n_leaves))
        chosen = prune(tree, "cost_complexity", alpha=alpha)
        errors = sum(node.errors for node in chosen if node.is_leaf)
        assert (round(errors / 60 + alpha * chosen.n_leaves, 12), chosen.n_leaves) == min(costs)


def test_the_kernel_is_the_same_plain_and_compiled(monkeypatch):
    X, y = noisy(400, seed=5)
    tree = DecisionTreeClassifier().fit(X, y).tree_
    found = []
    for form in "01":
        monkeypatch.setenv("TREEWRIGHT_COMPILE", form)
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
            assert len({child.answer for child in node.children}) > 1


def test_trees_with_categories_and_empty_branches_can_be_pruned():
    concept = datasets.load_concept()
    model = ID3Classifier().fit(concept.X, concept.y)
    assert prune(model, "error_based").tree_.n_leaves <= model.tree_.n_leaves
    stump = prune(model.tree_, where=lambda node: node.depth == 0)
    assert stump.n_nodes == 1
    orchard = datasets.load_orchard()
    large = DecisionTreeClassifier().fit(orchard.X, orchard.y)
    small = prune(large, "cost_complexity", alpha=0.01)
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
    judged = cross_validate_alpha(learner, X, y, folds=5)
    path = cost_complexity_path(learner.fit(X, y))
    assert np.array_equal(judged.leaves, path.leaves)
    fold_of = np.empty(len(y), dtype=int)
    fold_of[rows_in_order] = np.arange(len(y)) % 5
    for line in range(0, len(path), max(len(path) // 6, 1)):
        above = path.alphas[line + 1] if line + 1 < len(path) else np.inf
        losses = []
        for fold in range(5):
            inside = fold_of != fold
            model = type(learner)().fit(X[inside], y[inside])
            price = min(np.sqrt(path.alphas[line] * above), 1e300)
            pruned = prune(model, "cost_complexity", alpha=price)
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
    judged = cross_validate_alpha(model, X, y)
    assert judged.leaves[judged.chosen] == 2
    smaller = prune(model, "cost_complexity", alpha=judged.alpha)
    X_new, y_new = noisy(2_000, seed=60)
    assert smaller.score(X_new, y_new) > model.score(X_new, y_new) + 0.05


@pytest.mark.parametrize("method", ["error_based", "pessimistic", "minimum_description_length", "collapse"])
def test_a_learner_prunes_while_fitting_as_prune_does_afterwards(method):
    X, y = noisy()
    for learner in (DecisionTreeClassifier, CARTClassifier):
        afterwards = prune(learner(prune=None).fit(X, y), method)
        while_fitting = learner(prune=method).fit(X, y)
        assert while_fitting.tree_.to_dict() == afterwards.tree_.to_dict()


def test_a_learner_chooses_the_price_of_a_leaf_by_cross_validation():
    X, y = noisy(1_000, seed=8)
    model = CARTClassifier(prune="cost_complexity").fit(X, y)
    plain = CARTClassifier(prune=None).fit(X, y)
    judged = cross_validate_alpha(plain, X, y, deals=3, standard_errors=0)
    assert model.tree_.to_dict() == prune(plain, "cost_complexity", alpha=judged.alpha).tree_.to_dict()
    judged = cross_validate_alpha(plain, X, y, deals=3)
    smaller = CARTClassifier(alpha="1se").fit(X, y)
    assert smaller.tree_.to_dict() == prune(plain, "cost_complexity", alpha=judged.alpha).tree_.to_dict()
    assert smaller.tree_.n_leaves <= model.tree_.n_leaves
    given = CARTClassifier(prune="cost_complexity", alpha=0.05).fit(X, y)
    assert given.tree_.to_dict() == prune(plain, "cost_complexity", alpha=0.05).tree_.to_dict()
    search = GridSearchCV(CARTClassifier(prune="cost_complexity"), {"alpha": [0.0, 0.01, 0.3]}, cv=3).fit(X, y)
    assert search.best_params_["alpha"] == 0.01
    X_numbers, numbers = sklearn_datasets.load_diabetes(return_X_y=True)
    regressor = CARTRegressor(prune="cost_complexity").fit(X_numbers, numbers)
    assert regressor.tree_.n_leaves < 30
    assert DecisionTreeClassifier(prune="cost_complexity").fit([[1]], ["a"]).tree_.n_leaves == 1


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        (DecisionTreeClassifier(prune="magic"), "prune is 'magic'; give one of 'cost_complexity'"),
        (DecisionTreeClassifier(prune="reduced_error"), None),
        (DecisionTreeClassifier(prune="reduced_error", pruning_share=0.9), "pruning_share is 0.9; give"),
        (C45Classifier(variant="r8"), "variant is 'r8'; give"),
        (DecisionTreeClassifier(prune="cost_complexity", alpha=-1), "alpha=-1 must be"),
        (DecisionTreeClassifier(prune="cost_complexity", alpha="best"), "alpha='best' must be"),
        (C45Classifier(prune="error_based", confidence=0), None),
        (C45Classifier(prune="error_based", confidence="x"), "confidence='x' must be"),
        (DecisionTreeRegressor(prune="pessimistic"), "which counts wrong classes"),
    ],
)
def test_pruning_that_cannot_be_done_is_refused_at_fit(learner, sentence):
    X, y = noisy(60)
    y = X[:, 0] if isinstance(learner, DecisionTreeRegressor) else y
    if sentence is None:
        assert learner.fit(X, y).tree_.n_leaves >= 1
        return
    with pytest.raises(ValueError, match=sentence):
        learner.fit(X, y)


def test_mistakes_are_answered_with_a_sentence():
    X, y = noisy(100)
    model = DecisionTreeClassifier().fit(X, y)
    for arguments, sentence in [
        (((model,), {}), "prune needs a method"),
        (((model, "magic"), {}), "unknown pruning method 'magic'"),
        (((model, "reduced_error"), {}), "give X and y"),
        (((model, "cost_complexity"), {"alpha": -1}), "alpha=-1 must be a number from 0"),
        (((model, "cost_complexity"), {"risk": "luck"}), "must be 'error' or 'impurity'"),
        (((model, "error_based"), {"confidence": 2}), "confidence=2 must be a number from 0 to 1"),
        (((model, "reduced_error"), {"X": X, "y": ["maybe"] * 100}), "has the class 'maybe'"),
        (((DecisionTreeRegressor().fit(X, X[:, 0]), "pessimistic"), {}), "counts wrong classes"),
    ]:
        with pytest.raises(ValueError, match=sentence.replace("(", r"\(")):
            prune(*arguments[0], **arguments[1])
    with pytest.raises(TypeError, match="not a dict"):
        prune({}, "collapse")
