"""The controls of any benchmark: those of our own are the build's, and foreign ones may lack much."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from adage.analysis.benchmark_controls import benchmark_controls
from adage.analysis.controls import Control
from adage.analysis.leaks import option_controls
from adage.evaluation.result import Benchmark, Question
from adage.models.fake import ScriptedEmbedder
from material import TableEmbedder, item, proverb

POOL = [proverb(f"Proverb {n}" + "!" * n, explanation=f"Lesson {n}") for n in range(9)]
PROVERBS = {one.id: one for one in POOL}


def ask(options: tuple[str, ...], gold: tuple[int, ...], **fields: Any) -> Question:
    """A question, its gold's text its group."""
    filled = {"id": f"{options}{gold}", "scenario": "S.", "group": options[gold[0]], **fields}
    return Question(options=options, gold=gold, **filled)


async def controls(*questions: Question, encoder: Any = None) -> dict[str, Control]:
    """Controls by name."""
    benchmark = Benchmark(name="b", language="en", questions=questions)
    found = await benchmark_controls(benchmark, encoder or ScriptedEmbedder(8))
    assert len({one.name for one in found}) == len(found)
    return {one.name: one for one in found}


async def test_our_own_benchmark_has_the_controls_of_its_build() -> None:
    """Read back as questions, the items give the numbers that the card prints, but for the space of explanations."""
    rows = [item(f"Story {n}.", POOL[n], [POOL[(n + k) % 9] for k in (1, 2, 4)]) for n in range(9)]
    questions = tuple(
        Question(
            id=row.id,
            scenario=row.scenario,
            options=tuple(option.text for option in row.options),
            gold=(row.answer,),
            group=row.group,
            names=tuple(option.proverb_id for option in row.options),
            clusters=tuple(option.cluster for option in row.options),
        )
        for row in rows
    )
    built = (await option_controls(rows, PROVERBS, ScriptedEmbedder(8)))["balanced"]
    found = await controls(*questions, encoder=ScriptedEmbedder(8))
    same = {one.name: one for one in built if one.space not in {"meaning", "options"}}
    same["nearest_embedding"] = same["nearest_embedding"]._replace(circular=False)
    assert same.keys() | {"logistic_probe"} == found.keys()
    assert {name: found[name] for name in same} == same


async def test_several_right_options_and_sizes() -> None:
    """Any right option is a hit, absent options are never guessed, and chance is the mean share of right ones."""
    found = await controls(
        ask(("a", "bb", "ccc"), (1, 2)),
        ask(("a", "dddd"), (0,)),
        ask(("a", "bb", "ccc", "eeeee"), (3,)),
    )
    assert found["longest"].accuracy == pytest.approx((1 + 0 + 1) / 3)
    # "a" is an option of all three, of "bb" and "ccc" two questions have each.
    assert found["most_frequent"].accuracy == pytest.approx((0 + 1 + 0) / 3)
    assert found["longest"].chance == pytest.approx((2 / 3 + 1 / 2 + 1 / 4) / 3)
    assert found["longest"].n == found["longest"].clusters == 3
    assert "theme_pair" not in found


async def test_vectors_by_hand() -> None:
    """Closest pair, medoid, outlier and nearest embedding on a circle, with an option fewer in the second question."""
    table = {"a": [1, 0], "b": [0.9, 0.1], "c": [0, 1], "d": [-1, 0], "S.": [-1, 0.1], "T.": [0, 1]}
    questions = (ask(("a", "b", "c", "d"), (3,)), ask(("c", "b", "a"), (0,), scenario="T."))
    found = await controls(*questions, encoder=TableEmbedder(table, 2))
    got = {name: found[name].accuracy for name in ("closest_pair", "medoid", "outlier", "nearest_embedding")}
    assert got == {"closest_pair": 0.0, "medoid": 0.0, "outlier": 1.0, "nearest_embedding": 1.0}


@pytest.mark.parametrize(("encoder", "circular"), [("scripted:8", True), ("other", False), ("", False)])
async def test_the_nearest_embedding_is_circular_with_the_builds_encoder(encoder: str, circular: bool) -> None:
    """Options that were chosen with an encoder are not to be judged by it."""
    made_with = Benchmark(
        name="b", language="en", encoder=encoder, questions=(ask(("a", "b"), (0,)), ask(("c", "b"), (0,)))
    )
    found = {one.name: one.circular for one in await benchmark_controls(made_with, ScriptedEmbedder(8))}
    assert found.pop("nearest_embedding") is circular
    assert not any(found.values())


async def test_controls_go_to_json_and_back() -> None:
    """What is written into a results folder is read again as it was."""
    found = list((await controls(ask(("a", "b"), (0,)), ask(("c", "b"), (1,)))).values())
    assert msgspec.json.decode(msgspec.json.encode(found), type=list[Control]) == found


async def test_one_question_is_enough() -> None:
    """A single question has controls without an interval, and no probe."""
    found = await controls(ask(("a", "bb"), (1,)))
    assert found["longest"].accuracy == 1.0
    assert "logistic_probe" not in found
