"""The sections of growth: a node, or a level of an oblivious tree."""

from __future__ import annotations

import numpy as np

from treewright.insight.trace import Candidate, LevelStep, NodeStep, WorkedSteps
from treewright.show.trace.blocks import Block, Cell, Figure, Formula, Grid, NumberLine, Section, words
from treewright.show.trace.notation import (
    Notation,
    count,
    figure,
    gain_numbers,
    has_formula,
    impurity_numbers,
    notation_of,
    split_info_numbers,
)

MOST_ROWS = 20
MOST_FORMULAS = 6
MOST_THRESHOLDS = 15
MOST_BRANCHES = 6
MOST_CLASSES = 6


def node_section(worked: WorkedSteps, step: NodeStep, place: int, notation: str) -> Section:
    """One node: its rows, its impurity, the candidates, and the decision."""
    names = notation_of(worked.criterion, notation)
    where = " and ".join(step.path) or "the root"
    blocks: list[Block] = [_rows(worked, step)]
    if len(step.rows) and not has_formula(worked.criterion):
        blocks.append(words(f"Impurity by {worked.criterion}: ", Figure(figure(step.impurity)), "."))
    elif len(step.rows):
        numbers = impurity_numbers(worked.criterion, step.counts, step.weight, step.impurity)
        formula = (names.impurity_formula, Figure(numbers), Figure(figure(step.impurity)), names.impurity_latex)
        blocks.append(Formula(names.impurity, *formula))
    if step.candidates:
        blocks += _candidates(worked, step.candidates, names)
    blocks += _decision(step, names)
    return Section(f"Step {place}: node {step.node}, {where}", tuple(blocks))


def _rows(worked: WorkedSteps, step: NodeStep) -> Block:
    n = len(step.rows)
    listed = ", ".join(str(row) for row in step.rows[:MOST_ROWS].tolist()) + (", ..." if n > MOST_ROWS else "")
    weight = "" if abs(step.weight - n) < 1e-9 else f" of weight {count(step.weight)}"
    what = f"{n} {'row' if n == 1 else 'rows'}{weight} ({listed}). " if n else "No rows. "
    if step.counts:
        return words(what, "Classes: ", Figure(class_counts(worked, step.counts)), ".")
    return words(what, *(() if step.mean is None else ("Mean: ", Figure(figure(step.mean)), ".")))


def class_counts(worked: WorkedSteps, counts: tuple[float, ...]) -> str:
    """The weight of each class that occurs."""
    pairs = [(name, one) for name, one in zip(worked.classes, counts, strict=True) if one > 0.0]
    shown = [f"{name} {count(one)}" for name, one in pairs[:MOST_CLASSES]]
    more = [f"{len(pairs) - MOST_CLASSES} more"] if len(pairs) > MOST_CLASSES else []
    return ", ".join([*shown, *more]) or "none"


def _branches(one: Candidate) -> str:
    """The branches of a candidate with their class weights, or weight and mean."""
    shown = []
    for branch in one.branches[:MOST_BRANCHES]:
        figures = ", ".join(count(weight) for weight in branch.counts[:MOST_CLASSES])
        if not branch.counts and branch.mean is not None:
            figures = f"{count(branch.weight)} rows, mean {figure(branch.mean)}"
        shown.append(f"{_without_name(branch.test, one.column)} [{figures}]")
    more = [f"{len(one.branches) - MOST_BRANCHES} more"] if len(one.branches) > MOST_BRANCHES else []
    return "; ".join([*shown, *more])


def _without_name(test: str, column: str) -> str:
    rest = test.removeprefix(f"{column} ")
    return rest.removeprefix("= ")


def _candidates(worked: WorkedSteps, candidates: tuple[Candidate, ...], names: Notation) -> list[Block]:
    blocks: list[Block] = [_grid(worked, candidates, names)]
    with_split = [one for one in candidates if one.branches]
    if len(with_split) > MOST_FORMULAS:
        with_split = [one for one in with_split if one.wins]
    for one in with_split:
        blocks += _formulas(one, names)
    for one in candidates:
        blocks += _thresholds(worked, one, names)
    return blocks


