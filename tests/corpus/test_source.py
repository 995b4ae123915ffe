"""Licence and consent come from `corpus.yaml` beside the corpus, and never from a guess."""

from __future__ import annotations

from pathlib import Path

import pytest

from adage.corpus import read, source
from adage.errors import CorpusError
from adage.language import load


def test_unknown_by_default(tmp_path: Path) -> None:
    """Without a description the licence is unknown and nothing may be redistributed."""
    found = source(tmp_path / "c.csv")
    assert (found.id, found.title, found.licence, found.redistribute) == ("c", "c.csv", "unknown", False)


def test_described(tmp_path: Path) -> None:
    """Fields are read for the folder, overridden for a file, then by given keys; `source` is the URL."""
    (tmp_path / "corpus.yaml").write_text(
        "title: Sayings\nsource: https://example.org\nlicence: CC-BY-4.0\nredistribute: true\n"
        "files:\n  old.csv: {licence: unknown, redistribute: false}\n",
        "utf-8",
    )
    new, old = source(tmp_path / "new.csv"), source(tmp_path / "old.csv", {"attribution": "Us"})
    assert (new.id, new.title, new.url, new.licence, new.redistribute) == (
        "new",
        "Sayings",
        "https://example.org",
        "CC-BY-4.0",
        True,
    )
    assert (old.licence, old.redistribute, old.attribution) == ("unknown", False, "Us")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("license: MIT\n", "unknown field 'license'"),
        ("- a\n", "not fields"),
        ("redistribute: perhaps\n", "redistribute"),
        ("a: [\n", "not YAML"),
    ],
)
def test_wrong_description(tmp_path: Path, content: str, message: str) -> None:
    """A field that is misspelt or of the wrong type is an error, not silence."""
    (tmp_path / "corpus.yaml").write_text(content, "utf-8")
    with pytest.raises(CorpusError, match=message):
        source(tmp_path / "c.csv")


def test_rows_carry_the_source(tmp_path: Path) -> None:
    """Every row names its source, from the description or as given."""
    (tmp_path / "corpus.yaml").write_text("id: sayings\n", "utf-8")
    file = tmp_path / "c.txt"
    file.write_text("Look before you leap\nStill waters run deep\n", "utf-8")
    assert {row.source_id for row in read(file, load("en")).rows} == {"sayings"}
    assert {row.source_id for row in read(file, load("en"), source_id="x").rows} == {"x"}
