"""A scene: the rectangles, curves and words of a picture, which SVG and matplotlib draw alike."""

from __future__ import annotations

from dataclasses import dataclass

from treewright.show.picture.colours import INK


@dataclass(frozen=True)
class Box:
    """A rectangle."""

    left: float
    top: float
    width: float
    height: float
    fill: str
    outline: str = ""
    line: float = 1.0
    radius: float = 0.0
    title: str = ""


@dataclass(frozen=True)
class Line:
    """A straight line."""

    start: tuple[float, float]
    end: tuple[float, float]
    width: float
    colour: str


class Curve(Line):
    """The way from a parent down to a child."""


@dataclass(frozen=True)
class Words:
    """A line of text; `y` is its baseline."""

    x: float
    y: float
    text: str
    size: float = 12.0
    colour: str = INK
    anchor: str = "middle"  # or "start"
    bold: bool = False
    title: str = ""


Shape = Box | Line | Words


@dataclass(frozen=True)
class Scene:
    """A picture of a given size, with its parts from back to front."""

    width: float
    height: float
    title: str
    description: str
    shapes: tuple[Shape, ...]
