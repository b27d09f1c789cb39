"""A split criterion of one's own: the trees of functions that are known criteria, and what is refused."""

from __future__ import annotations

import math
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from own_criteria import tsallis
from treewright import (
    AdaBoostClassifier,
    BaggingClassifier,
    CARTClassifier,
    CARTRegressor,
    DecisionStumpClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    ObliviousTreeClassifier,
    ObliviousTreeRegressor,
    RandomForestClassifier,
    RandomTreeClassifier,
    RandomTreeRegressor,
    cost_complexity_path,
    datasets,
    prune,
    show,
)
from treewright.engines.exact import engine

STRUCTURE = ("kind", "column", "threshold", "first_child", "n_children", "missing_branch", "set_start", "category_sets")
FIGURES = ("weight", "rows", "distribution", "share")


def own_gini(weights):
    return 1 - ((weights / weights.sum()) ** 2).sum()


def gini_by_loop(weights):
    total = other = 0.0
    for weight in weights:
        total += weight
    for weight in weights:
        other += weight * (total - weight)
    return other / total**2


def own_entropy(weights):
    shares = weights[weights > 0] / weights.sum()
    return -(shares * np.log2(shares)).sum()


def by_comprehension(weights):
    total = weights.sum()
    left = 1.0 - sum([(weight / total) ** math.order_of_tsallis for weight in weights])
    return left / (math.order_of_tsallis - 1)


def own_mse(weight, mean, variance):
    return variance


def deviation(weight, mean, variance):
    return math.sqrt(variance)


def poisson_but_for_a_constant(weight, mean, variance):
    """The half deviance of counts is this plus the mean of y log y, which no split changes."""
    return -mean * math.log(mean)


def gamma_deviance(weight, mean, variance):
    """Likewise for positive amounts: the logarithm of the mean less the mean logarithm."""
    return math.log(mean)


def table(n_rows=400, seed=0, missing_share=0.1):
    """Wide and narrow numbers, few and many categories, with missing values.

    A dict, and two kinds of target, and weights.
    """
    random = np.random.default_rng(seed)
    wide, narrow = random.standard_normal(n_rows), random.integers(0, 25, n_rows).astype(float)
    few, many = random.integers(0, 5, n_rows), random.integers(0, 40, n_rows)
    signal = wide + (few == 1) - (many % 5 == 0) + 0.1 * narrow + 0.7 * random.standard_normal(n_rows)
    for column in (wide, narrow):
        column[random.random(n_rows) < missing_share] = np.nan
    few_words = [None if random.random() < missing_share else f"f{code}" for code in few]
    X = {"wide": wide, "narrow": narrow, "few": few_words, "many": [f"m{code}" for code in many]}
    return X, signal, random.choice([0.5, 1.0, 2.0], n_rows)


def classes_of(signal, n_classes):
    return np.searchsorted(np.quantile(signal, np.arange(1, n_classes) / n_classes), signal)


