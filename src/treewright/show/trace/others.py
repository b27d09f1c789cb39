"""The sections of pruning, of ensembles, and of one row."""

from __future__ import annotations

import numpy as np

from treewright.insight.trace import (
    AdaBoostStep,
    BoostingStep,
    BootstrapStep,
    PathStep,
    PruningStep,
    VoteStep,
    WorkedSteps,
)
from treewright.show.trace.blocks import Block, Cell, Figure, Formula, Grid, Section, words
from treewright.show.trace.notation import count, figure

MOST_ROWS = 20


def pruning_section(steps: list[PruningStep], place: int) -> Section:
    """All decisions of pruning, in their order."""
    rows: list[tuple[Cell, ...]] = []
    raised = any(step.as_branch is not None for step in steps)
    for step in steps:
        cells: list[Cell] = [str(step.node), " and ".join(step.path) or "the root"]
        cells += [Figure(figure(step.as_subtree)), Figure(figure(step.as_leaf))]
        cells += [Figure("-" if step.as_branch is None else figure(step.as_branch))] if raised else []
        rows.append((*cells, Figure(step.outcome), Figure(step.words)))
    headers = ("node", "rows with", "as subtree", "as leaf", *(("as branch",) if raised else ()), "outcome", "why")
    right = frozenset(range(2, 5 if raised else 4))
    method = ", then ".join(dict.fromkeys(step.method for step in steps))
    return Section(f"Step {place}: pruning, {method}", (Grid(headers, tuple(rows), right),))


def adaboost_section(worked: WorkedSteps, step: AdaBoostStep, place: int) -> Section:
    """One round of AdaBoost."""
    kept = np.arange(len(step.before))[:MOST_ROWS]
    is_class = step.wrong.dtype == bool
    rows: list[tuple[Cell, ...]] = []
    for row in kept.tolist():
        wrong = ("wrong" if step.wrong[row] else "right") if is_class else figure(float(step.wrong[row]))
        rows.append((str(row), figure(step.before[row]), Figure(wrong), Figure(figure(step.after[row]))))
    error = "Σ w_i [wrong]" if is_class else "Σ w_i L_i"
    n_classes = len(worked.classes)
    alpha = "log((1 - error) / error)" + (f" + log({n_classes} - 1)" if n_classes > 2 else "")
    numbers = _member_weight(step, n_classes)
    blocks: list[Block] = [
        words(f"Member: {step.tree}."),
        Formula("error", error, Figure(_weights_of(step)), Figure(figure(step.error))),
        Formula(
            "weight of the member", f"learning rate · ({alpha})", Figure(numbers), Figure(figure(step.member_weight))
        ),
        words("The changed weights add up to ", Figure(figure(step.total)), ", by which they are divided."),
        Grid(("row", "weight before", "prediction" if is_class else "loss", "weight after"), tuple(rows), _RIGHT),
    ]
    return Section(f"Step {place}: round {step.number} of AdaBoost", tuple(blocks))


_RIGHT = frozenset((0, 1, 3))


def _member_weight(step: AdaBoostStep, n_classes: int) -> str:
    """The weight of the member with numbers put in."""
    if not 0.0 < step.error < 1.0:
        return "1 by convention"
    inner = f"log((1 - {figure(step.error)}) / {figure(step.error)})"
    value = float(np.log((1.0 - step.error) / step.error))
    if n_classes > 2:
        inner, value = f"({inner} + log({n_classes - 1}))", value + float(np.log(n_classes - 1.0))
    rate = step.member_weight / value if value else 1.0
    return inner if abs(rate - 1.0) < 1e-9 else f"{figure(rate)} · {inner}"


def _weights_of(step: AdaBoostStep) -> str:
    if step.wrong.dtype != bool:
        return "the weighted mean of the losses"
    taken = step.before[step.wrong]
    if not len(taken):
        return "no row is wrong"
    return " + ".join(figure(weight) for weight in taken[:8]) + (" + ..." if len(taken) > 8 else "")


