"""What all tree learners share: reading the training table, fitting, and following rows down the tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treewright.estimators.base import ClassAnswers, NumberAnswers, TableLearner, Training
from treewright.estimators.missing_values import fill_gaps, refuse_gaps
from treewright.estimators.parameters import (
    CLASS_CRITERIA,
    NUMBER_CRITERIA,
    Plan,
    check_plan,
    check_smoothing,
    check_unseen,
)
from treewright.estimators.weights import altered_priors, read_costs
from treewright.table.column import Column
from treewright.tree import Target, Tree

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class TreeLearner(TableLearner):
    """Shared base of the tree learners; a learner adds its parameters and what its recipe fixes."""

    # Choices that the learner's name stands for, by parameter; all others are the user's.
    _recipe: ClassVar[Mapping[str, Any]] = {}
    _criteria: ClassVar[tuple[str, ...]]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : table
            A pandas, polars or arrow frame, an array, a dict of columns, or a list of rows.
        y : one value per row
            The target: a list, an array, or a column of a frame.
        sample_weight : one number per row, a single number or None
            A row of weight 2 counts as two rows; one of weight 0 is left out.
        """
        plan = self._plan()
        check_unseen(getattr(self, "unseen", "as_missing"))
        self._check_pruning()
        seed = self._seed(plan)
        table = self._read_table(X)
        training = self._read_training(table, y, sample_weight)
        self.__dict__.pop("alpha_", None)
        tree = self._fit_tree(training, plan, seed)
        self._keep_names(table)
        self._keep_classes(training.classes)
        self.n_features_in_ = len(table.columns)
        self.tree_ = tree
        return self

    def _columns(self) -> tuple[Column, ...]:
        return self.tree_.columns

    def _target(self) -> Target:
        return self.tree_.target

    def _unseen(self) -> str:
        return self.tree_.unseen

    def apply(self, X: Any) -> np.ndarray:
        """The index of the leaf that each row reaches."""
        from treewright.tree.grow import leaves_of

        check_is_fitted(self)
        return leaves_of(self.tree_, self._read_rows(X))

    def _answer_rows(self, values: np.ndarray) -> np.ndarray:
        from treewright.tree.grow import answers_of

        return answers_of(self.tree_, values)

    def decision_path(self, X: Any) -> csr_matrix:
        """The nodes that each row passes: a sparse matrix of rows by nodes, 1 where a row has been."""
        from scipy.sparse import csr_matrix

        leaves = self.apply(X)
        ends = np.cumsum(self.tree_.depth_of[leaves] + 1)
        nodes = np.empty(ends[-1], dtype=np.int64)
        node, place = leaves, ends - 1
        while len(node):
            nodes[place] = node
            node = self.tree_.parent[node]
            node, place = node[node >= 0], place[node >= 0] - 1
        shape = (len(leaves), self.tree_.n_nodes)
        return csr_matrix((np.ones(len(nodes), dtype=np.int64), nodes, np.append(0, ends)), shape=shape)

    def rules(self, answer: Any = None) -> Any:
        """The tree as rules, one per leaf; given a class, the one sentence that tells when it is answered.

        Parameters
        ----------
        answer : one of `classes_` or None
            None gives a `RuleList`, which prints one rule per line; a class gives a `str`.
        """
        from treewright.show.rules import rules

        check_is_fitted(self)
        return rules(self.tree_, answer)

    def get_depth(self) -> int:
        """The number of tests on the longest way from the root to a leaf."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each column in all that the splits gained; zeros if nothing was gained."""
        check_is_fitted(self)
        tree = self.tree_
        inner = np.flatnonzero(tree.n_children)
        gained = tree.gain[inner] * tree.weight[inner]
        by_column = np.bincount(tree.column[inner], gained, minlength=len(tree.columns))
        total = by_column.sum()
        return by_column / total if total > 0.0 else by_column

    def _grow(self, training: Training, plan: Plan, seed: int) -> Tree:
        """The full tree of these rows."""
        from treewright.tree.grow import grow

        is_classes = training.target.is_classes
        if plan.strategy.refuses:
            refuse_gaps(training.columns, training.values)
        training, filling = fill_gaps(training, plan)
        tree = grow(
            training.columns,
            training.values,
            training.target,
            recipe=plan.recipe(*training.values.shape),
            weights=training.weights,
            n_classes=len(training.target.classes),
            grid=plan.grid,
            seed=seed,
            n_jobs=plan.n_jobs,
            labels=training.answers if is_classes else None,
            numbers=None if is_classes else training.answers,
            oblivious=plan.oblivious,
            unseen=check_unseen(getattr(self, "unseen", "as_missing")),
            rows_of_file=len(training.table),
        )
        return tree if filling is None else tree.replace(filling=filling)

    def _check_pruning(self) -> None:
        if getattr(self, "prune", None) is not None:
            from treewright.estimators.single.pruning import check_pruning

            check_pruning(self)

    def _fit_tree(self, training: Training, plan: Plan, seed: int) -> Tree:
        """The tree of these rows, pruned if the learner is asked to."""
        if getattr(self, "prune", None) is None:
            return self._grow(training, plan, seed)
        from treewright.estimators.single.pruning import grow_to_size

        return grow_to_size(self, training, plan, seed)

    def _plan(self) -> Plan:
        """The choices of the recipe and of the user, checked."""
        return check_plan({**self._recipe, **self.get_params(deep=False)}, self._criteria, single=True)

    def _grow_from(self, training: Training) -> Tree:
        """A tree like the one that `fit` would grow from these rows; the learner itself stays as it is."""
        plan = self._plan()
        return self._grow(training, plan, self._seed(plan))

    def _seed(self, plan: Plan) -> int:
        """Drawn only where it matters, so that a fit without chance leaves NumPy's global state alone."""
        generator = check_random_state(getattr(self, "random_state", None))
        return int(generator.randint(np.iinfo(np.int64).max, dtype=np.int64)) if plan.is_random else 0


