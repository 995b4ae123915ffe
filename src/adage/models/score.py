"""The seam between an evaluation and its models: chat, and scores of labels and texts that travel as replies.

A score is asked for by a `ChatRequest` like any other, so that the journal keeps it, and answered by JSON: a row a
prompt, null for what the model does not say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Protocol

import msgspec

from adage.errors import BadReply
from adage.models.base import ChatModel, ChatReply, ChatRequest, Message

RAW = "raw"
"""Role of a lone message that is no turn of a conversation: text for the model to go on with, without a template."""
_FIELD = "score"

Messages = tuple[Message, ...]
Scores = list[float | None]
"""Natural log-probabilities; None where the model does not say."""
_decoder = msgspec.json.Decoder(list[Scores])


class Scorer(ChatModel, Protocol):
    """A model that can be evaluated. Everything raises a `ModelError` when there is no answer."""

    batches: bool
    """Whether what several prompts of one request have in common is computed once."""

    async def has_template(self) -> bool:
        """Whether the model takes turns of a conversation; otherwise it goes on with `RAW` text."""
        ...

    async def are_tokens(self, messages: Messages, labels: Sequence[str]) -> bool | None:
        """Whether each label is one token after this prompt, and no two the same; None where nobody can tell."""
        ...

    async def letters(self, prompts: Sequence[Messages], labels: Sequence[str]) -> list[Scores]:
        """For each prompt, the log-probability of each label as the next token, given that it is one of them."""
        ...

    async def texts(self, messages: Messages, texts: Sequence[str]) -> Scores:
        """The log-probability of each text after this prompt."""
        ...


class ScoringChat:
    """A `Scorer` as a `ChatModel` that answers requests for scores too; what goes behind the journal."""

    def __init__(self, model: Scorer) -> None:
        self.name = model.name
        self._model = model

    def request(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, *, sample: int = 0, attempt: int = 0
    ) -> ChatRequest:
        """The request that the model would be sent; pure."""
        return self._model.request(messages, schema, sample=sample, attempt=attempt)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The model's reply, or its scores as one; raises as the model does."""
        asked = request.extra.get(_FIELD)
        if asked is None:
            return await self._model.chat(request)
        if "labels" in asked:
            prompts = [extended(request.messages, end) for end in asked["ends"]]
            rows = await self._model.letters(prompts, asked["labels"])
        else:
            rows = [await self._model.texts(request.messages, asked["texts"])]
        return ChatReply(text=msgspec.json.encode(rows).decode())

    async def close(self) -> None:
        """Free the model."""
        await self._model.close()


def letters_request(model: ChatModel, messages: Messages, ends: Sequence[str], labels: Sequence[str]) -> ChatRequest:
    """The request for the scores of the labels after each prompt: `messages`, the last one extended by an end."""
    return _score_request(model, messages, {"ends": list(ends), "labels": list(labels)})


def texts_request(model: ChatModel, messages: Messages, texts: Sequence[str]) -> ChatRequest:
    """The request for the scores of texts after one prompt."""
    return _score_request(model, messages, {"texts": list(texts)})


def scores_of(reply: ChatReply) -> list[Scores]:
    """The scores in a reply to one of these requests."""
    return _decoder.decode(reply.text)


def extended(messages: Messages, end: str) -> Messages:
    """The messages with the last one extended."""
    *first, last = messages
    return (*first, Message(role=last.role, content=last.content + end))


def _score_request(model: ChatModel, messages: Messages, asked: dict[str, Any]) -> ChatRequest:
    """How the model samples has no part in its scores, and so none in the key."""
    plain = model.request(messages, None)
    return ChatRequest(
        model=plain.model,
        family=plain.family,
        messages=messages,
        max_tokens=1,
        extra={**plain.extra, _FIELD: asked},
    )


def without_score(extra: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a request that are meant for the endpoint."""
    return {name: value for name, value in extra.items() if name != _FIELD}


class _Choice(msgspec.Struct):
    text: str
    finish_reason: str | None = None


class _Tokens(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(msgspec.Struct):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1)]
    usage: _Tokens | None = None


def completion_of(answer: dict[str, Any]) -> ChatReply:
    """The reply in a completion of raw text, which may be empty.

    Raises:
        BadReply: there is none.
    """
    try:
        completion = msgspec.convert(answer, _Completion)
    except msgspec.ValidationError as error:
        raise BadReply(f"the endpoint sent no completion ({error}): {str(answer)[:300]}") from error
    choice, tokens = completion.choices[0], completion.usage or _Tokens()
    return ChatReply(
        text=choice.text,
        finish_reason=choice.finish_reason or "stop",
        prompt_tokens=tokens.prompt_tokens,
        completion_tokens=tokens.completion_tokens,
    )
