"""The tidy layout: boxes of any size never overlap, and parents are centred above their children."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.show.layout import _Layout, tidy_layout

Boxes = tuple[list[int], list[float], list[float]]


@st.composite
def boxes(draw: st.DrawFn) -> Boxes:
    """Random trees with any number of branches, and boxes of random sizes."""
    n = draw(st.integers(1, 60))
    parents = [-1] + [draw(st.integers(max(0, node - draw(st.integers(1, 12))), node - 1)) for node in range(1, n)]
    size = st.floats(0.5, 200.0)
    return parents, [draw(size) for _ in range(n)], [draw(size) for _ in range(n)]


def overlapping(left: np.ndarray, top: np.ndarray, widths: list[float], heights: list[float]) -> list[tuple[int, int]]:
    """Pairs of boxes that share more than a border, each pair compared with each other."""
    right, bottom = left + widths, top + heights
    apart = 1e-6
    wide = np.minimum.outer(right, right) - np.maximum.outer(left, left) > apart
    high = np.minimum.outer(bottom, bottom) - np.maximum.outer(top, top) > apart
    pairs = np.argwhere(np.triu(wide & high, 1))
    return [(int(a), int(b)) for a, b in pairs]


def check(parents: list[int], widths: list[float], heights: list[float], gap: tuple[float, float]) -> None:
    left, top = tidy_layout(parents, widths, heights, gap)
    grown = [width + gap[0] for width in widths], [height + gap[1] for height in heights]
    assert overlapping(left, top, *grown) == []
    for node, above in enumerate(parents[1:], 1):
        assert top[node] == pytest.approx(top[above] + heights[above] + gap[1])
    for node in range(len(parents)):
        children = [child for child, above in enumerate(parents) if above == node]
        if children:
            assert list(left[children]) == sorted(left[children])
            middle = (left[children[0]] + left[children[-1]] + grown[0][children[-1]]) / 2
            assert left[node] + grown[0][node] / 2 == pytest.approx(middle, abs=1e-6)


@given(boxes(), st.tuples(st.floats(0, 30), st.floats(0, 30)))
def test_no_two_boxes_overlap_and_parents_are_centred(found: Boxes, gap: tuple[float, float]) -> None:
    check(*found, gap)


@pytest.mark.slow
def test_no_two_boxes_overlap_on_a_thousand_random_trees() -> None:
    rng = np.random.default_rng(16)
    for _ in range(1000):
        n = int(rng.integers(1, 80))
        reach = int(rng.integers(1, 20))
        parents = [-1] + [int(rng.integers(max(0, node - reach), node)) for node in range(1, n)]
        widths, heights = rng.uniform(1, 100, n), rng.uniform(1, 100, n)
        left, top = tidy_layout(parents, widths, heights)
        assert overlapping(left, top, list(widths), list(heights)) == []


def test_a_chain_of_3000_levels_needs_no_recursion() -> None:
    left, top = tidy_layout(range(-1, 2999), np.ones(3000), np.ones(3000))
    assert np.ptp(left) == 0.0
    assert top[-1] == 2999.0


def steps_on_a_comb(n: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the layout looks at the bottom of a box, the unit of its work, on a spine with a leaf at each node."""
    count, bottom = 0, _Layout.bottom

    def counted(layout: _Layout, node: int) -> float:
        nonlocal count
        count += 1
        return bottom(layout, node)

    monkeypatch.setattr(_Layout, "bottom", counted)
    parents = [-1] + [max(0, node - 2) if node % 2 == 0 else node - 1 for node in range(1, n)]
    tidy_layout(parents, np.ones(n), np.ones(n))
    monkeypatch.setattr(_Layout, "bottom", bottom)
    return count


def test_the_work_is_linear_in_the_number_of_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert steps_on_a_comb(8001, monkeypatch) < 2.1 * steps_on_a_comb(4001, monkeypatch)


def test_siblings_between_two_wide_subtrees_are_spread_evenly() -> None:
    # Two deep subtrees are kept apart by wide boxes far below; the two leaves between them share the distance.
    parents = [-1, 0, 0, 0, 0, 1, 4]
    left, _ = tidy_layout(parents, [1, 1, 1, 1, 1, 10, 10], [1] * 7)
    distances = np.diff(left[1:5])
    assert distances == pytest.approx(np.full(3, 10 / 3))
