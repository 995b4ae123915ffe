"""The scripted model behaves as its parameters say: skill, misreadings by role, biases, styles of reply."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import msgspec
import pytest

from adage.errors import BadRequest
from adage.evaluation.ask import read_reply
from adage.evaluation.present import LATIN, Form, order, wording_of
from adage.evaluation.roster import ScriptedEntry
from adage.evaluation.simulated import SimulatedModel
from adage.language import load
from adage.models.base import Message
from adage.models.score import extended
from quiz import benchmark

BENCH = benchmark(400)
FORM = Form(wording_of(BENCH), "letter", template=True)


def model(**script: Any) -> SimulatedModel:
    """A scripted model that knows the benchmark."""
    return SimulatedModel(ScriptedEntry(kind="scripted", **{"name": "s", "skill": 0.0, **script}), [BENCH])


async def choices(fake: SimulatedModel, *, shown: str = "full", rotation: int = 0) -> list[tuple[int, int]]:
    """(place chosen, option chosen) of each question, by letters."""
    form = FORM._replace(shown=shown)
    found = []
    for each in BENCH.questions:
        prompt = extended(form.start(each, 0), form.end(each, rotation))
        (row,) = await fake.letters([prompt], form.continued_labels(4))
        assert sum(math.exp(score) for score in row if score is not None) == pytest.approx(1)
        place = max(range(4), key=lambda at: row[at] or -math.inf)
        found.append((place, order(4, rotation)[place]))
    return found


def right(found: list[tuple[int, int]]) -> float:
    """Share of right choices."""
    return sum(option in each.gold for (_, option), each in zip(found, BENCH.questions, strict=True)) / len(found)


@pytest.mark.parametrize("skill", [0.3, 0.8])
async def test_skill_is_the_share_understood_and_guessing_adds_to_it(skill: float) -> None:
    """Accuracy is skill plus a quarter of the rest; without the scenario, chance is left."""
    fake = model(skill=skill)
    assert right(await choices(fake)) == pytest.approx(skill + (1 - skill) / 4, abs=0.06)
    assert right(await choices(fake, shown="choices_only")) == pytest.approx(0.25, abs=0.06)


async def test_skill_may_differ_by_language() -> None:
    """The language is the benchmark's; `default` is for the others."""
    assert right(await choices(model(skill={"en": 1.0, "default": 0.0}))) == 1.0
    assert right(await choices(model(skill={"ja": 1.0, "default": 0.0}))) < 0.35


async def test_misreadings_keep_to_an_option_in_every_order_and_fall_for_roles() -> None:
    """The same wrong option, by content, in all rotations; shares of the roles follow the weights."""
    fake = model(misreading=1.0, attraction={"near_match": 3.0, "same_cluster": 1.0, "random": 0.0})
    found = [await choices(fake, rotation=rotation) for rotation in range(4)]
    options = [[option for _, option in each] for each in found]
    assert options[0] == options[1] == options[2] == options[3]
    roles = Counter(each.roles[option] for each, option in zip(BENCH.questions, options[0], strict=True))
    assert roles["gold"] == roles["random"] == 0
    assert roles["near_match"] / 400 == pytest.approx(0.75, abs=0.06)


async def test_a_guesser_leans_to_places_or_texts() -> None:
    """A strong position bias picks that place in every order; a strong prior picks the same text in every order."""
    by_place = [await choices(model(position=(0.0, 9.0)), rotation=rotation) for rotation in range(2)]
    assert {place for found in by_place for place, _ in found} == {1}
    by_text = [await choices(model(prior=50.0), rotation=rotation) for rotation in range(2)]
    same = [a == b for (_, a), (_, b) in zip(*by_text, strict=True)]
    assert sum(same) / 400 > 0.97


async def test_texts_are_scored_by_length_and_by_what_it_takes_for_right() -> None:
    """Per byte, the right text wins where it is understood; after the neutral prompt nothing is."""
    fake, form = model(skill=1.0), Form(wording_of(BENCH), "text", template=False)
    for each in BENCH.questions[:20]:
        texts = form.continued_texts(each)
        full = await fake.texts(form.before_text(each, 0), texts)
        alone = await fake.texts(form.before_text(each, 0, neutral=True), texts)
        gains = [score - less for score, less in zip(full, alone, strict=True) if score and less]
        assert gains.index(max(gains)) == each.gold[0]


async def test_replies_have_styles_and_are_read_as_they_are_meant() -> None:
    """Some are unclear, some refuse, as often as the script says; thinking comes first where it thinks."""
    fake = model(skill=1.0, unclear=0.2, refusing=0.1, thinking=True)
    form = Form(wording_of(BENCH), "generate", template=True)
    seen: Counter[str] = Counter()
    for each in BENCH.questions:
        reply = await fake.chat(fake.request(extended(form.start(each, 0), form.end(each, 0)), None))
        status, index = read_reply(reply, each.options, load("en"))
        seen[status] += 1
        assert status != "answered" or index in each.gold
    assert seen["unparsed"] / 400 == pytest.approx(0.2, abs=0.06)
    assert seen["refused"] / 400 == pytest.approx(0.1, abs=0.05)
    assert seen["answered"] == 400 - seen["unparsed"] - seen["refused"]


async def test_its_script_is_its_identity() -> None:
    """Another parameter is another model; a prompt without options is refused."""
    request = (Message(role="user", content="x"),)
    keys = {model(skill=skill).request(request, None).key() for skill in (0.1, 0.2)}
    assert len(keys) == 2
    assert model().request(request, None).family == "scripted"
    with pytest.raises(BadRequest, match="finds no options"):
        await model().chat(model().request(request, None))


def test_the_key_is_no_part_of_what_it_is_asked() -> None:
    """It knows the gold from its benchmarks alone: with another key it gives another answer to the same prompt."""
    other = msgspec.structs.replace(BENCH.questions[0], gold=(1,))
    assert FORM.start(other, 0) == FORM.start(BENCH.questions[0], 0)
    assert FORM.end(other, 0) == FORM.end(BENCH.questions[0], 0)
    assert FORM.labels == LATIN
