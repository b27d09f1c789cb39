"""Accuracy of gradient boosting as it comes, without tuning, on many tables. Run with `make bench-boosting-accuracy`.

Every contestant sees the same rows: five-fold cross-validation, repeated on small tables. Classes are judged by
accuracy, log loss and area under the curve, numbers by their root mean squared error; what counts is the mean rank over
the tables. With `--cache` results are kept in a file, and a later run judges only what is not there.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from boosting_peers import CONTESTANTS, SEED, Answer
from boosting_tables import boosting_tables
from contest import add_options, allow_rare_classes, chosen, open_console, open_progress, rank_lines
from tables import BenchTable

OURS = "treewright"
FOLDS = 5
# Fewer rows say more about the folds than about a learner of hundreds of trees.
LEAST_ROWS = 50
# CatBoost takes minutes for each fit where there are so many classes and many columns of categories.
MANY_CLASSES = 10
LEAST_SHARE = 1e-15
GAPS_SHOWN = 5

Figures = dict[str, float]  # by measure
Results = dict[str, dict[str, Figures]]  # by table, then by contestant


def accuracy(shares: np.ndarray, codes: np.ndarray) -> float:
    """The share of rows whose likeliest class is the true one."""
    return float(np.mean(shares.argmax(axis=1) == codes))


def log_loss(shares: np.ndarray, codes: np.ndarray) -> float:
    """The mean negative logarithm of the true class's share."""
    return float(-np.log(np.maximum(shares[np.arange(len(codes)), codes], LEAST_SHARE)).mean())


def area_under_curve(shares: np.ndarray, codes: np.ndarray) -> float:
    """The area under the ROC curve; of more than two classes the mean over each against all others."""
    places = (1,) if shares.shape[1] == 2 else range(shares.shape[1])
    return float(np.mean([roc_auc_score(codes == place, shares[:, place]) for place in places]))


def root_mean_squared_error(answers: np.ndarray, numbers: np.ndarray) -> float:
    """The root of the mean squared error."""
    return float(np.sqrt(np.mean((answers - numbers) ** 2)))


@dataclass(frozen=True)
class Measure:
    """How answers are judged, and how figures are compared and shown."""

    name: str
    title: str
    of_numbers: bool
    judge: Callable[[np.ndarray, np.ndarray], float]
    larger_is_better: bool
    # Figures of tables on scales of their own can only be compared by ratios.
    by_ratio: bool
    show: Callable[[float], str]

    def merits(self, results: Results, names: Sequence[str]) -> np.ndarray:
        """Figures by table and contestant, turned so that larger is better."""
        figures = np.array([[by_name[name][self.name] for name in names] for by_name in results.values()])
        return figures if self.larger_is_better else -figures

    def gap(self, figure: float, best: float) -> float:
        """How far a figure is behind the best."""
        return figure / best - 1.0 if self.by_ratio else abs(figure - best)

    def show_gap(self, gap: float) -> str:
        """A gap as people read it."""
        return f"{100 * gap:.1f} %" if self.by_ratio else self.show(gap)


def _percent(figure: float) -> str:
    return f"{100 * figure:.2f}"


MEASURES = (
    Measure("accuracy", "Accuracy in %", False, accuracy, True, False, _percent),
    Measure("log_loss", "Log loss", False, log_loss, False, False, "{:.4f}".format),
    Measure("auc", "Area under the curve in %", False, area_under_curve, True, False, _percent),
    Measure("rmse", "Root mean squared error", True, root_mean_squared_error, False, True, "{:.5g}".format),
)


def tables_of_size(weka: Path | None, console: Console | None = None) -> dict[str, BenchTable]:
    """By name, the tables that have enough rows; those that have not are named on the console."""
    known = {table.name: table for table in boosting_tables(weka)}
    small = [name for name, table in known.items() if len(table.target) < LEAST_ROWS]
    if small and console:
        console.print(f"Left out, for they have fewer than {LEAST_ROWS} rows: {', '.join(small)}")
    return {name: table for name, table in known.items() if name not in small}


def rounds_for(table: BenchTable) -> int:
    """How often the cross-validation of a table is repeated."""
    n_rows = len(table.target)
    if n_rows >= 1000 or n_outputs(table) >= MANY_CLASSES:
        return 1
    return 2 if n_rows >= 300 else 3


