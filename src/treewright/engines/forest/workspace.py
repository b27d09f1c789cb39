"""What travels through the kernels that grow a forest: the table in bytes, one tree's rows, and room to work in."""

from __future__ import annotations

from collections import namedtuple
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from treewright.encoding.bins import MISSING_CODE, BinnedTable, Bins
from treewright.engines.criteria import GINI
from treewright.engines.exact.workspace import BYTES, FLAG, FLAGS, REAL, REALS, WHOLE, WHOLES, WORDS
from treewright.runtime.jit import borrow, build_struct, part, replaced


class ForestRecipe(NamedTuple):
    """The choices that shape the trees of a forest."""

    criterion: int = GINI
    random_cuts: bool = False  # one threshold per column, drawn at random (extra trees)
    max_depth: int = 1 << 30
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    min_split_gain: float = 0.0
    max_features: int = 1


RECIPE = [
    ("criterion", WHOLE),
    ("random_cuts", FLAG),
    ("max_depth", WHOLE),
    ("min_samples_split", WHOLE),
    ("min_samples_leaf", WHOLE),
    ("min_weight_fraction_leaf", REAL),
    ("min_weight_leaf", REAL),  # the same as a weight of the tree at hand
    ("min_split_gain", REAL),
    ("max_features", WHOLE),
]

TABLE = [
    ("all_codes", ("uint8", 2)),  # [column, row]
    ("codes_by_row", ("uint8", 2)),  # the same the other way round
    ("all_rows", ("uint32", 1)),  # the tree's rows, those of each node next to each other
    ("all_stats", ("float64", 2)),  # per row of the table: its weight, and weight times target
    ("all_packed", WHOLES),  # the same in one word, weight in the upper half, where all are whole numbers
    ("all_targets", REALS),  # per row of the table: class as a number, or number
    ("is_number", FLAGS),
    ("n_codes", WHOLES),
    ("code_values", ("float64", 2)),  # [column, code]: a number that stands for the code; infinity for missing
    ("has_missing", FLAGS),
    ("monotonic_cst", WHOLES),  # per column 1 (rising), -1 (falling) or 0
    ("n_classes", WHOLE),  # 0 if nodes are rated by weight and sum alone
    ("exact", FLAG),  # all sums are whole numbers, so that differences of them are exact
    ("plain", FLAG),  # no monotonic columns, and leaves as small as one row
]

# The rows of a small node and all their codes are copied next to each other, so that the tree below it is grown
# within the fastest memory. These fields are then the copies.
CURRENT = [
    ("codes", ("uint8", 2)),
    ("rows", ("uint32", 1)),
    ("stats", ("float64", 2)),
    ("packed", WHOLES),
    ("targets", REALS),
    ("block_codes", ("uint8", 2)),
    ("block_rows", ("uint32", 1)),
    ("block_stats", ("float64", 2)),
    ("block_packed", WHOLES),
    ("block_targets", REALS),
]

ROOM = [
    ("columns", WHOLES),  # in random order
    ("state", WORDS),  # of the random draws
    ("histogram", ("float64", 2)),  # per code: weight and sum
    ("packed_histogram", WHOLES),
    ("code_rows", WHOLES),
    ("present", WHOLES),
    ("along", REALS),  # what categories are ordered by
    ("rank", BYTES),  # per code: its place in that order
    ("marks", WORDS),
    ("keys", ("uint32", 1)),
    ("order", ("uint32", 1)),  # a larger node's rows sorted by code
    ("spare_rows", ("uint32", 1)),
    ("near_stats", ("float64", 2)),  # what the rows of the node add to its sums, in the order of the rows
    ("near_packed", WHOLES),  # the same in one word, if all are whole numbers
    ("near_codes", BYTES),
    ("totals", REALS),  # class weights of the node
    ("left", REALS),
    ("right", REALS),
    ("classes", WHOLES),  # the classes that occur at the node
    ("set_words", WORDS),  # of the best split: the codes on the first side
    ("stop", BYTES),  # set from outside to end early
]

