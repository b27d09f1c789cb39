"""The tables on which boosting is compared: those of all comparisons, larger ones of classes, and ones of numbers.

The larger ones look like business tables: columns of hundreds of categories, a few of them common and most rare, each
with an effect of its own; skewed amounts; missing values that have to do with the target.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn import datasets

from tables import (
    BenchTable,
    Columns,
    Drawn,
    Generator,
    Random,
    all_tables,
    categories,
    codes,
    generated_tables,
    mixed_score,
    number_columns,
    numbers,
    seed_of,
    weka_tables,
    with_gaps,
)
from treewright.table import Frame

# Of the tables of classes that other comparisons leave out: a part of iris and of segment, and one whose columns have a
# single category or a gap. The two of Reuters are plain text.
WEKA_CLASSES = ("iris.2D", "segment-test", "supermarket")
WEKA_NUMBERS = ("cpu", "cpu.with.vendor")


def boosting_tables(weka: Path | None) -> Iterator[BenchTable]:
    """Tables of classes, then tables of numbers."""
    yield from all_tables(weka)
    if weka is not None:
        yield from weka_tables(weka, WEKA_CLASSES)
    yield from generated_tables(CLASS_GENERATORS)
    diabetes = datasets.load_diabetes(scaled=False)
    columns = dict(zip(map(str, diabetes.feature_names), diabetes.data.T, strict=True))
    yield BenchTable("diabetes", Frame(columns), diabetes.target.astype(np.float64))
    if weka is not None:
        yield from weka_tables(weka, WEKA_NUMBERS)
    yield from generated_tables(NUMBER_GENERATORS)


def common_and_rare(random: Random, rows: int, size: int) -> np.ndarray:
    """A column of so many categories, of which the first are common and most are rare."""
    chances = 1.0 / (np.arange(size) + size / 20)
    names = np.array([f"v{index}" for index in range(size)], dtype=object)
    return names[random.choice(size, rows, p=chances / chances.sum())]


def effects(random: Random, column: np.ndarray, spread: float) -> np.ndarray:
    """For each row the effect of its category, drawn once for each of them."""
    places = codes(column)
    return spread * random.standard_normal(places.max() + 1)[places]


def amounts(random: Random, rows: int, middle: float, spread: float) -> np.ndarray:
    """Skewed numbers, as sums of money are."""
    return np.round(middle * np.exp(spread * random.standard_normal(rows)), 2)


def drawn_classes(random: Random, score: np.ndarray, share: float) -> np.ndarray:
    """Two classes, the second more likely the higher the score; about this share of the rows has it."""
    middle = np.quantile(score, 1.0 - share)
    return (random.random(len(score)) < 1.0 / (1.0 + np.exp(middle - score))).astype(int)


def missing_where(random: Random, column: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """A column in which each value is missing with a chance of its own."""
    holed = column.copy()
    holed[random.random(len(column)) < chances] = np.nan if column.dtype.kind == "f" else None
    return holed


def orders_sent_back(random: Random) -> Drawn:
    """Whether an order comes back: 1,000 articles and 300 towns with an effect each, and a price."""
    rows = 6000
    columns: Columns = {
        "article": common_and_rare(random, rows, 1000),
        "town": common_and_rare(random, rows, 300),
        "price": amounts(random, rows, 40.0, 0.9),
        "pieces": random.poisson(1.5, rows) + 1.0,
        "age": random.normal(42.0, 14.0, rows).round(),
    } | categories(random, rows, (4, 7), "channel")
    score = 1.3 * effects(random, columns["article"], 1.0) + effects(random, columns["town"], 0.6)
    score += 0.5 * np.log(columns["price"] / 40.0) + effects(random, columns["channel0"], 0.5)
    score += np.where((columns["age"] < 30) & (columns["pieces"] > 2), 1.0, 0.0)
    classes = drawn_classes(random, 1.5 * score, 0.35)
    columns["age"] = missing_where(random, columns["age"], np.where(classes == 1, 0.25, 0.1))
    return columns, classes


def rare_claims(random: Random) -> Drawn:
    """A class of some eight in a hundred: amounts, 300 agents, and a report that is missing where there is a claim."""
    rows = 8000
    columns: Columns = {
        "agent": common_and_rare(random, rows, 300),
        "sum": amounts(random, rows, 20_000.0, 1.1),
        "income": amounts(random, rows, 35_000.0, 0.6),
        "years": random.exponential(6.0, rows).round(1),
        "report": random.standard_normal(rows),
    } | categories(random, rows, (3, 16, 50), "region")
    score = 1.2 * np.log(columns["sum"] / columns["income"]) - 0.15 * columns["years"]
    score += effects(random, columns["agent"], 0.9) + effects(random, columns["region2"], 0.7)
    score += np.where(columns["region0"] == "v0", 0.8 * columns["report"], 0.0)
    classes = drawn_classes(random, 1.3 * score, 0.04)
    columns["report"] = missing_where(random, columns["report"], np.where(classes == 1, 0.5, 0.3))
    columns["income"] = missing_where(random, columns["income"], np.full(rows, 0.1))
    return columns, classes


def ticket_queues(random: Random) -> Drawn:
    """Four classes: each of 300 customers and of 40 products leans to some of them, and so do two numbers."""
    rows = 4000
    columns: Columns = {
        "customer": common_and_rare(random, rows, 300),
        "product": common_and_rare(random, rows, 40),
        "words": amounts(random, rows, 80.0, 0.8).round(),
        "hour": random.integers(0, 24, rows).astype(np.float64),
    } | categories(random, rows, (2, 5), "form")
    leanings = [
        effects(random, columns["customer"], 1.0)
        + effects(random, columns["product"], 1.2)
        + random.normal() * np.log(columns["words"] / 80.0)
        + random.normal() * (columns["hour"] > 16)
        for _ in range(4)
    ]
    classes = (np.array(leanings) + random.gumbel(size=(4, rows))).argmax(axis=0)
    columns["product"] = missing_where(random, columns["product"], np.where(classes == 2, 0.3, 0.05))
    return columns, classes


def loans(random: Random) -> Drawn:
    """Amounts, ratios and missing values that tell; the 1,000 employers, of which most are rare, mean nothing."""
    rows = 3000
    columns: Columns = {
        "employer": common_and_rare(random, rows, 1000),
        "amount": amounts(random, rows, 12_000.0, 0.8),
        "income": amounts(random, rows, 40_000.0, 0.7),
        "debts": amounts(random, rows, 5_000.0, 1.3),
        "years": random.exponential(5.0, rows).round(),
    } | categories(random, rows, (4, 9, 20), "purpose")
    score = np.log(columns["amount"] / columns["income"]) + 0.6 * np.log(columns["debts"] / columns["income"])
    score += effects(random, columns["purpose1"], 0.7) - 0.1 * np.minimum(columns["years"], 10.0)
    classes = drawn_classes(random, 1.4 * score, 0.25)
    columns["income"] = missing_where(random, columns["income"], np.where(classes == 1, 0.3, 0.08))
    columns["years"] = missing_where(random, columns["years"], np.full(rows, 0.15))
    return columns, classes


def friedman_1(random: Random) -> Drawn:
    """Friedman's first function, of five of ten numbers, with noise (Friedman 1991)."""
    matrix, target = datasets.make_friedman1(1000, 10, noise=1.0, random_state=seed_of(random))
    return number_columns(matrix), target


