"""ARFF, the table format of Weka: attributes with declared types and domains, then rows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treewright.table.categories import some
from treewright.table.convert import parse_number
from treewright.table.plain_frame import Domain, Frame
from treewright.table.read_options import ReadOptions
from treewright.table.spelling import read_dates

_NUMERIC = ("numeric", "real", "integer")
_TOKEN = re.compile(
    r"""\s*(?:
        '(?P<single>(?:[^'\\]|\\.)*)' |
        "(?P<double>(?:[^"\\]|\\.)*)" |
        (?P<bare>[^,{}'"%\s][^,{}%]*?)
    )\s*(?P<end>,|\}|%.*|$)""",
    re.VERBOSE,
)
_NAME = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s{},%'"]+))\s*""")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}

Cell = tuple[str, bool]
"""A value and whether it was quoted: a quoted '?' is text, a bare one is missing."""


@dataclass(frozen=True)
class Attribute:
    """One declared column: `numeric`, `string`, `date`, or `nominal` with its domain."""

    name: str
    type: str
    domain: tuple[str, ...] = ()


def read_arff(text: str, options: ReadOptions | None = None) -> Frame:
    """Read a table in ARFF, whose header declares the types; the options of text files do not matter.

    >>> lines = ["@relation r", "@attribute sky {sunny, rainy}", "@attribute t real", "@data", "sunny, 21"]
    >>> frame = read_arff("\\n".join(lines))
    >>> frame.domains["sky"].categories, frame["t"].tolist()
    (('sunny', 'rainy'), [21.0])
    """
    numbered = ((number, line.strip()) for number, line in enumerate(text.split("\n"), 1))
    content = ((number, line) for number, line in numbered if line and not line.startswith("%"))
    attributes = _read_header(content)
    numbers, rows = [], []
    for number, line in content:
        row = _read_sparse(number, line, attributes) if line.startswith("{") else _read_row(number, line)
        if len(row) != len(attributes):
            raise ValueError(f"line {number}: {len(row)} values for {len(attributes)} attributes")
        numbers.append(number)
        rows.append(row)
    columns = list(zip(*rows, strict=True)) or [()] * len(attributes)
    arrays = {a.name: _read_column(a, cells, numbers) for a, cells in zip(attributes, columns, strict=True)}
    return Frame(arrays, {a.name: Domain(a.domain) for a in attributes if a.type == "nominal"})


def _read_header(content: Iterator[tuple[int, str]]) -> list[Attribute]:
    """Everything up to and including @data."""
    attributes: list[Attribute] = []
    for number, line in content:
        keyword, _, rest = line.replace("\t", " ", 1).partition(" ")
        match keyword.lower():
            case "@relation":
                continue
            case "@attribute":
                attributes.append(_read_attribute(number, rest))
            case "@data":
                _check_header(number, attributes, rest)
                return attributes
            case _:
                raise ValueError(f"line {number}: expected @attribute or @data, found {line[:40]!r}")
    raise ValueError("there is no @data line; the file is cut short or is no ARFF")


def _check_header(number: int, attributes: list[Attribute], rest: str) -> None:
    names = [attribute.name for attribute in attributes]
    if rest.split("%")[0].strip():
        raise ValueError(f"line {number}: {rest.strip()[:30]!r} stands after @data; rows start on the next line")
    if "" in names:
        raise ValueError(f"attribute {names.index('') + 1} has no name; name every attribute")
    if not names:
        raise ValueError(f"line {number}: no @attribute stands before @data")
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ValueError(f"the attribute name {repeated[0]!r} occurs more than once; name every attribute differently")


def _read_attribute(number: int, text: str) -> Attribute:
    found = _NAME.match(text)
    if found is None:
        raise ValueError(f"line {number}: an attribute needs a name and a type, found {text[:40]!r}")
    single, double, bare = found.groups()
    name = bare if bare is not None else _unescape(single if single is not None else double)
    kind = text[found.end() :].strip()
    if kind.startswith("{"):
        return Attribute(name, "nominal", _read_domain(number, name, kind))
    words = kind.split("%")[0].split()
    word = words[0].lower() if words else ""
    if word in _NUMERIC:
        return Attribute(name, "numeric")
    if word in ("string", "date"):
        return Attribute(name, word)
    raise ValueError(
        f"line {number}: attribute {name!r} has type {word!r}; numeric, real, integer, string, date "
        "and {lists, of, values} can be read"
    )


