"""`treewright fit`: what is printed for people."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import treewright
from treewright import datasets
from treewright.cli.models import MODELS

Runner = Callable[..., Any]

WEATHER_TREE = """\
outlook = sunny
|   humidity = high: no (3.0)
|   humidity = normal: yes (2.0)
outlook = overcast: yes (4.0)
outlook = rainy
|   wind = weak: yes (3.0)
|   wind = strong: no (2.0)
"""

# Ensembles whose size can be chosen: few trees are enough to see that they work.
SIZED = ("random-forest", "extra-trees", "bagging", "random-subspace", "adaboost", "gradient-boosting")


def few(model: str) -> tuple[str, ...]:
    return ("--trees", "3") if model in SIZED else ()


def form_for(model: str) -> dict[str, str]:
    """Models that cross-validate, or have many members, make so many trees that compiled kernels are worth it."""
    of_many = ("cart", "random-forest", "extra-trees", "gradient-boosting", "voting", "stacking", "averaging")
    return {"TREEWRIGHT_FORM": "compiled"} if model in of_many else {}


FRUIT = "colour,weight,ripe\n" + "".join(
    f"{colour},{weight},{'yes' if weight > 110 else 'no'}\n"
    for colour in ("green", "red")
    for weight in range(100, 120)
)


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_model_fits_a_table_of_categories(run: Runner, model: str) -> None:
    result = run("fit", "weather", "--model", model, "--folds", "2", *few(model), **form_for(model))
    assert (result.code, result.err) == (0, "")
    assert "accuracy" in result.out
    assert MODELS[model].classifier in result.out


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(name for name, model in MODELS.items() if model.regressor))
def test_every_model_for_numbers_fits_a_numeric_target(run: Runner, model: str) -> None:
    result = run(
        "fit", "iris", "--target", "petal_width", "--model", model, "--folds", "2", *few(model), **form_for(model)
    )
    assert (result.code, result.err) == (0, "")
    assert "R2" in result.out
    assert "RMSE" in result.out
    assert str(MODELS[model].regressor) in result.out


def test_all_learners_of_the_library_can_be_named() -> None:
    named = {learner for model in MODELS.values() for learner in (model.classifier, model.regressor)}
    learners = {name for name in treewright.__all__ if name.endswith(("Classifier", "Regressor"))}
    assert learners <= named


def test_the_lecture_tree_is_printed(run: Runner) -> None:
    assert WEATHER_TREE in run("fit", "weather", "--model", "id3").out


def test_each_column_is_printed_with_its_kind_and_missing_values(run: Runner) -> None:
    lines = run("fit", "orchard", "--max-depth", "1", "--folds", "2").out.splitlines()
    described = {line.split()[0]: line for line in lines[3:13] if line.split()}
    kinds = {"variety": "categories", "vigour": "ordered", "height_m": "number", "last_pruned": "date"}
    frame = datasets.load_orchard().frame
    for name, kind in kinds.items():
        missing = frame.to_dict()[name].count(None)
        assert described[name].split()[1:3] == [kind, str(missing)]
    assert "weak < medium < strong" in described["vigour"]
    assert "none (174)" in described["scab"]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "arff", "jsonl", "parquet"])
def test_every_file_format_gives_the_same_tree(run: Runner, tmp_path: Path, suffix: str) -> None:
    weather = datasets.load_weather().frame.to_dict()
    path = tmp_path / f"weather.{suffix}"
    _write_table(path, weather)
    result = run("fit", str(path), "--target", "play", "--model", "id3")
    assert result.code == 0, result.err
    assert WEATHER_TREE in result.out


def _write_table(path: Path, table: dict[str, list[Any]]) -> None:

    rows = list(zip(*table.values(), strict=True))
    if path.suffix == ".parquet":
        arrow = pytest.importorskip("pyarrow")
        from pyarrow.parquet import write_table

        write_table(arrow.table(table), path)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(dict(zip(table, row, strict=True))) for row in rows))
    elif path.suffix == ".arff":
        domains = [f"@attribute {name} {{{','.join(dict.fromkeys(cells))}}}" for name, cells in table.items()]
        path.write_text("\n".join(["@relation weather", *domains, "@data", *(",".join(row) for row in rows)]))
    else:
        mark = "," if path.suffix == ".csv" else "\t"
        path.write_text("\n".join(mark.join(row) for row in [tuple(table), *rows]))


def test_whole_numbers_that_repeat_are_classes(run: Runner, write: Callable[[str, str], str]) -> None:
    table = write("codes.csv", "x,y\n" + "".join(f"{row},{row % 3}\n" for row in range(30)))
    out = " ".join(run("fit", table, "-t", "y").out.split())
    assert "treated as classes: it has only 3 different whole numbers" in out
    assert "--task numbers" in out


@pytest.mark.slow
def test_many_different_numbers_are_numbers(run: Runner, write: Callable[[str, str], str]) -> None:
    table = write("prices.csv", "x,y\n" + "".join(f"{row},{row * row}\n" for row in range(30)))
    assert "treated as numbers: it has 30 different numbers" in run("fit", table, "-t", "y").out


@pytest.mark.slow
def test_the_task_can_be_chosen(run: Runner, write: Callable[[str, str], str]) -> None:
    table = write("codes.csv", "x,y\n" + "".join(f"{row},{row % 3}\n" for row in range(30)))
    assert "RMSE" in run("fit", table, "-t", "y", "--task", "numbers").out


def test_a_column_of_codes_can_be_declared_categorical(run: Runner, write: Callable[[str, str], str]) -> None:
    table = write("zones.csv", "zone,y\n" + "".join(f"{row % 4},{'ab'[row % 2]}\n" for row in range(40)))
    assert "zone <= " in run("fit", table, "-t", "y").out
    assert "zone = 2: a (10.0)" in run("fit", table, "-t", "y", "--categorical", "zone").out


def test_ignored_columns_are_not_asked_about(run: Runner) -> None:
    result = run("fit", "iris", "--ignore", "petal_width, petal_length", "--max-depth", "3", "--folds", "2")
    assert result.code == 0
    assert "petal" not in result.out


def test_a_name_for_every_row_is_pointed_out(run: Runner, write: Callable[[str, str], str]) -> None:
    rows = "".join(f"{row},tree {row},{row % 5},{'ab'[row % 2]}\n" for row in range(1, 31))
    out = run("fit", write("ids.csv", f"number,name of tree,x,y\n{rows}"), "-t", "y").out
    joined = " ".join(out.split())
    assert "Column 'number' counts the rows; leave it out with --ignore number." in joined
    assert "leave it out with --ignore 'name of tree'." in joined
    assert "Column 'x'" not in out


def test_rows_without_a_target_are_left_out_when_asked(run: Runner, write: Callable[[str, str], str]) -> None:
    table = write("missing values.csv", FRUIT + "red,105,\ngreen,118,?\n")
    refused = run("fit", table, "-t", "ripe")
    assert refused.code == 2
    assert refused.err == (
        "treewright: target 'ripe': 2 of 42 values are missing; "
        "add them, or leave those rows out with --drop-missing-target\n"
    )
    accepted = run("fit", table, "-t", "ripe", "--drop-missing-target")
    assert accepted.code == 0
    assert "missing values.csv: 40 rows" in accepted.out
    assert "2 rows" in accepted.out


def test_labels_next_to_missing_values_are_still_whole_numbers(run: Runner, write: Callable[[str, str], str]) -> None:
    table = write("missing values.csv", "x,y\n" + "".join(f"{row},{int(row > 9)}\n" for row in range(20)) + "5,\n")
    out = run("fit", table, "-t", "y", "--drop-missing-target").out
    assert "x <= 9.5: 0 (10.0)" in out or "x <= 9: 0 (10.0)" in out


def test_fewer_folds_are_taken_for_a_small_class_and_reported(run: Runner) -> None:
    out = run("fit", "weather").out
    assert "5 folds instead of 10, because the smallest class, 'no', has 5 rows" in " ".join(out.split())


def test_a_class_of_one_row_does_not_stop_the_run(run: Runner, write: Callable[[str, str], str]) -> None:
    result = run("fit", write("rare.csv", FRUIT + "red,300,maybe\n"), "-t", "ripe")
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize(
    ("text", "finding"),
    [("x,y\n1,a\n2,a\n3,a\n", "nothing to learn"), ("x,y\n1,2.5\n2,2.5\n3,2.5\n", "nothing to learn")],
)
def test_a_target_that_never_varies_is_reported(
    run: Runner, write: Callable[[str, str], str], text: str, finding: str
) -> None:
    result = run("fit", write("same.csv", text), "-t", "y")
    assert result.code == 0
    assert finding in result.out


def test_rules_are_printed_when_asked(run: Runner) -> None:
    assert "outlook = rainy and wind = weak: yes (3.0)" in run("fit", "weather", "--rules").out
    assert "outlook = rainy and wind = weak" not in run("fit", "weather").out


def test_a_long_tree_is_cut_and_the_way_to_all_of_it_is_reported(run: Runner) -> None:
    cut = run("fit", "iris", "-t", "sepal_width", "--folds", "2", "--prune", "none").out
    whole = run("fit", "iris", "-t", "sepal_width", "--folds", "2", "--prune", "none", "--whole").out
    assert "--whole shows all" in cut
    assert "--whole" not in whole
    assert len(cut.splitlines()) < 100 < len(whole.splitlines())


def test_a_split_with_very_many_branches_is_cut_too(run: Runner, write: Callable[[str, str], str]) -> None:
    rows = "".join(f"town {row % 100},{'ab'[row % 2]}\n" for row in range(300))
    out = run("fit", write("towns.csv", f"town,y\n{rows}"), "-t", "y", "--folds", "2").out
    assert "... 40 more lines" in out
    assert "Number of leaves: 100" in out


def test_the_shown_depth_can_be_chosen(run: Runner) -> None:
    out = run("fit", "weather", "--max-depth-shown", "1").out
    assert "outlook = sunny: ... (2 leaves)" in out


def test_a_table_fits_in_80_columns_and_uses_more_if_there_are_more(
    run: Runner, write: Callable[[str, str], str]
) -> None:
    name = "the_share_of_days_with_rain_in_the_last_two_weeks_of_the_month_before"
    rows = "".join(f"{word} and more,{'ab'[place % 2]}\n" for place, word in enumerate("abcdefgh" * 4))
    table = write("long.csv", f"{name},y\n{rows}")
    narrow = run("fit", table, "-t", "y", COLUMNS="80").out.split("The target is treated")[0]
    wide = run("fit", table, "-t", "y", COLUMNS="160").out.split("The target is treated")[0]
    assert max(map(len, narrow.splitlines())) <= 80
    assert name in wide


def test_names_and_values_are_never_taken_as_markup(run: Runner, write: Callable[[str, str], str]) -> None:
    rows = "".join(f"[red]{word}[/red],{word}\n" for word in "ab" * 10)
    out = run("fit", write("markup.csv", f"[bold]x:smile:,y\n{rows}"), "-t", "y").out
    assert "[bold]x:smile: = [red]a[/red]: a (10.0)" in out
    assert out.count("[bold]x:smile:") >= 3


@pytest.mark.slow
def test_a_pipe_gets_no_escape_codes_and_no_progress_bar(run_process: Runner) -> None:
    result = run_process("fit", "weather")
    assert (result.code, result.err) == (0, "")
    assert "\x1b" not in result.out
    assert WEATHER_TREE in result.out


@pytest.mark.slow
def test_a_terminal_without_the_letters_gets_escapes(run_process: Runner, write: Callable[[str, str], str]) -> None:
    table = write("grun.csv", "größe,y\n" + "".join(f"{row},{'ab'[row > 9]}\n" for row in range(20)))
    result = run_process("fit", table, "-t", "y", PYTHONIOENCODING="ascii")
    assert result.code == 0, result.err
    assert "gr\\xf6\\xdfe <= " in result.out


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(set(MODELS) - {"id3"}))
def test_a_column_with_a_single_value_is_no_trouble_in_any_fold(
    run: Runner, write: Callable[[str, str], str], model: str
) -> None:
    rows = [f"{row},,,,,{'ab'[row % 3 % 2]}" for row in range(20)]
    rows[3], rows[7] = "3,word,,2024-05-01,,a", "7,,1.5,,,b"
    table = write("sparse.csv", "x,text,number,day,nothing,y\n" + "\n".join(rows))
    result = run("fit", table, "-t", "y", "--model", model, "--folds", "2", *few(model), **form_for(model))
    assert (result.code, result.err) == (0, "")
    assert "Column 'nothing' has no values at all." in result.out


@pytest.mark.slow
def test_a_pruned_tree_is_smaller_and_scores_what_its_learner_scores(run: Runner) -> None:
    words = ("fit", "orchard", "--json", "--folds", "3")
    whole = run(*words, TREEWRIGHT_FORM="compiled").described()
    pruned = run(*words, "--prune", "cost_complexity", TREEWRIGHT_FORM="compiled").described()

    def count_leaves(node: dict[str, Any]) -> int:
        return sum(map(count_leaves, node["branches"])) if "branches" in node else 1

    assert count_leaves(pruned["tree"]) < count_leaves(whole["tree"])
    refused = run("fit", "orchard", "--prune", "magic")
    assert refused.code == 2
    assert "--prune is 'magic'; give one of" in refused.err
    useless = run("fit", "orchard", "--model", "oner", "--prune", "collapse")
    assert "--prune means nothing to model 'oner'" in useless.err


def test_a_report_is_written_beside_the_output(run: Runner, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    result = run("fit", "weather", "--model", "id3", "--folds", "2", "--report", str(path))
    assert (result.code, result.err) == (0, "")
    assert result.out.endswith(f"\nwrote {path}\n")
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "outlook = overcast: yes (4.0)" in page
    assert run("fit", "weather", "--folds", "2", "--json", "--report", str(path)).described()["model"] == "c45"
    wrong = run("fit", "weather", "--report", str(tmp_path / "nowhere" / "report.html"))
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "there is no such folder" in wrong.err
