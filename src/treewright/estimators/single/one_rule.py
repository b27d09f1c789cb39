"""OneR: a rule on the one column that makes the fewest errors (Holte 1993)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from treewright.engines.missing_values import (
    STRATEGIES,
)
from treewright.estimators.base import Training
from treewright.estimators.missing_values import impute, refuse_missing
from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import check_min_bucket, is_text, store_parameters
from treewright.estimators.single.base import TreeClassifier
from treewright.estimators.single.one_rule_search import best_rule
from treewright.estimators.single.one_rule_tree import build_tree
from treewright.estimators.single.specification import TreeSpec
from treewright.tree import Tree


@documented("single", "oner", "classes")
class OneRClassifier(TreeClassifier):
    """OneR (Holte 1993): a rule on the one column that makes the fewest errors.

    The rule has one branch per category, or per interval of a number. It is often not much worse than a large tree, and
    a baseline that any other model should beat. It equals the rule of Weka's OneR:

    - The intervals of a number end halfway between two values; neighbours with the same prediction are merged.
    - The first of several classes with equal weight is predicted; the first of several columns with equal errors is
      chosen.
    - A branch without rows predicts the majority class; Weka predicts the first class there.

    Examples
    --------
    >>> from treewright import OneRClassifier, datasets, show
    >>> iris = datasets.load_iris()
    >>> show(OneRClassifier().fit(iris.X, iris.y))
    petal_width <= 0.8: setosa (50.0)
    petal_width > 0.8
    |   petal_width <= 1.75: versicolor (54.0/5.0)
    |   petal_width > 1.75: virginica (46.0/1.0)
    <BLANKLINE>
    Number of leaves: 3
    Size of the tree: 5
    """

    _poor_score = True

    def __init__(
        self,
        *,
        min_bucket: float = 6,
        missing: Any = "branch",
        unseen: str = "as_missing",
        class_weight: Any = None,
        categorical_features: Any = None,
        numeric_features: Any = None,
    ) -> None:
        store_parameters(self, locals())

    def _sorts_all_columns(self) -> bool:
        return is_text(self.missing, "surrogate")

    def _specification(self, seed: int | None = None) -> OneRuleSpec:
        spec = super()._specification(seed)
        of_tree = {field.name: getattr(spec, field.name) for field in fields(spec)}
        return OneRuleSpec(**of_tree, min_bucket=check_min_bucket(self.min_bucket))


@dataclass(frozen=True, eq=False)
class OneRuleSpec(TreeSpec):
    """The specification of a rule."""

    min_bucket: float

    def grow_unpriced(self, training: Training) -> Tree:
        plan = self.plan
        if plan.strategy.refuses:
            refuse_missing(training.columns, training.values)
        training, imputation = impute(training, plan)
        strategy = plan.strategy if imputation is None else STRATEGIES["error"]
        tree = build_tree(training, best_rule(training, self.min_bucket, strategy), self.unseen)
        return tree if imputation is None else tree.replace(imputation=imputation)
