"""A trace as one HTML file with step buttons; it needs no network."""

from __future__ import annotations

from html import escape

import numpy as np

from treewright.show.trace.blocks import Block, Cell, Figure, Formula, Grid, NumberLine, Paragraph, Section, shown
from treewright.show.trace.document import SOLUTION, Document

_STYLE = """
.tw-trace{font:15px/1.5 system-ui,sans-serif;color:#1c2530;max-width:1000px;margin:0 auto;padding:0 1rem}
.tw-trace h1{font-size:1.35rem;margin:.8em 0 .4em}.tw-trace h2{font-size:1.1rem;margin:.6em 0;overflow-wrap:anywhere}
.tw-trace nav{position:sticky;top:0;background:#fff;padding:.5rem 0;border-bottom:1px solid #cfd6de;display:flex;
gap:.5rem;align-items:center;flex-wrap:wrap;z-index:1}
.tw-trace button{font:inherit;padding:.3em .9em;border:1px solid #5b6b7b;border-radius:5px;background:#f4f7fa}
.tw-trace button:enabled{cursor:pointer}
.tw-trace button:disabled{color:#8a949e;border-color:#cfd6de}
.tw-trace button:focus-visible,.tw-trace select:focus-visible{outline:3px solid #0072b2}
.tw-trace select{font:inherit;max-width:min(60vw,520px);padding:.3em}
.tw-trace .scroll{overflow-x:auto;margin:.6em 0}
.tw-trace table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.tw-trace th,.tw-trace td{padding:.25em .7em;border-bottom:1px solid #e3e8ed;text-align:left;vertical-align:top}
.tw-trace th{border-bottom:2px solid #5b6b7b}.tw-trace .r{text-align:right;white-space:nowrap}
.tw-trace tr.win td{background:#e3f1fa;font-weight:600}
.tw-trace .f{margin:.5em 0;padding:.5em .8em;background:#f6f8fa;border-left:3px solid #0072b2;overflow-wrap:anywhere}
.tw-trace .f b{white-space:nowrap}.tw-trace .note{color:#4a5763}
.tw-trace .blank{display:inline-block;min-width:4.5em;border-bottom:1px solid #1c2530;height:1.1em}
.tw-trace svg{display:block;width:100%;max-width:760px;height:auto}
@media print{.tw-trace nav{display:none}.tw-trace section[hidden]{display:block!important}
.tw-trace section{break-inside:avoid}}
"""
_SCRIPT = """
(function(){var root=document.currentScript.closest('.tw-trace');
var parts=Array.prototype.slice.call(root.querySelectorAll('section')),at=0;
var back=root.querySelector('.back'),next=root.querySelector('.next'),all=root.querySelector('.all'),
pick=root.querySelector('select'),whole=false;
function show(){parts.forEach(function(p,i){p.hidden=!whole&&i!==at});pick.value=String(at);
back.disabled=whole||at===0;next.disabled=whole||at===parts.length-1;
all.textContent=whole?'One by one':'All steps';all.setAttribute('aria-pressed',String(whole))}
function go(i){at=Math.max(0,Math.min(parts.length-1,i));whole=false;show()}
back.onclick=function(){go(at-1)};next.onclick=function(){go(at+1)};pick.onchange=function(){go(+pick.value)};
all.onclick=function(){whole=!whole;show()};
root.addEventListener('keydown',function(e){if(e.target===pick)return;
if(e.key==='ArrowRight'){go(at+1)}else if(e.key==='ArrowLeft'){go(at-1)}});show()})();
"""


def write_html(document: Document, *, whole_page: bool = True) -> str:
    """The document as a page of its own, or as a part of another page such as a notebook."""
    titles = [section.title for section in document.sections]
    parts = [_section(section, blank=document.exercise) for section in document.sections]
    if document.exercise:
        titles += [f"{SOLUTION}: {section.title}" for section in document.sections]
        parts += [_section(section, blank=False, before=SOLUTION) for section in document.sections]
    options = "".join(f'<option value="{place}">{_words(title)}</option>' for place, title in enumerate(titles))
    notes = "".join(f'<p class="note">{_words(note)}</p>' for note in document.notes)
    nav = (
        '<nav aria-label="Steps"><button class="back" type="button">Back</button>'
        '<button class="next" type="button">Next</button>'
        f'<select aria-label="Step">{options}</select>'
        '<button class="all" type="button" aria-pressed="false">All steps</button></nav>'
    )
    body = (
        f'<div class="tw-trace" tabindex="-1"><style>{_STYLE}</style><h1>{_words(document.title)}</h1>{notes}{nav}'
        f"{''.join(parts)}<script>{_SCRIPT}</script></div>"
    )
    if not whole_page:
        return body
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    title = f"<title>{_words(document.title)}</title>"
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}{title}</head><body>{body}</body></html>\n'


