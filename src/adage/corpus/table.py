"""The one shape every file format is read into: named tables of text cells, each row with its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from adage.errors import CorpusError

Cell = str | tuple[str, ...]
"""A cell's text, or the texts of a list."""

DEPTH = 40
"""Nesting, in levels, beyond which data are refused."""

MEANINGS = 3
"""Mean length up to which lists under keys are taken for several meanings of the key."""


class Row(NamedTuple):
    """One record of a table."""

    cells: dict[str, Cell]
    place: str
    """Line or record within the file, e.g. `:12` or `#3`; appended to the file's name in messages."""
    damage: str = ""
    """Why the record could not be read as its format demands; empty for a sound one."""


@dataclass(slots=True)
class Table:
    """Rows under common columns."""

    name: str
    columns: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    named: bool = True
    """False where the file names no columns, so that their content alone tells what they are."""
    preamble: list[str] = field(default_factory=list)
    """Places of records before the header, such as a title; they are no rows."""

    def add(self, row: Row) -> None:
        """Append a row; columns not met before join the table's."""
        self.columns.extend(column for column in row.cells if column not in self.columns)
        self.rows.append(row)


class Fields(list[tuple[str, object]]):
    """The fields of an object in file order; unlike a dict it keeps those that come twice."""


def first(cell: Cell) -> str:
    """The cell's text; of a list, the first one that is not blank."""
    return cell if isinstance(cell, str) else next((text for text in cell if text.strip()), "")


def texts(cell: Cell) -> tuple[str, ...]:
    """All texts of a cell that are not blank."""
    return tuple(text for text in ((cell,) if isinstance(cell, str) else cell) if text.strip())


def tables_of(value: object, *, name: str = "") -> list[Table]:
    """Tables found in nested data (`Fields`, lists, scalars), at whatever depth.

    A list of objects is a table; so is a list of texts (column `value`), and an object that maps texts to texts or to
    objects of one kind (column `key`, then `value` or the objects' columns). A row's nested objects become columns
    `outer.inner`; lists of objects within rows become tables of their own.

    Raises:
        CorpusError: Nesting deeper than `DEPTH`.
    """
    found: dict[str, Table] = {}
    _walk(value, name, found, 0)
    return list(found.values())


def _walk(value: object, name: str, found: dict[str, Table], depth: int) -> None:
    if depth > DEPTH:
        raise CorpusError(f"data are nested more than {DEPTH} levels deep at {name[:80]!r}", hint="is this a corpus?")
    if isinstance(value, Fields):
        if _is_map(value):
            for key, item in value:
                _put({"key": key, **dict(_flat(item, "", found, name, depth))}, name, found)
            return
        if not name and value and not any(isinstance(item, (list, Fields)) for _, item in value):
            _put(dict(_flat(value, "", found, name, depth)), name, found)
            return
        for key, item in value:
            if isinstance(item, (list, Fields)):
                _walk(item, f"{name}.{key}" if name else key, found, depth + 1)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, list) and not isinstance(item, Fields) and item and _all_scalar(item):
                cells: dict[str, Cell] = {str(number): _text(entry) for number, entry in enumerate(item, 1)}
                _put(cells, name, found, named=False)
            elif isinstance(item, list) and not isinstance(item, Fields):
                _walk(item, name, found, depth + 1)
            else:
                _put(dict(_flat(item, "", found, name, depth)), name, found, named=isinstance(item, Fields))


def _put(cells: dict[str, Cell], name: str, found: dict[str, Table], *, named: bool = True) -> None:
    if not cells:
        return
    table = found.setdefault(name, Table(name, named=named))
    table.add(Row(cells, f"#{name}/{len(table.rows) + 1}" if name else f"#{len(table.rows) + 1}"))


def _flat(value: object, prefix: str, found: dict[str, Table], name: str, depth: int) -> Iterator[tuple[str, Cell]]:
    """Cells of one record; lists of objects inside it are walked into `found`."""
    if depth > DEPTH:
        raise CorpusError(f"data are nested more than {DEPTH} levels deep at {name[:80]!r}", hint="is this a corpus?")
    if isinstance(value, Fields):
        for key, item in value:
            path = f"{prefix}.{key}" if prefix else key
            if isinstance(item, list) and not isinstance(item, Fields) and not _all_scalar(item):
                _walk(item, f"{name}.{path}" if name else path, found, depth + 1)
            else:
                yield from _flat(item, path, found, name, depth + 1)
    elif isinstance(value, list):
        yield prefix or "value", tuple(_text(item) for item in value)
    else:
        yield prefix or "value", _text(value)


def _is_map(value: Fields) -> bool:
    """Whether the keys are data, not field names: several texts, or several objects of one kind, under them."""
    if len(value) < 2:
        return False
    if all(isinstance(item, Fields) for _, item in value):
        kinds = [frozenset(key for key, _ in item) for _, item in value if isinstance(item, Fields)]
        return len(kinds[0]) > 0 and all(kind & kinds[0] for kind in kinds) and not _is_map_of_lists(value)
    lists = [item for _, item in value if isinstance(item, list)]
    plain = all(isinstance(item, str) or (isinstance(item, list) and _all_scalar(item)) for _, item in value)
    # Long lists under a name are the name's members, not what is said of it.
    short = sum(map(len, lists)) <= MEANINGS * len(lists)
    data = sum(1 for key, _ in value if not key.isidentifier() or (len(value) > 2 and not key.isascii()))
    return plain and short and data * 2 > len(value)


def _is_map_of_lists(value: Fields) -> bool:
    return any(
        isinstance(inner, list) and not isinstance(inner, Fields) and not _all_scalar(inner)
        for _, item in value
        if isinstance(item, Fields)
        for _, inner in item
    )


def _all_scalar(items: list[object]) -> bool:
    return not any(isinstance(item, list) for item in items)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)
