"""The types of the arguments for which entry kernels are compiled.

The annotations of an entry are its signature. A parameter is a number (`bool`, `int`, `float`, `Word`), an array
(`Reals` and its like), a tuple of these, a record (a named tuple with annotated fields), or one of these `| None`.
Arrays are contiguous. An entry may write to an array unless its annotation says `Input`.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

# Types of fields: a name that NumPy and Numba share, and the number of dimensions, 0 for a number.
FLAG = ("bool", 0)
WHOLE = ("int64", 0)
WORD = ("uint64", 0)
REAL = ("float64", 0)
FLAGS = ("bool", 1)
BYTES = ("uint8", 1)
SHORTS = ("uint16", 1)
INTEGERS = ("int32", 1)
INDICES = ("uint32", 1)
WHOLES = ("int64", 1)
WORDS = ("uint64", 1)
REALS = ("float64", 1)

# The same as annotations; the digit is the number of dimensions.
Word = Annotated[int, WORD]
Flags = Annotated[np.ndarray, FLAGS]
Flags2 = Annotated[np.ndarray, ("bool", 2)]
Bytes = Annotated[np.ndarray, BYTES]
Bytes2 = Annotated[np.ndarray, ("uint8", 2)]
Shorts = Annotated[np.ndarray, SHORTS]
Integers = Annotated[np.ndarray, INTEGERS]
Integers2 = Annotated[np.ndarray, ("int32", 2)]
Indices = Annotated[np.ndarray, INDICES]
Indices2 = Annotated[np.ndarray, ("uint32", 2)]
Wholes = Annotated[np.ndarray, WHOLES]
Wholes2 = Annotated[np.ndarray, ("int64", 2)]
Wholes3 = Annotated[np.ndarray, ("int64", 3)]
Wholes4 = Annotated[np.ndarray, ("int64", 4)]
Words = Annotated[np.ndarray, WORDS]
Words2 = Annotated[np.ndarray, ("uint64", 2)]
Words3 = Annotated[np.ndarray, ("uint64", 3)]
Reals = Annotated[np.ndarray, REALS]
Reals2 = Annotated[np.ndarray, ("float64", 2)]
Reals3 = Annotated[np.ndarray, ("float64", 3)]

# What `numpy.require` needs to know of arrays that entries only read. Arrays of a user may begin at any byte.
CONTIGUOUS_AND_ALIGNED: tuple[Literal["C"], Literal["A"]] = ("C", "A")

_READ_ONLY = "read only"
_Array = TypeVar("_Array")

# An array that the entry only reads; it may be write-protected.
Input = Annotated[_Array, _READ_ONLY]

_NUMBERS = {bool: FLAG, int: WHOLE, float: REAL, Any: WHOLE}


class Leaf(NamedTuple):
    """A number or an array among the arguments of an entry."""

    path: str  # the parameter, and the field of a record
    dtype: str
    n_dimensions: int
    read_only: bool

    def __str__(self) -> str:
        """Describe the type.

        >>> str(Leaf("codes", "uint8", 2, False)), str(Leaf("first", "int64", 0, False))
        ('writable contiguous uint8 array of 2 dimensions', 'int64')
        """
        if self.n_dimensions == 0:
            return self.dtype
        access = "" if self.read_only else "writable "
        return f"{access}contiguous {self.dtype} array of {self.n_dimensions} dimension{'s'[: self.n_dimensions > 1]}"


class Group(NamedTuple):
    """A tuple among the arguments, or a record of type `record`."""

    record: Any  # None for a tuple
    members: tuple[Any, ...]


# How the machine code reads arrays: Python objects begin with a head, and after it NumPy keeps the data, the number of
# dimensions, the shape, the strides, the type and the flags; and of a type: the byte order and its number.
DATA, N_DIMENSIONS, SHAPE, STRIDES, TYPE, ARRAY_FLAGS = 0, 8, 16, 24, 40, 48
BYTE_ORDER, TYPE_NUMBER = 10, 12

# An entry returns 0, or this plus the position of the first word that it was not compiled for.
REFUSED = 1000

# The types of all parameters of one compiled form. None is a parameter that is None.
Form = tuple[Leaf | Group | None, ...]


def kind_of(annotation: Any) -> tuple[str, int]:
    """Return the type of a field by its annotation.

    >>> kind_of(float), kind_of(Bytes2)
    (('float64', 0), ('uint8', 2))
    """
    return _NUMBERS[annotation] if annotation in _NUMBERS else annotation.__metadata__[0]


def annotations_of(annotated: Any) -> dict[str, Any]:
    """Return the annotations of the parameters of a function or of the fields of a record, in their order."""
    hints = get_type_hints(annotated, include_extras=True)
    hints.pop("return", None)
    return hints


def forms_of(function: Callable[..., Any]) -> list[Form]:
    """List the forms of an entry: one, or one for each choice of parameters that are None.

    >>> def count(rows: Input[Wholes], weights: Reals | None, n: int) -> None: ...
    >>> forms_of(count)[0][1]
    Leaf(path='weights', dtype='float64', n_dimensions=1, read_only=False)
    >>> forms_of(count)[1][1] is None
    True
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    hints = annotations_of(function)
    missing = [name for name in names if name not in hints]
    if missing:
        raise TypeError(f"the parameter {missing[0]} of the entry {function.__name__} has no type")
    return list(itertools.product(*(list(_choices(name, hints[name])) for name in names)))


def result_of(function: Callable[..., Any]) -> str | None:
    """Return the type of the result of an entry, None if it has none.

    >>> def count(rows: Wholes) -> int: ...
    >>> result_of(count)
    'int64'
    """
    hint = get_type_hints(function).get("return", type(None))
    return None if hint is type(None) else _NUMBERS[hint][0]


def _choices(path: str, hint: Any) -> Iterator[Leaf | Group | None]:
    if get_origin(hint) in (Union, types.UnionType):
        for member in get_args(hint):
            yield None if member is type(None) else _argument(path, member)
    else:
        yield _argument(path, hint)


def _argument(path: str, hint: Any) -> Leaf | Group:
    if get_origin(hint) is tuple:
        return Group(None, tuple(_argument(f"{path}[{k}]", member) for k, member in enumerate(get_args(hint))))
    if isinstance(hint, type) and issubclass(hint, tuple):
        fields = annotations_of(hint)
        return Group(hint, tuple(_argument(f"{path}.{field}", fields[field]) for field in hint._fields))  # type: ignore[attr-defined]
    read_only = _READ_ONLY in getattr(hint, "__metadata__", ())
    return Leaf(path, *kind_of(hint), read_only)


def leaves_of(form: Form) -> list[Leaf]:
    """List the numbers and arrays of a form, depth first."""
    found: list[Leaf] = []
    for argument in form:
        if isinstance(argument, Leaf):
            found.append(argument)
        elif isinstance(argument, Group):
            found += leaves_of(argument.members)
    return found


def words_of(form: Form) -> list[Leaf]:
    """List the numbers and arrays of a form in the order in which an entry receives them: the arrays come first."""
    return sorted(leaves_of(form), key=lambda leaf: leaf.n_dimensions == 0)
