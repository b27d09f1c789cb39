"""Pruning methods: each decides which nodes of a tree become leaves, and `cut` makes the smaller tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from treewright.engines.criteria import CODES, class_impurity
from treewright.engines.elementary import log2_of
from treewright.runtime.sums import dot, product
from treewright.tree.descent import descend_rows, leaves_of, predictions_of
from treewright.tree.tree import Node, SplitKind, Tree

# Alphas closer than this share of the root's risk are one step of the pruning sequence.
SAME_PRICE = 1e-12


def cut(tree: Tree, at: np.ndarray) -> Tree:
    """Return the tree with these nodes as leaves; `at` is a flag per node."""
    keep = np.zeros(tree.n_nodes, dtype=bool)
    keep[0] = True
    for level in levels_of(tree)[1:]:
        above = tree.parent[level]
        keep[level] = keep[above] & ~at[above]
    index = np.cumsum(keep) - 1
    leaf = (at | (tree.kind == SplitKind.LEAF))[keep]
    first_child = np.where(leaf, 0, index[np.where(leaf, 0, tree.first_child[keep])])

    def unless_leaf(array: np.ndarray, value: float) -> np.ndarray:
        return np.where(leaf, np.array(value, dtype=array.dtype), array[keep])

    return tree.replace(
        kind=unless_leaf(tree.kind, SplitKind.LEAF),
        column=unless_leaf(tree.column, -1),
        threshold=unless_leaf(tree.threshold, math.nan),
        first_child=first_child.astype(tree.first_child.dtype),
        n_children=unless_leaf(tree.n_children, 0),
        missing_branch=unless_leaf(tree.missing_branch, 0),
        share=tree.share[keep],
        set_start=unless_leaf(tree.set_start, -1),
        weight=tree.weight[keep],
        rows=tree.rows[keep],
        impurity=tree.impurity[keep],
        gain=unless_leaf(tree.gain, 0.0),
        distribution=tree.distribution[keep],
        surrogates=None if tree.surrogates is None else tree.surrogates.take(keep, leaf),
    )


def collapse(tree: Tree) -> Tree:
    """Make every node a leaf if all leaves below it have its prediction."""
    prediction = tree.label if tree.target.is_classes else tree.predictions[:, 0]
    same = np.ones(tree.n_nodes, dtype=bool)
    for level in reversed(levels_of(tree)[1:]):
        above = tree.parent[level]
        np.logical_and.at(same, above, same[level] & (prediction[level] == prediction[above]))
    return cut(tree, same)


def prune_where(tree: Tree, rule: Callable[[Node], bool]) -> Tree:
    """Make every node a leaf for which the rule of the caller is true."""
    return cut(tree, np.array([bool(rule(tree.node(index))) for index in range(tree.n_nodes)]))


def prune_by_reduced_error(tree: Tree, values: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> Tree:
    """Make every node a leaf that is at least as good as its subtree on rows that the tree was not grown from.

    `targets` are class labels or numbers, and `values` are as `table.read_like` returns them. The nodes are visited
    from the leaves up (Quinlan 1987).
    """
    reached = descend_rows(tree, values)
    nodes, targets, weights = reached.nodes, targets[reached.rows], weights[reached.rows] * reached.fractions
    if tree.target.is_classes:
        counts = np.zeros((tree.n_nodes, len(tree.target.classes)))
        np.add.at(counts, (nodes, targets), weights)
        lost = (_sum_upwards(tree, counts) * _cost_matrix(tree)[:, tree.label].T).sum(axis=1)
        slack = 1e-6 * float(weights.mean())
    else:
        # Squared error of a node's prediction m on its rows: sum of w (y - m)^2, from the sums of w, wy and wyy. All
        # targets are relative to the root's mean.
        centred, mean = targets - tree.predictions[0, 0], tree.predictions[:, 0] - tree.predictions[0, 0]
        sums = np.zeros((tree.n_nodes, 3))
        np.add.at(sums, nodes, np.column_stack([weights, weights * centred, weights * centred**2]))
        sums = _sum_upwards(tree, sums)
        lost = sums[:, 2] - 2 * mean * sums[:, 1] + mean**2 * sums[:, 0]
        slack = 1e-9 * float(lost[0])
    # A row can stop at an inner node, which then predicts it in any case.
    stopped = np.where(tree.kind[nodes] != SplitKind.LEAF, loss_at(tree, targets, weights)(nodes), 0.0)
    own = np.bincount(nodes, stopped, minlength=tree.n_nodes)
    return cut(tree, _no_worse_as_leaf(tree, lost, slack=slack, own=own))


def collapse_by_errors(tree: Tree) -> Tree:
    """Make every node a leaf whose leaves are not better than itself on the training rows, as C4.5 always does."""
    errors = training_errors(tree)
    below = _sum_upwards(tree, np.where(tree.kind == SplitKind.LEAF, errors, 0.0))
    return cut(tree, below >= errors - 0.001)


def training_errors(tree: Tree) -> np.ndarray:
    """Compute the weight of the training rows at each node that are not of its class, or their cost.

    Rows that went down several branches with their full weight count in each with its share only, so that nodes can be
    compared.
    """
    if tree.misclassification_costs is not None:
        return np.asarray(product(tree.distribution, tree.misclassification_costs).min(axis=1)) * tree.scale
    return np.asarray(tree.weight - tree.distribution.max(axis=1)) * tree.scale


# Normal deviates of some confidences, between which Quinlan's release 8 interpolates.
R8_CONFIDENCES = (0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.00)
R8_DEVIATES = (4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.00)


def error_bounds(confidence: float, variant: str = "j48") -> tuple[float, float, float]:
    """Return the bounds for `raising.extra_errors`: confidence, normal deviate, and the share `all_wrong`.

    >>> error_bounds(0.25, "c4.5r8")
    (0.25, 0.6925, 0.67)
    """
    from statistics import NormalDist

    if variant == "c4.5r8":
        return confidence, float(np.interp(confidence, R8_CONFIDENCES, R8_DEVIATES)), 0.67
    confidence = float(np.float32(confidence))
    if confidence <= 0.0:
        return 0.0, 1e9, 1.0  # the extreme bound: all wrong
    return confidence, NormalDist().inv_cdf(1.0 - confidence) if confidence <= 0.5 else 0.0, 1.0


def extra_errors(n: float, errors: float, confidence: float, variant: str = "j48") -> float:
    """Return the errors to add to those observed among n rows for an upper bound at this confidence.

    >>> round(extra_errors(14, 0, 0.25), 6), round(extra_errors(100, 10, 0.25), 6)
    (1.319869, 2.749611)
    """
    from treewright.tree.pruning.raising import extra_errors as extra

    return float(extra(float(n), float(errors), *error_bounds(confidence, variant)))


def prune_by_estimated_error(tree: Tree, confidence: float, variant: str = "j48") -> Tree:
    """Prune as C4.5 does, by subtree replacement and upper bounds of the error (Quinlan 1993)."""
    errors = training_errors(tree)
    weights = tree.weight * tree.scale
    bounds = np.array(
        [error + extra_errors(n, error, confidence, variant) for n, error in zip(weights, errors, strict=True)]
    )
    return cut(tree, _no_worse_as_leaf(tree, bounds, slack=0.1 + 1e-6))


@dataclass(frozen=True, eq=False)
class Rows:
    """The training rows of a tree: values, class labels and weights."""

    values: np.ndarray
    labels: np.ndarray
    weights: np.ndarray


# The arrays of the pruning kernel in addition to those of the tree.
PRUNING_FIELDS = ("tree_threshold", "n_categories", "unseen", "estimate", "counts")


def prune_and_raise(tree: Tree, rows: Rows, confidence: float, variant: str = "j48") -> Tree:
    """Prune as C4.5 does with subtree raising: the largest branch can replace its parent.

    `rows` are the training rows of the tree.
    """
    from treewright.engines.exact.descent import UNSEEN_AS_MISSING
    from treewright.runtime.forms import choose_form
    from treewright.tree.pruning.raising import GrowingTree
    from treewright.tree.pruning.raising import prune_and_raise as run

    n_rows, n_classes = len(rows.values), len(tree.target.classes)
    widest, depth = int(tree.n_children.max()) + 2, tree.depth + 2
    # Only the columns of splits are needed, which of a sparse table are few.
    used = np.unique(tree.column[tree.column >= 0])
    place_of = np.append(np.searchsorted(used, np.arange(len(tree.columns))), -1)
    n_categories = np.array([len(tree.columns[place].categories) for place in used], dtype=np.int64)
    table = (np.ascontiguousarray(rows.values[:, used], dtype=np.float64), rows.labels.astype(np.int64))
    names = [name for name in GrowingTree._fields if name not in PRUNING_FIELDS]
    complete = not np.isnan(table[0]).any()
    capacity = 4 * n_rows
    while True:
        own = {name: np.array(getattr(tree, name)) for name in names}
        own["column"] = place_of[own["column"]].astype(own["column"].dtype)
        mutable = GrowingTree(
            **{**own, "threshold": tree.threshold + tree.tolerance},
            tree_threshold=own["threshold"],
            n_categories=n_categories,
            unseen=int(UNSEEN_AS_MISSING),
            estimate=np.zeros(tree.n_nodes),
            counts=np.zeros(n_classes),
        )
        arena = (np.empty(capacity, np.int64), np.empty(capacity), np.empty(capacity, np.int32))
        arena[0][:n_rows], arena[1][:n_rows] = np.arange(n_rows), rows.weights
        branches = (np.empty(widest), np.empty(widest, np.int64), np.empty(widest), np.empty(widest, np.int64))
        stack = tuple(np.empty(depth * widest, np.int64) for _ in range(3))
        frames = tuple(np.empty(depth, np.int64) for _ in range(5))
        starts = np.empty(depth * widest, np.int64)
        bounds = error_bounds(confidence, variant)
        if choose_form(tree.n_nodes * 64)(run)(
            table, mutable, arena, branches, stack, frames, starts, bounds, np.bool_(complete), np.int64(n_rows)
        ):
            column = np.append(used, -1)[mutable.column].astype(tree.column.dtype)
            found = {name: getattr(mutable, name) for name in names}
            return _rebuilt(tree, {**found, "column": column, "threshold": own["threshold"]})
        capacity *= 2


def _rebuilt(tree: Tree, arrays: dict[str, np.ndarray]) -> Tree:
    """Build a tree from the nodes that can still be reached; the gains of raised splits are computed again."""
    first_child, n_children = arrays["first_child"], arrays["n_children"]
    levels = [np.zeros(1, dtype=np.int64)]
    while len(levels[-1]):
        inner = levels[-1][n_children[levels[-1]] > 0]
        below = [np.arange(first_child[node], first_child[node] + n_children[node]) for node in inner]
        levels.append(np.concatenate(below) if below else np.empty(0, dtype=np.int64))
    order = np.concatenate(levels)
    place = np.zeros(tree.n_nodes, dtype=np.int64)
    place[order] = np.arange(len(order))
    leaf = n_children[order] == 0
    kept = {name: arrays[name][order] for name in arrays if name != "category_sets"}
    for name, value in (("column", -1), ("threshold", math.nan), ("missing_branch", 0), ("set_start", -1), ("gain", 0)):
        kept[name] = np.where(leaf, np.array(value, kept[name].dtype), kept[name])
    kept["first_child"] = np.where(leaf, 0, place[kept["first_child"]]).astype(first_child.dtype)
    changed = (arrays["distribution"] != tree.distribution).any(axis=1)[order] | (arrays["column"] != tree.column)[
        order
    ]
    kept["impurity"] = np.where(changed, _impurity_of(tree)(kept["distribution"]), kept["impurity"])
    smaller = tree.replace(**kept)
    return smaller.replace(gain=_gains(smaller, np.array(smaller.gain), changed & ~leaf))


def _impurity_of(tree: Tree) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function that computes the impurity of many nodes at once, by the criterion of a tree of classes."""
    at_once = {
        "gini": _gini_impurities,
        "information_gain": _entropies,
        "gain_ratio": _entropies,
        "error": _error_rates,
    }
    return at_once.get(tree.criterion, partial(_impurities, CODES[tree.criterion]))


