"""Accuracy, log loss and AUC of trees and forests without tuning, on many tables. Run with `make bench-accuracy`.

Every contestant sees the same rows: stratified ten-fold cross-validation, repeated more often on small tables. What
counts is the mean rank over the tables; contestants with equal figures share their ranks.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from sklearn.ensemble import ExtraTreesClassifier as TheirExtraTrees
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier as TheirTree

from contest import add_options, allow_rare_classes, chosen, open_console, open_progress, rank_lines
from tables import BenchTable, all_tables
from treewright import C45Classifier, CARTClassifier, ExtraTreesClassifier, RandomForestClassifier

SEED = 0
FOLDS = 10
# Repetitions are chosen so that about this many answers are judged, and the whole run takes some ten minutes.
ANSWERS, MOST_ROUNDS = 3000, 10

# Probabilities of the actual class below this count as this in the log loss.
LEAST_PROBABILITY = 1e-15


@dataclass(frozen=True)
class Answers:
    """What a model says about rows: the class of each, and the probabilities of these classes."""

    labels: np.ndarray
    classes: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, model: Any, rows: Any) -> Answers:
        """The answers of a model with scikit-learn's methods."""
        return cls(np.asarray(model.predict(rows)), np.asarray(model.classes_), np.asarray(model.predict_proba(rows)))


Answer = Callable[[BenchTable, np.ndarray, np.ndarray], Answers]


def folds_for(classes: np.ndarray) -> int:
    """Ten folds, or fewer where no class has ten rows."""
    return min(FOLDS, int(np.unique(classes, return_counts=True)[1].max()))


def answer_by_cart(table: BenchTable, train: np.ndarray, test: np.ndarray) -> Answers:
    """treewright's CART."""
    model = CARTClassifier().fit(table.frame[train], table.target[train])
    return Answers.of(model, table.frame[test])


def answer_by_c45(table: BenchTable, train: np.ndarray, test: np.ndarray) -> Answers:
    """treewright's C4.5."""
    model = C45Classifier().fit(table.frame[train], table.target[train])
    return Answers.of(model, table.frame[test])


def answer_by_c50py(table: BenchTable, train: np.ndarray, test: np.ndarray) -> Answers:
    """c50py's single tree."""
    from c50py import C5Classifier

    model = C5Classifier().fit(table.pandas.iloc[train], table.target[train])
    return Answers.of(model, table.pandas.iloc[test])


def answer_by_sklearn(table: BenchTable, train: np.ndarray, test: np.ndarray) -> Answers:
    """scikit-learn's tree, fully grown."""
    model = TheirTree(random_state=SEED).fit(table.one_hot[train], table.target[train])
    return Answers.of(model, table.one_hot[test])


def answer_by_sklearn_cv(table: BenchTable, train: np.ndarray, test: np.ndarray) -> Answers:
    """scikit-learn's tree, pruned at the price of the best mean accuracy; of equal ones the smallest tree."""
    rows, classes = table.one_hot[train], table.target[train]
    model = TheirTree(random_state=SEED).fit(rows, classes)
    # Rounding makes some prices negative by a hair, which scikit-learn itself refuses.
    prices = np.unique(np.maximum(model.cost_complexity_pruning_path(rows, classes).ccp_alphas, 0.0))
    folds = StratifiedKFold(folds_for(classes), shuffle=True, random_state=SEED)
    scores = np.zeros(len(prices))
    for kept, left_out in folds.split(rows, classes):
        part = TheirTree(random_state=SEED).fit(rows[kept], classes[kept])
        for place, price in enumerate(prices):
            scores[place] += np.mean(predictions_of(pruned(part, price), rows[left_out]) == classes[left_out])
    best = np.flatnonzero(scores >= scores.max() - 1e-9)[-1]
    return Answers.of(pruned(model, prices[best]), table.one_hot[test])


def pruned(model: TheirTree, price: float) -> TheirTree:
    """The tree that a fit with this `ccp_alpha` gives, without growing it once more."""
    smaller = copy.copy(model)
    smaller.ccp_alpha = price
    smaller._prune_tree()
    return smaller


def predictions_of(model: TheirTree, rows: np.ndarray) -> np.ndarray:
    """What `predict` gives, without its checks, which take longer than the answers."""
    return model.classes_[model.tree_.predict(rows).argmax(axis=1)]


def answer_by_forest(table: BenchTable, train: np.ndarray, test: np.ndarray) -> Answers:
    """treewright's random forest."""
    model = RandomForestClassifier(random_state=SEED).fit(table.frame[train], table.target[train])
    return Answers.of(model, table.frame[test])


