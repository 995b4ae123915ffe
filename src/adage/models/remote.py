"""Scores from an OpenAI-compatible endpoint, as far as its log-probabilities go.

Letters come from `top_logprobs` of the first token, by chat or by completions. Texts come from `echo` of completions,
which vLLM offers; llama.cpp's server ignores it silently, which is noticed.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Sequence
from typing import Any

from adage.errors import Unscorable
from adage.models.base import ChatReply, ChatRequest, Message
from adage.models.chat import EndpointModel
from adage.models.score import RAW, Messages, Scores, completion_of, without_score

_WHERE_TEXTS = "vLLM scores texts (with `template: none`); elsewhere use the methods letter and generate"


class EndpointScorer:
    """A model behind an endpoint that is evaluated; a `Scorer`."""

    batches = False

    def __init__(self, model: EndpointModel, *, template: bool = True, top_logprobs: int = 20) -> None:
        self.name = model.name
        self._model = model
        self._template = template
        self._top = top_logprobs

    def request(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, *, sample: int = 0, attempt: int = 0
    ) -> ChatRequest:
        """The request that would be sent; pure."""
        return self._model.request(messages, schema, sample=sample, attempt=attempt)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Send one request: a conversation, or raw text to be completed; raises as `EndpointModel.chat`."""
        if request.messages[0].role != RAW:
            return await self._model.chat(request)
        return await self._model.endpoint.post("completions", self._completion(request), completion_of)

    async def has_template(self) -> bool:
        """As the roster says: an endpoint does not tell."""
        return self._template

    async def are_tokens(self, messages: Messages, labels: Sequence[str]) -> None:
        """Nobody can tell: a label that is no token will be missing among the likeliest."""

    async def letters(self, prompts: Sequence[Messages], labels: Sequence[str]) -> list[Scores]:
        """For each prompt, the log-probabilities of the labels; None for one that is not among the likeliest tokens.

        Where none is missing, they are given that it is one of them. A label with and without a space before it is the
        same label.

        Raises:
            Unscorable: the endpoint gives no log-probabilities.
            ModelError: as `EndpointModel.chat` says.
        """
        tops = await asyncio.gather(*(self._top_logprobs(messages) for messages in prompts))
        return [_matched(top, [label.strip() for label in labels]) for top in tops]

    async def texts(self, messages: Messages, texts: Sequence[str]) -> Scores:
        """Natural logarithm of the probability of each text after this prompt: that of both less that of the prompt.

        Raises:
            Unscorable: the endpoint does not score a prompt.
            ModelError: as `EndpointModel.chat` says.
        """
        if messages[0].role != RAW:
            raise Unscorable(
                f"the texts of options cannot be scored behind the chat template of {self.name!r}", hint=_WHERE_TEXTS
            )
        prompt = messages[0].content
        before, *whole = await asyncio.gather(*(self._echoed(prompt + text) for text in ("", *texts)))
        return [score - before for score in whole]

    async def close(self) -> None:
        """Close the connections."""
        await self._model.close()

    def _completion(self, request: ChatRequest) -> dict[str, Any]:
        body = self._model.body(request)
        del body["messages"]
        return {**body, "prompt": request.messages[0].content}

    def _score_body(self, messages: Messages) -> dict[str, Any]:
        request = self._model.request(messages, None)
        body = self._completion(request) if messages[0].role == RAW else self._model.body(request)
        body = without_score(body) | {"temperature": 0.0}
        return body | {field: 1 for field in ("max_tokens", "max_completion_tokens") if field in body}

    async def _top_logprobs(self, messages: Messages) -> list[tuple[str, float]]:
        """The likeliest first tokens, with their log-probabilities."""
        body = self._score_body(messages)
        if messages[0].role == RAW:
            return await self._model.endpoint.post("completions", body | {"logprobs": self._top}, self._read_top)
        asked = {"logprobs": True, "top_logprobs": self._top}
        return await self._model.endpoint.post("chat/completions", body | asked, self._read_top)

    def _read_top(self, answer: dict[str, Any]) -> list[tuple[str, float]]:
        """The likeliest tokens in any of the forms that servers send: a list of entries, or a mapping."""
        try:
            logprobs = answer["choices"][0]["logprobs"]
            if content := logprobs.get("content"):
                return [(str(entry["token"]), float(entry["logprob"])) for entry in content[0]["top_logprobs"]]
            return [(str(token), float(value)) for token, value in logprobs["top_logprobs"][0].items()]
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            raise Unscorable(
                f"the endpoint of {self.name!r} gives no log-probabilities of the likeliest tokens",
                hint="use the method generate, or a server that offers `top_logprobs`, such as vLLM",
            ) from None

    async def _echoed(self, text: str) -> float:
        """Log-probability of a text as the endpoint reads it, but for its first token."""
        body = self._score_body((Message(role=RAW, content=text),)) | {"echo": True, "logprobs": 1}

        def read(answer: dict[str, Any]) -> float:
            try:
                choice, n_tokens = answer["choices"][0], answer["usage"]["prompt_tokens"]
                scores = choice["logprobs"]["token_logprobs"][1:n_tokens]
                if choice["text"].startswith(text) and len(scores) == n_tokens - 1:
                    return math.fsum(scores)
            except (KeyError, IndexError, TypeError, AttributeError):
                pass
            raise Unscorable(f"the endpoint of {self.name!r} does not score a given text", hint=_WHERE_TEXTS)

        return await self._model.endpoint.post("completions", body, read)


def _matched(top: Iterable[tuple[str, float]], labels: Sequence[str]) -> Scores:
    """Log-probabilities of the labels among the likeliest tokens; given that it is one of them where all are there."""
    found: dict[str, list[float]] = {label: [] for label in labels}
    for token, logprob in top:
        if (label := token.strip()) in found:
            found[label].append(logprob)
    scores = [_log_sum(found[label]) for label in labels]
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        return scores
    total = _log_sum(known) or 0.0
    return [score - total for score in known]


def _log_sum(logs: Sequence[float]) -> float | None:
    if not logs:
        return None
    top = max(logs)
    return top + math.log(math.fsum(math.exp(each - top) for each in logs))
