"""The exponential function and the logarithm, against decimal arithmetic with 40 digits."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pytest

from treewright.engines.elementary import exp, exp_of, log, log2_of, log_of, replace_by_exp, replace_by_log

EXACT = Context(prec=40)


def units_off(found: np.ndarray, exact: list[Decimal]) -> float:
    """The largest error in units in the last place of the number found."""
    errors = zip(found.tolist(), np.spacing(np.abs(found)).tolist(), exact, strict=True)
    return max(abs(float((Decimal(number) - truth) / Decimal(unit))) for number, unit, truth in errors)


def test_exp_is_within_a_unit_in_the_last_place() -> None:
    draw = np.random.default_rng(0)
    numbers = np.concatenate([draw.uniform(-690, 690, 300), draw.normal(0, 1, 300), draw.normal(0, 1e-3, 100)])
    assert units_off(exp_of(numbers), [EXACT.exp(Decimal(number)) for number in numbers.tolist()]) < 1.0


def test_log_is_within_a_unit_in_the_last_place() -> None:
    draw = np.random.default_rng(0)
    wide = 10.0 ** draw.uniform(-300, 300, 300)
    numbers = np.concatenate([wide, draw.uniform(0.5, 2, 300), 1 + draw.normal(0, 1e-6, 100), [5e-324, 1e-310]])
    assert units_off(log_of(numbers), [EXACT.ln(Decimal(number)) for number in numbers.tolist()]) < 1.0


def test_logarithms_to_the_base_2_are_exact_for_powers_of_2() -> None:
    powers = np.arange(-1022, 1023)
    assert log2_of(2.0**powers).tolist() == powers.tolist()
    numbers = np.random.default_rng(0).uniform(0.1, 10, 1000)
    np.testing.assert_allclose(log2_of(numbers), np.log2(numbers), rtol=0, atol=1e-15)


def test_values_at_the_ends_of_the_range() -> None:
    assert log_of([0.0, np.inf, 1.0]).tolist() == [-np.inf, np.inf, 0.0]
    assert np.isnan(log_of([-1.0, np.nan])).all()
    assert exp_of([0.0, 710.0, -746.0, 1e9, -np.inf]).tolist() == [1.0, np.inf, 0.0, np.inf, 0.0]
    assert np.isnan(exp_of([np.nan])).all()
    near = [705.0, -705.0, 709.7]
    np.testing.assert_allclose(exp_of(near), np.exp(near), rtol=1e-15)


def test_an_argument_is_left_as_it_is() -> None:
    numbers = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert exp_of(numbers.T).shape == (2, 2)
    np.testing.assert_allclose(exp_of(numbers.T), np.exp(numbers.T), rtol=1e-15)
    assert numbers.tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(("in_place", "function"), [(replace_by_exp, exp), (replace_by_log, log)])
def test_machine_code_and_plain_functions_give_the_same_bits(in_place: Any, function: Callable[..., Any]) -> None:
    numbers = np.random.default_rng(1).uniform(1e-3, 50, 500)
    of_machine = {replace_by_exp: exp_of, replace_by_log: log_of}[in_place](numbers)
    assert of_machine.tolist() == [float(function(number)) for number in numbers]
