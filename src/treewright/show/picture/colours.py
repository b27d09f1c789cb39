"""Colours that people with any kind of colour vision can distinguish (Okabe and Ito 2008)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

OKABE_ITO = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442")
OTHERS = "#a3a9b0"

INK, MUTED, LINE, PAPER, TRACK = "#1c2530", "#4a5763", "#8795a3", "#ffffff", "#e3e8ed"


@dataclass(frozen=True)
class Palette:
    """The colour of each class: the heaviest have their own, the others share grey."""

    shown: tuple[int, ...]  # labels with a colour of their own, in the order of the classes
    n_others: int

    def parts(self, weights: np.ndarray) -> list[tuple[str, float]]:
        """The weights of a node as colours and shares, from left to right; empty if the node has no weight."""
        total = float(weights.sum())
        if total <= 0.0:
            return []
        found = [(OKABE_ITO[place], float(weights[label]) / total) for place, label in enumerate(self.shown)]
        if self.n_others:
            found.append((OTHERS, max(0.0, 1.0 - sum(share for _, share in found))))
        return [(colour, share) for colour, share in found if share > 0.0]

    def colour_of(self, label: int) -> str:
        return OKABE_ITO[self.shown.index(label)] if label in self.shown else OTHERS


def choose_palette(at_root: np.ndarray) -> Palette:
    """Colours for the classes of a tree, given their weights at the root.

    >>> choose_palette(np.array([5.0, 9.0])).parts(np.array([1.0, 3.0]))
    [('#0072b2', 0.25), ('#e69f00', 0.75)]
    """
    heaviest = np.argsort(-at_root, kind="stable")[: len(OKABE_ITO)]
    return Palette(tuple(sorted(heaviest.tolist())), max(0, len(at_root) - len(OKABE_ITO)))
