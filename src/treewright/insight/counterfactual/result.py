"""The result of a search for a counterfactual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from treewright.insight.text_table import write_figure, write_table
from treewright.table.column import write_number


@dataclass(frozen=True)
class Change:
    """One changed column: its values before and after as text, and the magnitude of the change."""

    column: str
    before: str
    after: str
    magnitude: float


@dataclass(frozen=True, eq=False, repr=False)
class Counterfactual:
    """The nearest change of a row that changes the prediction; prints as sentences.

    Attributes
    ----------
    changes : the changed columns; empty if none is needed or none was found.
    row : the changed row, a dict of column to value; None if none was found.
    before, after : the predictions for the row and for the changed row; `after` is None if none was found.
    distance : the sum of the magnitudes of the changes.
    proven : whether it is proven that no change is nearer; without a row, that there is none.
    bound : no change has fewer columns, or as many columns and a smaller distance, than this pair of figures.
    goal : the wanted prediction in words.
    note : what limited the search, if not the number of nodes; else empty.
    """

    changes: tuple[Change, ...]
    row: dict[str, Any] | None
    before: Any
    after: Any
    distance: float
    proven: bool
    bound: tuple[int, float]
    goal: str
    note: str = ""

    @property
    def found(self) -> bool:
        """Whether a row with the wanted prediction was found."""
        return self.row is not None

    @property
    def gap(self) -> tuple[int, float]:
        """How much nearer a change could be: by so many columns; and if 0, by so much distance. (0, 0.0) if proven."""
        if self.proven or not self.found:
            return 0, 0.0
        columns = len(self.changes) - self.bound[0]
        return columns, 0.0 if columns else max(self.distance - self.bound[1], 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "found": self.found,
            "changes": [dict(vars(change)) for change in self.changes],
            "row": None if self.row is None else {name: _plain(value) for name, value in self.row.items()},
            "before": _plain(self.before),
            "after": _plain(self.after),
            "distance": self.distance,
            "proven": self.proven,
            "bound": list(self.bound),
            "goal": self.goal,
            "note": self.note,
        }

    def __str__(self) -> str:
        if not self.found:
            if self.proven:
                return f"No allowed change leads to {self.goal}; the prediction stays {_write(self.before)}."
            if self.note:
                return f"No change that leads to {self.goal} was found. {self.note}"
            return (
                f"No change that leads to {self.goal} was found within the limit of the search, and none changes fewer "
                f"than {_columns(self.bound[0])}; raise max_nodes to search longer."
            )
        if not self.changes:
            return f"The prediction is {_write(self.before)} already; no change is needed."
        rows = [(one.column, one.before, one.after, write_figure(one.magnitude)) for one in self.changes]
        table = write_table(("column", "from", "to", "magnitude"), rows, right=("magnitude",))
        head = f"The prediction changes from {_write(self.before)} to {_write(self.after)} with:"
        return "\n".join([head, table, self._certainty()])

    __repr__ = __str__

    def _certainty(self) -> str:
        if self.proven:
            return "It is proven that no allowed change is nearer."
        if self.note:
            return self.note
        columns, distance = self.gap
        if columns:
            return f"Not proven to be the nearest: any other changes at least {_columns(self.bound[0])}."
        return f"Not proven to be the nearest: another change could be nearer by at most {write_figure(distance)}."


def _columns(count: int) -> str:
    return f"{count} column" if count == 1 else f"{count} columns"


def _write(value: Any) -> str:
    return write_number(value) if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
