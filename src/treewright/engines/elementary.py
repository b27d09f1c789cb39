"""The exponential function and the logarithm, with the same bits on every machine.

They are implemented here for two reasons. The functions of mathematical libraries and of NumPy differ in the last bit
between processors. The compiler can vectorise over rows only if it sees the steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewright.runtime.forms import choose_form
from treewright.runtime.kernels import entry, kernel, replaced
from treewright.runtime.signatures import Reals

LOG2_OF_E = 1.4426950408889634
# The logarithm of 2 in two parts. The product of an integer of up to 11 bits and the first part has no rounding error.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
HALF_OF_ROOT_2 = 0.7071067811865476

# The bits of a number: a sign, 11 bits of an exponent, and 52 bits of a fraction.
FRACTION_BITS = 52
FRACTION = (1 << 52) - 1
EXPONENT_OF_1 = 1023
LEAST_NORMAL = 2.2250738585072014e-308


def _bit_cast(from_integer: bool) -> Any:
    """Build the compiled form of a function that returns a number with the same bits."""
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    result, low_level = (types.float64, ir.DoubleType()) if from_integer else (types.int64, ir.IntType(64))
    argument = types.int64 if from_integer else types.float64

    @intrinsic  # type: ignore[untyped-decorator, unused-ignore]
    def cast(typing_context: Any, given: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], low_level)

        return result(argument), write

    return cast


@replaced(lambda: _bit_cast(from_integer=True))
def as_real(bits: Any) -> Any:
    """Return the number with these bits."""
    return np.int64(bits).view(np.float64)


@replaced(lambda: _bit_cast(from_integer=False))
def as_bits(number: Any) -> Any:
    """Return the bits of a number."""
    return np.float64(number).view(np.int64)


@kernel
def exp(x):
    """Compute the exponential function to within one unit in the last place; beyond 700, return the value at 700."""
    x = min(max(x, -700.0), 700.0)
    n = np.floor(x * LOG2_OF_E + 0.5)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * as_real((np.int64(n) + EXPONENT_OF_1) << FRACTION_BITS)


@kernel
def log(x):
    """Compute the natural logarithm to within one unit in the last place."""
    if not x > 0.0:
        return -np.inf if x == 0.0 else np.nan
    if x == np.inf:
        return x
    n = -EXPONENT_OF_1
    if x < LEAST_NORMAL:
        x *= 1.8014398509481984e16
        n -= 54
    bits = as_bits(x)
    n += bits >> FRACTION_BITS
    fraction = as_real((bits & FRACTION) | (EXPONENT_OF_1 << FRACTION_BITS))
    if fraction > 2.0 * HALF_OF_ROOT_2:
        fraction *= 0.5
        n += 1
    # log(1 + f) = 2 artanh(s) with s = f / (2 + f). The series is 2s + 2s(s^2/3 + s^4/5 + ...) with 2s = f - sf.
    f = fraction - 1.0
    s = f / (2.0 + f)
    square = s * s
    p = square / 21.0
    p = square * (p + 1.0 / 19.0)
    p = square * (p + 1.0 / 17.0)
    p = square * (p + 1.0 / 15.0)
    p = square * (p + 1.0 / 13.0)
    p = square * (p + 1.0 / 11.0)
    p = square * (p + 1.0 / 9.0)
    p = square * (p + 1.0 / 7.0)
    p = square * (p + 1.0 / 5.0)
    p = square * (p + 1.0 / 3.0)
    return n * LN2_HIGH - ((s * (f - 2.0 * p) - n * LN2_LOW) - f)


@entry
def replace_by_exp(numbers: Reals) -> None:
    """Replace each number by its exponential function."""
    for i in range(np.uint64(len(numbers))):
        x = numbers[i]
        if abs(x) < 700.0:
            numbers[i] = exp(x)
        elif x == x:
            root = exp(0.5 * x)
            numbers[i] = root * root if abs(x) < 800.0 else np.inf if x > 0.0 else 0.0


@entry
def replace_by_log(numbers: Reals) -> None:
    """Replace each number by its logarithm."""
    for i in range(np.uint64(len(numbers))):
        numbers[i] = log(numbers[i])


def exp_of(numbers: Any) -> np.ndarray:
    """The exponential function of each number.

    >>> exp_of([0.0, 1.0])
    array([1.        , 2.71828183])
    """
    return _each(replace_by_exp, numbers)


def log_of(numbers: Any) -> np.ndarray:
    """The logarithm of each number.

    >>> log_of([1.0, 0.0])
    array([  0., -inf])
    """
    return _each(replace_by_log, numbers)


def log2_of(numbers: Any) -> np.ndarray:
    """The logarithm of each number to the base 2, exact for powers of 2.

    >>> log2_of([8.0, 1.0])
    array([3., 0.])
    """
    fractions, exponents = np.frexp(numbers)
    return np.asarray(exponents + log_of(fractions) * LOG2_OF_E)


def _each(function: Any, numbers: Any) -> np.ndarray:
    found = np.array(numbers, dtype=np.float64, order="C")
    choose_form(found.size)(function)(found.reshape(-1))
    return found
