"""Tables in files: CSV, TSV, JSON lines, ARFF and Parquet, with the same result on every machine."""

from __future__ import annotations

import gzip
from pathlib import Path

from treewright.table.plain_frame import Frame
from treewright.table.readers import BINARY_READERS, TEXT_READERS


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
    if suffix in BINARY_READERS and not is_zipped:
        return BINARY_READERS[suffix](path)
    if suffix not in TEXT_READERS:
        known = ", ".join([*TEXT_READERS, *BINARY_READERS])
        raise ValueError(f"{path.name}: the suffix {suffix!r} is not known; files of type {known} can be read")
    text = _read_text(path, is_zipped=is_zipped)
    if not text.strip():
        raise ValueError(f"{path.name}: the file is empty")
    try:
        return TEXT_READERS[suffix](text)
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
