"""Whole corpora of thousands of rows: every record is there, nearly all are good, and inspecting takes seconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adage.corpus import inspect, read
from adage.language import load

LARGE = Path(__file__).parents[3] / "shared" / "corpora" / "large"
FILES = sorted(LARGE.glob("*.json*")) if LARGE.is_dir() else []

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FILES, reason="shared/corpora/large is not beside the repository"),
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_whole_corpora(file: Path) -> None:
    """One row for each record, with its place; what is set aside is set aside by the file's own word."""
    text = file.read_text("utf-8")
    records = len(json.loads(text)) if file.suffix == ".json" else len(text.splitlines())
    rows = read(file, load(file.name[:2])).rows
    assert len(rows) == records
    assert len({row.place for row in rows}) == records
    other = [row for row in rows if row.rejected and not row.rejected.startswith("not_a_proverb")]
    assert len(other) < 0.001 * records


def test_slipped_book() -> None:
    """In a whole OpenITI book the slipped half is read right: explanations are longer than proverbs, all over."""
    rows = read(LARGE / "ar_maydani.raw.openiti.txt", load("ar")).rows
    pairs = [row for row in rows if row.explanations]
    assert len(rows) > 5500
    assert sum(1 for row in pairs if len(row.explanations[0]) > len(row.text)) > 0.9 * len(pairs)


def test_inspection_of_thousands() -> None:
    """Inspecting, with merging and meaning groups, works on a dictionary of 12,000 entries."""
    seen = inspect(LARGE / "zh_chengyu_first12000.jsonl", load("zh"))
    assert seen.records == 12000
    assert seen.unique > 11900
