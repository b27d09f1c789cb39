"""`treewright compare`: the cross-validated scores of all learners on one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli import options
from treewright.cli.errors import UserError, as_user_errors, choose
from treewright.cli.fit import open_fit
from treewright.cli.option_groups import columns, takes
from treewright.cli.tables import as_given, reading, title_of

if TYPE_CHECKING:
    from treewright.cli.analysis import FitOptions, PreparedFit
    from treewright.insight.cross_validation import CrossValidation


@dataclass(frozen=True, eq=False)
class Compared:
    """One model of the comparison; `reason` is why it has no scores, if it has none."""

    name: str
    found: CrossValidation | None = None
    n_trees: int | None = None
    n_leaves: int | None = None
    seconds: float | None = None
    reason: str = ""

    @property
    def rank(self) -> float:
        """The main score, for sorting."""
        value = None if self.found is None else self.found.score.value
        return float("-inf") if value is None else value

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        if self.found is None:
            return {"model": self.name, "reason": self.reason}
        main, *others = self.found.scores
        return {
            "model": self.name,
            **main.to_dict(),
            "other_scores": [score.to_dict() for score in others],
            "n_trees": self.n_trees,
            "n_leaves": self.n_leaves,
            "fit_seconds": self.seconds,
        }


@takes(columns, reading)
def compare(
    *,
    table: options.TableArgument,
    target: options.TargetOption = None,
    columns: dict[str, Any],
    models: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="The models to compare; by default all.", rich_help_panel=options.MODEL),
    ] = None,
    folds: options.FoldsOption = None,
    seed: options.SeedOption = 0,
    json: options.JsonOption = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="A picture of the scores to write; needs matplotlib.", rich_help_panel=options.OUTPUT),
    ] = None,
    reading: dict[str, Any],
) -> None:
    """Compare learners on a table: cross-validated score with its 95% interval, size and time of each."""
    names = _read_models(models)
    if plot is not None:
        _require_matplotlib()
    unused = dict.fromkeys(("model", "trees", "max_depth", "min_leaf", "criterion", "prune", "missing"))
    frame, given = open_fit({**locals(), **columns, **unused})
    prepared, compared = _compare(frame, given, names)
    compared.sort(key=lambda one: -one.rank)
    if plot is not None:
        _draw(compared, plot)
    if json:
        _print_json(table, prepared, compared, seed)
        return
    _print_table(table, prepared, compared)
    if plot is not None:
        print(f"\nwrote {plot}")


def _read_models(given: str | None) -> list[str]:
    from treewright.cli.models import MODELS

    if given is None:
        return list(MODELS)
    words = [word.strip().lower() for word in given.split(",") if word.strip()]
    if not words:
        raise UserError("--models is empty; give names such as c45,random-forest")
    return list(dict.fromkeys(choose("model", word, MODELS) for word in words))


def _compare(frame: Any, given: FitOptions, names: list[str]) -> tuple[PreparedFit, list[Compared]]:
    """The models on the same folds, and the checked table."""
    from treewright.cli.analysis import prepare
    from treewright.cli.report import progress_bar

    # The default model fits every table. Its errors are about the table, not about a model.
    table = prepare(frame, given)
    compared = []
    with progress_bar("comparing", len(names) * (len(table.folds) + 1)) as step:
        for name in names:
            done = 0

            def count() -> None:
                nonlocal done
                done += 1
                step()

            compared.append(_measure(frame, replace(given, model=name), name, count))
            for _ in range(len(table.folds) + 1 - done):
                step()
    return table, compared


def _measure(frame: Any, given: FitOptions, name: str, on_step: Callable[[], None]) -> Compared:
    from time import perf_counter

    from sklearn.base import clone

    from treewright.cli.analysis import prepare, validate
    from treewright.cli.ensembles import count_members, leaves_of
    from treewright.cli.fit import is_ensemble

    try:
        prepared = prepare(frame, given)
        with as_user_errors():
            start = perf_counter()
            fitted = clone(prepared.learner).fit(prepared.X, prepared.y)
            seconds = perf_counter() - start
            on_step()
            found = validate(prepared, on_step)
    except UserError as error:
        return Compared(name, reason=str(error))
    if not is_ensemble(fitted):
        return Compared(name, found, 1, fitted.tree_.n_leaves, seconds)
    leaves = leaves_of(fitted)
    n_leaves = None if leaves is None else int(leaves.sum())
    return Compared(name, found, count_members(fitted) if leaves is not None else None, n_leaves, seconds)


def _print_table(table: list[str], prepared: PreparedFit, compared: list[Compared]) -> None:
    from treewright.cli.fit import task_sentence
    from treewright.cli.report import Report

    report = Report()
    report.heading(f"{title_of(table)}: {len(prepared.X)} rows, predicting {prepared.target!r}")
    report.paragraph(task_sentence(prepared).split(" Model: ")[0])
    report.blank()
    scored = [one for one in compared if one.found is not None]
    if scored:
        rows = [_row(one) for one in scored]
        found = scored[0].found
        assert found is not None
        baseline = [_figure(score.baseline) for score in found.scores]
        rows.append([found.baseline, baseline[0], "", *baseline[1:], "", "", ""])
        measures = [score.measure for score in found.scores]
        headers = ["model", measures[0], "95% interval", *measures[1:], "trees", "leaves", "fit seconds"]
        report.table(headers, rows, right=[header for header in headers if header not in ("model", "95% interval")])
        report.paragraph(
            f"{found.method} All models have the same folds. Models whose intervals overlap may be equally good. "
            "The size and the time are those of a fit on all rows.",
            style="dim",
        )
        if found.note:
            report.paragraph(f"{found.note}.", style="dim")
    for one in compared:
        if one.found is None:
            report.paragraph(f"{one.name}: {one.reason}.")


def _row(one: Compared) -> list[str]:
    assert one.found is not None
    assert one.seconds is not None
    main, *others = one.found.rows()
    trees = "-" if one.n_trees is None else f"{one.n_trees}"
    leaves = "-" if one.n_leaves is None else f"{one.n_leaves}"
    return [one.name, main[1], main[2], *(other[1] for other in others), trees, leaves, f"{one.seconds:.2f}"]


def _figure(value: float | None) -> str:
    from treewright.insight.text_table import write_figure

    return write_figure(value)


def _print_json(table: list[str], prepared: PreparedFit, compared: list[Compared], seed: int) -> None:
    from json import dumps

    described = {
        "table": as_given(table),
        "seed": seed,
        "rows": len(prepared.X),
        "target": prepared.target,
        "task": str(prepared.task),
        "folds": len(prepared.folds),
        "models": [one.to_dict() for one in compared],
    }
    print(dumps(described, indent=2, allow_nan=False))


def _require_matplotlib() -> None:
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise UserError("--plot needs the package matplotlib; install it with `pip install matplotlib`")


def _draw(compared: list[Compared], path: Path) -> None:
    from treewright.show.comparison import draw_scores

    scores = [(one.name, one.found.score) for one in compared if one.found is not None]
    lines = [
        (name, one.value, one.interval) for name, one in scores if one.value is not None and one.interval is not None
    ]
    if not lines:
        raise UserError("no model could be scored, so there is nothing to draw; leave out --plot to see the reasons")
    try:
        draw_scores(lines, scores[0][1].measure, scores[0][1].baseline, path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: {error}; give another file with --plot") from error
