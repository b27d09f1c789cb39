"""The two notations of the field: Quinlan's (Entropy, Gain, SplitInfo) and Breiman's (i(t), delta i)."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

NOTATIONS = ("quinlan", "breiman")
MOST_TERMS = 8


@dataclass(frozen=True)
class Notation:
    """The names and formulas of a criterion, plain and for LaTeX."""

    impurity: str
    impurity_formula: str
    impurity_latex: str
    gain: str  # with a place for the column
    gain_formula: str
    gain_latex: str
    split_info: str
    ratio: str
    short_impurity: str
    short_gain: str
    split_info_formula: str
    split_info_latex: str


_FORMULAS = {
    "entropy": ("-Σ p_i log2 p_i", r"-\sum_i p_i \log_2 p_i"),
    "gini": ("1 - Σ p_i²", r"1 - \sum_i p_i^2"),
    "error": ("1 - max p_i", r"1 - \max_i p_i"),
    "squared_error": ("Σ (y - mean)² / n", r"\frac{1}{n} \sum (y - \bar{y})^2"),
    "sdr": ("sqrt(Σ (y - mean)² / n)", r"\sqrt{\frac{1}{n} \sum (y - \bar{y})^2}"),
}
_NAMES = {"entropy": "Entropy", "gini": "Gini", "error": "Error", "squared_error": "Var", "sdr": "SD"}


def measure_of(criterion: str) -> str:
    """The impurity that a criterion measures; information gain and gain ratio share one."""
    return "entropy" if criterion in ("information_gain", "gain_ratio") else criterion


def has_formula(criterion: str) -> bool:
    """Whether the impurity of a criterion is shown as a formula.

    >>> has_formula("gain_ratio"), has_formula("poisson")
    (True, False)
    """
    return measure_of(criterion) in _FORMULAS


def notation_of(criterion: str, notation: str) -> Notation:
    """The names and formulas of a criterion.

    >>> notation_of("gini", "breiman").gain
    'Δi({column}, t)'
    """
    measure = measure_of(criterion)
    formula, latex = _FORMULAS.get(measure, ("the impurity of the rows", r"i(t)"))
    if notation == "breiman":
        return Notation(
            "i(t)",
            formula,
            latex,
            "Δi({column}, t)",
            "i(t) - Σ p_k i(t_k)",
            r"i(t) - \sum_k p_k \, i(t_k)",
            "H({column}, t)",
            "Δi/H({column}, t)",
            "i",
            "Δi",
            "-Σ p_k log2 p_k",
            r"-\sum_k p_k \log_2 p_k",
        )
    name = _NAMES.get(measure, "Impurity")
    gain = "SDR" if measure == "sdr" else "Gain"
    return Notation(
        f"{name}(S)",
        formula,
        latex,
        f"{gain}(S, {{column}})",
        f"{name}(S) - Σ |S_v|/|S| {name}(S_v)",
        rf"\mathrm{{{name}}}(S) - \sum_v \frac{{|S_v|}}{{|S|}} \mathrm{{{name}}}(S_v)",
        "SplitInfo(S, {column})",
        "GainRatio(S, {column})",
        name,
        gain,
        "-Σ |S_v|/|S| log2(|S_v|/|S|)",
        r"-\sum_v \frac{|S_v|}{|S|} \log_2 \frac{|S_v|}{|S|}",
    )


def number(value: float) -> str:
    """A figure with four decimals, or six digits if it is large or small.

    >>> number(0.94028), number(14.0), number(1234567.5)
    ('0.9403', '14', '1.23457e+06')
    """
    if value == round(value) and abs(value) < 1e6:
        return f"{value:.0f}"
    if abs(value) >= 1e5 or 0.0 < abs(value) < 5e-5:
        return f"{value:.6g}"
    return f"{value:.4f}"


def figure(value: float) -> str:
    """A computed figure: four decimals also for whole numbers.

    >>> figure(0.0), figure(0.246749)
    ('0.0000', '0.2467')
    """
    return f"{value:.4f}" if value == 0.0 or 5e-5 <= abs(value) < 1e5 else f"{value:.6g}"


def count(value: float) -> str:
    """A weight: whole if it is.

    >>> count(5.0), count(2.375)
    ('5', '2.375')
    """
    return f"{value:.0f}" if abs(value - round(value)) < 1e-9 else f"{value:.4g}"


def impurity_numbers(criterion: str, counts: tuple[float, ...], weight: float, impurity: float) -> str:
    """The formula of an impurity with the numbers put in."""
    measure, total = measure_of(criterion), count(weight)
    if measure in ("squared_error", "sdr"):
        squares = impurity * weight if measure == "squared_error" else impurity * impurity * weight
        inner = f"{number(squares)} / {total}"
        return inner if measure == "squared_error" else f"sqrt({inner})"
    present = [one for one in counts if one > 0.0]
    if measure == "error":
        return f"1 - {count(max(present))}/{total}"
    shown = present[:MOST_TERMS]
    more = " - ..." if len(present) > MOST_TERMS else ""
    if measure == "gini":
        return "1" + "".join(f" - ({count(one)}/{total})²" for one in shown) + more
    terms = [f"{count(one)}/{total} log2({count(one)}/{total})" for one in shown]
    return "-" + " - ".join(terms) + more


def gain_numbers(before: float, branches: list[tuple[float, float]], known: float = 1.0) -> str:
    """The gain with numbers: the impurity before, and for each branch its weight and impurity."""
    total = fsum(weight for weight, _ in branches)
    terms = [f"{count(weight)}/{count(total)} · {figure(impurity)}" for weight, impurity in branches[:MOST_TERMS]]
    more = " - ..." if len(branches) > MOST_TERMS else ""
    inner = f"{figure(before)} - {' - '.join(terms)}{more}"
    return inner if known > 1.0 - 1e-12 else f"{figure(known)} · ({inner})"


def split_info_numbers(sizes: list[float]) -> str:
    """The split information with numbers put in."""
    total = fsum(sizes)
    terms = [f"{count(size)}/{count(total)} log2({count(size)}/{count(total)})" for size in sizes if size > 0.0]
    more = " - ..." if len(terms) > MOST_TERMS else ""
    return "-" + " - ".join(terms[:MOST_TERMS]) + more
