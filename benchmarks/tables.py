"""The tables on which accuracies are compared: shipped with scikit-learn, Weka's samples, and generated ones.

The generated ones are either well known (MONK's problems, LED display, waveform, tic-tac-toe endgames, balance scale)
or plain textbook shapes: rules of thresholds, a line, an exclusive or, missing values, noise. Every one is drawn from a
seed of its own, so that leaving one out changes no other.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets

from treewright.table import Frame, read_table

WEKA_DIRECTORY = Path("/usr/share/doc/weka/examples")

# Left out: tables for regression or of plain text, iris, which scikit-learn has as well, and supermarket, whose columns
# have one category each, so that a gap is all they can tell.
WEKA_NAMES = (
    "breast-cancer",
    "contact-lenses",
    "credit-g",
    "diabetes",
    "glass",
    "ionosphere",
    "labor",
    "segment-challenge",
    "soybean",
    "unbalanced",
    "vote",
    "weather.nominal",
    "weather.numeric",
)

Random = np.random.Generator
Columns = dict[str, np.ndarray]
Drawn = tuple[Columns, np.ndarray]
Generator = Callable[[Random], Drawn]


@dataclass(frozen=True, eq=False)
class BenchTable:
    """A table and its target, classes or numbers, in the forms that the contestants take."""

    name: str
    frame: Frame
    target: np.ndarray

    @property
    def is_regression(self) -> bool:
        """Whether the target is a number; classes are text."""
        return self.target.dtype.kind == "f"

    @cached_property
    def pandas(self) -> pd.DataFrame:
        """Numbers as floats, anything else as text; missing values are NaN and None."""
        return pd.DataFrame({name: self._values(name) for name in self.frame.columns})

    @cached_property
    def categorical(self) -> pd.DataFrame:
        """As `pandas`, with text as categories that have the same codes in every part of the table."""
        columns = {name: self._values(name) for name in self.frame.columns}
        return pd.DataFrame(
            {name: values if values.dtype.kind == "f" else pd.Categorical(values) for name, values in columns.items()}
        )

    @cached_property
    def one_hot(self) -> np.ndarray:
        """Numbers as they are, missing values included, and a 0/1 column for each category and for its absence."""
        blocks = []
        for name in self.frame.columns:
            values = self._values(name)
            if values.dtype.kind == "f":
                blocks.append(values[:, None])
                continue
            spelled = np.array(["?" if cell is None else f"={cell}" for cell in values])
            blocks.append(spelled[:, None] == np.unique(spelled))
        return np.hstack(blocks).astype(np.float32)

    @cached_property
    def ordinal(self) -> np.ndarray:
        """Numbers as they are, and the number of each category among those sorted by name; missing values are NaN."""
        lines = []
        for name in self.frame.columns:
            values = self._values(name)
            if values.dtype.kind != "f":
                known = np.array([cell is not None for cell in values])
                codes = np.full(len(values), np.nan)
                codes[known] = np.unique(values[known].astype(str), return_inverse=True)[1]
                values = codes
            lines.append(values)
        return np.column_stack(lines)

    def _values(self, name: str) -> np.ndarray:
        values = np.asarray(self.frame[name])
        if values.dtype.kind in "fiu" and name not in self.frame.domains:
            return values.astype(np.float64)
        return np.array([None if cell is None else str(cell) for cell in self.frame.to_dict()[name]], dtype=object)


def all_tables(weka: Path | None) -> Iterator[BenchTable]:
    """Every table, made or read when its turn comes."""
    yield from sklearn_tables()
    if weka is not None:
        yield from weka_tables(weka)
    yield from generated_tables()


def sklearn_tables() -> Iterator[BenchTable]:
    """The tables of classes that scikit-learn ships, all of them numeric."""
    for name in ("iris", "wine", "breast_cancer", "digits"):
        data = getattr(datasets, f"load_{name}")()
        columns = dict(zip(map(str, data.feature_names), data.data.T, strict=True))
        yield BenchTable(name, Frame(columns), data.target_names[data.target].astype(str))


def weka_tables(directory: Path, names: Sequence[str] = WEKA_NAMES) -> Iterator[BenchTable]:
    """Weka's sample files; the target is the last column."""
    for name in names:
        frame = read_table(directory / f"{name}.arff")
        last = frame.columns[-1]
        target = np.asarray(frame[last])
        target = target.astype(np.float64 if target.dtype.kind in "fiu" else str)
        yield BenchTable(f"weka:{name}", frame.drop(last), target)


