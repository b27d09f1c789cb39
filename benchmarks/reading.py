"""Reading CSV files of a million rows, beside pandas and pyarrow's own reader: `make bench-reading`.

Ten columns of numbers and three of text, as plain CSV, with quotes, and with semicolons and decimal commas. pandas is
told the separator and the decimal mark of the last one; treewright finds them.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyarrow.csv import read_csv as read_by_pyarrow

import treewright
from harness import Contestant, race

WORDS = (3, 50, 2_000)


def make_table(n_rows: int) -> pd.DataFrame:
    """Six columns of fractions, four of integers, three of text with few to many words."""
    random = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{place}": random.normal(size=n_rows).round(4) for place in range(6)}
    columns |= {f"n{place}": random.integers(0, 10_000, n_rows) for place in range(4)}
    for place, count in enumerate(WORDS):
        words = np.array([f"word {number}" for number in range(count)])
        columns[f"t{place}"] = words[random.integers(0, count, n_rows)]
    return pd.DataFrame(columns)


def check_equal(ours: Any, theirs: pd.DataFrame) -> None:
    """Both readers found the same cells."""
    for name in theirs.columns:
        assert ours[name].tolist() == theirs[name].tolist(), name


def contestants_of(path: Path, others: dict[str, Callable[[Path], Any]]) -> list[Contestant]:
    readers = {"treewright": treewright.read_table, **others}
    return [Contestant(name, partial(read, path), partial(read, path)) for name, read in readers.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    table = make_table(options.rows)
    with tempfile.TemporaryDirectory() as folder:
        plain, quoted, commas = (Path(folder) / f"{name}.csv" for name in ("plain", "quoted", "commas"))
        table.to_csv(plain, index=False)
        table.to_csv(quoted, index=False, quoting=csv.QUOTE_NONNUMERIC)
        table.to_csv(commas, index=False, sep=";", decimal=",")
        forms: dict[str, tuple[Path, dict[str, Callable[[Path], Any]]]] = {
            "plain": (plain, {"pandas": pd.read_csv, "pyarrow": read_by_pyarrow}),
            "text in quotes": (quoted, {"pandas": pd.read_csv}),
            "semicolons and decimal commas": (commas, {"pandas": partial(pd.read_csv, sep=";", decimal=",")}),
        }
        for form, (path, others) in forms.items():
            timings = race(contestants_of(path, others), options.rounds)
            results = {timing.name: timing.result for timing in timings}
            check_equal(results["treewright"], results["pandas"])  # type: ignore[arg-type]
            ours = timings[0].best
            print(f"{form}: {options.rows:,} rows, {path.stat().st_size / 1e6:.0f} MB")
            for timing in timings:
                print(
                    f"  {timing.name:<12}{timing.best:8.3f} s   treewright takes {ours / timing.best:.2f} times as long"
                )


if __name__ == "__main__":
    main()
