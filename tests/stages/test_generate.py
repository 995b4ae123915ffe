"""Stage 3: scenarios by hand or by model, counted against what was asked for."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

from adage.errors import BadRequest, EndpointUnreachable, StageError, UnparsableReply
from adage.language import load
from adage.models.fake import ScriptedModel
from adage.models.lid import identifier, slip_check
from adage.records import verify
from adage.stage import Dropped, Failed, Kept
from adage.stages.generate import DOMAINS, Generate, likely_story
from adage.stages.hand import HandScenario
from adage.text.segment import length
from material import proverb, run_stage, themed

GOAT = themed("A goat climbs", "stubbornness", 3)
RIVER = themed("The river bends", "patience", 1)


def stage(model=None, *, n=4, per_call=2, hand=None, code="en", **options) -> Generate:
    """Four scenarios, two a call."""
    options |= {"unit": "proverb", "word": "saying", "language": load(code)}
    return Generate(n=n, per_call=per_call, model=model, hand=hand or {}, **options)


def model(reply) -> ScriptedModel:
    """A generator: `reply(number of the call, request)` is a list of stories, a text, or an error to raise."""
    calls = iter(range(99))

    def script(request):
        answer = reply(next(calls), request)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, str) else json.dumps({"scenarios": answer}, ensure_ascii=False)

    return ScriptedModel("writer", script)


async def test_every_proverb_gets_its_scenarios():
    """As many as asked for, each with its proverb's content, its domain and its author."""
    made = stage(model(lambda call, _: [f"Story {call} a.", f"Story {call} b."]))
    (outcome,) = await run_stage(made, [GOAT])
    assert isinstance(outcome, Kept)
    assert (len(outcome.rows), outcome.short) == (4, 0)
    assert [row.domain for row in outcome.rows] == list(DOMAINS[:4])
    for row in outcome.rows:
        verify(row)
        assert (row.proverb_id, row.proverb, row.explanation) == (GOAT.id, GOAT.text, GOAT.explanation)
        assert (row.group, row.cluster, row.by, row.source_id) == (GOAT.group, 3, "writer", "src")


@pytest.mark.parametrize(
    ("stories", "n_made"),
    [(["One."], 2), (["Same.", " Same. "], 1), (["One.", ""], 2), (["1a.", "2a.", "3a.", "4a."], 4)],
)
async def test_what_is_missing_is_short(stories, n_made):
    """Too few, equal or empty stories make the row short; more than asked for are left out."""
    same = stories[0] == "Same."
    made = stage(model(lambda call, _: stories if same else [text and f"{text}{call}" for text in stories]))
    (outcome,) = await run_stage(made, [GOAT])
    assert (len(outcome.rows), outcome.short) == (n_made, 4 - n_made)


async def test_a_call_that_fails_makes_the_row_short_not_failed():
    """One batch is refused or unusable: the other one's stories stay."""
    for fault in (BadRequest("context too long"), "no JSON"):
        made = stage(model(lambda _, request, fault=fault: fault if "1. school" in str(request) else ["One.", "Two."]))
        (outcome,) = await run_stage(made, [GOAT])
        assert (len(outcome.rows), outcome.short) == (2, 2)


async def test_when_no_call_succeeds_the_error_is_raised():
    """The engine then makes the row Failed; a fatal error is raised even when another call succeeded."""
    with pytest.raises(BadRequest):
        await run_stage(stage(model(lambda *_: BadRequest("no"))), [GOAT])
    down = model(lambda call, _: EndpointUnreachable("down") if call else ["One.", "Two."])
    with pytest.raises(EndpointUnreachable):
        await run_stage(stage(down), [GOAT])


async def test_no_scenario_at_all_fails_the_row():
    """Where nothing is left of the replies, the row is tried again in the next run."""
    (outcome,) = await run_stage(stage(model(lambda *_: ["", "One."]), n=1, per_call=1), [GOAT])
    assert isinstance(outcome, Failed)
    assert "One." in outcome.evidence


@pytest.mark.parametrize(
    ("code", "right", "wrong"),
    [
        ("ja", "母は毎朝畑に出た。", "Mother went out every morning."),
        ("ar", "خرجت الأم كل صباح.", "Mother went out every morning."),
        ("am", "እናት በየማለዳው ወጣች።", "خرجت الأم كل صباح."),
    ],
)
async def test_a_reply_in_another_language_is_asked_again_once(code, right, wrong):
    """The second reply stands where it is right; two wrong ones are an error with the reply as evidence."""
    writer = model(lambda call, _: [right if call else wrong])
    (outcome,) = await run_stage(stage(writer, n=1, code=code), [GOAT])
    assert [row.text for row in outcome.rows] == [right]
    assert writer.calls == 2
    with pytest.raises(UnparsableReply, match=f"must be written in {load(code).name}"):
        await run_stage(stage(model(lambda *_: [wrong]), n=1, code=code), [GOAT])


@pytest.mark.parametrize(
    ("code", "right"),
    [
        ("tr", "Çiftçi her sabah kimse uyanmadan önce kanalı açardı. Komşuları ona gülerdi, ama o hiç aldırmazdı."),
        ("id", "Setiap pagi petani itu membuka saluran air sebelum orang lain bangun. Tetangganya menertawakan dia."),
    ],
)
async def test_a_reply_in_the_language_of_the_prompt_is_asked_again_once(code, right):
    """Where the script does not tell, the identifier does; a reply that is English in part is left to the filter."""
    slipped = slip_check(identifier(), load(code))
    wrong = "The farmer opened the channel every morning before anyone else woke up, and his neighbours laughed."
    writer = model(lambda call, _: [right, right] if call else [wrong, wrong])
    (outcome,) = await run_stage(stage(writer, n=1, code=code, slipped=slipped), [GOAT])
    assert [row.text for row in outcome.rows] == [right]
    assert writer.calls == 2
    with pytest.raises(UnparsableReply, match=f"must be written in {load(code).name}"):
        await run_stage(stage(model(lambda *_: [wrong]), n=1, code=code, slipped=slipped), [GOAT])
    mixed = model(lambda *_: [wrong, right])
    await run_stage(stage(mixed, n=2, code=code, slipped=slipped), [GOAT])
    assert mixed.calls == 1


