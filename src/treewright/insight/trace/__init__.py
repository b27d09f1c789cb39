"""The worked trace as data: growth, pruning, ensembles, and the way of one row, recomputed by plain measures."""

from treewright.insight.trace.replay import WorkedSteps, work_out
from treewright.insight.trace.steps import (
    AdaBoostStep,
    BoostedLeaf,
    BoostingStep,
    BootstrapStep,
    Branch,
    Candidate,
    Comparison,
    LevelStep,
    Limits,
    NodeStep,
    PathStep,
    PruningStep,
    Share,
    Step,
    Threshold,
    Thresholds,
    VoteStep,
)

__all__ = [
    "AdaBoostStep",
    "BoostedLeaf",
    "BoostingStep",
    "BootstrapStep",
    "Branch",
    "Candidate",
    "Comparison",
    "LevelStep",
    "Limits",
    "NodeStep",
    "PathStep",
    "PruningStep",
    "Share",
    "Step",
    "Threshold",
    "Thresholds",
    "VoteStep",
    "WorkedSteps",
    "work_out",
]
