"""Workbooks and databases: XLSX, ODS, SQLite, Parquet. Formulas, links and macros are never followed or run."""

from __future__ import annotations

import sqlite3
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO
from xml.parsers import expat

import openpyxl
import pyarrow
import pyarrow.parquet

from adage.corpus.delimited import table_of_records
from adage.corpus.table import Cell, Row, Table
from adage.errors import CorpusError

IsHeader = Callable[[list[str], list[list[str]]], bool]
MAX_COLUMNS = 500
MAX_UNPACKED = 1 << 30
"""Bytes that an archive may unpack to."""
MAX_RATIO = 200
"""Packing ratio above which a member larger than 16 MiB is taken for a bomb."""


def check_archive(path: Path | IO[bytes], name: str) -> list[zipfile.ZipInfo]:
    """The members of a ZIP archive, after a look at their sizes.

    Raises:
        CorpusError: Not an archive, encrypted, or it would unpack to more than `MAX_UNPACKED`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError) as error:
        raise CorpusError(f"{name} is not a sound ZIP archive: {error}", hint="fetch or pack it again") from None
    total = sum(member.file_size for member in members)
    bombs = [m for m in members if m.file_size > 1 << 24 and m.file_size > MAX_RATIO * max(1, m.compress_size)]
    if total > MAX_UNPACKED or bombs:
        what = bombs[0].filename if bombs else name
        raise CorpusError(f"{name}: {what!r} would unpack to {total:,} bytes", hint="this looks like a ZIP bomb")
    if any(member.flag_bits & 1 for member in members):
        raise CorpusError(f"{name} is encrypted", hint="unpack it with its password first")
    return members


class _Elements(Exception):
    """The document's first element was reached: its prologue held nothing forbidden."""


def _refuse_doctype(stream: IO[bytes], name: str) -> None:
    """Raise `CorpusError` if an XML document declares a document type, the door to entity expansion."""
    parser = expat.ParserCreate()

    def doctype(*_: object) -> None:
        raise CorpusError(f"{name} holds XML with a document type", hint="save the workbook again from its program")

    def element(*_: object) -> None:
        raise _Elements

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = element
    try:
        while chunk := stream.read(1 << 16):
            parser.Parse(chunk)
    except _Elements:
        return
    except expat.ExpatError as error:
        raise CorpusError(f"{name} holds broken XML: {error}", hint="save the workbook again") from None


def read_xlsx(path: Path, name: str, is_header: IsHeader) -> list[Table]:
    """One table per worksheet that has cells; of formulas the stored results are taken.

    Raises:
        CorpusError: Not a sound workbook, or one that looks like an attack.
    """
    members = check_archive(path, name)
    with zipfile.ZipFile(path) as archive:
        for member in members:
            if member.filename.endswith((".xml", ".rels")):
                with archive.open(member) as stream:
                    _refuse_doctype(stream, name)
    tables: list[Table] = []
    try:
        with warnings.catch_warnings(action="ignore"):
            book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
            with closing(book):
                for sheet in book.worksheets:
                    sheet.reset_dimensions()
                    rows = enumerate(sheet.iter_rows(values_only=True, max_col=MAX_COLUMNS), 1)
                    records = [([_value(cell) for cell in row], number) for number, row in rows]
                    tables.extend(_sheet(records, sheet.title, is_header))
    except (KeyError, ValueError, TypeError, AttributeError, OSError, IndexError, SyntaxError) as error:
        raise CorpusError(f"{name} is not a sound workbook: {error}", hint="save it again as XLSX or CSV") from None
    return tables


def _sheet(records: list[tuple[list[str], int]], title: str, is_header: IsHeader) -> Iterator[Table]:
    filled = [(cells, number) for cells, number in records if any(cell.strip() for cell in cells)]
    if not filled:
        return
    width = max(max(i for i, cell in enumerate(cells, 1) if cell.strip()) for cells, _ in filled)
    padded = [((cells + [""] * width)[:width], number) for cells, number in filled]
    yield table_of_records(padded, is_header=is_header, name=title)