def _grid(worked: WorkedSteps, candidates: tuple[Candidate, ...], names: Notation) -> Grid:
    by_ratio = worked.criterion == "gain_ratio"
    classes = f" [{', '.join(worked.classes[:MOST_CLASSES])}]" if worked.classes else ""
    has_branches = any(one.branches for one in candidates)
    headers = ["column", *([f"branches{classes}"] if has_branches else []), f"{names.short_impurity} after"]
    headers += [names.short_gain, *(["split info", "gain ratio"] if by_ratio else []), "why"]
    rows: list[tuple[Cell, ...]] = []
    for one in candidates:
        has_split = np.isfinite(one.score) or bool(one.branches)
        cells: list[Cell] = [one.column]
        cells += [Figure(_branches(one)) if one.branches else "-"] if has_branches else []
        figures = [one.impurity_after, one.gain]
        figures += [one.split_info or 0.0, one.gain_ratio or 0.0] if by_ratio else []
        cells += [Figure(figure(value)) if has_split else "-" for value in figures]
        cells.append(Figure(one.reason) if has_split else one.reason)
        rows.append(tuple(cells))
    first = 2 if has_branches else 1
    marked = next((place for place, one in enumerate(candidates) if one.wins), None)
    return Grid(tuple(headers), tuple(rows), frozenset(range(first, len(headers) - 1)), marked)


def _formulas(one: Candidate, names: Notation) -> list[Block]:
    """Gain, and where it decides the split information and the gain ratio, with numbers put in."""
    pairs = [(branch.weight, branch.impurity) for branch in one.branches if branch.weight > 0.0]
    rated = sum(weight for weight, _ in pairs)
    total = rated
    known = 1.0
    if one.impurity_before - one.impurity_after > 1e-300:
        known = one.gain / (one.impurity_before - one.impurity_after)
        known = known if known < 1.0 - 1e-9 else 1.0
        total = rated / known
    numbers = gain_numbers(one.impurity_before, pairs, known)
    name = names.gain.format(column=one.column)
    gain = Formula(name, names.gain_formula, Figure(numbers), Figure(figure(one.gain)), names.gain_latex)
    blocks: list[Block] = [gain]
    if one.penalty > 0.0:
        by = f"log2({one.n_candidates})/{count(total)} = {figure(one.penalty)}"
        blocks.append(words("Less the penalty for the choice of a threshold, ", Figure(by), "."))
    if one.chance > 0.0:
        blocks.append(words("Less the gain that its many categories have by chance, ", Figure(figure(one.chance)), "."))
    if one.split_info is not None and one.gain_ratio is not None:
        sizes = [weight for weight, _ in pairs] + ([total - rated] if total - rated > 1e-9 else [])
        info = names.split_info.format(column=one.column)
        general, latex = names.split_info_formula, names.split_info_latex
        figures = Figure(split_info_numbers(sizes)), Figure(figure(one.split_info))
        blocks.append(Formula(info, general, *figures, latex))
        counted = one.gain - one.penalty - one.chance
        top = f"({name} - penalty)" if one.penalty > 0.0 else name
        ratio = Figure(f"{figure(counted)} / {figure(one.split_info)}"), Figure(figure(one.gain_ratio))
        blocks.append(Formula(names.ratio.format(column=one.column), f"{top} / {info}", *ratio))
    return blocks


def _thresholds(worked: WorkedSteps, one: Candidate, names: Notation) -> list[Block]:
    """The candidate thresholds of a column: a table of the best, and all on a line."""
    found = one.thresholds
    if found is None or not len(found):
        return []
    best = np.argsort(-np.where(found.allowed, found.gains, -1.0), kind="stable")[:MOST_THRESHOLDS]
    top = int(best[0]) if found.allowed[best[0]] else None
    rows: list[tuple[Cell, ...]] = []
    kept = np.sort(best).tolist()
    limited = not found.allowed[kept].all()
    for place in kept:
        cut = found[place]
        sides: list[Cell] = []
        if len(cut.left):
            sides = [Figure(_side(worked, cut.left)), Figure(_side(worked, cut.right))]
        tail = (cut.reason,) if limited else ()
        rows.append((f"{cut.value:g}", *sides, Figure(figure(cut.impurity_after)), Figure(figure(cut.gain)), *tail))
    sides_named = ("<=", ">") if found.left.shape[1] else ()
    headers = ("threshold", *sides_named, f"{names.short_impurity} after", names.short_gain)
    headers += ("why not",) if limited else ()
    marked = kept.index(top) if top is not None else None
    of = f" (the best {len(kept)} of {found.total})" if found.total > len(kept) else ""
    line = NumberLine(
        one.column,
        found.lowest,
        found.highest,
        found.values,
        found.gains,
        None if top is None else float(found.values[top]),
    )
    right = frozenset(range(len(headers) - limited))
    return [words(f"Thresholds of {one.column}{of}:"), line, Grid(headers, tuple(rows), right, marked)]