def assert_same_tree(own, known, *, shift=None):
    """The same tree; the impurities as well, unless they are known to differ by a constant of each node."""
    for name in STRUCTURE:
        np.testing.assert_array_equal(getattr(own, name), getattr(known, name), err_msg=name)
    for name in FIGURES:
        np.testing.assert_allclose(getattr(own, name), getattr(known, name), rtol=1e-12, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(own.gain, known.gain, atol=1e-12)
    if shift is None:
        np.testing.assert_allclose(own.impurity, known.impurity, atol=1e-12)


def fit_both(learner, function, name, X, y, weights=None, **choices):
    own = learner(criterion=function, **choices).fit(X, y, sample_weight=weights)
    known = learner(criterion=name, **choices).fit(X, y, sample_weight=weights)
    assert known.tree_.n_nodes > 5
    return own.tree_, known.tree_


@pytest.fixture(params=["plain", pytest.param("compiled", marks=pytest.mark.slow)])
def form(request, monkeypatch):
    """Compiling a function takes a second; `in_both_forms` is for the tests that do so in `make test-fast`, too."""
    monkeypatch.setenv("TREEWRIGHT_FORM", request.param)
    return request.param


in_both_forms = pytest.mark.parametrize("form", ["plain", "compiled"], indirect=True)


@pytest.fixture
def plain(monkeypatch):
    """For tests in which the form of the function does not matter."""
    monkeypatch.setenv("TREEWRIGHT_FORM", "plain")


@pytest.fixture
def n_rows(form):
    """Plain kernels take their time."""
    return {"plain": 60, "compiled": 500}[form]


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["learned", "fractional", "every_value", "branch", "surrogate", "all_branches"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    ("function", "name"), [(own_gini, "gini"), (gini_by_loop, "gini"), (own_entropy, "information_gain")]
)
def test_ones_own_gini_or_entropy_grows_the_tree_of_the_known_one(n_rows, function, name, n_classes, missing):
    X, signal, weights = table(n_rows)
    y = classes_of(signal, n_classes)
    choices = {"missing": missing, "max_depth": 6, "min_samples_leaf": 3}
    assert_same_tree(*fit_both(DecisionTreeClassifier, function, name, X, y, **choices))
    assert_same_tree(*fit_both(DecisionTreeClassifier, function, name, X, y, weights, **choices))


@pytest.mark.slow
@pytest.mark.parametrize("categorical", ["subset", "multiway", "one_vs_rest"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_categories_are_split_as_by_the_known_criterion(n_rows, categorical, n_classes):
    X, signal, weights = table(n_rows, seed=1)
    y = classes_of(signal, n_classes)
    choices = {"categorical": categorical, "min_samples_leaf": 4}
    for weigh in (None, weights):
        assert_same_tree(*fit_both(DecisionTreeClassifier, own_gini, "gini", X, y, weigh, **choices))
        assert_same_tree(*fit_both(DecisionTreeRegressor, own_mse, "squared_error", X, signal, weigh, **choices))


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["learned", "fractional", "every_value", "branch"])
def test_ones_own_squared_error_grows_the_tree_of_the_known_one(n_rows, missing):
    X, signal, weights = table(n_rows, seed=2)
    choices = {"missing": missing, "max_depth": 5}
    for weigh in (None, weights):
        assert_same_tree(*fit_both(DecisionTreeRegressor, own_mse, "squared_error", X, signal, weigh, **choices))


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["learned", "fractional", "every_value", "branch"])
def test_ones_own_deviation_grows_the_tree_of_the_known_one(n_rows, missing):
    X, signal, _ = table(n_rows, seed=2)
    # Two sides of the same weight may stand in either order; so no two rows weigh the same.
    weights = np.random.default_rng(2).uniform(0.5, 2.0, n_rows)
    assert_same_tree(
        *fit_both(DecisionTreeRegressor, deviation, "sdr", X, signal, weights, missing=missing, max_depth=5)
    )


def test_a_deviance_may_leave_out_what_no_split_changes(n_rows):
    X, signal, weights = table(n_rows, seed=3)
    counts = np.random.default_rng(3).poisson(np.exp(0.5 * signal)) + 1.0
    own, known = fit_both(
        DecisionTreeRegressor,
        poisson_but_for_a_constant,
        "poisson",
        X,
        counts,
        weights,
        max_depth=5,
        min_samples_leaf=2,
    )
    assert_same_tree(own, known, shift=True)
    assert own.impurity[0] < 0.0


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 5])
def test_large_tables_and_many_threads_give_the_tree_of_the_known_criterion(monkeypatch, n_classes):
    monkeypatch.setenv("TREEWRIGHT_FORM", "compiled")
    X, signal, weights = table(140_000, seed=4, missing_share=0.02)
    y = classes_of(signal, n_classes)
    assert 4 * len(y) >= engine.MIN_CELLS_FOR_THREADS
    choices = {"min_samples_leaf": 20}
    own, known = fit_both(DecisionTreeClassifier, gini_by_loop, "gini", X, y, n_jobs=2, **choices)
    assert_same_tree(own, known)
    alone = DecisionTreeClassifier(criterion=gini_by_loop, n_jobs=1, **choices).fit(X, y).tree_
    np.testing.assert_array_equal(alone.impurity, own.impurity)
    own, known = fit_both(DecisionTreeRegressor, own_mse, "squared_error", X, signal, weights, n_jobs=2, **choices)
    assert_same_tree(own, known)


