"""What all comparisons of accuracy share: who takes part on which tables, how far it is, and ranks."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from scipy.stats import rankdata

from tables import WEKA_DIRECTORY


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that every comparison has."""
    parser.add_argument("--tables", help="names of tables, separated by commas; all if left out")
    parser.add_argument("--only", help="contestants, separated by commas; all if left out")
    default = WEKA_DIRECTORY if WEKA_DIRECTORY.is_dir() else None
    parser.add_argument("--weka", type=Path, default=default, help="directory of Weka's sample ARFF files")


def chosen(asked: str | None, known: Sequence[str], what: str) -> list[str]:
    """The names asked for, in their usual order; all of them if none were."""
    wanted = list(known) if asked is None else asked.split(",")
    strange = [name for name in wanted if name not in known]
    if strange:
        raise SystemExit(f"no {what} {strange[0]!r}; choose among {', '.join(known)}")
    return [name for name in known if name in wanted]


def open_console(weka: Path | None) -> Console:
    """Where results are printed; says at once if Weka's tables are missing."""
    console = Console(width=None if Console().is_terminal else 120)
    if weka is None:
        console.print(f"Weka's tables are left out: {WEKA_DIRECTORY} is not there, and --weka names no other directory")
    return console


def open_progress(console: Console) -> Progress:
    """A line that tells which of how many steps is under way; it goes when they are done."""
    columns = (TextColumn("{task.description:<28}"), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)


def allow_rare_classes() -> None:
    """Keep scikit-learn from warning of classes with fewer rows than folds: they are meant to be there."""
    warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)


def rank_lines(figures: np.ndarray) -> np.ndarray:
    """The rank of each figure in its line, 1 the largest; figures equal to nine places share the mean rank."""
    return rankdata(-figures.round(9), axis=1)