def _impurities(criterion: int, distribution: np.ndarray) -> np.ndarray:
    """Compute the impurity of each node by the formula of the criterion."""
    totals = distribution.sum(axis=1)
    weighted = [class_impurity(line, total, criterion) for line, total in zip(distribution, totals, strict=True)]
    return np.divide(weighted, totals, out=np.zeros(len(totals)), where=totals > 0.0)


def _shares(distribution: np.ndarray) -> np.ndarray:
    total = distribution.sum(axis=1, keepdims=True)
    return np.divide(distribution, total, out=np.zeros_like(distribution), where=total > 0.0)


def _entropies(distribution: np.ndarray) -> np.ndarray:
    share = _shares(distribution)
    return np.asarray(-(share * log2_of(np.where(share > 0.0, share, 1.0))).sum(axis=1))


def _gini_impurities(distribution: np.ndarray) -> np.ndarray:
    share = _shares(distribution)
    return np.asarray((share * (1.0 - share)).sum(axis=1))


def _error_rates(distribution: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 - _shares(distribution).max(axis=1))


def _gains(tree: Tree, gain: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    for index in np.flatnonzero(nodes):
        children = slice(tree.first_child[index], tree.first_child[index] + tree.n_children[index])
        after = (tree.weight[children] * tree.impurity[children]).sum() / tree.weight[index]
        gain[index] = max(tree.impurity[index] - after, 0.0)
    return gain


def prune_pessimistically(tree: Tree) -> Tree:
    """Make a node a leaf unless its subtree's errors plus half an error per leaf are lower by a standard error.

    The nodes are visited from the root down (Quinlan 1987).
    """
    errors = training_errors(tree)
    leaf = tree.kind == SplitKind.LEAF
    below = _sum_upwards(tree, np.column_stack([np.where(leaf, errors, 0.0), leaf.astype(float)]))
    corrected = below[:, 0] + 0.5 * below[:, 1]
    weight = np.where(tree.weight > 0, tree.weight * tree.scale, 1.0)
    deviation = np.sqrt(np.maximum(corrected * (weight - corrected) / weight, 0.0))
    return cut(tree, errors + 0.5 <= corrected + deviation)


def prune_by_description_length(tree: Tree) -> Tree:
    """Keep a subtree only if it and the classes of its rows need fewer bits than a leaf.

    The code is that of Mehta, Rissanen and Agrawal (1995): one bit per node for its kind, the column and the position
    of a split, and for a leaf the classes of its rows.
    """
    n_classes = len(tree.target.classes)
    scaled = tree.distribution * tree.scale[:, None]
    leaf_bits = 1.0 + np.array([_class_bits(counts, n_classes) for counts in scaled])
    sizes = np.array([max(len(column.categories), 2) for column in tree.columns], dtype=float)
    inner = tree.kind != SplitKind.LEAF
    split_bits = np.zeros(tree.n_nodes)
    column = tree.column[inner]
    # A set of categories needs one bit per category. A threshold is one of the positions between the rows of its node.
    place = np.where(
        tree.kind[inner] == SplitKind.SUBSET, sizes[column], log2_of(np.maximum(tree.weight[inner] - 1.0, 1.0))
    )
    place = np.where(tree.kind[inner] == SplitKind.MULTIWAY, 0.0, place)
    split_bits[inner] = 1.0 + math.log2(len(tree.columns)) + place
    return cut(tree, _no_worse_as_leaf(tree, leaf_bits, own=split_bits))


def _class_bits(counts: np.ndarray, n_classes: int) -> float:
    total = float(counts.sum())
    if total <= 0.0:
        return 0.0
    data = sum(float(count) * math.log2(total / float(count)) for count in counts if count > 0.0)
    shape = math.log2(math.pi) * n_classes / 2.0 - math.lgamma(n_classes / 2.0) / math.log(2.0)
    return data + max((n_classes - 1) / 2.0 * math.log2(total / 2.0) + shape, 0.0)


def write_lines(columns: dict[str, np.ndarray]) -> str:
    """Write columns of numbers as a table of text."""
    names = list(columns)
    lines = [" ".join(f"{name:>16}" for name in names)]
    for cells in zip(*columns.values(), strict=True):
        lines.append(" ".join(f"{cell:16d}" if isinstance(cell, np.integer) else f"{cell:16.6f}" for cell in cells))
    return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class PruningPath:
    """The nested trees of cost-complexity pruning, from the whole tree to its root, with one line each.

    Attributes
    ----------
    ccp_alphas : the alpha from which on a tree is the best.
    leaves : its number of leaves.
    risks : its error rate, its mean squared error, or its impurity, on the training rows.
    validation : its error rate, or its mean squared error, on a validation set, if one was given.
    """

    ccp_alphas: np.ndarray
    leaves: np.ndarray
    risks: np.ndarray
    tree: Tree
    node_alphas: np.ndarray
    validation: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.ccp_alphas)

    @property
    def prices(self) -> np.ndarray:
        """Return one alpha for each step of the sequence: the geometric mean of the alphas where it begins and ends."""
        return np.append(np.sqrt(self.ccp_alphas[:-1] * self.ccp_alphas[1:]), np.inf)

    @property
    def trees(self) -> list[Tree]:
        """Return all trees of the sequence, each nested in the one before."""
        slack = SAME_PRICE * max(abs(float(self.risks[-1])), 1e-300)
        return [cut(self.tree, self.node_alphas <= ccp_alpha + slack) for ccp_alpha in self.ccp_alphas]

    def as_dict(self) -> dict[str, np.ndarray]:
        """Return the table by columns, for a frame or a plot."""
        columns = {"leaves": self.leaves, "ccp_alpha": self.ccp_alphas, "training_error": self.risks}
        return columns if self.validation is None else {**columns, "validation_error": self.validation}

    def __repr__(self) -> str:
        return f"PruningPath(of {len(self)} trees, from {self.leaves[0]} leaves to {self.leaves[-1]})"

    def __str__(self) -> str:
        return write_lines(self.as_dict())


