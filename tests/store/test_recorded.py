"""Models behind their stores: nothing is asked twice, nothing is used before it is stored, replay asks nothing."""

import asyncio

import numpy as np
import pytest

from adage.errors import EndpointBusy, JournalError, NotStored
from adage.models.base import ChatReply, Message
from adage.models.fake import ScriptedEmbedder, ScriptedModel
from adage.store.journal import Journal
from adage.store.recorded import RecordedChat, RecordedEmbedder
from adage.store.vectors import Vectors


class SlowModel(ScriptedModel):
    """A scripted model that takes a moment."""

    async def chat(self, request):
        """The script's answer, a little later."""
        await asyncio.sleep(0.02)
        return await super().chat(request)


def echo(request):
    """The last message, with token counts."""
    if request.messages[-1].content == "fail":
        raise EndpointBusy("busy")
    return ChatReply(text=request.messages[-1].content, prompt_tokens=3, completion_tokens=2, cached_tokens=1)


@pytest.fixture
def journal(tmp_path):
    """An empty journal."""
    with Journal(tmp_path / "calls.sqlite") as journal:
        yield journal


@pytest.fixture
def vectors(tmp_path):
    """An empty vector store."""
    with Vectors(tmp_path / "vectors.sqlite") as vectors:
        yield vectors


def asked(model, text, **draw):
    """A request with one user message."""
    return model.request([Message(role="user", content=text)], None, **draw)


async def test_a_request_is_paid_for_once(journal):
    """A second build, with another object, takes every reply from the journal and counts it so."""
    first, second = (RecordedChat(ScriptedModel("m", echo), journal) for _ in range(2))
    for text in ("a", "b", "a"):
        assert (await first.chat(asked(first, text))).text == text
    assert (first.usage.calls, first.usage.stored, first.usage.prompt_tokens) == (2, 1, 6)
    assert (await second.chat(asked(second, "b"))).text == "b"
    assert (second.usage.calls, second.usage.stored) == (0, 1)
    await second.chat(asked(second, "b", attempt=1))
    assert second.usage.calls == 1


async def test_identical_requests_in_flight_are_sent_once(journal):
    """A hundred rows with the same prompt make one call."""
    inner = SlowModel("m", echo)
    model = RecordedChat(inner, journal)
    replies = await asyncio.gather(*(model.chat(asked(model, "a")) for _ in range(100)))
    assert {reply.text for reply in replies} == {"a"}
    assert inner.calls == 1


async def test_requests_of_one_moment_share_a_look_up(journal, monkeypatch):
    """A hundred rows that begin together ask the journal once; each reply from there counts."""
    model = RecordedChat(ScriptedModel("m", echo), journal)
    requests = [asked(model, str(n % 50)) for n in range(100)]
    await asyncio.gather(*map(model.chat, requests))
    looked_up = []
    get_many = journal.get_many
    monkeypatch.setattr(journal, "get_many", lambda keys: get_many(looked_up.append(list(keys)) or looked_up[-1]))
    again = RecordedChat(ScriptedModel("m", echo), journal)
    replies = await asyncio.gather(*map(again.chat, requests))
    assert [reply.text for reply in replies] == [str(n % 50) for n in range(100)]
    assert [len(keys) for keys in looked_up] == [50]
    assert (again.usage.calls, again.usage.stored) == (0, 100)


async def test_a_journal_that_fails_is_told_to_all(journal):
    """Nobody waits for ever when the look-up itself goes wrong."""
    model = RecordedChat(ScriptedModel("m", echo), journal)
    journal.close()
    errors = await asyncio.gather(*(model.chat(asked(model, text)) for text in "aab"), return_exceptions=True)
    assert [type(error) for error in errors] == [JournalError] * 3


async def test_a_failed_call_is_not_stored(journal):
    """The error reaches all who wait, and the next try calls again."""
    inner = SlowModel("m", echo)
    model = RecordedChat(inner, journal)
    errors = await asyncio.gather(*(model.chat(asked(model, "fail")) for _ in range(3)), return_exceptions=True)
    assert [type(error) for error in errors] == [EndpointBusy] * 3
    assert journal.stats().calls == 0
    with pytest.raises(EndpointBusy):
        await model.chat(asked(model, "fail"))
    assert inner.calls == 2


