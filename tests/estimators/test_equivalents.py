"""Parameters under the names of other libraries: they work, or the error names ours."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
from sklearn import ensemble, tree
from sklearn.base import clone
from sklearn.datasets import load_iris

import treewright
from treewright.estimators.equivalents import EQUIVALENTS

X, y = load_iris(return_X_y=True)

SAME_NAME = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "StackingClassifier",
    "StackingRegressor",
]

# What no parameter here means, and no sentence explains better than the list of parameters.
WITHOUT_EQUIVALENT = {
    "feature_types",
    "feature_weights",
    "max_cat_threshold",
    "max_cat_to_onehot",
    "max_delta_step",
    "multi_strategy",
    "num_parallel_tree",
    "sampling_method",
    "subsample_for_bin",
    "validate_parameters",
    "min_samples_split",  # of gradient boosting
    "min_weight_fraction_leaf",  # of gradient boosting
    "eval_class_weight",
    "eval_names",
    "eval_X",
    "eval_y",
    "kwargs",
}


def their_class(name: str) -> type:
    return getattr(tree, name, None) or getattr(ensemble, name)


def names_of(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def pairs() -> list[tuple[str, type]]:
    """Classes of other libraries with the class here that does the same."""
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    found = [(name, their_class(name)) for name in SAME_NAME]
    found += [(name.replace("Hist", ""), getattr(ensemble, name)) for name in dir(ensemble) if name.startswith("Hist")]
    return [
        *found,
        ("GradientBoostingClassifier", lightgbm.LGBMClassifier),
        ("GradientBoostingRegressor", lightgbm.LGBMRegressor),
        ("GradientBoostingClassifier", xgboost.XGBClassifier),
        ("GradientBoostingRegressor", xgboost.XGBModel),
    ]


@pytest.mark.parametrize("method", ["__init__", "fit"])
def test_every_parameter_of_the_other_libraries_is_known_or_explained(method: str) -> None:
    for name, theirs in pairs():
        ours = getattr(treewright, name)
        known = names_of(getattr(ours, method))
        for parameter in names_of(getattr(theirs, method)):
            if parameter in known or parameter in WITHOUT_EQUIVALENT or parameter == "fit_params":
                continue
            assert parameter in EQUIVALENTS[method], f"{name} has no sentence for {parameter} of {theirs.__name__}"
            with pytest.raises(TypeError, match=re.escape(f"{parameter!r}")) as caught:
                ours(**{parameter: 1}) if method == "__init__" else ours().fit(X, y, **{parameter: 1})
            assert "unexpected keyword" not in str(caught.value)
            assert "lists what it takes" not in str(caught.value), str(caught.value)


def test_the_table_names_parameters_that_exist() -> None:
    learners = [found for name in treewright.__all__ if hasattr(found := getattr(treewright, name), "get_params")]
    for method, table in EQUIVALENTS.items():
        known = {
            name for learner in learners if hasattr(learner, method) for name in names_of(getattr(learner, method))
        }
        for entry in table.values():
            assert set(entry.ours) <= known, entry
            assert entry.ours or entry.note, entry


@pytest.mark.parametrize(
    ("learner", "parameters", "sentence"),
    [
        (
            "GradientBoostingClassifier",
            {"num_leaves": 31},
            "GradientBoostingClassifier has no parameter 'num_leaves'; "
            "what LightGBM calls num_leaves is max_leaf_nodes here",
        ),
        (
            "GradientBoostingRegressor",
            {"reg_lambda": 1.0},
            "GradientBoostingRegressor has no parameter 'reg_lambda'; "
            "what LightGBM and XGBoost call reg_lambda is l2_regularization here",
        ),
        (
            "AdaBoostClassifier",
            {"verbose": 1},
            "AdaBoostClassifier has no parameter 'verbose'; "
            "what scikit-learn and LightGBM call verbose is progress here (True or False)",
        ),
        (
            "RandomForestClassifier",
            {"max_dept": 1},
            "RandomForestClassifier has no parameter 'max_dept'; did you mean 'max_depth'?",
        ),
        (
            "AdaBoostClassifier",
            {"colour": 1},
            "AdaBoostClassifier has no parameter 'colour'; help(AdaBoostClassifier) lists what it takes",
        ),
    ],
)
def test_a_parameter_of_another_name_is_an_error_that_names_ours(
    learner: str, parameters: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(TypeError) as caught:
        getattr(treewright, learner)(**parameters)
    assert str(caught.value) == sentence


def test_a_number_of_trees_by_place_works_where_it_does_in_scikit_learn() -> None:
    assert treewright.RandomForestClassifier(7).n_estimators == ensemble.RandomForestClassifier(7).n_estimators
    assert treewright.BaggingRegressor(None, 7).n_estimators == 7
    with pytest.raises(TypeError, match="by name; write n_estimators=7 for the number of trees"):
        treewright.GradientBoostingClassifier(7)
    with pytest.raises(TypeError, match="by name; write name='gini'"):
        treewright.DecisionTreeClassifier("gini")


def test_a_keyword_of_fit_from_another_library_is_explained() -> None:
    model = treewright.GradientBoostingClassifier(n_estimators=2)
    with pytest.raises(TypeError, match="n_iter_no_change is a parameter of the learner"):
        model.fit(X, y, early_stopping_rounds=5)
    with pytest.raises(TypeError, match="only gradient boosting has validation sets"):
        treewright.RandomForestClassifier(2).fit(X, y, eval_set=[(X, y)])


@pytest.mark.parametrize("name", ["entropy", "log_loss"])
def test_the_entropy_of_scikit_learn_is_the_information_gain(name: str) -> None:
    for learner in ("DecisionTreeClassifier", "RandomForestClassifier", "CARTClassifier", "ObliviousTreeClassifier"):
        known = names_of(getattr(treewright, learner))
        seed = {"random_state": 0} if "random_state" in known else {}
        count = {"n_estimators": 5} if "n_estimators" in known else {}
        model = getattr(treewright, learner)(criterion=name, **seed, **count)
        assert clone(model).get_params()["criterion"] == name
        ours = getattr(treewright, learner)(criterion="information_gain", **seed, **count)
        np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), ours.fit(X, y).predict_proba(X))
    theirs = tree.DecisionTreeClassifier(criterion=name, max_depth=2, random_state=0).fit(X, y)
    ours = treewright.DecisionTreeClassifier(criterion=name, max_depth=2).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))


@pytest.mark.parametrize("ccp_alpha", [0.003, 0.01, 0.05, 10.0])
def test_a_price_of_leaves_alone_prunes_as_scikit_learn_does(ccp_alpha: float) -> None:
    random = np.random.default_rng(0)
    table, weights = random.normal(size=(200, 3)), random.random(200) + 0.5
    numbers = table[:, 0] + random.normal(size=200)
    both = np.stack([numbers, table[:, 1] + random.normal(size=200)], axis=1)
    for kind, target in (("Classifier", numbers > 0), ("Regressor", numbers), ("Regressor", both)):
        theirs = getattr(tree, f"DecisionTree{kind}")(ccp_alpha=ccp_alpha, random_state=0).fit(table, target, weights)
        ours = getattr(treewright, f"DecisionTree{kind}")(ccp_alpha=ccp_alpha).fit(table, target, weights)
        assert ours.get_n_leaves() == theirs.get_n_leaves()
        np.testing.assert_allclose(np.sort(ours.tree_.impurity), np.sort(theirs.tree_.impurity), atol=1e-9)


def test_a_negative_price_of_leaves_is_refused() -> None:
    with pytest.raises(ValueError, match="ccp_alpha is -1"):
        treewright.DecisionTreeClassifier(ccp_alpha=-1).fit(X, y)


def test_get_params_and_set_params_stay_those_of_scikit_learn() -> None:
    model = treewright.RandomForestClassifier(5, criterion="entropy")
    assert inspect.signature(type(model)).parameters["n_estimators"].default == "auto"
    with pytest.raises(ValueError, match=r"Invalid parameter 'num_leaves' for estimator RandomForestClassifier\("):
        model.set_params(num_leaves=3)


def test_a_subclass_with_keywords_of_its_own_is_left_alone() -> None:
    class Mine(treewright.RandomForestClassifier):
        def __init__(self, n_estimators: int = 3, *, colour: str = "red", **others: Any) -> None:
            super().__init__(n_estimators)
            self.colour, self.others = colour, others

    assert Mine(colour="blue", num_leaves=3).others == {"num_leaves": 3}
