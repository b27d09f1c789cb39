"""What travels through the kernels: the coded table, the recipe, the node being searched, and room to work in.

All of it stands in one struct that kernels hand on by reference. As tuples of arrays the same kernels took two
minutes to compile. Numba is imported only when the compiled form is asked for.
"""

from __future__ import annotations

from collections import namedtuple
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from treewright.encoding.keys import MAX_NARROW_CODES
from treewright.engines.exact.layout import LINE, MOST_FIGURES, MOST_SURROGATES
from treewright.engines.missing_values import EVERY_VALUE, SURROGATE
from treewright.runtime.jit import borrow, build_struct, kernel, part, replaced

# Types of fields: a name NumPy and Numba share, and the number of dimensions.
FLAG = ("bool", 0)
WHOLE = ("int64", 0)
REAL = ("float64", 0)
FLAGS = ("bool", 1)
BYTES = ("uint8", 1)
WHOLES = ("int64", 1)
REALS = ("float64", 1)
WORDS = ("uint64", 1)


class Recipe(NamedTuple):
    """The choices that make one algorithm out of the growth loop."""

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
    strategy: int = 0  # of missing values
    max_p_value: float = 1.0
    own: Any = 0  # a criterion of the user's: the function, and for compiled kernels its address
    min_weight_leaf: float = 0.0  # of each side of a split
    own_tie: float = 0.0  # what its answers may differ by although they mean the same


class Data(NamedTuple):
    """What a tree grows from: the table as ranks (see `RankedTable`), weights and target.

    `rows` and `keys` are reordered while a tree grows.
    """

    codes: np.ndarray  # uint8[column, row]
    keys: np.ndarray  # uint64[column, position]
    is_wide: np.ndarray  # bool[column]: in keys rather than in codes
    is_number: np.ndarray  # bool[column]: split by threshold rather than by category
    n_codes: np.ndarray  # int64[column]
    values: np.ndarray  # float64[all codes of all columns]
    value_start: np.ndarray  # int64[column]
    fixed_cuts: np.ndarray  # bool[column]: thresholds are the values themselves, not midpoints
    has_missing: np.ndarray  # bool[column]
    in_average: np.ndarray  # bool[column]: C4.5 counts the column's gain in the average
    rows: np.ndarray  # uint32[position]
    shares: np.ndarray  # float64[position]: the part of the row that is here; empty if rows are never divided
    full_weights: np.ndarray  # float64[row]: of the whole row
    weights: np.ndarray  # float64[row]: of the part of it in the node at hand
    weighted: bool
    classes: np.ndarray  # uint16[row], empty for a numeric target
    n_classes: int  # 0 for a numeric target
    numbers: np.ndarray  # float64[row], empty for classes
    target_line: int  # the line of `keys` that sorts rows by target, -1 if none
    side: np.ndarray  # uint8[row]: where a binary split sends each row
    branch: np.ndarray  # uint32[row]: where a multiway split, or a surrogate, does; empty if there is none


TABLE = [
    ("codes", ("uint8", 2)),
    ("keys", ("uint64", 2)),
    ("is_wide", FLAGS),
    ("is_number", FLAGS),
    ("n_codes", WHOLES),
    ("values", REALS),
    ("value_start", WHOLES),
    ("fixed_cuts", FLAGS),
    ("has_missing", FLAGS),
    ("in_average", FLAGS),
    ("rows", ("uint32", 1)),
    ("shares", REALS),
    ("full_weights", REALS),
    ("weights", REALS),
    ("weighted", FLAG),
    ("classes", ("uint16", 1)),
    ("n_classes", WHOLE),
    ("numbers", REALS),
    ("target_line", WHOLE),
    ("side", BYTES),
    ("branch", ("uint32", 1)),
]

