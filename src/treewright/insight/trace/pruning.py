"""Replay of pruning: for each node the estimate with and without its subtree, and the decision."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from treewright.estimators.single.c45_specification import C45Spec
from treewright.insight.measures import upper_error_bound
from treewright.insight.trace.rows import Here, branches_of, divide
from treewright.insight.trace.steps import PruningStep
from treewright.insight.trace.training import Replay
from treewright.tree.tree import SplitKind, Tree

# A smaller tree is preferred up to this increase of the estimated errors (Quinlan's C4.5, release 8).
SLACK, CLOSE = 0.1, 1e-6

# Larger trees are pruned without a step per node.
MOST_NODES, MOST_LEVELS = 2000, 200

Paths = list[tuple[str, ...]]


def trace_pruning(replay: Replay) -> tuple[list[PruningStep], list[str]]:
    """A step per decision of pruning, and sentences about what is not shown."""
    tree, pruning = replay.tree, replay.pruning
    if pruning is None and not isinstance(replay.spec, C45Spec):
        return [], []
    if tree.n_leaves == 1:
        return [], ["The tree is a single leaf, so there was nothing to prune."]
    if tree.n_nodes > MOST_NODES or tree.depth > MOST_LEVELS:
        return [], [f"The tree had {tree.n_nodes} nodes before pruning; the decisions are not shown one by one."]
    if tree.misclassification_costs is not None:
        return [], ["Pruning with misclassification costs is not shown step by step."]
    paths = _paths(tree)
    method = None if pruning is None else pruning.method
    if method is None:
        return _collapse_by_errors(tree, paths)[0], []
    if method == "cost_complexity":
        alpha = float(replay_alpha(replay))
        return _cost_complexity(tree, alpha, paths), []
    if method == "reduced_error":
        return _reduced_error(replay, paths), []
    if method == "error_based":
        return _error_based(replay, paths), []
    if method == "pessimistic":
        return _pessimistic(tree, paths), []
    return [], [f"The decisions of {method!r} are not shown step by step."]


def replay_alpha(replay: Replay) -> float:
    """The cost of a leaf that the tree was pruned with."""
    alpha = replay.ccp_alpha
    return 0.0 if alpha is None else float(alpha)


def _paths(tree: Tree) -> Paths:
    paths: Paths = [()] * tree.n_nodes
    for node in tree:
        for test, child in zip(node.tests, node.children, strict=True):
            paths[child.index] = (*paths[node.index], str(test))
    return paths


def _errors(tree: Tree) -> np.ndarray:
    return np.asarray(tree.weight - tree.distribution.max(axis=1)) * tree.scale


def _children(tree: Tree, node: int) -> range:
    return range(int(tree.first_child[node]), int(tree.first_child[node]) + int(tree.n_children[node]))


def _is_leaf(tree: Tree) -> np.ndarray:
    return np.asarray(tree.kind == SplitKind.LEAF)


def _collapse_by_errors(tree: Tree, paths: Paths) -> tuple[list[PruningStep], np.ndarray]:
    """C4.5 first collapses subtrees that make no fewer errors on the training rows than a leaf."""
    errors, leaf = _errors(tree), _is_leaf(tree)
    below = np.where(leaf, errors, 0.0)
    for node in range(tree.n_nodes - 1, 0, -1):
        below[tree.parent[node]] += below[node]
    steps, at = [], np.zeros(tree.n_nodes, dtype=bool)
    for node in np.flatnonzero(~leaf).tolist():
        if below[node] < errors[node] - 0.001 or _is_below(tree, node, at):
            continue
        at[node] = True
        words = (
            f"its leaves make {below[node]:.2f} errors, and a leaf {errors[node]:.2f}: no fewer, so it becomes a leaf"
        )
        steps.append(
            PruningStep("collapse", node, paths[node], float(below[node]), float(errors[node]), None, "leaf", words)
        )
    return steps, at


def _is_below(tree: Tree, node: int, at: np.ndarray) -> bool:
    above = int(tree.parent[node])
    while above >= 0:
        if at[above]:
            return True
        above = int(tree.parent[above])
    return False


def _cost_complexity(tree: Tree, alpha: float, paths: Paths) -> list[PruningStep]:
    """The sequence of weakest links (Breiman et al. 1984): the node whose subtree saves the least per leaf is cut."""
    total = float(tree.weight[0])
    lost = _errors(tree) if tree.target.is_classes else tree.impurity * tree.weight * tree.scale
    risk = np.where(tree.rows > 0, lost, 0.0) / total
    leaf = _is_leaf(tree).copy()
    slack = 1e-12 * max(abs(float(risk[0])), 1e-300)
    below, leaves = np.where(leaf, risk, 0.0), leaf.astype(float)
    alive = np.ones(tree.n_nodes, dtype=bool)
    for node in range(tree.n_nodes - 1, 0, -1):
        below[tree.parent[node]] += below[node]
        leaves[tree.parent[node]] += leaves[node]
    steps, reached = [], 0.0
    while not leaf[0]:
        inner = np.flatnonzero(alive & ~leaf)
        links = (risk[inner] - below[inner]) / (leaves[inner] - 1.0)
        weakest = int(inner[np.argmin(links)])
        reached = max(reached, float(links.min()))
        cut = reached <= alpha + slack
        words = (
            f"g(t) = ({risk[weakest]:.4f} - {below[weakest]:.4f}) / ({leaves[weakest]:.0f} - 1) = {links.min():.4f}, "
            f"{'at most' if cut else 'above'} ccp_alpha = {alpha:.4f}: it {'becomes a leaf' if cut else 'is kept'}"
        )
        figures: tuple[tuple[str, float], ...] = (
            ("alpha", reached),
            ("leaves", float(leaves[0] - leaves[weakest] + 1)),
        )
        figures += (("risk", float(below[0] + risk[weakest] - below[weakest])),)
        outcome = "leaf" if cut else "kept"
        ends = (float(below[weakest]), float(risk[weakest]), None)
        steps.append(PruningStep("cost_complexity", weakest, paths[weakest], *ends, outcome, words, figures))
        leaf[weakest], below[weakest], leaves[weakest] = True, risk[weakest], 1.0
        _end_below(tree, weakest, alive)
        _add_up(tree, weakest, below, leaves)
    return steps


def _end_below(tree: Tree, node: int, alive: np.ndarray) -> None:
    """Mark the descendants of a node, which can no longer be reached."""
    waiting = list(_children(tree, node))
    while waiting:
        child = waiting.pop()
        if alive[child]:
            alive[child] = False
            waiting += _children(tree, child)


def _add_up(tree: Tree, node: int, below: np.ndarray, leaves: np.ndarray) -> None:
    """Compute the sums of the ancestors of a node again, in the order of a pass over the whole tree."""
    above = int(tree.parent[node])
    while above >= 0:
        below[above] = leaves[above] = 0.0
        for child in reversed(_children(tree, above)):
            below[above] += below[child]
            leaves[above] += leaves[child]
        above = int(tree.parent[above])


def _reduced_error(replay: Replay, paths: Paths) -> list[PruningStep]:
    """Errors, or squared errors, on the validation set, with the subtree and as a leaf (Quinlan 1987)."""
    tree, unseen = replay.tree, replay.validation
    assert unseen is not None
    lost = np.zeros(tree.n_nodes)
    waiting = [(0, Here(np.arange(len(unseen.y)), unseen.weights, np.ones(len(unseen.y))))]
    while waiting:
        node, here = waiting.pop()
        y = unseen.y[here.rows]
        if tree.target.is_classes:
            lost[node] = float(here.weights[y != tree.label[node]].sum())
        else:
            lost[node] = float((here.weights * (y - tree.predictions[node, 0]) ** 2).sum())
        if tree.n_children[node]:
            # Rows that are counted whole in every branch in training are still divided here.
            children, _ = divide(tree, node, here, unseen.values, 1, grown=False)
            waiting += list(zip(_children(tree, node), children, strict=True))
    slack = 1e-6 * float(unseen.weights.mean()) if tree.target.is_classes else 1e-9 * float(lost[0])
    what = "errors" if tree.target.is_classes else "squared error"
    return _bottom_up(tree, lost, slack, "reduced_error", f"{what} on {len(unseen.y)} validation rows", paths)


def _bottom_up(
    tree: Tree, as_leaf: np.ndarray, slack: float, method: str, what: str, paths: Paths, skip: np.ndarray | None = None
) -> list[PruningStep]:
    """Decide from the leaves up: a node becomes a leaf if that is not worse than its pruned branches."""
    best = np.where(_is_leaf(tree) if skip is None else _is_leaf(tree) | skip, as_leaf, 0.0)
    steps = []
    for node in range(tree.n_nodes - 1, -1, -1):
        if _is_leaf(tree)[node] or (skip is not None and (skip[node] or _is_below(tree, node, skip))):
            continue
        below = float(best[list(_children(tree, node))].sum())
        cut = bool(as_leaf[node] <= below + slack)
        best[node] = as_leaf[node] if cut else below
        margin = f" + {slack:g}" if slack > 0.01 else ""
        words = f"{what}: subtree {below:.4g}{margin}, leaf {as_leaf[node]:.4g}: it {_outcome(cut)}"
        outcome = "leaf" if cut else "kept"
        steps.append(PruningStep(method, node, paths[node], below, float(as_leaf[node]), None, outcome, words))
    return steps


def _outcome(cut: bool) -> str:
    return "becomes a leaf" if cut else "is kept"


def _pessimistic(tree: Tree, paths: Paths) -> list[PruningStep]:
    """Half an error per leaf is added, and a standard error (Quinlan 1987); from the root down."""
    errors, leaf = _errors(tree), _is_leaf(tree)
    below, leaves = np.where(leaf, errors, 0.0), leaf.astype(float)
    for node in range(tree.n_nodes - 1, 0, -1):
        below[tree.parent[node]] += below[node]
        leaves[tree.parent[node]] += leaves[node]
    steps, at = [], np.zeros(tree.n_nodes, dtype=bool)
    for node in np.flatnonzero(~leaf).tolist():
        if _is_below(tree, node, at):
            continue
        corrected = float(below[node] + 0.5 * leaves[node])
        weight = float(tree.weight[node] * tree.scale[node])
        deviation = float(np.sqrt(max(corrected * (weight - corrected) / weight, 0.0)))
        at[node] = errors[node] + 0.5 <= corrected + deviation
        words = (
            f"leaf {errors[node]:.2f} + 0.5, subtree {below[node]:.2f} + 0.5 * {leaves[node]:.0f} leaves = "
            f"{corrected:.2f}, and its standard error {deviation:.2f}: it {_outcome(bool(at[node]))}"
        )
        figures = (("standard error", deviation),)
        outcome = "leaf" if at[node] else "kept"
        ends = (corrected, float(errors[node]) + 0.5, None)
        steps.append(PruningStep("pessimistic", node, paths[node], *ends, outcome, words, figures))
    return steps


@dataclass(eq=False)
class Live:
    """A node while it is pruned: the node of the grown tree whose split it has, -1 for a leaf, and its rows."""

    split: int
    origin: int
    here: Here
    children: list[Live] = field(default_factory=list)
    estimate: float = 0.0


@dataclass(frozen=True, eq=False)
class Bounds:
    """All that error-based pruning with raising needs."""

    tree: Tree
    values: np.ndarray
    labels: np.ndarray
    confidence: float
    variant: str

    def leaf(self, here: Here) -> tuple[float, float, float]:
        """Weight, errors and the upper bound of the errors of these rows."""
        n_classes = len(self.tree.target.classes)
        counts = np.bincount(self.labels[here.rows], here.weights, minlength=n_classes)
        total = float(counts.sum())
        errors = max(total - float(counts.max()), 0.0)
        if total <= CLOSE:
            return total, errors, 0.0
        return total, errors, upper_error_bound(total, errors, self.confidence, self.variant)

    def send(self, split: int, here: Here) -> list[Here]:
        """The rows of each branch; rows without a value are divided like the others."""
        to = branches_of(self.tree, split, self.values[here.rows])
        n_children = int(self.tree.n_children[split])
        branch = int(self.tree.missing_branch[split])
        missing = to < 0
        if branch >= 0:
            to[missing] = branch
            missing = np.zeros(len(to), dtype=bool)
        weight = np.array([here.weights[to == child].sum() for child in range(n_children)])
        known = float(weight.sum())
        shares = weight / known if known > CLOSE else np.full(n_children, 1.0 / n_children)
        shares[shares <= CLOSE] = 0.0
        found = []
        for child in range(n_children):
            taken = (to == child) | (missing & (shares[child] > 0.0))
            fraction = np.where(missing, shares[child], 1.0)[taken]
            found.append(Here(here.rows[taken], here.weights[taken] * fraction, here.shares[taken] * fraction))
        return found


def _error_based(replay: Replay, paths: Paths) -> list[PruningStep]:
    """C4.5's pruning by upper bounds of the error, with subtree raising where the learner does it."""
    tree, pruning, plan = replay.tree, replay.pruning, replay.plan
    assert pruning is not None
    # Weka stores the confidence in single precision.
    confidence = pruning.confidence if pruning.variant == "c4.5r8" else float(np.float32(pruning.confidence))
    steps, at = _collapse_by_errors(tree, paths) if plan.quinlan else ([], np.zeros(tree.n_nodes, dtype=bool))
    whole = (tree.scale == 1.0).all() and plan.strategy.name not in ("all_branches", "every_value")
    raises = plan.quinlan and pruning.subtree_raising and tree.surrogates is None and whole
    if not raises:
        weights, errors = tree.weight * tree.scale, _errors(tree)
        bounds = [
            upper_error_bound(float(n), float(min(max(e, 0.0), n)), confidence, pruning.variant) if n > CLOSE else 0.0
            for n, e in zip(weights, errors, strict=True)
        ]
        what = f"upper bounds of the errors at confidence {pruning.confidence:g}"
        return steps + _bottom_up(tree, np.array(bounds), SLACK + CLOSE, "error_based", what, paths, at)
    training = replay.training
    bound = Bounds(tree, training.values, training.y.astype(np.intp), confidence, pruning.variant)
    root = _live(bound, 0, Here(np.arange(len(training.y)), training.weights, np.ones(len(training.y))), at)
    _prune(bound, root, steps, paths)
    return steps


