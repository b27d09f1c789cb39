"""Columns of text as files hold them: which cells are missing, which spell numbers, which spell dates."""

from treewright.table.spelling.columns import read_spelling, read_text_column, settle_columns
from treewright.table.spelling.dates import read_dates
from treewright.table.spelling.words import MISSING_WORDS, Words

__all__ = ["MISSING_WORDS", "Words", "read_dates", "read_spelling", "read_text_column", "settle_columns"]