def generated_tables(generators: Sequence[Generator] | None = None) -> Iterator[BenchTable]:
    """The generated tables, each from the seed that its name gives; whole-numbered targets are classes."""
    for make in GENERATORS if generators is None else generators:
        name = make.__name__
        columns, target = make(np.random.default_rng(zlib.crc32(name.encode())))
        if target.dtype.kind != "f":
            target = np.array([f"c{label}" for label in target])
        yield BenchTable(name, Frame(columns), target)


def numbers(random: Random, rows: int, count: int, prefix: str = "x") -> Columns:
    """Independent columns of standard normal numbers."""
    return {f"{prefix}{place}": random.standard_normal(rows) for place in range(count)}


def categories(random: Random, rows: int, sizes: tuple[int, ...], prefix: str = "k") -> Columns:
    """Independent columns of categories, as text, each with so many categories of equal chance."""
    columns = {}
    for place, size in enumerate(sizes):
        letters = np.array([f"v{index}" for index in range(size)], dtype=object)
        columns[f"{prefix}{place}"] = letters[random.integers(0, size, rows)]
    return columns


def codes(column: np.ndarray) -> np.ndarray:
    """The number of each category of a column that `categories` drew."""
    return np.array([int(cell[1:]) for cell in column])


def with_noise(random: Random, classes: np.ndarray, share: float) -> np.ndarray:
    """Classes of which this share is drawn anew, from the classes as they are spread."""
    anew = random.random(len(classes)) < share
    return np.where(anew, random.permutation(classes), classes)


def with_gaps(random: Random, columns: Columns, share: float) -> Columns:
    """Columns in which this share of the values is missing, by chance alone."""
    holed = {}
    for name, values in columns.items():
        missing = random.random(len(values)) < share
        holed[name] = np.where(missing, np.nan if values.dtype.kind == "f" else None, values)
    return holed


def text_columns(rows: list[tuple[object, ...]]) -> Columns:
    """Columns of categories from rows of anything."""
    return {
        f"k{place}": np.array(list(map(str, cells)), dtype=object)
        for place, cells in enumerate(zip(*rows, strict=True))
    }


def number_columns(matrix: np.ndarray) -> Columns:
    """Columns of numbers from a matrix."""
    return {f"x{place}": values for place, values in enumerate(np.asarray(matrix, dtype=np.float64).T)}


def seed_of(random: Random) -> int:
    """A seed for scikit-learn's generators."""
    return int(random.integers(1 << 31))


def mixed_score(random: Random, rows: int) -> tuple[Columns, np.ndarray]:
    """Six numbers and four columns of categories, and a score to which half of them add."""
    columns = numbers(random, rows, 6) | categories(random, rows, (3, 5, 8, 12))
    score = columns["x0"] + np.where(columns["x1"] > 0.5, 1.5, -0.5)
    for name, size in (("k0", 3), ("k2", 8)):
        score = score + random.standard_normal(size)[codes(columns[name])]
    return columns, score


def threshold_rules(random: Random) -> Drawn:
    """Three classes by nested thresholds on three of six numbers; a tenth of the labels is drawn anew."""
    columns = numbers(random, 800, 6)
    inner = np.where(columns["x1"] > 0.3, 1, np.where(columns["x2"] > -0.2, 2, 0))
    return columns, with_noise(random, np.where(columns["x0"] > 0.0, inner, 0), 0.1)


def threshold_rules_noisy(random: Random) -> Drawn:
    """Two classes by thresholds; half of the labels are drawn anew."""
    columns = numbers(random, 800, 6)
    classes = (columns["x0"] > 0.0) & (columns["x1"] > -0.5) | (columns["x2"] > 1.0)
    return columns, with_noise(random, classes.astype(int), 0.5)


def linear_boundary(random: Random) -> Drawn:
    """Two classes on both sides of an oblique plane."""
    columns = numbers(random, 800, 8)
    score = columns["x0"] + 0.7 * columns["x1"] - 0.5 * columns["x2"]
    return columns, with_noise(random, (score > 0.0).astype(int), 0.1)


def xor_numbers(random: Random) -> Drawn:
    """An exclusive or of two thresholds, among four numbers that mean nothing."""
    columns = numbers(random, 800, 6)
    return columns, with_noise(random, ((columns["x0"] > 0.2) ^ (columns["x1"] > -0.3)).astype(int), 0.1)


