"""Tables: what a column is, reading frames and files, turning columns into numbers and category indices."""

from treewright.table.column import Column, Kind, Unit
from treewright.table.files import read_table
from treewright.table.frame import Table, matrix_of, read_frame, read_like
from treewright.table.plain_frame import Frame
from treewright.table.target import (
    declared_classes,
    has_label,
    read_classes,
    read_numbers,
    split_target,
    take_rows,
    target_name,
)

__all__ = [
    "Column",
    "Frame",
    "Kind",
    "Table",
    "Unit",
    "declared_classes",
    "has_label",
    "matrix_of",
    "read_classes",
    "read_frame",
    "read_like",
    "read_numbers",
    "read_table",
    "split_target",
    "take_rows",
    "target_name",
]
