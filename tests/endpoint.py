"""An OpenAI-compatible endpoint on loopback, for tests: scripted replies, counted calls, faults on demand.

In a test: `async with FakeEndpoint(reply) as endpoint`, then `endpoint.url`. As a process of its own:
`python tests/endpoint.py --port 0 --latency 0.02` prints its port; GET /stats tells what it was asked.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import re
import sys
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from typing import Any, Self

from aiohttp import web

Body = dict[str, Any]
Reply = Callable[[Body], str | Body]
"""Makes the text of a reply, or a whole answer, of a request's body."""
Fault = Callable[[web.Request], Awaitable[web.StreamResponse]]

THEMES = (
    "patience", "greed", "unity", "pride", "false appearances", "gratitude", "thrift", "courage", "honesty", "haste",
    "friendship", "envy", "foresight", "persistence", "humility", "justice", "kinship", "experience", "folly", "hope",
    "silence", "reputation", "moderation", "reciprocity", "fate", "learning", "trust", "vanity", "hospitality", "work",
)  # fmt: skip
_WHO = (
    "the baker", "a tired nurse", "her cousin", "the new clerk", "our neighbour", "an old driver",
    "the younger brother", "a quiet student", "the gardener", "his aunt", "a carpenter", "the coach",
)  # fmt: skip
_DID = (
    "measured", "carried", "repaired", "counted", "painted", "borrowed", "sold", "cleaned", "planned", "collected",
    "promised", "wrapped",
)  # fmt: skip
_WHAT = (
    "twelve wooden chairs", "a broken radio", "the evening bread", "three blue baskets", "an unpaid bill",
    "the school fence", "a bag of lentils", "two winter coats", "the village pump", "a stack of letters",
    "the football nets", "her grandmother's lamp",
)  # fmt: skip
_WHEN = (
    "before sunrise", "after the long meeting", "on market day", "during the heavy rain", "while everyone slept",
    "in the last week of spring", "without telling anybody", "near the bus station", "for the second year",
    "beside the empty office", "when the shop closed", "at the end of the month",
)  # fmt: skip
_THEN = (
    "nobody thanked them at first", "the others only laughed", "the result surprised the whole street",
    "everything cost twice as much", "the money lasted until autumn", "the work went faster than expected",
    "people came to ask how it was done", "nothing was left to repair", "the plan failed within a day",
    "a stranger offered help", "the quarrel ended quietly", "the children remembered it for years",
)  # fmt: skip


