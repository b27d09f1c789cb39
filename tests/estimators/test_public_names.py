"""What `import treewright` offers."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import treewright


@pytest.mark.parametrize("name", treewright.__all__)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(treewright, name) is not None
    assert name in dir(treewright)


def test_show_is_the_function_and_not_the_room() -> None:
    import treewright.show.rules

    assert callable(treewright.show)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Forest'"):
        _ = treewright.Forest


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert treewright.__version__ == project["project"]["version"]
