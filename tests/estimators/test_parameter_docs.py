"""The documentation of parameters: complete, in order, with the defaults of the signature."""

from __future__ import annotations

import doctest
import inspect
import pydoc
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import treewright
from treewright.estimators.parameter_docs import (
    ATTRIBUTES,
    PARAMETERS,
    Entry,
    attribute_entries,
    documented,
    parameter_entries,
    read_entries,
)

ESTIMATORS = [
    found
    for name in treewright.__all__
    if inspect.isclass(found := getattr(treewright, name)) and hasattr(found, "get_params")
]

HEAD = re.compile(r"(\w+) : (.+?)(?:, default=(.+))?")

WITH_WEIGHT_FRACTION = ("DecisionTree", "CART", "RandomTree", "RandomForest", "ExtraTrees")


def section(docstring: str, title: str) -> list[str]:
    """The lines of a section of a docstring in numpydoc form."""
    lines = inspect.cleandoc(docstring).split("\n")
    starts = [place for place, line in enumerate(lines[:-1]) if re.fullmatch("-+", lines[place + 1]) and line.strip()]
    start = next((place for place in starts if lines[place] == title), None)
    if start is None:
        return []
    end = min([place for place in starts if place > start], default=len(lines))
    return lines[start + 2 : end]


def documented_names(estimator: type, title: str) -> list[tuple[str, str, str | None]]:
    """Name, type and default of all entries of a section."""
    assert estimator.__doc__ is not None
    heads = [line for line in section(estimator.__doc__, title) if line and not line.startswith(" ")]
    found = []
    for head in heads:
        match = HEAD.fullmatch(head)
        assert match is not None, head
        found.append((match[1], match[2], match[3]))
    return found


def parameters_of(estimator: type) -> dict[str, Any]:
    return {name: one.default for name, one in inspect.signature(estimator).parameters.items()}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_is_documented_once_and_in_the_order_of_the_signature(estimator: type) -> None:
    names = [name for name, _, _ in documented_names(estimator, "Parameters")]
    assert names == list(parameters_of(estimator))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_documented_default_is_the_default(estimator: type) -> None:
    defaults = parameters_of(estimator)
    for name, _, default in documented_names(estimator, "Parameters"):
        assert default is not None
        value = eval(default, {})
        assert value == defaults[name]
        assert type(value) is type(defaults[name])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_entry_has_a_type_and_a_description(estimator: type) -> None:
    assert estimator.__doc__ is not None
    for title in ("Parameters", "Attributes"):
        lines = section(estimator.__doc__, title)
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            assert not line or line.startswith("    ") or following.startswith("    ")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_help_shows_the_parameters_and_has_no_mark_of_the_table_left(estimator: type) -> None:
    text = pydoc.plain(pydoc.render_doc(estimator))
    assert "Parameters\n |  ----------" in text
    assert "\0" not in text
    assert re.search(r"\[[a-z_ ]+\] :", text) is None
    assert text.count("\n |  Parameters\n |  ----------\n") == 1


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_example_of_the_class_is_found_by_doctest(estimator: type) -> None:
    module = sys.modules[estimator.__module__]
    tests = doctest.DocTestFinder(recurse=False).find(estimator, estimator.__name__, module)
    assert sum(len(test.examples) for test in tests) > 0


def test_no_entry_of_the_tables_is_unused() -> None:
    used = {entry for estimator in ESTIMATORS for entry, _ in parameter_entries(estimator)}
    used |= {entry for estimator in ESTIMATORS for entry in attribute_entries(estimator)}
    written = {entry for table in (PARAMETERS, ATTRIBUTES) for same in read_entries(table).values() for entry in same}
    assert written - used == set()


def test_no_two_entries_fit_a_class_equally_well() -> None:
    for estimator in ESTIMATORS:
        tags = estimator._documentation_tags  # type: ignore[attr-defined]
        entries = [entry for entry, _ in parameter_entries(estimator)] + list(attribute_entries(estimator))
        for chosen in entries:
            table = PARAMETERS if chosen.name in parameters_of(estimator) else ATTRIBUTES
            fitting = [entry for entry in read_entries(table)[chosen.name] if entry.tags <= tags]
            assert sum(len(entry.tags) == len(chosen.tags) for entry in fitting) == 1, (estimator, chosen.name)


def test_a_parameter_without_an_entry_is_refused() -> None:
    class Odd:
        """A class."""

        def __init__(self, *, shoe_size: int = 42) -> None:
            self.shoe_size = shoe_size

    with pytest.raises(KeyError, match="parameter 'shoe_size' of Odd has no entry in PARAMETERS; add one"):
        documented("single")(Odd)


def test_the_entry_with_the_most_tags_of_a_class_is_chosen() -> None:
    table = read_entries("depth : int\n    General.\ndepth [forest] : int or None\n    Of forests.\n    Two lines.\n")
    assert table["depth"] == (
        Entry("depth", frozenset(), "int", "    General."),
        Entry("depth", frozenset({"forest"}), "int or None", "    Of forests.\n    Two lines."),
    )


def fitted(estimator: type) -> Any:
    """A model with all that its attributes depend on."""
    options = {
        "oob_score": True,
        "bootstrap": True,
        "prune": "cost_complexity",
        "n_estimators": 20,
        "validation_fraction": 0.25,
        "train_score": True,
        "subsample": 0.5,
    }
    known = {name: value for name, value in options.items() if name in parameters_of(estimator)}
    colour = ["red", "blue", "green", "red"] * 10
    table = {"colour": colour} if estimator.__name__ == "ID3Classifier" else {"size": list(range(40)), "colour": colour}
    target = [float(place % 7) for place in range(40)]
    if estimator.__name__.endswith("Classifier"):
        target = ["yes" if place % 4 == 1 else "no" for place in range(40)]
    return estimator(**known).fit(table, np.array(target))


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_documented_attribute_is_there_after_fit(estimator: type) -> None:
    model = fitted(estimator)
    for name, _, _ in documented_names(estimator, "Attributes"):
        assert hasattr(model, name), name


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_least_weight_fraction_follows_the_least_rows_of_a_leaf(estimator: type) -> None:
    names = list(parameters_of(estimator))
    if not estimator.__name__.startswith(WITH_WEIGHT_FRACTION):
        assert "min_weight_fraction_leaf" not in names
        return
    assert names.index("min_weight_fraction_leaf") == names.index("min_samples_leaf") + 1
    with pytest.raises(ValueError, match=r"min_weight_fraction_leaf is 0\.6; give a fraction of the total weight"):
        estimator(min_weight_fraction_leaf=0.6).fit([[1], [2]], [1, 2])


@pytest.mark.slow
def test_classes_can_be_imported_without_docstrings() -> None:
    code = "import treewright as t; print([getattr(t, n).__doc__ for n in ('C45Classifier', 'VotingRegressor')])"
    run = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[None, None]"
