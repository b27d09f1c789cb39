"""What all tree learners share: reading the training table, fitting, and following rows down the tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treewright.learners.gaps import fill_gaps, refuse_gaps, refuse_unseen
from treewright.learners.parameters import (
    CLASS_CRITERIA,
    NUMBER_CRITERIA,
    Plan,
    check_plan,
    check_smoothing,
    check_unseen,
)
from treewright.learners.weights import altered_priors, read_class_weights, read_costs, read_weights
from treewright.table import Table, declared_classes, read_classes, read_frame, read_like, read_numbers, target_name
from treewright.table.column import Column
from treewright.tree import Target, Tree

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Class labels are two bytes each in the growth room.
MOST_CLASSES = 1 << 16


@dataclass(frozen=True, eq=False)
class Training:
    """What a tree grows from: the rows that weigh something, and the target as labels or as numbers."""

    columns: tuple[Column, ...]
    values: np.ndarray
    target: Target
    classes: np.ndarray  # in the user's own type, empty for numbers
    answers: np.ndarray  # class labels (uint16), or numbers (float64)
    weights: np.ndarray
    whole: np.ndarray | None = None  # values of the table that the rows come from, if some were set aside

    @property
    def table(self) -> np.ndarray:
        """Values of all rows, those set aside included."""
        return self.values if self.whole is None else self.whole

    def rows(self, taken: np.ndarray) -> Training:
        """Some of the rows, with the same columns and classes."""
        return replace(
            self,
            values=np.asfortranarray(self.values[taken]),
            answers=self.answers[taken],
            weights=self.weights[taken],
            whole=self.table,
        )


class TreeLearner(BaseEstimator):
    """Shared base of the tree learners; a learner adds its parameters and what its recipe fixes."""

    # Choices that the learner's name stands for, by parameter; all others are the user's.
    _recipe: ClassVar[Mapping[str, Any]] = {}
    _criteria: ClassVar[tuple[str, ...]]
    # A learner with one test per tree misses the score that scikit-learn's checks expect of any learner.
    _poor_score: ClassVar[bool] = False

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

    def apply(self, X: Any) -> np.ndarray:
        """The index of the leaf that each row reaches."""
        from treewright.tree.grow import leaves_of

        check_is_fitted(self)
        return leaves_of(self.tree_, self._read_rows(X))

    def _answer(self, X: Any) -> np.ndarray:
        """What the tree answers for each row: class shares, or one number."""
        from treewright.tree.grow import answers_of

        check_is_fitted(self)
        return answers_of(self.tree_, self._read_rows(X))

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _read_table(self, X: Any) -> Table:
        declared = ("categorical_features", "numeric_features")
        return read_frame(X, **{name: getattr(self, name, None) for name in declared})

    def _read_rows(self, X: Any) -> np.ndarray:
        """A new table in the terms of the one that the tree grew from."""
        values = read_like(
            X,
            self.tree_.columns,
            named=hasattr(self, "feature_names_in_"),
            learner=type(self).__name__,
            numeric_features=getattr(self, "numeric_features", None),
        )
        if self.tree_.unseen == "error":
            refuse_unseen(self.tree_.columns, values, X)
        if getattr(self, "missing", None) == "error":
            refuse_gaps(self.tree_.columns, values)
        return values

    def _read_training(self, table: Table, y: Any, sample_weight: Any) -> Training:
        answers, classes, declared = self._read_target(y)
        target = Target(target_name(y), declared)
        n_rows = len(table.values)
        if len(answers) != n_rows:
            raise ValueError(f"X has {n_rows} rows, but y has {len(answers)} values; give one target value per row")
        weights = self._weigh_classes(target, answers, read_weights(sample_weight, n_rows))
        with np.errstate(over="ignore"):
            total = weights.sum()
        if not np.isfinite(total):
            raise ValueError("the weights add up to infinity; scale them down")
        kept = weights > 0.0
        if not kept.any():
            raise ValueError("every row has a weight of zero, so there is nothing to learn from; give some row more")
        training = Training(table.columns, table.values, target, classes, answers, weights)
        return training if kept.all() else _leave_out(training, kept)

    def _read_target(self, y: Any) -> tuple[np.ndarray, np.ndarray, tuple[Any, ...]]:
        """The answers to learn; if they are labels, the classes that occur in ascending order, and all by label."""
        raise NotImplementedError

    def _weigh_classes(self, target: Target, answers: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return weights

    def _keep_classes(self, classes: np.ndarray) -> None:
        """Classifiers keep their classes in the user's own type."""

    def _grow(self, training: Training, plan: Plan, seed: int) -> Tree:
        """The full tree of these rows."""
        from treewright.tree.grow import grow

        is_classes = training.target.is_classes
        if plan.missing == "error":
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
            from treewright.learners.pruning import check_pruning

            check_pruning(self)

    def _fit_tree(self, training: Training, plan: Plan, seed: int) -> Tree:
        """The tree of these rows, pruned if the learner is asked to."""
        if getattr(self, "prune", None) is None:
            return self._grow(training, plan, seed)
        from treewright.learners.pruning import grow_to_size

        return grow_to_size(self, training, plan, seed)

    def _plan(self) -> Plan:
        """The choices of the recipe and of the user, checked."""
        return check_plan({**self._recipe, **self.get_params(deep=False)}, self._criteria)

    def _grow_from(self, training: Training) -> Tree:
        """A tree like the one that `fit` would grow from these rows; the learner itself stays as it is."""
        plan = self._plan()
        return self._grow(training, plan, self._seed(plan))

    def _seed(self, plan: Plan) -> int:
        """Drawn only where it matters, so that a fit without chance leaves NumPy's global state alone."""
        generator = check_random_state(getattr(self, "random_state", None))
        return int(generator.randint(np.iinfo(np.int64).max, dtype=np.int64)) if plan.is_random else 0

    def _keep_names(self, table: Table) -> None:
        if table.named:
            self.feature_names_in_ = np.array([column.name for column in table.columns], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_


class TreeClassifier(ClassifierMixin, TreeLearner):
    """A tree that answers with a class."""

    _criteria: ClassVar[tuple[str, ...]] = CLASS_CRITERIA

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row: the most likely one, or with `costs` the one with the least expected cost."""
        answers = self._answer(X)
        return self._named(self.tree_.labels_for(answers))

    def predict_proba(self, X: Any) -> np.ndarray:
        """The share of each class, in the order of `classes_`, in the leaf that a row reaches."""
        return self._answer(X)[:, self._labels_of_classes()]

    def _labels_of_classes(self) -> np.ndarray:
        """The tree's label of each of `classes_`: the tree keeps the order in which a target declares its classes."""
        label_of = {name: label for label, name in enumerate(self.tree_.target.classes)}
        return np.array([label_of[name] for name in self.classes_.tolist()], dtype=np.intp)

    def _named(self, labels: np.ndarray) -> np.ndarray:
        """Classes in the user's own type, given the tree's labels."""
        place = np.zeros(len(self.tree_.target.classes), dtype=np.intp)
        place[self._labels_of_classes()] = np.arange(len(self.classes_))
        return self.classes_[place[labels]]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The natural logarithm of `predict_proba`; minus infinity for a class that is not in the leaf."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted right."""
        codes, classes = read_classes(y)
        return float(super().score(X, classes[codes], sample_weight))

    def _read_target(self, y: Any) -> tuple[np.ndarray, np.ndarray, tuple[Any, ...]]:
        labels, classes = read_classes(y)
        if len(classes) > MOST_CLASSES:
            raise ValueError(
                f"y has {len(classes)} classes, and a tree can tell {MOST_CLASSES} apart; "
                "use a regressor if they are quantities"
            )
        found = classes.tolist()
        declared = declared_classes(y) or ()
        # The tree keeps the declared order, which breaks ties, and classes that only were declared.
        label_of = {name: label for label, name in enumerate(declared)}
        if len(declared) > MOST_CLASSES or any(name not in label_of for name in found):
            return labels.astype(np.uint16), classes, tuple(found)
        return np.array([label_of[name] for name in found], np.uint16)[labels], classes, declared

    def _keep_classes(self, classes: np.ndarray) -> None:
        self.classes_ = classes
        self.n_classes_ = len(classes)

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

    def _weigh_classes(self, target: Target, answers: np.ndarray, weights: np.ndarray) -> np.ndarray:
        class_weight = getattr(self, "class_weight", None)
        if class_weight is None:
            return weights
        per_class = read_class_weights(class_weight, list(target.classes), answers, weights)
        return weights * per_class[answers]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._poor_score
        return tags


class TreeRegressor(RegressorMixin, TreeLearner):
    """A tree that answers with a number."""

    _criteria: ClassVar[tuple[str, ...]] = NUMBER_CRITERIA

    def predict(self, X: Any) -> np.ndarray:
        """The number that each row's leaf stands for."""
        return self._answer(X)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination: 1 is perfect, 0 as good as the mean."""
        return float(super().score(X, read_numbers(y), sample_weight))

    def _read_target(self, y: Any) -> tuple[np.ndarray, np.ndarray, tuple[Any, ...]]:
        # Growth needs memory of its own: an array that is read-only would be compiled for once more.
        return np.require(read_numbers(y), requirements=["C", "W"]), np.empty(0), ()

    def _fit_tree(self, training: Training, plan: Plan, seed: int) -> Tree:
        if plan.criterion == "poisson":
            _check_counts(training)
        return super()._fit_tree(training, plan, seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._poor_score
        return tags


def reweighed(tree: Tree, by_class: np.ndarray) -> Tree:
    """The tree with rows of each class weighing so many times as much; impurities and gains stay as they are."""
    distribution = tree.distribution * by_class
    return tree.replace(distribution=distribution, weight=distribution.sum(axis=1))


def _leave_out(training: Training, kept: np.ndarray) -> Training:
    """The rows that weigh something, and without categories that only the others had."""
    values = training.values[kept]
    columns = list(training.columns)
    for place, column in enumerate(columns):
        if column.is_categorical:
            columns[place], values[:, place] = _forget_categories(column, training.values[:, place], kept)
    return replace(
        training,
        columns=tuple(columns),
        values=values,
        answers=training.answers[kept],
        weights=training.weights[kept],
    )


def _forget_categories(column: Column, indices: np.ndarray, kept: np.ndarray) -> tuple[Column, np.ndarray]:
    """Drop the categories that only left-out rows have; one that no row has was declared and stays."""
    n_categories = len(column.categories)
    counts = [
        np.bincount(indices[rows & ~np.isnan(indices)].astype(np.intp), minlength=n_categories)
        for rows in (kept, ~kept)
    ]
    stays = (counts[0] > 0) | (counts[1] == 0)
    categories = tuple(name for name, is_left in zip(column.categories, stays, strict=True) if is_left)
    renamed = np.append(np.cumsum(stays) - 1.0, np.nan)
    places = np.where(np.isnan(indices[kept]), n_categories, indices[kept]).astype(np.intp)
    return replace(column, categories=categories), renamed[places]


def _check_counts(training: Training) -> None:
    negative = np.count_nonzero(training.answers < 0.0)
    if negative:
        raise ValueError(
            f"criterion is 'poisson', but {negative} of {len(training.answers)} values of y are negative; "
            "use 'squared_error', or give counts of 0 or more"
        )
    if not training.answers.any():
        raise ValueError("criterion is 'poisson', but all values of y are 0; some must be above 0")
