"""Gradient boosting as each library has it by default, with categories and missing values as that library wants them.

Each answers the rows of one part of a table after learning from another: numbers for a target of numbers; for classes
a share for each row and each class of the whole table, in the order of their names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from tables import BenchTable
from treewright import GradientBoostingClassifier, GradientBoostingRegressor

SEED = 0
# The tables are small: a second core is better spent on a second run.
THREADS = 1
# HistGradientBoosting refuses columns of more categories than this.
MOST_CATEGORIES = 255

Answer = Callable[[BenchTable, np.ndarray, np.ndarray], np.ndarray]


def answer_by_treewright(table: BenchTable, train: np.ndarray, test: np.ndarray, **options: Any) -> np.ndarray:
    """treewright, on the frame as it is; `options` tries other settings than the defaults."""
    learner = GradientBoostingRegressor if table.is_regression else GradientBoostingClassifier
    model = learner(**{"random_state": SEED, "n_jobs": THREADS} | options)
    model.fit(table.frame[train], table.target[train])
    if table.is_regression:
        return model.predict(table.frame[test])
    return spread(model.predict_proba(table.frame[test]), model.classes_, table)


def answer_by_lightgbm(table: BenchTable, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """LightGBM, on pandas categories."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    learner = LGBMRegressor if table.is_regression else LGBMClassifier
    model = learner(n_jobs=THREADS, random_state=SEED, verbose=-1)
    return predictions_of(model, table.categorical, table, train, test)


def answer_by_xgboost(table: BenchTable, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """XGBoost, on pandas categories; it refuses columns of missing values alone."""
    from xgboost import XGBClassifier, XGBRegressor

    learner = XGBRegressor if table.is_regression else XGBClassifier
    model = learner(n_jobs=THREADS, random_state=SEED, enable_categorical=True)
    return predictions_of(model, table.categorical.dropna(axis="columns", how="all"), table, train, test)


def answer_by_histgb(table: BenchTable, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """scikit-learn's HistGradientBoosting, on pandas categories; columns of too many categories as ordinal codes."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    learner = HistGradientBoostingRegressor if table.is_regression else HistGradientBoostingClassifier
    codes = {
        name: table.ordinal[:, place]
        for place, name in enumerate(table.categorical)
        if len(categories_of(table.categorical[name])) > MOST_CATEGORIES
    }
    model = learner(random_state=SEED, categorical_features="from_dtype")
    return predictions_of(model, table.categorical.assign(**codes), table, train, test)


def answer_by_ydf(table: BenchTable, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """YDF, on the frame as it is."""
    import ydf

    ydf.verbose(0)
    task = ydf.Task.REGRESSION if table.is_regression else ydf.Task.CLASSIFICATION
    learner = ydf.GradientBoostedTreesLearner(label="target", task=task, num_threads=THREADS)
    model = learner.train(table.pandas.iloc[train].assign(target=table.target[train]))
    answers = np.asarray(model.predict(table.pandas.iloc[test]))
    if table.is_regression:
        return answers
    shares = answers if answers.ndim == 2 else np.column_stack([1.0 - answers, answers])
    return spread(shares, np.array(model.label_classes()), table)


def answer_by_catboost(table: BenchTable, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """CatBoost, on text with a word for missing values, for it takes no others among categories."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    learner = CatBoostRegressor if table.is_regression else CatBoostClassifier
    texts = [name for name in table.categorical if len(categories_of(table.categorical[name]))]
    rows = table.pandas.assign(**{name: table.pandas[name].fillna("(missing)") for name in texts})
    model = learner(cat_features=texts, thread_count=THREADS, verbose=False, allow_writing_files=False)
    return predictions_of(model, rows, table, train, test)


CONTESTANTS: dict[str, Answer] = {
    "treewright": answer_by_treewright,
    "lightgbm": answer_by_lightgbm,
    "xgboost": answer_by_xgboost,
    "histgb": answer_by_histgb,
    "ydf": answer_by_ydf,
    "catboost": answer_by_catboost,
}


def categories_of(column: pd.Series) -> pd.Index:
    """The categories of a column; none if it is one of numbers."""
    return column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else pd.Index([])


def predictions_of(
    model: Any, rows: pd.DataFrame, table: BenchTable, train: np.ndarray, test: np.ndarray
) -> np.ndarray:
    """The answers of a model with scikit-learn's methods; classes are given to it as numbers, which all take."""
    if table.is_regression:
        return np.asarray(model.fit(rows.iloc[train], table.target[train]).predict(rows.iloc[test]))
    classes, codes = np.unique(table.target[train], return_inverse=True)
    shares = model.fit(rows.iloc[train], codes).predict_proba(rows.iloc[test])
    return spread(np.asarray(shares), classes, table)


def spread(shares: np.ndarray, classes: np.ndarray, table: BenchTable) -> np.ndarray:
    """Shares with a column for each class of the table; classes that were not learned have none."""
    every = np.unique(table.target)
    spread_out = np.zeros((len(shares), len(every)))
    spread_out[:, np.searchsorted(every, classes)] = shares
    return spread_out