def gini_of_some(weights):
    if weights.sum() <= 0.0:
        raise ValueError("nobody is here")
    return own_gini(weights)


def mse_of_some(weight, mean, variance):
    if not (weight > 0.0 and abs(mean) < 100.0 and variance >= 0.0):
        raise ValueError("nobody is here")
    return variance


@pytest.mark.slow
def test_sides_without_weight_are_never_asked_about(n_rows):
    X, signal, weights = table(n_rows, seed=8)
    light = np.argsort(signal)[: n_rows // 4]
    weights[light] = 1e-20  # so little that a side of them weighs nothing where it is what the other leaves
    X["tail"] = np.full(n_rows, 1.0)
    X["tail"][light] = np.random.default_rng(8).uniform(5, 9, len(light))
    for missing in ("learned", "fractional", "branch"):
        choices = {"missing": missing, "max_depth": 5}
        model = DecisionTreeClassifier(criterion=gini_of_some, **choices).fit(X, classes_of(signal, 2), weights)
        assert model.tree_.n_leaves > 5
        model = DecisionTreeRegressor(criterion=mse_of_some, **choices).fit(X, signal, weights)
        assert model.tree_.n_leaves > 5


@pytest.mark.slow
def test_a_hundred_classes_are_asked_about_in_small_parts(monkeypatch):
    """So many that few cuts fit into the room of one question."""
    monkeypatch.setenv("TREEWRIGHT_FORM", "compiled")
    X, signal, weights = table(1500, seed=9)
    y = classes_of(signal, 100)
    for missing in ("learned", "surrogate"):
        choices = {"missing": missing, "max_depth": 4, "categorical": "one_vs_rest"}
        assert_same_tree(*fit_both(DecisionTreeClassifier, gini_by_loop, "gini", X, y, weights, **choices))


@pytest.mark.slow
@pytest.mark.parametrize("function", [own_gini, own_entropy, tsallis])
def test_plain_and_compiled_forms_of_a_function_grow_the_same_tree(monkeypatch, function):
    X, signal, weights = table(300, seed=5)
    y = classes_of(signal, 3)
    trees = []
    for form in ("plain", "compiled"):
        monkeypatch.setenv("TREEWRIGHT_FORM", form)
        trees.append(DecisionTreeClassifier(criterion=function).fit(X, y, weights).tree_)
    assert trees[0].n_nodes > 50
    assert_same_tree(*trees)


@pytest.mark.slow
@pytest.mark.parametrize("function", [own_mse, deviation, gamma_deviance])
def test_plain_and_compiled_forms_agree_on_numbers(monkeypatch, function):
    X, signal, weights = table(250, seed=6)
    trees = []
    for form in ("plain", "compiled"):
        monkeypatch.setenv("TREEWRIGHT_FORM", form)
        trees.append(DecisionTreeRegressor(criterion=function).fit(X, np.exp(signal), weights).tree_)
    assert trees[0].n_nodes > 50
    assert_same_tree(*trees)


@pytest.mark.slow
def test_random_choices_follow_the_seed_in_both_forms(monkeypatch):
    X, signal, _ = table(200, seed=7)
    y = classes_of(signal, 2)
    for choices in ({"splitter": "random"}, {"splitter": ("among", 3)}, {"max_features": 2}):
        trees = []
        for form in ("plain", "compiled"):
            monkeypatch.setenv("TREEWRIGHT_FORM", form)
            model = DecisionTreeClassifier(criterion=tsallis, random_state=3, max_depth=5, **choices)
            trees.append(model.fit(X, y).tree_)
        assert_same_tree(*trees)
    known = DecisionTreeClassifier(criterion="gini", random_state=3, splitter="random").fit(X, y).tree_
    assert_same_tree(
        DecisionTreeClassifier(criterion=own_gini, random_state=3, splitter="random").fit(X, y).tree_, known
    )


@pytest.mark.slow
@in_both_forms
def test_every_learner_with_a_criterion_takes_a_function(form):
    X, signal, _ = table(60 if form == "plain" else 120, seed=8)
    y = classes_of(signal, 2)
    for learner, choices in [
        (CARTClassifier, {"ccp_alpha": 0.0}),
        (DecisionStumpClassifier, {}),
        (RandomTreeClassifier, {"random_state": 1}),
    ]:
        own = learner(criterion=own_gini, **choices).fit(X, y)
        assert_same_tree(own.tree_, learner(criterion="gini", **choices).fit(X, y).tree_)
    for learner, choices in [(CARTRegressor, {"ccp_alpha": 0.01}), (RandomTreeRegressor, {"random_state": 1})]:
        own = learner(criterion=own_mse, **choices).fit(X, signal)
        assert_same_tree(own.tree_, learner(criterion="squared_error", **choices).fit(X, signal).tree_)


@pytest.mark.slow
def test_cart_prunes_by_ones_own_impurity(form):
    X, signal, _ = table(60 if form == "plain" else 150, seed=9)
    own = CARTRegressor(criterion=own_mse).fit(X, signal)
    known = CARTRegressor().fit(X, signal)
    assert own.ccp_alpha_ == pytest.approx(known.ccp_alpha_, rel=1e-9)
    assert_same_tree(own.tree_, known.tree_)


def test_the_pruning_path_is_in_the_impurity_of_the_function(plain):
    X, signal, _ = table(60, seed=10)
    y = classes_of(signal, 3)
    model = DecisionTreeClassifier(criterion=tsallis).fit(X, y)
    path = cost_complexity_path(model, risk="impurity")
    assert path.risks[-1] == pytest.approx(tsallis(np.bincount(y).astype(float)))
    for smaller, ccp_alpha in zip(path.trees, path.ccp_alphas, strict=True):
        leaves = [node for node in smaller if node.is_leaf]
        risk = sum(node.weight * tsallis(node.distribution) for node in leaves) / len(y)
        assert len(leaves) == prune(model, "cost_complexity", ccp_alpha=ccp_alpha, risk="impurity").tree_.n_leaves
        assert risk == pytest.approx(path.risks[list(path.ccp_alphas).index(ccp_alpha)])


def test_negative_impurities_can_be_pruned_by(plain):
    X, signal, _ = table(120, seed=11)
    counts = np.random.default_rng(3).poisson(np.exp(0.5 * signal)) + 1.0
    own, known = fit_both(DecisionTreeRegressor, poisson_but_for_a_constant, "poisson", X, counts, min_samples_leaf=2)
    paths = [cost_complexity_path(tree) for tree in (own, known)]
    np.testing.assert_array_equal(paths[0].leaves, paths[1].leaves)
    np.testing.assert_allclose(paths[0].ccp_alphas, paths[1].ccp_alphas, atol=1e-12)


@in_both_forms
def test_impurity_and_gain_are_what_the_function_says(form):
    X, signal, weights = table(200, seed=12)
    y = classes_of(signal, 3)
    tree = DecisionTreeClassifier(criterion=tsallis, max_depth=4).fit(X, y, weights).tree_
    assert tree.n_nodes > 10
    for node in tree:
        assert node.impurity == pytest.approx(tsallis(np.array(node.distribution)), abs=1e-12)
        if not node.is_leaf:
            after = sum(child.weight * child.impurity for child in node.children) / node.weight
            assert node.gain == pytest.approx(node.impurity - after, abs=1e-12)


def test_a_split_that_would_raise_the_impurity_is_not_made(form):
    def pure_is_bad(weights):
        return ((weights / weights.sum()) ** 2).sum()

    model = DecisionTreeClassifier(criterion=pure_is_bad).fit({"x": [1, 2, 3, 4]}, ["a", "a", "b", "b"])
    assert model.tree_.n_nodes == 1


def test_a_split_that_gains_nothing_is_made_as_with_the_known_criteria(form):
    X = {"a": ["0", "0", "1", "1"], "b": ["0", "1", "0", "1"]}
    model = DecisionTreeClassifier(criterion=own_gini).fit(X, [0, 1, 1, 0])
    assert model.score(X, [0, 1, 1, 0]) == 1.0


def test_a_function_that_changes_its_array_spoils_nothing(form):
    def in_place(weights):
        weights /= weights.sum()
        weights **= 2
        return 1 - weights.sum()

    X, signal, weights = table(150, seed=13)
    y = classes_of(signal, 2)
    assert_same_tree(*fit_both(DecisionTreeClassifier, in_place, "gini", X, y, weights))


def test_whole_numbers_are_impurities_too(form):
    def wrong(weights):
        if weights.max() == weights.sum():
            return 0
        return 1

    X = {"x": [1, 2, 3, 4, 5]}
    model = DecisionTreeClassifier(criterion=wrong).fit(X, list("aabbb"))
    assert model.tree_.impurity.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.slow
def test_functions_may_call_others_and_use_what_surrounds_them(form):
    q = 1.5

    def power(share):
        return share**q

    def general(weights):
        total, left = weights.sum(), 1.0
        for weight in weights:
            left -= power(weight / total)
        return left / (q - 1)

    X, signal, _ = table(150, seed=14)
    y = classes_of(signal, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = DecisionTreeClassifier(criterion=general).fit(X, y).tree_
    assert_same_tree(first, DecisionTreeClassifier(criterion=tsallis).fit(X, y).tree_)
    q = 2.0
    again = DecisionTreeClassifier(criterion=general).fit(X, y).tree_
    assert_same_tree(again, DecisionTreeClassifier(criterion="gini").fit(X, y).tree_)


@pytest.mark.slow
def test_a_change_of_what_a_comprehension_names_is_noticed(form, monkeypatch):
    X, signal, _ = table(100, seed=20)
    y = classes_of(signal, 3)
    trees = []
    for q in (1.5, 2.0):
        monkeypatch.setattr("math.order_of_tsallis", q, raising=False)
        trees.append(DecisionTreeClassifier(criterion=by_comprehension).fit(X, y).tree_)
    assert_same_tree(trees[0], DecisionTreeClassifier(criterion=tsallis).fit(X, y).tree_)
    assert_same_tree(trees[1], DecisionTreeClassifier(criterion="gini").fit(X, y).tree_)


def test_a_function_that_cannot_be_compiled_is_called_as_it_is_with_a_warning(monkeypatch):
    monkeypatch.setenv("TREEWRIGHT_FORM", "compiled")
    seen = []

    def remembers(weights):
        seen.append({"weights": list(weights)})
        return own_gini(weights)

    X, signal, _ = table(150, seed=15)
    y = classes_of(signal, 2)
    with pytest.warns(UserWarning, match="'remembers' runs as plain Python, .*, because Numba cannot compile it: .*"):
        own = DecisionTreeClassifier(criterion=remembers).fit(X, y)
    assert len(seen) > 100
    assert_same_tree(own.tree_, DecisionTreeClassifier().fit(X, y).tree_)


@pytest.mark.slow
def test_anything_callable_will_do(form):
    class Power:
        def __init__(self, q):
            self.q = q

        def __call__(self, weights):
            return (1 - ((weights / weights.sum()) ** self.q).sum()) / (self.q - 1)

    def power(q, weights):
        return (1 - ((weights / weights.sum()) ** q).sum()) / (q - 1)

    X, signal, _ = table(100, seed=16)
    y = classes_of(signal, 2)
    known = DecisionTreeClassifier(criterion=tsallis).fit(X, y).tree_
    for function in (Power(1.5), partial(power, 1.5)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_same_tree(DecisionTreeClassifier(criterion=function).fit(X, y).tree_, known)


def test_a_function_that_numba_compiled_already_will_do(form):
    import numba

    X, signal, _ = table(100, seed=17)
    y = classes_of(signal, 2)
    own, known = fit_both(DecisionTreeClassifier, numba.njit(gini_by_loop), "gini", X, y)
    assert_same_tree(own, known)


def test_an_interrupt_ends_a_slow_fit(monkeypatch):
    monkeypatch.setenv("TREEWRIGHT_FORM", "compiled")
    calls = []

    def interrupted(weights):
        calls.append({})
        if len(calls) == 20:
            raise KeyboardInterrupt
        return own_gini(weights)

    X, signal, _ = table(150, seed=18)
    with pytest.warns(UserWarning, match="plain Python"), pytest.raises(KeyboardInterrupt):
        DecisionTreeClassifier(criterion=interrupted).fit(X, classes_of(signal, 2))
    assert len(calls) < 2000


def no_number(weights):
    return weights / weights.sum()


def no_answer(weights):
    return None


def careless_entropy(weights):
    shares = weights / weights.sum()
    return -(shares * np.log2(shares)).sum()


def always_nan(weights):
    return np.nan


def out_of_bounds(weights):
    return weights[3]


def careful_at_the_root(weights):
    if weights[0] == 0.0:
        raise RuntimeError("no row of the first class")
    return own_gini(weights)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            no_number,
            r"criterion 'no_number' returns array\(\[0.5, 0.5\]\) for the class weights \[2, 2\]; .* one number",
        ),
        (no_answer, r"criterion 'no_answer' returns None for the class weights \[2, 2\]; .* one number"),
        (always_nan, r"criterion 'always_nan' returns nan for the class weights \[2, 2\]; .* finite number"),
        (
            careless_entropy,
            r"criterion 'careless_entropy' returns nan for the class weights \[1, 0\]; .* finite number",
        ),
        (out_of_bounds, r"criterion 'out_of_bounds' raises IndexError \(.*\) for the class weights \[2, 2\]"),
        (
            careful_at_the_root,
            r"criterion 'careful_at_the_root' raises RuntimeError \(no row of the first class\) for the class weights "
            r"\[0, ",
        ),
    ],
)
def test_a_function_that_gives_no_finite_number_is_refused_in_one_sentence(form, function, message):
    model = DecisionTreeClassifier(criterion=function)
    with pytest.raises(ValueError, match=message) as caught:
        model.fit({"x": [1, 2, 3, 4]}, ["a", "a", "b", "b"])
    assert "\n" not in str(caught.value)