def answer_by_extra_trees(table: BenchTable, train: np.ndarray, test: np.ndarray) -> Answers:
    """treewright's extra trees."""
    model = ExtraTreesClassifier(random_state=SEED).fit(table.frame[train], table.target[train])
    return Answers.of(model, table.frame[test])


def answer_by_sklearn_forest(table: BenchTable, train: np.ndarray, test: np.ndarray) -> Answers:
    """scikit-learn's random forest, on categories as ordinal codes."""
    model = TheirForest(random_state=SEED, n_jobs=2).fit(table.ordinal[train], table.target[train])
    return Answers.of(model, table.ordinal[test])


def answer_by_sklearn_extra(table: BenchTable, train: np.ndarray, test: np.ndarray) -> Answers:
    """scikit-learn's extra trees, on categories as ordinal codes."""
    model = TheirExtraTrees(random_state=SEED, n_jobs=2).fit(table.ordinal[train], table.target[train])
    return Answers.of(model, table.ordinal[test])


def answer_by_intelex(table: BenchTable, train: np.ndarray, test: np.ndarray) -> Answers:
    """scikit-learn-intelex's random forest, on ordinal codes; missing values are a value below all others."""
    from sklearnex.ensemble import RandomForestClassifier as IntelForest

    lowest = np.nanmin(table.ordinal, axis=0) - 1.0
    rows = np.where(np.isnan(table.ordinal), np.nan_to_num(lowest, nan=0.0), table.ordinal)
    codes = np.unique(table.target, return_inverse=True)
    model = IntelForest(random_state=SEED, n_jobs=2).fit(rows[train], codes[1][train])
    shares = np.asarray(model.predict_proba(rows[test]))
    return Answers(codes[0][np.asarray(model.predict(rows[test])).astype(int)], codes[0][model.classes_], shares)


def answer_by_ydf(table: BenchTable, train: np.ndarray, test: np.ndarray) -> Answers:
    """YDF's random forest, on the frame as it is."""
    import ydf

    ydf.verbose(0)
    frame = table.pandas.assign(target=table.target)
    learner = ydf.RandomForestLearner(label="target", num_threads=2, random_seed=SEED + 1)
    model = learner.train(frame.iloc[train])
    shares = np.asarray(model.predict(frame.iloc[test].drop(columns="target")))
    classes = np.array(model.label_classes())
    shares = np.column_stack([1.0 - shares, shares]) if shares.ndim == 1 else shares
    return Answers(classes[shares.argmax(axis=1)], classes, shares)


@dataclass(frozen=True)
class Group:
    """Contestants of one kind: ours first, then those that each of ours is ranked beside, then others."""

    ours: dict[str, Answer]
    peers: dict[str, Answer]
    others: dict[str, Answer]

    @property
    def all(self) -> dict[str, Answer]:
        return self.ours | self.peers | self.others


GROUPS = {
    "trees": Group(
        {"cart": answer_by_cart, "c45": answer_by_c45},
        {"c50py": answer_by_c50py, "sklearn-cv": answer_by_sklearn_cv},
        {"sklearn": answer_by_sklearn},
    ),
    "forests": Group(
        {"forest": answer_by_forest, "extra-trees": answer_by_extra_trees},
        {
            "intelex": answer_by_intelex,
            "ydf": answer_by_ydf,
            "sklearn": answer_by_sklearn_forest,
            "sklearn-extra": answer_by_sklearn_extra,
        },
        {},
    ),
}


@dataclass(frozen=True)
class Score:
    """One contestant on one table: accuracy, log loss and AUC of each round, and the seconds it took."""

    rounds: np.ndarray  # [round, figure]
    seconds: float

    @property
    def accuracy(self) -> float:
        return float(self.rounds[:, 0].mean())

    @property
    def figures(self) -> np.ndarray:
        """Accuracy, log loss and AUC, of which more is better."""
        return np.asarray(self.rounds.mean(axis=0) * (1.0, -1.0, 1.0))


Scores = dict[str, dict[str, Score]]  # by table, then by contestant


