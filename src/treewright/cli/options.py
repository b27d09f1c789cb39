"""The arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from treewright.insight.task import Task

COLUMNS, MODEL, CHECK, OUTPUT = "Columns", "Model", "Cross-validation", "Output"

TableName = Annotated[
    str,
    typer.Argument(
        help="A CSV, TSV, JSON lines, ARFF or Parquet file, or the name of a data set that ships with treewright."
    ),
]
TargetName = Annotated[
    str | None, typer.Option("--target", "-t", help="The column to predict.", rich_help_panel=COLUMNS)
]
TaskName = Annotated[
    Task | None,
    typer.Option(
        help="Predict classes or numbers; by default what the target's values suggest.",
        rich_help_panel=COLUMNS,
    ),
]
CategoricalColumns = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="Numeric columns that are treated as categories.", rich_help_panel=COLUMNS),
]
NumericColumns = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="Text columns that are treated as numbers.", rich_help_panel=COLUMNS),
]
IgnoredColumns = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="Columns to leave out.", rich_help_panel=COLUMNS),
]
DropMissingTarget = Annotated[
    bool,
    typer.Option("--drop-missing-target", help="Leave out rows without a target.", rich_help_panel=COLUMNS),
]
NumberOfTrees = Annotated[
    int | None, typer.Option(min=1, help="Number of trees of an ensemble.", rich_help_panel=MODEL)
]
MaxDepth = Annotated[
    int | None, typer.Option(min=0, help="Largest number of splits from the root to a leaf.", rich_help_panel=MODEL)
]
MinLeaf = Annotated[
    int | None,
    typer.Option(
        min=1, help="Least number of rows in a leaf; with c45, in two branches of a split.", rich_help_panel=MODEL
    ),
]
CriterionName = Annotated[
    str | None,
    typer.Option(help="How splits are rated, e.g. gini or squared_error.", rich_help_panel=MODEL),
]
PruningName = Annotated[
    str | None,
    typer.Option(
        help="Pruning: cost_complexity (default of cart), error_based (default of c45), reduced_error, "
        "pessimistic, minimum_description_length, collapse, or none.",
        rich_help_panel=MODEL,
    ),
]
MissingName = Annotated[
    str | None,
    typer.Option(
        help="Treatment of missing values: learned, fractional, majority, class_majority, every_value, "
        "all_branches, model, branch, surrogate or error.",
        rich_help_panel=MODEL,
    ),
]