def _side(worked: WorkedSteps, side: tuple[float, ...]) -> str:
    if worked.classes:
        return ", ".join(count(weight) for weight in side[:MOST_CLASSES])
    return f"{count(side[0])} rows, mean {figure(side[1])}"


def _decision(step: NodeStep | LevelStep, names: Notation) -> list[Block]:
    blocks: list[Block] = []
    rule = getattr(step, "rule", "")
    if rule and step.winner is not None:
        blocks.append(words(rule))
    if step.leaf_reason and isinstance(step, NodeStep):
        ends = " It predicts ", Figure(_prediction(step.prediction)), "."
        return [*blocks, words("Leaf: ", Figure(step.leaf_reason), ".", *ends)]
    if step.leaf_reason:
        return [*blocks, words("No further level: ", Figure(step.leaf_reason), ".")]
    tests = "; ".join(step.tests[:MOST_BRANCHES]) + ("; ..." if len(step.tests) > MOST_BRANCHES else "")
    said = f"{step.winner}: {tests}. {names.short_gain} {figure(step.gain)}"
    winner = next((one for one in step.candidates if one.wins), None)
    if winner is not None and winner.gain_ratio is not None:
        said += f", gain ratio {figure(winner.gain_ratio)}"
    if step.margin is not None and step.margin > 1e-12:
        said += f", {figure(step.margin)} more than the next column"
    elif step.margin is not None and step.margin >= 0.0:
        said += "; another column has the same score, and the first one is taken"
    blocks.append(words("Split by ", Figure(said), "."))
    missing = getattr(step, "missing", None)
    if missing is not None:
        n = len(missing.rows)
        shares = ", ".join(count(part) for part in missing.fractions[:MOST_BRANCHES])
        blocks.append(
            words(
                f"{n} {'row has' if n == 1 else 'rows have'} no value: {missing.words}. To the branches: ",
                Figure(shares),
                ".",
            )
        )
    return blocks


def _prediction(prediction: object) -> str:
    return figure(prediction) if isinstance(prediction, float) else str(prediction)


def level_section(worked: WorkedSteps, step: LevelStep, place: int, notation: str) -> Section:
    """One level of an oblivious tree: its nodes, the candidates by total gain, and the decision."""
    names = notation_of(worked.criterion, notation)
    rows: list[tuple[Cell, ...]] = []
    for node in step.nodes[:MOST_ROWS]:
        held = class_counts(worked, node.counts) if node.counts else ("-" if node.mean is None else figure(node.mean))
        figures = Figure(held), Figure(figure(node.impurity)), Figure(figure(node.gain))
        rows.append((str(node.node), " and ".join(node.path) or "the root", count(node.weight), *figures))
    headers = ("node", "rows with", "weight", "classes" if worked.classes else "mean", names.impurity, names.short_gain)
    blocks: list[Block] = [Grid(headers, tuple(rows), frozenset((2, 4, 5)))]
    if len(step.nodes) > MOST_ROWS:
        blocks.append(words(f"{len(step.nodes) - MOST_ROWS} more nodes are not listed."))
    blocks.append(words(f"Weighted {names.impurity} of the level: ", Figure(figure(step.impurity)), "."))
    if step.candidates:
        blocks += _candidates(worked, step.candidates, names)
    blocks += _decision(step, names)
    return Section(f"Step {place}: level {step.depth}, the same split in all {len(step.nodes)} nodes", tuple(blocks))
