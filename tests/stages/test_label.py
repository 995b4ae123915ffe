"""Stage 2a: a label for every proverb, by hand before by model, in one canonical spelling."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.errors import UnparsableReply
from adage.language import load
from adage.models.fake import Rule, ScriptedModel
from adage.records import verify
from adage.stage import Dropped, Kept
from adage.stages.hand import HandTheme
from adage.stages.label import Label, canonical
from material import proverb, run_stage

ROWS = [proverb("A goat"), proverb("The river")]
HAND = {ROWS[0].id: HandTheme(proverb="A goat", theme="Stubbornness!", by="Ana")}


def stage(model=None, *, mode="model", hand=None) -> Label:
    """The stage in English."""
    return Label(mode=mode, model=model, hand=hand or {}, unit="proverb", language=load("en"))


def model(*replies: object) -> ScriptedModel:
    """A model that gives these replies one after the other."""
    left = [reply if isinstance(reply, str) else json.dumps(reply) for reply in replies]
    return ScriptedModel("labeller", lambda _: left.pop(0))


async def test_a_label_by_hand_comes_first_and_saves_the_call():
    """The hand file's label stands, with its author; the model labels the rest."""
    labeller = model({"theme": "Perseverance & Hope."})
    made = stage(labeller, hand=HAND)
    first, second = [outcome.rows[0] for outcome in await run_stage(made, ROWS)]
    assert (first.theme.label, first.theme.by) == ("stubbornness", "Ana")
    assert (second.theme.label, second.theme.by) == ("perseverance and hope", "labeller")
    assert labeller.calls == 1
    assert made.estimate(2).calls == 1
    verify(first)
    verify(second)


async def test_without_labels_or_without_anybody_to_label():
    """`none` labels nothing and asks nobody; with a hand file alone, what it lacks is dropped."""
    outcomes = await run_stage(stage(model(), mode="none"), ROWS)
    assert [outcome.rows[0].theme.label for outcome in outcomes] == ["", ""]
    kept, dropped = await run_stage(stage(hand=HAND), ROWS)
    assert isinstance(kept, Kept)
    assert isinstance(dropped, Dropped)
    assert dropped.reason == "no_theme"
    assert stage(mode="none").estimate(2).calls == 0


@pytest.mark.parametrize("bad", [{"theme": "…"}, {"theme": "x" * 61}, "no JSON here"])
async def test_an_unusable_label_is_asked_for_once_more(bad):
    """An empty or endless label counts as unusable; the second one stands, or the row's error says why."""
    made = stage(model(bad, {"theme": "thrift"}))
    (outcome,) = await run_stage(made, ROWS[:1])
    assert outcome.rows[0].theme.label == "thrift"
    with pytest.raises(UnparsableReply):
        await run_stage(stage(model(bad, bad)), ROWS[:1])


async def test_the_announced_request_is_the_one_that_is_made():
    """What the plan counts is what the stage asks."""
    labeller = ScriptedModel("labeller", [Rule(reply={"theme": "thrift"})])
    asked, chat = [], labeller.chat

    async def spy(request):
        asked.append(request.key())
        return await chat(request)

    labeller.chat = spy
    made = stage(labeller, hand=HAND)
    await run_stage(made, ROWS)
    announced = [request.key() for row in ROWS for request in made.requests(row, made.context(), 0)]
    assert asked == announced
    assert stage(labeller, mode="none").requests(ROWS[0], made.context(), 0) == ()


@given(st.text(max_size=40))
def test_the_canonical_spelling_is_stable(label):
    """Spelling a canonical label again changes nothing, whatever it is made of."""
    assert canonical(canonical(label)) == canonical(label)


@pytest.mark.parametrize(
    ("one", "other"), [("Self-Help", "self-help"), ("hope_and_faith", "Hope & faith"), ("«Thrift».", "thrift")]
)
def test_spellings_of_one_label_meet(one, other):
    """Case, signs and joints do not make another label."""
    assert canonical(one) == canonical(other)


def test_settings_name_all_that_matters():
    """Model, mode and hand file change the fingerprint."""
    made = [stage(), stage(model()), stage(mode="none"), stage(hand=HAND)]
    assert len({str(one.settings()) for one in made}) == 4
