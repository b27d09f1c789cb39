"""`report`: one HTML file about a model and its table, with aggregates only."""

from __future__ import annotations

import platform
from collections.abc import Sequence, Set
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from treewright.insight.columns import ColumnSummaries, ColumnSummary, summarise_columns
from treewright.insight.cross_validation import CrossValidation, cross_validate_score, read_target
from treewright.insight.data_digest import digest_of, leak_warning, warnings_of
from treewright.insight.importances import MANY_VALUES
from treewright.insight.one_row import check_model, names_of_columns
from treewright.insight.task import Task
from treewright.insight.text_table import write_figure
from treewright.show.picture import plot_tree
from treewright.show.report_effects import effects_section, representative_section, without_names
from treewright.show.sections import STYLE, Section, html_of_section
from treewright.show.text import draw
from treewright.table import read_frame, target_name
from treewright.tree.tree import Tree

# Longer lists are cut, so that the file stays small for any table.
MOST_LINES, MOST_TREE_LINES, MOST_LETTERS = 60, 300, 80
# A larger picture of the tree is left out.
LARGEST_PICTURE = 200_000

_PAGE_STYLE = (
    "body{margin:0 auto;padding:1rem;max-width:62rem;color:#1c2530;background:#fff;font:16px/1.5 system-ui,sans-serif}"
    "h1{font-size:1.4rem;overflow-wrap:anywhere}.tw-sections{max-width:none}.tw-sections h3{font-size:1.15rem}"
    "pre{overflow-x:auto;background:#f6f8fa;padding:.8em;font-size:.85rem;line-height:1.35}"
    ".big{font-size:1.6rem;margin:.2em 0}.warn{border-left:4px solid #d55e00;padding-left:.7em}"
    "svg{max-width:100%;height:auto}td{overflow-wrap:break-word;max-width:26rem}"
    "@media print{body{font-size:11pt;padding:0}pre{white-space:pre-wrap}section{break-inside:avoid-page}}"
)


def report(
    model: Any, X: Any, y: Any, path: str | Path, *, folds: int | None = None, random_state: Any = 0, command: str = ""
) -> Path:
    """Write one self-contained HTML file about a fitted model and its table.

    It shows the columns with warnings, the cross-validated score beside that of a constant prediction, the tree or the
    members with a representative tree, the importances and effects of the columns, where the errors are, and how to
    reproduce it. It contains aggregates and no rows, needs no network, and has less than 500 kB for any table.

    Parameters
    ----------
    model : fitted classifier or regressor of treewright
        Copies of it are fitted for the score.
    X, y : table and target
        The training rows.
    path : str or Path
        The file to write.
    folds : int or None, default=None
        The folds of the score, as in `cross_validate_score`.
    random_state : int, RandomState or None, default=0
        Seed of the folds.
    command : str, default=""
        The command that made the report, if there is one; it is shown.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import os, tempfile
    >>> from treewright import C45Classifier, datasets, report
    >>> iris = datasets.load_iris()
    >>> model = C45Classifier().fit(iris.X, iris.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = report(model, iris.X, iris.y, os.path.join(folder, "iris.html"))
    ...     path.name, path.stat().st_size < 500_000
    ('iris.html', True)
    """
    check_model(model)
    if getattr(model, "n_outputs_", 1) != 1:
        raise ValueError("the model predicts several targets, and a report is about one")
    found = cross_validate_score(model, X, y, folds=folds, random_state=random_state)
    file = Path(path)
    file.write_text(write_report(model, X, y, found, command=command, name=target_name(y)), encoding="utf-8")
    return file


