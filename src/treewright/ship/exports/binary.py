"""The trees of a program with two branches per node: what formats without splits into many branches need.

A category is its index, and a category that did not occur in training is the number of categories. A split into many
branches becomes a chain of tests of sets.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from treewright.ship.exports.program import EVERY, STOP, Program, categories_by_branch
from treewright.ship.exports.tree_sum import ExportError


@dataclass(eq=False)
class BinaryTree:
    """One tree; a side of a node is the number of a node, or of a leaf and True.

    Attributes
    ----------
    column, threshold : values up to the threshold pass the test of a node.
    codes : the categories that pass the test, None if the column has none or no category passes.
    missing_passes : whether a missing value passes.
    passing, failing : the sides of a node.
    leaves : the node of the program that each leaf predicts as.
    """

    column: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    codes: list[list[int] | None] = field(default_factory=list)
    missing_passes: list[bool] = field(default_factory=list)
    passing: list[tuple[int, bool]] = field(default_factory=list)
    failing: list[tuple[int, bool]] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)

    def add_test(self, column: int, codes: list[int] | None, threshold: float, missing_passes: bool) -> int:
        """Add a node, whose sides are set later."""
        self.column.append(column)
        self.codes.append(codes)
        self.threshold.append(threshold)
        self.missing_passes.append(missing_passes)
        self.passing.append((-1, False))
        self.failing.append((-1, False))
        return len(self.column) - 1

    def add_leaf(self, node: int) -> tuple[int, bool]:
        self.leaves.append(node)
        return len(self.leaves) - 1, True


# A way out of a node of categories: the categories that follow it, whether missing values do, the node of the program
# that it leads to, and whether that node predicts although it is no leaf.
_Way = tuple[list[int], bool, int, bool]

# A node of the program that is still to be added, and where it is to be noted: a list of sides, and the place there.
_Waiting = tuple[int, list[tuple[int, bool]], int]


def binary_trees(program: Program, format_name: str) -> list[BinaryTree]:
    """All trees of a program; a root without a split has no node and one leaf."""
    if EVERY in program.missing:
        raise ExportError(
            "the model sends fractions of a row down several branches (missing='fractional', as in C4.5), which "
            f"{format_name} cannot do; fit it with missing='learned'"
        )
    return [_binary(program, root) for root in program.roots]


def _binary(program: Program, root: int) -> BinaryTree:
    tree = BinaryTree()
    if program.kind[root] == 0:
        tree.add_leaf(root)
        return tree
    waiting = _add_node(tree, program, root)
    while waiting:
        node, sides, place = waiting.pop()
        if program.kind[node] == 0:
            sides[place] = tree.add_leaf(node)
            continue
        sides[place] = (len(tree.column), False)
        waiting += _add_node(tree, program, node)
    return tree


def _ways(program: Program, node: int) -> list[_Way]:
    """The ways out of a node of categories; each value follows exactly one of them."""
    chosen = categories_by_branch(program, node)
    unseen, missing = program.unseen[node], program.missing[node]
    code = len(program.columns[program.column[node]].categories)
    ways: list[_Way] = [([code], False, node, True)] if unseen == STOP else []
    for branch in range(program.n_children[node]):
        codes = [*chosen.get(branch, []), *([code] if branch == unseen else [])]
        if codes or branch == missing:
            ways.append((codes, branch == missing, program.child[node] + branch, False))
    # A test that is never passed, so that a node has two sides.
    return ways if len(ways) > 1 else [([], False, *ways[0][2:]), *ways]


def _add_node(tree: BinaryTree, program: Program, node: int) -> list[_Waiting]:
    """Add the tests of one node; returns its children."""
    column, child = program.column[node], program.child[node]
    if not program.columns[column].categories:
        at = tree.add_test(column, None, program.threshold[node], program.missing[node] == 0)
        return [(child, tree.passing, at), (child + 1, tree.failing, at)]
    children: list[_Waiting] = []
    ways = _ways(program, node)
    before = -1
    for codes, takes_missing, to, predicts in ways[:-1]:
        # No index of a category is as low as the threshold of a test without categories.
        at = tree.add_test(column, codes or None, -1.0, takes_missing)
        if before >= 0:
            tree.failing[before] = (at, False)
        before = at
        if predicts:
            tree.passing[at] = tree.add_leaf(to)
        else:
            children.append((to, tree.passing, at))
    return [*children, (ways[-1][2], tree.failing, before)]
