"""Every format and layout gives the same rows for the same content, and no record vanishes."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.corpus import Reading, ReadOptions, read
from adage.corpus.formats import Request
from adage.corpus.formats import load as load_tables
from adage.corpus.literals import read_literals, read_sql
from adage.corpus.table import Fields, tables_of
from adage.errors import CorpusError
from adage.language import load

EN, AR, RU = load("en"), load("ar"), load("ru")
PAIRS = [
    ("A stitch in time saves nine", "Mend a small fault before it grows into a large one"),
    ("Look before you leap", "Think about what may follow, then act"),
    ("Still waters run deep", 'Quiet people may be "deep", or dangerous'),
    ("Many hands make light work", "Work that is shared is soon done; nobody tires"),
    ("You can't judge a book by its cover", "What a thing looks like does not tell\nwhat it is worth"),
]
RECORDS = [{"text": text, "explanation": explanation} for text, explanation in PAIRS]
FLAT = [(text, explanation.replace("\n", " ")) for text, explanation in PAIRS]


def delimited(delimiter: str, *, header: bool = True) -> str:
    """The pairs as a text table."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter)
    writer.writerows([["text", "explanation"], *PAIRS] if header else PAIRS)
    return stream.getvalue()


def sql() -> str:
    """The pairs as an SQL script."""
    values = ",\n".join("('{}', '{}')".format(*(cell.replace("'", "''") for cell in pair)) for pair in PAIRS)
    return f"-- sayings\nCREATE TABLE sayings (text TEXT, explanation TEXT);\nINSERT INTO sayings VALUES {values};\n"


def xlsx(path: Path) -> None:
    """Write the pairs as a workbook."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for record in [("text", "explanation"), *PAIRS]:
        sheet.append(record)
    book.save(path)


def ods(path: Path) -> None:
    """Write the pairs as a spreadsheet, padded to a million rows as programs do."""

    def cell(text: str) -> str:
        lines = text.replace("&", "&amp;").split("\n")
        return f"<table:table-cell>{''.join(f'<text:p>{line}</text:p>' for line in lines)}</table:table-cell>"

    rows = "".join(
        f"<table:table-row>{cell(a)}{cell(b)}<table:table-cell table:number-columns-repeated='9999'/></table:table-row>"
        for a, b in [("text", "explanation"), *PAIRS]
    )
    padding = "<table:table-row table:number-rows-repeated='1048000'><table:table-cell/></table:table-row>"
    content = f"<o xmlns:table='t' xmlns:text='x'><table:table table:name='S'>{rows}{padding}</table:table></o>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)


def sqlite(path: Path) -> None:
    """Write the pairs as a database."""
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE sayings (id INTEGER PRIMARY KEY, text TEXT, explanation TEXT)")
    base.executemany("INSERT INTO sayings (text, explanation) VALUES (?, ?)", PAIRS)
    base.commit()
    base.close()


def zipped(path: Path) -> None:
    """Write the pairs as an archive."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/c.json", json.dumps(RECORDS))
        archive.writestr("README.md", "What this is.")


def text_file(content: str) -> Callable[[Path], None]:
    """A writer of this content."""
    return lambda path: path.write_bytes(content.encode()) and None


