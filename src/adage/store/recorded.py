"""Models behind their stores: what was answered or encoded once is never asked for again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from adage.errors import AdageError, CallOwed, NotStored, StoreError
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


class _Asked:
    """A request that is being answered."""

    __slots__ = ("call", "request", "waiting")

    def __init__(self, request: ChatRequest) -> None:
        self.request = request
        self.waiting: list[asyncio.Future[ChatReply]] = []
        self.call: asyncio.Task[None] | None = None
        """The call to the model, once it is known that there must be one."""


class RecordedChat:
    """A chat model behind the journal: looks there first, and stores a reply before giving it out. For one event loop.

    Identical requests in flight are sent once. A call goes on, and is stored, when those who wait for it are cancelled;
    `close` ends it. With `replay` the model is never called. `meter` is asked before each call; models of one build
    share it, and where it limits tokens or money, no more than `concurrency` calls wait for their end. With `owed`, the
    model is not called either: what it would be asked is put there, for an offline batch.
    """

    def __init__(
        self,
        model: ChatModel,
        journal: Journal,
        *,
        replay: bool = False,
        role: str = "request",
        meter: Meter | None = None,
        concurrency: int = 16,
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
        self._begun = asyncio.Semaphore(concurrency) if self._meter.must_know_costs else nullcontext()
        """What bounds the calls that are begun while it is not known what they cost."""
        self._price = price
        self._owed = owed
        self._asked: dict[str, _Asked] = {}
        """What is being answered, by key."""
        self._new: list[str] = []
        """Keys of what was asked for in this round of the event loop."""

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
        loop = asyncio.get_running_loop()
        if key not in self._asked:
            if not self._new:
                loop.call_soon(self._begin)
            self._new.append(key)
            self._asked[key] = _Asked(request)
        answer: asyncio.Future[ChatReply] = loop.create_future()
        self._asked[key].waiting.append(answer)  # its own future: who is cancelled takes that with him, not the call
        return await answer

    async def finish(self) -> None:
        """Wait for the calls in flight: they are paid for, and their replies are stored."""
        loop = asyncio.get_running_loop()
        called = [asked for asked in self._asked.values() if asked.call is not None]
        ends: list[asyncio.Future[ChatReply]] = [loop.create_future() for _ in called]
        for asked, end in zip(called, ends, strict=True):
            asked.waiting.append(end)
        await asyncio.gather(*ends, return_exceptions=True)

    async def close(self) -> None:
        """End the calls in flight and free the model."""
        for key in self._new:
            self._settle(key)
        self._new.clear()
        for asked in self._asked.values():
            if asked.call is not None:
                asked.call.cancel()
        await self.finish()
        await self._model.close()

    def _begin(self) -> None:
        """Look up what was asked for in this round of the event loop, all at once, and begin the calls it takes."""
        new, self._new = self._new, []
        try:
            stored = self._journal.get_many(new) if new else {}
        except StoreError as error:
            for key in new:
                self._settle(key, error)
            return
        for key in new:
            asked = self._asked[key]
            if key in stored:
                self.usage.stored += len(asked.waiting)
                self._settle(key, stored[key])
            elif (fault := self._not_called(key, asked.request)) is not None:
                self._settle(key, fault)
            elif all(answer.done() for answer in asked.waiting):  # all have been cancelled: nobody wants it any more
                self._settle(key)
            else:
                asked.call = asyncio.create_task(self._call(key, asked.request))
                asked.call.add_done_callback(partial(self._ended, key))

    def _not_called(self, key: str, request: ChatRequest) -> AdageError | None:
        """Why the model is not to be asked at all."""
        if self._replay:
            return NotStored(
                f"the journal {str(self._journal.path)!r} holds no reply of {self.name!r} ({request.model}) "
                f"to the {self._role} {key}: {request.messages[-1].content[:120]!r}",
                hint="build once without --replay, or check that recipe, corpus and version are those of the journal",
            )
        if self._owed is not None:
            self._owed[key] = request
            return CallOwed(f"the {self._role} {key} to {self.name!r} is left to a batch")
        return None

    def _ended(self, key: str, call: asyncio.Task[None]) -> None:
        """Settle a request whose call gave no reply; one that did is settled once that is stored."""
        if call.cancelled():
            self._settle(key)
        elif (fault := call.exception()) is not None:
            self._settle(key, fault)

    def _settle(self, key: str, outcome: ChatReply | BaseException | None = None) -> None:
        """Tell those who still wait what became of a request: a reply, an error, or nothing where it was cancelled."""
        for answer in self._asked.pop(key).waiting:
            if answer.done():
                continue
            if outcome is None:
                answer.cancel()
            elif isinstance(outcome, BaseException):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)

    async def _call(self, key: str, request: ChatRequest) -> None:
        async with self._begun:
            reply = await self._paid(request)
        self._journal.store(key, request, reply, partial(self._settle, key))

    async def _paid(self, request: ChatRequest) -> ChatReply:
        """The model's reply, counted."""
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
        return reply


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
