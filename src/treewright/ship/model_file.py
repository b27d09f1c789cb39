"""`save` and `load`: fitted models in one file, without pickle.

docs/model_file.md describes the format.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from treewright.ship.layout import ModelFileError, damage_as_error, pack, unpack
from treewright.ship.registry import name_of, object_classes
from treewright.ship.rehearsal import rehearse
from treewright.ship.values import Reader, Writer

FORMAT = "treewright"
VERSION = 1

# The header of every file begins with its texts.
_SIGNATURE = b'{"__metadata__":{"treewright":'
_SIGNATURE_END = 8 + len(_SIGNATURE)

# Files of at least this size are mapped into memory instead of read.
LEAST_MAPPED = 1 << 24


def save(model: Any, path: Any = None) -> bytes | None:
    """Write a fitted model to a file.

    The file is written under another name, synced and then renamed: a crash or a full disk leaves the earlier file of
    this name as it was.

    Parameters
    ----------
    model : fitted estimator of treewright
    path : path, open binary file, or None
        None returns the bytes of the file.

    Examples
    --------
    >>> from treewright import C45Classifier, datasets, load, save
    >>> weather = datasets.load_weather()
    >>> kept = save(C45Classifier().fit(weather.X, weather.y))
    >>> load(kept).predict(weather.X[:3]).tolist()
    ['no', 'no', 'yes']
    """
    file = pack(*_described(model, _time_of_saving()))
    if path is None:
        return file
    if hasattr(path, "write"):
        path.write(file)
    else:
        _replace(Path(path), file)
    return None


def load(source: Any, *, functions: Mapping[str, Callable[..., Any]] | None = None, verify: bool | str = "auto") -> Any:
    """Read a model that `save` has written; no code of the file is run, and damage is an error.

    Parameters
    ----------
    source : path, bytes, or open binary file
    functions : mapping of names to functions or None
        The user's own criteria and losses, by their names. Without them the model predicts, but cannot be fitted again.
    verify : "auto", True or False
        When to compare the checksum of the whole file: True is now, False is never. "auto" is now for files below
        16 MB. For larger ones, the checksum and the trees of a forest are checked when the forest is first used, for
        example by `predict`; everything else is checked now. The structure is checked in any case.

    Raises
    ------
    ModelFileError
        If the file is damaged, or no model file.
    """
    if verify not in (True, False, "auto"):
        raise ValueError(f"verify must be True, False or 'auto', not {verify!r}")
    file = _open(source)
    contents = unpack(file)
    is_deferred = verify == "auto" and len(file) >= LEAST_MAPPED and contents.has_valid_head()
    if verify and not is_deferred:
        contents.check()
    reader = Reader(contents.arrays, functions or {}, len(file), contents.check if is_deferred else None)
    with damage_as_error():
        model = reader.read(_read_description(contents.metadata)["model"])
    if is_deferred and reader.n_unchecked:
        contents.check()
    if name_of(object_classes(), model) is None or not isinstance(model, BaseEstimator):
        raise ModelFileError("the file does not contain a model of treewright")
    if not is_deferred:
        rehearse(model)
    return model


def is_model_file(path: Any) -> bool:
    """Whether a path is that of a model file, by how the file begins; what follows may still be damaged.

    >>> is_model_file("no such file")
    False
    """
    try:
        with Path(path).open("rb") as file:
            start = file.read(_SIGNATURE_END)
    except (OSError, ValueError):
        return False
    return start[8:] == _SIGNATURE


def describe_file(source: Any) -> dict[str, Any]:
    """What a model file says about itself: version, learner, columns, classes, and the facts of training.

    >>> from treewright import C45Classifier, datasets, save
    >>> weather = datasets.load_weather()
    >>> found = describe_file(save(C45Classifier().fit(weather.X, weather.y)))
    >>> found["learner"], found["columns"][0]["name"], found["classes"]
    ('C45Classifier', 'outlook', ['no', 'yes'])
    """
    file = _open(source)
    contents = unpack(file)
    if len(file) < LEAST_MAPPED or not contents.has_valid_head():
        contents.check()
    return {key: value for key, value in _read_description(contents.metadata).items() if key != "model"}


def digest_of_model(model: Any) -> str:
    """The SHA-256 of the model file without the time of saving: equal for models that are the same to the bit.

    >>> from treewright import C45Classifier, datasets
    >>> weather = datasets.load_weather()
    >>> digests = {digest_of_model(C45Classifier().fit(weather.X, weather.y)) for _ in range(2)}
    >>> len(digests)
    1
    """
    arrays, texts = _described(model, datetime.fromtimestamp(0, UTC))
    return hashlib.sha256(pack(arrays, texts)).hexdigest()


def _time_of_saving() -> datetime:
    """Now, or the time that SOURCE_DATE_EPOCH sets, so that equal models have equal files."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(given), UTC) if given.isdigit() else datetime.now(UTC)