RECIPE = [
    ("criterion", WHOLE),
    ("categorical", WHOLE),
    ("class_boundaries", FLAG),
    ("random_cuts", FLAG),
    ("among", WHOLE),
    ("max_depth", WHOLE),
    ("min_samples_split", WHOLE),
    ("min_samples_leaf", WHOLE),
    ("min_split_gain", REAL),
    ("max_leaf_nodes", WHOLE),
    ("max_features", WHOLE),
    ("quinlan", FLAG),
    ("strategy", WHOLE),
    ("max_p_value", REAL),
    ("own", WHOLE),
    ("min_weight_leaf", REAL),
    ("own_tie", REAL),
]

# The node being searched.
NODE = [
    ("lo", WHOLE),
    ("hi", WHOLE),
    ("weight", REAL),
    ("impurity", REAL),  # what the children's weighted impurity is taken from
    ("spread", REAL),  # impurity times weight; the same but for poisson
    ("mean", REAL),  # of a numeric target (the median for absolute_error)
    ("min_leaf_weight", REAL),  # C4.5: least weight on each side of a threshold
    ("n_missing", WHOLE),  # rows without a value in the column being searched
    ("drawn_cut", WHOLE),  # a cut drawn at random, -1 if all are to be rated
    ("drawn", REAL),  # its threshold, NaN if that follows from the cut
    ("n_rated", WHOLE),  # admissible cuts of the column so far
    ("base", REAL),  # what the gains of the column's splits are taken from
    ("portion", REAL),  # of a row without a value that stands for each value that occurs, else 0
    ("missing_impurity", REAL),  # absolute error: of the rows without a value, where they are left out
    ("bits", REAL),  # split information of the split being rated, times the weight
]

# Room to work in, made once per tree.
ROOM = [
    ("counts", ("float64", 2)),  # per code: class weights, or weight and sum
    ("code_rows", WHOLES),  # per code: number of rows
    ("code_starts", WHOLES),  # per code: its place in a sorted column
    ("present", WHOLES),  # the codes that occur
    ("n_present", WHOLE),
    ("marks", WORDS),  # bit set of the codes that occur
    ("sorted_keys", WORDS),  # one narrow column of a node, sorted
    ("spare", WORDS),
    ("labels", ("uint16", 1)),  # class of each position of the node
    ("centred", REALS),  # target of each position, taken from the node's mean
    ("totals", REALS),  # class weights of the node
    ("columns", WHOLES),  # the columns, shuffled for drawing some of them
    ("column_gain", REALS),  # C4.5: gain and gain ratio of each column's best split
    ("column_ratio", REALS),
    ("state", WORDS),  # of the random draws
    ("left", REALS),  # class weights on the left side of the split being rated
    ("known", REALS),  # of all rows with a value
    ("missing", REALS),  # of the others
    ("first", REALS),  # the two sides with the missing rows
    ("second", REALS),
    ("group", REALS),  # of the rows with one value
    ("ahead_weight", REALS),  # surrogates: the most weight of a branch from each position of a sorted column on
    ("ahead_way", WHOLES),  # and of which branch
    ("moments", REALS),  # weight and mean of the node and its squared deviations, for a criterion of the user's
    ("figures", REALS),  # of sides to be measured: class weights side by side, or lines of weights, means and variances
    ("impurities", REALS),  # weighted impurities, or what a criterion of the user's says
    ("side_weights", REALS),
    (
        "cut_codes",
        WHOLES,
    ),  # of each cut: the codes before and after it; if missing values take a side, then also the rows before it
    (
        "own_workspace",
        REALS,
    ),  # for its copy of the figures; then 1 if it gave no finite number, and the figures of that
]

# The values of a column that occur at a node, one group each, in the order of their codes. For a numeric target
# the rows without a value form one more group after the last.
GROUPS = [
    ("group_code", WHOLES),
    ("group_rows", WHOLES),
    ("group_weight", REALS),
    ("group_counts", ("float64", 2)),  # class weights
    ("chosen", FLAGS),  # on the first side of the split being rated
    ("group_start", WHOLES),  # numeric targets: the group's first row in the sorted column
    ("group_mean", REALS),
    ("group_squares", REALS),
    ("along", REALS),  # what the groups are ordered by
    ("order", WHOLES),
    ("before", ("float64", 2)),  # weighted impurity of the groups up to each position, without and with missing rows
    ("after", ("float64", 2)),  # and from each position on
    ("weight_before", REALS),
]

