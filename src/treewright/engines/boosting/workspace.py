"""What travels through the kernels that grow a boosted tree: the table in bytes, and room to work in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treewright.engines.boosting.search import N_PROPOSAL

# Rows that follow each other and belong to one thread. Sums of numbers with fractions are made turn by turn, so that
# they do not depend on the number of threads.
TURN_BITS = 12
TURN = 1 << TURN_BITS

# Leaves whose sums are made at the same time.
LEAVES_AT_ONCE = 32

# Places in `roots`.
ROOT_SUM, ROOT_ROWS = range(2)

# Places in `counts`, taken in turn, so that no thread writes the next number before all have read this one.
N_COUNTS = 2


class BoostSettings(NamedTuple):
    """What shapes a boosted tree, for the kernels."""

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

    columns: np.ndarray  # uint8[column, row]
    words: np.ndarray  # uint64[row x block of 8 columns]
    is_number: np.ndarray  # bool[column]
    n_codes: np.ndarray  # int64[column]
    start: np.ndarray  # int64[column + 1]: where a column begins in a leaf's histogram
    monotonic_cst: np.ndarray  # float64[column]: 1 (rising), -1 (falling) or 0
    groups: np.ndarray  # bool[group, column]: columns that may meet on a path; none if all may


class SharedState(NamedTuple):
    """What the threads share: for a set of trees that are opened together, then for each tree of it."""

    gradients: np.ndarray  # float64[tree, row]
    hessians: np.ndarray  # float64[tree, row]
    packed: np.ndarray  # int64[tree, row]: both, rounded
    histograms: np.ndarray  # int64[tree, thread, column, code]: zero between uses
    scale: np.ndarray  # float64[tree, 2]: what turns rounded gradients and hessians back
    layout: np.ndarray  # int64[tree, 4]
    limits: np.ndarray  # float64[tree, 7]
    roots: np.ndarray  # int64[tree, thread, 2]: the sum and the number of a thread's rows
    leaf_of: np.ndarray  # uint32[row]
    turn_sums: np.ndarray  # float64[turn, LEAVES_AT_ONCE, 2]
    pool: np.ndarray  # int64[slot, entry]: histograms of leaves
    gains: np.ndarray  # float64[thread, 8]: of the best split that a thread has found, for the two leaves searched
    proposals: np.ndarray  # int64[thread, 2, N_TOLD]
    proposal_sets: np.ndarray  # uint64[thread, 2, 4]
    counts: np.ndarray  # int64[thread, 8]: how many of a thread's rows went to a first side
    barrier: np.ndarray
    allowed: np.ndarray  # bool[column]: what this tree may ask for


class ThreadState(NamedTuple):
    """What belongs to one thread; the account of leaves is the same in all of them."""

    given: np.ndarray  # uint32: the thread's rows in the order of the table
    rows: np.ndarray  # uint32: the same, those of each leaf next to each other
    spare: np.ndarray  # uint32
    near: np.ndarray  # int64[tree, CHUNK]
    near_words: np.ndarray  # uint64[block x CHUNK]
    near_turn: np.ndarray  # float64[2, TURN]
    near_packed: np.ndarray  # int64[TURN]
    leaves: np.ndarray  # int64[leaf, N_KEPT]
    bounds: np.ndarray  # float64[leaf, 3]: gain, least and most answer
    sets: np.ndarray  # uint64[leaf, 4]: the best split of a leaf, if by categories
    live_groups: np.ndarray  # bool[leaf, group]: groups that hold all columns of the leaf's path
    masks: np.ndarray  # bool[2, column]: columns to be searched
    order: np.ndarray  # int64[column]
    state: np.ndarray  # uint64[1]
    scale: np.ndarray  # float64[2]: of the tree that is being grown, and so on
    layout: np.ndarray  # int64[4]
    limits: np.ndarray  # float64[7]
    present: np.ndarray  # int64[256]: categories of a leaf in order, or sums up to each cut
    along: np.ndarray  # float64[256]: what they are ordered by, or what the cuts are worth
    nodes: np.ndarray  # uint64[node]
    node_set: np.ndarray  # int32[node]
    node_sets: np.ndarray  # uint64[set, 4]
    leaf_sums: np.ndarray  # float64[leaf, 2]: hessian, answer
    column_gains: np.ndarray  # float64[column]
    ends: np.ndarray  # int64[3]: nodes, leaves, sets


class Grown(NamedTuple):
    """Room for the trees of a round, as they are when they are done."""

    ends: np.ndarray  # int64[tree, 3]: nodes, leaves, sets
    nodes: np.ndarray  # uint64[tree, node]
    node_set: np.ndarray  # int32[tree, node]
    node_sets: np.ndarray  # uint64[tree, set, 4]
    leaf_rows: np.ndarray  # int64[tree, leaf]
    leaf_weight: np.ndarray  # float64[tree, leaf]
    leaf_value: np.ndarray  # float64[tree, leaf]
    column_gains: np.ndarray  # float64[tree, column]


# What is kept of a leaf: its best split as the search told it, then these.
LO, HI, N_ROWS, SLOT, SUM, DEPTH, NODE = range(N_PROPOSAL, N_PROPOSAL + 7)
N_KEPT = N_PROPOSAL + 7
GAIN, LEAST, MOST = range(3)
