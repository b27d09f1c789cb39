"""Small tables that ship with the library: from lectures, iris, and a made one with every kind of column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from treewright.table.files import read_table
from treewright.table.plain_frame import Frame

__all__ = [
    "Dataset",
    "load",
    "load_animals",
    "load_concept",
    "load_edible",
    "load_iris",
    "load_orchard",
    "load_taxable_income",
    "load_weather",
    "names",
]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with the column to be predicted.

    >>> weather = load_weather()
    >>> weather.X.columns, weather.y[:3].tolist()
    (['outlook', 'temperature', 'humidity', 'wind'], ['no', 'no', 'yes'])
    """

    name: str
    frame: Frame = field(repr=False)
    target: str
    description: str

    @property
    def X(self) -> Frame:
        """The table without the target."""
        return self.frame.drop(self.target)

    @property
    def y(self) -> np.ndarray:
        """The values of the target."""
        column: np.ndarray = self.frame[self.target]
        return column


def load_weather(*, with_day: bool = False) -> Dataset:
    """Fourteen days on which tennis was played or not (Quinlan 1986).

    Parameters
    ----------
    with_day : bool, default=False
        Keep the column `day`, which names every row: it has the highest information gain, but predicts nothing.

    >>> load_weather(with_day=True).X.shape
    (14, 5)
    """
    frame = _read("weather.csv")
    return Dataset("weather", frame if with_day else frame.drop("day"), "play", "Days by weather: was tennis played?")


def load_edible() -> Dataset:
    """Sixteen things by colour, size and shape, edible or not.

    >>> load_edible().X.shape
    (16, 3)
    """
    return Dataset("edible", _read("edible.csv"), "edible", "Things by colour, size and shape: are they edible?")


def load_animals() -> Dataset:
    """Seven animals that fly or not, birds or mammals.

    >>> load_animals().y.tolist().count("bird")
    4
    """
    return Dataset("animals", _read("animals.csv"), "class", "Animals by flight and colour: bird or mammal?")


def load_concept() -> Dataset:
    """Four days of water sport (Mitchell 1997); the values weak and cloudy are declared, but never occur.

    >>> load_concept().frame.domains["sky"].categories
    ('sunny', 'cloudy', 'rainy')
    """
    return Dataset("concept", _read("concept.arff"), "enjoy", "Days by weather: was the sport enjoyed?")


def load_taxable_income() -> Dataset:
    """Ten incomes in thousands, and whether tax was evaded: one numeric column to find a threshold in.

    >>> int(load_taxable_income().X["income"].max())
    220
    """
    return Dataset("taxable_income", _read("taxable_income.csv"), "cheat", "Incomes in thousands: was tax evaded?")


def load_iris() -> Dataset:
    """Fisher's 150 irises: four lengths in centimetres, three species.

    >>> load_iris().X.shape
    (150, 4)
    """
    return Dataset("iris", _read("iris.csv"), "species", "Irises by sepal and petal size: which species?")


def load_orchard() -> Dataset:
    """Four hundred invented apple trees with text, numbers, a boolean, an order, a date, and missing values.

    The table is made, not measured: see `treewright.datasets.make_orchard`.

    >>> load_orchard().frame.domains["vigour"]
    Domain(categories=('weak', 'medium', 'strong'), ordered=True)
    """
    frame = _read("orchard.arff")
    irrigated = [None if word is None else word == "true" for word in frame["irrigated"]]
    frame = frame.assign("irrigated", irrigated)
    frame = frame.declare("vigour", frame.domains["vigour"].categories, ordered=True)
    return Dataset(
        "orchard", frame, "scab", "Invented apple trees (made data, with missing values): how bad is the scab?"
    )


_LOADERS: dict[str, Callable[[], Dataset]] = {
    "weather": load_weather,
    "edible": load_edible,
    "animals": load_animals,
    "concept": load_concept,
    "taxable_income": load_taxable_income,
    "iris": load_iris,
    "orchard": load_orchard,
}


def names() -> list[str]:
    """The names that `load` knows.

    >>> names()
    ['weather', 'edible', 'animals', 'concept', 'taxable_income', 'iris', 'orchard']
    """
    return list(_LOADERS)


def load(name: str) -> Dataset:
    """Load a dataset by its name.

    >>> load("iris").target
    'species'
    """
    if name not in _LOADERS:
        raise ValueError(f"there is no dataset {name!r}; the names are {', '.join(_LOADERS)}")
    return _LOADERS[name]()


def _read(file: str) -> Frame:
    return read_table(Path(__file__).parent / "data" / file)
