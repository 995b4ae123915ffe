"""The 41 real files of `shared/corpora/small`: each is read as it is, without a word about its columns or encoding."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from adage.corpus import Inspection, ReadOptions, inspect, read
from adage.corpus.decode import decode
from adage.language import Language, load

REPO = Path(__file__).parents[2]
SMALL = REPO.parent / "shared" / "corpora" / "small"
DOCS = REPO / "docs" / "corpora.md"
EXPECTED = json.loads((SMALL / "expected.json").read_text("utf-8")) if SMALL.is_dir() else []
MAPPED: dict[str, tuple[ReadOptions, str]] = {}
"""File → columns given by hand and the reason; for files that cannot be understood alone. None needs it."""

pytestmark = pytest.mark.skipif(not EXPECTED, reason="shared/corpora/small is not beside the repository")


def language_of(entry: dict[str, object]) -> Language:
    """The language that the list of files gives for one."""
    return load(str(entry["lang"]).split(" ", maxsplit=1)[0].split("+", maxsplit=1)[0])


def look(entry: dict[str, object]) -> Inspection:
    """The inspection of one file."""
    options, _ = MAPPED.get(str(entry["file"]), (ReadOptions(), ""))
    return inspect(SMALL / str(entry["file"]), language_of(entry), options)


def named(number: str) -> tuple[Path, Language]:
    """Path and language of the file with this number."""
    entry = next(entry for entry in EXPECTED if entry["file"].startswith(number))
    return SMALL / entry["file"], language_of(entry)


@pytest.mark.parametrize("entry", EXPECTED, ids=lambda entry: entry["file"])
def test_counts(entry: dict[str, object]) -> None:
    """Records, rejected, distinct and explained proverbs are those counted by hand."""
    seen = look(entry)
    found = {
        "records": seen.records,
        "rejected": seen.rejected,
        "unique": seen.unique,
        "native_explained": seen.native_explained,
    }
    assert found == {name: entry[name] for name in found}


@pytest.mark.parametrize("entry", EXPECTED, ids=lambda entry: entry["file"])
def test_nothing_unseen_is_shown(entry: dict[str, object]) -> None:
    """No shown text holds a control, a byte order mark, a soft hyphen, a bidi control or markup."""
    options, _ = MAPPED.get(str(entry["file"]), (ReadOptions(), ""))
    for row in read(SMALL / str(entry["file"]), language_of(entry), options).rows:
        for text in (row.text, *row.explanations):
            assert not set(text) & set("\n\r\t\u00a0\u00ad\u200e\u200f\u202b\ufeff\x92\x8e"), (row.place, text)
            assert not any(mark in text for mark in ("{{", "[[", "</")), (row.place, text)


@pytest.mark.parametrize(
    ("number", "encoding"), [("09", "cp1256"), ("14", "euc_jp"), ("19", "cp932"), ("38", "utf-16"), ("02", "utf-8-sig")]
)
def test_encodings(number: str, encoding: str) -> None:
    """Legacy encodings are found by the language's scripts alone, without replacement characters."""
    path, language = named(number)
    decoded = decode(path.read_bytes(), language)
    assert decoded.encoding == encoding
    assert "\ufffd" not in decoded.text


@pytest.mark.parametrize(
    ("number", "flag", "count"),
    [
        ("01", "explanation_placeholder", 3),
        ("01", "explanation_equals_text", 1),
        ("02", "leak", 3),
        ("07", "wrong_language", 6),
        ("13", "explanation_of_another", 1),
        ("15", "leak", 16),
        ("20", "not_a_proverb", 4),
        ("23", "explanation_shared", 9),
        ("24", "explanation_run_on", 2),
        ("25", "explanation_shared", 3),
        ("26", "damaged", 8),
        ("31", "no_letters", 3),
        ("31", "repair", 1),
        ("36", "control_character", 1),
        ("40", "explanation_templated", 5),
        ("41", "orphan", 1),
    ],
)
def test_problems(number: str, flag: str, count: int) -> None:
    """What is wrong with a file is named, counted and placed."""
    path, language = named(number)
    problem = next(problem for problem in inspect(path, language).problems if problem.kind == flag)
    assert problem.count == count
    assert all(place.startswith(path.name) for place in problem.places)


def test_shift_warns() -> None:
    """Headings that hold the explanation of the proverb before them are put right, with a warning."""
    path, language = named("41")
    reading = read(path, language)
    assert any("shifted by one" in warning for warning in reading.warnings)
    shorter = [len(row.text) < len(row.explanations[0]) for row in reading.rows if row.explanations]
    assert sum(shorter) > 0.9 * len(shorter)


def test_foreign_origin_warns() -> None:
    """A corpus of translated foreign proverbs is usable, but says so."""
    path, language = named("34")
    assert any("not native" in warning for warning in read(path, language).warnings)


def test_joiners_follow_the_script() -> None:
    """ZWNJ stays in Dari and goes from Yoruba."""
    dari, yoruba = named("33"), named("31")
    assert sum(row.text.count("\u200c") for row in read(*dari).rows) == dari[0].read_text("utf-8").count("\u200c") > 0
    assert not any("\u200c" in row.text for row in read(*yoruba).rows)


def test_display_keeps_letters() -> None:
    """Folding is for keys: the Uzbek ‘, the full-width dash and Amharic homophones are shown as written."""
    assert any("‘" in row.text for row in read(*named("32")).rows)
    assert any("－" in row.text for row in read(*named("36")).rows)
    assert any("ዐ" in row.text for row in read(*named("11")).rows)


def test_lost_apostrophe_is_mended() -> None:
    """U+0092, left over from cp1252, becomes the apostrophe that it was."""
    source, language = named("23")
    assert not any("\x92" in row.text for row in read(source, language).rows)


def test_conflicting_notes() -> None:
    """Rows of one proverb whose notes contradict each other are flagged, agreeing ones are not."""
    flagged = {row.text for row in read(*named("35")).rows if "notes_contradict" in row.flags}
    assert {text[:3] for text in flagged} >= {"ఆవు", "ఇల్"}
    assert len(flagged) < 7


HEADING = "| file | language | format | encoding | records | rejected | distinct | explained | found |"


def test_docs_are_current() -> None:
    """The table in `docs/corpora.md` is what the reader makes of every file; ADAGE_UPDATE_DOCS=1 writes it anew."""
    page = DOCS.read_text("utf-8")
    before, _, rest = page.partition(HEADING)
    after = rest.partition("\n\n")[2]
    current = f"{before}{HEADING}\n{'|---' * 9}|\n{outcomes()}\n\n{after}"
    if os.environ.get("ADAGE_UPDATE_DOCS"):
        DOCS.write_text(current, "utf-8")
    assert DOCS.read_text("utf-8") == current


def outcomes() -> str:
    """The rows of the table."""
    rows = []
    for entry in EXPECTED:
        seen = look(entry)
        told = "; ".join([*(f"{problem.kind} {problem.count}" for problem in seen.problems), *seen.warnings])
        numbers = f"{seen.records} | {seen.rejected} | {seen.unique} | {seen.native_explained}"
        rows.append(f"| {seen.file} | {seen.language} | {seen.format} | {seen.encoding or '–'} | {numbers} | {told} |")
    return "\n".join(rows)
