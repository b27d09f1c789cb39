"""What travels through the kernels: the coded table, the recipe, the node being searched, and room to work in.

All of it stands in one struct that kernels hand on by reference. As tuples of arrays the same kernels took two
minutes to compile.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from numba import types
from numba.experimental import structref

from treewright.growth.jit import kernel
from treewright.growth.layout import MAX_NARROW_CODES

FLAG = types.boolean
WHOLE = types.int64
REAL = types.float64
FLAGS = types.boolean[::1]
BYTES = types.uint8[::1]
WHOLES = types.int64[::1]
REALS = types.float64[::1]
WORDS = types.uint64[::1]


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
    min_gain: float
    max_leaf_nodes: int
    max_features: int
    quinlan: bool


class Data(NamedTuple):
    """The coded training table. `rows` and `keys` are reordered while a tree grows.

    Columns with few values stand in `codes` (a byte per row, in row order), the others in `keys` (sorted).
    A missing value has the code after the column's last one.
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
    rows: np.ndarray  # uint32[position]
    weights: np.ndarray  # float64[row]
    weighted: bool
    classes: np.ndarray  # uint16[row], empty for a numeric target
    n_classes: int  # 0 for a numeric target
    numbers: np.ndarray  # float64[row], empty for classes
    target_line: int  # the line of `keys` that sorts rows by target, -1 if none
    side: np.ndarray  # uint8[row]: where a binary split sends each row
    branch: np.ndarray  # uint32[row]: where a multiway split does; empty if there is none


TABLE = [
    ("codes", types.uint8[:, ::1]),
    ("keys", types.uint64[:, ::1]),
    ("is_wide", FLAGS),
    ("is_number", FLAGS),
    ("n_codes", WHOLES),
    ("values", REALS),
    ("value_start", WHOLES),
    ("fixed_cuts", FLAGS),
    ("has_missing", FLAGS),
    ("rows", types.uint32[::1]),
    ("weights", REALS),
    ("weighted", FLAG),
    ("classes", types.uint16[::1]),
    ("n_classes", WHOLE),
    ("numbers", REALS),
    ("target_line", WHOLE),
    ("side", BYTES),
    ("branch", types.uint32[::1]),
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
    ("min_gain", REAL),
    ("max_leaf_nodes", WHOLE),
    ("max_features", WHOLE),
    ("quinlan", FLAG),
]

# The node being searched.
NODE = [
    ("lo", WHOLE),
    ("hi", WHOLE),
    ("weight", REAL),
    ("disorder", REAL),  # what the children's disorder is taken from
    ("spread", REAL),  # impurity times weight; the same but for poisson
    ("mean", REAL),  # of a numeric target (the median for absolute_error)
    ("min_leaf_weight", REAL),  # C4.5: least weight on each side of a threshold
    ("n_missing", WHOLE),  # rows without a value in the column being searched
    ("drawn_cut", WHOLE),  # a cut drawn at random, -1 if all are to be rated
    ("drawn", REAL),  # its threshold, NaN if that follows from the cut
    ("n_rated", WHOLE),  # admissible cuts of the column so far
]

# Room to work in, made once per tree.
ROOM = [
    ("counts", types.float64[:, ::1]),  # per code: class weights, or weight and sum
    ("code_rows", WHOLES),  # per code: number of rows
    ("sorted_keys", WORDS),  # one narrow column of a node, sorted
    ("spare", WORDS),
    ("labels", types.uint16[::1]),  # class of each position of the node
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
]

# The values of a column that occur at a node, one group each, in the order of their codes. For a numeric target
# the rows without a value form one more group after the last.
GROUPS = [
    ("group_code", WHOLES),
    ("group_rows", WHOLES),
    ("group_weight", REALS),
    ("group_counts", types.float64[:, ::1]),  # class weights
    ("chosen", FLAGS),  # on the first side of the split being rated
    ("group_start", WHOLES),  # numeric targets: the group's first row in the sorted column
    ("group_mean", REALS),
    ("group_squares", REALS),
    ("before", types.float64[:, ::1]),  # disorder of the groups up to each position, without and with missing rows
    ("after", types.float64[:, ::1]),  # and from each position on
    ("weight_before", REALS),
]

# Absolute error: the node's rows in the order of their target, and Fenwick trees over that order.
MEDIANS = [
    ("ranked_row", WORDS),
    ("ranked_number", REALS),  # the target there, taken from the node's median
    ("rank", types.uint32[::1]),  # position of each row of the table in that order
    ("fenwick_weights", REALS),
    ("fenwick_sums", REALS),
    ("row_side", WHOLES),  # per row of the table: the side or group it is on
]

