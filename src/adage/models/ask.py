"""Ask a model for a structured answer: parse tolerantly, show it its mistake at most once, keep the raw text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from adage.errors import UnparsableReply
from adage.models.base import ChatModel, Message
from adage.models.parse import parse_json

T = TypeVar("T", bound=msgspec.Struct)

Objection = Callable[[T], str]
"""Says what is wrong with a well-formed answer, or nothing."""


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

    Raises:
        UnparsableReply: neither the reply nor the answer to the one re-ask holds what was asked for.
        ModelError: the model did not reply.
    """
    reply = await model.chat(model.request(messages, schema, attempt=attempt))
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
        *messages,
        Message(role="assistant", content=reply.text or "(empty)"),
        Message(role="user", content=f"That cannot be used: {complaint}. Answer again, with the JSON object alone."),
    ]
    second = await model.chat(model.request(again, schema, attempt=attempt))
    answer = parse_json(second, kind)
    if object_to and (complaint := object_to(answer.value)):
        raise UnparsableReply(complaint, reply=second.text)
    return answer.value, "asked_again"
