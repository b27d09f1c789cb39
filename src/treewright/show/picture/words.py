"""Words in pictures: shortened, measured, and safe in XML whatever they contain."""

from __future__ import annotations

import unicodedata

# No font is asked for its widths, so these are generous: the width of a letter as a fraction of the font size.
NARROW, WIDE = 0.6, 1.05

_ISOLATE, _END = "\u2068", "\u2069"


def clean(text: str) -> str:
    """One line that XML allows: control characters and half pairs become a replacement character.

    >>> clean("a\\nb\\x00c")
    'a b\\ufffdc'
    """
    spaced = " ".join(text.split())
    return "".join("\ufffd" if unicodedata.category(letter) in ("Cc", "Cs") else letter for letter in spaced)


def shorten(text: str, most: int = 24) -> str:
    """At most so many letters; of a longer text the beginning and the end.

    >>> shorten("the number of rooms per household", 20)
    'the number o…usehold'
    """
    text = clean(text)
    if len(text) <= most:
        return text
    end = most // 3 + 1
    return f"{text[: most - end - 1]}…{text[-end:]}"


def isolate(text: str) -> str:
    """A name that is written from right to left stays in its place between words that are not."""
    if any(unicodedata.bidirectional(letter) in ("R", "AL", "RLE", "RLO", "RLI") for letter in text):
        return f"{_ISOLATE}{text}{_END}"
    return text


def width_of(text: str, size: float) -> float:
    """An estimate of the width of a text in this font size.

    >>> round(width_of("petal", 10), 6)
    30.0
    """
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return size * (wide * WIDE + (len(text) - wide) * NARROW)


def write_count(weight: float) -> str:
    """A weight of rows with at most two decimals.

    >>> write_count(14.0), write_count(2.333)
    ('14', '2.33')
    """
    return f"{weight:.2f}".rstrip("0").rstrip(".") if abs(weight) < 1e15 else f"{weight:.3g}"


def write_value(value: float) -> str:
    """A prediction in four significant digits.

    >>> write_value(22.53281), write_value(150000.0)
    ('22.53', '150000')
    """
    return str(int(value)) if value == int(value) and abs(value) < 1e9 else f"{value:.4g}"