WRITERS: dict[str, Callable[[Path], None]] = {
    "comma.csv": text_file(delimited(",")),
    "semicolon.csv": text_file(delimited(";")),
    "tab.tsv": text_file(delimited("\t")),
    "tab.txt": text_file(delimited("\t")),
    "pipe.txt": text_file(delimited("|")),
    "bare.csv": text_file(delimited(",", header=False)),
    "list.json": text_file(json.dumps(RECORDS)),
    "lines.jsonl": text_file("".join(json.dumps(record) + "\n" for record in RECORDS)),
    "lines.json": text_file("".join(json.dumps(record) + "\n" for record in RECORDS)),
    "nested.json": text_file(json.dumps({"meta": {"v": 1}, "data": [{"topic": "x", "proverbs": RECORDS}]})),
    "map.json": text_file(json.dumps(dict(PAIRS))),
    "map_of_objects.json": text_file(json.dumps({text: {"meaning": meaning} for text, meaning in PAIRS})),
    "by_letter.json": text_file(json.dumps({"a": RECORDS[:2], "b": RECORDS[2:]})),
    "pairs.json": text_file(json.dumps(PAIRS)),
    "comments.json": text_file("// sayings\n" + json.dumps(RECORDS)[:-1] + ",]"),
    "list.yaml": text_file("".join(f"- text: {json.dumps(a)}\n  explanation: {json.dumps(b)}\n" for a, b in PAIRS)),
    "map.yml": text_file("".join(f"{json.dumps(a)}: {json.dumps(b)}\n" for a, b in PAIRS)),
    "seed.sql": text_file(sql()),
    "data.py": text_file(f"PROVERBS = {RECORDS!r}\n"),
    "data.js": text_file(f"// sayings\nmodule.exports = {json.dumps(RECORDS)};\n"),
    "data.php": text_file(
        "<?php return [" + ", ".join(f"['text' => {a!r}, 'explanation' => {json.dumps(b)}]" for a, b in PAIRS) + "];"
    ),
    "Data.java": text_file(
        "List<P> all = Arrays.asList("
        + ", ".join(f"new Proverb({json.dumps(a)}, {json.dumps(b)})" for a, b in PAIRS)
        + ");"
    ),
    "Add.java": text_file("".join(f"  map.put({json.dumps(a)}, {json.dumps(b)});\n" for a, b in PAIRS)),
    "data.dart": text_file(
        "const all = ["
        + ", ".join(f"Proverb(text: {json.dumps(a)}, meaning: {json.dumps(b)})" for a, b in PAIRS)
        + "];"
    ),
    "list.xml": text_file(
        "<?xml version='1.0'?><list>"
        + "".join(f"<p><text>{a}</text><meaning>{b}</meaning></p>" for a, b in PAIRS)
        + "</list>"
    ),
    "table.md": text_file(
        "# Sayings\n\nAll of them.\n\n| Proverb | Meaning |\n|---|:--|\n" + "".join(f"| {a} | {b} |\n" for a, b in FLAT)
    ),
    "dashes.txt": text_file("".join(f"{a} – {b}\n" for a, b in FLAT)),
    "titled.csv": text_file("Sayings of the valley,\n" + delimited(",")),
    "book.xlsx": xlsx,
    "book.ods": ods,
    "base.db": sqlite,
    "table.parquet": lambda path: pq.write_table(pa.Table.from_pylist(RECORDS), path),
    "all.zip": zipped,
    "list.json.gz": lambda path: path.write_bytes(gzip.compress(json.dumps(RECORDS).encode())) and None,
}


@pytest.mark.parametrize("name", WRITERS)
def test_formats_agree(tmp_path: Path, name: str) -> None:
    """The same proverbs are read from every format, with their explanations, unasked."""
    file = tmp_path / name
    WRITERS[name](file)
    rows = read(file, EN).rows
    assert [(row.text, row.explanations[0]) for row in rows] == FLAT
    assert len({row.place for row in rows}) == len(PAIRS)
    assert [row.number for row in rows] == [1, 2, 3, 4, 5]


def read_text(tmp_path: Path, name: str, content: str, **told: str) -> Reading:
    """Read a file of this content."""
    file = tmp_path / name
    file.write_text(content, "utf-8", newline="")
    return read(file, EN, ReadOptions(**told))


def test_simplest_jsonl(tmp_path: Path) -> None:
    """The project's own form, JSON Lines of text, explanation, gloss and group, keeps all four."""
    line = json.dumps(
        {"text": "Look before you leap", "explanation": "Think before you act", "gloss": "x", "group": "g1"}
    )
    (row,) = read_text(tmp_path, "c.jsonl", line + "\n").rows
    assert (row.text, row.explanations, row.gloss, row.group) == (
        "Look before you leap",
        ("Think before you act",),
        "x",
        "g1",
    )
    assert row.place == "c.jsonl:1"


