"""A shared lesson and a variety travel from a column of the corpus to the published tables and the questions."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from adage.evaluation.load import load_benchmark, load_benchmarks
from endpoint import FakeEndpoint
from workspace import proverbs, workspace

CARRIERS = ("1-acquire", "2b-cluster", "3-generate", "4-filter", "5-distract", "6-validate", "7-curate")


async def test_lesson_and_variety_travel_from_the_corpus_to_the_questions(tmp_path: Path) -> None:
    """Every record on the way carries the lesson of its own proverb, and rows without one look as they always did."""
    async with FakeEndpoint() as endpoint:
        space = workspace(tmp_path / "mine", endpoint.url)
        rows = [
            row | ({"equivalent": f"e{n}", "variety": "en-gb"} if n % 2 else {}) for n, row in enumerate(proverbs(30))
        ]
        space.write_corpus(rows)
        await space.abuild()
    lesson = {row["text"]: row.get("equivalent", "") for row in rows}
    first = {row["id"]: row for row in space.rows("1-acquire")}
    for folder in CARRIERS:
        for row in space.rows(folder):
            of = first[row.get("proverb_id", row["id"])]
            assert row.get("equivalent", "") == lesson[of["text"]]
            assert ("equivalent" in row) == bool(lesson[of["text"]])
    explained = pq.read_table(space.run / "benchmark" / "explanations" / "proverbs.parquet").to_pylist()
    assert {row["text"]: row["equivalent"] or "" for row in explained} == {
        text: lesson[text] for text in (row["text"] for row in explained)
    }
    assert {row["variety"] for row in explained} == {None, "en-GB"}
    assert "| logistic_probe | options |" in (space.run / "benchmark" / "README.md").read_text("utf-8")
    for benchmark in load_benchmarks(space.folder, split="all"):
        assert benchmark.encoder.startswith("scripted")
        for question in benchmark.questions:
            assert question.equivalent == lesson[question.options[question.gold[0]]]


async def test_a_benchmark_without_lessons_has_none(tmp_path: Path) -> None:
    """Nothing is written where the corpus marks nothing."""
    async with FakeEndpoint() as endpoint:
        space = workspace(tmp_path / "mine", endpoint.url, judges=0)
        await space.abuild()
    assert not any("equivalent" in row or "variety" in row for row in space.rows("1-acquire"))
    assert {question.equivalent for question in load_benchmark(space.run).questions} == {""}
