"""`treewright fit`: a table in, a score and a readable tree out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli.errors import Mistake, choose, refusals_as_mistakes
from treewright.insight.task import Task

if TYPE_CHECKING:
    from treewright.cli.analysis import Question
    from treewright.insight.scoring import Score
    from treewright.table import Frame
    from treewright.tree import Tree

COLUMNS, MODEL, CHECK, OUTPUT = "Columns", "Model", "Cross-validation", "Output"


def fit(
    table: Annotated[
        str,
        typer.Argument(
            help="A CSV, TSV, JSON lines, ARFF or Parquet file, or the name of a data set that ships with treewright."
        ),
    ],
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The column to predict.", rich_help_panel=COLUMNS)
    ] = None,
    task: Annotated[
        Task | None,
        typer.Option(
            help="Predict classes or numbers; by default what the target's values suggest.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Columns of codes, to be read as categories.", rich_help_panel=COLUMNS),
    ] = None,
    numeric: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Columns of text, to be read as numbers.", rich_help_panel=COLUMNS),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Columns to leave out.", rich_help_panel=COLUMNS),
    ] = None,
    drop_missing_target: Annotated[
        bool,
        typer.Option("--drop-missing-target", help="Leave out rows without a target.", rich_help_panel=COLUMNS),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="A tree: c45, cart, id3, tree, oner, stump, random-tree or oblivious; or an ensemble: random-forest, "
            "extra-trees, bagging, random-subspace, adaboost, gradient-boosting, voting, stacking or averaging; "
            "by default c45 for classes and cart for numbers.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    trees: Annotated[
        int | None, typer.Option(min=1, help="Number of trees of an ensemble.", rich_help_panel=MODEL)
    ] = None,
    max_depth: Annotated[int | None, typer.Option(min=0, help="Most tests in a row.", rich_help_panel=MODEL)] = None,
    min_leaf: Annotated[
        int | None,
        typer.Option(min=1, help="Least rows in a leaf; with c45, in two branches of a split.", rich_help_panel=MODEL),
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option(help="How splits are rated, e.g. gini or squared_error.", rich_help_panel=MODEL),
    ] = None,
    prune: Annotated[
        str | None,
        typer.Option(
            help="Cut the tree to size: cost_complexity (cart's own), error_based (c45's own), reduced_error, "
            "pessimistic, minimum_description_length, collapse, or none.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            help="What becomes of missing values: learned, fractional, majority, class_majority, every_value, "
            "all_branches, model, branch, surrogate or error.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.", rich_help_panel=CHECK)] = 10,
    seed: Annotated[
        int,
        typer.Option(min=0, max=2**32 - 1, help="Seed of the folds and of random trees.", rich_help_panel=CHECK),
    ] = 0,
    rules: Annotated[
        bool, typer.Option("--rules", help="Also print one rule per leaf.", rich_help_panel=OUTPUT)
    ] = False,
    max_depth_shown: Annotated[
        int | None,
        typer.Option(min=0, help="Print this many levels of the tree.", rich_help_panel=OUTPUT),
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Print all of a long tree.", rich_help_panel=OUTPUT)] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for programs.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Fit a model to a table: what each column is, how good the model is, and what it says."""
    frame, own_target = open_table(table)
    from treewright.cli.analysis import Wishes, prepare

    wishes = Wishes(
        target=target or own_target or _ask_for_target(table, frame),
        model=model,
        task=task,
        categorical=split_names(categorical, frame),
        numeric=split_names(numeric, frame),
        ignore=split_names(ignore, frame),
        drop_missing_target=drop_missing_target,
        folds=folds,
        seed=seed,
        options={
            "n_estimators": trees,
            "max_depth": max_depth,
            "min_samples_leaf": min_leaf,
            "criterion": criterion,
            "prune": prune,
            "missing": missing,
        },
    )
    question = prepare(frame, wishes)
    if is_ensemble(question.learner) and (rules or max_depth_shown is not None):
        option = "--rules" if rules else "--max-depth-shown"
        raise Mistake(f"{option} shows a single tree, and model {question.model!r} is made of many; leave it out")
    if json:
        _print_json(table, question, seed=seed, with_rules=rules)
        return
    _print_report(table, question, with_rules=rules, max_depth_shown=max_depth_shown, whole=whole)


