"""The structs of the kernels that grow a boosted tree: the table in bytes, and the workspace."""

from __future__ import annotations

from typing import NamedTuple

from treewright.engines.boosting.search import N_PROPOSAL
from treewright.runtime.signatures import (
    Bytes,
    Flags,
    Flags2,
    Indices,
    Integers,
    Integers2,
    Reals,
    Reals2,
    Reals3,
    Wholes,
    Wholes2,
    Wholes3,
    Wholes4,
    Words,
    Words2,
    Words3,
)

# A block of consecutive rows that belong to one thread. Floating-point sums are computed block by block, so that they
# do not depend on the number of threads.
TURN_BITS = 12
TURN = 1 << TURN_BITS

# Number of leaves whose sums are computed at the same time.
LEAVES_AT_ONCE = 32

# Columns of `roots`.
ROOT_SUM, ROOT_ROWS = range(2)

# Columns of `counts`, used alternately, so that no thread overwrites a number before all threads have read it.
N_COUNTS = 2


class BoostSettings(NamedTuple):
    """The choices that define a boosted tree, for the kernels."""

    max_leaves: int
    max_depth: int
    min_rows: int
    min_weight: float
    l1_regularization: float
    l2_regularization: float
    category_l2: float
    smoothing: float
    min_split_gain: float
    rate: float
    level_share: float
    node_share: float
    by_level: bool


class BoostTable(NamedTuple):
    """The table in bytes."""

    codes: Bytes  # of all cells, column by column or row by row
    column_step: int  # the distance of two columns of a row in `codes`
    row_step: int  # the distance of two rows of a column in `codes`
    words: Words  # [row x block of 8 columns]
    is_number: Flags  # [column]
    n_codes: Wholes  # [column]
    start: Wholes  # [column + 1]: the start of each column in a leaf's histogram
    monotonic_cst: Reals  # [column]: 1 (rising), -1 (falling) or 0
    groups: Flags2  # [group, column]: columns that may occur on one path; no groups if all may


class SharedState(NamedTuple):
    """The state that all threads share: for a set of trees that are opened together, then for each tree of it."""

    gradients: Reals2  # [tree, row]
    hessians: Reals2  # [tree, row]
    packed: Wholes2  # [tree, row]: both, rounded and packed; when a tree is grown, the leaf of each of its rows
    histograms: Wholes4  # [tree, thread, column, code]: zero between uses
    scale: Reals2  # [tree, 2]: factors that convert rounded gradients and hessians back
    layout: Wholes2  # [tree, 4]
    limits: Reals2  # [tree, 7]
    roots: Wholes3  # [tree, thread, 2]: the sum and the number of the thread's rows
    turn_sums: Reals3  # [turn, LEAVES_AT_ONCE, 2]
    pool: Wholes2  # [slot, entry]: histograms of leaves
    gains: Reals2  # [thread, 8]: gains of the best splits that a thread found, for the two leaves searched
    proposals: Wholes3  # [thread, 2, N_PROPOSAL]
    proposal_sets: Words3  # [thread, 2, 4]
    counts: Wholes2  # [thread, 8]: number of the thread's rows on the first side
    barrier: Wholes
    allowed: Flags  # [column]: columns that splits of this tree may use


class ThreadState(NamedTuple):
    """The state of one thread; the record of the leaves is the same in all threads."""

    given: Indices  # the thread's rows in the order of the table
    rows: Indices  # the same rows, those of each leaf next to each other
    spare: Indices
    near: Wholes2  # [tree, CHUNK]
    near_words: Words  # [block x CHUNK]
    near_turn: Reals2  # [2, TURN]
    near_packed: Wholes  # [TURN]
    leaves: Wholes2  # [leaf, N_KEPT]
    bounds: Reals2  # [leaf, 3]: gain, least and largest prediction
    sets: Words2  # [leaf, 4]: the best split of a leaf, if it is categorical
    live_groups: Flags2  # [leaf, group]: groups that contain all columns of the leaf's path
    masks: Flags2  # [2, column]: columns to search
    order: Wholes  # [column]
    state: Words  # [1]
    scale: Reals  # [2]: of the current tree, like the next fields
    layout: Wholes  # [4]
    limits: Reals  # [7]
    present: Wholes  # [256]: ordered categories of a leaf, or sums up to each cut
    along: Reals  # [256]: keys of their order, or gains of the cuts
    nodes: Words  # [node]
    node_set: Integers  # [node]
    node_sets: Words2  # [set, 4]
    leaf_sums: Reals2  # [leaf, 2]: hessian, value
    column_gains: Reals  # [column]
    ends: Wholes  # [3]: nodes, leaves, sets


class Grown(NamedTuple):
    """The arrays of the finished trees of a round."""

    ends: Wholes2  # [tree, 3]: nodes, leaves, sets
    nodes: Words2  # [tree, node]
    node_set: Integers2  # [tree, node]
    node_sets: Words3  # [tree, set, 4]
    leaf_rows: Wholes2  # [tree, leaf]
    leaf_weight: Reals2  # [tree, leaf]
    leaf_value: Reals2  # [tree, leaf]
    column_gains: Reals2  # [tree, column]


# The columns of `leaves`: the best split as in `proposals`, then these.
LO, HI, N_ROWS, SLOT, SUM, DEPTH, NODE = range(N_PROPOSAL, N_PROPOSAL + 7)
N_KEPT = N_PROPOSAL + 7
GAIN, LEAST, MOST = range(3)
