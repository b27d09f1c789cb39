"""Trees with one word per node, as arrays: as an engine returns them, and as descent needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class GrownTrees:
    """Consecutive trees as an engine returns them; `tree.Forest` explains the arrays."""

    ends: np.ndarray  # the ends of the nodes, leaves, sets and entries of each tree
    nodes: np.ndarray
    node_set: np.ndarray
    sets: np.ndarray
    leaf_weight: np.ndarray
    leaf_rows: np.ndarray
    leaf_value: np.ndarray
    leaf_spread: np.ndarray
    leaf_end: np.ndarray
    entry_class: np.ndarray
    entry_share: np.ndarray
    gains: np.ndarray


class PackedTrees(NamedTuple):
    """The arrays that descent through all trees needs; `tree.Forest` explains them."""

    nodes: np.ndarray
    node_start: np.ndarray
    node_set: np.ndarray
    sets: np.ndarray
    leaf_start: np.ndarray
    leaf_value: np.ndarray
    leaf_end: np.ndarray
    entry_class: np.ndarray
    entry_share: np.ndarray
    n_outputs: int  # number of classes whose shares a leaf holds, or 1
    tile_nodes: np.ndarray  # the nodes in the format of `engines.packed.tiles`, empty if some test a set
    has_small_trees: bool  # whether predictions by leaf masks are possible

    @property
    def n_trees(self) -> int:
        return len(self.node_start) - 1
