"""`treewright demo`: fitting trees to data sets of the library, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from treewright.cli.errors import choose

if TYPE_CHECKING:
    from treewright.cli.analysis import PreparedFit
    from treewright.cli.report import Report
    from treewright.datasets import Dataset


def demo(
    data: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Show another data set; `treewright datasets` lists them."),
    ] = None,
    dask: Annotated[bool, typer.Option("--dask", help="Fit on a Dask cluster of this machine, and compare.")] = False,
) -> None:
    """Show ID3 on a small table, and C4.5 on a larger one with missing values."""
    from treewright import datasets
    from treewright.cli.report import Report

    report = Report()
    if dask:
        _show_dask(report)
        return
    if data is not None:
        _show_any(report, datasets.load(choose("data set", data, datasets.names())))
    else:
        _show_id3(report, datasets.load_weather())
        report.blank()
        _show_c45(report, datasets.load_orchard())
    report.blank()
    _print_next_steps(report)


def _show_id3(report: Report, dataset: Dataset) -> None:
    from treewright import ID3Classifier

    report.heading("1. Fourteen days of weather: was tennis played?")
    report.blank()
    report.table(dataset.frame.columns, [list(map(str, row.values())) for row in _rows(dataset, 4)])
    report.paragraph(f"... and {len(dataset.frame) - 4} more days.")
    report.blank()
    model = ID3Classifier().fit(dataset.X, dataset.frame[[dataset.target]])
    root = model.tree_.root
    report.paragraph(
        "ID3 splits on the column with the highest information gain, then likewise in each branch. "
        f"The first split is on {root}, which gains {root.gain:.3f} of the {root.impurity:.3f} bits of entropy:"
    )
    report.blank()
    report.tree(model.tree_)
    report.blank()
    report.paragraph(
        '"yes (4.0)": the prediction is yes, and four days reach this leaf. The same tree as one sentence:'
    )
    report.blank()
    report.lines([model.rules("yes")])


def _show_c45(report: Report, dataset: Dataset) -> None:
    from treewright.cli.analysis import FitOptions, prepare

    report.heading("2. Four hundred apple trees: how bad is the scab?")
    report.paragraph("The table is invented, with text, numbers, dates, ordered categories and missing values.")
    report.blank()
    prepared = prepare(dataset.frame, FitOptions(dataset.target, model="c45", parameters={"min_samples_leaf": 20}))
    report.columns(prepared)
    report.blank()
    report.paragraph(
        "C4.5 reads these columns unchanged. To keep the tree readable, at least two branches of every "
        "split must have twenty rows. The score on rows that the tree was not fitted to:"
    )
    report.blank()
    fitted = _show_score_and_tree(report, prepared)
    report.blank()
    leaf = next(node for node in fitted.tree_ if node.is_leaf and node.errors)
    report.paragraph(
        f'"{leaf}": {leaf.weight:.0f} rows reach this leaf, and {leaf.errors:.0f} of them are predicted wrongly.'
    )


def _show_dask(report: Report) -> None:
    """The same model in memory, from files, and on a cluster."""
    import tempfile
    from importlib import import_module
    from pathlib import Path
    from time import perf_counter

    import treewright
    from treewright import dask as on_dask
    from treewright.cli.large import write_parquet_of_demo
    from treewright.scale.learners import open_client
    from treewright.ship import digest_of_model

    report.heading("The same model in memory, from files, and on a cluster")
    report.blank()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_parquet_of_demo(Path(folder), 200_000)
        pattern = f"{folder}/*.parquet"
        table = treewright.scan(pattern)
        parameters: dict[str, Any] = {"n_estimators": 50, "random_state": 0, "progress": False}

        def note(where: str, fit: Any) -> None:
            start = perf_counter()
            model = fit()
            rows.append([where, f"{perf_counter() - start:.2f} s", digest_of_model(model)[:16]])

        learner = treewright.GradientBoostingClassifier
        whole = table.collect()
        note("in memory", lambda: learner(**parameters).fit(whole.drop(columns=["y"]), whole["y"]))
        note("from four Parquet files", lambda: learner(**parameters).fit(table, "y"))
        with open_client(None) as client:
            n_workers = len(client.scheduler_info(n_workers=-1)["workers"])
            client.run(import_module, "treewright.dask")
            on_cluster = on_dask.GradientBoostingClassifier(client=client, **parameters)
            note(f"on a Dask cluster of {n_workers} workers", lambda: on_cluster.fit(pattern, "y").to_local())
    report.table(["200,000 rows, 50 rounds of boosting", "time", "digest of the model"], rows)
    report.blank()
    report.paragraph("The digests are equal: the models are the same to the bit. docs/scale.md has the details.")


def _show_any(report: Report, dataset: Dataset) -> None:
    from treewright.cli.analysis import FitOptions, prepare
    from treewright.cli.fit import task_sentence

    report.heading(dataset.description)
    report.blank()
    prepared = prepare(dataset.frame, FitOptions(dataset.target))
    report.columns(prepared)
    report.blank()
    report.paragraph(task_sentence(prepared))
    report.blank()
    _show_score_and_tree(report, prepared)


def _show_score_and_tree(report: Report, prepared: PreparedFit) -> Any:
    """Print the cross-validated score, and the tree of all rows; returns the fitted learner."""
    from treewright.cli.analysis import fit_all, validate
    from treewright.cli.report import progress_bar

    fitted = fit_all(prepared)
    with progress_bar("cross-validating", len(prepared.folds)) as step:
        found = validate(prepared, step)
    report.scores(found, len(prepared.X), fitted.tree_)
    report.blank()
    report.paragraph("The tree, fitted to all rows:")
    report.blank()
    report.tree(fitted.tree_)
    return fitted


def _rows(dataset: Dataset, count: int) -> list[dict[str, object]]:
    return [dataset.frame[place] for place in range(count)]


def _print_next_steps(report: Report) -> None:
    report.heading("What to try next")
    report.lines(
        [
            "  treewright demo --data iris                        another table",
            "  treewright fit orchard --model cart --max-depth 3  another model, with your own limits",
            "  treewright fit your_table.csv --target a_column    your own table",
            "  treewright demo --dask                             the same model on a cluster (needs Dask)",
            "  treewright fit --help                              all choices",
        ]
    )