def test_string_arrays(tmp_path: Path) -> None:
    """The string arrays of an Android application are lists of texts."""
    items = "".join(f"<item>{text}</item>" for text, _ in PAIRS)
    content = f'<?xml version="1.0"?><resources><string-array name="p">{items}</string-array></resources>'
    assert [row.text for row in read_text(tmp_path, "strings.xml", content).rows] == [text for text, _ in PAIRS]


def test_map_without_spaces(tmp_path: Path) -> None:
    """A map of proverbs to explanations is seen in scripts without word spaces, where keys look like names."""
    file = tmp_path / "c.py"
    sayings = {
        "猿も木から落ちる": "名人でも失敗する",
        "石の上にも三年": "続ければ報われる",
        "七転び八起き": "何度でも起きる",
    }
    file.write_text(f"P = {sayings!r}", "utf-8")
    rows = read(file, load("ja")).rows
    assert [(row.text, row.explanations) for row in rows][1] == ("石の上にも三年", ("続ければ報われる",))


def test_numbered_sections(tmp_path: Path) -> None:
    """A numbered list in sections is a list, not a row of verses."""
    content = "1. Look before you leap\n2. More haste, less speed\n\n3. Still waters run deep\n4. Easy come, easy go\n"
    assert len(read_text(tmp_path, "c.txt", content).rows) == 4


def test_repeated_header(tmp_path: Path) -> None:
    """The header of a file that was appended to another is set aside, not taken for a proverb."""
    rows = read_text(tmp_path, "c.csv", delimited(",") + delimited(",")).rows
    assert [row.rejected for row in rows if row.rejected] == ["heading: the header again"]
    assert len(rows) == 2 * len(PAIRS) + 1


def test_title_is_no_row(tmp_path: Path) -> None:
    """A title above the header is no record, but is listed."""
    reading = read_text(tmp_path, "c.csv", "Sayings of the valley,\n" + delimited(","))
    assert [(problem.kind, problem.places) for problem in reading.problems] == [("preamble", ("c.csv:1",))]


def test_quoted_lines(tmp_path: Path) -> None:
    """Quotation marks around every proverb go; those within one stay."""
    content = "“Look before you leap”\n“Still waters run deep”\n“More haste, less speed”\nHe said “no”, then “yes”\n"
    rows = read_text(tmp_path, "c.txt", content).rows
    assert [row.text for row in rows[2:]] == ["More haste, less speed", "He said “no”, then “yes”"]


def test_places(tmp_path: Path) -> None:
    """A row's place is the line its record begins at, also after cells with line breaks."""
    content = 'text,explanation\n"Look before\nyou leap",Think first\nStill waters run deep,Quiet ones\n'
    assert [row.place for row in read_text(tmp_path, "c.csv", content).rows] == ["c.csv:2", "c.csv:4"]


def test_ragged(tmp_path: Path) -> None:
    """Rows with too many or too few cells stay, and are named."""
    content = (
        "text,explanation\nLook before you leap,Think, then act\nStill waters run deep\nMore haste less speed,Slow\n"
    )
    reading = read_text(tmp_path, "c.csv", content)
    assert [row.text for row in reading.rows] == [
        "Look before you leap",
        "Still waters run deep",
        "More haste less speed",
    ]
    assert next(problem for problem in reading.problems if problem.kind == "ragged").places == ("c.csv:2",)


def test_bad_jsonl_line(tmp_path: Path) -> None:
    """A line that is not JSON becomes a rejected row with its place; the others are read."""
    rows = read_text(tmp_path, "c.jsonl", '{"text": "Look before you leap"}\n{"text": "Still wat\n').rows
    assert [(row.place, row.rejected.partition(":")[0]) for row in rows] == [
        ("c.jsonl:1", ""),
        ("c.jsonl:2", "damaged"),
    ]


