"""Accuracy of single trees as they come, without tuning, on many tables. Run with `make bench-accuracy`.

Every contestant sees the same rows: stratified ten-fold cross-validation, repeated more often on small tables. What
counts is the mean rank over the tables; contestants of equal accuracy share their ranks.
"""

from __future__ import annotations

import argparse
import copy
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from c50py import C5Classifier
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid
from scipy.stats import rankdata
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier as TheirTree

from tables import WEKA_DIRECTORY, BenchTable, all_tables
from treewright import C45Classifier, CARTClassifier

SEED = 0
FOLDS = 10
# Repetitions are chosen so that about this many answers are judged, and the whole run takes some ten minutes.
ANSWERS, MOST_ROUNDS = 3000, 10

Answer = Callable[[BenchTable, np.ndarray, np.ndarray], np.ndarray]


def folds_for(classes: np.ndarray) -> int:
    """Ten folds, or fewer where no class has ten rows."""
    return min(FOLDS, int(np.unique(classes, return_counts=True)[1].max()))


def answer_by_cart(table: BenchTable, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """treewright's CART."""
    model = CARTClassifier().fit(table.frame[train], table.classes[train])
    return model.predict(table.frame[test])


def answer_by_c45(table: BenchTable, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """treewright's C4.5."""
    model = C45Classifier().fit(table.frame[train], table.classes[train])
    return model.predict(table.frame[test])


def answer_by_c50py(table: BenchTable, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """c50py's single tree."""
    model = C5Classifier().fit(table.pandas.iloc[train], table.classes[train])
    return model.predict(table.pandas.iloc[test])


def answer_by_sklearn(table: BenchTable, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """scikit-learn's tree, fully grown."""
    model = TheirTree(random_state=SEED).fit(table.one_hot[train], table.classes[train])
    return model.predict(table.one_hot[test])


def answer_by_sklearn_cv(table: BenchTable, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """scikit-learn's tree, pruned at the price of the best mean accuracy; of equal ones the smallest tree."""
    rows, classes = table.one_hot[train], table.classes[train]
    model = TheirTree(random_state=SEED).fit(rows, classes)
    # Rounding makes some prices negative by a hair, which scikit-learn itself refuses.
    prices = np.unique(np.maximum(model.cost_complexity_pruning_path(rows, classes).ccp_alphas, 0.0))
    folds = StratifiedKFold(folds_for(classes), shuffle=True, random_state=SEED)
    scores = np.zeros(len(prices))
    for kept, left_out in folds.split(rows, classes):
        part = TheirTree(random_state=SEED).fit(rows[kept], classes[kept])
        for place, price in enumerate(prices):
            scores[place] += np.mean(answers_of(pruned(part, price), rows[left_out]) == classes[left_out])
    best = np.flatnonzero(scores >= scores.max() - 1e-9)[-1]
    return answers_of(pruned(model, prices[best]), table.one_hot[test])


def pruned(model: TheirTree, price: float) -> TheirTree:
    """The tree that a fit with this `ccp_alpha` gives, without growing it once more."""
    smaller = copy.copy(model)
    smaller.ccp_alpha = price
    smaller._prune_tree()
    return smaller


def answers_of(model: TheirTree, rows: np.ndarray) -> np.ndarray:
    """What `predict` gives, without its checks, which take longer than the answers."""
    return model.classes_[model.tree_.predict(rows).argmax(axis=1)]


CONTESTANTS: dict[str, Answer] = {
    "cart": answer_by_cart,
    "c45": answer_by_c45,
    "c50py": answer_by_c50py,
    "sklearn-cv": answer_by_sklearn_cv,
    "sklearn": answer_by_sklearn,
}
OURS = ("cart", "c45")
PEERS = ("c50py", "sklearn-cv")


@dataclass(frozen=True)
class Score:
    """One contestant on one table: the share of right answers in each round, and the seconds it took."""

    rounds: np.ndarray
    seconds: float

    @property
    def accuracy(self) -> float:
        return float(self.rounds.mean())


Scores = dict[str, dict[str, Score]]  # by table, then by contestant


def rounds_for(table: BenchTable, asked: int | None) -> int:
    """How often the cross-validation of a table is repeated."""
    return asked or int(np.clip(ANSWERS // len(table.classes), 1, MOST_ROUNDS))


def judge(table: BenchTable, names: Sequence[str], rounds: int) -> dict[str, Score]:
    """Every contestant's accuracy on the same folds."""
    n_rows = len(table.classes)
    right = {name: np.zeros(rounds) for name in names}
    seconds = dict.fromkeys(names, 0.0)
    folds = folds_for(table.classes)
    splits = RepeatedStratifiedKFold(n_splits=folds, n_repeats=rounds, random_state=SEED)
    for place, (train, test) in enumerate(splits.split(np.zeros(n_rows), table.classes)):
        for name in names:
            start = time.perf_counter()
            answers = CONTESTANTS[name](table, train, test)
            seconds[name] += time.perf_counter() - start
            right[name][place // folds] += np.count_nonzero(answers == table.classes[test])
    return {name: Score(right[name] / n_rows, seconds[name]) for name in names}


def judge_all(tables: list[BenchTable], names: Sequence[str], asked: int | None, console: Console) -> Scores:
    """Judge table by table, and show how far it is."""
    columns = (TextColumn("{task.description:<28}"), MofNCompleteColumn(), TimeElapsedColumn())
    scores: Scores = {}
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("tables", total=len(tables))
        for table in tables:
            progress.update(task, description=table.name)
            scores[table.name] = judge(table, names, rounds_for(table, asked))
            progress.advance(task)
    return scores


def ranks(scores: Scores, names: Sequence[str]) -> np.ndarray:
    """The rank of each contestant among these on each table, 1 the best; equal accuracies share the mean rank."""
    accuracies = np.array([[by_name[name].accuracy for name in names] for by_name in scores.values()])
    return rankdata(-accuracies.round(9), axis=1)


def table_of_accuracies(scores: Scores, tables: list[BenchTable], names: Sequence[str]) -> Grid:
    """Accuracies line by line, the best in bold, then means and times."""
    grid = Grid("table", "rows", "rounds", *names, title="Accuracy in %")
    for column in grid.columns[1:]:
        column.justify = "right"
    for table in tables:
        by_name = scores[table.name]
        best = max(score.accuracy for score in by_name.values())
        cells = [_percent(by_name[name].accuracy, best) for name in names]
        n_rounds = len(by_name[names[0]].rounds)
        grid.add_row(table.name, str(len(table.classes)), str(n_rounds), *cells)
    means = [np.mean([by_name[name].accuracy for by_name in scores.values()]) for name in names]
    seconds = [sum(by_name[name].seconds for by_name in scores.values()) for name in names]
    grid.add_section()
    grid.add_row("mean", "", "", *(f"{100 * mean:.2f}" for mean in means))
    grid.add_row("seconds", "", "", *(f"{spent:.0f}" for spent in seconds))
    return grid


def _percent(accuracy: float, best: float) -> str:
    return f"[bold]{100 * accuracy:.2f}[/]" if accuracy >= best - 1e-9 else f"{100 * accuracy:.2f}"


def table_of_ranks(scores: Scores, names: Sequence[str]) -> Grid:
    """Mean ranks of each of ours beside the peers, and of all together."""
    grid = Grid("among", *names, title=f"Mean rank over {len(scores)} tables")
    groups = dict.fromkeys([*((name, *PEERS) for name in OURS), tuple(names)])
    for group in groups:
        if not set(group) <= set(names):
            continue
        mean = dict(zip(group, ranks(scores, group).mean(axis=0), strict=True))
        grid.add_row(", ".join(group), *(f"{mean[name]:.3f}" if name in mean else "" for name in names))
    return grid


def table_of_duels(scores: Scores, names: Sequence[str]) -> Grid:
    """On how many tables the contestant of the line is better than, equal to and worse than that of the column."""
    grid = Grid("won/equal/lost against", *names, title="Duels")
    for name in names:
        cells = []
        for rival in names:
            pairs = ranks(scores, (name, rival))
            won, lost = int((pairs[:, 0] < 1.5).sum()), int((pairs[:, 0] > 1.5).sum())
            cells.append("" if rival == name else f"{won}/{len(pairs) - won - lost}/{lost}")
        grid.add_row(name, *cells)
    return grid


def chosen(asked: str | None, known: Sequence[str], what: str) -> list[str]:
    """The names asked for, in their usual order; all of them if none were."""
    wanted = list(known) if asked is None else asked.split(",")
    strange = [name for name in wanted if name not in known]
    if strange:
        raise SystemExit(f"no {what} {strange[0]!r}; choose among {', '.join(known)}")
    return [name for name in known if name in wanted]


def read_options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", help="names of tables, separated by commas; all if left out")
    parser.add_argument("--only", help=f"contestants, separated by commas, out of {', '.join(CONTESTANTS)}")
    parser.add_argument("--rounds", type=int, help="repetitions of the cross-validation on every table")
    default = WEKA_DIRECTORY if WEKA_DIRECTORY.is_dir() else None
    parser.add_argument("--weka", type=Path, default=default, help="directory of Weka's sample ARFF files")
    return parser.parse_args()


def main() -> None:
    """Judge, then print accuracies, mean ranks and duels."""
    options = read_options()
    names = chosen(options.only, list(CONTESTANTS), "contestant")
    tables = {table.name: table for table in all_tables(options.weka)}
    taken = [tables[name] for name in chosen(options.tables, list(tables), "table")]
    console = Console(width=None if Console().is_terminal else 120)
    if options.weka is None:
        console.print(f"Weka's tables are left out: {WEKA_DIRECTORY} is not there, and --weka names no other directory")
    # Classes with fewer rows than folds are meant to be there.
    warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
    scores = judge_all(taken, names, options.rounds, console)
    console.print(table_of_accuracies(scores, taken, names))
    console.print(table_of_ranks(scores, names))
    console.print(table_of_duels(scores, names))


if __name__ == "__main__":
    main()
