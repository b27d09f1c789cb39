"""The options that commands share, each declared once: its name, its help and the panel of the help page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treewright.insight.task import Task

COLUMNS, MODEL, CHECK, OUTPUT = "Columns", "Model", "Cross-validation", "Output"

_TABLE = (
    "One or more files (.csv, .tsv, .txt, .json, .jsonl, .arff, .parquet, .feather, .xlsx, also .gz and .zip), "
    "- for standard input, or the name of a data set that ships with treewright"
)
TableArgument = Annotated[list[str], typer.Argument(metavar="TABLE", help=f"{_TABLE}.")]
ModelOrTableArgument = Annotated[
    list[str], typer.Argument(metavar="[MODEL] TABLE", help=f"{_TABLE}; after a model file, if there is one.")
]

TargetOption = Annotated[
    str | None, typer.Option("--target", "-t", help="The column to predict.", rich_help_panel=COLUMNS)
]
TaskOption = Annotated[
    Task | None,
    typer.Option(
        help="Predict classes or numbers; by default what the target's values suggest.", rich_help_panel=COLUMNS
    ),
]
CategoricalOption = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="Numeric columns that are treated as categories.", rich_help_panel=COLUMNS),
]
NumericOption = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="Text columns that are treated as numbers.", rich_help_panel=COLUMNS),
]
IgnoreOption = Annotated[
    list[str] | None, typer.Option(metavar="A,B", help="Columns to leave out.", rich_help_panel=COLUMNS)
]
DropMissingTargetOption = Annotated[
    bool, typer.Option("--drop-missing-target", help="Leave out rows without a target.", rich_help_panel=COLUMNS)
]

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="A tree: c45, cart, id3, tree, oner, stump, random-tree or oblivious; or an ensemble: random-forest, "
        "extra-trees, bagging, random-subspace, adaboost, gradient-boosting, voting, stacking or averaging; "
        "by default c45 for classes and cart for numbers.",
        rich_help_panel=MODEL,
    ),
]
TreesOption = Annotated[int | None, typer.Option(min=1, help="Number of trees of an ensemble.", rich_help_panel=MODEL)]
MaxDepthOption = Annotated[
    int | None, typer.Option(min=0, help="Largest number of splits from the root to a leaf.", rich_help_panel=MODEL)
]
MinLeafOption = Annotated[
    int | None,
    typer.Option(
        min=1, help="Least number of rows in a leaf; with c45, in two branches of a split.", rich_help_panel=MODEL
    ),
]
CriterionOption = Annotated[
    str | None, typer.Option(help="How splits are rated, e.g. gini or squared_error.", rich_help_panel=MODEL)
]
PruneOption = Annotated[
    str | None,
    typer.Option(
        help="Pruning: cost_complexity (default of cart), error_based (default of c45), reduced_error, "
        "pessimistic, minimum_description_length, collapse, or none.",
        rich_help_panel=MODEL,
    ),
]
MissingOption = Annotated[
    str | None,
    typer.Option(
        help="Treatment of missing values: learned, fractional, majority, class_majority, every_value, "
        "all_branches, model, branch, surrogate or error.",
        rich_help_panel=MODEL,
    ),
]

FoldsOption = Annotated[
    int | None,
    typer.Option(
        min=2,
        help="Number of folds; by default 10, above 20,000 rows 5, and above 100,000 rows one validation set.",
        rich_help_panel=CHECK,
    ),
]
SeedOption = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Seed of the folds and of random trees.", rich_help_panel=CHECK)
]

LARGE = "Large tables"
LowMemoryOption = Annotated[
    bool,
    typer.Option(
        "--low-memory",
        help="Read the files chunk by chunk, for tables larger than memory: forests and gradient boosting.",
        rich_help_panel=LARGE,
    ),
]
DaskOption = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Fit on a Dask cluster: its address, such as tcp://host:8786, or local for one of this machine.",
        rich_help_panel=LARGE,
    ),
]

OutOption = Annotated[Path | None, typer.Option(help="The file to write the fitted model to.", rich_help_panel=OUTPUT)]
RulesOption = Annotated[bool, typer.Option("--rules", help="Also print one rule per leaf.", rich_help_panel=OUTPUT)]
MaxDepthShownOption = Annotated[
    int | None, typer.Option(min=0, help="Print this many levels of the tree.", rich_help_panel=OUTPUT)
]
WholeOption = Annotated[bool, typer.Option("--whole", help="Print all of a long tree.", rich_help_panel=OUTPUT)]
ReportOption = Annotated[
    Path | None, typer.Option("--report", help="Also write an HTML report to this file.", rich_help_panel=OUTPUT)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object for programs.", rich_help_panel=OUTPUT)]