def _live(bound: Bounds, node: int, here: Here, at: np.ndarray) -> Live:
    tree = bound.tree
    if not tree.n_children[node] or at[node]:
        return Live(-1, node, here)
    children = zip(_children(tree, node), bound.send(node, here), strict=True)
    return Live(node, node, here, [_live(bound, child, rows, at) for child, rows in children])


def _prune(bound: Bounds, live: Live, steps: list[PruningStep], paths: Paths) -> None:
    """Decide at a node after its branches: keep it, make it a leaf, or replace it by its largest branch."""
    total, errors, as_leaf = bound.leaf(live.here)
    if live.split < 0:
        live.estimate = as_leaf
        return
    for child in live.children:
        _prune(bound, child, steps, paths)
    as_tree = sum(child.estimate for child in live.children)
    largest = live.children[0]
    for child in live.children[1:]:
        if child.here.weights.sum() >= largest.here.weights.sum() - CLOSE:
            largest = child
    as_branch = _estimate(bound, largest, live.here)
    live.estimate = as_tree
    outcome = "kept"
    if as_leaf <= min(as_tree, as_branch) + SLACK + CLOSE:
        outcome = "leaf"
    elif as_branch <= as_tree + SLACK + CLOSE:
        outcome = "raised"
    figures = (("rows", total), ("errors", errors), ("confidence", bound.confidence))
    words = _words(bound, live, largest, (as_tree, as_leaf, as_branch), outcome, (total, errors))
    ends = (float(as_tree), float(as_leaf), float(as_branch))
    steps.append(PruningStep("error_based", live.origin, paths[live.origin], *ends, outcome, words, figures))
    if outcome == "leaf":
        live.split, live.children, live.estimate = -1, [], as_leaf
    elif outcome == "raised":
        live.split, live.children = largest.split, largest.children
        _refill(bound, live, live.here)
        _prune(bound, live, steps, paths)


