"""Readers of table files, one module per format, by the suffix of the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from treewright.table.plain_frame import Frame
from treewright.table.readers.arff import read_arff
from treewright.table.readers.delimited import read_csv, read_tsv
from treewright.table.readers.json_lines import read_json_lines
from treewright.table.readers.parquet import read_parquet

# Formats of text, which may also be compressed by gzip.
TEXT_READERS: dict[str, Callable[[str], Frame]] = {
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".arff": read_arff,
}

BINARY_READERS: dict[str, Callable[[Path], Frame]] = {".parquet": read_parquet}

__all__ = ["BINARY_READERS", "TEXT_READERS"]