def _described(model: Any, saved: datetime) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the texts of a file."""
    name = name_of(object_classes(), model)
    if name is None or not isinstance(model, BaseEstimator):
        raise TypeError(f"save takes a fitted model of treewright, not {type(model).__name__}")
    check_is_fitted(model)
    writer = Writer()
    described = {
        "format": FORMAT,
        "version": VERSION,
        "library": version("treewright"),
        "saved": saved.isoformat(timespec="seconds"),
        "learner": name,
        "parameters": {key: _brief(value) for key, value in model.get_params(deep=False).items()},
        "columns": _schema(model),
        "classes": _brief_classes(getattr(model, "classes_", None)),
        "data_digest": getattr(model, "data_digest_", None),
        "model": writer.write(model),
    }
    text = json.dumps(described, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return writer.arrays, {FORMAT: text}


def _schema(model: Any) -> list[dict[str, Any]]:
    """The columns with their kinds and categories, for people and other programs."""
    columns = model._columns() if hasattr(model, "_columns") else []
    return [
        {
            "name": column.name,
            "kind": str(column.kind),
            "unit": str(column.unit),
            **({"categories": [_brief(one) for one in column.categories]} if column.categories else {}),
        }
        for column in columns
    ]


def _brief(value: Any) -> Any:
    """A value as JSON shows it to a reader; the model itself has the exact one."""
    value = value.item() if isinstance(value, np.generic) else value
    is_plain = value is None or isinstance(value, bool | int | str)
    return value if is_plain or (isinstance(value, float) and np.isfinite(value)) else str(value)


def _brief_classes(classes: Any) -> Any:
    """The classes for a reader; of several targets a list each, None for numbers."""
    if isinstance(classes, list):
        return [_brief_classes(one) for one in classes]
    return None if classes is None else [_brief(one) for one in classes]


def _read_description(metadata: Mapping[str, str]) -> dict[str, Any]:
    try:
        described = json.loads(metadata[FORMAT])
        found = described["version"]
    except (KeyError, TypeError, ValueError, RecursionError):
        raise ModelFileError("the file has no description of a model; it was not written by treewright") from None
    if not isinstance(found, int) or found > VERSION:
        raise ModelFileError(
            f"the file has format version {found}, and this version of treewright reads up to {VERSION}; "
            "install a newer one"
        )
    if "model" not in described:
        raise ModelFileError("the file has no model; it is damaged")
    return dict(described)


def _open(source: Any) -> memoryview:
    """The bytes of a file; a large one is mapped."""
    if isinstance(source, bytes | bytearray | memoryview):
        return memoryview(source).toreadonly().cast("B")
    if hasattr(source, "read"):
        return memoryview(source.read())
    with Path(source).open("rb") as file:
        if os.fstat(file.fileno()).st_size < LEAST_MAPPED:
            return memoryview(file.read())
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _replace(path: Path, file: bytes) -> None:
    """Put a whole file in place of an earlier one, or leave that one as it is."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with open(handle, "wb") as partial:
            _write_all(partial, file)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    if os.name == "posix":
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _write_all(partial: BinaryIO, file: bytes) -> None:
    partial.write(file)
    partial.flush()
    os.fsync(partial.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
