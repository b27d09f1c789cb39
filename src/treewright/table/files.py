"""Tables in files: CSV, TSV, JSON lines, ARFF and Parquet, read alike wherever the library runs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from treewright.table.arff import read_arff
from treewright.table.categories import some
from treewright.table.column import Column, Unit
from treewright.table.plain_frame import Domain, Frame, as_array
from treewright.table.spelling import read_spelling

_DELIMITERS = (",", ";", "\t")


def read_table(path: str | Path) -> Frame:
    """Read a table from a file, by its suffix: .csv, .tsv, .jsonl, .ndjson, .arff (also .gz) or .parquet.

    Text that spells numbers becomes numbers, ISO dates become dates; empty cells and ?, NA, N/A, NaN, null
    are missing. The domains that an ARFF or Parquet file declares are kept.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "fruit.csv"
    >>> _ = path.write_text("colour,weight\\ngreen,120\\nred,NA\\n")
    >>> read_table(path)
    Frame of 2 rows and 2 columns
      colour  text     'green', 'red'
      weight  numbers  120.0, nan
    """
    path = Path(path)
    _check_path(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    is_zipped = suffixes[-1:] == [".gz"]
    suffix = next(iter(suffixes[-2 if is_zipped else -1 :]), "")
    if suffix == ".parquet" and not is_zipped:
        return _read_parquet(path)
    if suffix not in _READERS:
        known = ", ".join([*_READERS, ".parquet"])
        raise ValueError(f"{path.name}: the suffix {suffix!r} is not known; files of type {known} can be read")
    text = _read_text(path, is_zipped=is_zipped)
    if not text.strip():
        raise ValueError(f"{path.name}: the file is empty")
    try:
        return _READERS[suffix](text)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def _check_path(path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"{path} is a directory; give the path of a file")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")


def _read_text(path: Path, *, is_zipped: bool) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path.name}: the file cannot be read ({error.strerror or error})") from None
    try:
        content = gzip.decompress(content) if is_zipped else content
    except (EOFError, OSError):
        raise ValueError(f"{path.name}: the file cannot be unpacked; it is no gzip file or is cut short") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path.name}: byte {error.start} is not UTF-8; save the file as UTF-8 text and read it again"
        ) from None
    if "\0" in text:
        raise ValueError(f"{path.name}: the file holds binary data, not a table of text")
    return text


def _read_csv(text: str) -> Frame:
    return _read_delimited(text, max(_DELIMITERS, key=lambda mark: _width_of_header(text, mark)))


def _width_of_header(text: str, delimiter: str) -> int:
    return len(next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), []))


def _read_tsv(text: str) -> Frame:
    return _read_delimited(text, "\t")


def _read_delimited(text: str, delimiter: str) -> Frame:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        names = [name.strip() for name in next(row for row in reader if row)]
        _check_names(names)
        rows = []
        for row in reader:
            if not row:
                continue
            if len(row) != len(names):
                raise ValueError(f"line {reader.line_num}: {len(row)} values for {len(names)} columns")
            rows.append(row)
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from None
    columns = zip(*rows, strict=True) if rows else [[] for _ in names]
    return Frame({name: read_spelling(cells) for name, cells in zip(names, columns, strict=True)})


def _check_names(names: list[str]) -> None:
    if "" in names:
        raise ValueError(f"column {names.index('') + 1} of the header has no name; name every column")
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(f"the column names {some(repeated)} occur more than once; name every column differently")


def _read_json_lines(text: str) -> Frame:
    rows = [_read_json(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    names = list(dict.fromkeys(name for row in rows for name in row))
    _check_names(names)
    return Frame({name: _read_json_column([row.get(name) for row in rows]) for name in names})


def _read_json(number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {number}: {error.msg} at character {error.colno}") from None
    if not isinstance(row, dict):
        raise ValueError(f"line {number}: expected one object per line, found {line.strip()[:30]!r}")
    nested = next((name for name, value in row.items() if isinstance(value, dict | list)), None)
    if nested is not None:
        raise ValueError(f"line {number}: {nested!r} holds a nested value; give one plain value per column")
    return row


def _read_json_column(cells: list[Any]) -> np.ndarray:
    known = [cell for cell in cells if cell is not None]
    if known and all(isinstance(cell, str) for cell in known):
        return _read_text_column(cells)
    return as_array(cells)


def _read_text_column(cells: Sequence[str | None]) -> np.ndarray:
    """A column of text, which may spell numbers, dates or missing values as it does in CSV."""
    return read_spelling(["" if cell is None else cell for cell in cells])


def _read_arff(text: str) -> Frame:
    return read_arff(text.split("\n"))


_READERS: dict[str, Callable[[str], Frame]] = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".arff": _read_arff,
}


# What pandas calls an index without a name when it writes Parquet: the numbers of rows, not a column.
_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")


def _read_parquet(path: Path) -> Frame:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_table as read_arrow
    except ImportError:
        raise ImportError(
            f"{path.name}: Parquet needs pyarrow; install it with pip install 'treewright[arrow]'"
        ) from None
    import narwhals.stable.v2 as nw

    from treewright.table.dataframe import is_declared, read_series

    try:
        frame = nw.from_native(read_arrow(path), eager_only=True)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path.name}: {str(error).splitlines()[0]}") from None
    columns: dict[str, np.ndarray] = {}
    domains: dict[str, Domain] = {}
    for series in frame.iter_columns():
        if _INDEX_OF_PANDAS.fullmatch(series.name):
            continue
        if series.dtype == nw.String:
            columns[series.name] = _read_text_column(series.to_list())
            continue
        column, values = read_series(series.name, series)
        is_integer = series.dtype.is_integer() and not np.isnan(values).any()
        columns[series.name] = values.astype(np.int64) if is_integer else _decode(column, values)
        if is_declared(series):
            domains[series.name] = Domain(column.categories, ordered=column.kind == "ordered")
    return Frame(columns, domains)


def _decode(column: Column, values: np.ndarray) -> np.ndarray:
    """Numbers, dates or categories as a frame holds them."""
    if not column.is_numeric:
        return as_array([None if np.isnan(x) else column.categories[int(x)] for x in values])
    if column.unit is Unit.PLAIN:
        return values
    unit = "D" if column.unit is Unit.DATE else "us"
    known = ~np.isnan(values)
    moments = np.full(len(values), "NaT", dtype=f"M8[{unit}]")
    moments[known] = values[known].astype(np.int64).astype(f"M8[{unit}]")
    return moments
