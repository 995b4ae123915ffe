"""From a file of any known format to tables: what it is shows in its content first, in its name second."""

from __future__ import annotations

import gzip
import io
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import regex

from adage.corpus import books
from adage.corpus.decode import Decoded, decode
from adage.corpus.delimited import IsHeader, read_delimited, sniff_delimiter
from adage.corpus.literals import read_literals, read_sql
from adage.corpus.nested import read_json, read_jsonl, read_xml, read_yaml
from adage.corpus.plain import read_lines, read_plain
from adage.corpus.table import Table
from adage.errors import CorpusError
from adage.language import Language

MAX_BYTES = 1 << 30
STREAMED = 1 << 23
"""Bytes above which a file is read line by line, where its format allows."""
HEAD = 1 << 18
"""Bytes (or characters) from which the format of a text is told."""
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


class Request(NamedTuple):
    """What is asked of a file besides its path."""

    language: Language
    is_header: IsHeader
    encoding: str = ""
    delimiter: str = ""
    limit: int = 0
    """Records of a table to stop after, in formats that are read in order; 0 reads all."""


def load(path: Path, ask: Request) -> Content:
    """Read a file into tables.

    Tables of text, JSON Lines and lists above `STREAMED` bytes are read line by line: beside the rows themselves they
    take constant memory.

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
    if (binary := _binary(path, head, ask.is_header)) is not None:
        return binary
    if head.startswith(b"PK\x03\x04"):
        return _archive(path, ask)
    if head.startswith(b"\x1f\x8b"):
        return _gzipped(path, ask)
    _refuse_known(head, name)
    _check_lines(path)
    if size > STREAMED and (streamed := _streamed(path, ask)) is not None:
        return streamed
    decoded = decode(path.read_bytes(), ask.language, encoding=ask.encoding, name=name)
    return _text(decoded, name, ask)


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


def _streamed(path: Path, ask: Request) -> Content | None:
    """The content of a large file in a format that is read line by line and a proved encoding; None for others."""
    with path.open("rb") as stream:
        head = stream.read(HEAD)
    try:
        decoded = decode(head[: head.rfind(b"\n") + 1], ask.language, encoding=ask.encoding, name=path.name)
    except CorpusError:
        return None
    kind, delimiter = _kind(decoded.text, path.name, ask)
    sure = bool(ask.encoding) or decoded.encoding.startswith("utf")
    if not sure or decoded.twice or kind not in {*_LINEWISE, "text"}:
        return None
    if kind == "text" and read_plain(decoded.text).format != "lines":
        return None
    try:
        with path.open(encoding=decoded.encoding, newline="") as text:
            lines = (line.replace("\0", "").removeprefix("\ufeff") for line in text)
            table = _linewise(lines, kind, delimiter, ask)
    except UnicodeDecodeError:
        # Damage, or another encoding after all, which only the whole file can tell.
        return None
    return Content("lines" if kind == "text" else kind, [table], decoded.encoding, decoded.confidence)


def _linewise(lines: Iterable[str], kind: str, delimiter: str, ask: Request) -> Table:
    """The table of a format that is read line by line."""
    if kind == "jsonl":
        return read_jsonl(lines, ask.limit)[0]
    if kind == "text":
        return read_lines(lines, ask.limit)
    return read_delimited(lines, delimiter, is_header=ask.is_header, limit=ask.limit)


_LINEWISE = ("jsonl", "csv", "tsv", "delimited")


def _text(decoded: Decoded, name: str, ask: Request) -> Content:
    """The content of a text that is in memory as a whole."""
    text = decoded.text.replace("\0", "")
    kind, delimiter = _kind(text, name, ask)
    orphans: tuple[str, ...] = ()
    shifted: tuple[str, ...] = ()
    if kind in _LINEWISE:
        # As StringIO splits lines with this argument: at CR, LF and CRLF, not at the other Unicode separators.
        tables = [_linewise(io.StringIO(text, newline=""), kind, delimiter, ask)]
    elif kind == "text":
        kind, table, orphans, shifted = read_plain(text)
        tables = [table]
    else:
        readers: dict[str, Callable[[], list[Table]]] = {
            "source": lambda: read_literals(text),
            "xml": lambda: read_xml(text, name),
            "sql": lambda: read_sql(text),
            "yaml": lambda: read_yaml(text, name),
            "json": lambda: read_json(text, name),
        }
        tables = readers[kind]()
    return Content(kind, tables, decoded.encoding, decoded.confidence, decoded.twice, orphans, shifted)


def _kind(text: str, name: str, ask: Request) -> tuple[str, str]:
    """The format of a text (`text` for one without any) and the delimiter of its cells, from its beginning and name."""
    suffix = Path(name).suffix.lower()
    if ask.delimiter:
        return "delimited", ask.delimiter
    told = {".xml": "xml", ".sql": "sql", ".yaml": "yaml", ".yml": "yaml", ".jsonl": "jsonl", ".ndjson": "jsonl"}
    if suffix in SOURCE_SUFFIXES:
        return "source", ""
    if text.lstrip("\ufeff \r\n\t").startswith("<?xml"):
        return "xml", ""
    if suffix in told:
        return told[suffix], ""
    if _SQL.search(text[:100_000]):
        return "sql", ""
    if _is_jsonl(text):
        return "jsonl", ""
    if suffix in {".json", ".geojson"} or _is_json(text):
        return "json", ""
    found = _delimiter(text, suffix, ask.is_header)
    return ("text", "") if found is None else ({",": "csv", "\t": "tsv"}.get(found, "delimited"), found)


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
    found, share = sniff_delimiter(text[:HEAD])
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


def _archive(path: Path, ask: Request) -> Content:
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
            try:
                target.write_bytes(archive.read(member))
                content = load(target, ask)
            except CorpusError as error:
                unread.append(f"{member.filename}: {error.message}")
                continue
            except books.BROKEN_ZIP as error:
                unread.append(f"{member.filename}: {error}")
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


def _gzipped(path: Path, ask: Request) -> Content:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / (path.stem or "corpus")
        try:
            with gzip.open(path) as stream:
                data = stream.read(books.MAX_UNPACKED // 4 + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise CorpusError(f"{path.name} is not sound gzip: {error}", hint="fetch it again") from None
        if len(data) > books.MAX_UNPACKED // 4:
            raise CorpusError(f"{path.name} unpacks to more than {books.MAX_UNPACKED // 4:,} bytes", hint="split it")
        if data.startswith(b"\x1f\x8b"):
            raise CorpusError(f"{path.name} is gzip within gzip", hint="unpack it first")
        target.write_bytes(data)
        return load(target, ask)