def node_risks(tree: Tree, risk: str) -> np.ndarray:
    """Compute the risk of each node as a leaf, as a share of all weight: its errors, or its impurity."""
    by_error = risk == "error" and tree.target.is_classes
    lost = training_errors(tree) if by_error else tree.impurity * tree.weight * tree.scale
    return np.where(tree.rows > 0, lost, 0.0) / tree.weight[0]


def weakest_links(tree: Tree, risk: str = "error") -> tuple[np.ndarray, PruningPath]:
    """Return the alpha at which each inner node disappears (infinite at a leaf), and the sequence of trees."""
    from treewright.runtime.forms import choose_form
    from treewright.tree.pruning.weakest_link import order_of_pruning

    n = tree.n_nodes
    risks = node_risks(tree, risk)
    ccp_alphas, steps = np.full(n, np.inf), np.empty((n, 3))
    workspace = (np.empty(n), np.empty(n, np.int64), np.empty(n), *(np.empty(n, np.int64) for _ in range(3)))
    links = (tree.parent, tree.first_child, tree.n_children)
    n_steps = choose_form(n)(order_of_pruning)(*links, risks, *workspace, ccp_alphas, steps)
    leaf = tree.kind == SplitKind.LEAF
    whole = np.array([[0.0, tree.n_leaves, risks[leaf].sum()]])
    steps = np.concatenate([whole, steps[:n_steps]])
    # Steps with equal alphas are one step, and the last of them counts.
    last = np.append(np.diff(steps[:, 0]) > SAME_PRICE * max(abs(risks[0]), 1e-300), True)
    path = PruningPath(steps[last, 0], steps[last, 1].astype(np.int64), steps[last, 2], tree, ccp_alphas)
    return ccp_alphas, path