def _value(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def read_ods(path: Path, name: str, is_header: IsHeader) -> list[Table]:
    """One table per sheet of an OpenDocument spreadsheet.

    Raises:
        CorpusError: Not a sound spreadsheet, or one that looks like an attack.
    """
    check_archive(path, name)
    try:
        with zipfile.ZipFile(path) as archive:
            with archive.open("content.xml") as stream:
                _refuse_doctype(stream, name)
            with archive.open("content.xml") as stream:
                sheets = _ods_sheets(stream)
    except KeyError:
        raise CorpusError(f"{name} has no content.xml", hint="save it again as ODS or CSV") from None
    except expat.ExpatError as error:
        raise CorpusError(f"{name} holds broken XML: {error}", hint="save it again as ODS or CSV") from None
    return [table for title, records in sheets for table in _sheet(records, title, is_header)]


def _ods_sheets(stream: IO[bytes]) -> list[tuple[str, list[tuple[list[str], int]]]]:
    """Sheets as (title, [(cells, row number)]), streamed; repeated cells are bounded by `MAX_COLUMNS`."""
    sheets: list[tuple[str, list[tuple[list[str], int]]]] = []
    row: list[str] = []
    cell: list[str] = []
    state = {"number": 0, "repeat": 1, "rows": 1, "in_text": 0, "annotation": 0}

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "table:table":
            sheets.append((attributes.get("table:name", ""), []))
            state["number"] = 0
        elif tag == "table:table-row":
            row.clear()
            state["rows"] = int(attributes.get("table:number-rows-repeated", "1"))
        elif tag in {"table:table-cell", "table:covered-table-cell"}:
            cell.clear()
            state["repeat"] = int(attributes.get("table:number-columns-repeated", "1"))
        elif tag == "office:annotation":
            state["annotation"] += 1
        elif tag == "text:p":
            state["in_text"] += 1
            if cell and not state["annotation"]:
                cell.append("\n")
        elif tag in {"text:s", "text:tab", "text:line-break"} and state["in_text"] and not state["annotation"]:
            cell.append("\n" if tag == "text:line-break" else " ")

    def end(tag: str) -> None:
        if tag == "text:p":
            state["in_text"] -= 1
        elif tag == "office:annotation":
            state["annotation"] -= 1
        elif tag in {"table:table-cell", "table:covered-table-cell"}:
            row.extend(["".join(cell)] * min(state["repeat"], MAX_COLUMNS - len(row)))
        elif tag == "table:table-row" and sheets:
            state["number"] += 1
            filled = any(text.strip() for text in row)
            copies = min(state["rows"], 1000) if filled else 1
            sheets[-1][1].extend((list(row), state["number"] + copy) for copy in range(copies))
            state["number"] += state["rows"] - 1

    def data(text: str) -> None:
        if state["in_text"] and not state["annotation"]:
            cell.append(text)

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, data
    parser.ParseFile(stream)
    return sheets


def read_sqlite(path: Path, name: str) -> list[Table]:
    """One table per table of an SQLite database, which is opened unchangeable; views and triggers do not run.

    Raises:
        CorpusError: Not a sound database.
    """
    tables: list[Table] = []
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as base:
            base.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
            base.execute("PRAGMA trusted_schema = OFF")
            query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            for (title,) in base.execute(query).fetchall():
                cursor = base.execute(f'SELECT * FROM "{title.replace(chr(34), chr(34) * 2)}"')
                columns = [column[0] for column in cursor.description]
                table = Table(title, columns)
                for number, values in enumerate(cursor, 1):
                    texts = [value.hex() if isinstance(value, bytes) else _value(value) for value in values]
                    table.add(Row(dict(zip(columns, texts, strict=True)), f"#{title}/{number}"))
                tables.append(table)
    except sqlite3.Error as error:
        raise CorpusError(f"{name} is not a sound SQLite database: {error}", hint="dump it as CSV or SQL") from None
    return tables


def read_parquet(path: Path, name: str) -> list[Table]:
    """The table of a Parquet file; nested columns become lists of texts or their JSON-like text.

    Raises:
        CorpusError: Not a sound Parquet file.
    """
    table = Table("")
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches():
                for record in batch.to_pylist():
                    cells: dict[str, Cell] = {}
                    for key, value in record.items():
                        cells[key] = tuple(map(_value, value)) if isinstance(value, list) else _value(value)
                    table.add(Row(cells, f"#{len(table.rows) + 1}"))
    except (pyarrow.ArrowException, OSError) as error:
        raise CorpusError(f"{name} is not a sound Parquet file: {error}", hint="write it again, or as CSV") from None
    return [table]
