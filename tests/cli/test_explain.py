"""`treewright explain`: one row explained from a shell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Runner = Callable[..., Any]


def test_the_path_of_a_row_is_explained(run: Runner) -> None:
    result = run("explain", "weather", "--model", "id3", "--row", "3")
    assert (result.code, result.err) == (0, "")
    assert "wind is weak, so wind = weak: 3 of 14 training rows (21.4%)." in result.out
    assert all(len(line) <= 80 for line in result.out.splitlines())


def test_an_ensemble_shows_votes_and_contributions(run: Runner) -> None:
    result = run("explain", "iris", "--model", "bagging", "--trees", "9", "--row", "70", "--seed", "1")
    assert result.code == 0
    assert "Vote" in result.out
    assert "contribution" in result.out


def test_json_adds_up_to_the_probability(run: Runner) -> None:
    described = run("explain", "iris", "-m", "extra-trees", "--trees", "5", "--json").described()
    shares = {one["class"]: one["probability"] for one in described["probabilities"]}
    for one in described["contributions"]:
        total = one["base"] + sum(column["contribution"] for column in one["columns"])
        assert total == pytest.approx(shares[one["output"]], abs=1e-9)


@pytest.mark.slow
def test_a_file_is_explained_in_a_process_of_its_own(run_process: Runner, write: Callable[[str, str], str]) -> None:
    table = write("days.csv", "sky,wind,play\nsun,1,no\nsun,2,no\nrain,3,yes\nrain,,yes\n")
    result = run_process("explain", table, "--target", "play", "--model", "tree", "--row", "3")
    assert (result.code, result.err) == (0, "")
    assert "DecisionTreeClassifier predicts yes" in result.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("weather", "--row", "14"), "--row is 14, and the table has the rows 0 to 13"),
        (("weather", "--model", "c54"), "there is no model 'c54'; did you mean 'c45'?"),
    ],
)
def test_a_mistake_is_one_sentence(run: Runner, words: tuple[str, ...], sentence: str) -> None:
    result = run("explain", *words)
    assert result.code == 2
    assert sentence in result.err
    assert result.err.count("\n") == 1