def xor_categories(random: Random) -> Drawn:
    """The parity of three binary columns, among three that mean nothing."""
    columns = categories(random, 600, (2, 2, 2, 3, 4, 3))
    parity = (codes(columns["k0"]) + codes(columns["k1"]) + codes(columns["k2"])) % 2
    return columns, with_noise(random, parity, 0.1)


def category_groups(random: Random) -> Drawn:
    """Three classes by groups of the categories of two columns, and a threshold."""
    columns = categories(random, 800, (12, 8, 4)) | numbers(random, 800, 2)
    first, second = codes(columns["k0"]) % 3 == 0, codes(columns["k1"]) % 2 == 0
    return columns, with_noise(random, first * 1 + (second & (columns["x0"] > 0.0)) * 1, 0.15)


def many_categories(random: Random) -> Drawn:
    """An effect for each of forty categories, and a number."""
    columns = categories(random, 1000, (40, 15, 5)) | numbers(random, 1000, 3)
    score = random.standard_normal(40)[codes(columns["k0"])] + columns["x0"]
    return columns, with_noise(random, (score > 0.0).astype(int), 0.1)


def mixed(random: Random) -> Drawn:
    """Two classes by a score of numbers and categories."""
    columns, score = mixed_score(random, 1000)
    return columns, with_noise(random, (score > np.median(score)).astype(int), 0.15)


def mixed_small(random: Random) -> Drawn:
    """As `mixed`, with 150 rows."""
    columns, score = mixed_score(random, 150)
    return columns, with_noise(random, (score > np.median(score)).astype(int), 0.1)


def mixed_three_classes(random: Random) -> Drawn:
    """As `mixed`, with three classes."""
    columns, score = mixed_score(random, 900)
    return columns, with_noise(random, np.digitize(score, np.quantile(score, (0.3, 0.7))), 0.15)


def mixed_with_gaps(random: Random) -> Drawn:
    """As `mixed`; 15 % of the values are missing by chance."""
    columns, score = mixed_score(random, 1000)
    return with_gaps(random, columns, 0.15), with_noise(random, (score > np.median(score)).astype(int), 0.1)


def gaps_that_tell(random: Random) -> Drawn:
    """A number is missing more often in one of the classes."""
    columns = numbers(random, 800, 5) | categories(random, 800, (4, 6))
    classes = (columns["x0"] + 0.8 * (codes(columns["k0"]) == 1) > 0.3).astype(int)
    likely = random.random(800) < np.where(classes == 1, 0.5, 0.1)
    columns["x1"] = np.where(likely, np.nan, columns["x1"])
    return with_gaps(random, columns, 0.05), with_noise(random, classes, 0.15)


def imbalanced(random: Random) -> Drawn:
    """A rare class by rules."""
    columns = numbers(random, 1200, 6) | categories(random, 1200, (4, 6))
    rare = (columns["x0"] > 0.8) & (codes(columns["k0"]) < 2) | (columns["x1"] > 2.2)
    return columns, with_noise(random, rare.astype(int), 0.05)


def irrelevant_columns(random: Random) -> Drawn:
    """Two columns that matter among 28."""
    columns = numbers(random, 500, 24) | categories(random, 500, (3, 5, 7, 10))
    classes = (columns["x3"] > 0.0) & (codes(columns["k1"]) != 2)
    return columns, with_noise(random, classes.astype(int), 0.2)


def pure_noise(random: Random) -> Drawn:
    """Classes that depend on nothing: the best answer is always the more common one."""
    columns = numbers(random, 400, 6) | categories(random, 400, (3, 6))
    return columns, (random.random(400) < 0.35).astype(int)


