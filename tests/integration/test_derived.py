"""Languages without a pack: what CLDR knows of them is enough for a benchmark, from a corpus and files by hand."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from babel import Locale

from adage.evaluation.load import load_benchmarks
from adage.language import available, load
from adage.text.scripts import script_share
from workspace import Workspace

THEMES = ("patience", "greed", "unity", "pride", "thrift", "courage")


def words(code: str) -> list[str]:
    """Words in the language's script, from CLDR's names of languages, countries, months and days."""
    locale, pack = Locale.parse(code), load(code)
    names = [*locale.languages.values(), *locale.territories.values(), *locale.months["format"]["wide"].values()]
    found = sorted({word.strip("()་།") for name in names for word in name.split()})
    kept = [word for word in found if len(word) > 3 and script_share(word, pack.scripts) == 1]
    random.Random(3).shuffle(kept)
    return kept


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as JSONL."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def by_hand(folder: Path, code: str) -> Workspace:
    """A recipe that calls no model, with a corpus, themes and scenarios in the language's own words."""
    vocabulary, draw = words(code), random.Random(5)
    half = len(vocabulary) // 2
    ours, theirs = vocabulary[:half], vocabulary[half:]
    folder.mkdir()
    space = Workspace(folder)
    texts = list(dict.fromkeys(" ".join(draw.sample(ours, 3)) for _ in range(36)))
    space.write_corpus([{"text": text, "explanation": " ".join(draw.sample(theirs, 6))} for text in texts])
    write(folder / "themes.jsonl", [{"proverb": text, "theme": THEMES[i % 6]} for i, text in enumerate(texts)])
    unspaced = load(code).segment.words == "runs"
    per_sentence = 4 if unspaced else 11
    stories = [
        {"proverb": text, "text": " ".join(f"{' '.join(draw.sample(theirs, per_sentence))}." for _ in range(4))}
        for text in texts
        for _ in range(2)
    ]
    write(folder / "scenarios.jsonl", stories)
    space.write_recipe(
        {
            "version": 1,
            "name": f"CAPR-{code}",
            "language": code,
            "canary": "00000000-0000-4000-8000-000000000000",
            "corpus": {"file": "proverbs.jsonl"},
            "models": {},
            "encoder": {"kind": "scripted"},
            "cluster": {"k": [3, 6], "themes": "themes.jsonl"},
            "generate": {"scenarios": "scenarios.jsonl"},
            "curate": {"shares": {"test": 1.0}},
        }
    )
    return space


@pytest.mark.parametrize("code", ["ka", "zgh", "lo"])
async def test_a_language_without_a_pack_gets_a_benchmark(tmp_path: Path, code: str) -> None:
    """Georgian, Amazigh in Tifinagh and unspaced Lao: rows come through every stage, in their own script."""
    assert code not in available()
    space = by_hand(tmp_path / "mine", code)
    await space.abuild()
    pack = load(code)
    assert pack.sureness == "derived"
    [table] = (space.run / "benchmark").rglob("test*.parquet")
    items = pq.read_table(table).to_pylist()
    assert len(items) > 30
    for benchmark in load_benchmarks(space.folder):
        for question in benchmark.questions:
            assert len(set(question.options)) == 4
            assert all(script_share(text, pack.scripts) > 0.9 for text in (question.scenario, *question.options))
    dropped = {row["reason"] for row in space.rows("4-filter", "dropped")}
    assert not any(reason.startswith("language") for reason in dropped)
