"""Readers of table files, one module per format, by the suffix of the file."""

from __future__ import annotations

from collections.abc import Callable

from treewright.table.contents import Text
from treewright.table.plain_frame import Frame
from treewright.table.read_options import ReadOptions
from treewright.table.readers.arff import read_arff
from treewright.table.readers.arrow import read_feather, read_parquet
from treewright.table.readers.delimited import read_csv, read_tsv, read_txt
from treewright.table.readers.excel import read_excel
from treewright.table.readers.json_text import read_json, read_json_lines

# Text with one row per line.
DELIMITED_READERS: dict[str, Callable[[Text, ReadOptions], Frame]] = {
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".txt": read_txt,
}

TEXT_READERS: dict[str, Callable[[str, ReadOptions], Frame]] = {
    ".json": read_json,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".arff": read_arff,
}

BINARY_READERS: dict[str, Callable[[bytes, ReadOptions], Frame]] = {
    ".parquet": read_parquet,
    ".feather": read_feather,
    ".arrow": read_feather,
    ".xlsx": read_excel,
    ".xlsm": read_excel,
}

__all__ = ["BINARY_READERS", "DELIMITED_READERS", "TEXT_READERS"]
