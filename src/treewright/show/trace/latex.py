"""A trace as LaTeX."""

from __future__ import annotations

import re

from treewright.show.trace.blocks import Block, Formula, Grid, Paragraph, Section, shown
from treewright.show.trace.document import SOLUTION, Document

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "Σ": r"$\Sigma$",
    "Δ": r"$\Delta$",
    "·": r"$\cdot$",
    "²": r"$^2$",
    "\n": " ",
}
_HEAD = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[a4paper, margin=2cm]{geometry}
\usepackage{amsmath}
\usepackage{booktabs}
\usepackage{longtable}
\usepackage{array}
\begin{document}"""


def write_latex(document: Document) -> str:
    """The document as a LaTeX file that needs amsmath, booktabs and longtable only."""
    lines = [_HEAD, rf"\section*{{{escape(document.title)}}}"]
    lines += [escape(note) + "\n" for note in document.notes]
    for section in document.sections:
        lines += _section(section, blank=document.exercise)
    if document.exercise:
        lines += [r"\clearpage", rf"\section*{{{SOLUTION}}}"]
        for section in document.sections:
            lines += _section(section, blank=False)
    return "\n".join([*lines, r"\end{document}", ""])


def escape(words: str) -> str:
    """Text whose characters have no meaning in LaTeX.

    >>> escape("50% of a_b")
    '50\\\\% of a\\\\_b'
    """
    return "".join(_SPECIAL.get(character, character) for character in words)


def _section(section: Section, *, blank: bool) -> list[str]:
    lines = [rf"\subsection*{{{escape(section.title)}}}"]
    for block in section.blocks:
        lines += _block(block, blank=blank)
    return lines


def _block(block: Block, *, blank: bool) -> list[str]:
    if isinstance(block, Paragraph):
        return ["".join(escape(shown(part, blank=blank)) for part in block.parts) + "\n"]
    if isinstance(block, Formula):
        return _formula(block, blank=blank)
    if isinstance(block, Grid):
        return _grid(block, blank=blank)
    return []


def _formula(formula: Formula, *, blank: bool) -> list[str]:
    general = formula.latex or rf"\text{{{escape(formula.general)}}}"
    parts = [r"\text{\_\_\_\_\_\_}"] * 2 if blank else [_math(formula.numbers.text), _math(formula.result.text)]
    # One line each, because a formula of many branches is wider than the page.
    lines = [r"\begin{align*}", rf"\text{{{escape(formula.name)}}} &= {general} \\"]
    return [*lines, rf"&= {parts[0]} \\", rf"&= {parts[1]}", r"\end{align*}"]


def _math(numbers: str) -> str:
    """Numbers put into a formula, in math mode; words in them stay words."""
    numbers = re.sub(r"\blog2\(", r"\\log_2(", numbers)
    numbers = numbers.replace("·", r"\cdot ").replace("²", "^2").replace("sqrt(", r"\operatorname{sqrt}(")
    if re.search(r"(?<!\\)\b[A-Za-z]{2,}", re.sub(r"\\[a-z_]+2?(\{sqrt\})?", "", numbers)):
        return rf"\text{{{escape(numbers)}}}"
    return numbers


def _grid(grid: Grid, *, blank: bool) -> list[str]:
    width = 0.9 / max(len(grid.headers), 1)
    wide = {
        place
        for place in range(len(grid.headers))
        if max((len(shown(row[place], blank=blank)) for row in grid.rows), default=0) > 24
    }
    columns = "".join(
        rf"p{{{max(width, 0.3):.2f}\linewidth}}" if place in wide else "r" if place in grid.right else "l"
        for place in range(len(grid.headers))
    )
    header = " & ".join(escape(header) for header in grid.headers)
    lines = [rf"\begin{{longtable}}{{{columns}}}", r"\toprule", rf"{header} \\", r"\midrule"]
    for place, row in enumerate(grid.rows):
        cells = [escape(shown(cell, blank=blank)) for cell in row]
        if place == grid.marked and not blank:
            cells = [rf"\textbf{{{cell}}}" if cell else cell for cell in cells]
        lines.append(" & ".join(cells) + r" \\")
    return [*lines, r"\bottomrule", r"\end{longtable}"]
