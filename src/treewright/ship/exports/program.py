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
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from treewright.estimators.base import columns_of
from treewright.estimators.boosting.learners import Boosting
from treewright.estimators.boosting.losses import Exponential, LogLoss, ManyClasses, Tweedie
from treewright.estimators.forest.base import ForestLearner
from treewright.estimators.single.base import TreeLearner
from treewright.ship.layout import ModelFileError
from treewright.table.column import Column
from treewright.tree.forest import Forest
from treewright.tree.tree import SplitKind, Tree
from treewright.tree.tree_list import TreeList

# The link functions: how sums become predictions.
IDENTITY, COMPLEMENT, LOGISTIC, SOFTMAX, EXP = "identity", "complement", "logistic", "softmax", "exp"


# What `missing` and `unseen` may be instead of a branch.
EVERY, STOP = -1, -2


class ExportError(ModelFileError):
    """A model that a format cannot represent; the message names what it is."""


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


# A tree, the values of its nodes in the order of the classes, and the first output that they add to.
WeightedTree = tuple[Tree, np.ndarray, int]


@dataclass(frozen=True, eq=False)
class TreeSum:
    """A model as a sum of trees: divided, shifted by constants, and turned into predictions by a link function."""

    trees: list[WeightedTree]
    divisor: float = 1.0
    constant: list[float] | None = None
    link: str = IDENTITY
    scale: float = 1.0


def program_of(model: Any) -> Program:
    """The program of a fitted model; what a program cannot do is an `ExportError`."""
    found = sum_of(model)
    return _assemble(model, found.trees, found.divisor, found.constant, found.link, found.scale)


def sum_of(model: Any) -> TreeSum:
    """The trees of a fitted model, and how predictions follow from them."""
    check_is_fitted(model)
    if isinstance(model, TreeLearner):
        return TreeSum([(model.tree_, values_in_order(model, model.tree_.value), 0)])
    if isinstance(model, ForestLearner):
        trees, choice = _of_forest(model)
    elif isinstance(model, Boosting):
        trees, choice = _of_boosting(model)
    else:
        raise ExportError(f"{type(model).__name__} cannot be exported; single trees, forests and gradient boosting can")
    return TreeSum(trees, *choice)


def values_in_order(model: Any, by_label: np.ndarray) -> np.ndarray:
    """Values by label in the order of `classes_`."""
    if getattr(model, "n_outputs_", 1) > 1:
        raise ExportError("a model of several targets cannot be exported; fit one model for each of them")
    return by_label[:, model._labels_of_classes()] if is_classifier(model) else by_label


def _of_forest(model: Any) -> tuple[list[tuple[Tree, np.ndarray, int]], Any]:
    forest = model.forest_
    if model._by_majority():
        raise ExportError("a forest with voting='hard' cannot be exported; use voting='soft'")
    if not isinstance(forest, Forest):
        return [(tree, values_in_order(model, tree.value), 0) for tree in forest], (
            float(len(forest)),
            None,
            IDENTITY,
            1.0,
        )
    trees = []
    of_leaves = forest.leaf_outputs()
    for number, tree in enumerate(forest):
        leaves = slice(forest.leaf_start[number], forest.leaf_start[number + 1])
        of_node = np.zeros((tree.n_nodes, of_leaves.shape[1]))
        of_node[forest.leaf_nodes[leaves]] = of_leaves[leaves]
        trees.append((tree, of_node if of_leaves.shape[1] == 1 else values_in_order(model, of_node), 0))
    link = IDENTITY
    if is_classifier(model) and of_leaves.shape[1] == 1:
        # A leaf has the share of the label 1.
        link = COMPLEMENT if model._labels_of_classes().tolist() == [0, 1] else "swapped"
        if link == "swapped":
            raise ExportError("the classes of this forest are declared in descending order; declare them in order")
    return trees, (float(len(forest)), None, link, 1.0)


def _of_boosting(model: Any) -> tuple[list[tuple[Tree, np.ndarray, int]], Any]:
    if model.init_ is not None:
        raise ExportError("a boosted model that starts from another model (init) cannot be exported")
    if model.target_encoding_.means:
        names = ", ".join(repr(model.columns_[place].name) for place in model.target_encoding_.means)
        raise ExportError(
            f"column {names} is target encoded, which a program cannot do; leave it out, or merge categories"
        )
    forests, links = model.forests_, {LogLoss: (LOGISTIC, 1.0), Exponential: (LOGISTIC, 2.0)}
    order = model._labels_of_classes().tolist() if is_classifier(model) else [0]
    link, scale = links.get(type(model.loss_), (IDENTITY, 1.0))
    if isinstance(model.loss_, ManyClasses):
        link = SOFTMAX
    elif isinstance(model.loss_, Tweedie):
        link = EXP
    elif is_classifier(model) and link != LOGISTIC:
        raise ExportError("a model of classes with a loss of your own cannot be exported")
    if len(forests) > 1 and link != SOFTMAX:
        raise ExportError("a boosted model of several numbers cannot be exported; fit one model for each of them")
    if link == LOGISTIC and order != [0, 1]:
        raise ExportError("the classes of this model are declared in descending order; declare them in order")
    places = order if link == SOFTMAX else [0]
    trees = []
    for output, place in enumerate(places):
        forest = forests[place]
        for number, tree in enumerate(forest):
            of_node = tree.value if isinstance(forest, TreeList) else _values_of_leaves(forest, number, tree)
            trees.append((tree, of_node, output))
    return trees, (1.0, [float(model.initial_[place]) for place in places], link, scale)


def _values_of_leaves(forest: Forest, number: int, tree: Tree) -> np.ndarray:
    """The values at the leaves of one tree, zeros at other nodes; those of `Tree.value` have rounding errors."""
    leaves = slice(forest.leaf_start[number], forest.leaf_start[number + 1])
    of_node = np.zeros((tree.n_nodes, 1))
    of_node[forest.leaf_nodes[leaves], 0] = forest.leaf_value[leaves]
    return of_node


def _assemble(
    model: Any, trees: list[tuple[Tree, np.ndarray, int]], divisor: float, constant: Any, link: str, scale: float
) -> Program:
    columns = columns_of(model)
    found: dict[str, list[Any]] = {
        name: []
        for name in (
            *("kind", "column", "threshold", "child", "n_children", "share", "missing", "unseen"),
            *("members", "flags", "value", "values"),
        )
    }
    roots = []
    for tree, of_node, _ in trees:
        roots.append(len(found["kind"]))
        _add_tree(found, tree, of_node)
    n_values = trees[0][1].shape[1]
    return Program(
        learner=type(model).__name__,
        columns=columns,
        classes=tuple(model.classes_.tolist()) if is_classifier(model) else None,
        roots=roots,
        outputs=[output for _, _, output in trees],
        n_values=n_values,
        n_waiting=max(_most_waiting(tree) for tree, _, _ in trees),
        divisor=divisor,
        constant=[0.0] * n_values if constant is None else constant,
        link=link,
        scale=scale,
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
            "the model imputes missing values, which only PMML does; export it to 'pmml', or fit it with "
            "missing='learned'"
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
