"""Make the orchard table: invented trees with a rule behind them, missing values and noise, the same on every run."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np

N_ROWS = 400
SEED = 20
MISSING_FRACTION = 0.08

VARIETIES = {"Elstar": 0.9, "Boskoop": -0.4, "Topaz": -1.2, "Gala": 0.7, "Jonagold": 0.3}
SOILS = {"loam": 0.0, "clay": 0.8, "sand": -0.6}
VIGOUR = ("weak", "medium", "strong")

HEADER = f"""\
% Orchard: a made table, not measured. {N_ROWS} invented apple trees; written by make_orchard.py.
% Scab is drawn from a rule on variety, soil, irrigation, spraying and pruning, with noise; about
% {MISSING_FRACTION:.0%} of the cells are blanked at random.
@relation orchard
@attribute variety {{{", ".join(VARIETIES)}}}
@attribute soil {{{", ".join(SOILS)}}}
@attribute age_years numeric
@attribute height_m numeric
@attribute vigour {{{", ".join(VIGOUR)}}}
@attribute irrigated {{false, true}}
@attribute last_pruned date "yyyy-MM-dd"
@attribute sprays numeric
@attribute scab {{none, mild, severe}}
@data
"""


def make_orchard() -> str:
    """The table as ARFF text."""
    rng = np.random.default_rng(SEED)
    lines = [",".join(_blank(rng, _tree(rng))) for _ in range(N_ROWS)]
    return HEADER + "\n".join(lines) + "\n"


def _tree(rng: np.random.Generator) -> list[str]:
    """One tree: its features, then its scab."""
    variety = str(rng.choice(list(VARIETIES)))
    soil = str(rng.choice(list(SOILS), p=[0.5, 0.3, 0.2]))
    age = int(rng.integers(2, 41))
    vigour = int(np.clip(round(2.2 - age / 20 + rng.normal(0, 0.5)), 0, 2))
    height = round(1.2 + 0.09 * age + 0.5 * vigour + rng.normal(0, 0.4), 1)
    irrigated = bool(rng.random() < 0.4)
    pruned = date(2021, 1, 15) + timedelta(days=int(rng.integers(0, 1150)))
    sprays = int(rng.poisson(3))
    days_unpruned = (date(2024, 6, 1) - pruned).days
    damp = VARIETIES[variety] + SOILS[soil] + 0.9 * irrigated - 0.35 * sprays + days_unpruned / 600
    risk = damp - 0.4 * vigour + rng.normal(0, 0.5)
    scab = "none" if risk < -0.1 else "mild" if risk < 1.0 else "severe"
    return [
        variety,
        soil,
        str(age),
        f"{height:.1f}",
        VIGOUR[vigour],
        str(irrigated).lower(),
        pruned.isoformat(),
        str(sprays),
        scab,
    ]


def _blank(rng: np.random.Generator, cells: list[str]) -> list[str]:
    """Blank some features; the target stays."""
    hidden = rng.random(len(cells) - 1) < MISSING_FRACTION
    return [*("?" if hide else cell for hide, cell in zip(hidden, cells, strict=False)), cells[-1]]


if __name__ == "__main__":
    (Path(__file__).parent / "data" / "orchard.arff").write_text(make_orchard(), encoding="utf-8")