def n_outputs(table: BenchTable) -> int:
    """How many trees a round of boosting grows: one for each class if there are more than two."""
    n_classes = 1 if table.is_regression else len(np.unique(table.target))
    return n_classes if n_classes > 2 else 1


def truth_of(table: BenchTable) -> np.ndarray:
    """The true numbers, or the place of each true class among all by name."""
    return table.target if table.is_regression else np.unique(table.target, return_inverse=True)[1]


def scheme_of(table: BenchTable) -> str:
    """What a result depends on beside the contestant: the table's content and how it is split."""
    content = zlib.crc32(truth_of(table).tobytes(), zlib.crc32(table.ordinal.tobytes()))
    return f"{FOLDS} folds x {rounds_for(table)}, content {content:08x}"


def splits_of(table: BenchTable) -> Iterator[list[tuple[np.ndarray, np.ndarray]]]:
    """The rows to learn from and to answer, fold by fold, for each repetition."""
    rounds = rounds_for(table)
    folds = RepeatedKFold if table.is_regression else RepeatedStratifiedKFold
    splits = list(folds(n_splits=FOLDS, n_repeats=rounds, random_state=SEED).split(table.target, table.target))
    for place in range(rounds):
        yield splits[place * FOLDS : (place + 1) * FOLDS]


def judge_table(answer: Answer, table: BenchTable) -> Figures:
    """All figures of one contestant on one table, each the mean over the repetitions, and processor seconds."""
    measures = [measure for measure in MEASURES if measure.of_numbers == table.is_regression]
    truth = truth_of(table)
    start = time.process_time()
    rounds = []
    for splits in splits_of(table):
        answers = np.concatenate([answer(table, train, test) for train, test in splits])
        asked = truth[np.concatenate([test for _, test in splits])]
        rounds.append([measure.judge(answers, asked) for measure in measures])
    means = np.mean(rounds, axis=0).tolist()
    figures = dict(zip((measure.name for measure in measures), means, strict=True))
    return figures | {"seconds": round(time.process_time() - start, 2)}


