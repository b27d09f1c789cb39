"""`import_model`: models of other libraries as models of treewright."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from treewright.ship.imports.lightgbm import import_lightgbm
from treewright.ship.imports.scikit_learn import BOOSTING, FORESTS, TREES, import_scikit
from treewright.ship.imports.xgboost import import_xgboost
from treewright.ship.layout import ModelFileError


def import_model(source: Any, *, classes: Any = None) -> Any:
    """Convert a fitted model of scikit-learn, LightGBM or XGBoost to a model of treewright with the same predictions.

    The result is an ordinary tree, forest or boosted model: it can be shown, drawn, explained, saved and exported.
    A file is only read: no code of it and none of the other library is run, and damage is an error.

    Parameters
    ----------
    source : fitted model, path or bytes
        A tree, forest or HistGradientBoosting of scikit-learn; a booster of LightGBM or XGBoost, or their estimators in
        the style of scikit-learn; a text file of LightGBM, a JSON or UBJSON file of XGBoost.
    classes : list or None
        The names of the classes in ascending order. Files and boosters have only their numbers.

    Raises
    ------
    ModelFileError
        If a file is damaged, or no model file.
    ValueError
        If the model has something that treewright does not have; the message names it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from treewright import import_model
    >>> iris = load_iris(as_frame=True)
    >>> theirs = DecisionTreeClassifier(max_depth=1, random_state=0).fit(iris.data, iris.target_names[iris.target])
    >>> print(import_model(theirs).rules())
    petal width (cm) <= 0.8: setosa (50.0)
    petal width (cm) > 0.8: versicolor (100.0/50.0)
    """
    if isinstance(source, bytes | bytearray | str | os.PathLike):
        return _import_file(source, classes)
    name, library = type(source).__name__, type(source).__module__.split(".")[0]
    if library == "sklearn" and name in (*TREES, *FORESTS, *BOOSTING):
        _refuse_classes(classes)
        return import_scikit(source)
    if library == "lightgbm":
        return _import_lightgbm_object(source, classes)
    if library == "xgboost":
        return _import_xgboost_object(source, classes)
    raise TypeError(
        f"{library}'s {name} cannot be imported; give a tree, forest or HistGradientBoosting of scikit-learn, or a "
        "model of LightGBM or XGBoost"
    )


def _refuse_classes(classes: Any) -> None:
    if classes is not None:
        raise ValueError("classes are for files and boosters; this model has the names of its own")


def _import_file(source: Any, classes: Any) -> Any:
    data = bytes(source) if isinstance(source, bytes | bytearray) else Path(source).read_bytes()
    if data.startswith((b"tree\n", b"tree\r\n")):
        try:
            text = data.decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError:
            raise ModelFileError("the file has bytes that are no text; it is damaged") from None
        return import_lightgbm(text, classes)
    if data.startswith(b"{"):
        return import_xgboost(data, classes)
    raise ModelFileError(
        "the file is no model of LightGBM (text) or XGBoost (JSON, UBJSON); open a file of treewright with load"
    )


def _import_lightgbm_object(source: Any, classes: Any) -> Any:
    booster = getattr(source, "booster_", source)
    if hasattr(source, "classes_"):
        _refuse_classes(classes)
        classes = source.classes_
    if not hasattr(booster, "model_to_string"):
        raise TypeError(f"lightgbm's {type(source).__name__} is no fitted model; give a Booster or a fitted estimator")
    # The default of LightGBM: the rounds up to the best one, if a validation set has chosen it.
    return import_lightgbm(booster.model_to_string(), classes)


def _import_xgboost_object(source: Any, classes: Any) -> Any:
    booster, n_rounds = source, None
    if hasattr(source, "get_booster"):
        booster = source.get_booster()
        # Estimators predict with the rounds up to the best one, boosters with all.
        best = booster.attributes().get("best_iteration") if hasattr(booster, "attributes") else None
        n_rounds = None if best is None else int(best) + 1
    if hasattr(source, "classes_"):
        _refuse_classes(classes)
        classes = source.classes_
    if not hasattr(booster, "save_raw"):
        raise TypeError(f"xgboost's {type(source).__name__} is no fitted model; give a Booster or a fitted estimator")
    return import_xgboost(bytes(booster.save_raw(raw_format="json")), classes, n_rounds)
