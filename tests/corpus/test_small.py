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


def test_docs_are_current() -> None:
    """`docs/corpora.md` shows what the reader makes of every file; ADAGE_UPDATE_DOCS=1 writes it anew."""
    text = docs_page()
    if os.environ.get("ADAGE_UPDATE_DOCS"):
        DOCS.parent.mkdir(exist_ok=True)
        DOCS.write_text(text, "utf-8")
    assert DOCS.read_text("utf-8") == text


def docs_page() -> str:
    """The page of the documentation that shows every file."""
    rows = []
    for entry in EXPECTED:
        seen = look(entry)
        told = "; ".join([*(f"{problem.kind} {problem.count}" for problem in seen.problems), *seen.warnings])
        encoding = seen.encoding or "–"
        numbers = f"{seen.records} | {seen.rejected} | {seen.unique} | {seen.native_explained}"
        rows.append(f"| {seen.file} | {seen.language} | {seen.format} | {encoding} | {numbers} | {told} |")
    needing = [f"- {name}: {reason}" for name, (_, reason) in MAPPED.items()] or ["None: every file is read as it is."]
    return "\n".join([INTRODUCTION, *rows, "", "## Files whose columns must be named", "", *needing, ""])


INTRODUCTION = """# Corpora: what the reader makes of 41 real files

`adage inspect FILE --language CODE` says what is in a corpus before it is used: how it was read, which column plays
which part, what is wrong and where. Nothing is dropped without a reason: every record is a good row or one set aside.

The table below is written by `tests/corpus/test_small.py` from the reader's own findings on a collection of real files
(`shared/corpora/small`, not part of this repository). *Rejected* counts records that are no proverb of the language;
*distinct* counts proverbs after merging spellings; *explained* those with a usable explanation in their own language.

## What is read

| format | told by |
|---|---|
| CSV, TSV, any one-character delimiter | name, or records of one width; with or without a header |
| JSON, JSON Lines, YAML, XML | content; nested data become tables; YAML aliases and XML document types are refused |
| XLSX, ODS, SQLite, Parquet | first bytes; formulas, links, macros, views and triggers never run |
| SQL INSERT statements; literals in JS, TS, Java, Kotlin, Python, Dart, Swift, PHP | content or name; nothing is run |
| text: a proverb a line (numbered, bulleted, quoted), `proverb – explanation`, verses, Markdown tables | its lines |
| text: `%` fortunes, EDICT, OpenITI mARkdown (also where its marks have slipped by one) | its lines |
| ZIP (of any of these) and gzip | first bytes; bombs are refused |

Encodings: byte order marks, UTF-8 (also encoded twice, or with a few broken bytes), UTF-16 and UTF-32, and the legacy
encodings of the language's scripts. When no reading is clearly right, `--encoding` is asked for: a wrong text is worse
than none.

## Where a corpus comes from

A `corpus.yaml` beside the file gives its source; without one the licence is `unknown`, and texts are not released.

```yaml
title: Proverbs of the valley
url: https://example.org/proverbs
licence: CC-BY-4.0
attribution: The valley's story circle
variety: am-ET
consent: Agreed at the meeting of elders
redistribute: true
files:              # where files differ
  old.csv: {licence: unknown, redistribute: false}
```

## What is found

Rejected, each record with its reason: `empty`; `damaged` (U+FFFD, a line that is not what its format demands);
`wrong_language` (script, or the file's own language column); `not_a_proverb` (the file calls it an idiom); `heading`;
`no_letters`; `repair` (a whole record inside one cell: what is shown is a reading to confirm, counted apart).

| flag | meaning |
|---|---|
| explanation_empty, _placeholder, _equals_text, _damaged | it says nothing; not used |
| explanation_wrong_language | it is in another language; kept as gloss |
| explanation_templated | three rows or more have one frame around their own words; not used |
| explanation_of_another | it quotes another proverb of the file, which keeps it; not used here |
| explanation_shared | several proverbs have it; they form one meaning group |
| explanation_run_on | long, and the next dictionary entry seems to have run into it |
| leak | it quotes its proverb |
| notes_contradict | rows of one proverb have notes with next to no word in common |
| instructions | it speaks to a language model; it stays data |
| control_character, foreign_letters | a character was lost; letters of another script |
| attribution | a line that names the origin was moved out |

Of the file: `preamble`, `ragged`, `other_table`, `unread`, `orphan`, `shifted`, `encoded_twice`; of the merging:
`merged_by_spaces`, `merged_by_marks` (look whether they are one proverb) and `large_group`.

## The files

| file | language | format | encoding | records | rejected | distinct | explained | found |
|---|---|---|---|---|---|---|---|---|"""
