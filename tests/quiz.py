"""A small benchmark, and models behind the journal, for tests of the asking; nobody's texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from adage.evaluation.ask import Candidate
from adage.evaluation.candidates import open_candidate
from adage.evaluation.result import Benchmark, Question
from adage.evaluation.roster import ModelEntry
from adage.models.local import LocalModel
from adage.store.journal import Journal
from adage.store.meter import Meter

ROLES = ("gold", "same_cluster", "near_match", "random")
_SAYINGS = (
    "Slow drops fill the jar", "Two hands lift the beam", "The loud drum is hollow", "Seed first, then bread",
    "A borrowed coat is short", "The well is deep for the hasty", "One lamp lights many", "Wet wood smokes longest",
)  # fmt: skip


def question(number: int, *, n: int = 4, gold: int | None = None) -> Question:
    """A question of `n` options, whose gold stands at place `number % n` unless it is said."""
    at = number % n if gold is None else gold
    roles = [ROLES[1 + place % 3] for place in range(n - 1)]
    roles.insert(at, "gold")
    options = tuple(f"{_SAYINGS[(number + place) % len(_SAYINGS)]}, said {number}" for place in range(n))
    return Question(
        id=f"i{number:03d}",
        scenario=f"At house {number}, the baker waited for the rain to end. Then {number} loaves were sold at once.",
        options=options,
        gold=(at,),
        group=f"g{number // 2}",
        names=tuple(f"p{number}-{place}" for place in range(n)),
        roles=tuple(roles),
    )


def benchmark(size: int = 8, *, language: str = "en", n: int = 4) -> Benchmark:
    """A benchmark of so many questions, two to a meaning group."""
    return Benchmark(name=f"quiz-{language}", language=language, questions=tuple(question(i, n=n) for i in range(size)))


def write(path: Path, size: int = 8, language: str = "en") -> Path:
    """The same questions as a file that `adage evaluate` reads."""
    rows = [
        {
            "id": each.id,
            "language": language,
            "scenario": each.scenario,
            "choices": each.options,
            "answer": each.gold[0],
            "group": each.group,
            "roles": each.roles,
        }
        for each in benchmark(size).questions
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def candidate(entry: ModelEntry, folder: Path, key: Sequence[Benchmark] = (), **options: bool) -> Candidate:
    """The model of a roster's entry, with a journal in `folder`; close `candidate.chat` after use."""
    return open_candidate(entry, Journal(folder / "calls.sqlite"), Meter(), key, **options)


def embedded(name: str, **settings: int) -> LocalModel:
    """An embedded model with a short context."""
    return LocalModel(name, model=name, context=1024, **settings)