def test_duplicate_keys_are_kept() -> None:
    """A key that comes twice in an object is two records, as in a map of proverbs to meanings."""
    (table,) = tables_of(Fields([("Look first", "a"), ("Look first", "b")]))
    assert [row.cells["value"] for row in table.rows] == ["a", "b"]


def test_topics(tmp_path: Path) -> None:
    """Lists of texts under topics are all read, not the longest alone."""
    content = json.dumps({"time": [text for text, _ in PAIRS[:3]], "water": [text for text, _ in PAIRS[3:]]})
    assert [row.text for row in read_text(tmp_path, "c.json", content).rows] == [text for text, _ in PAIRS]


@pytest.mark.parametrize("form", ["{}. {}", "{}) {}", "- {1}", "• {1}", "{}\t{}"])
def test_list_marks(tmp_path: Path, form: str) -> None:
    """List numbers and bullets of a plain list are cut."""
    content = "\n".join(form.format(number, text) for number, (text, _) in enumerate(PAIRS, 1))
    assert [row.text for row in read_text(tmp_path, "c.txt", content).rows] == [text for text, _ in PAIRS]


def test_numbers_that_belong(tmp_path: Path) -> None:
    """A number that begins one proverb among others is no list number."""
    content = "2 heads are better than one\nLook before you leap\nStill waters run deep\nMore haste, less speed\n"
    assert read_text(tmp_path, "c.txt", content).rows[0].text == "2 heads are better than one"


def test_commas_in_lines(tmp_path: Path) -> None:
    """A plain list of proverbs, most with a comma, is no table."""
    content = "Least said, soonest mended\nEasy come, easy go\nMore haste, less speed\nOut of sight, out of mind\n"
    reading = read_text(tmp_path, "c.txt", content)
    assert [row.text for row in reading.rows] == content.splitlines()


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends(tmp_path: Path, end: str) -> None:
    """Windows and old Mac line ends give the same rows."""
    content = "text,explanation\nLook before you leap,Think first\nStill waters run deep,Quiet ones\n"
    plain = [(row.text, row.explanations, row.place) for row in read_text(tmp_path, "c.csv", content).rows]
    other = [
        (row.text, row.explanations, row.place) for row in read_text(tmp_path, "c.csv", content.replace("\n", end)).rows
    ]
    assert plain == other


def test_told_columns(tmp_path: Path) -> None:
    """The user's word goes before names and content; a wrong one is answered with the columns there are."""
    content = "a,b,c\nLook before you leap,Think before you act,g1\nStill waters run deep,Quiet ones surprise you,g2\n"
    row = read_text(tmp_path, "c.csv", content, text="a", explanation="b", group="c").rows[0]
    assert (row.text, row.explanations, row.group) == ("Look before you leap", ("Think before you act",), "g1")
    with pytest.raises(CorpusError, match="no column 'text_en'") as caught:
        read_text(tmp_path, "c.csv", content, text="text_en")
    assert "'a', 'b', 'c'" in caught.value.hint


def test_told_table(tmp_path: Path) -> None:
    """`table` chooses among tables; an unknown name is answered with those there are."""
    content = json.dumps({"old": RECORDS[:2], "new": RECORDS[2:]})
    assert len(read_text(tmp_path, "c.json", content, table="new").rows) == 3
    with pytest.raises(CorpusError, match="has no table 'none'"):
        read_text(tmp_path, "c.json", content, table="none")


def test_unclear_columns(tmp_path: Path) -> None:
    """A file without any text in the language asks for the column."""
    file = tmp_path / "c.csv"
    file.write_text("n,m\n1,2\n3,4\n", "utf-8")
    with pytest.raises(CorpusError, match="no column clearly holds proverbs") as caught:
        read(file, AR)
    assert "--text" in caught.value.hint