def validate_path(
    tree: Tree, path: PruningPath, values: np.ndarray, targets: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Compute the mean loss of each tree of the sequence on some rows."""
    if (tree.missing_branch < 0).any():
        # Fractions of a row are in several leaves, so each tree must predict separately.
        losses = [dot(weights, _losses(smaller, values, targets)) for smaller in path.trees]
        return np.array(losses) / weights.sum()
    loss = loss_at(tree, targets, weights)
    sums = losses_by_price(tree, path.node_alphas, path.prices, leaves_of(tree, values), loss)
    return np.asarray(sums[:, 0] / weights.sum())


def loss_at(tree: Tree, targets: np.ndarray, weights: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of one node per row: the cost of its prediction, or its squared error."""
    if tree.target.is_classes:
        costs = _cost_matrix(tree)
        return lambda node: np.asarray(weights * costs[targets, tree.label[node]])
    return lambda node: np.asarray(weights * (tree.predictions[node, 0] - targets) ** 2)


def _cost_matrix(tree: Tree) -> np.ndarray:
    """Return the cost of each prediction for each class, which is 1 for every error unless the tree has costs."""
    return (
        tree.misclassification_costs
        if tree.misclassification_costs is not None
        else 1.0 - np.eye(len(tree.target.classes))
    )


def _losses(tree: Tree, values: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Compute the loss of the tree's prediction for each row."""
    said = predictions_of(tree, values)
    if not tree.target.is_classes:
        return np.asarray((said[:, 0] - targets) ** 2)
    return np.asarray(_cost_matrix(tree)[targets, tree.labels_for(said)])


def prune_by_cost_complexity(tree: Tree, ccp_alpha: float, risk: str = "error") -> Tree:
    """Return the smallest tree with the least risk plus ccp_alpha per leaf (Breiman et al. 1984)."""
    ccp_alphas, _ = weakest_links(tree, risk)
    slack = SAME_PRICE * max(abs(float(node_risks(tree, risk)[0])), 1e-300)
    return cut(tree, ccp_alphas <= ccp_alpha + slack)


def levels_of(tree: Tree) -> list[np.ndarray]:
    """Return the nodes of each depth."""
    order = np.argsort(tree.depth_of, kind="stable")
    return np.split(order, np.cumsum(np.bincount(tree.depth_of))[:-1])


def _sum_upwards(tree: Tree, sums: np.ndarray) -> np.ndarray:
    """Add to every node the sums of the nodes below it."""
    sums = np.array(sums)
    for level in reversed(levels_of(tree)[1:]):
        np.add.at(sums, tree.parent[level], sums[level])
    return sums


def _no_worse_as_leaf(
    tree: Tree, as_leaf: np.ndarray, slack: float = 1e-9, own: np.ndarray | None = None
) -> np.ndarray:
    """Find from the leaves up the nodes whose loss as a leaf is at most the loss of their pruned branches.

    `own` is the cost of a split itself.
    """
    cut_here = np.zeros(tree.n_nodes, dtype=bool)
    best = np.zeros(tree.n_nodes) if own is None else np.array(own)
    leaf = tree.kind == SplitKind.LEAF
    best[leaf] = as_leaf[leaf]
    for level in reversed(levels_of(tree)):
        inner = level[~leaf[level]]
        cut_here[inner] = as_leaf[inner] <= best[inner] + slack
        best[inner[cut_here[inner]]] = as_leaf[inner[cut_here[inner]]]
        if level[0] > 0:
            np.add.at(best, tree.parent[level], best[level])
    return cut_here


def losses_by_price(
    tree: Tree, ccp_alphas: np.ndarray, prices: np.ndarray, leaves: np.ndarray, loss: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Sum up, for each of the ascending alphas, the losses and squared losses of the rows in the tree pruned at it.

    `ccp_alphas` are those of `weakest_links`. `leaves` contains the leaf of each row in the whole tree. `loss` returns
    the loss of every row at a given node. A node predicts a row from its own alpha up to that of its parent, so one
    pass from the leaves to the root is enough for all alphas. Ancestors with no higher alpha are skipped.
    """
    sums = np.zeros((len(prices) + 1, 2))
    slack = SAME_PRICE * max(float(np.max(ccp_alphas[np.isfinite(ccp_alphas)], initial=0.0)), 1e-300)
    steps = np.where(tree.kind == SplitKind.LEAF, 0, np.searchsorted(prices, ccp_alphas - slack))
    higher, below = _higher_ancestors(tree.parent.tolist(), steps.tolist())
    node = np.array(leaves)
    begins = np.zeros(len(node), dtype=np.int64)
    while (node >= 0).any():
        above = np.where(node >= 0, higher[node], -1)
        ends = np.where(above >= 0, steps[above], len(prices))
        here = (node >= 0) & (ends > begins)
        lost = loss(np.where(node >= 0, below[node], 0))[here]
        for power in (0, 1):
            np.add.at(sums[:, power], begins[here], lost ** (power + 1))
            np.add.at(sums[:, power], ends[here], -(lost ** (power + 1)))
        begins = np.maximum(begins, ends)
        node = above
    return np.cumsum(sums, axis=0)[:-1]


def _higher_ancestors(parent: list[int], steps: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return for each node its nearest ancestor with a higher step, -1 if there is none, and the node just below that.

    Parents come before their children, so the ancestors of a node are known.
    """
    higher, below = [-1] * len(parent), list(range(len(parent)))
    for node, above in enumerate(parent):
        last = node
        while above >= 0 and steps[above] <= steps[node]:
            last, above = below[above], higher[above]
        higher[node], below[node] = above, last
    return np.array(higher, dtype=np.int64), np.array(below, dtype=np.int64)