def fails_late(weights):
    if weights[0] == 700.0 and weights[1] == 0.0:
        raise RuntimeError("seven hundred")
    return np.inf if weights[0] == 701.0 and weights[1] == 0.0 else own_gini(weights)


@pytest.mark.slow
def test_of_many_cuts_the_first_that_fails_is_reported(monkeypatch):
    monkeypatch.setenv("TREEWRIGHT_FORM", "compiled")
    x = np.arange(2000.0)
    with pytest.raises(ValueError, match=r"RuntimeError \(seven hundred\) for the class weights \[700, 0\]"):
        DecisionTreeClassifier(criterion=fails_late).fit({"x": x}, x >= 1000)


@in_both_forms
def test_a_function_of_numbers_that_fails_is_refused_in_one_sentence(form):
    message = (
        r"criterion 'gamma_deviance' raises ValueError \(.*\) for the weight 1, mean 0 and variance 0; "
        r"it must return a finite number for every node"
    )
    with pytest.raises(ValueError, match=message):
        DecisionTreeRegressor(criterion=gamma_deviance).fit({"x": [1, 2, 3, 4]}, [0.0, 0.0, 1.0, 2.0])


@pytest.mark.parametrize("function", [own_mse, lambda: 0.0, lambda weights, *, q: 0.0])
def test_a_classifiers_function_takes_one_array(function):
    with pytest.raises(ValueError, match=r"criterion .* a classifier calls it with one argument, the class weights"):
        DecisionTreeClassifier(criterion=function).fit({"x": [1, 2]}, ["a", "b"])


