"""Replay of the growth of a tree: a step per node, with all that was compared there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from treewright.insight import measures
from treewright.insight.trace.candidates import describe, reasons, thresholds_of_best
from treewright.insight.trace.choice import Option, average_gain, choose, rate_columns, retake
from treewright.insight.trace.rating import CLOSE, NodeRows
from treewright.insight.trace.rows import Here, divide
from treewright.insight.trace.steps import Candidate, Limits, NodeStep, Share
from treewright.insight.trace.sums import ClassSums, NumberSums, moments, number_impurity
from treewright.insight.trace.training import Replay, values_of_growth
from treewright.tree.tree import Node, SplitKind

# Nodes of more classes times rows are not compared again, because their figures would not fit into memory.
MOST_FIGURES = 1 << 25


@dataclass(frozen=True, eq=False)
class Growth:
    """The values of growth, which do not change from node to node."""

    replay: Replay
    values: np.ndarray
    limits: Limits

    @property
    def is_classes(self) -> bool:
        return self.replay.tree.target.is_classes


def trace_growth(replay: Replay, limits: Limits) -> list[NodeStep]:
    """A step per node, in reading order, down to a depth."""
    growth = Growth(replay, values_of_growth(replay), limits)
    tree, training = replay.tree, replay.training
    everything = Here(np.arange(len(training.y)), training.weights, np.ones(len(training.y)))
    steps: list[NodeStep] = []
    waiting: list[tuple[int, Here, tuple[str, ...]]] = [(0, everything, ())]
    while waiting:
        index, here, path = waiting.pop()
        node = tree.node(index)
        steps.append(_step(growth, node, here, path))
        if node.is_leaf or (limits.depth is not None and node.depth >= limits.depth):
            continue
        children, _ = divide(tree, index, here, training.values, replay.recipe.strategy)
        below = zip(node.tests, children, range(int(tree.first_child[index]), tree.n_nodes), strict=False)
        waiting += [(child, rows, (*path, str(test))) for test, rows, child in below][::-1]
    return steps


def node_rows(growth: Growth, here: Here) -> NodeRows:
    """The rows of a node in the form that is rated."""
    replay, training = growth.replay, growth.replay.training
    sums: ClassSums | NumberSums
    if growth.is_classes:
        sums = ClassSums(training.y.astype(np.intp), len(training.target.classes), replay.criterion)
    else:
        _, mean, squares = moments(training.y[here.rows], here.weights)
        sums = NumberSums(training.y, mean, squares, replay.criterion)
    single = sums.of_rows(here.rows, here.weights)
    return NodeRows(
        here.rows,
        training.y[here.rows],
        here.weights,
        here.shares,
        growth.values[here.rows],
        sums,
        single,
        single.sum(axis=0),
        replay.recipe,
        replay.criterion,
        len(training.target.classes),
    )


def measure_node(growth: Growth, node: Node, here: Here, path: tuple[str, ...]) -> NodeStep:
    """The figures of a node before any split."""
    replay, training = growth.replay, growth.replay.training
    counts: tuple[float, ...] = ()
    mean, impurity = None, 0.0
    if growth.is_classes:
        weights = np.bincount(training.y[here.rows], here.weights, minlength=len(training.target.classes))
        counts = tuple(weights.tolist())
        impurity = ClassSums(training.y, len(counts), replay.criterion).exact_impurity(weights)
    elif len(here.rows):
        mean = moments(training.y[here.rows], here.weights)[1]
        impurity = number_impurity(training.y[here.rows], here.weights, replay.criterion)
    if not replay.rates_splits and replay.criterion not in ("gini", "information_gain", "gain_ratio", "error"):
        impurity = node.impurity
    return NodeStep(
        node=node.index,
        depth=node.depth,
        path=path,
        rows=replay.rows[here.rows],
        weights=here.weights,
        weight=float(here.weights.sum()),
        counts=counts,
        mean=mean,
        impurity=impurity,
        prediction=node.prediction,
    )


def _step(growth: Growth, node: Node, here: Here, path: tuple[str, ...]) -> NodeStep:
    step = measure_node(growth, node, here, path)
    closed = _closed(growth, node, here, step)
    if closed:
        return replace(step, leaf_reason=closed)
    too_large = len(here.rows) * max(len(step.counts), 3) > MOST_FIGURES
    if not growth.replay.rates_splits or too_large:
        return _unrated(growth, step, node, here)
    rows = node_rows(growth, here)
    options = rate_columns(rows, growth.replay.table)
    winner = choose(rows, growth.replay.table, options)
    if winner >= 0:
        options[winner] = retake(rows, options[winner], options)
    return _compared(growth, step, node, here, rows, options, winner)


def _closed(growth: Growth, node: Node, here: Here, step: NodeStep) -> str:
    """Why a node is not searched for a split; empty if it is."""
    recipe, y = growth.replay.recipe, growth.replay.training.y[here.rows]
    if not len(here.rows):
        return "no row reaches it; it predicts like its parent"
    size = float(len(here.rows)) if recipe.quinlan else float(here.shares.sum()) + CLOSE
    pure = bool((y == y[0]).all())
    if recipe.quinlan and step.counts:
        pure = pure or step.weight - max(step.counts) < CLOSE
    if pure:
        return "all rows have the same class" if growth.is_classes else "all rows have the same target"
    if node.depth >= recipe.max_depth:
        return f"it is as deep as max_depth={recipe.max_depth} allows"
    if size < recipe.min_samples_split:
        return f"{size:g} rows are fewer than min_samples_split={recipe.min_samples_split}"
    if (step.weight if recipe.quinlan else size) < 2 * recipe.min_samples_leaf - CLOSE:
        return f"{size:g} rows cannot fill two branches of min_samples_leaf={recipe.min_samples_leaf}"
    if step.weight < 2.0 * recipe.min_weight_leaf:
        return "its weight cannot fill two branches of min_weight_fraction_leaf"
    return ""


def _unrated(growth: Growth, step: NodeStep, node: Node, here: Here) -> NodeStep:
    """A node whose candidates are not compared again."""
    if node.is_leaf:
        return replace(step, leaf_reason="no split was found for it, or pruning removed it")
    return replace(_with_split(growth, step, node, here), rule=_why_unrated(growth))


def _why_unrated(growth: Growth) -> str:
    if growth.replay.rates_splits:
        return "It has too many rows times classes; its candidates are not compared again."
    return "Its candidates are not compared again."


def _compared(
    growth: Growth,
    step: NodeStep,
    node: Node,
    here: Here,
    rows: NodeRows,
    options: list[Option],
    winner: int,
) -> NodeStep:
    table, plan = growth.replay.table, growth.replay.plan
    average = average_gain(table, options) if rows.recipe.quinlan else None
    taken = winner if node.is_leaf else int(growth.replay.tree.column[node.index])
    words = reasons(rows, table, options, taken, average)
    thresholds = thresholds_of_best(rows, table, options, taken, growth.limits)
    candidates = tuple(
        describe(
            growth.replay,
            rows,
            option,
            thresholds.get(place),
            wins=not node.is_leaf and place == taken,
            reason=words[place],
        )
        for place, option in enumerate(options)
    )
    step = replace(step, candidates=candidates, rule=_rule(rows, average, options, taken))
    if node.is_leaf:
        return replace(step, leaf_reason=_leaf_reason(growth, step, rows, options, winner))
    if winner != taken and not plan.is_random:
        step = replace(step, rule=f"{step.rule} The scores of the best columns differ by rounding only.".strip())
    lowered = _lowered(step.candidates[taken], node)
    step = replace(step, rule=f"{step.rule} {lowered}".strip())
    others = [
        one.score
        for place, one in enumerate(candidates)
        if place != taken and np.isfinite(one.score) and not one.reason.startswith("average-gain")
    ]
    own = candidates[taken].score
    margin = own - max(others) if others and np.isfinite(own) else None
    return replace(_with_split(growth, step, node, here), margin=margin)


def _lowered(winner: Candidate, node: Node) -> str:
    """C4.5 lowers a threshold to the largest value of the whole table that is not above it."""
    if node.kind is not SplitKind.THRESHOLD or not winner.branches or node.tree.tolerance == 0.0:
        return ""
    found, own = winner.branches[0].test, str(node.tests[0])
    return "" if found == own else f"The threshold of {found} is lowered to the largest value not above it: {own}."


def _rule(rows: NodeRows, average: float | None, options: list[Option], taken: int) -> str:
    if average is None or taken < 0:
        return ""
    counted = sum(option.score >= 0.0 for option in options)
    return (
        f"C4.5 takes the best gain ratio among columns whose gain is at least the average of {counted} columns, "
        f"{average / rows.weight:.4f}, less 0.001."
    )


def _leaf_reason(growth: Growth, step: NodeStep, rows: NodeRows, options: list[Option], winner: int) -> str:
    """Why a node that was searched is a leaf."""
    recipe = growth.replay.recipe
    if winner < 0:
        return _no_split(rows, options)
    best = step.candidates[winner]
    if recipe.min_split_gain > 0.0 and best.gain < recipe.min_split_gain:
        return f"the best gain, {best.gain:.4g} by {best.column}, is below min_split_gain={recipe.min_split_gain:g}"
    if recipe.max_p_value < 1.0 and step.counts:
        value = measures.chi_squared([branch.counts for branch in best.branches])
        return (
            f"the split by {best.column} has a chi-squared value of {value:.4f}, which is within chance "
            f"at max_p_value={recipe.max_p_value:g}"
        )
    if recipe.max_leaf_nodes > 0:
        return f"the tree has its {recipe.max_leaf_nodes} leaves, and other nodes gained more"
    return "the tree was pruned here"


def _no_split(rows: NodeRows, options: list[Option]) -> str:
    rated = [len(option.found.rated.gain) for option in options]
    if not any(rated):
        return "all columns have the same value in all its rows"
    if rows.recipe.quinlan:
        return "no column gains enough: a threshold must gain more than log2(candidates)/n, and sides need enough rows"
    if not any(option.found.rated.allowed.any() for option in options):
        return f"every split leaves fewer than min_samples_leaf={rows.recipe.min_samples_leaf} rows on a side"
    return "no split gains more than by chance"


def _with_split(growth: Growth, step: NodeStep, node: Node, here: Here) -> NodeStep:
    """The step with the split of the tree: the truth of the structure."""
    column = node.column
    assert column is not None
    chosen = next((one for one in step.candidates if one.wins), None)
    gain = node.gain if chosen is None or not chosen.branches else chosen.gain
    return replace(
        step,
        winner=column.name,
        tests=tuple(str(test) for test in node.tests),
        gain=gain,
        missing=_missing(growth, node, here),
    )


def _missing(growth: Growth, node: Node, here: Here) -> Share | None:
    """What becomes of the rows without a value at a split."""
    replay = growth.replay
    children, missing = divide(replay.tree, node.index, here, replay.training.values, replay.recipe.strategy)
    if not missing.any():
        return None
    rows, weight = replay.rows[here.rows[missing]], float(here.weights[missing].sum())
    if node.missing_branch < 0:
        fractions = tuple(child.share for child in node.children)
        words = {
            "every_value": "each counts as one row of every value that occurs",
            "all_branches": "each goes down every branch with its full weight",
        }.get(replay.plan.strategy.name, "each is divided among the branches like the rows with a value")
        return Share(tuple(rows.tolist()), weight, words, fractions)
    if replay.tree.surrogates is not None:
        places = here.rows[missing]
        counts = tuple(float(np.isin(places, child.rows).sum()) for child in children)
        named = (
            "; ".join(str(surrogate) for surrogate in node.surrogates) or "no column agrees better than the majority"
        )
        return Share(tuple(rows.tolist()), weight, f"surrogates decide: {named}", counts)
    branch = node.missing_branch
    counts = tuple(1.0 if place == branch else 0.0 for place in range(len(node.children)))
    words = f"all go to {node.tests[branch]}"
    if replay.plan.strategy.name == "learned":
        words += ", where they gain the most"
    return Share(tuple(rows.tolist()), weight, words, counts)