def status(code: int, message: str = "out of order", **headers: str) -> Fault:
    """A fault: an HTTP error in OpenAI's form; `Retry_After="3"` becomes the header Retry-After."""

    async def fault(_: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response({"error": {"message": message}}, status=code, headers=named)

    return fault


def answer(content: bytes, content_type: str = "application/json") -> Fault:
    """A fault: HTTP 200 with any content, such as an HTML page or an answer that is no completion."""

    async def fault(_: web.Request) -> web.StreamResponse:
        return web.Response(body=content, content_type=content_type)

    return fault


async def reset(request: web.Request) -> web.StreamResponse:
    """A fault: the connection breaks off without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def cut(request: web.Request) -> web.StreamResponse:
    """A fault: the connection breaks off in the middle of the answer."""
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    return await reset(request)


def stall(seconds: float) -> Fault:
    """A fault: no answer for so long."""

    async def fault(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return web.json_response({})

    return fault


class FakeEndpoint:
    """The endpoint; `faults` are taken one a call before anything else, `always` stands for every call."""

    def __init__(
        self, reply: Reply | None = None, *, latency_s: float = 0.0, models: tuple[str, ...] = ("fake",)
    ) -> None:
        self.reply = reply or scripted
        self.latency_s = latency_s
        self.models = models
        self.faults: deque[Fault] = deque()
        self.always: Fault | None = None
        self.calls = 0
        self.bodies: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.in_flight = 0
        self.peak = 0
        self.prompts: Counter[str] = Counter()
        self.port = 0
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The base URL, up to and including /v1."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self, port: int = 0) -> None:
        """Listen on loopback, on a free port unless one is given."""
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._embeddings)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/stats", self._stats)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._served(request, self.completion)

    async def _embeddings(self, request: web.Request) -> web.StreamResponse:
        return await self._served(request, _embeddings)

    async def _served(self, request: web.Request, make: Callable[[Body], Body]) -> web.StreamResponse:
        self.calls += 1
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            body = await request.json()
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
            self.prompts[digest(body.get("messages", body.get("prompt", body.get("input"))))] += 1
            if self.latency_s:
                await asyncio.sleep(self.latency_s)
            fault = self.faults.popleft() if self.faults else self.always
            return await fault(request) if fault else web.json_response(make(body))
        finally:
            self.in_flight -= 1

    def completion(self, body: Body) -> Body:
        """The answer to a chat that nothing is wrong with."""
        made = self.reply(body)
        if isinstance(made, dict):
            return made
        message = {"role": "assistant", "content": made}
        return {
            "object": "chat.completion",
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}},
        }

    async def _models(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"data": [{"id": name} for name in self.models]})

    async def _stats(self, _: web.Request) -> web.StreamResponse:
        repeats = sum(count - 1 for count in self.prompts.values())
        return web.json_response({"calls": self.calls, "distinct": len(self.prompts), "repeats": repeats})


def digest(value: object) -> str:
    """SHA-256 of a JSON value in hex."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def scripted(body: Body) -> str | Body:
    """What the pipeline's four roles may answer, by the properties of the JSON schema and the hash of the prompt.

    Where log-probabilities are asked for, or options are listed, the answer is that to a multiple-choice question.

    A story names a house number, the hash of the text it was made for: by it a judge knows which options fit.
    """
    response_format = body.get("response_format") or {}
    properties = response_format.get("json_schema", {}).get("schema", {}).get("properties", {})
    asked = str(body["messages"][-1]["content"])
    draw = random.Random(digest([body["messages"], body.get("seed")]))
    if body.get("logprobs"):
        return top_logprobs({label: draw.uniform(-4, -0.1) for label in "ABCD"})
    if not properties and re.search(r"^A\. ", asked, re.MULTILINE):
        return f"Let me see. {draw.random()}\nAnswer: {draw.choice('ABCD')}"
    if "theme" in properties:
        return json.dumps({"theme": draw.choice(THEMES)})
    if "name" in properties:
        return json.dumps({"name": " and ".join(draw.sample(THEMES, 2))})
    if "scenarios" in properties:
        numbered = len(re.findall(r"^\d+\. ", asked, re.MULTILINE))
        wanted = properties["scenarios"].get("minItems") or numbered or 1
        return json.dumps({"scenarios": [_story(draw, house(_tagged(asked, "text"))) for _ in range(wanted)]})
    if "fits" in properties:
        return json.dumps({"fits": _fits(asked, draw), "plausible": True, "fluent": True, "reason": ""})
    return "This is a reply."


def top_logprobs(scores: dict[str, float]) -> Body:
    """A chat completion of one token, with the log-probabilities of the likeliest ones."""
    top = [{"token": token, "logprob": score} for token, score in sorted(scores.items(), key=lambda pair: -pair[1])]
    first = {**top[0], "top_logprobs": top}
    message = {"role": "assistant", "content": first["token"]}
    choice = {"index": 0, "message": message, "finish_reason": "length", "logprobs": {"content": [first]}}
    return {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 1}}


def house(text: str) -> str:
    """The house number of a text."""
    return str(1000 + int(digest(text), 16) % 9000)


def _story(draw: random.Random, number: str) -> str:
    def clause() -> str:
        return f"{draw.choice(_WHO)} {draw.choice(_DID)} {draw.choice(_WHAT)} {draw.choice(_WHEN)}"

    first, second, third = (clause() for _ in range(3))
    return (
        f"At house {number}, {first} and {second}. {third[0].upper()}{third[1:]}, but {draw.choice(_THEN)}. "
        f"Later {draw.choice(_WHO)} said that {draw.choice(_THEN)}, and {draw.choice(_THEN)}."
    )


def _fits(asked: str, draw: random.Random) -> list[str]:
    options = re.findall(r"^(\w+)\) <option>(.*?)</option>", asked, re.MULTILINE | re.DOTALL)
    numbers = set(re.findall(r"house (\d+)", _tagged(asked, "story")))
    fitting = [letter for letter, text in options if house(text) in numbers]
    return fitting or ([draw.choice(options)[0]] if options else ["A"])


def _tagged(text: str, tag: str) -> str:
    found = re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return found[1] if found else text


def _embeddings(body: Body) -> Body:
    texts = body["input"]
    vectors = [[byte - 127.5 for byte in hashlib.sha256(text.encode()).digest()] for text in texts]
    data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return {"object": "list", "data": data[::-1], "usage": {"prompt_tokens": len(texts)}}


async def _serve(port: int, latency_s: float) -> None:
    endpoint = FakeEndpoint(latency_s=latency_s)
    await endpoint.start(port)
    sys.stdout.write(f"{endpoint.port}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()
    asyncio.run(_serve(options.port, options.latency))


if __name__ == "__main__":
    main()
