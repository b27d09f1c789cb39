"""Trees with one word per node, as arrays: as they leave an engine, and as rows walk down them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class GrownTrees:
    """Some trees as they leave an engine, one after the other; see `tree.Forest` for what each array means."""

    ends: np.ndarray  # where the nodes, leaves, sets and entries of each tree end
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
    """What a row meets on its way down all trees; see `tree.Forest` for what each array means."""

    nodes: np.ndarray
    node_start: np.ndarray
    node_set: np.ndarray
    sets: np.ndarray
    leaf_start: np.ndarray
    leaf_value: np.ndarray
    leaf_end: np.ndarray
    entry_class: np.ndarray
    entry_share: np.ndarray
    n_outputs: int  # classes whose shares a leaf holds, or 1

    @property
    def n_trees(self) -> int:
        return len(self.node_start) - 1