@pytest.mark.parametrize("function", [own_gini, lambda weight, mean: 0.0])
def test_a_regressors_function_takes_three_numbers(function):
    with pytest.raises(ValueError, match=r"criterion .* a regressor calls it with three arguments, weight, mean and"):
        DecisionTreeRegressor(criterion=function).fit({"x": [1, 2]}, [1.0, 2.0])


def test_what_makes_no_sense_with_a_function_is_refused():
    X, y = {"x": [1, 2, 3, 4]}, ["a", "a", "b", "b"]
    with pytest.raises(ValueError, match=r"candidates is 'class_boundaries', .* own criterion .* use 'midpoints'"):
        DecisionTreeClassifier(criterion=own_gini, candidates="class_boundaries").fit(X, y)
    for forest in (RandomForestClassifier(criterion=own_gini), ExtraTreesRegressor(criterion=own_mse)):
        with pytest.raises(ValueError, match=r"criterion is a function, which only single trees take; give one of"):
            forest.fit(X, [1, 2, 3, 4])
    for model in (ObliviousTreeClassifier(criterion=own_gini), ObliviousTreeRegressor(criterion=own_mse)):
        with pytest.raises(
            ValueError, match=r"criterion is a function, which oblivious trees do not take; give one of"
        ):
            model.fit(X, [1, 2, 3, 4])
    model = DecisionTreeClassifier(criterion=own_gini).fit(X, y)
    with pytest.raises(ValueError, match=r"own criterion 'own_gini'; leave X and y out"):
        prune(model, "error_based", X=X, y=y)


