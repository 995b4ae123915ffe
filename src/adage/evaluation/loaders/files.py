"""Files of records, whatever their format: Parquet, JSON, JSON Lines, CSV and TSV, each record with its place."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from adage.corpus.delimited import sniff_delimiter
from adage.errors import BenchmarkError, CorpusError

SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".json", ".csv", ".tsv")
MAX_BYTES = 1 << 28
"""Bytes of a file, packed or unpacked, beyond which it is no list of questions."""
_KEYS = ("examples", "data", "questions", "items", "rows", "test")
"""Keys under which a JSON object keeps its records."""


class Entry(NamedTuple):
    """One record of a file."""

    place: str
    """`file:line`, or `file#record` where there are no lines."""
    fields: dict[str, object]


def read_entries(file: Path) -> list[Entry]:
    """All records of a file.

    Raises:
        BenchmarkError: It is missing, too large, not sound, or of another format.
    """
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise BenchmarkError(f"{str(file)!r} is of a format that is not read", hint=f"read are: {', '.join(SUFFIXES)}")
    try:
        size = file.stat().st_size
        if size > MAX_BYTES:
            raise BenchmarkError(f"{str(file)!r} has {size:,} bytes; at most {MAX_BYTES:,} are read", hint="split it")
        if suffix == ".parquet":
            return list(_parquet(file))
        content = file.read_bytes()
    except OSError as error:
        raise BenchmarkError(
            f"{str(file)!r} cannot be read: {error.strerror or error}", hint="check the path"
        ) from error
    if content.startswith(b"version https://git-lfs"):
        raise BenchmarkError(f"{str(file)!r} is a Git LFS pointer, not the file itself", hint="fetch it: git lfs pull")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise BenchmarkError(f"{file}:{line}: not UTF-8: {error.reason}", hint="save the file as UTF-8") from error
    if suffix == ".json":
        return list(_json(file, text))
    if suffix in {".csv", ".tsv"}:
        return list(_delimited(file, text, "\t" if suffix == ".tsv" else ""))
    return list(_json_lines(file, text))


def parse_json(text: str, place: str) -> object:
    """What a JSON text says.

    Raises:
        BenchmarkError: It is not JSON, or nested too deeply.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise BenchmarkError(
            f"{place}: not JSON: {error}; found {text[:60]!r}", hint="was it fetched whole?"
        ) from error


def _json(file: Path, text: str) -> Iterator[Entry]:
    found = parse_json(text, str(file))
    if isinstance(found, dict):
        found = next((found[key] for key in _KEYS if isinstance(found.get(key), list)), found)
    if not isinstance(found, list):
        raise BenchmarkError(
            f"{str(file)!r} holds no list of records",
            hint=f"expected a list of objects, by itself or under one of the keys: {', '.join(_KEYS)}",
        )
    for number, record in enumerate(found, 1):
        yield _entry(record, f"{file}#{number}")


def _json_lines(file: Path, text: str) -> Iterator[Entry]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _entry(parse_json(line, f"{file}:{number}"), f"{file}:{number}")


def _entry(record: object, place: str) -> Entry:
    if not isinstance(record, dict):
        raise BenchmarkError(f"{place}: expected an object, found {str(record)[:60]!r}", hint="one object a question")
    return Entry(place, {str(key): value for key, value in record.items()})


def _delimited(file: Path, text: str, delimiter: str) -> Iterator[Entry]:
    line = 1
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or sniff_delimiter(text)[0] or ",")
        head = [name.strip() for name in next(lines, [])]
        if len(set(head)) < len(head):
            twice = next(name for name in head if head.count(name) > 1)
            raise BenchmarkError(f"{file}:1: the column {twice!r} stands twice", hint="rename one of the two")
        line = lines.line_num + 1
        for cells in lines:
            if len(cells) > len(head):
                raise BenchmarkError(
                    f"{file}:{line}: {len(cells)} cells, but the header names {len(head)} columns",
                    hint="put quotation marks around cells that hold the delimiter",
                )
            if any(cell.strip() for cell in cells):
                yield Entry(f"{file}:{line}", dict(zip(head, cells, strict=False)))
            line = lines.line_num + 1
    except (csv.Error, CorpusError) as error:
        raise BenchmarkError(f"{file}:{line}: not a sound table: {error}", hint="save it as CSV again") from error


def _parquet(file: Path) -> Iterator[Entry]:
    try:
        with pq.ParquetFile(file) as table:
            meta = table.metadata
            size = sum(meta.row_group(group).total_byte_size for group in range(meta.num_row_groups))
            if size > MAX_BYTES:
                raise BenchmarkError(f"{str(file)!r} would unpack to {size:,} bytes", hint="split it")
            number = 0
            for batch in table.iter_batches():
                for record in batch.to_pylist():
                    number += 1
                    yield _entry(record, f"{file}#{number}")
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BenchmarkError(f"{str(file)!r} is no sound Parquet file: {error}", hint="fetch it again") from error
