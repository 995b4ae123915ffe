"""Asking for a structured answer: tolerant reading, one second chance, raw text as evidence."""

from contextlib import suppress

import msgspec
import pytest

from adage.errors import BadRequest, ModelError, UnparsableReply
from adage.models.ask import Asked, ask, object_schema, questions
from adage.models.base import ChatReply, Message
from adage.models.fake import Rule, ScriptedModel
from adage.store.journal import Journal
from adage.store.recorded import RecordedChat

MESSAGES = (Message(role="system", content="Be brief."), Message(role="user", content="A number?"))
SCHEMA = object_schema(number={"type": "integer"}, why={"type": "string"})


class Number(msgspec.Struct):
    """An answer."""

    number: int
    why: str = ""


def model(*replies):
    """A model that gives these replies one after the other and keeps what it was asked."""
    left, seen = list(replies), []

    def script(request):
        seen.append(request)
        return left.pop(0)

    made = ScriptedModel("m", script)
    made.seen = seen
    return made


def small(answer):
    """Objects to numbers over nine."""
    return "" if answer.number < 10 else f"{answer.number} is too large"


async def test_a_good_answer_takes_one_call():
    """The value, and `ok`; the request carries the schema."""
    asked = model('{"number": 3}')
    assert await ask(asked, MESSAGES, SCHEMA, Number) == (Number(number=3), "ok")
    assert (asked.seen[0].schema, asked.seen[0].attempt, asked.seen[0].messages) == (SCHEMA, 0, MESSAGES)


async def test_another_attempt_begins_with_what_earlier_ones_have_brought(tmp_path):
    """A stored answer is never paid for twice; a stored reply without one leads to the next attempt, and no further."""
    with Journal(tmp_path / "calls.sqlite") as journal:
        inner = model("junk", "more junk", '{"number": 3}', '{"number": 4}')
        asked = RecordedChat(inner, journal)
        with pytest.raises(UnparsableReply):
            await ask(asked, MESSAGES, SCHEMA, Number)
        assert [request.attempt for request in inner.seen] == [0, 0]
        for _ in range(2):
            assert await ask(asked, MESSAGES, SCHEMA, Number, attempt=2) == (Number(number=3), "ok")
            assert [request.attempt for request in inner.seen] == [0, 0, 1]
        fresh = MESSAGES[1:]
        assert await ask(asked, fresh, SCHEMA, Number, attempt=1) == (Number(number=4), "ok")
        assert inner.seen[-1].attempt == 0, "an attempt that brought no reply is made now"


async def test_a_mended_answer_is_marked():
    """What had to be repaired says so."""
    assert (await ask(model("{number: '3',}"), MESSAGES, SCHEMA, Number))[1] == "repaired"


@pytest.mark.parametrize("first", ["Three.", "", '{"number": "many"}', '{"number": 12}'])
async def test_the_model_is_shown_its_mistake_once(first):
    """The second request holds the reply and what was wrong with it."""
    asked = model(first, '{"number": 3}')
    assert await ask(asked, MESSAGES, SCHEMA, Number, object_to=small) == (Number(number=3), "asked_again")
    *before, reply, complaint = asked.seen[1].messages
    assert tuple(before) == MESSAGES
    assert (reply.role, reply.content) == ("assistant", first or "(empty)")
    assert complaint.role == "user"
    assert complaint.content.startswith("That cannot be used: ")
    assert asked.calls == 2


@pytest.mark.parametrize("second", ["Still three.", '{"number": 13}'])
async def test_two_bad_answers_are_an_error_with_the_raw_reply(second):
    """There is no third call, and the evidence is the last reply as it came."""
    asked = model('{"number": 12}', second)
    with pytest.raises(UnparsableReply) as caught:
        await ask(asked, MESSAGES, SCHEMA, Number, object_to=small)
    assert caught.value.reply == second
    assert asked.calls == 2


async def test_a_refusal_is_not_argued_with():
    """A model that declines is not asked again."""
    asked = model(ChatReply(text="", finish_reason="content_filter"))
    with pytest.raises(UnparsableReply) as caught:
        await ask(asked, MESSAGES, SCHEMA, Number)
    assert caught.value.status == "refused"
    assert asked.calls == 1


async def test_a_model_error_passes_through():
    """No reply is no answer to mend."""

    def script(request):
        raise BadRequest("too long")

    with pytest.raises(BadRequest):
        await ask(ScriptedModel("m", script), MESSAGES, SCHEMA, Number)


def test_a_schema_has_exactly_its_properties():
    """All required, none more, in the order given."""
    assert list(SCHEMA["properties"]) == SCHEMA["required"] == ["number", "why"]
    assert SCHEMA["additionalProperties"] is False


@pytest.mark.parametrize(
    ("replies", "status", "calls"),
    [
        (['{"number": 3}'], "ok", 1),
        (["{number: '3',}"], "repaired", 1),
        (["Three.", '{"number": 3}'], "asked_again", 2),
        (["Three.", "Three."], "invalid", 2),
        (["I cannot help with that."], "refused", 1),
        (['{"number": 1', '{"number": 1'], "truncated", 2),
        ([None], "http_error", 1),
    ],
)
async def test_every_question_is_noted_with_what_became_of_it(replies, status, calls):
    """Whoever runs the row learns model, status and journal keys, whether there was an answer or an error."""
    asked = model(*replies)
    if None in replies:
        asked = ScriptedModel("m", [Rule(fail="EndpointBusy")])
    noted: list[Asked] = []
    token = questions.set(noted)
    try:
        with suppress(ModelError):
            await ask(asked, MESSAGES, SCHEMA, Number)
    finally:
        questions.reset(token)
    assert [(question.model, question.status, len(question.keys)) for question in noted] == [("m", status, calls)]
    assert noted[0].keys[0] == asked.request(MESSAGES, SCHEMA).key()