def test_other_values_are_refused_as_before():
    with pytest.raises(ValueError, match=r"criterion is 'ginni'; give one of 'gini', .* or 'error'$"):
        DecisionTreeClassifier(criterion="ginni").fit({"x": [1, 2]}, ["a", "b"])
    with pytest.raises(ValueError, match=r"criterion is 3; give one of .*, or a function that measures impurity"):
        CARTRegressor(criterion=3).fit({"x": [1, 2]}, [1, 2])


def test_a_model_with_a_function_can_be_cloned_and_pickled():
    iris = datasets.load_iris()
    model = DecisionTreeClassifier(criterion=tsallis, max_depth=3)
    assert clone(model).get_params()["criterion"] is tsallis
    model.fit(iris.X, iris.y)
    assert "criterion=<function tsallis" in repr(model)
    again = pickle.loads(pickle.dumps(model))
    assert again.criterion is tsallis
    assert_same_tree(again.tree_, model.tree_)
    assert again.tree_.own_criterion == "tsallis"
    X = np.column_stack([iris.X[name] for name in iris.X])
    assert cross_val_score(model, X, np.asarray(iris.y), cv=3).min() > 0.85


def test_a_tree_with_a_lambda_can_be_pickled_by_itself(plain):
    model = DecisionTreeClassifier(criterion=lambda w: 1 - ((w / w.sum()) ** 2).sum(), max_depth=2)
    tree = model.fit({"x": [1, 2, 3, 4]}, ["a", "a", "b", "b"]).tree_
    again = pickle.loads(pickle.dumps(tree))
    assert again.impurity.tolist() == [0.5, 0.0, 0.0]
    assert again.own_criterion == "<lambda>"