def open_table(name: str) -> tuple[Frame, str | None]:
    """The table in a file, or one that ships with the library together with its target."""
    from treewright import datasets
    from treewright.table import read_table

    if name in datasets.names() and not Path(name).exists():
        dataset = datasets.load(name)
        return dataset.frame, dataset.target
    with refusals_as_mistakes():
        return read_table(name), None


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


def _ask_for_target(table: str, frame: Frame) -> str:
    columns = frame.columns
    # The target is often the last column, so that is always shown.
    some = [*map(repr, columns)] if len(columns) <= 8 else [*map(repr, columns[:6]), "...", repr(columns[-1])]
    shown = ", ".join(some)
    raise Mistake(f"say with --target which column to predict; {Path(table).name} has {shown}")


def _print_report(
    table: str, question: Question, *, with_rules: bool, max_depth_shown: int | None, whole: bool
) -> None:
    from treewright.cli.analysis import fit_all, score_unseen
    from treewright.cli.report import Report, progress_bar

    # Before anything is printed, so that a refusal stands alone.
    if is_ensemble(question.learner):
        fitted = fit_all(question)  # tells by itself how far it is
    else:
        with progress_bar("fitting", 1):
            fitted = fit_all(question)
    report = Report()
    report.heading(f"{Path(table).name}: {_rows(len(question.X))}, predicting {question.target!r}")
    if question.dropped:
        report.say(f"Without a target, and left out: {_rows(question.dropped)}.")
    report.blank()
    report.columns(question)
    report.blank()
    report.say(task_sentence(question))
    report.blank()
    with progress_bar("cross-validating", len(question.folds)) as step:
        scores = score_unseen(question, step)
    report.scores(question, scores, getattr(fitted, "tree_", None))
    report.blank()
    if is_ensemble(fitted):
        report.heading(f"The ensemble fitted on all {_rows(len(question.X))}")
        report.blank()
        report.ensemble(fitted, whole=whole)
        return
    report.heading(f"The tree fitted on all {_rows(len(question.X))}")
    report.blank()
    report.tree(fitted.tree_, max_depth=max_depth_shown, whole=whole)
    if with_rules:
        report.blank()
        report.heading("One rule per leaf")
        report.blank()
        report.rules(fitted.rules(), whole=whole)


def is_ensemble(learner: Any) -> bool:
    """Whether a model is made of others, so that there is no one tree to print."""
    return "progress" in learner.get_params(deep=False)


def _rows(count: int) -> str:
    return f"{count} {'row' if count == 1 else 'rows'}"


def task_sentence(question: Question) -> str:
    """What is predicted, why so, and with which model."""
    other = Task.NUMBERS if question.task is Task.CLASSES else Task.CLASSES
    change = f" (--task {other} if not)" if "number" in question.why else ""
    learner = type(question.learner).__name__
    taken = f"The target is taken as {question.task}: {question.why}{change}."
    return f"{taken} Model: {question.model} ({learner})."


def _print_json(table: str, question: Question, *, seed: int, with_rules: bool) -> None:
    import json

    from treewright.cli.analysis import fit_all, score_unseen

    fitted = fit_all(question)
    described = {"table": table, "seed": seed, **describe(question, score_unseen(question), fitted)}
    if with_rules:
        described["rules"] = [str(rule) for rule in fitted.rules()]
    try:
        print(json.dumps(described, indent=2, allow_nan=False))
    except RecursionError:
        raise Mistake(
            f"the tree is {fitted.tree_.depth} levels deep, too deep to nest in JSON; limit it with --max-depth"
        ) from None


def describe(question: Question, scores: tuple[Score, ...], fitted: Any) -> dict[str, Any]:
    """All that was found as plain values, ready for JSON."""
    from treewright.cli.ensembles import describe_ensemble

    main, *others = scores
    return {
        "rows": len(question.X),
        "rows_without_target": question.dropped,
        "target": question.target,
        "task": str(question.task),
        "task_because": question.why,
        "model": question.model,
        "learner": type(question.learner).__name__,
        "columns": [column.to_dict() for column in question.columns],
        "folds": len(question.folds),
        **main.to_dict(),
        "other_scores": [score.to_dict() for score in others],
        "notes": [question.folds.note] if question.folds.note else [],
        **(describe_ensemble(fitted) if is_ensemble(fitted) else describe_tree(fitted.tree_)),
    }


def describe_tree(tree: Tree) -> dict[str, Any]:
    return {"n_leaves": tree.n_leaves, "depth": tree.depth, "tree": tree.to_dict()}
