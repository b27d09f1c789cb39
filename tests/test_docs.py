"""The examples in the documentation run as they stand."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("name", ["criteria.md", "ensembles.md", "pruning.md"])
def test_the_examples_of_a_page_run(name: str) -> None:
    result = doctest.testfile(str(DOCS / name), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0
