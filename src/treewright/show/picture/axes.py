"""A scene drawn into matplotlib axes."""

from __future__ import annotations

from typing import Any

from treewright.show.picture.scene import Box, Curve, Line, Scene, Words

# Words smaller than this many points are left out, because nobody can read them.
LEAST_POINTS = 1.5


def require_matplotlib() -> Any:
    """Matplotlib's pyplot, or an error in one sentence."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "this picture needs matplotlib; install it with: python -m pip install 'treewright[plot]'"
        ) from None
    return plt


def draw_scene(scene: Scene, ax: Any) -> Any:
    """Draw a scene to fill the axes, with words in proportion, and return the axes."""
    require_matplotlib()
    from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
    from matplotlib.path import Path

    ax.set_axis_off()
    ax.set_xlim(0, scene.width)
    ax.set_ylim(scene.height, 0)
    ax.set_aspect("equal")
    points = _points_per_unit(scene, ax)
    for order, shape in enumerate(scene.shapes):
        if isinstance(shape, Box):
            look: dict[str, Any] = {
                "facecolor": shape.fill,
                "edgecolor": shape.outline or "none",
                "zorder": 2 + order * 1e-6,
            }
            look["linewidth"] = shape.line * points
            if shape.radius:
                style = f"round,pad=0,rounding_size={shape.radius}"
                corner = (shape.left, shape.top)
                ax.add_patch(FancyBboxPatch(corner, shape.width, shape.height, boxstyle=style, **look))
            else:
                ax.add_patch(Rectangle((shape.left, shape.top), shape.width, shape.height, **look))
        elif isinstance(shape, Words):
            _draw_words(ax, shape, points, 2 + order * 1e-6)
        else:
            codes = [Path.MOVETO, *([Path.CURVE4] * 3 if isinstance(shape, Curve) else [Path.LINETO])]
            line: dict[str, Any] = {"facecolor": "none", "edgecolor": shape.colour, "linewidth": shape.width * points}
            ax.add_patch(PathPatch(Path(_way(shape), codes), zorder=2 + order * 1e-6, **line))
    return ax


def _way(shape: Line) -> list[tuple[float, float]]:
    if not isinstance(shape, Curve):
        return [shape.start, shape.end]
    (x1, y1), (x2, y2) = shape.start, shape.end
    middle = (y1 + y2) / 2.0
    return [shape.start, (x1, middle), (x2, middle), shape.end]


def _draw_words(ax: Any, words: Words, points: float, order: float) -> None:
    size = words.size * points
    if size < LEAST_POINTS:
        return
    ax.text(
        words.x,
        words.y,
        words.text.replace("$", r"\$"),  # else matplotlib would set it as a formula
        fontsize=size,
        color=words.colour,
        ha="center" if words.anchor == "middle" else "left",
        va="baseline",
        weight="bold" if words.bold else "normal",
        zorder=order,
    )


def _points_per_unit(scene: Scene, ax: Any) -> float:
    """How many points of the printed figure a unit of the scene has."""
    box = ax.get_window_extent()
    pixels = min(box.width / scene.width, box.height / scene.height)
    return float(pixels * 72.0 / ax.figure.dpi)