def write_report(
    model: Any,
    X: Any,
    y: Any,
    found: CrossValidation,
    *,
    command: str = "",
    name: str = "target",
    columns: ColumnSummaries | None = None,
) -> str:
    """The page, given the cross-validated score; `columns` if they were summarised before."""
    table = read_frame(
        X,
        categorical_features=getattr(model, "categorical_features", None),
        numeric_features=getattr(model, "numeric_features", None),
    )
    columns = summarise_columns(table) if columns is None else columns
    target = read_target(y, found.task)
    importances = _importances(model)
    secret = frozenset(one.name for one in columns if _names_rows(one))
    effects = [(column, share) for column, share in importances if column not in secret]
    warnings = warnings_of(columns, target, found.task, len(target))
    leak = leak_warning(importances, found.score.value)
    parts = [
        _score(found),
        _warnings([*warnings, leak] if leak else warnings),
        html_of_section(_data(columns, len(target), name, target, found.task)),
        _model(model, secret),
        representative_section(model, X, secret),
        html_of_section(_importance_section(importances)),
        effects_section(model, X, effects),
        html_of_section(_errors(found, target)),
        html_of_section(_reproduction(model, digest_of(table, target, found.task), command)),
    ]
    title = escape(_short(f"{type(model).__name__}: {name}"))
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}{_PAGE_STYLE}</style></head>"
        f'<body><h1>{title}</h1><main class="tw-sections">{"".join(parts)}</main></body></html>\n'
    )


def _short(words: object) -> str:
    text = str(words)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 3]}..."


def _cut(rows: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(map(_short, row)) for row in rows[:MOST_LINES])


def _left_out(n_rows: int, what: str) -> str:
    return f"... and {n_rows - MOST_LINES} more {what}." if n_rows > MOST_LINES else ""


def _score(found: CrossValidation) -> str:
    score = found.score
    interval = "" if score.interval is None else f" ({score.interval[0]:.3f} to {score.interval[1]:.3f})"
    head = f'<p class="big">{escape(score.measure)} {escape(write_figure(score.value))}{interval}</p>'
    section = Section(
        "", (found.verdict,), found.headers(), tuple(found.rows()), ("this model", found.baseline), found.method
    )
    return f"<section><h3>Score</h3>{head}{html_of_section(section)}</section>"


def _warnings(sentences: list[str]) -> str:
    if not sentences:
        return ""
    shown = [_short(one) if len(one) > 300 else one for one in sentences[:MOST_LINES]]
    items = "".join(f'<p class="warn">{escape(one)}</p>' for one in shown)
    return f"<section><h3>Warnings</h3>{items}</section>"


def _data(columns: ColumnSummaries, n_rows: int, name: str, target: np.ndarray, task: Task) -> Section:
    rows = [(one.name, one.word, str(one.missing or "-"), _values(one)) for one in columns]
    if task is Task.CLASSES:
        classes, sizes = np.unique(target.astype(str), return_counts=True)
        order = np.argsort(-sizes, kind="stable")[:10]
        counts = [f"{_short(classes[place])} {sizes[place]} ({100.0 * sizes[place] / n_rows:.1f}%)" for place in order]
        more = f" and {len(classes) - 10} more classes" if len(classes) > 10 else ""
        words = f"The target {_short(name)!r} has the classes {', '.join(counts)}{more}."
    else:
        ends = ", ".join(f"{write_figure(float(end))}" for end in np.quantile(target.astype(float), [0, 0.5, 1]))
        words = f"The target {_short(name)!r} is a number; lowest, median, highest: {ends}."
    note = _left_out(len(rows), "columns")
    headers = ("column", "kind", "missing", "values")
    return Section("Data", (f"{n_rows} rows, {len(columns)} columns.", words), headers, _cut(rows), ("missing",), note)


def _values(column: ColumnSummary) -> str:
    """The range or the categories; only the number of values of a column that identifies rows."""
    return f"{column.distinct} different" if _names_rows(column) else column.values


def _names_rows(column: ColumnSummary) -> bool:
    """Is each category the name of one row?"""
    return bool(column.oddity) and column.distinct > 1 and not column.column.is_numeric


def _model(model: Any, secret: Set[str]) -> str:
    tree = getattr(model, "tree_", None)
    if tree is None:
        members = getattr(model, "estimators_", None)
        count = "" if members is None else f" It has {np.size(np.asarray(members, dtype=object))} members."
        return html_of_section(Section("Model", (f"{type(model).__name__} is an ensemble.{count}",)))
    tree = without_names(tree, secret)
    depth = tree.depth
    while depth > 1 and int((tree.depth_of <= depth).sum()) > MOST_TREE_LINES:
        depth -= 1
    lines = [line[:200] for line in draw(tree, max_depth=depth).split("\n")[: MOST_TREE_LINES + 10]]
    cut = f"<p>Shown are {depth} of {tree.depth} levels.</p>" if depth < tree.depth else ""
    words = f"<p>The tree has {tree.n_leaves} leaves and {tree.depth} levels.</p>{cut}"
    return f"<section><h3>Model</h3>{words}{_picture(tree)}<pre>{escape(chr(10).join(lines))}</pre></section>"