def friedman_2(random: Random) -> Drawn:
    """Friedman's second function; the noise has a third of the deviation of the signal (Breiman 1996)."""
    matrix, target = datasets.make_friedman2(1000, noise=125.0, random_state=seed_of(random))
    return number_columns(matrix), target


def friedman_3(random: Random) -> Drawn:
    """Friedman's third function; the noise has a third of the deviation of the signal (Breiman 1996)."""
    matrix, target = datasets.make_friedman3(1000, noise=0.1, random_state=seed_of(random))
    return number_columns(matrix), target


def mixed_numbers(random: Random) -> Drawn:
    """The score of numbers and categories that `mixed` is made of, with noise; 15 % of the values are missing."""
    columns, score = mixed_score(random, 2000)
    return with_gaps(random, columns, 0.15), score + 0.5 * random.standard_normal(2000)


def thousand_categories(random: Random) -> Drawn:
    """Effects of 1,000 and of 300 categories, of which most are rare, a number, and noise."""
    rows = 5000
    columns: Columns = {"k0": common_and_rare(random, rows, 1000), "k1": common_and_rare(random, rows, 300)}
    columns |= numbers(random, rows, 4)
    target = effects(random, columns["k0"], 1.5) + effects(random, columns["k1"], 1.0) + columns["x0"]
    return columns, target + random.standard_normal(rows)


def own_slopes(random: Random) -> Drawn:
    """Each of 300 shops has a slope of its own, and all have the same mean: alone, neither shop nor number tells."""
    rows = 8000
    columns: Columns = {"shop": common_and_rare(random, rows, 300)} | numbers(random, rows, 4)
    columns["x3"] = missing_where(random, columns["x3"], np.full(rows, 0.2))
    target = effects(random, columns["shop"], 1.0) * columns["x0"] + columns["x1"]
    return columns, target + 0.5 * random.standard_normal(rows)


