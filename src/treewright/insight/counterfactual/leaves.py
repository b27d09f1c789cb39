"""A sum of trees as a list of leaves, with the choices of each column that let a row pass to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treewright.insight.counterfactual.choices import Choices
from treewright.insight.shapley.models import SumOfTrees, TreeGroup
from treewright.insight.shapley.paths import PathTree


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves of all trees. A row reaches a leaf by the product over columns of what its choices let pass.

    Attributes
    ----------
    value : what each leaf adds to each output.
    tree : the tree of each leaf, in ascending order.
    trained : whether training rows reach the leaf.
    term : for each leaf and column, the line of `passing` of that column; -1 if the path does not test it.
    passing : for each column a line per term and an entry per choice: the fraction of the row that passes.
    own : for each leaf and column, what the row's own value lets pass.
    constant : the outputs without any tree.
    loose : columns whose own value is missing and whose branches depend on other columns, as with surrogates.
    """

    value: np.ndarray
    tree: np.ndarray
    trained: np.ndarray
    term: np.ndarray
    passing: list[np.ndarray]
    own: np.ndarray
    constant: np.ndarray
    loose: bool

    @property
    def n_trees(self) -> int:
        return int(self.tree[-1]) + 1 if len(self.tree) else 0

    @property
    def is_divided(self) -> bool:
        """Whether some row may end in several leaves of a tree."""
        return self.loose or any(passed.dtype != np.bool_ for passed in self.passing)

    def of_column(self, place: int, leaves: np.ndarray) -> np.ndarray:
        """What each choice of a column lets pass to some leaves: [leaf, choice]."""
        term = self.term[leaves, place]
        passed = np.ones((len(leaves), self.passing[place].shape[1]))
        tested = term >= 0
        passed[tested] = self.passing[place][term[tested]]
        return passed


def list_leaves(
    found: SumOfTrees, row: np.ndarray, choices: list[Choices], loose: frozenset[int], constant: np.ndarray
) -> Leaves:
    """All leaves of a sum of trees; `row` is the row in the terms of the model, as a table of one line."""
    n_columns = len(choices)
    rows = np.repeat(row, sum(map(len, choices)), axis=0)
    ends = np.cumsum([len(one) for one in choices])
    blocks = [slice(int(end) - len(one), int(end)) for one, end in zip(choices, ends, strict=True)]
    for place, block in enumerate(blocks):
        rows[block, place] = choices[place].values
    passing: list[list[np.ndarray]] = [[] for _ in range(n_columns)]
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for group in found.groups:
        encoded = group.encode(rows)
        for tree in group.trees:
            parts.append(_of_tree(group, tree, encoded, blocks, passing, loose))
    term = np.concatenate([part[2] for part in parts])
    stacked = [
        np.array(lines) if lines else np.zeros((0, len(choices[place])), dtype=bool)
        for place, lines in enumerate(passing)
    ]
    own = np.ones(term.shape)
    for place, lines in enumerate(stacked):
        tested = term[:, place] >= 0
        own[tested, place] = lines[term[tested, place], 0]
    return Leaves(
        value=np.concatenate([part[0] for part in parts]),
        tree=np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts]),
        trained=np.concatenate([part[1] for part in parts]),
        term=term,
        passing=stacked,
        own=own,
        constant=constant,
        loose=bool(loose),
    )


def _of_tree(
    group: TreeGroup,
    tree: PathTree,
    encoded: np.ndarray,
    blocks: list[slice],
    passing: list[list[np.ndarray]],
    loose: frozenset[int],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The values, training and terms of the leaves of one tree; adds its terms to `passing`."""
    fractions: Any = tree.fractions(encoded)
    if ((fractions == 0.0) | (fractions == 1.0)).all():
        fractions = fractions.astype(bool)
    n_nodes = len(tree.parent)
    term = np.full((n_nodes, len(blocks)), -1, dtype=np.int32)
    trained = np.ones(n_nodes, dtype=bool)
    for node in range(1, n_nodes):  # in preorder, so the parent comes first
        above, place = int(tree.parent[node]), int(group.origin[tree.column[node]])
        term[node] = term[above]
        trained[node] = trained[above] and tree.ratio[node] > 0.0
        passed = fractions[blocks[place], node].copy()
        if place in loose:
            passed[0] = 1
        before = int(term[above, place])
        passing[place].append(passed if before < 0 else passed * passing[place][before])
        term[node, place] = len(passing[place]) - 1
    leaf = tree.is_leaf
    value = np.zeros((int(leaf.sum()), len(group.outputs)))
    for place, output in enumerate(group.outputs):
        if output is not None:
            value[:, place] = output[1] * group.weight * tree.value[leaf, output[0]]
    return value, trained[leaf], term[leaf]


def distinct_choices(leaves: Leaves, choices: list[Choices]) -> tuple[Leaves, list[Choices]]:
    """Without choices that pass to the same leaves as one of smaller magnitude."""
    kept_choices, kept_passing = [], []
    for passed, one in zip(leaves.passing, choices, strict=True):
        _, first = np.unique(passed, axis=1, return_index=True) if len(passed) else (None, np.zeros(1, np.intp))
        kept = np.union1d([0], first)
        kept_choices.append(one.take(kept))
        kept_passing.append(np.ascontiguousarray(passed[:, kept]))
    changed = {name: getattr(leaves, name) for name in leaves.__dataclass_fields__}
    return Leaves(**{**changed, "passing": kept_passing}), kept_choices
