"""Damaged and odd files of tables: `read_table` returns a table or refuses them in one sentence.

`python -m fuzzing.table_files FIRST COUNT`, in the folder of the tests, runs the cases with these numbers.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import tempfile
import zipfile
from functools import cache

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from fuzzing.harness import main, sentence_of
from sample_tables import mixed_table
from treewright.table import read_table

CELLS = (
    *("", "?", "-", "NA", "1", "-1.5", "1,5", "1.234,5", "1 000", "$5", "5%", "1e400", "1e-400", "nan", "inf", "0x10"),
    *(
        "2023-05-01",
        "05/01/2023",
        "31.12.2020",
        "2023-13-45",
        "May 01, 2023",
        "12:30",
        "true",
        "no",
        "x",
        "ä€😀",
        "a b",
    ),
    *('"', '""', "'", "\\", "=1+1", "a,b", "a;b", "\0", "\ufeff", "x" * 300, "9" * 400, "-0", "٣", "²", "1_000"),
)
SEPARATORS = (",", ";", "\t", "|", " ", ", ")
ENDS = ("\n", "\r\n", "\r", "\n\n")


@cache
def good_files() -> list[tuple[str, bytes]]:
    """Small files of every format."""
    frame = mixed_table(30)[0]
    text = frame.to_csv(index=False)
    rows = json.loads(frame.to_json(orient="records"))
    found = [
        ("csv", text.encode()),
        ("tsv", frame.to_csv(index=True, sep="\t").encode()),
        ("txt", text.encode("utf-16")),
    ]
    found += [("json", json.dumps(rows).encode()), ("jsonl", "\n".join(map(json.dumps, rows)).encode())]
    found += [("arff", b"@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n1,x\n?,y\n2,x\n")]
    for suffix, write in (("parquet", pa.parquet.write_table), ("feather", pa.feather.write_feather)):
        buffer = io.BytesIO()
        write(pa.Table.from_pandas(frame), buffer)
        found.append((suffix, buffer.getvalue()))
    buffer = io.BytesIO()
    pd.DataFrame({"a": [1, 2], "b": ["x", None]}).to_excel(buffer, index=False)
    found.append(("xlsx", buffer.getvalue()))
    found.append(("csv.gz", gzip.compress(text.encode(), mtime=0)))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", text)
    return [*found, ("zip", packed.getvalue())]


def case(draw: random.Random) -> str:
    suffix, content = draw.choice((damaged, damaged, written))(draw)
    handle, name = tempfile.mkstemp(suffix=f".{suffix}")
    try:
        with open(handle, "wb") as file:
            file.write(content)
        options = {}
        if draw.random() < 0.2:
            options["sep"] = draw.choice((*SEPARATORS[:4], "space"))
        if draw.random() < 0.1:
            options["decimal"] = draw.choice((".", ","))
        if draw.random() < 0.1:
            options["encoding"] = draw.choice(("latin-1", "utf-16", "utf-8", "cp1252"))
        try:
            frame = read_table(name, **options)
        except (ValueError, TypeError, OSError, ImportError) as error:
            sentence_of(error)
            return "refused"
        lengths = {len(frame[column]) for column in frame.columns}
        assert len(lengths) <= 1, lengths
        return "read"
    finally:
        os.unlink(name)


def damaged(draw: random.Random) -> tuple[str, bytes]:
    """A file with other, missing or additional bytes, or with the suffix of another format."""
    suffix, content = draw.choice(good_files())
    changed = bytearray(content)
    how = draw.randrange(5)
    if how == 0:
        for _ in range(draw.randint(1, 10)):
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    elif how == 1:
        del changed[draw.randrange(len(changed)) :]
    elif how == 2:
        other = draw.choice(good_files())[1]
        place, begin = draw.randrange(len(changed)), draw.randrange(len(other))
        changed[place:place] = other[begin : begin + draw.randrange(1, 200)]
    elif how == 3:
        place = draw.randrange(len(changed))
        changed[place : place + draw.randrange(1, 40)] = draw.randbytes(draw.randrange(40))
    else:
        suffix = draw.choice(good_files())[0]
    return suffix, bytes(changed)


def written(draw: random.Random) -> tuple[str, bytes]:
    """A text of odd cells, with lines of different lengths."""
    separator, end, n_columns = draw.choice(SEPARATORS), draw.choice(ENDS), draw.randint(0, 6)
    is_even = draw.random() < 0.7
    lines = []
    if is_even and draw.random() < 0.7:
        return "csv", _even_text(draw, separator, end, n_columns).encode()
    for _ in range(draw.randint(0, 12)):
        width = n_columns if is_even else draw.randint(0, 7)
        cells = [draw.choice(CELLS) for _ in range(width)]
        if draw.random() < 0.3:
            cells = [json.dumps(cell, ensure_ascii=False) for cell in cells]
        lines.append(separator.join(cells))
    encoding = draw.choice(("utf-8", "utf-8", "utf-16", "utf-8-sig"))
    return draw.choice(("csv", "tsv", "txt", "jsonl", "json", "arff")), end.join(lines).encode(encoding)


def _even_text(draw: random.Random, separator: str, end: str, n_columns: int) -> str:
    """A text with a header, and few different cells in each column."""
    choices = [draw.sample(CELLS, draw.randint(1, 3)) for _ in range(n_columns)]
    lines = [separator.join(f"c{place}" for place in range(n_columns))]
    for _ in range(draw.randint(0, 30)):
        cells = [draw.choice(known) for known in choices]
        lines.append(separator.join(f'"{cell}"' if separator in cell and '"' not in cell else cell for cell in cells))
    return end.join(lines)


if __name__ == "__main__":
    main(case)
