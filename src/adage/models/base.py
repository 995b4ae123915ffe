"""The narrow seam between stages and models: what a stage may ask for, and what it gets back."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from adage.records import Record

_canonical = msgspec.json.Encoder(order="sorted")


class Message(Record, frozen=True, kw_only=True):
    """One chat message."""

    role: str
    content: str


class ChatRequest(Record, frozen=True, kw_only=True, omit_defaults=False, dict=True):
    """Everything that determines a reply; its hash is the journal's key.

    What is computed from it is computed once (hence `dict`: room beside the fields, which is not written).
    """

    model: str
    """Model id, as the endpoint knows it."""
    family: str
    """Kind of endpoint and its address without credentials, e.g. `endpoint:localhost:8000/v1`, `local`, `scripted`."""
    messages: tuple[Message, ...]
    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 1024
    seed: int | None = None
    schema: dict[str, Any] | None = None
    """JSON schema of the answer, or None for free text."""
    sample: int = 0
    """Which of several draws of the same prompt."""
    attempt: int = 0
    """Grows when a row that failed is tried again in a later run."""
    extra: dict[str, Any] = {}
    """Further parameters in the endpoint's own terms, e.g. `reasoning_effort`."""

    def key(self) -> str:
        """BLAKE2b-128 over the canonical JSON of all fields."""
        made: dict[str, str] = self.__dict__
        if "_key" not in made:
            made["_key"] = blake2b(self.canonical(), digest_size=16, person=b"chat/2").hexdigest()
        return made["_key"]

    def canonical(self) -> bytes:
        """All fields as JSON with sorted keys: what is hashed, and what the journal stores."""
        made: dict[str, bytes] = self.__dict__
        if "_canonical" not in made:
            made["_canonical"] = _canonical.encode(self)
        return made["_canonical"]


class ChatReply(Record, frozen=True, kw_only=True):
    """A successful reply, as it came: raw text and what the endpoint said about it."""

    text: str
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the server took from its prefix cache."""
    reasoning: str = ""
    """Thinking that the endpoint returned apart from the answer."""


class Sampling(Record, frozen=True, kw_only=True):
    """How a model draws its replies."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 1024
    seed: int | None = None
    """Seed of the first draw; further samples and attempts get seeds of their own. None: the server's choice."""
    extra: dict[str, Any] = {}
    """Further parameters in the endpoint's own terms; part of the request, hence of its key."""

    def request(
        self,
        model: str,
        family: str,
        messages: Sequence[Message],
        schema: dict[str, Any] | None,
        *,
        sample: int,
        attempt: int,
    ) -> ChatRequest:
        """The request for one draw from `model`."""
        return ChatRequest(
            model=model,
            family=family,
            messages=tuple(messages),
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens,
            seed=None if self.seed is None else self.seed + sample + 1000 * attempt,
            schema=schema,
            sample=sample,
            attempt=attempt,
            extra=self.extra,
        )


class ChatModel(Protocol):
    """A chat model; `chat` raises a `ModelError` when there is no reply."""

    name: str
    """Name shown to people and stored as provenance."""

    def request(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, *, sample: int = 0, attempt: int = 0
    ) -> ChatRequest:
        """The request that this model, with its own parameters, would be sent; pure."""
        ...

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Send one request."""
        ...

    async def close(self) -> None:
        """Free connections or memory."""
        ...


class Embedder(Protocol):
    """A sentence encoder whose vectors are L2-normalised float32."""

    id: str
    """Identity of encoder, weights and prefix: part of every vector's key."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (n_texts, dim), rows of unit length."""
        ...

    async def close(self) -> None:
        """Free connections or memory."""
        ...


class Guess(Record, frozen=True, kw_only=True):
    """What a language identifier says of a text."""

    language: str
    """BCP 47 primary language, or `und` when it cannot say."""
    confidence: float
    """0 to 1, in the identifier's own scale."""


class LanguageIdentifier(Protocol):
    """Names the language of a text; one that does not know a language must say so."""

    id: str

    def supports(self, language: str) -> bool:
        """Whether the identifier can ever answer this language."""
        ...

    def identify(self, text: str) -> Guess:
        """The most likely language of the text."""
        ...