def rounds_for(table: BenchTable, asked: int | None) -> int:
    """How often the cross-validation of a table is repeated."""
    return asked or int(np.clip(ANSWERS // len(table.target), 1, MOST_ROUNDS))


def judge(table: BenchTable, contestants: dict[str, Answer], rounds: int) -> dict[str, Score]:
    """Every contestant's figures on the same folds."""
    classes, actual = np.unique(table.target, return_inverse=True)
    n_rows = len(actual)
    right = {name: np.zeros((rounds, n_rows)) for name in contestants}
    shares = {name: np.zeros((rounds, n_rows, len(classes))) for name in contestants}
    seconds = dict.fromkeys(contestants, 0.0)
    folds = folds_for(table.target)
    splits = RepeatedStratifiedKFold(n_splits=folds, n_repeats=rounds, random_state=SEED)
    for place, (train, test) in enumerate(splits.split(np.zeros(n_rows), table.target)):
        for name, answer in contestants.items():
            start = time.perf_counter()
            answers = answer(table, train, test)
            seconds[name] += time.perf_counter() - start
            right[name][place // folds, test] = answers.labels == table.target[test]
            columns = np.searchsorted(classes, answers.classes.astype(classes.dtype))
            shares[name][place // folds, test[:, None], columns] = answers.shares
    return {
        name: Score(
            np.array([(right[name][k].mean(), *losses(shares[name][k], actual)) for k in range(rounds)]), seconds[name]
        )
        for name in contestants
    }


def losses(shares: np.ndarray, actual: np.ndarray) -> tuple[float, float]:
    """The log loss, and the AUC of each class against the others, weighted by its rows."""
    own = np.clip(shares[np.arange(len(actual)), actual], LEAST_PROBABILITY, 1.0)
    sizes = np.bincount(actual, minlength=shares.shape[1])
    counted = np.flatnonzero((sizes > 0) & (sizes < len(actual)))
    areas = [roc_auc_score(actual == label, shares[:, label]) for label in counted]
    return float(-np.log(own).mean()), float(np.average(areas, weights=sizes[counted]))


def judge_all(tables: list[BenchTable], contestants: dict[str, Answer], asked: int | None, console: Console) -> Scores:
    """Judge table by table, and show how far it is."""
    scores: Scores = {}
    with open_progress(console) as progress:
        task = progress.add_task("tables", total=len(tables))
        for table in tables:
            progress.update(task, description=table.name)
            scores[table.name] = judge(table, contestants, rounds_for(table, asked))
            progress.advance(task)
    return scores


MEASURES = ("accuracy", "log loss", "AUC")


def ranks(scores: Scores, names: Sequence[str], measure: int = 0) -> np.ndarray:
    """The rank of each contestant among these on each table, 1 the best; equal figures share the mean rank."""
    figures = np.array([[by_name[name].figures[measure] for name in names] for by_name in scores.values()])
    return rank_lines(figures)


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
        grid.add_row(table.name, str(len(table.target)), str(n_rounds), *cells)
    means = [np.mean([by_name[name].accuracy for by_name in scores.values()]) for name in names]
    seconds = [sum(by_name[name].seconds for by_name in scores.values()) for name in names]
    grid.add_section()
    grid.add_row("mean", "", "", *(f"{100 * mean:.2f}" for mean in means))
    grid.add_row("seconds", "", "", *(f"{spent:.0f}" for spent in seconds))
    return grid


def _percent(accuracy: float, best: float) -> str:
    return f"[bold]{100 * accuracy:.2f}[/]" if accuracy >= best - 1e-9 else f"{100 * accuracy:.2f}"


def table_of_ranks(scores: Scores, names: Sequence[str], group: Group) -> Grid:
    """Mean ranks of each of ours beside the peers, and of all together."""
    grid = Grid("measure", "among", *names, title=f"Mean rank over {len(scores)} tables")
    for measure, words in enumerate(MEASURES):
        for ranked in dict.fromkeys([*((name, *group.peers) for name in group.ours), tuple(names)]):
            if not set(ranked) <= set(names):
                continue
            mean = dict(zip(ranked, ranks(scores, ranked, measure).mean(axis=0), strict=True))
            cells = (f"{mean[name]:.3f}" if name in mean else "" for name in names)
            grid.add_row(words, ", ".join(ranked), *cells)
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


def read_options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--group", choices=GROUPS, default="trees", help="single trees, or forests")
    parser.add_argument("--rounds", type=int, help="repetitions of the cross-validation on every table")
    return parser.parse_args()


def main() -> None:
    """Judge, then print accuracies, mean ranks and duels."""
    options = read_options()
    group = GROUPS[options.group]
    names = chosen(options.only, list(group.all), "contestant")
    tables = {table.name: table for table in all_tables(options.weka)}
    taken = [tables[name] for name in chosen(options.tables, list(tables), "table")]
    console = open_console(options.weka)
    allow_rare_classes()
    scores = judge_all(taken, {name: group.all[name] for name in names}, options.rounds, console)
    console.print(table_of_accuracies(scores, taken, names))
    console.print(table_of_ranks(scores, names, group))
    console.print(table_of_duels(scores, names))


if __name__ == "__main__":
    main()