NODE = [
    ("lo", WHOLE),
    ("hi", WHOLE),
    ("weight", REAL),
    ("sum", REAL),
    ("centre", REAL),  # what targets are taken from, so that sums do not lose digits
    ("n_present_classes", WHOLE),
    ("weight_left", REAL),  # classes: the two sides of the split being rated
    ("weight_right", REAL),
    ("order_left", REAL),
    ("order_right", REAL),
    ("best_score", REAL),
    ("best_above", REAL),  # what it gains, as a fraction
    ("best_below", REAL),
    ("best_column", WHOLE),
    ("best_cut", WHOLE),
    ("best_missing_left", FLAG),
    ("best_weight", REAL),
    ("best_sum", REAL),
    ("least", REAL),  # bounds of the node's answer under monotonic constraints
    ("most", REAL),
    ("n_waiting", WHOLE),
    ("waiting", ("int64", 2)),  # per node waiting: its index, lo, hi and depth
    ("waiting_sums", ("float64", 2)),  # weight, sum, and the bounds
]

# The trees that are grown one after the other in one call.
TREES = [
    ("tree", WHOLE),  # which of them is growing
    ("node_base", WHOLE),  # where its nodes and leaves begin
    ("leaf_base", WHOLE),
    ("n_nodes", WHOLE),
    ("n_leaves", WHOLE),
    ("n_sets", WHOLE),
    ("n_entries", WHOLE),
    ("nodes", WORDS),  # see `forest_walk`
    ("node_set", ("int32", 1)),  # which of the sets a node asks, for tables with categories
    ("sets", ("uint64", 2)),  # four words each: a bit per code that goes to the first child
    ("leaf_weight", REALS),
    ("leaf_rows", ("uint32", 1)),
    ("leaf_value", REALS),  # the mean target of each leaf
    ("leaf_spread", REALS),  # numbers: the sum of squares around it
    ("leaf_end", WHOLES),  # classes: where its entries end
    ("entry_class", ("uint16", 1)),
    ("entry_share", REALS),
    ("gains", ("float64", 2)),  # per tree and column: what its splits gained
    ("ends", ("int64", 2)),  # per tree: where its nodes, leaves, sets and entries end
]

FIELDS = RECIPE + TABLE + CURRENT + ROOM + NODE + TREES
ARRAYS = {name: kind for name, kind in FIELDS if kind[1] > 0}

# Columns of `ends`.
END_OF_NODES, END_OF_LEAVES, END_OF_SETS, END_OF_ENTRIES = range(4)

# Columns of `waiting` and of `waiting_sums`.
NODE_INDEX, NODE_LO, NODE_HI, NODE_DEPTH = range(4)
NODE_WEIGHT, NODE_SUM, NODE_LEAST, NODE_MOST = range(4)


@replaced(lambda: build_struct("Grove", FIELDS))
def new_grove() -> Any:
    """An empty struct with the fields of FIELDS."""
    return SimpleNamespace()


ForestArrays = namedtuple("ForestArrays", list(ARRAYS))  # type: ignore[misc]


def _write_take_arrays() -> Any:
    """Write the function that copies every array into the struct, one line each."""
    lines = [f"    work.{name} = borrow(arrays.{name})" for name in ARRAYS]
    scope: dict[str, Any] = {"__name__": __name__, "borrow": borrow}
    exec("\n".join(["def take_forest_arrays(work, arrays):", *lines]), scope)
    return part(scope["take_forest_arrays"])


take_forest_arrays = _write_take_arrays()


@part
def open_grove(arrays, recipe, n_classes, exact):
    """The struct for growing one tree of a forest."""
    work = new_grove()
    take_forest_arrays(work, arrays)
    work.criterion = recipe.criterion
    work.random_cuts = recipe.random_cuts
    work.max_depth = recipe.max_depth
    work.min_samples_split = recipe.min_samples_split
    work.min_samples_leaf = recipe.min_samples_leaf
    work.min_weight_fraction_leaf = recipe.min_weight_fraction_leaf
    work.min_weight_leaf = 0.0
    work.min_split_gain = recipe.min_split_gain
    work.max_features = recipe.max_features
    work.n_classes = n_classes
    work.exact = exact
    work.best_weight = 0.0
    work.best_sum = 0.0
    work.n_waiting = 0
    work.n_nodes = 0
    work.n_leaves = 0
    work.n_sets = 0
    work.n_entries = 0
    return work


