"""From a file of any known format to tables: what it is shows in its content first, in its name second."""

from __future__ import annotations

import gzip
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import regex

from adage.corpus import books
from adage.corpus.decode import Decoded, decode
from adage.corpus.delimited import IsHeader, read_delimited, sniff_delimiter
from adage.corpus.literals import read_literals, read_sql
from adage.corpus.nested import read_json, read_jsonl, read_xml, read_yaml
from adage.corpus.plain import read_plain
from adage.corpus.table import Table
from adage.errors import CorpusError
from adage.language import Language

MAX_BYTES = 1 << 30
MAX_LINE = 1 << 26
"""Bytes without a line break beyond which a text file is refused, so that memory stays bounded."""

SOURCE_SUFFIXES = (
    ".ts",
    ".tsx",
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    ".kt",
    ".kts",
    ".java",
    ".dart",
    ".swift",
    ".py",
    ".php",
    ".json5",
)
TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".psv")
_SKIPPED = regex.compile(r"(^|/)(__MACOSX/|\.[^./]|README|LICEN[CS]E|COPYING|Thumbs\.db)", regex.I)


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds, before anybody asks which column means what."""

    format: str
    tables: list[Table]
    encoding: str = ""
    """Empty for binary formats, which need none."""
    confidence: float = 1.0
    twice: bool = False
    orphans: tuple[str, ...] = ()
    shifted: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    """Members of an archive that could not be read, with the reason."""
    parts: tuple[str, ...] = field(default=())
    """Members of an archive that were read."""


def load(path: Path, language: Language, is_header: IsHeader, *, encoding: str = "", delimiter: str = "") -> Content:
    """Read a file into tables.

    Raises:
        CorpusError: Missing, empty, too large, of an unknown format, or not sound.
    """
    name = path.name
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise CorpusError(f"corpus {str(path)!r} {what}", hint="name one file (an archive of several is fine)")
    size = path.stat().st_size
    if size == 0:
        raise CorpusError(f"{name} is empty", hint="was it downloaded completely?")
    if size > MAX_BYTES:
        raise CorpusError(f"{name} has {size:,} bytes; at most {MAX_BYTES:,} are read", hint="split the file")
    with path.open("rb") as stream:
        head = stream.read(4096)
    if (binary := _binary(path, head, is_header)) is not None:
        return binary
    if head.startswith(b"PK\x03\x04"):
        return _archive(path, language, is_header, encoding=encoding, delimiter=delimiter)
    if head.startswith(b"\x1f\x8b"):
        return _gzipped(path, language, is_header, encoding=encoding, delimiter=delimiter)
    _refuse_known(head, name)
    _check_lines(path)
    decoded = decode(path.read_bytes(), language, encoding=encoding, name=name)
    return _text(decoded, name, is_header, delimiter)


def _binary(path: Path, head: bytes, is_header: IsHeader) -> Content | None:
    name = path.name
    if head.startswith(b"SQLite format 3\0"):
        return Content("sqlite", books.read_sqlite(path, name))
    if head.startswith(b"PAR1"):
        return Content("parquet", books.read_parquet(path, name))
    if head.startswith(b"PK\x03\x04"):
        inside = {member.filename for member in books.check_archive(path, name)}
        if "xl/workbook.xml" in inside:
            return Content("xlsx", books.read_xlsx(path, name, is_header))
        if "content.xml" in inside and "mimetype" in inside:
            return Content("ods", books.read_ods(path, name, is_header))
        if "word/document.xml" in inside or "META-INF/container.xml" in inside:
            raise CorpusError(
                f"{name} is a document, not a table", hint="save its text as plain text, or its table as CSV"
            )
    return None


_KNOWN = {
    b"\xd0\xcf\x11\xe0": ("an old Excel or Word file", "save it as XLSX or CSV"),
    b"%PDF": ("a PDF", "export its table or text first"),
    b"{\\rtf": ("an RTF document", "save it as plain text (UTF-8)"),
    b"<!DOCTYPE html": ("a web page", "export the table or text that it shows"),
    b"<html": ("a web page", "export the table or text that it shows"),
    b"\x7fELF": ("a program", "name the corpus file"),
    b"\x89PNG": ("an image", "name the corpus file"),
    b"\xff\xd8\xff": ("an image", "name the corpus file"),
    b"7z\xbc\xaf": ("a 7-Zip archive", "unpack it first"),
    b"BZh": ("a bzip2 archive", "unpack it first"),
    b"\xfd7zXZ": ("an xz archive", "unpack it first"),
    b"version https://git-lfs": ("a Git LFS pointer, not the file itself", "fetch it with: git lfs pull"),
}


def _refuse_known(head: bytes, name: str) -> None:
    for magic, (what, hint) in _KNOWN.items():
        if head.lstrip(b"\xef\xbb\xbf \r\n").lower().startswith(magic.lower()):
            raise CorpusError(f"{name} is {what}, which is not read", hint=hint)


def _check_lines(path: Path) -> None:
    """Refuse a line longer than `MAX_LINE` before anything of the file is held in memory."""
    run = 0
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            cut = chunk.rfind(b"\n")
            run = run + len(chunk) if cut < 0 else len(chunk) - cut - 1
            if run > MAX_LINE:
                raise CorpusError(
                    f"{path.name} has a line of more than {MAX_LINE:,} bytes",
                    hint="this is no list of proverbs; split it",
                )


def _text(decoded: Decoded, name: str, is_header: IsHeader, delimiter: str) -> Content:
    text = decoded.text.replace("\0", "")
    suffix = Path(name).suffix.lower()
    orphans: tuple[str, ...] = ()
    shifted: tuple[str, ...] = ()
    if delimiter:
        kind, tables = "delimited", [read_delimited(text, delimiter, is_header=is_header)]
    elif suffix in SOURCE_SUFFIXES:
        kind, tables = "source", read_literals(text)
    elif text.lstrip("\ufeff \r\n\t").startswith("<?xml") or suffix == ".xml":
        kind, tables = "xml", read_xml(text, name)
    elif suffix == ".sql" or _SQL.search(text[:100_000]):
        kind, tables = "sql", read_sql(text)
    elif suffix in {".yaml", ".yml"}:
        kind, tables = "yaml", read_yaml(text, name)
    elif suffix in {".jsonl", ".ndjson"} or _is_jsonl(text):
        kind, tables = "jsonl", read_jsonl(text)
    elif suffix in {".json", ".geojson"} or _is_json(text):
        kind, tables = "json", read_json(text, name)
    elif (found := _delimiter(text, suffix, is_header)) is not None:
        kind = {",": "csv", "\t": "tsv"}.get(found, "delimited")
        tables = [read_delimited(text, found, is_header=is_header)]
    else:
        kind, table, orphans, shifted = read_plain(text)
        tables = [table]
    return Content(kind, tables, decoded.encoding, decoded.confidence, decoded.twice, orphans, shifted)


_SQL = regex.compile(r"(?im)^\s*INSERT\s+INTO\s+\S+.*?VALUES", regex.S)


def _is_jsonl(text: str) -> bool:
    lines = [line.strip() for line in text[:20_000].split("\n")][:20]
    lines = [line for line in (lines[:-1] if len(text) > 20_000 else lines) if line]
    objects = sum(1 for line in lines if line.startswith("{") and line.endswith("}"))
    return objects > 1 and objects >= 0.8 * len(lines)


def _is_json(text: str) -> bool:
    stripped = text.strip()
    return (stripped[:1], stripped[-1:]) in {("{", "}"), ("[", "]")} and '"' in stripped[:2000]


def _delimiter(text: str, suffix: str, is_header: IsHeader) -> str | None:
    """The delimiter of a table, None for running text; a name that promises no table needs stronger signs."""
    found, share = sniff_delimiter(text)
    if suffix in TABLE_SUFFIXES:
        usual = {".csv": ",", ".psv": "|"}.get(suffix, "\t")
        return found if found and share >= 0.5 else usual
    if not found or share < 0.95:
        return None
    if found in {"\t", "|", "¦", "\x1f"}:
        return found
    first = text.lstrip().split("\n", 1)[0]
    heads = [cell.strip().strip('"') for cell in first.split(found)]
    return found if is_header(heads, []) else None


def _archive(path: Path, language: Language, is_header: IsHeader, *, encoding: str, delimiter: str) -> Content:
    """The tables of all files in a ZIP archive; archives within it are not opened."""
    tables: list[Table] = []
    unread: list[str] = []
    read: list[Content] = []
    parts: list[str] = []
    members = books.check_archive(path, path.name)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as archive:
        for number, member in enumerate(members):
            if member.is_dir() or _SKIPPED.search(member.filename):
                continue
            if member.filename.lower().endswith((".zip", ".gz")):
                unread.append(f"{member.filename}: an archive within an archive")
                continue
            # The member's own name never becomes a path: it may point outside the folder.
            target = Path(folder) / f"{number}{Path(member.filename).suffix}"
            target.write_bytes(archive.read(member))
            try:
                content = load(target, language, is_header, encoding=encoding, delimiter=delimiter)
            except CorpusError as error:
                unread.append(f"{member.filename}: {error.message}")
                continue
            read.append(content)
            parts.append(member.filename)
            tables.extend(_renamed(table, member.filename) for table in content.tables)
    if not read:
        reasons = "; ".join(unread) or "it holds no files"
        raise CorpusError(f"{path.name} holds nothing that can be read: {reasons}", hint="name the corpus file itself")
    worst = min(read, key=lambda content: content.confidence)
    formats = "+".join(sorted({content.format for content in read}))
    twice = any(content.twice for content in read)
    return Content(
        f"zip of {formats}", tables, worst.encoding, worst.confidence, twice, unread=tuple(unread), parts=tuple(parts)
    )


def _renamed(table: Table, part: str) -> Table:
    """The table with the member's name before its own and before its places."""
    rows = [row._replace(place=f"!{part}{row.place}") for row in table.rows]
    return Table(f"{part}/{table.name}".rstrip("/"), table.columns, rows, table.named)


def _gzipped(path: Path, language: Language, is_header: IsHeader, *, encoding: str, delimiter: str) -> Content:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / (path.stem or "corpus")
        try:
            with gzip.open(path) as stream:
                data = stream.read(books.MAX_UNPACKED // 4 + 1)
        except (OSError, EOFError) as error:
            raise CorpusError(f"{path.name} is not sound gzip: {error}", hint="fetch it again") from None
        if len(data) > books.MAX_UNPACKED // 4:
            raise CorpusError(f"{path.name} unpacks to more than {books.MAX_UNPACKED // 4:,} bytes", hint="split it")
        if data.startswith(b"\x1f\x8b"):
            raise CorpusError(f"{path.name} is gzip within gzip", hint="unpack it first")
        target.write_bytes(data)
        return load(target, language, is_header, encoding=encoding, delimiter=delimiter)
