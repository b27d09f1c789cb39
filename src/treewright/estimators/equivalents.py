"""Parameter names of other libraries, and the name of the same thing here: the one table of equivalents.

A learner refuses a keyword that it does not have. Where another library has a parameter of that name, the error names
the parameter to use instead. Values that other libraries spell differently and that mean the same are accepted.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from typing import Any

from treewright.table.user_warnings import warn_user

SCIKIT, LIGHTGBM, XGBOOST = "scikit-learn", "LightGBM", "XGBoost"


@dataclass(frozen=True)
class Equivalent:
    """A parameter of other libraries.

    Parameters
    ----------
    name : str
        Its name there.
    libraries : tuple of str
        The libraries that have it.
    ours : tuple of str
        Our parameters with this meaning; a learner is described by the first of them that it has.
    note : str
        What is different, or what to do where no parameter has this meaning.
    """

    name: str
    libraries: tuple[str, ...]
    ours: tuple[str, ...] = ()
    note: str = ""


_NO_STOPPING = "n_iter_no_change stops early, on X_val and y_val of fit or on validation_fraction of the rows"
_SETS = "fit takes them as eval_set, or one as X_val and y_val"

_OF_LEARNERS = (
    Equivalent("max_iter", (SCIKIT,), ("n_estimators",)),
    Equivalent("num_iterations", (LIGHTGBM,), ("n_estimators",)),
    Equivalent("num_boost_round", (LIGHTGBM, XGBOOST), ("n_estimators",)),
    Equivalent("n_iter", (LIGHTGBM,), ("n_estimators",)),
    Equivalent("num_round", (XGBOOST,), ("n_estimators",)),
    Equivalent("num_trees", (LIGHTGBM,), ("n_estimators",)),
    Equivalent("base_estimator", (SCIKIT,), ("estimator",)),
    Equivalent("eta", (XGBOOST, LIGHTGBM), ("learning_rate",)),
    Equivalent("shrinkage_rate", (LIGHTGBM,), ("learning_rate",)),
    Equivalent("num_leaves", (LIGHTGBM,), ("max_leaf_nodes",)),
    Equivalent("max_leaves", (XGBOOST, LIGHTGBM), ("max_leaf_nodes",)),
    Equivalent("min_child_samples", (LIGHTGBM,), ("min_samples_leaf",)),
    Equivalent("min_data_in_leaf", (LIGHTGBM,), ("min_samples_leaf",)),
    Equivalent("min_sum_hessian_in_leaf", (LIGHTGBM,), ("min_child_weight",)),
    Equivalent("min_child_weight", (LIGHTGBM, XGBOOST), ("min_weight_fraction_leaf",), "as a fraction of all weights"),
    Equivalent("reg_alpha", (LIGHTGBM, XGBOOST), ("l1_regularization",)),
    Equivalent("lambda_l1", (LIGHTGBM,), ("l1_regularization",)),
    Equivalent("reg_lambda", (LIGHTGBM, XGBOOST), ("l2_regularization",)),
    Equivalent("lambda_l2", (LIGHTGBM,), ("l2_regularization",)),
    Equivalent("gamma", (XGBOOST,), ("min_split_gain",)),
    Equivalent("min_split_loss", (XGBOOST,), ("min_split_gain",)),
    Equivalent("min_gain_to_split", (LIGHTGBM,), ("min_split_gain",)),
    Equivalent(
        "min_impurity_decrease", (SCIKIT,), ("min_split_gain",), "which is not multiplied by the fraction of the rows"
    ),
    Equivalent("subsample", (SCIKIT, LIGHTGBM, XGBOOST), ("max_samples",)),
    Equivalent("bagging_fraction", (LIGHTGBM,), ("subsample", "max_samples")),
    Equivalent("subsample_freq", (LIGHTGBM,), note="every round draws its own rows"),
    Equivalent("bagging_freq", (LIGHTGBM,), note="every round draws its own rows"),
    Equivalent("colsample_bytree", (LIGHTGBM, XGBOOST), ("max_features",)),
    Equivalent("feature_fraction", (LIGHTGBM,), ("colsample_bytree", "max_features")),
    Equivalent("feature_fraction_bynode", (LIGHTGBM,), ("max_features",)),
    Equivalent("colsample_bynode", (XGBOOST,), ("max_features",)),
    Equivalent("max_bin", (LIGHTGBM, XGBOOST), ("max_bins",)),
    Equivalent("grow_policy", (XGBOOST,), ("growth",), '"level" for "depthwise" and "best" for "lossguide"'),
    Equivalent("boosting_type", (LIGHTGBM,), ("goss",), "the only other type"),
    Equivalent("data_sample_strategy", (LIGHTGBM,), ("goss",)),
    Equivalent("objective", (LIGHTGBM, XGBOOST), ("loss", "criterion")),
    Equivalent("loss", (SCIKIT,), ("criterion",)),
    Equivalent("criterion", (SCIKIT,), note="the splits of boosting are rated by the loss"),
    Equivalent("callbacks", (XGBOOST,), note="set_callbacks takes callbacks of scikit-learn"),
    Equivalent("alpha", (SCIKIT, LIGHTGBM), ("quantile",)),
    Equivalent("quantile_alpha", (XGBOOST,), ("quantile",)),
    Equivalent("tweedie_variance_power", (LIGHTGBM, XGBOOST), ("tweedie_power",)),
    Equivalent("scale_pos_weight", (LIGHTGBM, XGBOOST), ("class_weight",), "a dict of classes and weights"),
    Equivalent("class_weight", (LIGHTGBM,), note="a regressor has no classes; fit takes sample_weight"),
    Equivalent("is_unbalance", (LIGHTGBM,), ("class_weight",), '"balanced"'),
    Equivalent("monotone_constraints", (LIGHTGBM, XGBOOST), ("monotonic_cst",)),
    Equivalent("interaction_constraints", (LIGHTGBM, XGBOOST), ("interaction_cst",)),
    Equivalent("early_stopping_rounds", (LIGHTGBM, XGBOOST), ("n_iter_no_change",)),
    Equivalent("early_stopping_round", (LIGHTGBM,), ("n_iter_no_change",)),
    Equivalent("early_stopping", (SCIKIT,), ("n_iter_no_change",), _NO_STOPPING),
    Equivalent("metric", (LIGHTGBM,), ("eval_metric",)),
    Equivalent("eval_set", (LIGHTGBM, XGBOOST), note=_SETS),
    Equivalent("init_score", (LIGHTGBM,), note="fit takes initial scores"),
    Equivalent("base_score", (XGBOOST,), note="fit takes initial scores as init_score"),
    Equivalent("categorical_feature", (LIGHTGBM,), ("categorical_features",)),
    Equivalent("cat_features", ("CatBoost",), ("categorical_features",)),
    Equivalent("enable_categorical", (XGBOOST,), note="text and categorical columns are split by category as they are"),
    Equivalent("missing", (XGBOOST,), note="None and NaN are missing"),
    Equivalent("bootstrap", (SCIKIT,), ("replace",)),
    Equivalent("bootstrap_features", (SCIKIT,), ("replace_features",)),
    Equivalent(
        "ccp_alpha", (SCIKIT,), note="trees of an ensemble are not pruned; DecisionTreeClassifier(prune=...) prunes one"
    ),
    Equivalent("monotonic_cst", (SCIKIT,), note="decision trees, forests and gradient boosting have it"),
    Equivalent("seed", (XGBOOST, LIGHTGBM), ("random_state",)),
    Equivalent("nthread", (XGBOOST,), ("n_jobs",)),
    Equivalent("num_threads", (LIGHTGBM,), ("n_jobs",)),
    Equivalent("thread_count", ("CatBoost",), ("n_jobs",)),
    Equivalent("verbose", (SCIKIT, LIGHTGBM), ("progress",), "True or False"),
    Equivalent("verbosity", (LIGHTGBM, XGBOOST), ("progress",), "True or False"),
    Equivalent("silent", (LIGHTGBM,), ("progress",), "True or False"),
    Equivalent("importance_type", (LIGHTGBM, XGBOOST), note="feature_importances_ are gains"),
    Equivalent("tree_method", (XGBOOST,), note="boosting and forests always use histograms"),
    Equivalent("device", (XGBOOST, LIGHTGBM), note="there is no GPU support"),
    Equivalent("booster", (XGBOOST,), note="there are only trees"),
)

_OF_FIT = (
    Equivalent("eval_set", (LIGHTGBM, XGBOOST), note="only gradient boosting has validation sets"),
    Equivalent("eval_sample_weight", (LIGHTGBM,), ("sample_weight_val",)),
    Equivalent("sample_weight_eval_set", (XGBOOST,), ("sample_weight_val",)),
    Equivalent("eval_init_score", (LIGHTGBM,), ("init_score_val",)),
    Equivalent("base_margin", (XGBOOST,), ("init_score",)),
    Equivalent("base_margin_eval_set", (XGBOOST,), ("init_score_val",)),
    Equivalent("eval_metric", (LIGHTGBM, XGBOOST), note="eval_metric is a parameter of the learner"),
    Equivalent("early_stopping_rounds", (LIGHTGBM, XGBOOST), note="n_iter_no_change is a parameter of the learner"),
    Equivalent("callbacks", (LIGHTGBM, XGBOOST), note="set_callbacks takes callbacks of scikit-learn"),
    Equivalent("monitor", (SCIKIT,), note="only boosting has it; set_callbacks takes callbacks of scikit-learn"),
    Equivalent("verbose", (LIGHTGBM, XGBOOST), note="progress is a parameter of the learner"),
    Equivalent("categorical_feature", (LIGHTGBM,), note="categorical_features is a parameter of the learner"),
    Equivalent("cat_features", ("CatBoost",), note="categorical_features is a parameter of the learner"),
    Equivalent("feature_name", (LIGHTGBM,), note="the names are those of the columns of X"),
    Equivalent("init_model", (LIGHTGBM,), note="warm_start=True goes on with the model of the last fit"),
    Equivalent("xgb_model", (XGBOOST,), note="warm_start=True goes on with the model of the last fit"),
    Equivalent("check_input", (SCIKIT,), note="the table is always checked"),
    Equivalent("class_weight", ("Keras",), note="class_weight is a parameter of the learner"),
)

EQUIVALENTS = {
    "__init__": {entry.name: entry for entry in _OF_LEARNERS},
    "fit": {entry.name: entry for entry in _OF_FIT},
}

# Values of other libraries with the meaning of one of ours, by parameter.
SAME_VALUES = {
    "criterion": {"entropy": "information_gain", "log_loss": "information_gain", "friedman_mse": "squared_error"}
}

# Values that scikit-learn is about to remove, by parameter.
DEPRECATED_VALUES = {"criterion": ("friedman_mse",)}


def our_value(parameter: str, value: Any) -> Any:
    """The value that has this meaning here.

    >>> our_value("criterion", "entropy"), our_value("criterion", "gini")
    ('information_gain', 'gini')
    """
    return SAME_VALUES[parameter].get(value, value) if isinstance(value, str) else value


class NamesExplained:
    """A learner whose errors for unknown keywords name the keyword to use instead."""

    def __init_subclass__(cls, **options: Any) -> None:
        for name in EQUIVALENTS:
            if name in vars(cls):
                setattr(cls, name, _explaining(vars(cls)[name]))
        super().__init_subclass__(**options)


def _explaining(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which checks its arguments before the interpreter does."""
    known = list(inspect.signature(method).parameters.values())[1:]
    if any(one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL, one.POSITIONAL_ONLY) for one in known):
        return method
    names = {one.name for one in known}
    n_by_place = sum(one.kind is one.POSITIONAL_OR_KEYWORD for one in known)

    @wraps(method)
    def checked(self: Any, *args: Any, **keywords: Any) -> Any:
        strange = next((name for name in keywords if name not in names), None)
        if strange is not None:
            raise TypeError(explain_name(type(self).__name__, method.__name__, strange, list(names)))
        for name, values in DEPRECATED_VALUES.items():
            if isinstance(keywords.get(name), str) and keywords[name] in values:
                warn_of_value(name, keywords[name])
        if len(args) > n_by_place:
            raise TypeError(explain_place(type(self).__name__, method.__name__, args[n_by_place], list(names)))
        return method(self, *args, **keywords)

    return checked


