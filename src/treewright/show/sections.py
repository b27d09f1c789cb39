"""Titled sections of sentences and tables, as plain text and as a piece of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill

from treewright.insight.text_table import write_table

WIDTH = 100

STYLE = (
    ".tw-sections{font:15px/1.5 system-ui,sans-serif;max-width:60rem}"
    ".tw-sections h3{font-size:1.05em;margin:1em 0 .3em}.tw-sections p{margin:.3em 0;overflow-wrap:anywhere}"
    ".tw-sections .scroll{overflow-x:auto}"
    ".tw-sections table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    ".tw-sections th,.tw-sections td{padding:.2em .7em;text-align:left;border-bottom:1px solid #d5dbe1}"
    ".tw-sections th{border-bottom:2px solid #5b6b7b}.tw-sections .r{text-align:right;white-space:nowrap}"
)


@dataclass(frozen=True)
class Section:
    """A title, sentences, and a table; the columns of the table named in `right` are aligned to the right."""

    title: str
    sentences: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    right: tuple[str, ...] = ()
    note: str = ""


def write_sections(sections: Sequence[Section], width: int = WIDTH) -> str:
    """The sections as plain text, with sentences wrapped at a width.

    >>> vote = Section("Vote", ("All 3 members agree.",), ("class", "votes"), (("a", "3"),), right=("votes",))
    >>> print(write_sections([vote]))
    Vote
    All 3 members agree.
    class  votes
    a          3
    """
    parts = []
    for section in sections:
        lines = [section.title] if section.title else []
        lines += [fill(sentence, width, break_on_hyphens=False) for sentence in section.sentences]
        if section.rows:
            lines.append(write_table(section.headers, section.rows, right=section.right))
        if section.note:
            lines.append(fill(section.note, width, break_on_hyphens=False))
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def html_of_sections(sections: Sequence[Section]) -> str:
    """The sections as a piece of HTML with its own style."""
    return f'<div class="tw-sections"><style>{STYLE}</style>{"".join(map(html_of_section, sections))}</div>'


def html_of_section(section: Section) -> str:
    title = f"<h3>{escape(section.title)}</h3>" if section.title else ""
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in section.sentences)
    note = f"<p><small>{escape(section.note)}</small></p>" if section.note else ""
    return f"<section>{title}{sentences}{html_of_table(section)}{note}</section>"


def html_of_table(section: Section) -> str:
    """The table of a section; empty if it has none."""
    if not section.rows:
        return ""
    marks = [' class="r"' if header in section.right else "" for header in section.headers]
    head = "".join(f"<th{mark}>{escape(name)}</th>" for name, mark in zip(section.headers, marks, strict=True))
    lines = "".join(
        "<tr>" + "".join(f"<td{mark}>{escape(cell)}</td>" for cell, mark in zip(row, marks, strict=True)) + "</tr>"
        for row in section.rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'
