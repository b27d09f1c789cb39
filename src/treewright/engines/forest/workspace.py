"""The structs of the kernels that grow a forest: the table in bytes, the rows of one tree, and the workspace."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from treewright.encoding.bins import MISSING_CODE, BinnedTable, Bins
from treewright.engines.criteria import GINI
from treewright.engines.structs import Field, fields_of, make_fields, record_of, write_take
from treewright.runtime.intrinsics import build_struct
from treewright.runtime.kernels import inline, replaced
from treewright.runtime.signatures import BYTES, FLAG, FLAGS, REAL, REALS, WHOLE, WHOLES, WORDS


class ForestRecipe(NamedTuple):
    """The choices that define the trees of a forest."""

    criterion: int = GINI
    random_cuts: bool = False  # one threshold per column, drawn at random (extra trees)
    max_depth: int = 1 << 30
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    min_split_gain: float = 0.0
    max_features: int = 1


RECIPE = fields_of(ForestRecipe)

TABLE = [
    Field("all_codes", ("uint8", 2)),  # [column, row]
    Field("codes_by_row", ("uint8", 2)),  # transposed
    Field("all_rows", ("uint32", 1), lambda n: n.table),  # the tree's rows, those of each node next to each other
    # Per row of the table: its weight, and weight times target.
    Field("all_stats", ("float64", 2), lambda n: (n.table, 2)),
    # The same in one word, weight in the upper half, if all are whole numbers.
    Field("all_packed", WHOLES, lambda n: n.table if n.classes else 0),
    Field("all_targets", REALS),  # per row of the table: class as a number, or number
    Field("is_number", FLAGS),
    Field("n_codes", WHOLES),
    Field("code_values", ("float64", 2)),  # [column, code]: a number that represents the code; infinity for missing
    Field("has_missing", FLAGS),
    Field("adjusted", FLAGS),  # [column]: splits are rated without the gain that its categories have by chance
    Field("monotonic_cst", WHOLES),  # per column 1 (rising), -1 (falling) or 0
    Field("n_classes", WHOLE),  # 0 if nodes are rated by weight and sum alone
    Field("exact", FLAG),  # all sums are whole numbers, so that differences of them are exact
    Field("plain", FLAG),  # no monotonic columns, and leaves as small as one row
]

# The rows of a small node and all their codes are copied to consecutive memory, so that the subtree below is grown
# within the cache. These fields are then the copies.
CURRENT = [
    Field("codes", ("uint8", 2)),
    Field("rows", ("uint32", 1)),
    Field("stats", ("float64", 2)),
    Field("packed", WHOLES),
    Field("targets", REALS),
    Field("block_codes", ("uint8", 2), lambda n: (n.columns, n.block)),
    Field("block_rows", ("uint32", 1), lambda n: n.block),
    Field("block_stats", ("float64", 2), lambda n: (n.block, 2)),
    Field("block_packed", WHOLES, lambda n: n.block),
    Field("block_targets", REALS, lambda n: n.block),
]

SCRATCH = [
    Field("columns", WHOLES, lambda n: n.columns),  # in random order
    Field("state", WORDS, lambda n: 1),  # of the random draws
    Field("histogram", ("float64", 2), lambda n: (256, 2), zeroed=True),  # per code: weight and sum
    Field("packed_histogram", WHOLES, lambda n: 256, zeroed=True),
    Field("code_rows", WHOLES, lambda n: 257, zeroed=True),
    Field("present", WHOLES, lambda n: 256),
    Field("along", REALS, lambda n: 256),  # keys by which categories are ordered
    Field("rank", BYTES, lambda n: 256),  # per code: its position in that order
    Field("marks", WORDS, lambda n: 4, zeroed=True),
    Field("keys", ("uint32", 1), lambda n: 64),
    Field("order", ("uint32", 1), lambda n: n.table if n.by_class else 0),  # a larger node's rows sorted by code
    Field("spare_rows", ("uint32", 1), lambda n: n.table),
    # What the rows of the node add to its sums, in the order of the rows.
    Field("near_stats", ("float64", 2), lambda n: (n.table, 2)),
    # The same in one word, if all are whole numbers.
    Field("near_packed", WHOLES, lambda n: n.table if n.classes else 0),
    Field("near_codes", BYTES, lambda n: n.table),
    Field("totals", REALS, lambda n: n.width, zeroed=True),  # class weights of the node
    Field("left", REALS, lambda n: n.width, zeroed=True),
    Field("right", REALS, lambda n: n.width, zeroed=True),
    Field("classes", WHOLES, lambda n: n.width),  # the classes that occur at the node
    Field("set_words", WORDS, lambda n: 4),  # of the best split: the codes on the first side
    Field("stop", BYTES),  # set from outside to stop early
]

NODE = [
    Field("min_weight_leaf", REAL),  # the least weight of a leaf of the current tree
    Field("lo", WHOLE),
    Field("hi", WHOLE),
    Field("weight", REAL),
    Field("sum", REAL),
    Field("centre", REAL),  # subtracted from targets, so that sums do not lose digits
    Field("n_present_classes", WHOLE),
    Field("weight_left", REAL),  # classes: the two sides of the current split
    Field("weight_right", REAL),
    Field("order_left", REAL),
    Field("order_right", REAL),
    Field("chance", REAL),  # the gain that the column's categories have by chance, if its splits are adjusted
    Field("node_score", REAL),  # the score without a split, and that of a split into pure sides, if it is known
    Field("perfect", REAL),
    Field("best_score", REAL),
    Field("best_above", REAL),  # its gain, as a fraction
    Field("best_below", REAL),
    Field("best_column", WHOLE),
    Field("best_cut", WHOLE),
    Field("best_missing_left", FLAG),
    Field("best_weight", REAL),
    Field("best_sum", REAL),
    Field("least", REAL),  # bounds of the node's prediction under monotonic constraints
    Field("most", REAL),
    Field("n_waiting", WHOLE),
    Field("waiting", ("int64", 2), lambda n: (n.table + 2, 4)),  # per waiting node: its index, lo, hi and depth
    Field("waiting_sums", ("float64", 2), lambda n: (n.table + 2, 4)),  # weight, sum, and the bounds
]

# The trees that are grown one after the other in one call.
TREES = [
    Field("tree", WHOLE),  # the one that is growing
    Field("node_base", WHOLE),  # the start of its nodes and leaves
    Field("leaf_base", WHOLE),
    Field("n_nodes", WHOLE),
    Field("n_leaves", WHOLE),
    Field("n_sets", WHOLE),
    Field("n_entries", WHOLE),
    Field("nodes", WORDS, lambda n: 2 * n.rows),  # see `engines.packed.walk`
    # The set of each node, for tables with categories.
    Field("node_set", ("int32", 1), lambda n: 2 * n.rows if n.has_sets else 0),
    # Four words each: one bit per code that goes to the first child.
    Field("sets", ("uint64", 2), lambda n: (n.rows if n.has_sets else 0, 4)),
    Field("leaf_weight", REALS, lambda n: n.rows),
    Field("leaf_rows", ("uint32", 1), lambda n: n.rows),
    Field("leaf_value", REALS, lambda n: n.rows),  # the mean target of each leaf
    Field("leaf_spread", REALS, lambda n: 0 if n.classes else n.rows),  # numbers: the sum of squared deviations from it
    Field("leaf_end", WHOLES, lambda n: n.rows if n.by_class else 0),  # classes: the end of its entries
    Field("entry_class", ("uint16", 1), lambda n: n.rows if n.by_class else 0),
    Field("entry_share", REALS, lambda n: n.rows if n.by_class else 0),
    Field("gains", ("float64", 2), lambda n: (n.trees, n.columns)),  # per tree and column: the gains of its splits
    Field("ends", ("int64", 2), lambda n: (n.trees, 4)),  # per tree: the ends of its nodes, leaves, sets and entries
]

FIELDS = RECIPE + TABLE + CURRENT + SCRATCH + NODE + TREES
ARRAYS = [field for field in FIELDS if field.is_array]

# Columns of `ends`.
END_OF_NODES, END_OF_LEAVES, END_OF_SETS, END_OF_ENTRIES = range(4)

# Columns of `waiting` and of `waiting_sums`.
NODE_INDEX, NODE_LO, NODE_HI, NODE_DEPTH = range(4)
NODE_WEIGHT, NODE_SUM, NODE_LEAST, NODE_MOST = range(4)


@replaced(lambda: build_struct("ForestWork", [field[:2] for field in FIELDS]))
def new_work() -> Any:
    """Return an empty struct with the fields of FIELDS."""
    return SimpleNamespace()


if TYPE_CHECKING:
    ForestArrays = Any
else:
    # The arrays as Python passes them, which allocates all of them.
    ForestArrays = record_of("ForestArrays", FIELDS, __name__)


take_arrays = write_take("take_arrays", ARRAYS)
take_recipe = write_take("take_recipe", RECIPE)


@inline
def open_work(arrays, recipe, n_classes, exact):
    """Create the struct for growing one tree of a forest."""
    work = new_work()
    take_arrays(work, arrays)
    take_recipe(work, recipe)
    work.min_weight_leaf = 0.0
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


# Most rows of a small node, and the memory that its codes may use: the first-level cache, or the second-level cache for
# tables that are far larger than it.
MAX_BLOCK_ROWS, MAX_BLOCK_BYTES = 1024, 24 << 10
MAX_LARGE_BLOCK_ROWS, MAX_LARGE_BLOCK_BYTES = 16384, 400 << 10
LARGE_TABLE = 1 << 23


def block_size(n_columns: int, n_rows: int) -> int:
    """Return the number of rows that fit into a block whose codes remain in the cache."""
    if n_columns * n_rows > LARGE_TABLE:
        return min(max(MAX_LARGE_BLOCK_BYTES // n_columns, 128), MAX_LARGE_BLOCK_ROWS)
    return min(max(MAX_BLOCK_BYTES // n_columns, 128), MAX_BLOCK_ROWS)


class Sizes(NamedTuple):
    """The numbers from which the sizes of arrays follow."""

    table: int  # rows of the table
    rows: int  # rows of all trees
    trees: int
    columns: int
    classes: int  # 0 for numbers
    by_class: bool  # whether the weight of every class is kept
    block: int  # rows of a block
    has_sets: bool  # some columns are categorical

    @property
    def width(self) -> int:
        """Return the number of values of a distribution."""
        return max(self.classes if self.by_class else 0, 1)


def make_workspace(
    table: BinnedTable,
    targets: np.ndarray,
    *,
    n_trees: int,
    n_targets: int,
    by_class: bool,
    adjusted: np.ndarray,
    monotonic_cst: np.ndarray,
    stop: np.ndarray,
) -> Any:
    """Allocate the arrays for growing so many trees in one call.

    `n_targets` is the number of classes, or 0 for numbers. Memory pages that are never touched cost nothing.
    """
    codes, bins = table.codes, table.bins
    n_columns, n_table = codes.shape
    sizes = Sizes(
        table=n_table,
        rows=n_table * n_trees,
        trees=n_trees,
        columns=n_columns,
        classes=n_targets,
        by_class=by_class,
        block=block_size(n_columns, n_table),
        has_sets=not bins.is_number.all(),
    )
    made = make_fields(FIELDS, sizes)
    made["columns"][:] = np.arange(n_columns)
    given = {"all_codes": codes, "codes_by_row": table.codes_by_row, "all_targets": targets}
    given |= {"adjusted": adjusted, "monotonic_cst": monotonic_cst, "stop": stop}
    given |= {name: getattr(bins, name) for name in Bins._fields if name in ForestArrays._fields}
    given["has_missing"] = (codes == MISSING_CODE).any(axis=1)
    made |= {name: made["all_" + name] for name in ("rows", "stats", "packed")}
    made |= {"codes": codes, "targets": targets}
    return ForestArrays(**(given | made))
