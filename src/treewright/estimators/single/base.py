"""The base of the tree learners: fitting a tree, and sending rows down the tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from treewright.estimators.base import ClassPredictions, NumberPredictions, TableLearner
from treewright.estimators.parameters import (
    CLASS_CRITERIA,
    NUMBER_CRITERIA,
    check_plan,
    check_smoothing,
    check_unseen,
    columns_to_draw,
    is_auto,
    is_real,
    is_text,
    parameter_error,
)
from treewright.estimators.random_state import check_random, draw_seed
from treewright.estimators.single.specification import BY_IMPURITY, FittedTree, Pruning, TreeSpec
from treewright.table import Table
from treewright.table.column import Column
from treewright.table.sparse import SparseValues, in_full
from treewright.tree import Target, Tree

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class TreeLearner(TableLearner):
    """Shared base of the tree learners; a learner adds its parameters and its recipe."""

    # Choices that the recipe fixes, by parameter; all others are the user's.
    _recipe: ClassVar[Mapping[str, Any]] = {}
    _criteria: ClassVar[tuple[str, ...]]
    _spec: ClassVar[type[TreeSpec]] = TreeSpec

    # Parameters of the recipes; each recipe has some of them.
    criterion: str | Callable[..., float]
    categorical: str
    candidates: str | tuple[str, float]
    splitter: str | tuple[str, int]
    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float
    min_weight_fraction_leaf: float
    min_split_gain: float
    min_impurity_decrease: float
    max_p_value: float
    max_leaf_nodes: int | None
    max_features: int | float | str | None
    n_jobs: int | None

    # Parameters that a learner may leave out of its signature.
    prune: str | None = None
    ccp_alpha: float | str = "cv"
    validation_fraction: float = 1 / 3
    confidence: float = 0.25
    variant: str = "j48"
    subtree_raising: bool = True
    misclassification_costs: Any = None
    smoothing: Any = None
    monotonic_cst: Any = None
    random_state: Any = None

    ccp_alpha_: float
    feature_names_in_: np.ndarray
    n_features_in_: int
    tree_: Tree

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : table
            A pandas, polars or arrow frame, an array, a sparse matrix, a dict of columns, or a list of rows.
        y : one value per row
            The target: a list, an array, or a column of a frame. Several columns are several targets.
        sample_weight : one number per row, a single number or None
            A row of weight 2 counts as two rows; one of weight 0 is left out. Weights that sum to 1 or less are
            fractions of the table, and are scaled to a mean of 1.
        """
        spec = self._specification()
        table = self._read_table(X)
        training = self._read_training(table, y, sample_weight)
        spec.check(training)
        fitted = spec.fit(training)
        names = [column.name for column in table.columns] if table.named else None
        adopt(self, fitted, training.classes, names, len(table.columns))
        self.data_digest_ = training.digest
        return self

    def _read_table(self, X: Any) -> Table:
        table = super()._read_table(X)
        is_kept = isinstance(table.values, np.ndarray) or (
            isinstance(table.values, SparseValues) and not self._sorts_all_columns()
        )
        return table if is_kept else replace(table, values=in_full(table.values))

    def _sorts_all_columns(self) -> bool:
        """Whether growth needs all columns at once, each sorted, as surrogates of a level do."""
        return is_text(self.missing, "surrogate") and bool(self._recipe.get("oblivious", False))

    def _columns(self) -> tuple[Column, ...]:
        return self.tree_.columns

    def _target(self) -> Target:
        return self.tree_.target

    def _unseen(self) -> str:
        return self.tree_.unseen

    def apply(self, X: Any) -> np.ndarray:
        """The index of the leaf that each row reaches."""
        from treewright.tree.descent import leaves_of

        check_is_fitted(self)
        return leaves_of(self.tree_, self._read_rows(X))

    def _predict_rows(self, values: np.ndarray) -> np.ndarray:
        from treewright.tree.descent import predictions_of

        return predictions_of(self.tree_, values)

    def decision_path(self, X: Any) -> csr_matrix:
        """The nodes on the path of each row: a sparse matrix of rows by nodes, 1 where a row passes."""
        from treewright.tree.descent import paths_to

        leaves = self.apply(X)
        return paths_to(self.tree_, leaves)

    def rules(self, of_class: Any = None) -> Any:
        """The tree as rules, one per leaf; for a class, one sentence about when the tree predicts it.

        Parameters
        ----------
        of_class : one of `classes_` or None
            None gives a `RuleList`, which prints one rule per line; a class gives a `str`.
        """
        from treewright.show.rules import rules

        check_is_fitted(self)
        return rules(self.tree_, of_class)

    def plot(self, **options: Any) -> Any:
        """The picture of the tree; the options are those of `treewright.plot_tree`."""
        from treewright.show.picture import plot_tree

        return plot_tree(self, **options)

    def _repr_html_inner(self) -> str:
        """What notebooks show: the tree, or scikit-learn's diagram of the parameters before it is fitted."""
        return self.plot()._repr_html_() if hasattr(self, "tree_") else super()._repr_html_inner()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)
        return {**bundle, "text/html": self._repr_html_inner()} if "text/html" in bundle else bundle

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """The sequence of pruned trees, as scikit-learn computes it: `ccp_alphas` and the total `impurities`.

        It grows a tree without pruning. `treewright.cost_complexity_path` offers the errors in place of impurities.
        """
        from treewright.estimators.single.pruning import cost_complexity_path

        own = self.get_params(deep=False)
        unpruned = {name: value for name, value in (("prune", None), ("ccp_alpha", "cv")) if name in own}
        full = clone(self).set_params(**unpruned).fit(X, y, sample_weight)
        path = cost_complexity_path(full, risk="impurity")
        return Bunch(ccp_alphas=path.ccp_alphas, impurities=path.risks)

    def get_depth(self) -> int:
        """The number of splits on the longest path from the root to a leaf."""
        check_is_fitted(self)
        return self.tree_.depth

    @property
    def n_outputs_(self) -> int:
        """The number of targets."""
        return len(self.tree_.target.outputs) or 1

    @property
    def max_features_(self) -> int:
        """The number of columns that are drawn for each node."""
        return columns_to_draw(getattr(self, "max_features", None), self.n_features_in_)

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> np.ndarray:
        """The fraction of each column in the total gain of all splits; zeros if there is no gain."""
        from treewright.tree.tree_list import gains_of

        check_is_fitted(self)
        by_column = gains_of(self.tree_)
        total = by_column.sum()
        return by_column / total if total > 0.0 else by_column

    def _read_smoothing(self) -> tuple[str, float] | None:
        if not is_auto(self.smoothing):
            return check_smoothing(self.smoothing)
        # Costs are compared with the probabilities, so that smoothing would change the predicted classes.
        costs = self.misclassification_costs
        are_equal = costs is None or (isinstance(costs, Mapping) and all(cost == 1 for cost in costs.values()))
        return check_smoothing("laplace" if are_equal else None)

    def _specification(self, seed: int | None = None) -> TreeSpec:
        """The specification of the tree, every parameter checked; None draws the seed from `random_state`."""
        plan = check_plan({**self._recipe, **self.get_params(deep=False)}, self._criteria, single=True)
        unseen, smoothing = check_unseen(self.unseen), self._read_smoothing()
        pruning = self._pruning()
        if seed is None:
            # Drawn only where it matters, so that a fit without chance leaves NumPy's global state alone.
            check_random(self.random_state)
            seed = draw_seed(self.random_state) if plan.is_random else 0
        weighing = (self.class_weight, self.misclassification_costs)
        return self._spec(plan, seed, unseen, *weighing, smoothing, pruning, self.monotonic_cst)

    def _pruning(self) -> Pruning | None:
        if self.prune is None:
            return self._pruning_by_impurity()
        from treewright.estimators.single.pruned_growth import check_pruning

        pruning = Pruning(
            self.prune, self.ccp_alpha, self.validation_fraction, self.confidence, self.variant, self.subtree_raising
        )
        check_pruning(pruning, of_classes=is_classifier(self))
        return pruning

    def _pruning_by_impurity(self) -> Pruning | None:
        """A number as `ccp_alpha` alone is the cost of a leaf in impurity, as in scikit-learn."""
        if not is_real(self.ccp_alpha) or self.ccp_alpha == 0.0:
            return None
        if float(self.ccp_alpha) < 0.0:
            raise parameter_error("ccp_alpha", self.ccp_alpha, "a number of 0 or more, 'cv' or '1se'")
        rest = (self.validation_fraction, self.confidence, self.variant, self.subtree_raising)
        return Pruning(BY_IMPURITY, float(self.ccp_alpha), *rest)