def _picture(tree: Tree) -> str:
    """The tree as SVG, if the picture is small."""
    svg = plot_tree(tree).svg
    return svg if len(svg.encode()) <= LARGEST_PICTURE else ""


def _importances(model: Any) -> list[tuple[str, float]]:
    shares = getattr(model, "feature_importances_", None)
    if shares is None:
        return []
    order = np.argsort(-np.asarray(shares), kind="stable").tolist()
    names = names_of_columns(model)
    return [(names[place], float(shares[place])) for place in order]


def _importance_section(importances: list[tuple[str, float]]) -> Section:
    if not importances:
        words = "The members of this model have no gains of splits; use permutation_importance on a test set."
        return Section("Importances", (words,))
    rows = _cut([(name, write_figure(share)) for name, share in importances])
    words = f"The fraction of a column in the total gain of all splits. {MANY_VALUES}"
    note = _left_out(len(importances), "columns")
    return Section("Importances", (words,), ("column", "importance"), rows, ("importance",), note)


def _errors(found: CrossValidation, target: np.ndarray) -> Section:
    """Where the out-of-fold predictions are wrong: confusions of classes, or errors by the size of the target."""
    tested = np.array([one is not None for one in found.predictions])
    actual, predicted = target[tested], found.predictions[tested]
    if found.task is Task.CLASSES:
        pairs = np.stack([actual.astype(str), predicted.astype(str)], axis=1)
        wrong = pairs[pairs[:, 0] != pairs[:, 1]]
        if not len(wrong):
            return Section("Errors", ("All rows are predicted correctly by models fitted without them.",))
        kinds, counts = np.unique(wrong, axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable").tolist()
        sizes = {str(name): int((pairs[:, 0] == name).sum()) for name in np.unique(wrong[:, 0])}
        rows = [
            (kinds[k, 0], kinds[k, 1], str(counts[k]), f"{100.0 * counts[k] / sizes[str(kinds[k, 0])]:.1f}%")
            for k in order
        ]
        headers = ("class", "predicted as", "rows", "of the class")
        words = "The most frequent errors for rows that a model was not fitted to."
        return Section("Errors", (words,), headers, _cut(rows), headers[2:], _left_out(len(rows), "kinds of errors"))
    numbers, errors = actual.astype(float), predicted.astype(float) - actual.astype(float)
    cuts = np.unique(np.quantile(numbers, np.linspace(0, 1, 6)))
    place = np.clip(np.searchsorted(cuts, numbers, side="left") - 1, 0, max(len(cuts) - 2, 0))
    bands = [
        (
            f"{write_figure(float(cuts[k]))} to {write_figure(float(cuts[k + 1]))}",
            str(int((place == k).sum())),
            write_figure(float(errors[place == k].mean())),
            write_figure(float(np.abs(errors[place == k]).mean())),
        )
        for k in range(len(cuts) - 1)
        if (place == k).any()
    ]
    headers = ("target", "rows", "mean error", "mean absolute error")
    worst = f"The largest error is {write_figure(float(np.abs(errors).max()))}; 95% of the errors are at most "
    worst += f"{write_figure(float(np.quantile(np.abs(errors), 0.95)))}."
    words = "Predicted minus actual, for rows that a model was not fitted to."
    return Section("Errors", (words, worst), headers, _cut(bands), headers[1:])


def _reproduction(model: Any, digest: str, command: str) -> Section:
    versions = f"treewright {metadata.version('treewright')}, Python {platform.python_version()}, "
    versions += f"NumPy {np.__version__}, scikit-learn {sklearn.__version__}"
    rows = [("model", " ".join(repr(model).split())[:600]), ("versions", versions), ("SHA-256 of the data", digest)]
    rows += [("command", command[:600])] if command else []
    return Section("How to reproduce it", (), ("what", "value"), tuple(rows))