class TreeClassifier(ClassAnswers, TreeLearner):
    """A tree that answers with a class."""

    _criteria: ClassVar[tuple[str, ...]] = CLASS_CRITERIA

    def _choose(self, shares: np.ndarray) -> np.ndarray:
        return self.tree_.labels_for(shares)

    def _grow(self, training: Training, plan: Plan, seed: int) -> Tree:
        """The full tree of these rows.

        Classes whose errors cost more weigh more while it grows (altered priors, Breiman et al. 1984); the finished
        tree tells their true weights, and chooses answers by their cost.
        """
        smoothing = check_smoothing(getattr(self, "smoothing", None))
        costs = read_costs(getattr(self, "costs", None), list(training.target.classes))
        if costs is None:
            tree = super()._grow(training, plan, seed)
            return tree if smoothing is None else tree.replace(smoothing=smoothing)
        priors = altered_priors(costs, training.answers, training.weights)
        tree = super()._grow(replace(training, weights=training.weights * priors[training.answers]), plan, seed)
        return reweighed(tree, 1.0 / priors).replace(costs=costs, smoothing=smoothing)


class TreeRegressor(NumberAnswers, TreeLearner):
    """A tree that answers with a number."""

    _criteria: ClassVar[tuple[str, ...]] = NUMBER_CRITERIA

    def _fit_tree(self, training: Training, plan: Plan, seed: int) -> Tree:
        if plan.criterion == "poisson":
            _check_counts(training)
        return super()._fit_tree(training, plan, seed)


def reweighed(tree: Tree, by_class: np.ndarray) -> Tree:
    """The tree with rows of each class weighing so many times as much; impurities and gains stay as they are."""
    distribution = tree.distribution * by_class
    return tree.replace(distribution=distribution, weight=distribution.sum(axis=1))


def _check_counts(training: Training) -> None:
    negative = np.count_nonzero(training.answers < 0.0)
    if negative:
        raise ValueError(
            f"criterion is 'poisson', but {negative} of {len(training.answers)} values of y are negative; "
            "use 'squared_error', or give counts of 0 or more"
        )
    if not training.answers.any():
        raise ValueError("criterion is 'poisson', but all values of y are 0; some must be above 0")
