"""A build's budget: calls, tokens and money of all models together, and a stop before a limit is passed."""

import asyncio

import pytest

from adage.errors import EndpointBusy, LimitReached
from adage.models.base import ChatReply, Message
from adage.models.fake import ScriptedModel
from adage.recipe import Budget, Price
from adage.store.journal import Journal
from adage.store.meter import FREE, Meter
from adage.store.recorded import RecordedChat

PRICE = Price(input_usd=1_000_000, output_usd=2_000_000)
"""A dollar a prompt token, two a reply token."""


class SlowModel(ScriptedModel):
    """A scripted model that takes a moment."""

    async def chat(self, request):
        """The script's answer, a little later."""
        await asyncio.sleep(0.02)
        return await super().chat(request)


def answer(request):
    """Three tokens asked, two answered."""
    if request.messages[-1].content == "fail":
        raise EndpointBusy("busy")
    return ChatReply(text="yes", prompt_tokens=3, completion_tokens=2, cached_tokens=1)


@pytest.fixture
def journal(tmp_path):
    """An empty journal."""
    with Journal(tmp_path / "calls.sqlite") as journal:
        yield journal


def asked(model, text):
    """A request with one user message."""
    return model.request([Message(role="user", content=str(text))], None)


async def spend(model, n, first=0):
    """Ask `n` times, one after the other; how many were answered before the budget ended."""
    for i in range(n):
        try:
            await model.chat(asked(model, first + i))
        except LimitReached:
            return i
    return n


@pytest.mark.parametrize(
    ("budget", "answered", "said"),
    [
        (Budget(calls=7), 7, "7 of 7 calls"),
        (Budget(tokens=34), 7, "35 of 34 tokens"),
        (Budget(usd=34.5), 5, r"35\.0 of 34\.5 US\$"),
        (Budget(calls=9, tokens=10), 2, "2 of 9 calls, 10 of 10 tokens"),
        (Budget(calls=0), 0, "0 of 0 calls"),
        (Budget(), 50, ""),
    ],
)
async def test_each_limit_stops_the_build_and_says_what_was_spent(journal, budget, answered, said):
    """The first call beyond the limit is refused, with the figures; stored replies still cost nothing."""
    meter = Meter(budget)
    model = RecordedChat(ScriptedModel("m", answer), journal, meter=meter, price=PRICE)
    assert await spend(model, 50) == answered
    if said:
        with pytest.raises(LimitReached, match=said) as caught:
            await model.chat(asked(model, "more"))
        assert caught.value.exit_code == 3
        assert await spend(model, answered) == answered


async def test_all_models_of_a_build_share_the_budget(journal):
    """What one model has spent is missing to the other."""
    meter = Meter(Budget(calls=10))
    one, two = (RecordedChat(ScriptedModel(name, answer), journal, meter=meter, price=FREE) for name in "ab")
    assert await spend(one, 6) == 6
    assert await spend(two, 6) == 4


async def test_calls_at_once_never_exceed_the_number_of_calls(journal):
    """A hundred rows at once make exactly the calls allowed; those in flight are finished and stored at the end."""
    inner = SlowModel("m", answer)
    model = RecordedChat(inner, journal, meter=Meter(Budget(calls=20)))
    waiting = [asyncio.create_task(model.chat(asked(model, i))) for i in range(100)]
    await asyncio.sleep(0.005)
    for row in waiting:
        row.cancel()
    await model.finish()
    await model.close()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert inner.calls == journal.stats().calls == 20


async def test_calls_in_flight_are_foreseen(journal):
    """Tokens end near the limit although many calls run at once: what is in flight counts as the mean of the others."""
    meter = Meter(Budget(tokens=500))
    model = RecordedChat(SlowModel("m", answer), journal, meter=meter)
    await asyncio.gather(*(model.chat(asked(model, i)) for i in range(10)))
    await asyncio.gather(*(model.chat(asked(model, i)) for i in range(10, 200)), return_exceptions=True)
    assert meter.tokens == 500


@pytest.mark.parametrize(("budget", "most"), [(Budget(tokens=500), 520), (Budget(usd=700), 520)])
async def test_a_thousand_rows_pass_the_limit_by_what_is_in_flight(journal, budget, most):
    """However many rows wait, no more calls are begun than are answered at once; five tokens each, seven dollars."""
    inner = SlowModel("m", answer)
    model = RecordedChat(inner, journal, meter=(meter := Meter(budget)), price=PRICE, concurrency=4)
    rows = [model.chat(asked(model, i)) for i in range(1000)]
    outcomes = await asyncio.gather(*rows, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {ChatReply, LimitReached}
    assert meter.tokens <= most
    assert inner.calls == meter.calls == journal.stats().calls >= 100


async def test_a_call_that_fails_costs_a_call_and_no_tokens(journal):
    """A build against a dead endpoint ends at its number of calls too."""
    meter = Meter(Budget(calls=3))
    model = RecordedChat(ScriptedModel("m", answer), journal, meter=meter, price=PRICE)
    for _ in range(3):
        with pytest.raises(EndpointBusy):
            await model.chat(asked(model, "fail"))
    with pytest.raises(LimitReached):
        await model.chat(asked(model, "fail"))
    assert (meter.calls, meter.tokens, meter.usd) == (3, 0, 0.0)


async def test_the_true_cost_is_known_only_where_the_price_is(journal):
    """Unknown is unknown, never 0."""
    priced = RecordedChat(ScriptedModel("a", answer), journal, price=PRICE)
    unknown = RecordedChat(ScriptedModel("b", answer), journal)
    for model in (priced, unknown):
        assert await spend(model, 2) == 2
    assert priced.usage.usd == 14.0
    assert unknown.usage.usd is None