def warn_of_value(name: str, value: str) -> None:
    """Warn of a value that scikit-learn has deprecated."""
    warn_user(
        f"{name}={value!r} is deprecated, as in scikit-learn 1.9; {our_value(name, value)!r} is the same",
        FutureWarning,
    )


def explain_name(learner: str, method: str, name: str, known: list[str]) -> str:
    """The sentence for a keyword that a method does not have.

    >>> explain_name("GradientBoostingRegressor", "__init__", "num_leaves", ["max_leaf_nodes"])
    "GradientBoostingRegressor has no parameter 'num_leaves'; what LightGBM calls num_leaves is max_leaf_nodes here"
    >>> explain_name("BaggingRegressor", "__init__", "n_estimator", ["n_estimators", "n_jobs"])
    "BaggingRegressor has no parameter 'n_estimator'; did you mean 'n_estimators'?"
    """
    what = f"{learner} has no parameter" if method == "__init__" else f"{learner}.{method} has no argument"
    found = EQUIVALENTS[method].get(name)
    ours = next((one for one in found.ours if one in known), None) if found else None
    if found and ours:
        verb = "call" if len(found.libraries) > 1 else "calls"
        also = f" ({found.note})" if found.note else ""
        return f"{what} {name!r}; what {_listed(found)} {verb} {name} is {ours} here{also}"
    if found and not found.ours:
        return f"{what} {name!r} as {_listed(found)}; {found.note}"
    if found:
        return f"{what} {name!r}, and none that means what it does in {_listed(found)}"
    alike = get_close_matches(name, known, 1)
    advice = f"did you mean {alike[0]!r}?" if alike else f"help({learner}) lists what it takes"
    return f"{what} {name!r}; {advice}"


def explain_place(learner: str, method: str, value: Any, known: list[str]) -> str:
    """The sentence for an argument without a name where names are needed.

    >>> explain_place("GradientBoostingRegressor", "__init__", 100, ["n_estimators"])
    'GradientBoostingRegressor takes its parameters by name; write n_estimators=100 for the number of trees'
    """
    if method != "__init__":
        return f"{learner}.{method} takes all but the first arguments by name, but one is {_short(value)}"
    if isinstance(value, int) and not isinstance(value, bool) and "n_estimators" in known:
        return f"{learner} takes its parameters by name; write n_estimators={value} for the number of trees"
    return f"{learner} takes its parameters by name; write name={_short(value)}"


def _listed(found: Equivalent) -> str:
    return " and ".join(found.libraries)


def _short(value: Any) -> str:
    shown = repr(value).replace("\n", " ")
    return shown if len(shown) <= 40 else f"{shown[:37]}..."
