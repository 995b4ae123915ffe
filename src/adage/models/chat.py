"""A chat model behind any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal

import msgspec

from adage.errors import BadReply, BadRequest, ModelError, RequestRejected
from adage.models.base import ChatReply, ChatRequest, Message, Sampling
from adage.models.endpoint import Endpoint
from adage.models.limits import Limits

Structured = Literal["json_schema", "json_object", "none"]


class EndpointModel:
    """A model that answers at `base_url`/chat/completions.

    JSON answers are asked for in the way `structured` names. A server that refuses it gets a weaker one, once and for
    good: `json_object` where its message names that, and none otherwise, so that finding out costs one call. A
    complaint that the weaker way meets as well is about something else. Prompts therefore describe the JSON in words
    too. An entry of `extra` that is None takes the parameter of that name out of the request body.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        model: str,
        key_env: str | None = None,
        temperature: float = 0.0,
        top_p: float = 1.0,
        max_tokens: int = 1024,
        seed: int | None = None,
        extra: dict[str, Any] | None = None,
        structured: Structured = "json_schema",
        concurrency: int = 16,
        timeout_s: float = 120.0,
        connect_timeout_s: float = 10.0,
        read_timeout_s: float | None = None,
        retries: int = 5,
        limits: Limits | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self.endpoint = Endpoint(
            base_url,
            key_env=key_env,
            concurrency=concurrency,
            timeout_s=timeout_s,
            connect_timeout_s=connect_timeout_s,
            read_timeout_s=read_timeout_s,
            retries=retries,
            limits=limits,
            sleep=sleep,
            jitter=jitter,
        )
        self._model = model
        self._sampling = Sampling(
            temperature=temperature, top_p=top_p, max_tokens=max_tokens, seed=seed, extra=extra or {}
        )
        self._structured = structured
        self._accepted = False
        """Whether the server has taken a request in the present way of asking for JSON."""
        self._unrelated: set[str] = set()
        """Complaints, without their numbers, that have nothing to do with the way of asking."""

    def request(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, *, sample: int = 0, attempt: int = 0
    ) -> ChatRequest:
        """The request that would be sent; pure."""
        family = f"endpoint:{self.endpoint.address}"
        return self._sampling.request(self._model, family, messages, schema, sample=sample, attempt=attempt)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Send one request.

        Raises:
            ModelError: as `Endpoint.post` says; `RequestRejected` lists the models served where the name is unknown.
        """
        try:
            return await self._ask(request)
        except (BadRequest, RequestRejected) as error:
            raise await self._explained(error, request.model) from error

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """The JSON body that the endpoint is sent."""
        return _body(request, self._structured)

    async def close(self) -> None:
        """Close the connections."""
        await self.endpoint.close()

    async def _ask(self, request: ChatRequest) -> ChatReply:
        """Post the request; while the way of asking for JSON is unproven, a new kind of 400 leads to a weaker one."""
        way = self._structured
        try:
            reply = await self._post(request, way)
        except BadRequest as error:
            proven = self._accepted and way == self._structured
            if request.schema is None or way == "none" or proven or _gist(error) in self._unrelated:
                raise
            named = way == "json_schema" and "json_object" in error.message
            weaker: Structured = "json_object" if named else "none"
            try:
                reply = await self._post(request, weaker)
            except BadRequest as again:
                if _gist(again) == _gist(error):
                    self._unrelated.add(_gist(error))
                raise error from None
            self._structured = weaker
        self._accepted |= request.schema is not None
        return reply

    async def _post(self, request: ChatRequest, structured: Structured) -> ChatReply:
        return await self.endpoint.post("chat/completions", _body(request, structured), reply_of)

    async def _explained(self, error: ModelError, model: str) -> ModelError:
        """The error, or a better one when the endpoint does not serve this model."""
        doubtful = error.http_status == 404 or (error.http_status == 400 and model in error.message)
        served = await self.endpoint.models() if doubtful else ()
        if not served or model in served:
            return error
        return RequestRejected(
            f"{self.endpoint.address} does not serve the model {model!r}: {error.message}",
            hint=f"it serves: {', '.join(served[:20])}" + (" …" if len(served) > 20 else ""),
        )


def _gist(error: ModelError) -> str:
    """What an error says, without the words that hold a digit: counts and ids differ between requests."""
    return re.sub(r"\S*\d\S*", "", error.message)


def _body(request: ChatRequest, structured: Structured) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "temperature": request.temperature,
        "top_p": request.top_p,
        "max_tokens": request.max_tokens,
    }
    if request.seed is not None:
        body["seed"] = request.seed
    if request.schema is not None and structured == "json_schema":
        shape = {"name": "answer", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    elif request.schema is not None and structured == "json_object":
        body["response_format"] = {"type": "json_object"}
    body |= request.extra
    return {field: value for field, value in body.items() if value is not None} if request.extra else body


class _Part(msgspec.Struct):
    text: str = ""


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Tokens(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Timings(msgspec.Struct):
    """What llama.cpp adds."""

    cache_n: int | None = None


class _Completion(msgspec.Struct):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1)]
    usage: _Tokens | None = None
    timings: _Timings | None = None


def reply_of(answer: dict[str, Any]) -> ChatReply:
    """The reply in a chat completion; a refusal that comes apart from the text counts as filtered content.

    Raises:
        BadReply: there is none, or an empty one that took the model no tokens: the endpoint's failure, not an answer.
    """
    try:
        completion = msgspec.convert(answer, _Completion)
    except msgspec.ValidationError as error:
        raise BadReply(f"the endpoint sent no chat completion ({error}): {str(answer)[:300]}") from error
    choice, tokens = completion.choices[0], completion.usage or _Tokens()
    content = choice.message.content
    text = "".join(part.text for part in content) if isinstance(content, list) else content or ""
    refusal = "" if text else choice.message.refusal or ""
    cached = tokens.prompt_tokens_details and tokens.prompt_tokens_details.cached_tokens
    if cached is None and completion.timings:
        cached = completion.timings.cache_n
    reply = ChatReply(
        text=text or refusal,
        finish_reason="content_filter" if refusal else choice.finish_reason or "stop",
        prompt_tokens=tokens.prompt_tokens or 0,
        completion_tokens=tokens.completion_tokens or 0,
        cached_tokens=cached or 0,
        reasoning=choice.message.reasoning_content or choice.message.reasoning or "",
    )
    if not (reply.text or reply.reasoning or reply.completion_tokens) and reply.finish_reason == "stop":
        raise BadReply("the endpoint sent an empty reply")
    return reply
