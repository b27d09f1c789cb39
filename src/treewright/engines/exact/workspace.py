"""The structs of the kernels: the ranked table, the recipe, the current node, and the workspace.

All of it is in one struct that kernels pass by reference. With tuples of arrays the same kernels took two minutes to
compile. Numba is imported only when the compiled form is requested.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple

import numpy as np

from treewright.encoding.keys import MAX_NARROW_CODES
from treewright.engines.exact.layout import LINE, MOST_FIGURES, MOST_SURROGATES
from treewright.engines.missing_values import EVERY_VALUE, SURROGATE
from treewright.engines.structs import Field, fields_of, make_fields, record_of, write_take
from treewright.runtime.intrinsics import build_struct
from treewright.runtime.kernels import inline, kernel, replaced
from treewright.runtime.signatures import (
    BYTES,
    FLAG,
    FLAGS,
    REAL,
    REALS,
    WHOLE,
    WHOLES,
    WORDS,
    Bytes,
    Flags,
    Indices,
    Reals,
    Reals2,
    Wholes,
)


class Recipe(NamedTuple):
    """The choices that define one algorithm of the growth loop."""

    criterion: int
    categorical: int
    class_boundaries: bool
    random_cuts: bool
    among: int
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_split_gain: float
    max_leaf_nodes: int
    max_features: int
    quinlan: bool
    strategy: int = 0  # for missing values
    max_p_value: float = 1.0
    own: Any = 0  # a criterion of the user: the function, and for compiled kernels its address
    min_weight_leaf: float = 0.0  # of each side of a split
    own_tie: float = 0.0  # the tolerance of its results
    adjusts: bool = False  # whether splits of many categories are rated without the gain that they have by chance
    min_total_gain: float = 0.0  # the least gain of a split times the weight of its node
    n_outputs: int = 1  # the number of targets


class Data(NamedTuple):
    """The data from which a tree grows: the table as ranks (see `RankedTable`), weights and target.

    `rows` and `keys` are reordered while a tree grows.
    """

    codes: Annotated[np.ndarray, ("uint8", 2)]  # [column, row]
    keys: Annotated[np.ndarray, ("uint64", 2)]  # [column, position]
    is_wide: Flags  # [column]: in keys rather than in codes
    is_number: Flags  # [column]: split by threshold rather than by category
    n_codes: Wholes  # [column]
    values: Reals  # [all codes of all columns]
    value_start: Wholes  # [column]
    fixed_cuts: Flags  # [column]: thresholds are the values themselves, not midpoints
    has_missing: Flags  # [column]
    in_average: Flags  # [column]: C4.5 counts the column's gain in the average
    adjusted: Flags  # [column]: splits are rated without the gain that its categories have by chance
    monotonic_cst: Wholes  # [column]: 1 (rising), -1 (falling) or 0
    rows: Indices  # [position]
    shares: Reals  # [position]: the fraction of the row that is here; empty if rows are never divided
    full_weights: Reals  # [row]: of the whole row
    weights: Reals  # [row]: of its fraction in the current node
    weighted: bool
    classes: Annotated[np.ndarray, ("uint16", 1)]  # [row], empty for a numeric target
    n_classes: int  # 0 for a numeric target
    numbers: Reals  # [row], empty for classes
    targets: Reals2  # [row, entry]: several targets, see `several`; empty for one
    target_line: int  # the line of `keys` that sorts rows by target, the first of several targets; -1 if none
    side: Bytes  # [row]: the branch of each row by a binary split
    branch: Indices  # [row]: the branch by a multiway split or a surrogate; empty if there is none


TABLE = fields_of(Data)
RECIPE = fields_of(Recipe)

# The current node of the search.
NODE = [
    Field("lo", WHOLE),
    Field("hi", WHOLE),
    Field("all_classes", WHOLE),  # `n_classes` is the number of those that the search visits at the node
    Field("gathers", FLAG),  # whether these are numbered anew, because few of many classes occur
    Field("weight", REAL),
    Field("impurity", REAL),  # from which the children's weighted impurity is subtracted
    Field("spread", REAL),  # impurity times weight; the same but for poisson
    Field("mean", REAL),  # of a numeric target (the median for absolute_error)
    Field("min_leaf_weight", REAL),  # C4.5: least weight on each side of a threshold
    Field("n_missing", WHOLE),  # missing values in the current column
    Field("drawn_cut", WHOLE),  # a cut drawn at random, -1 if all are rated
    Field("drawn", REAL),  # its threshold, NaN if that follows from the cut
    Field("n_rated", WHOLE),  # admissible cuts of the column so far
    Field("base", REAL),  # from which the impurity of the column's splits is subtracted
    Field("portion", REAL),  # fraction of a missing row that counts for each value that occurs, else 0
    Field("missing_impurity", REAL),  # absolute error: of the missing rows, if they are excluded
    Field("bits", REAL),  # split information of the current split, times the weight
    Field("chance", REAL),  # the gain that the column's categories have by chance, if its splits are adjusted
    Field("direction", WHOLE),  # the monotonic constraint of the current column
    Field("least", REAL),  # bounds of the predictions below the node, if there are constraints
    Field("most", REAL),
]

# The workspace of a tree, allocated once for it.
SCRATCH = [
    # Per code: class weights, or weight and sum.
    Field("counts", ("float64", 2), lambda n: (MAX_NARROW_CODES + 1, max(n.width, 2)), zeroed=True),
    Field("code_rows", WHOLES, lambda n: MAX_NARROW_CODES + 1, zeroed=True),  # per code: number of rows
    Field("code_starts", WHOLES, lambda n: MAX_NARROW_CODES + 1),  # per code: its start in a sorted column
    Field("present", WHOLES, lambda n: MAX_NARROW_CODES + 1),  # the codes that occur
    Field("n_present", WHOLE),
    Field("marks", WORDS, lambda n: 4, zeroed=True),  # bit set of the codes that occur
    Field("sorted_keys", WORDS, lambda n: n.rows),  # one narrow column of a node, sorted
    Field("spare", WORDS, lambda n: n.rows),
    Field("labels", ("uint16", 1), lambda n: n.positions if n.classes else 0),  # class of each position of the node
    # Target of each position, relative to the node's mean.
    Field("centred", REALS, lambda n: 0 if n.classes else n.positions),
    Field("totals", REALS, lambda n: n.width),  # class weights of the node
    Field("class_place", WHOLES, lambda n: n.classes),  # the number of each class among those that occur at the node
    Field("columns", WHOLES, lambda n: n.columns),  # the columns, shuffled for drawing some of them
    Field("column_gain", REALS, lambda n: n.columns),  # C4.5: gain and gain ratio of each column's best split
    Field("column_ratio", REALS, lambda n: n.columns),
    Field("state", WORDS, lambda n: 1),  # of the random draws
    Field("left", REALS, lambda n: n.width),  # class weights on the left side of the current split
    Field("known", REALS, lambda n: n.width),  # of all rows with a value
    Field("missing", REALS, lambda n: n.width),  # of the missing rows
    Field("first", REALS, lambda n: n.width),  # the two sides with the missing rows
    Field("second", REALS, lambda n: n.width),
    Field("group", REALS, lambda n: n.width),  # of the rows with one value
    Field("centre", REALS, lambda n: n.targets),  # what sums of several targets are relative to
    # Surrogates: the largest weight of a branch from each position of a sorted column on.
    Field("ahead_weight", REALS, lambda n: n.rows if n.surrogates else 0),
    Field("ahead_way", WHOLES, lambda n: n.rows if n.surrogates else 0),  # and its branch
    # Weight and mean of the node and its squared deviations, for a criterion of the user.
    Field("moments", REALS, lambda n: 3),
    # Of the sides to measure: class weights one after the other, or lines of weights, means and variances.
    Field("figures", REALS, lambda n: n.sides * n.figures if n.classes else 3 * LINE),
    Field("impurities", REALS, lambda n: n.sides),  # weighted impurities, or the results of a criterion of the user
    Field("side_weights", REALS, lambda n: n.sides),
    # Of each cut: the codes before and after it, and if missing values join a side also the rows before it.
    Field("cut_codes", WHOLES, lambda n: n.sides),
    # A copy of the figures for the user's function, then 1 if its result was not finite, and the figures of that.
    Field("own_workspace", REALS, lambda n: 2 * n.figures + 1, zeroed=True),
]

# The values of a column that occur at a node, one group each, in the order of their codes. For a numeric target the
# missing rows form one more group after the last.
GROUPS = [
    Field("group_code", WHOLES, lambda n: n.groups),
    Field("group_rows", WHOLES, lambda n: n.groups),
    Field("group_weight", REALS, lambda n: n.groups),
    Field("group_counts", ("float64", 2), lambda n: (n.groups, n.width)),  # class weights
    Field("chosen", FLAGS, lambda n: n.groups),  # on the first side of the current split
    Field("group_start", WHOLES, lambda n: n.moments),  # numeric targets: the group's first row in the sorted column
    Field("group_mean", REALS, lambda n: n.moments),
    Field("group_squares", REALS, lambda n: n.moments),
    Field("along", REALS, lambda n: n.groups),  # keys by which the groups are ordered
    Field("order", WHOLES, lambda n: n.groups),
    # Weighted impurity of the groups up to each position, without and with missing rows.
    Field("before", ("float64", 2), lambda n: (2, n.moments)),
    Field("after", ("float64", 2), lambda n: (2, n.moments)),  # and from each position on
    Field("weight_before", REALS, lambda n: n.moments),
    # Monotonic constraints: the predictions of the same sides.
    Field("value_before", ("float64", 2), lambda n: (2, n.moments if n.constrained else 0)),
    Field("value_after", ("float64", 2), lambda n: (2, n.moments if n.constrained else 0)),
]

# Absolute error: the node's rows in the order of their target, and Fenwick trees over that order.
MEDIANS = [
    Field("ranked_row", WORDS, lambda n: n.ranked),
    Field("ranked_number", REALS, lambda n: n.ranked),  # the target there, relative to the node's median
    # Position of each row of the table in that order.
    Field("rank", ("uint32", 1), lambda n: n.table if n.sorts_target else 0),
    Field("fenwick_weights", REALS, lambda n: n.ranked + 1),
    Field("fenwick_sums", REALS, lambda n: n.ranked + 1),
    # The same for the missing rows, if they count for all values.
    Field("missing_weights", REALS, lambda n: n.ranked + 1 if n.every_value else 0),
    Field("missing_sums", REALS, lambda n: n.ranked + 1 if n.every_value else 0),
    # Per row of the table: its side or group.
    Field("row_side", WHOLES, lambda n: n.table if n.sorts_target else 0),
    # Per side: its weight, the weight visited so far, its median.
    Field("side_total", REALS, lambda n: max(n.moments, 3)),
    Field("side_below", REALS, lambda n: max(n.moments, 3)),
    Field("side_median", REALS, lambda n: max(n.moments, 3)),
]

# The best splits found so far at a node, in descending order of score: one, or the k best if one of them is drawn.
SLOTS = [
    Field("filled", WHOLE),
    Field("slot_score", REALS, lambda n: n.among),
    Field("slot_gain", REALS, lambda n: n.among),  # parent's weighted impurity minus the children's
    Field("slot_bits", REALS, lambda n: n.among),  # split information times the weight
    Field("slot_column", WHOLES, lambda n: n.among),
    Field("slot_kind", WHOLES, lambda n: n.among),
    Field("slot_cut", WHOLES, lambda n: n.among),  # threshold splits: last code on the first side
    Field("slot_after", WHOLES, lambda n: n.among),  # and the first code on the second side
    # A threshold drawn at random, NaN if it follows from cut and after.
    Field("slot_drawn", REALS, lambda n: n.among),
    Field("slot_missing", WHOLES, lambda n: n.among),  # branch of rows with a missing value
    Field("slot_balance", WHOLES, lambda n: n.among),  # rows on the smaller side
    # Subset splits: bit set of the codes on the first side, `n_words` each.
    Field("slot_words", WORDS, lambda n: n.among * -(-n.branches // 64)),
    Field("n_words", WHOLE),
]

# The growing tree, with one entry per node and spare capacity.
TREE = [
    Field("n_nodes", WHOLE),
    Field("n_set_words", WHOLE),
    Field("node_kind", BYTES, lambda n: 0),
    Field("node_column", ("int32", 1), lambda n: 0),
    Field("node_threshold", REALS, lambda n: 0),
    Field("node_cut", WHOLES, lambda n: 0),
    Field("node_first_child", ("int32", 1), lambda n: 0),
    Field("node_n_children", ("int32", 1), lambda n: 0),
    Field("node_missing", ("int32", 1), lambda n: 0),  # branch of missing values, -1 if they go down every branch
    Field("node_share", REALS, lambda n: 0),  # the fraction of the parent's missing rows that goes here
    Field("node_set_start", WHOLES, lambda n: 0),
    Field("node_surrogate_column", ("int32", 2), lambda n: (0, n.surrogates)),  # -1 after the last one
    Field("node_surrogate_cut", ("int64", 2), lambda n: (0, n.surrogates)),
    Field("node_surrogate_after", ("int64", 2), lambda n: (0, n.surrogates)),
    # The branches of values up to the cut, and above it.
    Field("node_surrogate_low", ("int64", 2), lambda n: (0, n.surrogates)),
    Field("node_surrogate_high", ("int64", 2), lambda n: (0, n.surrogates)),
    # The start of the map from categories to branches.
    Field("node_surrogate_map", ("int64", 2), lambda n: (0, n.surrogates)),
    Field("node_surrogate_agreement", ("float64", 2), lambda n: (0, n.surrogates)),
    Field("node_majority", REALS, lambda n: 0),  # the share of the heaviest branch among the rows with a value
    Field("node_weight", REALS, lambda n: 0),
    Field("node_mean", REALS, lambda n: 0),
    Field("node_spread", REALS, lambda n: 0),
    Field("node_gain", REALS, lambda n: 0),
    Field("node_distribution", ("float64", 2), lambda n: (0, n.width)),
    # Monotonic constraints: the least and the largest number that the node may predict.
    Field("node_bounds", ("float64", 2), lambda n: (0, 2 if n.constrained else 0)),
    Field("root_bounds", REALS, lambda n: 2 if n.constrained else 0),
    Field("node_depth", ("int32", 1), lambda n: 0),
    Field("node_lo", WHOLES, lambda n: 0),
    Field("node_hi", WHOLES, lambda n: 0),
    Field("node_seed", WORDS, lambda n: 0),
    Field("set_words", WORDS, lambda n: 0),  # category sets of all subset splits
    Field("sizes", WHOLES, lambda n: n.branches),  # rows of each branch of the current node
    Field("starts", WHOLES, lambda n: n.branches),  # and the start of each branch
    Field("branch_weight", REALS, lambda n: n.branches),  # known weight of each branch
    Field("branch_share", REALS, lambda n: n.branches),  # the fraction of a missing row that each branch gets
    Field("branch_values", WHOLES, lambda n: n.branches),  # number of values of the column that go down each branch
    Field("spare_shares", REALS, lambda n: n.rows if n.divides else 0),
    # Per row of the table: its fraction in the current node.
    Field("row_share", REALS, lambda n: n.table if n.divides else 0),
    Field("n_positions", WHOLE),  # end of the used range of the row list
    Field("n_missing_here", WHOLE),  # missing values of the current node in the column of its split
    Field("in_place", FLAG),  # whether the branches of a node may use its space and that behind it
    Field("heap", WHOLES, lambda n: 0),  # nodes waiting to be divided
    Field("n_waiting", WHOLE),
    Field("deferred", WHOLES, lambda n: 0),  # nodes that are grown later
    Field("n_deferred", WHOLE),
    Field("n_leaves", WHOLE),
    # The state of the loop: the counts above, when it stops for larger arrays.
    Field("progress", WHOLES, lambda n: 9, zeroed=True),
]

FIELDS = TABLE + RECIPE + NODE + SCRATCH + GROUPS + MEDIANS + SLOTS + TREE
ARRAYS = [field for field in FIELDS if field.is_array]

# Entries of `progress`.
N_NODES, N_SET_WORDS, N_WAITING, N_DEFERRED, N_LEAVES, N_POSITIONS = range(6)
NODES_WANTED, WORDS_WANTED, ROWS_WANTED = range(6, 9)


@replaced(lambda: build_struct("Work", [field[:2] for field in FIELDS]))
def new_work() -> Any:
    """Return an empty struct with the fields of FIELDS."""
    return SimpleNamespace()


# The arrays as Python passes them. It allocates all of them, because an allocation in a kernel takes seconds to
# compile.
Arrays = record_of("Arrays", FIELDS, __name__)


take_arrays = write_take("take_arrays", ARRAYS)
take_recipe = write_take("take_recipe", RECIPE)


@inline
def open_work(arrays, recipe, weighted, n_classes, target_line):
    """Create the struct for growing a tree from its current state."""
    work = new_work()
    take_arrays(work, arrays)
    take_recipe(work, recipe)
    work.weighted = weighted
    work.n_classes = work.all_classes = n_classes
    work.gathers = False
    work.target_line = target_line
    work.filled = 0
    work.n_words = len(work.slot_words) // recipe.among
    work.n_nodes = work.progress[N_NODES]
    work.n_set_words = work.progress[N_SET_WORDS]
    work.n_waiting = work.progress[N_WAITING]
    work.n_deferred = work.progress[N_DEFERRED]
    work.n_leaves = work.progress[N_LEAVES]
    work.n_positions = work.progress[N_POSITIONS]
    return work


@kernel
def close_work(work, nodes_wanted, words_wanted, rows_wanted):
    """Store the state of the tree, and the additional capacity that it needs to continue (0 if it is finished)."""
    work.progress[N_NODES] = work.n_nodes
    work.progress[N_SET_WORDS] = work.n_set_words
    work.progress[N_WAITING] = work.n_waiting
    work.progress[N_DEFERRED] = work.n_deferred
    work.progress[N_LEAVES] = work.n_leaves
    work.progress[N_POSITIONS] = work.n_positions
    work.progress[NODES_WANTED] = nodes_wanted
    work.progress[WORDS_WANTED] = words_wanted
    work.progress[ROWS_WANTED] = rows_wanted


class Sizes(NamedTuple):
    """The numbers from which the sizes of arrays follow."""

    rows: int  # of the tree
    positions: int  # of the row list
    table: int  # rows of the table
    columns: int
    classes: int  # 0 for a numeric target
    branches: int  # most branches of a split, and two more
    groups: int  # most values of a column at a node
    figures: int  # number of figures that describe a side of a split
    sides: int  # number of sides that are measured at a time
    among: int  # number of best splits that are kept
    surrogates: int  # of each node
    divides: bool  # whether rows may be in several nodes
    every_value: bool  # whether missing rows count for every value
    sorts_target: bool
    targets: int  # entries of several targets
    constrained: bool  # whether a column has a monotonic constraint

    @property
    def width(self) -> int:
        """Return the number of values of a distribution."""
        return max(self.classes, self.targets, 1)

    @property
    def moments(self) -> int:
        """Return the number of groups whose moments are kept."""
        return 0 if self.classes else self.groups

    @property
    def ranked(self) -> int:
        """Return the number of rows in the order of their target."""
        return self.rows if self.sorts_target else 0


def sizes_for(data: Data, recipe: Recipe, n_rows: int) -> Sizes:
    """Return the sizes for growing a tree of `n_rows` rows."""
    n_branches = int(data.n_codes[~data.is_number].max(initial=2)) + 2
    n_figures = data.n_classes or 3
    return Sizes(
        rows=n_rows,
        positions=len(data.rows),
        table=len(data.weights),
        columns=len(data.n_codes),
        classes=data.n_classes,
        branches=n_branches,
        groups=n_rows + 2 if data.n_classes == 0 else min(n_branches, max(n_rows, 1)) + 1,
        figures=n_figures,
        sides=min(LINE, 4 * max(MOST_FIGURES // (4 * n_figures), 1)),
        among=recipe.among,
        surrogates=MOST_SURROGATES if recipe.strategy == SURROGATE else 0,
        divides=len(data.shares) > 0,
        every_value=recipe.strategy == EVERY_VALUE,
        sorts_target=data.target_line >= 0,
        targets=data.targets.shape[1],
        constrained=bool(data.monotonic_cst.any()),
    )


def make_arrays(data: Data, recipe: Recipe, n_rows: int) -> Any:
    """Allocate the arrays for growing a tree of `n_rows` rows."""
    sizes = sizes_for(data, recipe, n_rows)
    made = make_fields(FIELDS, sizes)
    given = data._asdict() | made
    arrays = Arrays(**{field.name: given[field.name] for field in ARRAYS})
    return with_more_capacity(arrays, min(2 * n_rows, 1024) + sizes.branches, sizes.branches + 66)


def with_more_capacity(arrays: Any, n_nodes: int, n_words: int, n_rows: int = 0) -> Any:
    """Return the arrays with capacity for that many more nodes, words of category sets and fractional instances.

    Arrays that are too small are about doubled.
    """
    larger = {}
    if n_rows > 0:
        length = len(arrays.rows) + max(n_rows, len(arrays.rows) // 2)
        for name in ("rows", "shares", "labels", "centred"):
            if len(getattr(arrays, name)):
                larger[name] = _enlarged(getattr(arrays, name), length)
        larger["keys"] = np.empty((len(arrays.keys), length), np.uint64)
        larger["keys"][:, : arrays.keys.shape[1]] = arrays.keys
    if arrays.progress[N_NODES] + n_nodes > len(arrays.node_kind):
        for name in arrays._fields:
            if name.startswith("node_") or name in ("heap", "deferred"):
                array = getattr(arrays, name)
                larger[name] = _enlarged(array, len(array) + max(n_nodes, len(array)))
    if arrays.progress[N_SET_WORDS] + n_words > len(arrays.set_words):
        length = len(arrays.set_words)
        larger["set_words"] = _enlarged(arrays.set_words, length + max(n_words, length // 2))
    return arrays._replace(**larger)


def _enlarged(array: np.ndarray, length: int) -> np.ndarray:
    larger = np.empty((length, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


@kernel
def add_node(work, lo, hi, depth, seed):
    """Add a new leaf for these rows; the arrays must have capacity for it."""
    node = work.n_nodes
    work.n_nodes = node + 1
    work.node_kind[node] = 0
    work.node_column[node] = -1
    work.node_threshold[node] = np.nan
    work.node_cut[node] = 0
    work.node_first_child[node] = 0
    work.node_n_children[node] = 0
    work.node_missing[node] = 0
    work.node_share[node] = 0.0
    work.node_majority[node] = 0.0
    work.node_set_start[node] = -1
    work.node_weight[node] = 0.0
    work.node_mean[node] = 0.0
    work.node_spread[node] = 0.0
    work.node_gain[node] = 0.0
    for k in range(work.node_distribution.shape[1]):
        work.node_distribution[node, k] = 0.0
    for k in range(work.node_surrogate_column.shape[1]):
        work.node_surrogate_column[node, k] = -1
        work.node_surrogate_map[node, k] = -1
    work.node_depth[node] = depth
    work.node_lo[node] = lo
    work.node_hi[node] = hi
    work.node_seed[node] = seed
    return node