def heavy_tails(random: Random) -> Drawn:
    """A smooth function with noise of which some is very large: Student's t of 2.5 degrees of freedom."""
    columns = numbers(random, 2000, 6)
    signal = 2.0 * np.sin(columns["x0"]) + columns["x1"] * columns["x2"]
    return columns, signal + random.standard_t(2.5, 2000)


def noisy_line(random: Random) -> Drawn:
    """A sum of five of ten numbers, with as much noise as signal."""
    columns = numbers(random, 1000, 10)
    signal = sum(weight * columns[f"x{place}"] for place, weight in enumerate((1.0, -0.8, 0.6, 0.4, -0.2)))
    return columns, signal + 1.5 * random.standard_normal(1000)


def small_curve(random: Random) -> Drawn:
    """200 rows of a curve, a group of categories and little noise."""
    columns = numbers(random, 200, 3) | categories(random, 200, (5,))
    signal = columns["x0"] ** 2 + columns["x1"] + effects(random, columns["k0"], 1.0)
    return columns, signal + 0.3 * random.standard_normal(200)


def steps(random: Random) -> Drawn:
    """Constant in each of some boxes of three of six numbers, with noise."""
    columns = numbers(random, 1500, 6)
    boxes = [np.digitize(columns[f"x{place}"], (-0.7, 0.4)) for place in range(3)]
    heights = random.normal(0.0, 3.0, (3, 3, 3))
    return columns, heights[tuple(boxes)] + random.standard_normal(1500)


def seasons(random: Random) -> Drawn:
    """Demand by hour, weekday and day of the year, with a slow rise: a curve over time that must be found in parts."""
    rows = 3000
    day, hour = random.integers(0, 730, rows), random.integers(0, 24, rows)
    names = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], dtype=object)
    columns: Columns = {
        "day": day.astype(np.float64),
        "day of the year": (day % 365).astype(np.float64),
        "weekday": names[day % 7],
        "hour": hour.astype(np.float64),
        "warmth": 10.0 - 12.0 * np.cos(2.0 * np.pi * day / 365.0) + 4.0 * random.standard_normal(rows),
    }
    rush = np.exp(-((hour - 8) ** 2) / 6.0) + 1.3 * np.exp(-((hour - 17) ** 2) / 8.0)
    season = 1.0 - 0.4 * np.cos(2.0 * np.pi * day / 365.0) + day / 1500.0
    demand = 100.0 * season * np.where(day % 7 < 5, 0.2 + rush, 0.6 * np.exp(-((hour - 14) ** 2) / 20.0) + 0.2)
    return columns, demand + 10.0 * random.standard_normal(rows)


def house_prices(random: Random) -> Drawn:
    """Skewed prices from size, age, condition and 120 districts; sizes and years have missing values."""
    rows = 4000
    columns: Columns = {
        "district": common_and_rare(random, rows, 120),
        "area": amounts(random, rows, 110.0, 0.4),
        "plot": amounts(random, rows, 400.0, 0.8),
        "year": (2020 - random.exponential(35.0, rows)).round(),
    } | categories(random, rows, (5, 3), "condition")
    logs = 0.9 * np.log(columns["area"]) + 0.15 * np.log(columns["plot"]) + effects(random, columns["district"], 0.35)
    logs += (
        effects(random, columns["condition0"], 0.15) + 0.1 * (columns["year"] < 1940) + 0.1 * random.normal(size=rows)
    )
    for name in ("plot", "year"):
        columns[name] = missing_where(random, columns[name], np.full(rows, 0.12))
    return columns, np.exp(logs)


def visits(random: Random) -> Drawn:
    """Small whole numbers, most of them 0: counts whose mean depends on categories and numbers."""
    rows = 2500
    columns = numbers(random, rows, 5) | categories(random, rows, (6, 20))
    rate = 0.5 * columns["x0"] - 0.4 * (columns["x1"] > 0.5) + effects(random, columns["k1"], 0.6) - 0.3
    return columns, random.poisson(np.exp(rate)).astype(np.float64)


CLASS_GENERATORS: tuple[Generator, ...] = (orders_sent_back, rare_claims, ticket_queues, loans)
NUMBER_GENERATORS: tuple[Generator, ...] = (
    friedman_1,
    friedman_2,
    friedman_3,
    mixed_numbers,
    thousand_categories,
    own_slopes,
    heavy_tails,
    noisy_line,
    small_curve,
    steps,
    seasons,
    house_prices,
    visits,
)
