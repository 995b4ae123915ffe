"""Records that are spread over rows or tables: several proverbs in one cell, explanations in a table of their own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product

import msgspec

from adage.corpus.mapping import Mapping, fold, map_columns
from adage.corpus.table import MEANINGS, Cell, Row, Table, first, texts
from adage.language import Language

MATCHED = 0.8
"""Share of referring rows that must meet a row they refer to."""
_REFERS = {"id", "key", "no", "fk", "ref", "code"}


def spread(table: Table, mapping: Mapping) -> Table:
    """The table with a row for each proverb where cells list several; lists beside explanations are other wordings."""
    lists = [row.cells.get(mapping.text, "") for row in table.rows]
    n_texts = sum(len(texts(cell)) for cell in lists if isinstance(cell, tuple))
    n_lists = sum(1 for cell in lists if isinstance(cell, tuple))
    if n_texts <= n_lists * (MEANINGS if mapping.explanations else 1):
        return table
    rows = [
        row._replace(cells={**row.cells, mapping.text: text})
        for row, cell in zip(table.rows, lists, strict=True)
        for text in (texts(cell) or ("",))
    ]
    return Table(table.name, table.columns, rows, table.named, table.preamble)


def explain(table: Table, mapping: Mapping, others: Sequence[Table], language: Language) -> tuple[Table, Mapping, str]:
    """The table with the explanations that another table of the file gives by reference, and that table's name.

    The two are related when a column of one is named after the other (`proverb_id`) or is named alike in both, and
    refers to distinct values there. Where no such table explains anything, everything stays as it is.
    """
    for other in others:
        for ours, theirs in _references(table, other):
            columns = {column: f"{other.name}/{column}" for column in other.columns if column != theirs}
            found: dict[str, list[Row]] = defaultdict(list)
            for row in other.rows:
                found[first(row.cells.get(theirs, ""))].append(row)
            rows = [_with(row, found.get(first(row.cells.get(ours, "")), []), columns) for row in table.rows]
            wide = Table(table.name, [*table.columns, *columns.values()], rows, table.named, table.preamble)
            explanations = map_columns(wide, language).explanations
            if explanations:
                return wide, msgspec.structs.replace(mapping, explanations=explanations), other.name
    return table, mapping, ""


def _with(row: Row, related: Sequence[Row], columns: dict[str, str]) -> Row:
    """The row with the cells of related rows under their new names."""
    more: dict[str, Cell] = {
        new: tuple(text for other in related for text in texts(other.cells.get(old, "")))
        for old, new in columns.items()
    }
    return row._replace(cells={**row.cells, **more})


def _references(table: Table, other: Table) -> Iterator[tuple[str, str]]:
    """Pairs of columns (one of each table) by which rows of one refer to rows of the other, by name and by content."""
    for ours, theirs in product(table.columns, other.columns):
        alike = fold(ours) == fold(theirs) and _stem(ours)
        referred = (alike or _named_after(theirs, table)) and _meets(other, theirs, table, ours)
        if referred or (_named_after(ours, other) and _meets(table, ours, other, theirs)):
            yield ours, theirs


def _stem(column: str) -> str:
    """What a column like `proverb_id` or `ProverbNo` refers to; empty for other columns."""
    *words, last = ["", *fold(column).split()]
    return "".join(words) if last in _REFERS else ""


def _named_after(column: str, table: Table) -> bool:
    """Whether a column is called like a reference to a table: `proverb_id` for `proverbs`."""
    stem, name = _stem(column), fold(table.name).replace(" ", "")
    return len(stem) > 2 and (name.startswith(stem) or name.endswith(stem))


def _meets(referring: Table, column: str, table: Table, key: str) -> bool:
    """Whether a key is distinct, and most values of the column of the referring table are among its values."""
    keys = [first(row.cells.get(key, "")) for row in table.rows]
    known = set(keys)
    values = [value for row in referring.rows if (value := first(row.cells.get(column, "")))]
    met = sum(1 for value in values if value in known)
    return "" not in known and len(known) == len(keys) and bool(values) and met >= MATCHED * len(values)
