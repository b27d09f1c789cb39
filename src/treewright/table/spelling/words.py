"""The cells of one column of text: its distinct words, and which of them mean a missing value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

# Dashes and points are missing values, too, except beside a "+", where "-" is a category of its own.
MARKS = frozenset({"-", "--", "\u2013", "\u2014", "."})

MISSING_WORDS = frozenset(
    {"", "?", "NA", "N/A", "n/a", "N.A.", "n.a.", "NaN", "nan", "NULL", "null", "#N/A", "#NA", "<NA>", "NaT", *MARKS}
)


@dataclass(frozen=True, eq=False)
class Words:
    """A column of text: the distinct words, without blanks around them, and the place of each cell's word.

    The place -1 is a missing value. Each of `distinct` occurs in a cell.
    """

    distinct: list[str]
    places: np.ndarray

    @staticmethod
    def of(cells: Iterable[str]) -> Words:
        """Number the words of cells by first appearance.

        >>> words = Words.of([" b", "a", "b "])
        >>> words.distinct, words.places.tolist()
        (['b', 'a'], [0, 1, 0])
        """
        stripped = list(map(str.strip, cells))
        place = {word: number for number, word in enumerate(dict.fromkeys(stripped))}
        return Words(list(place), np.fromiter(map(place.__getitem__, stripped), np.intp, len(stripped)))

    def without(self, missing: frozenset[str]) -> Words:
        """The same cells with some words as missing values."""
        if missing.isdisjoint(self.distinct):
            return self
        kept = [word for word in self.distinct if word not in missing]
        place = {word: number for number, word in enumerate(kept)}
        new_places = np.array([*(place.get(word, -1) for word in self.distinct), -1], dtype=np.intp)
        return Words(kept, new_places[self.places])

    @property
    def has_all(self) -> bool:
        """Whether every cell has a word."""
        return len(self.places) == 0 or bool(self.places.min() >= 0)

    def text(self) -> np.ndarray:
        """The words themselves, None where missing."""
        return np.array([*self.distinct, None], dtype=object)[self.places]

    def numbers(self, values: Sequence[float] | np.ndarray) -> np.ndarray:
        """The cells as numbers, given the number of each distinct word; NaN where missing."""
        return np.append(np.asarray(values, dtype=np.float64), np.nan)[self.places]


def missing_words(distinct: Iterable[str], further: frozenset[str], categories: Iterable[object]) -> frozenset[str]:
    """The words for missing values in a column, given its distinct words and the categories that a model knows."""
    missing = MISSING_WORDS | further
    # Blood groups and test results have the values + and -.
    if "+" in distinct:
        missing -= MARKS
    return missing.difference(word for word in categories if isinstance(word, str) and word)
