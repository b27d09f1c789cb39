"""A tree as rules: one per leaf, or for one class the disjunction of its leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from treewright.tree import Node, Target, Test, Tree
from treewright.tree.tree import write_leaf


@dataclass(frozen=True)
class Rule:
    """The tests on the path to one leaf, and its prediction.

    Attributes
    ----------
    tests : the conditions a row meets, those on one column merged to the tightest.
    prediction : the class or number that the rule predicts.
    weight : total weight of the training rows that meet the tests.
    errors : the weight of those that are not of the predicted class.
    target : what is predicted.
    """

    tests: tuple[Test, ...]
    prediction: Any
    weight: float
    errors: float
    target: Target

    def __str__(self) -> str:
        conclusion = write_leaf(self.target, self.prediction, self.weight, self.errors)
        return f"{' and '.join(_phrases(self.tests, space=' '))}: {conclusion}"


@dataclass(frozen=True, repr=False)
class RuleList(Sequence[Rule]):
    """Rules in reading order; prints itself as one rule per line."""

    members: tuple[Rule, ...]

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> RuleList: ...
    def __getitem__(self, index: int | slice) -> Rule | RuleList:
        if isinstance(index, slice):
            return RuleList(self.members[index])
        return self.members[index]

    def __len__(self) -> int:
        return len(self.members)

    def __str__(self) -> str:
        return "\n".join(str(rule) for rule in self.members)

    __repr__ = __str__


@overload
def rules(tree: Tree, of_class: None = None) -> RuleList: ...
@overload
def rules(tree: Tree, of_class: object) -> str: ...
def rules(tree: Tree, of_class: object = None) -> RuleList | str:
    """One rule per leaf; for a class, one sentence about when the tree predicts it.

    Parameters
    ----------
    tree : the tree of a fitted learner, its `tree_`.
    of_class : one of the target's classes, None for all rules.

    >>> from treewright import ID3Classifier
    >>> sky = ["sunny", "overcast", "rainy", "rainy"]
    >>> wind = ["weak", "weak", "weak", "strong"]
    >>> play = ["no", "yes", "yes", "no"]
    >>> model = ID3Classifier().fit({"outlook": sky, "wind": wind}, play)
    >>> rules(model.tree_)
    outlook = sunny: no (1.0)
    outlook = overcast: yes (1.0)
    outlook = rainy and wind = weak: yes (1.0)
    outlook = rainy and wind = strong: no (1.0)
    """
    if of_class is not None:
        return disjunction(tree, of_class)
    return RuleList(tuple(_rule(leaf, tests) for leaf, tests in _paths(tree)))


def disjunction(tree: Tree, of_class: object) -> str:
    """When the tree predicts one class: the paths to its leaves, joined by "or".

    Leaves without training rows are left out. A tree without splits predicts its class `always`; a class without
    leaves is predicted `never`.

    >>> from treewright import ID3Classifier
    >>> sky = ["sunny", "overcast", "rainy", "rainy"]
    >>> wind = ["weak", "weak", "weak", "strong"]
    >>> play = ["no", "yes", "yes", "no"]
    >>> model = ID3Classifier().fit({"outlook": sky, "wind": wind}, play)
    >>> disjunction(model.tree_, "yes")
    'target=yes: (outlook=overcast) or (outlook=rainy and wind=weak)'
    """
    _check_class(tree.target, of_class)
    ways = [tests for leaf, tests in _paths(tree) if leaf.rows > 0 and leaf.prediction == of_class]
    if not ways:
        return f"{tree.target.name}={of_class}: never"
    if not ways[0]:
        return f"{tree.target.name}={of_class}: always"
    conjunctions = [f"({' and '.join(_phrases(tests, space=''))})" for tests in ways]
    return f"{tree.target.name}={of_class}: {' or '.join(conjunctions)}"


def merge_tests(tests: Iterable[Test]) -> tuple[Test, ...]:
    """The tests of one path with those on the same column merged to the tightest bounds or the remaining set.

    >>> from treewright.table.column import Column, Kind
    >>> width = Column("width", Kind.NUMERIC)
    >>> [str(test) for test in merge_tests([Test(width, "<=", 9), Test(width, ">", 2), Test(width, "<=", 5)])]
    ['width > 2', 'width <= 5']
    """
    by_column: dict[int, list[Test]] = {}
    for test in tests:
        by_column.setdefault(id(test.column), []).append(test)
    return tuple(merged for same in by_column.values() for merged in _merge_column(same))


def _paths(tree: Tree) -> Iterator[tuple[Node, tuple[Test, ...]]]:
    """Each leaf in reading order, with the merged tests on the way to it."""
    test_of: dict[int, Test] = {}
    for node in tree:
        test_of.update((child.index, test) for child, test in zip(node.children, node.tests, strict=True))
        if node.is_leaf:
            yield node, merge_tests(_path(tree, node.index, test_of))


def _path(tree: Tree, index: int, test_of: dict[int, Test]) -> list[Test]:
    """The tests from the root down to one node."""
    path = []
    while index > 0:
        path.append(test_of[index])
        index = int(tree.parent[index])
    return path[::-1]


def _rule(leaf: Node, tests: tuple[Test, ...]) -> Rule:
    return Rule(tests, leaf.prediction, leaf.weight, leaf.errors, leaf.tree.target)


def _merge_column(tests: list[Test]) -> list[Test]:
    without_value = [test for test in tests if test.relation == "is missing"]
    if without_value:
        return without_value[:1]  # the other tests let rows without a value pass
    tests = [test for test in tests if test.relation != "is known"] or tests[:1]
    if len(tests) == 1:
        return tests
    sets = [test for test in tests if isinstance(test.operand, tuple)]
    bounds = [test for test in tests if not isinstance(test.operand, tuple)]
    return _remaining_set(sets) + _tightest_bounds(bounds)


def _tightest_bounds(tests: list[Test]) -> list[Test]:
    """At most one lower and one upper bound."""
    above = [test for test in tests if test.relation == ">"]
    below = [test for test in tests if test.relation == "<="]
    lower = sorted(above, key=_threshold)[-1:]
    upper = sorted(below, key=_threshold)[:1]
    if lower and upper and _threshold(lower[0]) >= _threshold(upper[0]):
        return tests  # met by no value, only by rows whose value is missing
    return lower + upper


def _threshold(test: Test) -> float:
    assert not isinstance(test.operand, tuple)
    return test.operand


def _remaining_set(tests: list[Test]) -> list[Test]:
    """One test for the categories that all tests leave over; `not in` where that is shorter to write."""
    if len(tests) < 2:
        return tests
    column = tests[0].column
    excluded: set[int] = set()
    remaining = set(range(len(column.categories)))
    for test in tests:
        members = set(_members(test))
        if test.relation in ("=", "in"):
            remaining &= members
        else:
            excluded |= members
    remaining -= excluded
    if not remaining:
        return tests  # met by no value, only by rows whose value is missing
    only_exclusions = all(test.relation in ("!=", "not in") for test in tests)
    if only_exclusions and len(excluded) < len(remaining):
        return [_set_test(column, excluded, "!=", "not in")]
    return [_set_test(column, remaining, "=", "in")]


def _members(test: Test) -> tuple[int, ...]:
    assert isinstance(test.operand, tuple)
    return test.operand


def _set_test(column: Any, members: set[int], single: str, several: str) -> Test:
    return Test(column, single if len(members) == 1 else several, tuple(sorted(members)))


def _phrases(tests: tuple[Test, ...], space: str) -> list[str]:
    """The tests as text, two bounds of one column as an interval; `space` is put around signs."""
    phrases: list[str] = []
    position = 0
    while position < len(tests):
        test, following = tests[position], tests[position + 1 : position + 2]
        if following and _is_interval(test, following[0]):
            low, high, name = test.write_operand(), following[0].write_operand(), test.column.name
            phrases.append(f"{low}{space}<{space}{name}{space}<={space}{high}")
            position += 2
            continue
        around = " " if test.relation[0].isalpha() else space
        phrases.append(f"{test.column.name}{around}{test.relation}{around}{test.write_operand()}".rstrip())
        position += 1
    return phrases


def _is_interval(lower: Test, upper: Test) -> bool:
    return lower.column is upper.column and (lower.relation, upper.relation) == (">", "<=")


def _check_class(target: Target, of_class: object) -> None:
    if target.outputs:
        raise ValueError(f"the tree predicts several targets ({target.name}); call rules without a class")
    if not target.is_classes:
        raise ValueError(f"'{target.name}' is a number and has no classes; call rules without a class")
    if of_class not in target.classes:
        known = ", ".join(repr(name) for name in target.classes)
        raise ValueError(f"{of_class!r} is none of the classes of '{target.name}': {known}")
