"""One small table type, and how it is written: for a spreadsheet, for a page, or as numbers with their intervals.

A row maps the key of a column to a cell. Cells hold numbers, never formatted text, so that the same table is
printed, written to files and drawn.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Literal

from adage.analysis.responses import Responses
from adage.analysis.stats import Estimate, Gap
from adage.records import Record
from adage.text.unicode import harmless, isolate, neutralise

Kind = Literal["text", "name", "count", "size", "share", "points", "ratio", "number", "p"]
"""What a column holds: words of ours, names of others, a count, the size of a model, a share of 1, percentage points, a
ratio whose neutral value is 1, any other number, a p-value."""
_DIGITS = 6
_EXACT = 1e-9
"""How far two sums of the same numbers may differ by rounding."""
_FORMATS: dict[Kind, str] = {
    "count": "{:.0f}",
    "size": "{:g}",
    "share": "{:.3f}",
    "points": "{:+.1f}",
    "ratio": "{:.2f}",
    "number": "{:.3f}",
}


class Measure(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A number with its interval; the ends are None where one cluster alone cannot tell them."""

    value: float | None
    """None where the interval is all that is known."""
    low: float | None = None
    high: float | None = None

    def holds(self, number: float) -> bool:
        """Whether the interval includes a number."""
        return self.low is not None and self.high is not None and self.low - _EXACT <= number <= self.high + _EXACT


Cell = str | int | float | Measure | None
"""None: there is no such number."""


class Column(Record, frozen=True, kw_only=True):
    """A column of a table."""

    key: str
    title: str
    kind: Kind
    detail: bool = False
    """Whether the column is in files only, not on the terminal."""


class Table(Record, frozen=True, kw_only=True):
    """A table with what a reader should know to read it."""

    key: str
    """Names the table and its files."""
    title: str
    note: str
    """How to read it."""
    columns: tuple[Column, ...]
    rows: tuple[dict[str, Cell], ...]


def column(key: str, title: str, kind: Kind, *, detail: bool = False) -> Column:
    """A column in one line."""
    return Column(key=key, title=title, kind=kind, detail=detail)


def table(key: str, title: str, note: str, columns: Sequence[Column], rows: Sequence[Mapping[str, Cell]]) -> Table:
    """A table whose numbers are rounded to 6 decimals; a cell that a row lacks is empty.

    Raises:
        ValueError: A row has a cell that no column shows.
    """
    keys = [shown.key for shown in columns]
    for row in rows:
        if unknown := set(row) - set(keys):
            raise ValueError(f"table {key!r} has no columns {sorted(unknown)}")
    kept = tuple({name: _rounded(row.get(name)) for name in keys} for row in rows)
    return Table(key=key, title=title, note=note, columns=tuple(columns), rows=kept)


ABOUT = (
    column("model", "model", "name"),
    column("benchmark", "benchmark", "name"),
    column("condition", "condition", "text"),
)
"""Columns that say which run a row is about."""


def about(run: Responses) -> dict[str, Cell]:
    """Cells of `ABOUT`."""
    return {"model": run.model, "benchmark": run.name, "condition": run.put}


def measured(estimate: Estimate | Gap | None) -> Measure | None:
    """An estimate as a cell."""
    return None if estimate is None else bounded(estimate[0], estimate.low, estimate.high)


def bounded(value: float, low: float, high: float) -> Measure | None:
    """A number and the ends of its interval as a cell; what is not finite is left out."""
    kept = float(value) if math.isfinite(value) else None
    ends = (float(low), float(high)) if math.isfinite(low) and math.isfinite(high) else (None, None)
    return None if kept is None and ends[0] is None else Measure(value=kept, low=ends[0], high=ends[1])


def shown(cell: Cell, kind: Kind) -> str:
    """A cell for people.

    >>> shown(Measure(value=0.5, low=0.42, high=0.58), "share"), shown(0.00004, "p")
    ('0.500 [0.420, 0.580]', '<.001')
    """
    match cell:
        case None:
            return ""
        case str():
            return isolate(cell) if kind == "name" and not cell.isascii() else harmless(cell)
        case Measure(value=value, low=None):
            return _number(value, kind)
        case Measure(value=value, low=low, high=high):
            return f"{_number(value, kind)} [{_number(low, kind)}, {_number(high, kind)}]".lstrip()
        case _:
            return _number(cell, kind)


def to_csv(table: Table) -> str:
    """The table as CSV: an interval has columns of its own, and no text is a formula to a spreadsheet."""
    intervals = {name for row in table.rows for name, cell in row.items() if isinstance(cell, Measure)}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [shown.key for shown in table.columns]
    writer.writerow([part for name in names for part in _parts(name, wide=name in intervals)])
    for row in table.rows:
        writer.writerow([part for name in names for part in _values(row[name], wide=name in intervals)])
    return text.getvalue()


def to_markdown(table: Table) -> str:
    """The table as a Markdown section: title, table, and the sentence that says how to read it."""
    lines = [f"## {_escaped(table.title)}", ""]
    lines.append("| " + " | ".join(_escaped(column.title) for column in table.columns) + " |")
    lines.append("|" + "|".join("---" if column.kind in {"text", "name"} else "--:" for column in table.columns) + "|")
    lines += [
        "| " + " | ".join(_page(row[column.key], column.kind) for column in table.columns) + " |" for row in table.rows
    ]
    return "\n".join([*lines, "", _escaped(table.note), ""])


def _rounded(cell: Cell) -> Cell:
    match cell:
        case float():
            # A p-value keeps its leading digits, however small it is.
            return float(f"{cell:.{_DIGITS}g}") if 0 < abs(cell) < 1e-3 else round(cell, _DIGITS) + 0.0  # no -0.0
        case Measure():
            parts = [None if part is None else round(part, _DIGITS) + 0.0 for part in (cell.value, cell.low, cell.high)]
            return Measure(value=parts[0], low=parts[1], high=parts[2])
        case _:
            return cell


def _number(value: float | None, kind: Kind) -> str:
    if value is None:
        return ""
    if kind == "p":
        return "<.001" if value < 0.001 else f"{value:.3f}"
    return _FORMATS[kind].format(value)


def _parts(name: str, *, wide: bool) -> list[str]:
    return [name, f"{name}_low", f"{name}_high"] if wide else [name]


def _values(cell: Cell, *, wide: bool) -> list[str]:
    if isinstance(cell, Measure):
        return [_plain(cell.value), _plain(cell.low), _plain(cell.high)]
    return [_plain(cell), "", ""] if wide else [_plain(cell)]


def _plain(cell: Cell) -> str:
    if isinstance(cell, str):
        return neutralise(harmless(cell))
    return "" if cell is None else str(cell)


def _page(cell: Cell, kind: Kind) -> str:
    return _escaped(shown(cell, kind)) if isinstance(cell, str) else shown(cell, kind)


def _escaped(text: str) -> str:
    """Text that Markdown shows as it stands, on one line of a table."""
    for sign in "\\`*_[]<>|#&~$":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())
