"""Proverbs and explanations that stand apart are put together, and nothing else is."""

from __future__ import annotations

import pytest

from adage.corpus.mapping import map_columns
from adage.corpus.relate import explain, spread
from adage.corpus.table import Cell, Row, Table
from adage.language import load

EN = load("en")
SAYINGS = ["Look before you leap", "Still waters run deep", "Many hands make light work"]
MEANINGS = ["Think about it first, then act", "Quiet people may be dangerous", "Shared work is soon done by all"]


def table(name: str, *rows: dict[str, Cell]) -> Table:
    """A table of these rows."""
    made = Table(name)
    for number, cells in enumerate(rows, 1):
        made.add(Row(cells, f"#{name}/{number}"))
    return made


PROVERBS = table("proverbs", *({"id": str(n), "proverb": text} for n, text in enumerate(SAYINGS, 1)))


@pytest.mark.parametrize("column", ["proverb_id", "proverbId", "Proverbs ID"])
def test_referring_explanations(column: str) -> None:
    """Explanations that name their proverb's id are its explanations, several of one proverb included."""
    rows: list[dict[str, Cell]] = [
        {"id": str(9 - n), column: str(n), "meaning": text} for n, text in enumerate(MEANINGS, 1)
    ]
    meanings = table("meanings", *rows, {"id": "1", column: "2", "meaning": "What is still may be deep"})
    joined, mapping, used = explain(PROVERBS, map_columns(PROVERBS, EN), [meanings], EN)
    assert used == "meanings"
    found = [row.cells[mapping.explanations[0]] for row in joined.rows]
    assert found == [(MEANINGS[0],), (MEANINGS[1], "What is still may be deep"), (MEANINGS[2],)]


def test_referring_proverbs() -> None:
    """A proverb may also name the id of its explanation."""
    proverbs = table("sayings", *({"proverb": text, "meaning_id": str(n)} for n, text in enumerate(SAYINGS)))
    meanings = table("meanings", *({"id": str(2 - n), "meaning": text} for n, text in enumerate(MEANINGS)))
    joined, mapping, _ = explain(proverbs, map_columns(proverbs, EN), [meanings], EN)
    assert [row.cells[mapping.explanations[0]] for row in joined.rows] == [(text,) for text in reversed(MEANINGS)]


def test_equal_numbers_are_no_reference() -> None:
    """Two tables that merely number their rows are not joined, nor is one that refers to other ids."""
    numbered = table("meanings", *({"id": str(n), "meaning": text} for n, text in enumerate(MEANINGS, 1)))
    elsewhere = table("notes", *({"proverb_id": str(n), "meaning": text} for n, text in enumerate(MEANINGS, 100)))
    assert explain(PROVERBS, map_columns(PROVERBS, EN), [numbered, elsewhere], EN)[2] == ""


def test_lists_are_spread() -> None:
    """Lists of proverbs become rows; short lists beside an explanation are wordings of one proverb and stay."""
    topics = table("", {"topic": "care", "proverbs": tuple(SAYINGS[:2])}, {"topic": "work", "proverbs": (SAYINGS[2],)})
    assert [row.cells["proverbs"] for row in spread(topics, map_columns(topics, EN)).rows] == SAYINGS
    wordings = table("", *({"proverb": (text, text + " indeed"), "meaning": "It is so"} for text in SAYINGS))
    assert spread(wordings, map_columns(wordings, EN)) is wordings