def specification(learner: TreeLearner, seed: int | None = None) -> TreeSpec:
    """The specification of a learner's trees, every parameter checked; None draws the seed from `random_state`."""
    return learner._specification(seed)


def adopt(learner: TreeLearner, fitted: FittedTree, classes: Any, names: Sequence[str] | None, n_columns: int) -> Any:
    """Fit a learner by giving it a tree; `names` are those of the columns, if the table has names."""
    learner.__dict__.pop("ccp_alpha_", None)
    learner.__dict__.pop("feature_names_in_", None)
    if fitted.ccp_alpha is not None:
        learner.ccp_alpha_ = fitted.ccp_alpha
    if names is not None:
        learner.feature_names_in_ = np.array(names, dtype=object)
    learner._keep_classes(classes)
    learner.n_features_in_ = n_columns
    learner.tree_ = fitted.tree
    return learner


class TreeClassifier(ClassPredictions, TreeLearner):
    """A tree that predicts a class."""

    _criteria: ClassVar[tuple[str, ...]] = CLASS_CRITERIA

    def _choose(self, shares: np.ndarray) -> np.ndarray:
        return self.tree_.labels_for(shares)

    def _predict_labels(self, X: Any) -> np.ndarray:
        """The label of the leaf of each row, which needs no table of rows and classes."""
        from treewright.tree.descent import labels_of

        return labels_of(self.tree_, self._read_rows(X))


class TreeRegressor(NumberPredictions, TreeLearner):
    """A tree that predicts a number."""

    _criteria: ClassVar[tuple[str, ...]] = NUMBER_CRITERIA