# Absolute error: the node's rows in the order of their target, and Fenwick trees over that order.
MEDIANS = [
    ("ranked_row", WORDS),
    ("ranked_number", REALS),  # the target there, taken from the node's median
    ("rank", ("uint32", 1)),  # position of each row of the table in that order
    ("fenwick_weights", REALS),
    ("fenwick_sums", REALS),
    ("missing_weights", REALS),  # the same of the rows without a value, where these stand for all values
    ("missing_sums", REALS),
    ("row_side", WHOLES),  # per row of the table: the side or group it is on
    ("side_total", REALS),  # per side: its weight, the weight passed so far, its median
    ("side_below", REALS),
    ("side_median", REALS),
]

# The best splits found so far at a node, in falling order of score: one, or the k best if one is to be drawn.
SLOTS = [
    ("filled", WHOLE),
    ("slot_score", REALS),
    ("slot_gain", REALS),  # parent's weighted impurity minus the children's
    ("slot_bits", REALS),  # split information times the weight
    ("slot_column", WHOLES),
    ("slot_kind", WHOLES),
    ("slot_cut", WHOLES),  # threshold splits: last code on the first side
    ("slot_after", WHOLES),  # and the first code on the second side
    ("slot_drawn", REALS),  # a threshold drawn at random, NaN where it follows from cut and after
    ("slot_missing", WHOLES),  # branch of rows with a missing value
    ("slot_balance", WHOLES),  # rows on the smaller side
    ("slot_words", WORDS),  # subset splits: bit set of the codes on the first side, `n_words` each
    ("n_words", WHOLE),
]

# The growing tree: one entry per node, with room for more.
TREE = [
    ("n_nodes", WHOLE),
    ("n_set_words", WHOLE),
    ("node_kind", BYTES),
    ("node_column", ("int32", 1)),
    ("node_threshold", REALS),
    ("node_cut", WHOLES),
    ("node_first_child", ("int32", 1)),
    ("node_n_children", ("int32", 1)),
    ("node_missing", ("int32", 1)),  # branch of rows without a value, -1 if they go down every branch
    ("node_share", REALS),  # the part of the parent's rows without a value that comes here
    ("node_set_start", WHOLES),
    ("node_surrogate_column", ("int32", 2)),  # -1 from where on there are no more
    ("node_surrogate_cut", ("int64", 2)),
    ("node_surrogate_after", ("int64", 2)),
    ("node_surrogate_low", ("int64", 2)),  # the branches of values up to the cut, and above it
    ("node_surrogate_high", ("int64", 2)),
    ("node_surrogate_map", ("int64", 2)),  # where the map of the categories to branches begins
    ("node_surrogate_agreement", ("float64", 2)),
    ("node_majority", REALS),  # of the rows with a value, the share in the heaviest branch
    ("node_weight", REALS),
    ("node_mean", REALS),
    ("node_spread", REALS),
    ("node_gain", REALS),
    ("node_distribution", ("float64", 2)),
    ("node_depth", ("int32", 1)),
    ("node_lo", WHOLES),
    ("node_hi", WHOLES),
    ("node_seed", WORDS),
    ("set_words", WORDS),  # category sets of all subset splits
    ("sizes", WHOLES),  # rows of each branch of the node being divided
    ("starts", WHOLES),  # and where each branch begins
    ("branch_weight", REALS),  # known weight of each branch
    ("branch_share", REALS),  # the part of a row without a value that each branch gets
    ("branch_values", WHOLES),  # values of the column that go down each branch
    ("spare_shares", REALS),
    ("row_share", REALS),  # per row of the table: the part of it in the node at hand
    ("n_positions", WHOLE),  # where the part of the row list that is in use ends
    ("n_missing_here", WHOLE),  # rows of the node being divided without a value in the column it asks for
    ("in_place", FLAG),  # the branches of a node may take its place and more behind it
    ("heap", WHOLES),  # nodes waiting to be divided
    ("n_waiting", WHOLE),
    ("deferred", WHOLES),  # nodes left for later
    ("n_deferred", WHOLE),
    ("n_leaves", WHOLE),
    ("progress", WHOLES),  # how far it has come: the counts above, when the loop stops for more room
]