async def test_a_cancelled_row_does_not_lose_its_reply(journal):
    """One of two rows that wait for a call is cancelled; the other is served. With none left, it is stored still."""
    model = RecordedChat(SlowModel("m", echo), journal)
    gone, stays = (asyncio.create_task(model.chat(asked(model, "a"))) for _ in range(2))
    alone = asyncio.create_task(model.chat(asked(model, "b")))
    await asyncio.sleep(0.005)
    gone.cancel()
    alone.cancel()
    assert (await stays).text == "a"
    await asyncio.sleep(0.05)
    assert journal.stats().calls == 2


async def test_closing_ends_calls_in_flight(journal):
    """Nothing runs on behind the back of a build that has ended."""
    model = RecordedChat(SlowModel("m", echo), journal)
    waiting = asyncio.create_task(model.chat(asked(model, "a")))
    await asyncio.sleep(0.005)
    await model.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert journal.stats().calls == 0


async def test_what_has_not_begun_is_never_paid_for(journal):
    """Neither where the row is cancelled, nor where the model is closed, before the journal has been asked."""
    inner = ScriptedModel("m", echo)
    for end in ("cancel", "close"):
        model = RecordedChat(inner, journal)
        row = asyncio.create_task(model.chat(asked(model, end)))
        await asyncio.sleep(0)
        if end == "cancel":
            row.cancel()
        else:
            await model.close()
        with pytest.raises(asyncio.CancelledError):
            await row
        await asyncio.sleep(0.01)
    assert inner.calls == 0


async def test_replay_answers_from_the_journal_alone(journal):
    """What is stored is given; the first gap is named with model, role and prompt, and the model is never called."""
    live = RecordedChat(ScriptedModel("m", echo), journal)
    await live.chat(asked(live, "a"))
    inner = ScriptedModel("m", echo)
    replay = RecordedChat(inner, journal, replay=True, role="judge")
    assert (await replay.chat(asked(replay, "a"))).text == "a"
    with pytest.raises(NotStored, match=r"'m'.*judge.*'b'"):
        await replay.chat(asked(replay, "b"))
    assert inner.calls == 0


async def test_each_text_is_encoded_once(vectors):
    """Repeated texts, other batches and other objects come from the store, bit for bit and in order."""
    inner = ScriptedEmbedder(dim=4)
    first = RecordedEmbedder(inner, vectors)
    got = await first.embed(["a", "b", "a"])
    np.testing.assert_array_equal(got, await inner.embed(["a", "b", "a"]))
    assert (first.usage.calls, first.usage.stored) == (2, 0)
    second = RecordedEmbedder(ScriptedEmbedder(dim=4), vectors)
    np.testing.assert_array_equal(await second.embed(["c", "b"]), await inner.embed(["c", "b"]))
    assert (second.usage.calls, second.usage.stored) == (1, 1)
    assert (await second.embed([])).shape[0] == 0


async def test_texts_in_flight_are_not_encoded_twice(vectors):
    """Two callers with the same text make one computation."""
    encoder = RecordedEmbedder(ScriptedEmbedder(dim=4), vectors)
    await asyncio.gather(*(encoder.embed(["a", "b"]) for _ in range(5)))
    assert (encoder.usage.calls, encoder.usage.stored) == (2, 8)


async def test_replay_never_encodes(vectors):
    """A gap in the vector store is named with the encoder and the text."""
    await RecordedEmbedder(ScriptedEmbedder(dim=4), vectors).embed(["a"])
    inner = ScriptedEmbedder(dim=4)
    replay = RecordedEmbedder(inner, vectors, replay=True)
    assert (await replay.embed(["a"])).shape == (1, 4)
    with pytest.raises(NotStored, match=r"lacks 1 of 2 vectors of 'scripted:4'.*'b'"):
        await replay.embed(["a", "b"])
    assert inner.calls == 0
