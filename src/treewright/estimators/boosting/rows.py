"""Some rows of a coded table with their targets and weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewright.encoding.bins import make_codes_by_row, words_of
from treewright.encoding.chunks import is_here
from treewright.engines.boosting.worker_engine import Share
from treewright.estimators.boosting.losses import Loss
from treewright.table.mapped import release_pages

# Rows whose codes are copied together.
ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a coded table with their targets and weights."""

    codes: Any  # uint8[column, row], or `CodesElsewhere`
    targets: np.ndarray  # one per row, or a line per output; bytes for two classes, or else float64
    weights: np.ndarray  # of distance 0 in memory if all are 1
    start: np.ndarray | None = None  # [output, row]: initial scores of the rows, if they are not the same for all
    # Returns the codes of training and validation rows, where those depend on the targets of the training rows.
    code_apart: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None
    allocate: Callable[..., np.ndarray] = np.empty  # makes arrays of the size of the codes
    share: Share | None = None  # if these are some rows of a table, and other workers have the others

    def __len__(self) -> int:
        return int(self.codes.shape[1])

    @property
    def n_rows_in_all(self) -> int:
        return len(self) if self.share is None else self.share.n_rows

    def here(self) -> Rows:
        """The same rows with codes in the memory of this process."""
        return self if is_here(self.codes) else replace(self, codes=self.codes.gather())

    def between(self, first: int, last: int, codes: np.ndarray, share: Share | None) -> Rows:
        """Consecutive rows with these codes, for one of several workers."""
        own = slice(first, last)
        start = None if self.start is None else np.ascontiguousarray(self.start[:, own])
        targets = np.ascontiguousarray(self.targets[..., own])
        return Rows(codes, targets, self.weights[own], start, share=share)

    def take(self, places: np.ndarray) -> Rows:
        start = None if self.start is None else np.ascontiguousarray(self.start[:, places])
        targets = np.ascontiguousarray(self.targets[..., places])
        weights = self.weights[: len(places)] if self.weights.strides == (0,) else self.weights[places]
        return Rows(self._take_codes(places), targets, weights, start, allocate=self.allocate)

    def _take_codes(self, places: np.ndarray) -> Any:
        if not is_here(self.codes):
            return self.codes.take(places)
        if words_of(self.codes) is None:
            codes = self.allocate((len(self.codes), len(places)), np.uint8)
            for line, taken in zip(self.codes, codes, strict=True):
                taken[:] = line[places]
            return codes
        codes = make_codes_by_row(len(self.codes), len(places), self.allocate)
        for first in range(0, len(places), ROWS_AT_ONCE):
            block = slice(first, first + ROWS_AT_ONCE)
            codes.T[block] = self.codes.T[places[block]]
            release_pages(self.codes)
        return codes

    def split(self, kept: np.ndarray, held_out: np.ndarray) -> tuple[Rows, Rows]:
        """The training rows and the validation set."""
        training, validation = self.take(kept), self.take(held_out)
        if self.code_apart is None:
            return training, validation
        codes = self.code_apart(kept, held_out)
        return replace(training, codes=codes[0]), replace(validation, codes=codes[1])

    def begin(self, loss: Loss) -> np.ndarray:
        """The initial score of all rows, per output; 0 if each row has its own."""
        initial = loss.begin(self.targets, self.weights)
        return initial if self.start is None else np.zeros_like(initial)

    def scores(self, initial: np.ndarray) -> np.ndarray:
        """The scores before the first round: [output, row]."""
        if self.start is not None:
            return self.start + initial[:, None]
        return np.repeat(initial[:, None], len(self), axis=1)