def _read_domain(number: int, name: str, text: str) -> tuple[str, ...]:
    body, is_closed = _until_brace(number, text[1:])
    if not is_closed:
        raise ValueError(f"line {number}: the values of attribute {name!r} are not closed by a brace")
    values = tuple(value for value, _ in body)
    if len(set(values)) < len(values):
        repeated = next(value for value in values if values.count(value) > 1)
        raise ValueError(f"line {number}: attribute {name!r} lists {repeated!r} twice")
    return values


def _until_brace(number: int, text: str) -> tuple[list[Cell], bool]:
    """The cells before a closing brace or the end of the line, and whether there was a brace."""
    cells: list[Cell] = []
    place = 0
    if text.lstrip().startswith("}"):
        return cells, True
    while True:
        found = _TOKEN.match(text, place)
        if found is None:
            piece = text[place : place + 30].strip()
            advice = "instance weights are not read" if "{" in piece else "quote odd characters"
            raise ValueError(f"line {number}: cannot read {piece!r}; {advice}")
        cells.append(_cell(found))
        place = found.end()
        if found["end"] != ",":
            _refuse_weight(number, text[place:] if found["end"] == "}" else "")
            return cells, found["end"] == "}"


def _refuse_weight(number: int, rest: str) -> None:
    """Weka allows `{weight}` after a row; anything else but a comment is a slip."""
    rest = rest.split("%")[0].strip()
    if rest:
        raise ValueError(f"line {number}: {rest[:30]!r} after the closing brace; instance weights are not read")


def _cell(found: re.Match[str]) -> Cell:
    if found["bare"] is not None:
        return found["bare"], False
    return _unescape(found["single"] if found["single"] is not None else found["double"]), True


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda m: chr(int(m[1][1:], 16)) if len(m[1]) == 5 else _ESCAPES.get(m[1], m[1]), text)


def _read_row(number: int, line: str) -> list[str | None]:
    if not any(mark in line for mark in "'\"{}%\\"):
        return [None if cell == "?" else cell for cell in map(str.strip, line.split(","))]
    cells, is_closed = _until_brace(number, line)
    if is_closed:
        raise ValueError(f"line {number}: a brace ends the row; instance weights are not read")
    return [None if cell == ("?", False) else cell[0] for cell in cells]


def _read_sparse(number: int, line: str, attributes: list[Attribute]) -> list[str | None]:
    """A row of `index value` pairs; what is not named is 0, or the first value of a nominal domain."""
    zeros = {"numeric": "0", "string": None, "date": None}
    row = [a.domain[0] if a.domain else zeros.get(a.type) for a in attributes]
    body = line[1:].strip()
    while not body.startswith("}"):
        found = re.match(r"(\d+)\s+", body)
        token = _TOKEN.match(body, found.end()) if found else None
        if found is None or token is None or token["end"] not in (",", "}"):
            raise ValueError(f"line {number}: expected pairs like {{1 a, 3 b}}, found {body[:30]!r}")
        place = int(found[1])
        if place >= len(attributes):
            raise ValueError(f"line {number}: there is no attribute {place}; the last is {len(attributes) - 1}")
        cell = _cell(token)
        row[place] = None if cell == ("?", False) else cell[0]
        body = "}" + body[token.end() :] if token["end"] == "}" else body[token.end() :].lstrip()
    _refuse_weight(number, body[1:])
    return row


def _read_column(attribute: Attribute, cells: Sequence[str | None], numbers: list[int]) -> np.ndarray:
    """One column by its declared type; `numbers` are the line numbers, for messages."""
    if attribute.type == "numeric":
        return _read_floats(attribute, cells, numbers)
    if attribute.type == "nominal":
        _check_domain(attribute, cells, numbers)
    if attribute.type == "date":
        dates = read_dates(cells, [cell for cell in cells if cell is not None])
        if dates is not None:
            return dates
    return np.array(cells, dtype=object)


def _read_floats(attribute: Attribute, cells: Sequence[str | None], numbers: list[int]) -> np.ndarray:
    values = [math.nan if cell is None else parse_number(cell) for cell in cells]
    if None in values:
        row = values.index(None)
        raise ValueError(
            f"line {numbers[row]}: {cells[row]!r} is no number, but attribute {attribute.name!r} is numeric"
        )
    return np.array(values, dtype=np.float64)


def _check_domain(attribute: Attribute, cells: Sequence[str | None], numbers: list[int]) -> None:
    strange = set(cells) - set(attribute.domain) - {None}
    if not strange:
        return
    row = next(row for row, cell in enumerate(cells) if cell in strange)
    domain = some(attribute.domain, most=8)
    raise ValueError(f"line {numbers[row]}: {cells[row]!r} is not a value of attribute {attribute.name!r} ({domain})")
