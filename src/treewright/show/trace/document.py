"""The document of a trace: its title, its notes, and a section per step."""

from __future__ import annotations

from dataclasses import dataclass

from treewright.insight.trace import (
    AdaBoostStep,
    BoostingStep,
    BootstrapStep,
    LevelStep,
    NodeStep,
    PathStep,
    PruningStep,
    VoteStep,
    WorkedSteps,
)
from treewright.show.trace.blocks import Section
from treewright.show.trace.nodes import level_section, node_section
from treewright.show.trace.others import (
    adaboost_section,
    boosting_section,
    bootstrap_section,
    path_section,
    pruning_section,
    vote_section,
)

SOLUTION = "Solution sheet"


@dataclass(frozen=True)
class Document:
    """A trace for printing; an exercise has blanks, and the solutions after them."""

    title: str
    notes: tuple[str, ...]
    sections: tuple[Section, ...]
    exercise: bool


def document_of(worked: WorkedSteps, notation: str, exercise: bool) -> Document:
    """The document of the steps of a model."""
    sections: list[Section] = []
    pruning: list[PruningStep] = []
    for step in worked.steps:
        place = len(sections) + 1
        if isinstance(step, PruningStep):
            pruning.append(step)
        else:
            sections.append(_section(worked, step, place, notation))
    if pruning:
        sections.append(pruning_section(pruning, len(sections) + 1))
    of = f" for {worked.target}" if worked.target else ""
    rows = f", {worked.n_rows} rows" if worked.n_rows > 1 else ""
    title = f"{worked.learner}{of}{rows}" + (f", {worked.criterion}" if worked.criterion else "")
    return Document(title, worked.notes, tuple(sections), exercise)


def _section(worked: WorkedSteps, step: object, place: int, notation: str) -> Section:
    if isinstance(step, NodeStep):
        return node_section(worked, step, place, notation)
    if isinstance(step, LevelStep):
        return level_section(worked, step, place, notation)
    if isinstance(step, AdaBoostStep):
        return adaboost_section(worked, step, place)
    if isinstance(step, BoostingStep):
        return boosting_section(step, place)
    if isinstance(step, BootstrapStep):
        return bootstrap_section(step, place)
    if isinstance(step, VoteStep):
        return vote_section(worked, step, place)
    assert isinstance(step, PathStep)
    return path_section(worked, step, place)
