"""Workbooks and databases: XLSX, ODS, SQLite, Parquet. Formulas, links and macros are never followed or run."""

from __future__ import annotations

import sqlite3
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO
from xml.parsers import expat

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

from adage.corpus.delimited import IsHeader, table_of_records
from adage.corpus.table import Fields, Row, Table, tables_of
from adage.errors import CorpusError

MAX_COLUMNS = 500
MAX_REPEATS = 1000
"""Copies of one spreadsheet row that are believed."""
MAX_UNPACKED = 1 << 30
"""Bytes that an archive may unpack to."""
BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, RuntimeError, OSError, EOFError)
"""What the standard library raises when a member of an archive is damaged, or packed in a way it does not know."""
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
    except BROKEN_ZIP as error:
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
    tables: list[Table] = []
    try:
        with zipfile.ZipFile(path) as archive:
            for member in members:
                if member.filename.endswith((".xml", ".rels")):
                    with archive.open(member) as stream:
                        _refuse_doctype(stream, name)
        with warnings.catch_warnings(action="ignore"):
            book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
            with closing(book):
                for sheet in book.worksheets:
                    sheet.reset_dimensions()
                    rows = enumerate(sheet.iter_rows(values_only=True, max_col=MAX_COLUMNS), 1)
                    records = [([_value(cell) for cell in row], number) for number, row in rows]
                    tables.extend(_sheet(records, sheet.title, is_header))
    except (TypeError, AttributeError, LookupError, SyntaxError, *BROKEN_ZIP) as error:
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
    except (expat.ExpatError, *BROKEN_ZIP) as error:
        raise CorpusError(f"{name} is not a sound spreadsheet: {error}", hint="save it again as ODS or CSV") from None
    return [table for title, records in sheets for table in _sheet(records, title, is_header)]


Sheet = tuple[str, list[tuple[list[str], int]]]
"""Title of a sheet, and its rows as (cells, row number)."""


class _OdsReader:
    """Collects the sheets of an OpenDocument `content.xml` from expat's events; repeats are bounded."""

    def __init__(self) -> None:
        self.sheets: list[Sheet] = []
        self._row: list[str] = []
        self._cell: list[str] = []
        self._number = 0
        self._row_repeat = self._cell_repeat = 1
        self._in_text = self._in_note = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element opens."""
        if tag == "table:table":
            self.sheets.append((attributes.get("table:name", ""), []))
            self._number = 0
        elif tag == "table:table-row":
            self._row = []
            self._row_repeat = int(attributes.get("table:number-rows-repeated", "1"))
        elif tag in _ODS_CELLS:
            self._cell = []
            self._cell_repeat = int(attributes.get("table:number-columns-repeated", "1"))
        elif tag == "office:annotation":
            self._in_note += 1
        elif tag == "text:p":
            self._in_text += 1
            self.text("\n" if self._cell else "")
        elif tag in {"text:s", "text:tab", "text:line-break"}:
            self.text("\n" if tag == "text:line-break" else " ")

    def end(self, tag: str) -> None:
        """An element closes."""
        if tag == "text:p":
            self._in_text -= 1
        elif tag == "office:annotation":
            self._in_note -= 1
        elif tag in _ODS_CELLS:
            self._row.extend(["".join(self._cell)] * min(self._cell_repeat, MAX_COLUMNS - len(self._row)))
        elif tag == "table:table-row" and self.sheets:
            copies = min(self._row_repeat, MAX_REPEATS) if any(text.strip() for text in self._row) else 0
            self.sheets[-1][1].extend((self._row, self._number + copy) for copy in range(1, copies + 1))
            self._number += self._row_repeat

    def text(self, text: str) -> None:
        """Characters; those of notes are no cell's."""
        if self._in_text and not self._in_note and text:
            self._cell.append(text)


_ODS_CELLS = {"table:table-cell", "table:covered-table-cell"}


def _ods_sheets(stream: IO[bytes]) -> list[Sheet]:
    reader = _OdsReader()
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.text
    parser.ParseFile(stream)
    return reader.sheets


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
                quoted = title.replace('"', '""')
                # An identifier cannot be a bound parameter; quoted like this it is only ever a name.
                cursor = base.execute(f'SELECT * FROM "{quoted}"')  # noqa: S608
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
    """The tables of a Parquet file; nested columns read as in JSON.

    Raises:
        CorpusError: Not a sound Parquet file.
    """
    records: list[object] = []
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches():
                records.extend(_plain(record) for record in batch.to_pylist())
    except (pa.ArrowException, OSError, ValueError) as error:  # a column name that is not UTF-8 is a ValueError
        raise CorpusError(f"{name} is not a sound Parquet file: {error}", hint="write it again, or as CSV") from None
    return tables_of(records)


def _plain(value: object) -> object:
    """Arrow's dicts as `Fields`, so that nested columns read as in JSON."""
    if isinstance(value, dict):
        return Fields((str(key), _plain(item)) for key, item in value.items())
    return [_plain(item) for item in value] if isinstance(value, list) else value
