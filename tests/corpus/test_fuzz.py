"""Damaged files of every format: each is read, or refused with a `CorpusError`; about a minute a group."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zipfile
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adage.corpus import inspect
from adage.errors import CorpusError
from adage.language import load

PAIRS = [
    ("A stitch in time saves nine", 'Mend a "small" fault, before it grows'),
    ("Look before you leap", "Think about what may follow; then act"),
    ("Still waters run deep", "Quiet people may be dangerous"),
]
RECORDS = [{"text": text, "explanation": explanation} for text, explanation in PAIRS]
GROUPS = {
    "tables and lists": {
        "c.csv": "text,explanation\n" + "".join(f'{a},"{b}"\n' for a, b in PAIRS),
        "c.tsv": "text\texplanation\n" + "".join(f"{a}\t{b}\n" for a, b in PAIRS),
        "lines.txt": "1. " + "\n2. ".join(a for a, _ in PAIRS),
        "verses.txt": "Look before\nyou leap\n\nStill waters\nrun deep\n\n",
        "fortunes.txt": "\n%\n".join(a for a, _ in PAIRS),
        "edict.txt": "猿も木から落ちる [さるもきからおちる] /(exp) even monkeys fall from trees/EntL1/\n",
        "openiti.txt": "######OpenITI#\n#META#Header#End#\n### | one saying\n# what it says\n~~more\n# PageV01P001\n",
        "table.md": "| text | explanation |\n|---|---|\n" + "".join(f"| {a} | {b} |\n" for a, b in PAIRS),
        "glossary.txt": "".join(f"{a}: {b} {b}\n" for a, b in PAIRS),
    },
    "data and source": {
        "c.json": json.dumps({"sayings": RECORDS, "n": 1.5, "by": None}),
        "c.jsonl": "".join(json.dumps(record) + "\n" for record in RECORDS),
        "c.yaml": "".join(f"- text: {a}\n  tags: [x, y]\n" for a, _ in PAIRS),
        "c.xml": "<?xml version='1.0'?><l>" + "".join(f"<p id='1'><t>{a}</t> <b>x</b></p>" for a, _ in PAIRS) + "</l>",
        "c.sql": "CREATE TABLE s (text TEXT, m TEXT);\nINSERT INTO s VALUES ('it''s', \"x\"), (NULL, 'b\\'c');\n",
        "c.ts": "export const s: S[] = [{ text: 'Look \\u{61}', m: `b` + 'c' }, new S(1, [2])];",
        "c.kt": 'val s = mapOf("Look before" to P("b", listOf("c")), "d" to null)\ns.add(P("x"))',
    },
}


def binaries(folder: Path) -> dict[str, bytes]:
    """Small sound files of the binary formats."""
    book = openpyxl.Workbook()
    assert book.active is not None
    for record in [("text", "explanation"), *PAIRS]:
        book.active.append(record)
    book.save(folder / "c.xlsx")
    base = sqlite3.connect(folder / "c.db")
    base.execute("CREATE TABLE s (text TEXT, explanation TEXT)")
    base.executemany("INSERT INTO s VALUES (?, ?)", PAIRS)
    base.commit()
    base.close()
    pq.write_table(pa.Table.from_pylist(RECORDS), folder / "c.parquet")
    with zipfile.ZipFile(folder / "c.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        cells = "<table:table-cell table:number-columns-repeated='2'><text:p>Look before</text:p></table:table-cell>"
        rows = f"<table:table-row table:number-rows-repeated='3'>{cells}</table:table-row>"
        spaces = "xmlns:table='t' xmlns:text='x' xmlns:office='o'"
        archive.writestr(
            "content.xml", f"<office:d {spaces}><table:table table:name='s'>{rows}</table:table></office:d>"
        )
    with zipfile.ZipFile(folder / "c.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in/c.csv", GROUPS["tables and lists"]["c.csv"])
    (folder / "c.csv.gz").write_bytes(gzip.compress(GROUPS["tables and lists"]["c.csv"].encode()))
    return {file.name: file.read_bytes() for file in folder.iterdir()}


damage = st.lists(
    st.tuples(
        st.sampled_from(["flip", "cut", "drop", "double", "insert"]),
        st.floats(0, 1, exclude_max=True),
        st.integers(1, 60),
        st.sampled_from(
            [b"\0", b'"', b"\\", b"{" * 30, b"[", b"(" * 60, b"<a ", b"'", b"\xff\xfe", b"\r", b"&x;", b"%\n"]
        ),
    ),
    max_size=6,
)


def damaged(content: bytes, operations: list[tuple[str, float, int, bytes]]) -> bytes:
    """The content after each operation at its relative place."""
    for kind, share, size, extra in operations:
        at = int(share * len(content))
        before, piece, after = content[:at], content[at : at + size], content[at + size :]
        flipped = bytes(byte ^ size for byte in piece)
        middle = {"flip": flipped, "cut": b"", "drop": b"", "double": piece * 2, "insert": extra + piece}
        content = before + middle[kind] + (b"" if kind == "cut" else after)
    return content


def outcome(file: Path, content: bytes) -> None:
    """Inspect a file of this content; the numbers add up, or the error is the documented one."""
    file.write_bytes(content)
    try:
        seen = inspect(file, load("en"))
    except CorpusError:
        return
    assert seen.unique <= seen.records - seen.rejected - seen.repair or seen.verdict == "needs mapping"


FUZZ = settings(max_examples=10_000, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_damaged_text(tmp_path_factory: pytest.TempPathFactory, group: str) -> None:
    """Text formats with bytes flipped, cut, doubled and put in never crash a reader."""
    folder = tmp_path_factory.mktemp("fuzz")

    @FUZZ
    @given(st.sampled_from(sorted(GROUPS[group])), damage)
    def run(name: str, operations: list[tuple[str, float, int, bytes]]) -> None:
        outcome(folder / name, damaged(GROUPS[group][name].encode(), operations))

    run()


@pytest.mark.slow
def test_damaged_binaries(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nor do workbooks, databases, Parquet files and archives."""
    sound = binaries(tmp_path_factory.mktemp("sound"))
    folder = tmp_path_factory.mktemp("fuzz")

    @FUZZ
    @given(st.sampled_from(sorted(sound)), damage)
    def run(name: str, operations: list[tuple[str, float, int, bytes]]) -> None:
        outcome(folder / name, damaged(sound[name], operations))

    run()


@pytest.mark.slow
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Bytes of no format at all, under any name, are a corpus or a `CorpusError`."""
    folder = tmp_path_factory.mktemp("fuzz")
    suffixes = [
        ".csv",
        ".tsv",
        ".txt",
        ".json",
        ".jsonl",
        ".yaml",
        ".xml",
        ".sql",
        ".ts",
        ".db",
        ".xlsx",
        ".zip",
        ".gz",
        "",
    ]

    @FUZZ
    @given(st.one_of(st.binary(max_size=300), st.text(max_size=200).map(str.encode)), st.sampled_from(suffixes))
    def run(content: bytes, suffix: str) -> None:
        outcome(folder / f"c{suffix}", content)

    run()
