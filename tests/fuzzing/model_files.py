"""Damaged model files: `load` refuses them in one sentence, or returns a model that predicts the rows.

`python -m fuzzing.model_files FIRST COUNT`, in the folder of the tests, runs the cases with these numbers.
"""

from __future__ import annotations

import json
import random
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzzing.harness import UnclearError, main, sentence_of
from treewright import ModelFileError, load
from treewright.ship.layout import pack, unpack

FOLDER = Path(__file__).parents[1] / "modelfiles"
ROWS = {
    "size": [1.0, 2.5, None, 4.0, 5.5, 0.5],
    "colour": ["red", "blue", "green", None, "red", "violet"],
    "weight": [10.0, None, 30.0, 25.0, 15.0, 5.0],
}
ROWS_OF_ID3 = {"colour": ["red", "blue", "green", "violet"], "shape": ["round", "flat", "round", "flat"]}

EXTREMES = (
    *(0, 1, -1, 2, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, -(2**31), 2**32, 2**40, 2**62, 2**63 - 1, -(2**63)),
    *(0.0, -0.0, 1e308, -1e308, 5e-324, 0.5, float("nan"), float("inf"), float("-inf")),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, "", "x", "array", "ref", [], {}, [[]], {"#": "ref", "number": 0}, {"#": "tuple", "items": []}),
    *(
        {"#": "array", "name": "0"},
        {"#": "array", "name": "1"},
        {"#": "function", "name": "f"},
        {"#": "dict", "items": []},
    ),
    *({"#": "cells", "dtype": "<U1000000", "shape": [10**9], "items": [""]}, {"#": "float", "text": "nan"}, 10**400),
    {"#": "object", "class": "DecisionTreeClassifier", "state": {}},
)


@cache
def files() -> list[tuple[str, bytes]]:
    return [(path.stem, path.read_bytes()) for path in sorted(FOLDER.glob("*.tw"))]


def case(draw: random.Random) -> str:
    name, file = draw.choice(files())
    damage = draw.choice(
        (flip, cut, splice, claim, swap, change_arrays, change_arrays, change_json, change_json, repeat)
    )
    damaged = damage(draw, file)
    try:
        model = load(damaged, verify=draw.random() < 0.5)
    except ModelFileError as error:
        sentence_of(error)
        return "refused"
    rows = ROWS_OF_ID3 if name.startswith("ID3") else ROWS
    found = model.predict(rows)
    if hasattr(model, "predict_proba"):
        model.predict_proba(rows)
    if len(found) != len(next(iter(rows.values()))):
        raise UnclearError(f"{len(found)} predictions")
    return "loaded"


def flip(draw: random.Random, file: bytes) -> bytes:
    """Other bits in some places."""
    changed = bytearray(file)
    for _ in range(draw.randint(1, 8)):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def cut(draw: random.Random, file: bytes) -> bytes:
    """A part of the file, perhaps with random bytes after it."""
    return file[: draw.randrange(len(file))] + draw.randbytes(draw.choice((0, 0, 8, 1000)))


def splice(draw: random.Random, file: bytes) -> bytes:
    """A part of one file within another."""
    other = draw.choice(files())[1]
    first = draw.randrange(len(file))
    begin = draw.randrange(len(other))
    part = other[begin : begin + draw.randrange(1, 2000)]
    return file[:first] + part + file[first + draw.choice((0, len(part))) :]


