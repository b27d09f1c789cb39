"""A model as a program: tables of nodes that a loop of ten lines can walk in any language.

A row starts at the root of each tree. A node tests one column: a missing value follows the branch `missing`, a category
that did not occur in training the branch `unseen`, and any other value the branch of its test. A branch may also be
EVERY, where a fraction of the row follows each branch, or STOP, where the node itself predicts. The values at the ends
are added up tree by tree, divided, shifted by a constant, and turned into predictions by the link function.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewright.ship.exports.tree_sum import ExportError, TreeSum, sum_of
from treewright.table.column import Column
from treewright.tree.tree import SplitKind, Tree

# What `missing` and `unseen` may be instead of a branch.
EVERY, STOP = -1, -2


@dataclass(frozen=True, eq=False)
class Program:
    """All that is needed to predict.

    Attributes
    ----------
    learner : the name of the estimator.
    columns : the columns of a row.
    classes : the classes in the order of the predictions, None for numbers.
    roots, outputs : the first node of each tree, and the first output that its values add to.
    kind, column, threshold : of each node; see `SplitKind`.
    child, n_children : the first child of a node, and the number of children.
    missing, unseen : the branch of missing values and of unseen categories, or EVERY or STOP.
    share : the fraction of a row that follows the edge to this node, if it follows every branch.
    n_waiting : the largest number of nodes that wait while fractions of a row follow branches.
    members : for sets of categories, where the node's flags begin in `flags`, one flag per category.
    value : where the values of a node begin in `values`, -1 if it has none.
    n_values : the number of values of a leaf.
    divisor, constant : the sums are divided by the first, then the second is added.
    link, scale : the link function, and the factor of the scores before it.
    """

    learner: str
    columns: tuple[Column, ...]
    classes: tuple[Any, ...] | None
    roots: list[int]
    outputs: list[int]
    kind: list[int]
    column: list[int]
    threshold: list[float]
    child: list[int]
    n_children: list[int]
    share: list[float]
    n_waiting: int
    missing: list[int]
    unseen: list[int]
    members: list[int]
    flags: list[int]
    value: list[int]
    values: list[float]
    n_values: int
    divisor: float
    constant: list[float]
    link: str
    scale: float = 1.0

    @property
    def n_sums(self) -> int:
        return len(self.constant)


def program_of(model: Any) -> Program:
    """The program of a fitted model; what a program cannot do is an `ExportError`."""
    return _assemble(type(model).__name__, sum_of(model))


def _assemble(learner: str, given: TreeSum) -> Program:
    found: dict[str, list[Any]] = {
        name: []
        for name in (
            *("kind", "column", "threshold", "child", "n_children", "share", "missing", "unseen"),
            *("members", "flags", "value", "values"),
        )
    }
    roots = []
    for tree, of_node, _ in given.trees:
        roots.append(len(found["kind"]))
        _add_tree(found, tree, of_node)
    n_values = given.trees[0][1].shape[1]
    return Program(
        learner=learner,
        columns=given.columns,
        classes=given.classes,
        roots=roots,
        outputs=[output for _, _, output in given.trees],
        n_values=n_values,
        n_waiting=max(_most_waiting(tree) for tree, _, _ in given.trees),
        divisor=given.divisor,
        constant=[0.0] * n_values if given.constant is None else given.constant,
        link=given.link,
        scale=given.scale,
        **found,
    )


def _add_tree(found: dict[str, list[Any]], tree: Tree, of_node: np.ndarray) -> None:
    """Add the nodes of a tree to the tables."""
    check_tree(tree)
    first = len(found["kind"])
    leaf = tree.kind == SplitKind.LEAF
    found["kind"] += tree.kind.tolist()
    found["column"] += tree.column.tolist()
    found["threshold"] += np.where(np.isnan(tree.threshold), 0.0, tree.threshold + tree.tolerance).tolist()
    found["child"] += np.where(leaf, 0, tree.first_child + first).tolist()
    found["n_children"] += tree.n_children.tolist()
    found["share"] += tree.share.tolist()
    found["missing"] += np.where(leaf, 0, tree.missing_branch).tolist()
    for node in range(tree.n_nodes):
        found["unseen"].append(unseen_branch(tree, node))
        found["members"].append(-1)
        if tree.kind[node] == SplitKind.SUBSET:
            found["members"][-1] = len(found["flags"])
            flags = np.zeros(len(tree.columns[tree.column[node]].categories), dtype=int)
            flags[list(tree.category_set(node))] = 1
            found["flags"] += flags.tolist()
        has_value = leaf[node] or found["unseen"][-1] == STOP
        found["value"].append(len(found["values"]) if has_value else -1)
        if has_value:
            found["values"] += of_node[node].tolist()


def check_tree(tree: Tree, *, surrogates: bool = False, imputation: bool = False) -> None:
    """Refuse a tree with something that a format does not have; the format may have surrogates and imputation."""
    if tree.misclassification_costs is not None:
        raise ExportError("the model has misclassification costs, which exports do not have; fit it without them")
    if tree.surrogates is not None and not surrogates:
        raise ExportError(
            "the model has surrogate splits, which only PMML has; export it to 'pmml', or fit it with missing='learned'"
        )
    if tree.imputation is not None and not imputation:
        raise ExportError(
            "the model has an imputation, which only PMML has; export it to 'pmml', or fit it with missing='learned'"
        )


def _most_waiting(tree: Tree) -> int:
    divides = (tree.missing_branch[tree.n_children > 0] < 0).any()
    return tree.depth * int(tree.n_children.max()) + 1 if divides else 1


def unseen_branch(tree: Tree, node: int) -> int:
    """The branch of a category that did not occur in training, or EVERY or STOP."""
    if tree.kind[node] == SplitKind.LEAF or not tree.columns[tree.column[node]].categories:
        return 0
    if tree.unseen == "stop":
        return STOP
    if tree.unseen != "majority":
        return int(tree.missing_branch[node])
    n_known = len(tree.columns[tree.column[node]].categories)
    if tree.kind[node] == SplitKind.SUBSET and not tree.category_set(node):
        return 1
    n_branches = n_known if tree.kind[node] == SplitKind.MULTIWAY else int(tree.n_children[node])
    first = int(tree.first_child[node])
    return int(np.argmax(tree.weight[first : first + n_branches]))


def categories_by_branch(program: Program, node: int) -> dict[int, list[int]]:
    """The categories, by index, that follow each branch of a node."""
    numbers = range(len(program.columns[program.column[node]].categories))
    if program.kind[node] == SplitKind.MULTIWAY:
        return {k: [k] for k in numbers}
    if program.kind[node] == SplitKind.SUBSET:
        start = program.members[node]
        return {branch: [k for k in numbers if program.flags[start + k] == 1 - branch] for branch in (0, 1)}
    return {branch: [k for k in numbers if (k > program.threshold[node]) == bool(branch)] for branch in (0, 1)}


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """The wanted name, with underscores at the end if it is taken."""
    known = set(taken)
    while wanted in known:
        wanted += "_"
    return wanted


def check_classes(classes: tuple[Any, ...]) -> np.ndarray:
    """The classes as an array of text, whole numbers or numbers; other types are an error."""
    if all(isinstance(one, str) for one in classes):
        return np.array(classes)
    if all(isinstance(one, bool | int) and abs(one) < 1 << 63 for one in classes):
        return np.array(classes, dtype=np.int64)
    if all(isinstance(one, bool | int | float) for one in classes):
        return np.array(classes, dtype=np.float64)
    strange = next(type(one).__name__ for one in classes if not isinstance(one, str))
    raise ExportError(f"the classes are of type {strange}, which the format does not have; convert them to text")