# Most rows of a small node, and the memory that its codes may take: the fastest, or the second fastest for tables that
# are far larger than that.
MAX_BLOCK_ROWS, MAX_BLOCK_BYTES = 1024, 24 << 10
MAX_LARGE_BLOCK_ROWS, MAX_LARGE_BLOCK_BYTES = 16384, 400 << 10
LARGE_TABLE = 1 << 23


def block_size(n_columns: int, n_rows: int) -> int:
    """How many rows fit into a block whose codes stay in fast memory."""
    if n_columns * n_rows > LARGE_TABLE:
        return min(max(MAX_LARGE_BLOCK_BYTES // n_columns, 128), MAX_LARGE_BLOCK_ROWS)
    return min(max(MAX_BLOCK_BYTES // n_columns, 128), MAX_BLOCK_ROWS)


def make_workspace(
    table: BinnedTable,
    targets: np.ndarray,
    *,
    n_trees: int,
    n_targets: int,
    by_class: bool,
    monotonic_cst: np.ndarray,
    stop: np.ndarray,
) -> Any:
    """The arrays for growing so many trees in one call.

    `n_targets` is the number of classes, or 0 for numbers.

    Pages that are never touched cost nothing.
    """
    codes, bins = table.codes, table.bins
    n_columns, n_table = codes.shape
    n_rows, n_classes = n_table * n_trees, n_targets if by_class else 0
    block = block_size(n_columns, n_table)
    n_sets = n_rows if not bins.is_number.all() else 0
    width = max(n_classes, 1)
    sizes: dict[str, Any] = {
        "all_rows": n_table,
        "all_stats": (n_table, 2),
        "all_packed": n_table if n_targets else 0,
        "block_codes": (n_columns, block),
        "block_rows": block,
        "block_stats": (block, 2),
        "block_packed": block,
        "block_targets": block,
        "columns": n_columns,
        "state": 1,
        "histogram": (256, 2),
        "packed_histogram": 256,
        "code_rows": 257,
        "present": 256,
        "along": 256,
        "rank": 256,
        "marks": 4,
        "keys": 64,
        "order": n_table if n_classes else 0,
        "spare_rows": n_table,
        "near_stats": (n_table, 2),
        "near_packed": n_table if n_targets else 0,
        "near_codes": n_table,
        "totals": width,
        "left": width,
        "right": width,
        "classes": width,
        "set_words": 4,
        "waiting": (n_table + 2, 4),
        "waiting_sums": (n_table + 2, 4),
        "nodes": 2 * n_rows,
        "node_set": 2 * n_rows if n_sets else 0,
        "sets": (n_sets, 4),
        "leaf_weight": n_rows,
        "leaf_rows": n_rows,
        "leaf_value": n_rows,
        "leaf_spread": 0 if n_targets else n_rows,
        "leaf_end": n_rows if n_classes else 0,
        "entry_class": n_rows if n_classes else 0,
        "entry_share": n_rows if n_classes else 0,
        "gains": (n_trees, n_columns),
        "ends": (n_trees, 4),
    }
    made = {name: np.empty(size, ARRAYS[name][0]) for name, size in sizes.items()}
    for name in ("histogram", "packed_histogram", "code_rows", "marks", "totals", "left", "right"):
        made[name][:] = 0
    made["columns"][:] = np.arange(n_columns)
    given = {"all_codes": codes, "codes_by_row": table.codes_by_row, "all_targets": targets}
    given |= {"monotonic_cst": monotonic_cst, "stop": stop}
    given |= {name: getattr(bins, name) for name in Bins._fields if name in ARRAYS}
    given["has_missing"] = (codes == MISSING_CODE).any(axis=1)
    made |= {name: made["all_" + name] for name in ("rows", "stats", "packed")}
    made |= {"codes": codes, "targets": targets}
    return ForestArrays(**(given | made))
