"""The vector store: exact, keyed by encoder and text, and fast enough for a large corpus."""

import time

import numpy as np
import pytest

from adage.errors import StoreError
from adage.store.vectors import Vectors


def drawn(rows, dim=8):
    """Some float32 vectors of shape (rows, dim)."""
    return np.random.default_rng(0).standard_normal((rows, dim)).astype(np.float32)


@pytest.fixture
def store(tmp_path):
    """An empty store."""
    with Vectors(tmp_path / "vectors.sqlite") as store:
        yield store


def test_vectors_come_back_bit_for_bit(store):
    """Also after opening the file again; an unknown text gives None, in its place."""
    vectors = drawn(3)
    store.put_many("e5", ["a", "ب", "\ud800"], vectors)
    with Vectors(store.path) as again:
        found = again.get_many("e5", ["\ud800", "?", "a", "ب", "a"])
    assert found[1] is None
    for vector, expected in zip([found[0], *found[2:]], vectors[[2, 0, 1, 0]], strict=True):
        np.testing.assert_array_equal(vector, expected)


def test_encoders_do_not_mix(store):
    """The prefix is part of an encoder's id, and so of the key."""
    store.put_many("e5:query: ", ["a"], drawn(1))
    assert store.get_many("e5:passage: ", ["a"]) == [None]
    assert store.get_many("e5:", ["query: a"]) == [None]


def test_the_first_vector_stays(store):
    """A text that is stored is not overwritten, by whichever process comes second."""
    store.put_many("e", ["a"], drawn(1))
    store.put_many("e", ["a", "b"], drawn(2) + 1)
    np.testing.assert_array_equal(store.get_many("e", ["a"])[0], drawn(1)[0])
    assert len(store) == 2


def test_a_failed_put_stores_nothing(store):
    """Texts and vectors must match one to one; the transaction is taken back."""
    with pytest.raises(ValueError, match="zip"):
        store.put_many("e", ["a", "b"], drawn(1))
    assert len(store) == 0
    assert store.get_many("e", []) == []


@pytest.mark.slow
def test_a_hundred_thousand_vectors_take_seconds(store):
    """The size of the largest corpora: writing and reading stay far below the time of encoding."""
    texts = [f"proverb {number}" for number in range(100_000)]
    vectors = drawn(100_000, 384)
    began = time.monotonic()
    store.put_many("e5", texts, vectors)
    found = store.get_many("e5", texts)
    assert time.monotonic() - began < 60
    np.testing.assert_array_equal(np.stack(found), vectors)


def test_a_file_that_is_no_store_is_named(tmp_path):
    """The message gives the file and the next step."""
    (tmp_path / "v.sqlite").write_bytes(b"no database " * 1000)
    with pytest.raises(StoreError, match=r"v\.sqlite' is damaged") as caught:
        Vectors(tmp_path / "v.sqlite")
    assert caught.value.hint
