"""Tidy layout of trees with boxes of any size, in linear time (van der Ploeg 2014, Drawing non-layered tidy trees)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NONE = -1


def tidy_layout(
    parents: Sequence[int] | np.ndarray,
    widths: Sequence[float] | np.ndarray,
    heights: Sequence[float] | np.ndarray,
    gap: tuple[float, float] = (0.0, 0.0),
) -> tuple[np.ndarray, np.ndarray]:
    """Return the left and the top of each box, so that no two boxes overlap and parents are centred above children.

    Parameters
    ----------
    parents : the parent of each box, -1 for the root, which is the first; parents come before their children.
    widths, heights : the sizes of the boxes.
    gap : the least distance between neighbours, and between a parent and its children.

    >>> left, top = tidy_layout([-1, 0, 0], [10, 10, 10], [5, 5, 5], gap=(2, 3))
    >>> left.tolist(), top.tolist()
    ([6.0, 0.0, 12.0], [0.0, 8.0, 8.0])
    """
    layout = _Layout(parents, np.asarray(widths, float) + gap[0], np.asarray(heights, float) + gap[1])
    for node in reversed(range(len(layout.children))):
        layout.place_children(node)
    left = layout.final_places()
    return left - left.min(), np.array(layout.top)


class _Layout:
    """The state of the algorithm: places relative to parents, and contours of subtrees as threads."""

    def __init__(self, parents: Sequence[int] | np.ndarray, widths: np.ndarray, heights: np.ndarray) -> None:
        n = len(widths)
        self.width, self.height = widths.tolist(), heights.tolist()
        self.children: list[list[int]] = [[] for _ in range(n)]
        self.top = [0.0] * n
        for node in range(1, n):
            above = int(parents[node])
            self.children[above].append(node)
            self.top[node] = self.top[above] + self.height[above]
        self.offset, self.shift_below = [0.0] * n, [0.0] * n
        # Extra distance between siblings, distributed when the final places are computed.
        self.shift, self.change = [0.0] * n, [0.0] * n
        self.left_thread, self.right_thread = [NONE] * n, [NONE] * n
        # The lowest nodes of the left and right contours of a subtree, and the sums of shifts down to them.
        self.left_end, self.right_end = list(range(n)), list(range(n))
        self.left_sum, self.right_sum = [0.0] * n, [0.0] * n

    def bottom(self, node: int) -> float:
        return self.top[node] + self.height[node]

    def place_children(self, node: int) -> None:
        """Separate the subtrees of the children, and centre the node above them; the subtrees are placed already."""
        children = self.children[node]
        if not children:
            return
        # Siblings whose subtrees are seen from the right, the nearest last: how far down each is visible.
        visible = [(self.bottom(self.left_end[children[0]]), 0)]
        for place in range(1, len(children)):
            lowest = self.bottom(self.right_end[children[place]])
            self._separate(children, place, visible)
            while visible and lowest >= visible[-1][0]:
                visible.pop()
            visible.append((lowest, place))
        first, last = children[0], children[-1]
        start = self.offset[first] + self.shift_below[first]
        end = self.offset[last] + self.shift_below[last] + self.width[last]
        self.offset[node] = (start + end - self.width[node]) / 2.0
        self.left_end[node], self.left_sum[node] = self.left_end[first], self.left_sum[first]
        self.right_end[node], self.right_sum[node] = self.right_end[last], self.right_sum[last]

    def _separate(self, children: list[int], place: int, visible: list[tuple[float, int]]) -> None:
        """Move a child to the right until its left contour clears the right contour of its siblings."""
        nearest = len(visible) - 1
        left, right = children[place - 1], children[place]
        left_sum, right_sum = self.shift_below[left], self.shift_below[right]
        while True:
            if nearest > 0 and self.bottom(left) > visible[nearest][0]:
                nearest -= 1
            overlap = left_sum + self.offset[left] + self.width[left] - right_sum - self.offset[right]
            if overlap > 0.0:
                right_sum += overlap
                self._move(children, place, visible[nearest][1], overlap)
            left_bottom, right_bottom = self.bottom(left), self.bottom(right)
            next_left, next_right = left, right
            if left_bottom <= right_bottom:
                next_left = self.children[left][-1] if self.children[left] else self.right_thread[left]
                left_sum += self.shift_below[next_left] if next_left != NONE else 0.0
            if left_bottom >= right_bottom:
                next_right = self.children[right][0] if self.children[right] else self.left_thread[right]
                right_sum += self.shift_below[next_right] if next_right != NONE else 0.0
            if next_left == NONE or next_right == NONE:
                break
            left, right = next_left, next_right
        if next_left == NONE and next_right != NONE:
            self._thread_left(children, place, next_right, right_sum)
        elif next_left != NONE and next_right == NONE:
            self._thread_right(children, place, next_left, left_sum)

    def _move(self, children: list[int], place: int, sibling: int, distance: float) -> None:
        """Move a subtree, and record that the siblings between it and the one it touched share the distance."""
        child = children[place]
        self.shift_below[child] += distance
        self.left_sum[child] += distance
        self.right_sum[child] += distance
        between = place - sibling
        if between > 1:
            self.shift[children[sibling + 1]] += distance / between
            self.shift[child] -= distance / between
            self.change[child] -= distance - distance / between

    def _thread_left(self, children: list[int], place: int, below: int, below_sum: float) -> None:
        """Continue the left contour of the first siblings by that of a child that is longer."""
        first, child = children[0], children[place]
        end = self.left_end[first]
        self.left_thread[end] = below
        difference = below_sum - self.shift_below[below] - self.left_sum[first]
        self.shift_below[end] += difference
        self.offset[end] -= difference
        self.left_end[first], self.left_sum[first] = self.left_end[child], self.left_sum[child]

    def _thread_right(self, children: list[int], place: int, below: int, below_sum: float) -> None:
        """Continue the right contour of a child by that of a sibling that is longer."""
        child, sibling = children[place], children[place - 1]
        end = self.right_end[child]
        self.right_thread[end] = below
        difference = below_sum - self.shift_below[below] - self.right_sum[child]
        self.shift_below[end] += difference
        self.offset[end] -= difference
        self.right_end[child], self.right_sum[child] = self.right_end[sibling], self.right_sum[sibling]

    def final_places(self) -> np.ndarray:
        """The left of each box: its offset, and the shifts of all boxes above it."""
        total = [0.0] * len(self.children)
        left = np.zeros(len(self.children))
        for node, children in enumerate(self.children):
            total[node] += self.shift_below[node]
            left[node] = self.offset[node] + total[node]
            step = extra = 0.0
            for child in children:
                step += self.shift[child]
                extra += step + self.change[child]
                self.shift_below[child] += extra
                total[child] = total[node]
        return left
