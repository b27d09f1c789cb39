"""Growing the trees of a forest from a training table: in bytes where the recipe allows it, else tree by tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewright.encoding.bins import BinnedTable, can_be_binned
from treewright.encoding.chunks import is_here
from treewright.engines.chance import has_many_categories
from treewright.engines.criteria import CODES, CRITERIA
from treewright.engines.forest.engine import (
    Bagging,
    Goal,
    bag_of_tree,
    balancing_factors,
    grow_forest,
    pack_bags,
    seed_of_tree,
)
from treewright.engines.forest.workspace import ForestRecipe
from treewright.engines.packed.trees import GrownTrees
from treewright.estimators.base import Training
from treewright.estimators.binning import bin_values
from treewright.estimators.missing_values import refuse_missing
from treewright.estimators.parameters import Plan
from treewright.estimators.several import labels_of_outputs
from treewright.estimators.single.specification import TreeSpec
from treewright.runtime.forms import choose_compiled_form
from treewright.runtime.progress import Tick, follow, interruptible
from treewright.runtime.threads import run_interruptibly, usable_threads
from treewright.tree.forest import Forest
from treewright.tree.tree_list import TreeList

# "auto" tries shapes on at most so many rows, with so many trees each; the usual shape gives way to one that is better
# by so many standard errors.
MOST_ROWS_TO_TRY = 20_000
TRIAL_TREES = 50
# Trees of large tables that may split on all columns take long, and small trials overrate them.
MOST_ROWS_FOR_ALL_COLUMNS = 10_000
# After the first trees of a trial, only the usual shape and so many that seem better go on.
FIRST_TRIAL_TREES, MOST_IN_SECOND_TRIAL = 15, 2
LEAST_CERTAINTY = 2.0
# Trees that cannot become trees of the forest have other draws.
TRIAL_STREAM = 0x1B873593


@dataclass(frozen=True)
class ForestPlan:
    """How to grow the trees of a forest, every choice checked."""

    tree: Plan
    bagging: Bagging
    random_cuts: bool
    monotonic_cst: np.ndarray  # per column 1, -1 or 0
    balanced: bool  # weigh the classes of each bag alike
    max_bins: int
    unseen: str
    seed: int
    n_jobs: int | None


@dataclass(frozen=True)
class Shape:
    """What "auto" chooses: how many columns to draw for each node, and the least size of a leaf."""

    max_features: Any
    min_samples_leaf: Any

    def of(self, plan: ForestPlan) -> ForestPlan:
        """The plan with this choice."""
        tree = replace(plan.tree, max_features=self.max_features, min_samples_leaf=self.min_samples_leaf)
        return replace(plan, tree=tree)


def bin_training(training: Training, plan: ForestPlan) -> BinnedTable | None:
    """The training table in bytes, for all that a fit does with it; None if its trees cannot be grown on bins."""
    if plan.tree.strategy.refuses:
        refuse_missing(training.columns, training.values)
    if not fits_on_bins(training, plan):
        return None
    n_threads = usable_threads(plan.n_jobs)
    return bin_values(choose_compiled_form(), training.columns, training.values, plan.max_bins, n_threads)


def choose_shape(
    training: Training,
    table: BinnedTable | None,
    plan: ForestPlan,
    shapes: Sequence[Shape],
    n_trees: int,
    progress: bool | None,
) -> tuple[Shape, Forest | None]:
    """The shape whose trees err least on rows that they have not seen, by a small forest each.

    Another than the first is only taken if it errs less on so many more rows that chance is unlikely to be why. Of a
    large table a sample is used. Forests smaller than the trials and trees that cannot be grown in bytes take the
    first. Returned are the shape and the first trees of the forest, if trees of the trial are such.
    """
    is_small = len(training.y) <= MOST_ROWS_FOR_ALL_COLUMNS
    if not is_small:
        shapes = [shape for shape in shapes if shape.max_features != len(training.columns)] or shapes[:1]
    if len(shapes) == 1 or n_trees < TRIAL_TREES or table is None:
        return shapes[0], None
    trial = ShapeTrial(*sample_rows(training, table, plan.seed), plan, n_parts=1 if is_small else 2)
    with follow("trying shapes of trees", None, progress) as tick:
        found = trial.advantages(shapes, 0, FIRST_TRIAL_TREES, tick)
        promising = [place for place in np.argsort(-np.array(found))[:MOST_IN_SECOND_TRIAL] if found[place] > 0.0]
        if not promising:
            return shapes[0], trial.first_trees(shapes[0])
        candidates = [shapes[0], *(shapes[place] for place in promising)]
        found = trial.advantages(candidates, FIRST_TRIAL_TREES, TRIAL_TREES, tick)
    best = int(np.argmax(found))
    chosen = candidates[best] if found[best] > LEAST_CERTAINTY else shapes[0]
    return chosen, trial.first_trees(chosen)


class ShapeTrial:
    """Small forests of several shapes, each in one part or two, compared on rows that their trees have not seen."""

    def __init__(self, training: Training, table: BinnedTable, plan: ForestPlan, n_parts: int) -> None:
        self.training, self.table, self.n_parts = training, table, n_parts
        n_rows = len(training.y)
        bagging = Bagging(n_rows)
        self.grows_first_trees = n_parts == 1 and plan.bagging == bagging
        seed = plan.seed if self.grows_first_trees else plan.seed ^ TRIAL_STREAM
        self.plan = replace(plan, bagging=bagging, seed=seed)
        self.bags = bags_of(self.plan, TRIAL_TREES, n_rows)
        self.grown: dict[tuple[Shape, int], Forest] = {}

    def advantages(self, candidates: Sequence[Shape], first: int, last: int, tick: Tick) -> list[float]:
        """How surely each candidate errs less than the first one, after growing its trees from `first` to `last`."""
        losses = []
        for shape in candidates:
            parts = [self._grow(shape, part, first, last, tick) for part in range(self.n_parts)]
            losses.append(losses_of(parts, self.training))
        return [certainty_of_gain(losses[0] - loss) for loss in losses]

    def first_trees(self, shape: Shape) -> Forest | None:
        """The trees of a shape, if they are those with which the forest begins."""
        return self.grown[shape, 0] if self.grows_first_trees else None

    def _grow(self, shape: Shape, part: int, first: int, last: int, tick: Tick) -> np.ndarray:
        """Grow the trees of a part, and return the out-of-bag predictions of all its trees up to `last`."""
        numbers = range(first + (part - first) % self.n_parts, last, self.n_parts)
        forest = grow_on_bins(self.training, self.table, shape.of(self.plan), numbers, tick)
        earlier = self.grown.get((shape, part))
        forest = forest if earlier is None else earlier.with_more(forest)
        self.grown[shape, part] = forest
        bags = np.ascontiguousarray(self.bags[part : last : self.n_parts])
        return forest.predictions(self.table.codes_by_row, bags=bags, n_jobs=self.plan.n_jobs)


def sample_rows(training: Training, table: BinnedTable, seed: int) -> tuple[Training, BinnedTable]:
    """The rows to try shapes on, in order: all, or a random sample of a large table."""
    n_rows = len(training.y)
    codes: Any = table.codes
    if n_rows <= MOST_ROWS_TO_TRY:
        return training, table if is_here(codes) else BinnedTable(table.bins, codes.gather())
    random = np.random.default_rng([seed & 0xFFFFFFFF, TRIAL_STREAM])
    rows = np.sort(random.choice(n_rows, MOST_ROWS_TO_TRY, replace=False))
    taken = np.ascontiguousarray(codes[:, rows]) if is_here(codes) else codes.take(rows).gather()
    return training.rows(rows), BinnedTable(table.bins, taken)


def losses_of(predictions: list[np.ndarray], training: Training) -> np.ndarray:
    """The loss of each row times its weight, by a forest, or by two independent forests; 0 without a prediction.

    With one forest it is 1 for a wrong class, or the squared error. With two it is the product of their errors, which
    is on average the squared error of an infinite forest: the error of a small forest alone favours trees that are good
    but much alike. The first is better for small tables, whose probabilities are uncertain.
    """
    if len(predictions) == 1 and training.target.is_classes:
        losses = (predictions[0].argmax(axis=1) != training.y).astype(np.float64)
    else:
        losses = (_errors(predictions[0], training) * _errors(predictions[-1], training)).sum(axis=1)
    has_all = ~np.isnan([one[:, 0] for one in predictions]).any(axis=0)
    return np.where(has_all, losses, 0.0) * training.weights


def _errors(predictions: np.ndarray, training: Training) -> np.ndarray:
    """The errors of class probabilities, or of numbers in units of the largest: only how they compare matters."""
    if not training.target.is_classes:
        return (predictions - training.y[:, None]) / (np.abs(training.y).max() or 1.0)
    errors = predictions.copy()
    errors[np.arange(len(errors)), training.y] -= 1.0
    return errors


def certainty_of_gain(gains: np.ndarray) -> float:
    """How many standard errors the mean gain per row lies above 0."""
    spread = gains.std()
    return float(gains.mean() / spread * np.sqrt(len(gains))) if spread > 0.0 else 0.0


def fits_on_bins(training: Training, plan: ForestPlan) -> bool:
    """Can these trees be grown on a table in bytes?"""
    tree = plan.tree
    return (
        not training.target.outputs
        and isinstance(tree.criterion, str)
        and CRITERIA[tree.criterion].on_bins
        and tree.categorical in ("subset", "best_subset")
        and tree.candidates == "midpoints"
        and tree.max_leaf_nodes is None
        and tree.max_p_value == 1.0
        and tree.min_impurity_decrease == 0.0
        and (CRITERIA[tree.criterion].monotonic or not plan.monotonic_cst.any())
        and tree.strategy.on_bins
        and plan.unseen in ("as_missing", "error")
        and can_be_binned(training.columns)
    )


def grow_trees(
    spec: TreeSpec,
    training: Training,
    table: BinnedTable | None,
    plan: ForestPlan,
    trees: Sequence[int],
    tick: Callable[[int], None],
) -> Forest | TreeList:
    """Grow the trees with these numbers; `spec` is that of a single tree where they cannot be grown on bins."""
    if table is not None:
        return grow_on_bins(training, table, plan, trees, tick)
    return grow_one_by_one(spec, training, plan, trees, tick)


def grow_on_bins(
    training: Training, table: BinnedTable, plan: ForestPlan, trees: Sequence[int], tick: Callable[[int], None]
) -> Forest:
    """Grow trees on the table in bytes."""
    n_rows, n_columns = training.values.shape
    n_classes = len(training.target.classes)
    criterion = plan.tree.criterion
    assert isinstance(criterion, str)
    counts_two = n_classes == 2 and criterion == "gini"
    goal = Goal(
        targets=training.y.astype(np.float64),
        weights=training.weights if (training.weights != 1.0).any() else np.empty(0),
        n_classes=n_classes,
        by_class=n_classes > 0 and not counts_two,
        balanced=plan.balanced,
    )
    recipe = plan.tree.recipe(n_rows, n_columns)
    forest_recipe = ForestRecipe(
        criterion=CODES[criterion],
        random_cuts=plan.random_cuts,
        max_depth=recipe.max_depth,
        min_samples_split=recipe.min_samples_split,
        min_samples_leaf=recipe.min_samples_leaf,
        min_weight_fraction_leaf=plan.tree.min_weight_fraction_leaf,
        # The gain of two classes is counted in the squares of one of them: half of gini's.
        min_split_gain=recipe.min_split_gain * (0.5 if counts_two else 1.0),
        max_features=recipe.max_features,
    )
    pays = recipe.adjusts and not plan.random_cuts
    adjusted = has_many_categories(training.columns, training.values) if pays else np.zeros(n_columns, dtype=bool)
    work = ForestWork(goal, forest_recipe, plan, adjusted)
    codes: Any = table.codes
    if is_here(codes):
        grown = work.grow(table, trees, tick)
    else:
        grown = codes.grow_trees(table.bins, work.alone().grow, trees, tick)
    return Forest.of(training.columns, training.target, criterion, table.bins, grown)


@dataclass(frozen=True, eq=False)
class ForestWork:
    """What is known about trees on bins besides their table, to grow some of them in any process."""

    goal: Goal
    recipe: ForestRecipe
    plan: ForestPlan
    adjusted: np.ndarray

    def grow(self, table: BinnedTable, trees: Sequence[int], tick: Callable[[int], None]) -> list[GrownTrees]:
        return grow_forest(
            choose_compiled_form(),
            table,
            self.goal,
            self.recipe,
            self.plan.bagging,
            adjusted=self.adjusted,
            monotonic_cst=self.plan.monotonic_cst,
            trees=trees,
            seed=self.plan.seed,
            n_threads=min(usable_threads(self.plan.n_jobs), max(len(trees), 1)),
            tick=tick,
        )

    def alone(self) -> ForestWork:
        """The same work for one thread."""
        return replace(self, plan=replace(self.plan, n_jobs=1))


def grow_one_by_one(
    spec: TreeSpec, training: Training, plan: ForestPlan, trees: Sequence[int], tick: Callable[[int], None]
) -> TreeList:
    """Grow trees of any recipe, each by a thread of its own from the rows of its bag."""
    run = choose_compiled_form()
    n_rows = len(training.values)
    single = replace(plan.tree, n_jobs=1)

    def grow_one(tree: int) -> Any:
        counts = bag_of_tree(run, plan.seed, tree, plan.bagging, n_rows)
        bag = replace(training, weights=weigh_bag(training, counts, plan.balanced)).rows(np.flatnonzero(counts))
        grown = replace(spec, plan=single, seed=int(seed_of_tree(plan.seed, tree) >> np.uint64(1))).grow(bag)
        tick(1)
        return grown

    n_threads = min(usable_threads(plan.n_jobs), max(len(trees), 1))
    # A single tree of a large table takes seconds and does not look up, so Ctrl-C does not wait for it.
    grown = interruptible(lambda: run_interruptibly(grow_one, trees, n_threads, np.zeros(1, np.uint8)))
    return TreeList(tuple(grown))


def weigh_bag(training: Training, counts: np.ndarray, balanced: bool) -> np.ndarray:
    """What each row weighs in a bag; if `balanced`, all classes of the bag weigh the same."""
    weights = training.weights * counts
    if not balanced:
        return weights
    factors = [
        balancing_factors(labels, weights, n_classes)[labels]
        for labels, n_classes in labels_of_outputs(training.target, training.y)
    ]
    return weights * np.prod(factors, axis=0)


def bags_of(plan: ForestPlan, n_trees: int, n_rows: int) -> np.ndarray:
    """A line per tree with a bit for each row of its bag."""
    return pack_bags(choose_compiled_form(), plan.seed, plan.bagging, n_trees, n_rows)


__all__ = ["Bagging", "ForestPlan", "bags_of", "fits_on_bins", "grow_trees"]