def many_classes(random: Random) -> Drawn:
    """Twelve clouds of points, and a noisy hint in a column of categories."""
    matrix, classes = datasets.make_blobs(1000, 6, centers=12, cluster_std=3.0, random_state=seed_of(random))
    columns = number_columns(matrix)
    columns["k0"] = np.array([f"v{code}" for code in with_noise(random, classes // 3, 0.3)], dtype=object)
    return columns, classes


def monk_columns() -> tuple[Columns, np.ndarray]:
    """All 432 robots of the MONK's problems (Thrun et al. 1991), and their attributes from 1 on."""
    rows = list(itertools.product(*(range(1, size + 1) for size in (3, 3, 2, 3, 4, 2))))
    return text_columns(rows), np.array(rows).T


def monk_1(random: Random) -> Drawn:
    """Head and body have the same shape, or the jacket is red."""
    columns, a = monk_columns()
    return columns, ((a[0] == a[1]) | (a[4] == 1)).astype(int)


def monk_2(random: Random) -> Drawn:
    """Exactly two of the six attributes have their first value."""
    columns, a = monk_columns()
    return columns, ((a == 1).sum(axis=0) == 2).astype(int)


def monk_3(random: Random) -> Drawn:
    """A rule of jacket, holding and body; a tenth of the labels is drawn anew."""
    columns, a = monk_columns()
    classes = ((a[4] == 3) & (a[3] == 1)) | ((a[4] != 4) & (a[1] != 3))
    return columns, with_noise(random, classes.astype(int), 0.1)


def led_display(random: Random) -> Drawn:
    """Digits on seven segments, each wrong one time in ten, among seventeen that mean nothing (Breiman et al. 1984)."""
    lit = ("1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011")
    segments = np.array([[int(mark) for mark in digit] for digit in lit])
    classes = random.integers(0, 10, 1000)
    shown = segments[classes] ^ (random.random((1000, 7)) < 0.1)
    return text_columns([tuple(row) for row in np.hstack([shown, random.integers(0, 2, (1000, 17))])]), classes


def waveform(random: Random) -> Drawn:
    """Three mixtures of two of three triangular waves, with noise (Breiman et al. 1984)."""
    waves = np.maximum(6 - np.abs(np.arange(21) - np.array([[6], [14], [10]])), 0)
    classes = random.integers(0, 3, 1000)
    share = random.random((1000, 1))
    mixture = share * waves[classes] + (1 - share) * waves[(classes + 1) % 3]
    return number_columns(mixture + random.standard_normal((1000, 21))), classes


def tic_tac_toe(random: Random) -> Drawn:
    """All boards on which tic-tac-toe ends if x begins, and whether x has won: the 958 boards known from UCI."""
    ends: dict[str, bool] = {}

    def play(board: str, mover: str) -> None:
        winner = _winner(board)
        if winner or "b" not in board:
            ends[board] = winner == "x"
            return
        for place in (index for index, mark in enumerate(board) if mark == "b"):
            play(board[:place] + mover + board[place + 1 :], "o" if mover == "x" else "x")

    play("b" * 9, "x")
    boards = sorted(ends)
    return text_columns([tuple(board) for board in boards]), np.array([int(ends[board]) for board in boards])


def _winner(board: str) -> str:
    lines = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
    for a, b, c in lines:
        if board[a] == board[b] == board[c] != "b":
            return board[a]
    return ""


def balance_scale(random: Random) -> Drawn:
    """All 625 pairs of weights and distances, and to which side the scale tips: as known from UCI."""
    rows = np.array(list(itertools.product(range(1, 6), repeat=4)))
    return number_columns(rows), np.sign(rows[:, 0] * rows[:, 1] - rows[:, 2] * rows[:, 3]) + 1


def made_classification(random: Random) -> Drawn:
    """scikit-learn's `make_classification`, three classes."""
    options = {"n_informative": 5, "n_redundant": 3, "n_classes": 3, "flip_y": 0.05}
    matrix, classes = datasets.make_classification(1000, 15, random_state=seed_of(random), **options)
    return number_columns(matrix), classes


def moons(random: Random) -> Drawn:
    """scikit-learn's `make_moons`."""
    matrix, classes = datasets.make_moons(500, noise=0.3, random_state=seed_of(random))
    return number_columns(matrix), classes


def circles(random: Random) -> Drawn:
    """scikit-learn's `make_circles`."""
    matrix, classes = datasets.make_circles(500, noise=0.15, factor=0.5, random_state=seed_of(random))
    return number_columns(matrix), classes


def gaussian_quantiles(random: Random) -> Drawn:
    """scikit-learn's `make_gaussian_quantiles`: three shells around the origin."""
    matrix, classes = datasets.make_gaussian_quantiles(
        n_samples=800, n_features=4, n_classes=3, random_state=seed_of(random)
    )
    return number_columns(matrix), classes


GENERATORS: tuple[Generator, ...] = (
    threshold_rules,
    threshold_rules_noisy,
    linear_boundary,
    xor_numbers,
    xor_categories,
    category_groups,
    many_categories,
    mixed,
    mixed_small,
    mixed_three_classes,
    mixed_with_gaps,
    gaps_that_tell,
    imbalanced,
    irrelevant_columns,
    pure_noise,
    many_classes,
    monk_1,
    monk_2,
    monk_3,
    led_display,
    waveform,
    tic_tac_toe,
    balance_scale,
    made_classification,
    moons,
    circles,
    gaussian_quantiles,
)
