"""Tables in files: text, JSON, ARFF, Parquet, Feather and Excel, with the same result on every machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from treewright.table.categories import some
from treewright.table.contents import Content, open_content
from treewright.table.plain_frame import Domain, Frame
from treewright.table.read_options import ReadOptions, make_options
from treewright.table.readers import BINARY_READERS, DELIMITED_READERS, TEXT_READERS
from treewright.table.readers.delimited import find_separator, join_texts, read_delimited, read_large_file


def read_table(
    path: Any,
    *,
    sep: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    dates: str | None = None,
    na_values: Iterable[str] = (),
    sheet: str | None = None,
    text: Iterable[str] = (),
    like: Any = None,
) -> Frame:
    """Read a table from a file, by its suffix.

    Text files are .csv, .tsv, .txt, .json, .jsonl, .ndjson and .arff; others are .parquet, .feather, .arrow and .xlsx.
    Each may be in a .gz file or alone in a .zip file.

    - Numbers: 1.5, 1,5, 1,234.5, 1.234,5, 1 234,5, $5, 5 EUR and 5%, which becomes 5.
    - Dates: 2023-05-01, 05/01/2023, 01.05.2023 (the day first), May 01, 2023, and 2023-05, which becomes the first day
      of the month; also with a time.
    - Missing values: empty cells, ?, -, NA, N/A, NaN, null and their like.
    - A column that can be understood in two ways is an error, which names the option to give.
    - A first column without a name that numbers the rows, as pandas writes its index, is left out with a warning.
    - The domains that an ARFF or Parquet file declares are kept.

    Parameters
    ----------
    path : path, open file, or list of these
        The rows of several files with the same columns are put one below the other.
    sep : str or None, default=None
        The character between values; also "comma", "semicolon", "tab", "pipe" or "space" (any number of blanks). None
        finds it.
    encoding : str or None, default=None
        The encoding of a text file. None is UTF-8, or what the byte order mark of the file says.
    decimal : "." or "," or None, default=None
        The decimal mark. None finds it.
    dates : "day-first", "month-first" or None, default=None
        What comes first in dates such as 05/01/2023. None finds it. If it is given, years of two digits are read, too.
    na_values : list of str
        Further words for missing values.
    sheet : str or None, default=None
        The sheet of a workbook. None takes the only one that has values.
    text : list of str
        Columns that stay text unless they are plain numbers or ISO dates.
    like : fitted model or None, default=None
        The model that will predict the table. Its columns are recognised as in training: text stays text. If the model
        has an attribute `reading_`, the `reading` of the table of training, this decides what the file leaves open.

    Returns
    -------
    Frame

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "fruit.csv"
    >>> _ = path.write_text("colour;weight;picked\\ngreen;1.120,5;25/01/2023\\nred;-;01/02/2023\\n")
    >>> read_table(path)
    Frame of 2 rows and 3 columns
      colour  text     'green', 'red'
      weight  numbers  1120.5, nan
      picked  dates    '2023-01-25', '2023-02-01'
    """
    options = make_options(
        sep=sep,
        encoding=encoding,
        decimal=decimal,
        dates=dates,
        na_values=na_values,
        sheet=sheet,
        text=text,
        like=like,
    )
    frame = _read_all(list(path) if isinstance(path, list | tuple) else [path], options)
    frame.reading = dict(options.decided)
    return frame


def _read_all(sources: list[Any], options: ReadOptions) -> Frame:
    if not sources:
        raise ValueError("there is no file to read; give at least one")
    if len(sources) == 1:
        large = _read_large(sources[0], options)
        return _read(open_content(sources[0]), options) if large is None else large
    contents = [open_content(one) for one in sources]
    joined = _read_joined(contents, options)
    if joined is not None:
        return joined
    return _concatenate(contents, [_read(one, options) for one in contents])


def _read_large(source: Any, options: ReadOptions) -> Frame | None:
    """A large text file, parsed while it is read; None if it is none, or must be looked at as a whole."""
    if not isinstance(source, str | Path) or Path(source).suffix.lower() not in DELIMITED_READERS:
        return None
    try:
        return read_large_file(Path(source), options)
    except OSError:
        return None  # the general reader says what is wrong
    except ValueError as error:
        raise ValueError(f"{Path(source).name}: {error}") from None


def _read(content: Content, options: ReadOptions) -> Frame:
    suffix = content.suffix
    if suffix == ".xls":
        raise ValueError(f"{content.name}: old workbooks (.xls) are not read; save the table as .xlsx or .csv")
    known = ", ".join([*DELIMITED_READERS, *TEXT_READERS, *BINARY_READERS])
    if suffix not in known.split(", "):
        raise ValueError(f"{content.name}: the suffix {suffix!r} is not known; files of type {known} can be read")
    try:
        if suffix in BINARY_READERS:
            return BINARY_READERS[suffix](content.data, options)
        text = content.text(options.encoding)
        if suffix in DELIMITED_READERS:
            return DELIMITED_READERS[suffix](text, options)
        return TEXT_READERS[suffix](text.decoded(), options)
    except ImportError as error:
        raise ImportError(f"{content.name}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{content.name}: {error}") from None


def _read_joined(contents: Sequence[Content], options: ReadOptions) -> Frame | None:
    """Text files with the same header, read as one: all of their rows decide what a column is; None if they are not."""
    if not all(content.suffix in DELIMITED_READERS for content in contents):
        return None
    try:
        texts = [content.text(options.encoding) for content in contents]
        separator = options.sep or find_separator(texts[0])
        joined = join_texts(texts, separator)
    except ValueError:
        return None  # reading them one by one finds the file
    if joined is None:
        return None
    try:
        return read_delimited(joined, separator, options)
    except ValueError as error:
        for content in contents:
            _read(content, options)
        raise ValueError(f"{contents[0].name} and the other files: {error}") from None


def _concatenate(contents: Sequence[Content], frames: Sequence[Frame]) -> Frame:
    """The rows of several frames with the same columns."""
    first = frames[0]
    for content, frame in zip(contents, frames, strict=True):
        differing = [name for name in (*first.columns, *frame.columns) if (name in first) != (name in frame)]
        if differing:
            raise ValueError(
                f"{content.name} and {contents[0].name} differ in the columns {some(list(dict.fromkeys(differing)))}; "
                "give files with the same columns"
            )
    columns = {name: _join_columns(name, contents, [frame[name] for frame in frames]) for name in first.columns}
    domains = {
        name: Domain(
            tuple(dict.fromkeys(x for frame in frames for x in frame.domains[name].categories)), domain.ordered
        )
        for name, domain in first.domains.items()
        if all(name in frame.domains for frame in frames)
    }
    return Frame(columns, domains)


def _join_columns(name: str, contents: Sequence[Content], parts: Sequence[np.ndarray]) -> np.ndarray:
    arrays = [np.asarray(part) for part in parts]
    known = [place for place, part in enumerate(arrays) if not _is_empty(part)]
    families: dict[str, int] = {}
    for place in known:
        families.setdefault(_family(arrays[place]), place)
    if len(families) > 1:
        (one, place), (other, second) = list(families.items())[:2]
        raise ValueError(
            f"column {name!r} has {one} in {contents[place].name}, but {other} in {contents[second].name}; "
            "make the files alike"
        )
    if "text" not in families and "booleans" not in families and "dates" not in families:
        return np.concatenate(arrays)
    if "dates" in families:
        nothing = [np.full(len(part), np.datetime64("NaT"), dtype="M8[D]") for part in arrays]
        return np.concatenate([part if place in known else nothing[place] for place, part in enumerate(arrays)])
    empty = [np.full(len(part), None, dtype=object) for part in arrays]
    return np.concatenate(
        [part.astype(object) if place in known else empty[place] for place, part in enumerate(arrays)]
    )


def _is_empty(values: np.ndarray) -> bool:
    if values.dtype.kind == "f":
        return bool(np.isnan(values).all())
    return values.dtype.kind == "O" and all(value is None for value in values)


def _family(values: np.ndarray) -> str:
    return {"i": "numbers", "u": "numbers", "f": "numbers", "b": "booleans", "M": "dates", "m": "durations"}.get(
        values.dtype.kind, "text"
    )