def header_of(file: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(file[:8], "little")
    return json.loads(file[8 : 8 + length]), file[8 + length :]


def claim(draw: random.Random, file: bytes) -> bytes:
    """Sizes that the file does not have."""
    if draw.random() < 0.2:
        return draw.choice((2**64 - 1, 2**63, len(file), len(file) - 8, 10**9)).to_bytes(8, "little") + file[8:]
    header, data = header_of(file)
    entry = header[draw.choice([name for name in header if name != "__metadata__"])]
    key = draw.choice(("shape", "data_offsets", "dtype"))
    entry[key] = (
        draw.choice(("F64", "U8", "I64", "F32", "X")) if key == "dtype" else [draw.choice(EXTREMES)] * len(entry[key])
    )
    written = json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + data


def opened(file: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    contents = unpack(memoryview(file))
    arrays, metadata = contents.arrays, contents.metadata
    return {name: array.copy() for name, array in arrays.items()}, json.loads(metadata["treewright"])


def closed(arrays: dict[str, np.ndarray], described: dict[str, Any]) -> bytes:
    return pack(arrays, {"treewright": json.dumps(described)})


def swap(draw: random.Random, file: bytes) -> bytes:
    """Two arrays in each other's place, with a right checksum."""
    arrays, described = opened(file)
    one, other = draw.choice(list(arrays)), draw.choice(list(arrays))
    arrays[one], arrays[other] = arrays[other], arrays[one]
    return closed(arrays, described)


def change_arrays(draw: random.Random, file: bytes) -> bytes:
    """Other elements, shapes or types of arrays, with a right checksum."""
    arrays, described = opened(file)
    for _ in range(draw.randint(1, 3)):
        name = draw.choice(list(arrays))
        array = arrays[name]
        how = draw.randrange(6)
        if how == 0:
            arrays[name] = array[: draw.randint(0, len(array))] if array.ndim else array
        elif how == 1:
            arrays[name] = array.astype(draw.choice(("u1", "i4", "f8", "i8", "?")))
        elif how == 2:
            arrays[name] = array.reshape(draw.choice(((-1,), (1, -1), (-1, 1)))) if array.size else array
        elif array.size:
            for _ in range(draw.randint(1, 4)):
                place = draw.randrange(array.size)
                with np.errstate(all="ignore"):
                    array.reshape(-1)[place] = _as_element(draw, array)
    return closed(arrays, described)


def _as_element(draw: random.Random, array: np.ndarray) -> Any:
    if draw.random() < 0.3:
        return array.reshape(-1)[draw.randrange(array.size)]
    value = draw.choice(EXTREMES)
    if array.dtype.kind == "f":
        return value
    value = 0 if value != value or abs(value) > 2**70 else int(value)
    bits = 8 * array.dtype.itemsize
    wrapped = value % (1 << bits)
    return (
        bool(value)
        if array.dtype.kind == "b"
        else wrapped - (1 << bits) * (array.dtype.kind == "i" and wrapped >> (bits - 1))
    )


def places_of(value: Any) -> list[tuple[Any, Any]]:
    """All containers in JSON with the keys of their items."""
    found, waiting = [], [value]
    while waiting:
        container = waiting.pop()
        items = container.items() if isinstance(container, dict) else enumerate(container)
        for key, item in items:
            found.append((container, key))
            if isinstance(item, dict | list):
                waiting.append(item)
    return found


def change_json(draw: random.Random, file: bytes) -> bytes:
    """Other values in the description of the model, with a right checksum."""
    arrays, described = opened(file)
    for _ in range(draw.randint(1, 3)):
        container, key = draw.choice(places_of(described["model"]))
        how = draw.randrange(4)
        if how == 0:
            container[key] = deepcopy(draw.choice(VALUES))
        elif how == 1:
            container[key] = draw.choice(EXTREMES)
        elif how == 2:
            other, place = draw.choice(places_of(described["model"]))
            container[key] = json.loads(json.dumps(other[place]))
        elif isinstance(container, dict):
            del container[key]
    return closed(arrays, described)


def repeat(draw: random.Random, file: bytes) -> bytes:
    """Deep or long JSON in place of a value, with a right checksum."""
    arrays, described = opened(file)
    container, key = draw.choice(places_of(described["model"]))
    if draw.random() < 0.5:
        deep: Any = []
        for _ in range(draw.choice((10, 400))):
            deep = [deep] if draw.random() < 0.5 else {"#": "tuple", "items": [deep]}
        container[key] = deep
    else:
        container[key] = [container[key]] * draw.choice((2, 1000))
    return closed(arrays, described)


if __name__ == "__main__":
    main(case)
