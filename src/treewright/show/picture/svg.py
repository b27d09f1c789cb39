"""A scene as the text of an SVG file."""

from __future__ import annotations

from html import escape

from treewright.show.picture.scene import Box, Curve, Scene, Shape, Words

FONT = "system-ui,'Segoe UI',Helvetica,Arial,sans-serif"


def write_svg(scene: Scene) -> str:
    """The scene as SVG; it is as wide as its content, and shrinks to the page it is shown on."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(scene.width)} {_n(scene.height)}" '
        f'width="{_n(scene.width)}" height="{_n(scene.height)}" style="max-width:100%;height:auto" '
        f'font-family="{FONT}" role="img" aria-label="{escape(f"{scene.title}: {scene.description}")}">'
    )
    title = f"<title>{escape(scene.title)}</title><desc>{escape(scene.description)}</desc>"
    paper = f'<rect width="{_n(scene.width)}" height="{_n(scene.height)}" fill="#fff"/>'
    return "\n".join([head, title, paper, *map(_write, scene.shapes), "</svg>\n"])


def _n(number: float) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")


def _write(shape: Shape) -> str:
    if isinstance(shape, Box):
        return _box(shape)
    if isinstance(shape, Words):
        return _words(shape)
    (x1, y1), (x2, y2) = shape.start, shape.end
    way = curve_path(shape) if isinstance(shape, Curve) else f"M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}"
    return f'<path d="{way}" fill="none" stroke="{shape.colour}" stroke-width="{_n(shape.width)}"/>'


def curve_path(curve: Curve) -> str:
    """A branch that leaves its parent and reaches its child vertically."""
    (x1, y1), (x2, y2) = curve.start, curve.end
    middle = (y1 + y2) / 2.0
    return f"M{_n(x1)} {_n(y1)}C{_n(x1)} {_n(middle)} {_n(x2)} {_n(middle)} {_n(x2)} {_n(y2)}"


def _box(box: Box) -> str:
    outline = f' stroke="{box.outline}" stroke-width="{_n(box.line)}"' if box.outline else ""
    radius = f' rx="{_n(box.radius)}"' if box.radius else ""
    size = f'x="{box.left:.2f}" y="{box.top:.2f}" width="{max(box.width, 0.0):.2f}" height="{max(box.height, 0.0):.2f}"'
    return f'<rect {size} fill="{box.fill}"{outline}{radius}{_titled(box.title, "rect")}'


def _words(words: Words) -> str:
    weight = ' font-weight="600"' if words.bold else ""
    anchor = f' text-anchor="{words.anchor}"' if words.anchor != "start" else ""
    place = f'x="{_n(words.x)}" y="{_n(words.y)}" font-size="{_n(words.size)}" fill="{words.colour}"'
    title = f"<title>{escape(words.title)}</title>" if words.title and words.title != words.text else ""
    return f"<text {place}{anchor}{weight}>{title}{escape(words.text)}</text>"


def _titled(title: str, element: str) -> str:
    return f"><title>{escape(title)}</title></{element}>" if title else "/>"