class Cache:
    """Figures by contestant, table and scheme, kept in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.figures: dict[str, dict[str, Figures]] = self._read()

    def get(self, name: str, table: BenchTable) -> Figures | None:
        """The figures of a contestant on a table, if it was judged by the same scheme before."""
        return self.figures.get(name, {}).get(self._key(table))

    def put(self, name: str, table: BenchTable, figures: Figures) -> None:
        """Keep figures, beside those that other runs have put into the file meanwhile."""
        self.figures = self._read() if self.path else self.figures
        self.figures.setdefault(name, {})[self._key(table)] = figures
        if self.path:
            whole = self.path.with_suffix(f".{os.getpid()}")
            whole.write_text(json.dumps(self.figures, indent=1))
            whole.replace(self.path)

    def _read(self) -> dict[str, dict[str, Figures]]:
        return json.loads(self.path.read_text()) if self.path and self.path.exists() else {}

    def _key(self, table: BenchTable) -> str:
        return f"{table.name}: {scheme_of(table)}"


def judge_all(
    tables: list[BenchTable], names: Sequence[str], cache: Cache, again: Sequence[str], console: Console
) -> Results:
    """Judge what the cache lacks, small tables first, one contestant after the other."""
    by_size = sorted(tables, key=lambda table: table.ordinal.size * n_outputs(table))
    steps = [(name, table) for name in names for table in by_size if name in again or cache.get(name, table) is None]
    with open_progress(console) as progress:
        task = progress.add_task("", total=len(steps))
        for name, table in steps:
            progress.update(task, description=f"{name}: {table.name}")
            cache.put(name, table, judge_table(CONTESTANTS[name], table))
            progress.advance(task)
    return results_of(tables, names, cache)


def results_of(tables: list[BenchTable], names: Sequence[str], cache: Cache) -> Results:
    """The figures of all these contestants, for the tables on which each of them was judged."""
    results: Results = {}
    for table in tables:
        found = {name: cache.get(name, table) for name in names}
        if None not in found.values():
            results[table.name] = {name: figures for name, figures in found.items() if figures is not None}
    return results


def measured_by(measure: Measure, results: Results) -> Results:
    """The tables to which a measure applies."""
    return {table: by_name for table, by_name in results.items() if all(measure.name in f for f in by_name.values())}


def mean_ranks(results: Results, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """By measure, the mean rank of each contestant among these, 1 the best."""
    means = {}
    for measure in MEASURES:
        taken = measured_by(measure, results)
        if taken:
            ranks = rank_lines(measure.merits(taken, names)).mean(axis=0).tolist()
            means[measure.name] = dict(zip(names, ranks, strict=True))
    return means


def table_of_figures(measure: Measure, results: Results, names: Sequence[str]) -> Grid:
    """Figures line by line, the best in bold, then the mean gap to the best, and times."""
    grid = Grid("table", *names, title=measure.title)
    for column in grid.columns[1:]:
        column.justify = "right"
    merits = measure.merits(results, names)
    for (table, by_name), line in zip(results.items(), merits, strict=True):
        cells = [measure.show(by_name[name][measure.name]) for name in names]
        best = line >= line.max() - 1e-9
        grid.add_row(table, *(f"[bold]{cell}[/]" if top else cell for cell, top in zip(cells, best, strict=True)))
    gaps = np.array([[measure.gap(merit, line.max()) for merit in line] for line in merits])
    seconds = [sum(by_name[name]["seconds"] for by_name in results.values()) for name in names]
    grid.add_section()
    grid.add_row("mean gap to the best", *(measure.show_gap(gap) for gap in gaps.mean(axis=0)))
    grid.add_row("processor seconds", *(f"{spent:.0f}" for spent in seconds))
    return grid


def table_of_ranks(results: Results, names: Sequence[str]) -> Grid:
    """Mean ranks by measure."""
    grid = Grid("measure", "tables", *names, title="Mean rank")
    for measure in MEASURES:
        means = mean_ranks(results, names).get(measure.name)
        if means:
            n_tables = str(len(measured_by(measure, results)))
            grid.add_row(measure.title, n_tables, *(f"{means[name]:.2f}" for name in names))
    return grid


def table_of_gaps(results: Results, names: Sequence[str]) -> Grid:
    """By measure, the tables on which ours is furthest behind the best of the others."""
    grid = Grid("measure", "table", OURS, "best of the others", "", "gap", title=f"Where {OURS} is furthest behind")
    others = [name for name in names if name != OURS]
    for measure in MEASURES:
        taken = measured_by(measure, results)
        if not taken:
            continue
        ours, theirs = measure.merits(taken, [OURS])[:, 0], measure.merits(taken, others)
        best = theirs.max(axis=1)
        gaps = np.where(ours < best, [measure.gap(*pair) for pair in zip(ours, best, strict=True)], 0.0)
        for place in np.argsort(-gaps, kind="stable")[:GAPS_SHOWN]:
            figures = (measure.show(abs(ours[place])), measure.show(abs(best[place])))
            winner = others[theirs[place].argmax()]
            grid.add_row(measure.title, list(taken)[place], *figures, winner, measure.show_gap(gaps[place]))
        grid.add_section()
    return grid


def read_options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--cache", type=Path, help="file that keeps results; what it has is not judged anew")
    parser.add_argument("--again", help="contestants, separated by commas, to be judged anew in spite of the cache")
    return parser.parse_args()


def main() -> None:
    """Judge, then print figures, mean ranks, and where ours is behind."""
    options = read_options()
    names = chosen(options.only, list(CONTESTANTS), "contestant")
    again = chosen(options.again, names, "contestant") if options.again else []
    console = open_console(options.weka)
    known = tables_of_size(options.weka, console)
    tables = [known[name] for name in chosen(options.tables, list(known), "table")]
    allow_rare_classes()
    results = judge_all(tables, names, Cache(options.cache), again, console)
    for measure in MEASURES:
        taken = measured_by(measure, results)
        if taken:
            console.print(table_of_figures(measure, taken, names))
    console.print(table_of_ranks(results, names))
    if OURS in names and len(names) > 1:
        console.print(table_of_gaps(results, names))


if __name__ == "__main__":
    main()