@pytest.mark.parametrize("n", [100, 250, 500, 1000])
async def test_the_language_of_a_long_reply_is_judged_by_all_of_it(n):
    """Letters that alternate with spaces are seen; a beginning in the language does not hide the rest."""
    (outcome,) = await run_stage(stage(model(lambda *_: ["ሰ " * n]), n=1, code="am"), [GOAT])
    assert len(outcome.rows) == 1
    with pytest.raises(UnparsableReply, match="must be written in Amharic"):
        await run_stage(stage(model(lambda *_: ["ሰ" * n + "a" * 2 * n]), n=1, code="am"), [GOAT])


async def test_scenarios_by_hand_replace_the_model():
    """A proverb with scenarios by hand is not asked for, and is never short; without a model the rest is dropped."""
    hand = {GOAT.id: [HandScenario(proverb="x", text=" By hand. ", domain="farm", by="Ana")]}
    writer = model(lambda *_: ["One.", "Two."])
    made = stage(writer, hand=hand, n=2)
    outcomes = await run_stage(made, [GOAT, RIVER])
    assert [(row.text, row.domain, row.by) for row in outcomes[0].rows] == [("By hand.", "farm", "Ana")]
    assert outcomes[0].short == 0
    assert writer.calls == 1
    assert made.requests(GOAT, made.context(), 0) == ()
    assert (made.estimate(2).calls, made.estimate(2).rows) == (1, 3)
    _, dropped = await run_stage(stage(hand=hand), [GOAT, RIVER])
    assert isinstance(dropped, Dropped)
    assert dropped.reason == "no_scenario"
    assert (stage(hand=hand).estimate(2).calls, stage(hand=hand).estimate(2).rows) == (0, 1)


async def test_the_announced_requests_are_those_that_are_made():
    """One a batch, and no two alike."""
    writer = model(lambda call, _: [f"Story {call}.", f"Tale {call}."])
    asked, chat = [], writer.chat

    async def spy(request):
        asked.append(request.key())
        return await chat(request)

    writer.chat = spy
    made = stage(writer, n=5)
    await run_stage(made, [GOAT])
    announced = [request.key() for request in made.requests(GOAT, made.context(), 0)]
    assert asked == announced
    assert len(set(asked)) == 3 == made.estimate(1).calls


async def test_calls_of_one_row_run_side_by_side():
    """Ten scenarios one a call take as long as one."""
    flying = most = 0
    writer = model(lambda *_: ["One."])
    chat = writer.chat

    async def slow(request):
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0)
        flying -= 1
        return await chat(request)

    writer.chat = slow
    await run_stage(stage(writer, n=5, per_call=1), [GOAT])
    assert most == 5


def test_domains_go_round_and_the_pack_may_name_them():
    """More scenarios than domains start over; a pack's names stand in the prompt."""
    assert [len(batch) for batch in stage(n=12, per_call=5)._batches] == [5, 5, 2]
    assert stage(n=12, per_call=12)._batches[0] == [*DOMAINS, *DOMAINS[:2]]
    (prompt,) = stage(n=1, per_call=1, code="ja").prompts(GOAT)
    assert "1. 家庭の暮らし" in prompt[1].content


async def test_a_proverb_without_a_cluster_is_refused():
    """The message says which stage to go back to."""
    made = stage(model(lambda *_: ["One."]))
    with pytest.raises(StageError, match="has not passed the cluster stage"):
        await run_stage(made, [proverb("A goat")])


def test_settings_name_all_that_matters():
    """Numbers, model, hand file, language and words change the fingerprint."""
    made = [stage(), stage(n=5), stage(per_call=3), stage(model(lambda *_: [])), stage(code="ja")]
    made += [stage(slipped=bool, identifier=name) for name in ("one", "other")]
    made.append(stage(hand={"p": [HandScenario(proverb="p", text="x")]}))
    assert len({msgspec.json.encode(one.settings()) for one in made}) == len(made)


@pytest.mark.parametrize("code", ["en", "ja", "ar", "am"])
def test_likely_stories_keep_the_bounds_of_the_language(code):
    """In its own unit, and of its own words, however long or short the text is that they are made of."""
    language = load(code)
    words = language.words.function[:12] if language.segment.words == "unicode" else ("石の上にも三年居る",)
    for text in (" ".join(words), " ".join(words) * 30):
        made = length(likely_story(text, language), language)
        assert language.length.min <= made <= language.length.max


def test_expected_exchanges_are_the_requests_with_a_story_for_each_domain():
    """Plans count the prompts that will be sent, and as many stories as each of them asks for."""
    made = stage(model(lambda *_: []), n=3, per_call=2)
    exchanges = made.exchanges(GOAT)
    requests = made.requests(GOAT, made.context(), 0)
    assert [exchange.messages for exchange in exchanges] == [request.messages for request in requests]
    assert [len(json.loads(exchange.reply)["scenarios"]) for exchange in exchanges] == [2, 1]
