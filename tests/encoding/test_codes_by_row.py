"""Codes that are stored row by row in words of eight bytes."""

from __future__ import annotations

import numpy as np
import pytest

from treewright.encoding.bins import make_codes_by_row, words_of


@pytest.mark.parametrize("n_columns", [1, 7, 8, 9, 50])
@pytest.mark.parametrize("n_rows", [1, 2, 300])
def test_each_word_has_the_codes_of_eight_columns_of_a_row(n_columns: int, n_rows: int) -> None:
    expected = np.random.default_rng(0).integers(0, 256, (n_columns, n_rows)).astype(np.uint8)

    def allocate(shape: tuple[int, ...], dtype: type) -> np.ndarray:
        return np.full(shape, 7, dtype)

    codes = make_codes_by_row(n_columns, n_rows, allocate)
    codes[:] = expected
    words = words_of(codes)
    assert words is not None
    for row in range(n_rows):
        for block in range(-(-n_columns // 8)):
            own = expected[8 * block : 8 * block + 8, row].tolist()
            assert int(words[row * -(-n_columns // 8) + block]) == sum(code << 8 * k for k, code in enumerate(own))


@pytest.mark.parametrize("n_columns", [1, 7, 8, 9])
@pytest.mark.parametrize("n_rows", [1, 8, 16, 300])
def test_codes_that_are_stored_column_by_column_have_no_words(n_columns: int, n_rows: int) -> None:
    assert words_of(np.zeros((n_columns, n_rows), np.uint8)) is None


def test_words_that_do_not_begin_at_a_multiple_of_eight_bytes_are_not_used() -> None:
    by_row = np.zeros(8 * 20 + 8, np.uint8)
    assert words_of(by_row[: 8 * 20].reshape(20, 8).T) is not None
    assert words_of(by_row[1 : 8 * 20 + 1].reshape(20, 8).T) is None