# The best splits found so far at a node, in falling order of score: one, or the k best if one is to be drawn.
SLOTS = [
    ("filled", WHOLE),
    ("slot_score", REALS),
    ("slot_gain", REALS),  # parent's disorder minus the children's
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
    ("node_column", types.int32[::1]),
    ("node_threshold", REALS),
    ("node_cut", WHOLES),
    ("node_first_child", types.int32[::1]),
    ("node_n_children", types.int32[::1]),
    ("node_missing", types.int32[::1]),
    ("node_set_start", WHOLES),
    ("node_weight", REALS),
    ("node_mean", REALS),
    ("node_spread", REALS),
    ("node_gain", REALS),
    ("node_distribution", types.float64[:, ::1]),
    ("node_depth", types.int32[::1]),
    ("node_lo", WHOLES),
    ("node_hi", WHOLES),
    ("node_seed", WORDS),
    ("set_words", WORDS),  # category sets of all subset splits
    ("sizes", WHOLES),  # rows of each branch of the node being divided
    ("starts", WHOLES),  # and where each branch begins
    ("heap", WHOLES),  # nodes waiting to be divided
    ("n_waiting", WHOLE),
    ("deferred", WHOLES),  # nodes left for later
    ("n_deferred", WHOLE),
]

FIELDS = TABLE + RECIPE + NODE + ROOM + GROUPS + MEDIANS + SLOTS + TREE


@structref.register
class WorkType(types.StructRef):
    """The struct's type. Its name is part of every kernel's symbol, so it is kept short."""

    def __init__(self, fields: list[tuple[str, types.Type]]) -> None:
        super().__init__(fields)
        digest = hashlib.sha256(repr(fields).encode()).hexdigest()[:12]
        self.name = f"treewright.Work.{digest}"


WORK = WorkType(FIELDS)