def boosting_section(step: BoostingStep, place: int) -> Section:
    """One tree of gradient boosting."""
    of = f", output {step.output}" if step.output else ""
    rows = tuple(
        (
            str(row),
            figure(step.before[row]),
            Figure(figure(step.residuals[row])),
            Figure(figure(step.after[row])),
        )
        for row in range(min(len(step.before), MOST_ROWS))
    )
    leaves = tuple(
        (
            leaf.test,
            str(leaf.rows),
            Figure(figure(leaf.gradient)),
            Figure(figure(leaf.hessian)),
            Figure(figure(leaf.value)),
        )
        for leaf in step.leaves[: 2 * MOST_ROWS]
    )
    blocks: list[Block] = [
        Grid(("row", "score before", "residual", "score after"), rows, frozenset(range(4))),
        words("A leaf is -learning rate · ΣG / (ΣH + l2), with gradients G (minus residuals) and hessians H:"),
        Grid(("leaf", "rows", "ΣG", "ΣH", "value"), leaves, frozenset((1, 2, 3, 4))),
        words("Mean loss after the round: ", Figure(figure(step.loss)), "."),
    ]
    return Section(f"Step {place}: round {step.number} of gradient boosting{of}", tuple(blocks))


def bootstrap_section(step: BootstrapStep, place: int) -> Section:
    """One member of a forest or of bagging."""
    drawn = [f"{row}" + (f" ({times} times)" if times > 1 else "") for row, times in enumerate(step.drawn) if times]
    outside = ", ".join(map(str, step.out_of_bag[:MOST_ROWS].tolist()))
    outside += " and more" if len(step.out_of_bag) > MOST_ROWS else ""
    blocks: list[Block] = [
        words(f"Tree: {step.tree}."),
        words(f"Drawn rows: {', '.join(drawn[:MOST_ROWS])}{' and more' if len(drawn) > MOST_ROWS else ''}."),
        words(f"Out of bag, {len(step.out_of_bag)} of {len(step.drawn)} rows: ", Figure(outside or "none"), "."),
    ]
    if step.error is not None:
        what = "Out-of-bag error" if step.correct is not None else "Out-of-bag mean squared error"
        blocks.append(words(f"{what}: ", Figure(figure(step.error)), "."))
    return Section(f"Step {place}: member {step.number}, its bootstrap sample", tuple(blocks))


def vote_section(worked: WorkedSteps, step: VoteStep, place: int) -> Section:
    """The out-of-bag votes of the first rows."""
    names = worked.classes or ("mean",)
    rows: list[tuple[Cell, ...]] = []
    for row in range(min(len(step.voters), MOST_ROWS)):
        votes = [Figure("-" if np.isnan(vote) else figure(float(vote))) for vote in step.votes[row]]
        predicted, truth = step.predictions[row], step.truth[row]
        shown = (Figure(_written(predicted)), _written(truth))
        rows.append((str(row), str(int(step.voters[row])), *votes, *shown))
    headers = ("row", "members", *names, "prediction", "truth")
    score = "Out-of-bag accuracy: " if worked.classes else "Out-of-bag R2: "
    grid = Grid(headers, tuple(rows), frozenset(range(2 + len(names))))
    return Section(f"Step {place}: out-of-bag votes", (grid, words(score, Figure(figure(step.score)), ".")))


def _written(value: object) -> str:
    return figure(float(value)) if isinstance(value, float | np.floating) else str(value)


def path_section(worked: WorkedSteps, step: PathStep, place: int) -> Section:
    """The way of one row."""
    rows = tuple(
        (
            str(one.node),
            one.column,
            one.value,
            Figure(one.words),
            Figure(count(one.fraction)),
            Figure(one.test or "stops"),
        )
        for one in step.comparisons
    )
    blocks: list[Block] = []
    if rows:
        blocks.append(Grid(("node", "column", "value", "comparison", "fraction", "follows"), rows, frozenset((0, 4))))
    leaves = tuple((str(node), count(part), Figure(text)) for node, part, text in step.leaves)
    blocks.append(Grid(("leaf", "fraction", "prediction (rows/errors)"), leaves, frozenset((0, 1))))
    result = [words("Prediction: ", Figure(_written(step.prediction)), ".")]
    if step.shares:
        shares = ", ".join(f"{name} {figure(share)}" for name, share in zip(worked.classes, step.shares, strict=True))
        result = [
            words(
                "Prediction: ",
                Figure(_written(step.prediction)),
                Figure(f" ({shares})" if len(shares) < 400 else ""),
                ".",
            )
        ]
    return Section(f"Step {place}: the way of {step.row}", (*blocks, *result))
