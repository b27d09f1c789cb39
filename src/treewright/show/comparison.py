"""The scores of several models with their intervals, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

# Blue and grey differ for colour-blind people too.
BLUE, GREY = "#0072b2", "#5b6b7b"


def draw_scores(
    lines: Sequence[tuple[str, float, tuple[float, float]]], measure: str, baseline: float, path: str | Path
) -> None:
    """Write a picture with a line per model: name, score and 95% interval, the first at the top."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 1.2 + 0.32 * len(lines)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for place, (_, score, (low, high)) in enumerate(lines):
        axes.plot([low, high], [place, place], color=BLUE, linewidth=2)
        axes.plot([score], [place], "o", color=BLUE, markersize=6)
    axes.axvline(baseline, color=GREY, linestyle="--", linewidth=1, label="constant prediction")
    axes.set_yticks(range(len(lines)), [name for name, _, _ in lines])
    axes.set_xlabel(f"{measure}, with its 95% interval")
    axes.grid(axis="x", color="#d5dbe1")
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    figure.legend(loc="outside upper right", frameon=False)
    figure.savefig(path, dpi=120)