def _words(text: str) -> str:
    return escape(text)


def _cell(cell: Cell, *, blank: bool) -> str:
    if blank and isinstance(cell, Figure):
        return '<span class="blank" role="img" aria-label="blank"></span>'
    text = shown(cell, blank=False)
    # Text from right to left must not turn the words around it.
    return _words(text) if text.isascii() else f"<bdi>{_words(text)}</bdi>"


def _section(section: Section, *, blank: bool, before: str = "") -> str:
    title = f"{before}: {section.title}" if before else section.title
    blocks = "".join(_block(block, blank=blank) for block in section.blocks)
    return f"<section><h2>{_words(title)}</h2>{blocks}</section>"


def _block(block: Block, *, blank: bool) -> str:
    if isinstance(block, Paragraph):
        return f"<p>{''.join(_cell(part, blank=blank) for part in block.parts)}</p>"
    if isinstance(block, Formula):
        numbers, result = _cell(block.numbers, blank=blank), _cell(block.result, blank=blank)
        return (
            f'<p class="f"><b>{_words(block.name)}</b> = {_words(block.general)}<br>= {numbers}<br>'
            f"= <b>{result}</b></p>"
        )
    if isinstance(block, Grid):
        return _grid(block, blank=blank)
    return "" if blank else _number_line(block)


def _grid(grid: Grid, *, blank: bool) -> str:
    def attributes(place: int) -> str:
        return ' class="r"' if place in grid.right else ""

    header = "".join(
        f'<th scope="col"{attributes(place)}>{_words(name)}</th>' for place, name in enumerate(grid.headers)
    )
    rows = []
    for index, row in enumerate(grid.rows):
        win = ' class="win"' if index == grid.marked and not blank else ""
        cells = "".join(f"<td{attributes(place)}>{_cell(cell, blank=blank)}</td>" for place, cell in enumerate(row))
        rows.append(f"<tr{win}>{cells}</tr>")
    return f'<div class="scroll"><table><thead><tr>{header}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _number_line(line: NumberLine) -> str:
    """The thresholds as ticks whose height is their gain, above the range of the column."""
    span = line.highest - line.lowest
    if not np.isfinite(span) or span <= 0.0:
        return ""
    left, right, ground, tall = 40.0, 720.0, 96.0, 70.0
    highest = max(float(line.gains.max(initial=0.0)), 1e-300)
    ticks, marked = [], ""
    for value, gain in zip(line.values.tolist(), line.gains.tolist(), strict=True):
        if not np.isfinite(value):
            continue
        x = left + (right - left) * (value - line.lowest) / span
        height = max(2.0, tall * max(gain, 0.0) / highest)
        tick = (
            f'<path d="M{x:.1f} {ground:.0f}v-{height:.1f}"><title>{_words(line.column)} &lt;= {value:g}: {gain:.4f}'
            "</title></path>"
        )
        if line.chosen is None or value != line.chosen:
            ticks.append(tick)
            continue
        end = "end" if x > 0.7 * right else "start"
        marked = (
            f'<g stroke="#d55e00" stroke-width="4">{tick}</g>'
            f'<text x="{x + (6 if end == "start" else -6):.1f}" y="{ground - tall - 6:.0f}" '
            f'text-anchor="{end}" font-size="13" fill="#a34700">{value:g}: {gain:.4f}</text>'
        )
    drawn = f'<g stroke="#0072b2" stroke-width="2">{"".join(ticks)}</g>{marked}'
    axis = f'<line x1="{left}" x2="{right}" y1="{ground:.0f}" y2="{ground:.0f}" stroke="#5b6b7b" stroke-width="1"/>'
    ends = "".join(
        f'<text x="{x}" y="114" text-anchor="middle" font-size="12" fill="#4a5763">{value:g}</text>'
        for x, value in ((left, line.lowest), (right, line.highest))
    )
    best = "" if line.chosen is None else f"; the best is {line.chosen:g}"
    label = _words(f"Thresholds of {line.column} with their gains{best}")
    return f'<svg viewBox="0 0 760 120" role="img" aria-label="{label}">{axis}{drawn}{ends}</svg>'