def test_kotlin_and_swift() -> None:
    """Constructor calls with named arguments, pairs with `to`, and dictionaries in square brackets are records."""
    kotlin = (
        'val m = mapOf<String, P>("Look first" to P(en = "x", am = "y\\n\\"z\\""), "Then leap" to P(en = "v", am = ""))'
    )
    assert read_literals(kotlin)[0].rows[0].cells == {"key": "Look first", "en": "x", "am": 'y\n"z"'}
    swift = 'let a = [["text": "Look first", "tags": ["x", "y"]]]'
    assert read_literals(swift)[0].rows[0].cells == {"text": "Look first", "tags": ("x", "y")}


def test_records_on_one_line(tmp_path: Path) -> None:
    """Records on one line have places of their own."""
    content = "INSERT INTO t (text) VALUES ('Look before you leap'), ('Still waters run deep');"
    assert [row.place for row in read_text(tmp_path, "c.sql", content).rows] == ["c.sql:1", "c.sql:1.2"]


def test_sql_dialects() -> None:
    """Doubled and escaped quotes, quoted and qualified names, NULL, comments and several statements are understood."""
    script = """
    /* INSERT INTO no VALUES ('x'); */
    INSERT INTO `db`.`t` (`a`, b) VALUES ('it''s', NULL), (N'x\\'y', 2);
    insert into "t" (a, b) values ('(a, b)', 'c;d') ON CONFLICT DO NOTHING;
    """
    (table,) = read_sql(script)
    assert [tuple(row.cells.values()) for row in table.rows] == [("it's", ""), ("x'y", "2"), ("(a, b)", "c;d")]


words = st.text(st.sampled_from("abcdefgh"), min_size=3, max_size=8)
sentence = st.lists(words, min_size=2, max_size=6).map(" ".join)
explained = st.lists(words, min_size=7, max_size=14).map(" ".join)
corpora = st.lists(st.tuples(sentence, explained), min_size=2, max_size=12)


@given(
    corpora, st.permutations(["text", "explanation", "id"]), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"])
)
def test_reading_is_invariant(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], order: list[str], encoding: str
) -> None:
    """Encoding, byte order mark, line ends, delimiter and column order do not change what is read; nothing vanishes."""
    folder = tmp_path_factory.mktemp("c")
    records = [{"id": str(number), "text": a, "explanation": b} for number, (a, b) in enumerate(pairs)]
    for delimiter, end in ((",", "\n"), ("\t", "\r\n")):
        stream = io.StringIO()
        writer = csv.DictWriter(stream, order, delimiter=delimiter, lineterminator=end)
        writer.writeheader()
        writer.writerows(records)
        file = folder / "c.csv"
        file.write_bytes(stream.getvalue().encode(encoding))
        rows = read(file, EN).rows
        assert [row.text for row in rows] == [a for a, _ in pairs]
        assert all(not row.explanations or row.explanations == (b,) for row, (_, b) in zip(rows, pairs, strict=True))


@given(
    st.lists(
        st.text(
            st.characters(exclude_characters="\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", codec="utf-8"), max_size=30
        ),
        max_size=15,
    )
)
def test_every_line_is_a_row(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    """Whatever JSON strings hold, there is one row for each, in order."""
    file = tmp_path_factory.mktemp("c") / "c.jsonl"
    file.write_text("".join(json.dumps({"text": line}) + "\n" for line in ["Look before you leap", *lines]), "utf-8")
    rows = read(file, EN, ReadOptions(text="text")).rows
    assert len(rows) == len(lines) + 1
    assert [row.place for row in rows] == [f"c.jsonl:{number}" for number in range(1, len(rows) + 1)]


@given(
    st.binary(max_size=400), st.sampled_from(["c.csv", "c.txt", "c.json", "c.sql", "c.ts", "c.yaml", "c.db", "c.zip"])
)
def test_noise_never_crashes(tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str) -> None:
    """Random bytes are either tables or a `CorpusError`, nothing else."""
    file = tmp_path_factory.mktemp("c") / name
    file.write_bytes(data)
    try:
        content = load_tables(file, Request(RU, lambda heads, body: False))
    except CorpusError:
        return
    assert content.format