FIELDS = TABLE + RECIPE + NODE + ROOM + GROUPS + MEDIANS + SLOTS + TREE
ARRAYS = {name: kind for name, kind in FIELDS if kind[1] > 0}

# Entries of `progress`.
N_NODES, N_SET_WORDS, N_WAITING, N_DEFERRED, N_LEAVES, N_POSITIONS = range(6)
NODES_WANTED, WORDS_WANTED, ROWS_WANTED = range(6, 9)


@replaced(lambda: build_struct("Work", FIELDS))
def new_work() -> Any:
    """An empty struct with the fields of FIELDS."""
    return SimpleNamespace()


# The arrays as they come in from Python. All are made there: allocating in a kernel takes seconds to compile.
Arrays = namedtuple("Arrays", list(ARRAYS))  # type: ignore[misc]


def _write_take_arrays() -> Any:
    """Write the function that copies every array into the struct, one line each."""
    lines = [f"    work.{name} = borrow(arrays.{name})" for name in ARRAYS]
    scope: dict[str, Any] = {"__name__": __name__, "borrow": borrow}
    exec("\n".join(["def take_arrays(work, arrays):", *lines]), scope)
    return part(scope["take_arrays"])


take_arrays = _write_take_arrays()


@kernel
def take_recipe(work, recipe):
    work.criterion = recipe.criterion
    work.categorical = recipe.categorical
    work.class_boundaries = recipe.class_boundaries
    work.random_cuts = recipe.random_cuts
    work.among = recipe.among
    work.max_depth = recipe.max_depth
    work.min_samples_split = recipe.min_samples_split
    work.min_samples_leaf = recipe.min_samples_leaf
    work.min_split_gain = recipe.min_split_gain
    work.max_leaf_nodes = recipe.max_leaf_nodes
    work.max_features = recipe.max_features
    work.quinlan = recipe.quinlan
    work.strategy = recipe.strategy
    work.max_p_value = recipe.max_p_value
    work.own = recipe.own
    work.own_tie = recipe.own_tie
    work.min_weight_leaf = recipe.min_weight_leaf


@part
def open_work(arrays, recipe, weighted, n_classes, target_line):
    """The struct for growing a tree, as far as it has come."""
    work = new_work()
    take_arrays(work, arrays)
    take_recipe(work, recipe)
    work.weighted = weighted
    work.n_classes = n_classes
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
    """Write down how far the tree has come, and the room it needs to go on (0 if it is finished)."""
    work.progress[N_NODES] = work.n_nodes
    work.progress[N_SET_WORDS] = work.n_set_words
    work.progress[N_WAITING] = work.n_waiting
    work.progress[N_DEFERRED] = work.n_deferred
    work.progress[N_LEAVES] = work.n_leaves
    work.progress[N_POSITIONS] = work.n_positions
    work.progress[NODES_WANTED] = nodes_wanted
    work.progress[WORDS_WANTED] = words_wanted
    work.progress[ROWS_WANTED] = rows_wanted


