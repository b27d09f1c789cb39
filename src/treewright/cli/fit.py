"""`treewright fit`: reads a table, prints the score of a model and the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewright.cli import options
from treewright.cli.errors import UserError, as_user_errors, choose, print_message
from treewright.cli.option_groups import columns, growth, takes
from treewright.cli.tables import as_given, open_table, reading, title_of
from treewright.insight.task import Task

if TYPE_CHECKING:
    from treewright.cli.analysis import FitOptions, PreparedFit
    from treewright.cli.report import Report
    from treewright.insight.cross_validation import CrossValidation
    from treewright.insight.evaluation import Evaluation
    from treewright.table import Frame
    from treewright.tree import Tree


@takes(columns, growth, reading)
def fit(
    *,
    table: options.TableArgument,
    target: options.TargetOption = None,
    columns: dict[str, Any],
    model: options.ModelOption = None,
    growth: dict[str, Any],
    folds: options.FoldsOption = None,
    seed: options.SeedOption = 0,
    rules: options.RulesOption = False,
    max_depth_shown: options.MaxDepthShownOption = None,
    whole: options.WholeOption = False,
    out: options.OutOption = None,
    report: options.ReportOption = None,
    json: options.JsonOption = False,
    low_memory: options.LowMemoryOption = False,
    dask: options.DaskOption = None,
    reading: dict[str, Any],
) -> None:
    """Fit a model to a table; print the kind of each column, the score of the model, and the model."""
    chosen = {**locals(), **columns, **growth}
    if low_memory or dask is not None:
        from treewright.cli.large import fit_large

        fit_large(chosen)
        return
    frame, given = open_fit(chosen)
    from treewright.cli.analysis import prepare

    prepared = prepare(frame, given)
    if is_ensemble(prepared.learner) and (rules or max_depth_shown is not None):
        option = "--rules" if rules else "--max-depth-shown"
        raise UserError(f"{option} shows a single tree, and model {prepared.model!r} is made of many; leave it out")
    if report is not None and not report.absolute().parent.is_dir():
        raise UserError(f"{report}: there is no such folder; give another file with --report")
    if json:
        fitted, found = _print_json(table, prepared, seed=seed, with_rules=rules)
    else:
        fitted, found = _print_report(table, prepared, with_rules=rules, max_depth_shown=max_depth_shown, whole=whole)
    if report is not None:
        _write_report(report, prepared, fitted, found, quiet=json)
    if out is not None:
        _write_model(fitted, out, frame)


def _write_model(fitted: Any, out: Path, frame: Frame) -> None:
    from treewright.ship import save

    if frame.reading:
        fitted.reading_ = dict(frame.reading)  # new tables are read by the same conventions
    with as_user_errors():
        save(fitted, out)
    print_message(f"wrote the model to {out}")


def open_fit(given: Mapping[str, Any]) -> tuple[Frame, FitOptions]:
    """The table and the options of a command that fits a model, given its arguments by name."""
    # Nothing is asked about columns that are left out, or are categories whatever they spell.
    kept = _words(given["categorical"]) | _words(given["ignore"])
    frame, own_target = open_table(given["table"], given["reading"], text=kept)
    from treewright.cli.analysis import FitOptions

    return frame, FitOptions(
        target=given["target"] or own_target or _require_target(given["table"], frame),
        model=given["model"],
        task=given["task"],
        categorical=split_names(given["categorical"], frame),
        numeric=split_names(given["numeric"], frame),
        ignore=split_names(given["ignore"], frame),
        drop_missing_target=given["drop_missing_target"],
        folds=given.get("folds"),
        seed=given["seed"],
        parameters={
            "n_estimators": given["trees"],
            "max_depth": given["max_depth"],
            "min_samples_leaf": given["min_leaf"],
            "criterion": given["criterion"],
            "prune": given["prune"],
            "missing": given["missing"],
        },
    )


def _words(given: list[str] | None) -> set[str]:
    """What may be column names in an option: the whole of it, or the words between commas."""
    return {part for words in given or () for part in (words, *(word.strip() for word in words.split(",")))}


def split_names(given: list[str] | None, frame: Frame) -> tuple[str, ...]:
    """Column names separated by commas; a name that has commas itself is taken whole.

    >>> from treewright.table import Frame
    >>> split_names(["a, b", "x,y"], Frame({"a": [1], "b": [2], "x,y": [3]}))
    ('a', 'b', 'x,y')
    """
    names: list[str] = []
    for words in given or ():
        parts = [words] if words in frame else [word.strip() for word in words.split(",") if word.strip()]
        names += [choose("column", part, frame.columns) for part in parts]
    return tuple(dict.fromkeys(names))


def _require_target(table: list[str], frame: Frame) -> str:
    columns = frame.columns
    # The target is often the last column, so that is always shown.
    some = [*map(repr, columns)] if len(columns) <= 8 else [*map(repr, columns[:6]), "...", repr(columns[-1])]
    shown = ", ".join(some)
    raise UserError(f"give the column to predict with --target; {title_of(table)} has {shown}")


def _print_report(
    table: list[str], prepared: PreparedFit, *, with_rules: bool, max_depth_shown: int | None, whole: bool
) -> tuple[Any, CrossValidation]:
    """Print the report, and return the model with its scores."""
    from treewright.cli.analysis import fits_few_rows, validate
    from treewright.cli.report import Report, progress_bar

    report = Report()
    # A wrong parameter is an error before anything is printed, so that the error is the only output.
    fitted = None if fits_few_rows(prepared) else _fit_with_progress(prepared)
    _print_columns(report, table, prepared)
    if fitted is None:
        fitted = _fit_with_progress(prepared)
    with progress_bar("cross-validating" if len(prepared.folds) > 1 else "validating", len(prepared.folds)) as step:
        found = validate(prepared, step)
    report.scores(found, len(prepared.X), getattr(fitted, "tree_", None))
    report.blank()
    if is_ensemble(fitted):
        report.heading(f"The ensemble fitted on all {_rows(len(prepared.X))}")
        report.blank()
        report.ensemble(fitted, whole=whole)
        return fitted, found
    report.heading(f"The tree fitted on all {_rows(len(prepared.X))}")
    report.blank()
    report.tree(fitted.tree_, max_depth=max_depth_shown, whole=whole)
    if with_rules:
        report.blank()
        report.heading("One rule per leaf")
        report.blank()
        report.rules(fitted.rules(), whole=whole)
    return fitted, found


def _fit_with_progress(prepared: PreparedFit) -> Any:
    from treewright.cli.analysis import fit_all
    from treewright.cli.report import progress_bar

    if is_ensemble(prepared.learner):
        return fit_all(prepared)  # shows its own progress
    with progress_bar("fitting", 1):
        return fit_all(prepared)


def _print_columns(report: Report, table: list[str], prepared: PreparedFit) -> None:
    """What is known before the fit: the columns with remarks on odd ones, the task and the model."""
    report.heading(f"{title_of(table)}: {_rows(len(prepared.X))}, predicting {prepared.target!r}")
    if prepared.dropped:
        report.paragraph(f"Without a target, and left out: {_rows(prepared.dropped)}.")
    report.blank()
    report.columns(prepared)
    report.blank()
    report.paragraph(task_sentence(prepared))
    report.blank()


def _write_report(path: Path, prepared: PreparedFit, fitted: Any, found: CrossValidation, *, quiet: bool) -> None:
    import shlex
    import sys

    from treewright.show.report import write_report

    page = write_report(
        fitted,
        prepared.X,
        prepared.y,
        found,
        command=shlex.join(["treewright", *sys.argv[1:]]),
        name=prepared.target,
        columns=prepared.columns,
    )
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}; give another file with --report") from error
    if not quiet:
        print(f"\nwrote {path}")


def is_ensemble(learner: Any) -> bool:
    """Whether a model has several members, so that there is no single tree to print."""
    return "progress" in learner.get_params(deep=False)


def _rows(count: int) -> str:
    return f"{count} {'row' if count == 1 else 'rows'}"


def task_sentence(prepared: PreparedFit) -> str:
    """The task, its reason, and the model."""
    other = Task.NUMBERS if prepared.task is Task.CLASSES else Task.CLASSES
    change = f" (--task {other} if not)" if "number" in prepared.reason else ""
    learner = type(prepared.learner).__name__
    task = f"The target is treated as {prepared.task}: {prepared.reason}{change}."
    return f"{task} Model: {prepared.model} ({learner})."


def _print_json(table: list[str], prepared: PreparedFit, *, seed: int, with_rules: bool) -> tuple[Any, CrossValidation]:
    """Print all results as JSON, and return the model with its scores."""
    import json

    from treewright.cli.analysis import fit_all, validate

    fitted = fit_all(prepared)
    found = validate(prepared)
    described = {"table": as_given(table), "seed": seed, **describe(prepared, found, fitted)}
    if with_rules:
        described["rules"] = [str(rule) for rule in fitted.rules()]
    try:
        print(json.dumps(described, indent=2, allow_nan=False))
    except RecursionError:
        raise UserError(
            f"the tree is {fitted.tree_.depth} levels deep, too deep to nest in JSON; limit it with --max-depth"
        ) from None
    return fitted, found


def describe(prepared: PreparedFit, found: CrossValidation, fitted: Any) -> dict[str, Any]:
    """All results as plain values, ready for JSON."""
    from treewright.cli.ensembles import describe_ensemble

    main, *others = found.scores
    return {
        "rows": len(prepared.X),
        "rows_without_target": prepared.dropped,
        "target": prepared.target,
        "task": str(prepared.task),
        "task_because": prepared.reason,
        "model": prepared.model,
        "learner": type(prepared.learner).__name__,
        "columns": [column.to_dict() for column in prepared.columns],
        "folds": len(prepared.folds),
        **main.to_dict(),
        "other_scores": [score.to_dict() for score in others],
        **({} if found.evaluation is None else _describe_classes(found.evaluation)),
        "notes": [prepared.folds.note] if prepared.folds.note else [],
        **(describe_ensemble(fitted) if is_ensemble(fitted) else describe_tree(fitted.tree_)),
    }


def _describe_classes(evaluation: Evaluation) -> dict[str, Any]:
    """Log loss, AUC, precision, recall and confusion of the cross-validated predictions."""
    described = evaluation.to_dict()
    return {name: described[name] for name in ("measures", "classes", "confusion")}


def describe_tree(tree: Tree) -> dict[str, Any]:
    return {"n_leaves": tree.n_leaves, "depth": tree.depth, "tree": tree.to_dict()}
