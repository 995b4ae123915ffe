"""Ask a model for a structured answer: parse tolerantly, show it its mistake at most once, keep the raw text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, TypeVar

import msgspec

from adage.errors import ModelError, UnparsableReply
from adage.models.base import ChatModel, ChatRequest, Message
from adage.models.parse import parse_json
from adage.records import Record

T = TypeVar("T", bound=msgspec.Struct)

Objection = Callable[[T], str]
"""Says what is wrong with a well-formed answer, or nothing."""


class Asked(Record, frozen=True, kw_only=True):
    """One question to a model, and what became of it."""

    model: str
    status: str
    """`ok`, `repaired`, `asked_again`; without an answer: `refused`, `truncated`, `invalid`, `http_error`."""
    keys: tuple[str, ...]
    """Journal keys of its requests: the question, and the re-ask where there was one."""


questions: ContextVar[list[Asked] | None] = ContextVar("questions", default=None)
"""Where `ask` notes its questions; whoever runs a row sets a list of that row's own."""


def object_schema(**properties: dict[str, Any]) -> dict[str, Any]:
    """JSON schema of an object with exactly these properties, in this order, all required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


async def ask(
    model: ChatModel,
    messages: Sequence[Message],
    schema: dict[str, Any],
    kind: type[T],
    *,
    attempt: int = 0,
    object_to: Objection[T] | None = None,
) -> tuple[T, str]:
    """The model's answer as `kind`, and how it was had: `ok`, `repaired` or `asked_again`.

    A row that failed is tried again with another `attempt`. What its earlier ones have brought is paid for, so it is
    looked at first: the question that made the row fail is asked anew, the others are not.

    Raises:
        UnparsableReply: neither the reply nor the answer to the one re-ask holds what was asked for.
        ModelError: the model did not reply.
    """
    for number in range(attempt):
        with suppress(UnparsableReply):
            return await _asked(model, messages, schema, kind, attempt=number, object_to=object_to)
    return await _asked(model, messages, schema, kind, attempt=attempt, object_to=object_to)


async def _asked(
    model: ChatModel,
    messages: Sequence[Message],
    schema: dict[str, Any],
    kind: type[T],
    *,
    attempt: int,
    object_to: Objection[T] | None,
) -> tuple[T, str]:
    """The answer of one attempt, which is noted whatever it was."""
    requests = [model.request(messages, schema, attempt=attempt)]
    try:
        value, status = await _answer(model, requests, kind, object_to)
    except ModelError as error:
        _note(model.name, error.status, requests)
        raise
    _note(model.name, status, requests)
    return value, status


async def _answer(
    model: ChatModel, requests: list[ChatRequest], kind: type[T], object_to: Objection[T] | None
) -> tuple[T, str]:
    """The answer to the one request in `requests`, or to a second one that is added to them."""
    question = requests[0]
    reply = await model.chat(question)
    try:
        answer = parse_json(reply, kind)
        complaint = object_to(answer.value) if object_to else ""
        if not complaint:
            return answer.value, answer.status
    except UnparsableReply as error:
        if error.status == "refused":
            raise
        complaint = error.message
    again = [
        *question.messages,
        Message(role="assistant", content=reply.text or "(empty)"),
        Message(role="user", content=f"That cannot be used: {complaint}. Answer again, with the JSON object alone."),
    ]
    requests.append(model.request(again, question.schema, attempt=question.attempt))
    second = await model.chat(requests[-1])
    answer = parse_json(second, kind)
    if object_to and (complaint := object_to(answer.value)):
        raise UnparsableReply(complaint, reply=second.text)
    return answer.value, "asked_again"


def _note(model: str, status: str, requests: Sequence[ChatRequest]) -> None:
    if (noted := questions.get()) is not None:
        noted.append(Asked(model=model, status=status, keys=tuple(request.key() for request in requests)))
