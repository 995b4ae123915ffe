"""Models behind their stores: what was answered or encoded once is never asked for again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from adage.errors import CallOwed, NotStored
from adage.models.base import ChatModel, ChatReply, ChatRequest, Embedder, Message
from adage.recipe import Price
from adage.store.journal import Journal
from adage.store.meter import Meter, cost_usd
from adage.store.vectors import Vectors

_CHUNK = 256
"""Texts encoded between two writes, so that a crash loses little."""


class Usage(msgspec.Struct, kw_only=True):
    """What was asked of a model (or an encoder, whose calls are texts) and what the store answered instead."""

    calls: int = 0
    """Replies that the model gave."""
    stored: int = 0
    """Replies taken from the store."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that servers took from their prefix caches."""
    seconds: float = 0.0
    """Time spent waiting for the model, added up over calls in flight at once."""
    usd: float | None = 0.0
    """What the replies have cost; None where the model's price is unknown."""

    def add(self, reply: ChatReply, seconds: float, price: Price | None) -> None:
        """Count one reply that the model gave."""
        self.calls += 1
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        self.cached_tokens += reply.cached_tokens
        self.seconds += seconds
        self.usd = None if price is None or self.usd is None else self.usd + cost_usd(price, reply)


class RecordedChat:
    """A chat model behind the journal: looks there first, and stores a reply before giving it out.

    Identical requests in flight are sent once. A call goes on, and is stored, when those who wait for it are cancelled;
    `close` ends it. With `replay` the model is never called. `meter` is asked before each call; models of one build
    share it. With `owed`, the model is not called either: what it would be asked is put there, for an offline batch.
    """

    def __init__(
        self,
        model: ChatModel,
        journal: Journal,
        *,
        replay: bool = False,
        role: str = "request",
        meter: Meter | None = None,
        price: Price | None = None,
        owed: dict[str, ChatRequest] | None = None,
    ) -> None:
        self.name = model.name
        self.usage = Usage()
        self._model = model
        self._journal = journal
        self._replay = replay
        self._role = role
        self._meter = meter or Meter()
        self._price = price
        self._owed = owed
        self._running: dict[str, asyncio.Task[ChatReply]] = {}

    def request(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, *, sample: int = 0, attempt: int = 0
    ) -> ChatRequest:
        """The request that the model would be sent; pure."""
        return self._model.request(messages, schema, sample=sample, attempt=attempt)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The stored reply, or the model's, which is then stored.

        Raises:
            NotStored: in replay, the journal does not hold the reply.
            CallOwed: the request was put among those that are owed.
            LimitReached: the budget does not allow another call.
            ModelError: the model gave none; nothing is stored.
            StoreError: the reply could not be stored.
        """
        key = request.key()
        if (stored := self._journal.get(key)) is not None:
            self.usage.stored += 1
            return stored
        if self._replay:
            raise NotStored(
                f"the journal {str(self._journal.path)!r} holds no reply of {self.name!r} ({request.model}) "
                f"to the {self._role} {key}: {request.messages[-1].content[:120]!r}",
                hint="build once without --replay, or check that recipe, corpus and version are those of the journal",
            )
        if self._owed is not None:
            self._owed[key] = request
            raise CallOwed(f"the {self._role} {key} to {self.name!r} is left to a batch")
        call = self._running.get(key)
        if call is None:
            call = self._running[key] = asyncio.create_task(self._call(key, request))
            call.add_done_callback(lambda ended: self._forget(key, ended))
        return await asyncio.shield(call)

    async def finish(self) -> None:
        """Wait for the calls in flight: they are paid for, and their replies are stored."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def close(self) -> None:
        """End the calls in flight and free the model."""
        calls = list(self._running.values())
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await self._model.close()

    def _forget(self, key: str, ended: asyncio.Task[ChatReply]) -> None:
        del self._running[key]
        if not ended.cancelled():
            ended.exception()  # seen, also where nobody waits for the call any more

    async def _call(self, key: str, request: ChatRequest) -> ChatReply:
        self._meter.begin()
        began = time.perf_counter()
        tokens, usd = 0, 0.0
        try:
            reply = await self._model.chat(request)
            tokens = reply.prompt_tokens + reply.completion_tokens
            usd = cost_usd(self._price, reply) if self._price else 0.0
        finally:
            self._meter.end(tokens, usd)
        self.usage.add(reply, time.perf_counter() - began, self._price)
        return await self._journal.put(key, request, reply)


class RecordedEmbedder:
    """A sentence encoder behind the vector store; encodes each distinct text once. With `replay`, never."""

    def __init__(self, embedder: Embedder, vectors: Vectors, *, replay: bool = False) -> None:
        self.id = embedder.id
        self.usage = Usage()
        self._embedder = embedder
        self._vectors = vectors
        self._replay = replay
        self._turn = asyncio.Lock()
        """One computation at a time, so that texts in flight are not encoded twice."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (n_texts, dim), rows of unit length.

        Raises:
            NotStored: in replay, a text has no stored vector.
            ModelError: an encoder behind an endpoint gave none.
        """
        distinct = list(dict.fromkeys(texts))
        async with self._turn:
            found = dict(zip(distinct, await asyncio.to_thread(self._vectors.get_many, self.id, distinct), strict=True))
            missing = [text for text, vector in found.items() if vector is None]
            self.usage.stored += len(distinct) - len(missing)
            if missing and self._replay:
                raise NotStored(
                    f"the vector store {str(self._vectors.path)!r} lacks {len(missing)} of {len(distinct)} vectors of "
                    f"{self.id!r}; the first is that of {missing[0][:120]!r}",
                    hint="build once without --replay, or check that encoder and corpus are those of the store",
                )
            for start in range(0, len(missing), _CHUNK):
                chunk = missing[start : start + _CHUNK]
                began = time.perf_counter()
                vectors = await self._embedder.embed(chunk)
                self.usage.seconds += time.perf_counter() - began
                self.usage.calls += len(chunk)
                await asyncio.to_thread(self._vectors.put_many, self.id, chunk, vectors)
                found.update(zip(chunk, vectors, strict=True))
        rows = [vector for text in texts if (vector := found[text]) is not None]
        return np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)

    async def close(self) -> None:
        """Free the encoder."""
        await self._embedder.close()