def test_text_and_dicts_name_the_function(plain, capsys):
    X, y = {"x": [1, 2, 3, 4]}, ["a", "a", "b", "b"]
    model = DecisionTreeClassifier(criterion=tsallis).fit(X, y)
    show(model)
    assert "\nCriterion: tsallis" in capsys.readouterr().out
    assert model.tree_.to_dict()["criterion"] == "tsallis"
    pruned = prune(model, "collapse")
    assert pruned.tree_.own_criterion == "tsallis"
    known = DecisionTreeClassifier().fit(X, y)
    show(known)
    assert "Criterion" not in capsys.readouterr().out
    assert "criterion" not in known.tree_.to_dict()


@pytest.mark.slow
def test_ensembles_of_single_trees_take_them_with_their_function():
    X, signal, _ = table(150, seed=19)
    y = classes_of(signal, 2)
    for ensemble, choices in [(BaggingClassifier, {"n_estimators": 5, "n_jobs": 2}), (AdaBoostClassifier, {})]:
        own = ensemble(DecisionTreeClassifier(criterion=own_gini, max_depth=3), random_state=0, **choices)
        known = ensemble(DecisionTreeClassifier(max_depth=3), random_state=0, **choices)
        np.testing.assert_array_equal(own.fit(X, y).predict(X), known.fit(X, y).predict(X))
