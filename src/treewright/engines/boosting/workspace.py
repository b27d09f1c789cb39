"""The structs of the kernels that grow a boosted tree: the table in bytes, and the workspace."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treewright.engines.boosting.search import N_PROPOSAL

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

    columns: np.ndarray  # uint8[column, row]
    words: np.ndarray  # uint64[row x block of 8 columns]
    is_number: np.ndarray  # bool[column]
    n_codes: np.ndarray  # int64[column]
    start: np.ndarray  # int64[column + 1]: the start of each column in a leaf's histogram
    monotonic_cst: np.ndarray  # float64[column]: 1 (rising), -1 (falling) or 0
    groups: np.ndarray  # bool[group, column]: columns that may occur on one path; no groups if all may


class SharedState(NamedTuple):
    """The state that all threads share: for a set of trees that are opened together, then for each tree of it."""

    gradients: np.ndarray  # float64[tree, row]
    hessians: np.ndarray  # float64[tree, row]
    packed: np.ndarray  # int64[tree, row]: both, rounded and packed
    histograms: np.ndarray  # int64[tree, thread, column, code]: zero between uses
    scale: np.ndarray  # float64[tree, 2]: factors that convert rounded gradients and hessians back
    layout: np.ndarray  # int64[tree, 4]
    limits: np.ndarray  # float64[tree, 7]
    roots: np.ndarray  # int64[tree, thread, 2]: the sum and the number of the thread's rows
    leaf_of: np.ndarray  # uint32[row]
    turn_sums: np.ndarray  # float64[turn, LEAVES_AT_ONCE, 2]
    pool: np.ndarray  # int64[slot, entry]: histograms of leaves
    gains: np.ndarray  # float64[thread, 8]: gains of the best splits that a thread found, for the two leaves searched
    proposals: np.ndarray  # int64[thread, 2, N_PROPOSAL]
    proposal_sets: np.ndarray  # uint64[thread, 2, 4]
    counts: np.ndarray  # int64[thread, 8]: number of the thread's rows on the first side
    barrier: np.ndarray
    allowed: np.ndarray  # bool[column]: columns that splits of this tree may use


class ThreadState(NamedTuple):
    """The state of one thread; the record of the leaves is the same in all threads."""

    given: np.ndarray  # uint32: the thread's rows in the order of the table
    rows: np.ndarray  # uint32: the same rows, those of each leaf next to each other
    spare: np.ndarray  # uint32
    near: np.ndarray  # int64[tree, CHUNK]
    near_words: np.ndarray  # uint64[block x CHUNK]
    near_turn: np.ndarray  # float64[2, TURN]
    near_packed: np.ndarray  # int64[TURN]
    leaves: np.ndarray  # int64[leaf, N_KEPT]
    bounds: np.ndarray  # float64[leaf, 3]: gain, least and largest prediction
    sets: np.ndarray  # uint64[leaf, 4]: the best split of a leaf, if it is categorical
    live_groups: np.ndarray  # bool[leaf, group]: groups that contain all columns of the leaf's path
    masks: np.ndarray  # bool[2, column]: columns to search
    order: np.ndarray  # int64[column]
    state: np.ndarray  # uint64[1]
    scale: np.ndarray  # float64[2]: of the current tree, like the next fields
    layout: np.ndarray  # int64[4]
    limits: np.ndarray  # float64[7]
    present: np.ndarray  # int64[256]: ordered categories of a leaf, or sums up to each cut
    along: np.ndarray  # float64[256]: keys of their order, or gains of the cuts
    nodes: np.ndarray  # uint64[node]
    node_set: np.ndarray  # int32[node]
    node_sets: np.ndarray  # uint64[set, 4]
    leaf_sums: np.ndarray  # float64[leaf, 2]: hessian, value
    column_gains: np.ndarray  # float64[column]
    ends: np.ndarray  # int64[3]: nodes, leaves, sets


class Grown(NamedTuple):
    """The arrays of the finished trees of a round."""

    ends: np.ndarray  # int64[tree, 3]: nodes, leaves, sets
    nodes: np.ndarray  # uint64[tree, node]
    node_set: np.ndarray  # int32[tree, node]
    node_sets: np.ndarray  # uint64[tree, set, 4]
    leaf_rows: np.ndarray  # int64[tree, leaf]
    leaf_weight: np.ndarray  # float64[tree, leaf]
    leaf_value: np.ndarray  # float64[tree, leaf]
    column_gains: np.ndarray  # float64[tree, column]


# The columns of `leaves`: the best split as in `proposals`, then these.
LO, HI, N_ROWS, SLOT, SUM, DEPTH, NODE = range(N_PROPOSAL, N_PROPOSAL + 7)
N_KEPT = N_PROPOSAL + 7
GAIN, LEAST, MOST = range(3)