@kernel
def new_work(data, recipe, n_rows):
    """The struct for growing a tree of `n_rows` rows. Pages that are never touched cost nothing."""
    work = structref.new(WORK)
    take_data(work, data)
    take_recipe(work, recipe)
    n_words, n_groups, n_branches = 1, 1, 2
    for column in range(len(data.n_codes)):
        if not data.is_number[column]:
            n_words = max(n_words, (data.n_codes[column] + 63) // 64)
            n_groups = max(n_groups, min(data.n_codes[column], n_rows))
            n_branches = max(n_branches, data.n_codes[column])
    make_room(work, n_rows)
    make_groups(work, n_rows + 1 if data.n_classes == 0 else n_groups)
    make_medians(work, n_rows if data.target_line >= 0 else 0)
    make_slots(work, n_words)
    make_tree(work, n_branches)
    return work


@kernel
def take_data(work, data):
    work.codes = data.codes
    work.keys = data.keys
    work.is_wide = data.is_wide
    work.is_number = data.is_number
    work.n_codes = data.n_codes
    work.values = data.values
    work.value_start = data.value_start
    work.fixed_cuts = data.fixed_cuts
    work.has_missing = data.has_missing
    work.rows = data.rows
    work.weights = data.weights
    work.weighted = data.weighted
    work.classes = data.classes
    work.n_classes = data.n_classes
    work.numbers = data.numbers
    work.target_line = data.target_line
    work.side = data.side
    work.branch = data.branch


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
    work.min_gain = recipe.min_gain
    work.max_leaf_nodes = recipe.max_leaf_nodes
    work.max_features = recipe.max_features
    work.quinlan = recipe.quinlan


@kernel
def make_room(work, n_rows):
    n_columns = len(work.n_codes)
    width = max(work.n_classes, 1)
    work.counts = np.empty((MAX_NARROW_CODES + 1, max(width, 2)))
    work.code_rows = np.empty(MAX_NARROW_CODES + 1, np.int64)
    work.sorted_keys = np.empty(n_rows, np.uint64)
    work.spare = np.empty(n_rows, np.uint64)
    work.labels = np.empty(len(work.classes), np.uint16)
    work.centred = np.empty(len(work.numbers))
    work.totals = np.zeros(width)
    work.columns = np.empty(n_columns, np.int64)
    work.column_gain = np.empty(n_columns)
    work.column_ratio = np.empty(n_columns)
    work.state = np.zeros(1, np.uint64)
    work.left = np.zeros(width)
    work.known = np.zeros(width)
    work.missing = np.zeros(width)
    work.first = np.zeros(width)
    work.second = np.zeros(width)
    work.group = np.zeros(width)


@kernel
def make_groups(work, n_groups):
    work.group_code = np.empty(n_groups, np.int64)
    work.group_rows = np.empty(n_groups, np.int64)
    work.group_weight = np.empty(n_groups)
    work.group_counts = np.empty((n_groups, max(work.n_classes, 1)))
    work.chosen = np.empty(n_groups, np.bool_)
    n_numbers = n_groups if work.n_classes == 0 else 0
    work.group_start = np.empty(n_numbers, np.int64)
    work.group_mean = np.empty(n_numbers)
    work.group_squares = np.empty(n_numbers)
    work.before = np.empty((2, n_numbers))
    work.after = np.empty((2, n_numbers))
    work.weight_before = np.empty(n_numbers)


@kernel
def make_medians(work, n_rows):
    n_table = len(work.weights) if n_rows else 0
    work.ranked_row = np.empty(n_rows, np.uint64)
    work.ranked_number = np.empty(n_rows)
    work.rank = np.empty(n_table, np.uint32)
    work.fenwick_weights = np.empty(n_rows + 1)
    work.fenwick_sums = np.empty(n_rows + 1)
    work.row_side = np.empty(n_table, np.int64)


@kernel
def make_slots(work, n_words):
    n_slots = work.among
    work.filled = 0
    work.slot_score = np.empty(n_slots)
    work.slot_gain = np.empty(n_slots)
    work.slot_column = np.empty(n_slots, np.int64)
    work.slot_kind = np.empty(n_slots, np.int64)
    work.slot_cut = np.empty(n_slots, np.int64)
    work.slot_after = np.empty(n_slots, np.int64)
    work.slot_drawn = np.empty(n_slots)
    work.slot_missing = np.empty(n_slots, np.int64)
    work.slot_balance = np.empty(n_slots, np.int64)
    work.slot_words = np.empty(n_slots * n_words, np.uint64)
    work.n_words = n_words


@kernel
def make_tree(work, n_branches):
    work.n_nodes = 0
    work.n_set_words = 0
    work.node_kind = np.empty(0, np.uint8)
    work.node_column = np.empty(0, np.int32)
    work.node_threshold = np.empty(0)
    work.node_cut = np.empty(0, np.int64)
    work.node_first_child = np.empty(0, np.int32)
    work.node_n_children = np.empty(0, np.int32)
    work.node_missing = np.empty(0, np.int32)
    work.node_set_start = np.empty(0, np.int64)
    work.node_weight = np.empty(0)
    work.node_mean = np.empty(0)
    work.node_spread = np.empty(0)
    work.node_gain = np.empty(0)
    work.node_distribution = np.empty((0, max(work.n_classes, 1)))
    work.node_depth = np.empty(0, np.int32)
    work.node_lo = np.empty(0, np.int64)
    work.node_hi = np.empty(0, np.int64)
    work.node_seed = np.empty(0, np.uint64)
    work.set_words = np.empty(0, np.uint64)
    work.sizes = np.empty(n_branches, np.int64)
    work.starts = np.empty(n_branches, np.int64)
    work.heap = np.empty(64, np.int64)
    work.n_waiting = 0
    work.deferred = np.empty(16, np.int64)
    work.n_deferred = 0


@kernel
def enlarged(array, n, capacity):
    """A copy of the first n entries with room for more."""
    larger = np.empty(capacity, array.dtype)
    for i in range(n):
        larger[i] = array[i]
    return larger


@kernel
def make_room_for_nodes(work, n_more):
    """Double the node arrays when they are full."""
    n = work.n_nodes
    if n + n_more <= len(work.node_kind):
        return
    capacity = max(2 * (n + n_more), 16)
    work.node_kind = enlarged(work.node_kind, n, capacity)
    work.node_column = enlarged(work.node_column, n, capacity)
    work.node_threshold = enlarged(work.node_threshold, n, capacity)
    work.node_cut = enlarged(work.node_cut, n, capacity)
    work.node_first_child = enlarged(work.node_first_child, n, capacity)
    work.node_n_children = enlarged(work.node_n_children, n, capacity)
    work.node_missing = enlarged(work.node_missing, n, capacity)
    work.node_set_start = enlarged(work.node_set_start, n, capacity)
    work.node_weight = enlarged(work.node_weight, n, capacity)
    work.node_mean = enlarged(work.node_mean, n, capacity)
    work.node_spread = enlarged(work.node_spread, n, capacity)
    work.node_gain = enlarged(work.node_gain, n, capacity)
    work.node_depth = enlarged(work.node_depth, n, capacity)
    work.node_lo = enlarged(work.node_lo, n, capacity)
    work.node_hi = enlarged(work.node_hi, n, capacity)
    work.node_seed = enlarged(work.node_seed, n, capacity)
    width = work.node_distribution.shape[1]
    distribution = np.empty((capacity, width))
    for i in range(n):
        for k in range(width):
            distribution[i, k] = work.node_distribution[i, k]
    work.node_distribution = distribution


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
    work.node_set_start[node] = -1
    work.node_weight[node] = 0.0
    work.node_mean[node] = 0.0
    work.node_spread[node] = 0.0
    work.node_gain[node] = 0.0
    for k in range(work.node_distribution.shape[1]):
        work.node_distribution[node, k] = 0.0
    work.node_depth[node] = depth
    work.node_lo[node] = lo
    work.node_hi[node] = hi
    work.node_seed[node] = seed
    return node
