"""Tables of figures as plain text."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def write_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[str] = ()) -> str:
    """Lines with aligned columns; the columns named in `right` are aligned to the right.

    >>> print(write_table(("column", "missing"), [("size", "1"), ("price", "-")], right=("missing",)))
    column  missing
    size          1
    price         -
    """
    widths = [max(map(len, cells)) for cells in zip(headers, *rows, strict=True)]
    lines = []
    for row in (headers, *rows):
        cells = [
            cell.rjust(width) if header in right else cell.ljust(width)
            for header, cell, width in zip(headers, row, widths, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def write_figure(value: float | None) -> str:
    """A figure with three decimals, or six digits if it is large.

    >>> write_figure(0.5), write_figure(123456.789), write_figure(None)
    ('0.500', '123457', 'undefined')
    """
    if value is None:
        return "undefined"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.6g}"


def write_values(words: Sequence[str], mark: str, width: int) -> str:
    """As many words as fit into a width, and the number of words if some do not fit.

    >>> write_values(["small", "medium", "large"], " < ", 20)
    'small < ... (3)'
    """
    shown = [word if len(word) <= 20 else f"{word[:17]}..." for word in words]
    if len(mark.join(shown)) <= width:
        return mark.join(shown)
    ending = f"... ({len(words)})"
    while shown and len(mark.join([*shown, ending])) > width:
        shown.pop()
    return mark.join([*shown, ending])