def _words(
    bound: Bounds, live: Live, largest: Live, ends: tuple[float, float, float], outcome: str, leaf: tuple[float, float]
) -> str:
    as_tree, as_leaf, as_branch = ends
    terms = " + ".join(f"{child.estimate:.2f}" for child in live.children if child.here.weights.sum() > CLOSE)
    branch = live.children.index(largest)
    test = bound.tree.node(live.split).tests[branch]
    decided = {
        "leaf": "the leaf is within 0.1 of the best: it becomes a leaf",
        "raised": f"the branch {test} replaces it",
        "kept": "the subtree is the best: it is kept",
    }
    return (
        f"subtree {terms} = {as_tree:.2f}, leaf U({leaf[1]:g}, {leaf[0]:g}) = {as_leaf:.2f}, "
        f"branch {test} for all rows {as_branch:.2f}: {decided[outcome]}"
    )


def _estimate(bound: Bounds, live: Live, here: Here) -> float:
    """The bound of a subtree if these rows are sent down it."""
    if live.split < 0:
        return bound.leaf(here)[2]
    rows = bound.send(live.split, here)
    return sum(_estimate(bound, child, part) for child, part in zip(live.children, rows, strict=True))


def _refill(bound: Bounds, live: Live, here: Here) -> None:
    """Replace the rows of a subtree."""
    live.here = here
    if live.split >= 0:
        for child, rows in zip(live.children, bound.send(live.split, here), strict=True):
            _refill(bound, child, rows)
