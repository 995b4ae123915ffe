"""A model inside the process as an OpenAI-compatible endpoint, for other programs on the same machine."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from adage.errors import AdageError, BadRequest, RecipeError
from adage.models.local import LocalModel, grammar_of

_MAX_BODY = 16 << 20
_PASSED = (
    "messages", "temperature", "top_p", "top_k", "min_p", "max_tokens", "seed", "stop", "logprobs", "top_logprobs",
    "logit_bias", "frequency_penalty", "presence_penalty",
)  # fmt: skip
"""Fields that llama.cpp takes as they are."""
_UNHEEDED = {"model", "user", "response_format", "max_completion_tokens", "stream", "n", "metadata", "store"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(model: LocalModel, *, token: str = "") -> web.Application:
    """The endpoint: `/v1/chat/completions` and `/v1/models`; with `token`, for those alone who send it as their key.

    Answers come from llama.cpp as they are, with `logprobs` where asked for. A JSON schema becomes a grammar of compact
    JSON, as in a build. Streaming, several choices and tools are refused, never silently ignored.
    """

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token and not hmac.compare_digest(given.encode(), token.encode()):
            return _failure(401, "the key is missing or wrong")
        try:
            return await handler(request)
        except BadRequest as error:
            return _failure(400, error.message)
        except AdageError as error:
            return _failure(500, error.message)

    async def models(_: web.Request) -> web.StreamResponse:
        return web.json_response({"object": "list", "data": [{"id": model.name, "object": "model"}]})

    async def completions(request: web.Request) -> web.StreamResponse:
        answer = await model.complete(_body(await request.read()))
        return web.Response(
            body=msgspec.json.encode({**answer, "model": model.name}), content_type="application/json", charset="utf-8"
        )

    app = web.Application(middlewares=[guarded], client_max_size=_MAX_BODY)
    app.router.add_get("/v1/models", models)
    app.router.add_post("/v1/chat/completions", completions)
    return app


def check_host(host: str, token: str) -> None:
    """Refuse to listen beyond this machine without a token.

    Raises:
        RecipeError: the host is another than loopback, and there is no token.
    """
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    if not loopback and not token:
        raise RecipeError(
            f"to listen at {host!r}, where other machines can connect, a token is needed",
            hint="listen at 127.0.0.1, or name the variable that holds a token with --token-env",
        )


async def start(model: LocalModel, host: str, port: int, *, token: str = "") -> tuple[web.AppRunner, str]:
    """Listen; gives the runner, whose `cleanup` ends it, and the base URL (with the port found, where `port` is 0).

    Raises:
        RecipeError: the host needs a token, or cannot be listened at.
    """
    check_host(host, token)
    runner = web.AppRunner(application(model, token=token), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        await runner.cleanup()
        raise RecipeError(
            f"cannot listen at {host}:{port}: {error.strerror}", hint="choose another --port; 0 finds a free one"
        ) from error
    bound = runner.addresses[0][1]
    shown = f"[{host}]" if ":" in host else host
    return runner, f"http://{shown}:{bound}/v1"


async def serve(
    model: LocalModel, host: str, port: int, *, token: str = "", ready: Callable[[str], object] = lambda _: None
) -> None:
    """Serve until cancelled; `ready` is told the base URL once the model is loaded.

    Raises:
        RecipeError: as `start` says, or llama.cpp cannot load the model.
    """
    runner, url = await start(model, host, port, token=token)
    try:
        await model.load()
        ready(url)
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
        await model.close()


def _body(content: bytes) -> dict[str, Any]:
    """The request in llama.cpp's terms.

    Raises:
        BadRequest: it is no JSON object, lacks messages, or asks for what is not offered.
    """
    try:
        asked = msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"the request is no JSON object: {error}") from error
    if not isinstance(asked.get("messages"), list) or not asked["messages"]:
        raise BadRequest("the request has no messages")
    unknown = sorted(asked.keys() - {*_PASSED} - _UNHEEDED)
    refused = [*unknown, *(["stream"] if asked.get("stream") else []), *(["n"] if asked.get("n", 1) != 1 else [])]
    if refused:
        raise BadRequest(f"not offered here: {', '.join(refused)}")
    body = {name: asked[name] for name in _PASSED if asked.get(name) is not None}
    if "max_completion_tokens" in asked:
        body["max_tokens"] = asked["max_completion_tokens"]
    if schema := _schema(asked.get("response_format")):
        body["grammar"] = grammar_of(schema)
    return {"temperature": 1.0, "top_k": 0, "min_p": 0.0, "max_tokens": 256, "cache_prompt": False, **body}


def _schema(form: object) -> dict[str, Any] | None:
    """The JSON schema that a `response_format` asks for."""
    if form is None or form == {"type": "text"}:
        return None
    if form == {"type": "json_object"}:
        return {"type": "object"}
    match form:
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            return schema
    raise BadRequest(f"response_format is not usable: {str(form)[:200]}")


def _failure(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "code": status}}, status=status)