def make_arrays(data: Data, recipe: Recipe, n_rows: int) -> Any:
    """The arrays for growing a tree of `n_rows` rows. Pages that are never touched cost nothing."""
    categories = data.n_codes[~data.is_number]
    n_branches = int(categories.max(initial=2)) + 2
    width = max(data.n_classes, 1)
    n_groups = n_rows + 2 if data.n_classes == 0 else min(n_branches, max(n_rows, 1)) + 1
    n_moments = n_groups if data.n_classes == 0 else 0
    n_figures = data.n_classes or 3
    n_sides = min(LINE, 4 * max(MOST_FIGURES // (4 * n_figures), 1))
    n_ranked = n_rows if data.target_line >= 0 else 0
    n_table = len(data.weights) if data.target_line >= 0 else 0
    sizes: dict[str, Any] = dict.fromkeys(ARRAYS, n_branches)
    sizes |= dict.fromkeys(("counts",), (MAX_NARROW_CODES + 1, max(width, 2)))
    sizes |= dict.fromkeys(("code_rows", "code_starts", "present"), MAX_NARROW_CODES + 1)
    sizes |= dict.fromkeys(("sorted_keys", "spare"), n_rows)
    sizes |= {
        "labels": len(data.rows) if data.n_classes else 0,
        "centred": 0 if data.n_classes else len(data.rows),
        "spare_shares": n_rows if len(data.shares) else 0,
        "row_share": len(data.weights) if len(data.shares) else 0,
        "ahead_weight": n_rows if recipe.strategy == SURROGATE else 0,
        "ahead_way": n_rows if recipe.strategy == SURROGATE else 0,
        "state": 1,
        "progress": 9,
        "moments": 3,
        "figures": n_sides * n_figures if data.n_classes else 3 * LINE,
        "own_workspace": 2 * n_figures + 1,
        "marks": 4,
    }
    sizes |= dict.fromkeys(("impurities", "side_weights", "cut_codes"), n_sides)
    sizes |= dict.fromkeys(("totals", "left", "known", "missing", "first", "second", "group"), width)
    sizes |= dict.fromkeys(("columns", "column_gain", "column_ratio"), len(data.n_codes))
    sizes |= dict.fromkeys(("group_code", "group_rows", "group_weight", "chosen", "along", "order"), n_groups)
    sizes |= {"group_counts": (n_groups, width), "before": (2, n_moments), "after": (2, n_moments)}
    sizes |= dict.fromkeys(("group_start", "group_mean", "group_squares", "weight_before"), n_moments)
    sizes |= dict.fromkeys(("ranked_row", "ranked_number"), n_ranked)
    sizes |= dict.fromkeys(("fenwick_weights", "fenwick_sums"), n_ranked + 1)
    sizes |= dict.fromkeys(("missing_weights", "missing_sums"), n_ranked + 1 if recipe.strategy == EVERY_VALUE else 0)
    sizes |= dict.fromkeys(("rank", "row_side"), n_table)
    sizes |= dict.fromkeys(("side_total", "side_below", "side_median"), max(n_moments, 3))
    sizes |= dict.fromkeys((name for name, _ in SLOTS), recipe.among)
    sizes |= {"slot_words": recipe.among * -(-n_branches // 64)}
    sizes |= dict.fromkeys((name for name, _ in TREE if name.startswith("node_")), 0)
    n_surrogates = MOST_SURROGATES if recipe.strategy == SURROGATE else 0
    sizes |= dict.fromkeys((name for name in ARRAYS if name.startswith("node_surrogate")), (0, n_surrogates))
    sizes |= {"node_distribution": (0, width), "set_words": 0, "heap": 0, "deferred": 0}
    made = {name: np.empty(sizes[name], kind[0]) for name, kind in ARRAYS.items() if name not in Data._fields}
    for name in ("progress", "counts", "code_rows", "marks", "own_workspace"):
        made[name][:] = 0
    arrays = Arrays(**{name: getattr(data, name, made.get(name)) for name in ARRAYS})
    return with_more_capacity(arrays, min(2 * n_rows, 1024) + n_branches, n_branches + 66)


def with_more_capacity(arrays: Any, n_nodes: int, n_words: int, n_rows: int = 0) -> Any:
    """The same arrays with room for that many more nodes, words of category sets and fractional instances.

    What is too small is about doubled.
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
        for name in ARRAYS:
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
    """A new leaf for these rows; there must be room for it."""
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
