"""Near duplicates among proverbs: pairs of keys that differ in spelling or in a small word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

THRESHOLD = 0.87
"""Indel similarity from which two proverbs are taken for one; see `near_pairs`."""
_EXHAUSTIVE = 3_000
"""Keys up to which every pair is compared."""
_SHORT = 10
"""Length in characters below which a replaced character is taken for another word."""
_GRAM = 3
_SURE = 4
"""N-grams of a key, its rarest, that are always looked up."""
_RIVALS = 1_000
"""Keys met through the rarest n-grams of a key after which its less rare ones are not looked up."""
_BUCKETS = 22
"""Binary logarithm of the number of buckets that n-grams are hashed into, which bounds the memory of counting them."""
_BATCH = 1 << 14
"""Keys whose n-grams are looked up at once."""
_BLOCK = 1 << 20
"""Meetings of keys that are held in memory at once."""


def near_pairs(keys: Sequence[str], *, threshold: float = THRESHOLD) -> list[tuple[int, int, float]]:
    """Pairs (i, j, similarity) of keys with i < j and a similarity of at least `threshold`, in order of i and j.

    Similarity is Indel's, 2·LCS / (|a| + |b|): a replaced letter costs twice what an added one does, so that proverbs
    of one template with another noun stay further apart than under Levenshtein. Looked at on Arabic, Amharic, Japanese,
    Korean, Turkish, Indonesian and Ukrainian collections, most pairs above .87 are one proverb: another spelling, a
    small word more or less, a synonym in a long sentence. From .85 down other proverbs of the same template take over.
    (The Arabic "more X than Y" sayings stay a source of false pairs; these cost a distractor, not a wrong answer.)

    Under ten characters a replaced character is mostly another word (一石二鳥, 一石三鳥), so one key must hold all of
    the other, in order: 天高く馬肥ゆる, 天高く馬肥ゆる秋.

    Up to 3,000 keys all pairs are compared. Above, only keys that share two of their rarest character 3-grams are.

    Raises:
        ValueError: `threshold` is not in (0, 1].
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold is {threshold!r}, expected a number above 0 and up to 1")
    by_length = sorted((i for i, key in enumerate(keys) if key), key=lambda i: len(keys[i]))
    ordered = [keys[i] for i in by_length]
    found = []
    for place, rivals in _candidates(ordered, threshold):
        a, others = ordered[place], [ordered[rival] for rival in rivals]
        scores = cdist([a], others, scorer=Indel.normalized_similarity, score_cutoff=threshold - 1e-6)[0]
        for hit in np.flatnonzero(scores):
            b = others[hit]
            similarity = Indel.normalized_similarity(a, b)
            if similarity >= threshold and same_words(a, b):
                i, j = sorted((by_length[place], by_length[rivals[hit]]))
                found.append((i, j, similarity))
    return sorted(found)


def same_words(a: str, b: str) -> bool:
    """Whether two close keys are long enough to tell, or one is the other with something added."""
    return min(len(a), len(b)) >= _SHORT or Indel.distance(a, b) == abs(len(a) - len(b))


def _candidates(keys: Sequence[str], threshold: float) -> Iterator[tuple[int, list[int]]]:
    """For each of the keys, sorted by length, the later ones that it may be near to, if there are any."""
    n_keys = len(keys)
    lengths = np.array([len(key) for key in keys])
    # Even with all of the shorter key shared, 2·min / (min + max) must reach the threshold.
    ends = np.searchsorted(lengths, lengths * (2 - threshold) / threshold + 1e-9, side="right")
    if n_keys <= _EXHAUSTIVE:
        yield from ((i, list(range(i + 1, ends[i]))) for i in range(n_keys - 1) if ends[i] > i + 1)
        return
    owners, grams = _rare_grams(keys, lengths, threshold)
    order = np.argsort(grams, kind="stable")
    postings = owners[order]
    # In `met` a gram's keys stand together, ascending, so that one search finds where those near enough in length end.
    met = grams[order].astype(np.int64) * n_keys + postings
    starts = np.empty(len(order), dtype=np.int32)
    starts[order] = np.arange(1, len(order) + 1, dtype=np.int32)
    del order
    for batch in range(0, n_keys, _BATCH):
        mine = slice(*np.searchsorted(owners, (batch, batch + _BATCH)))
        own = owners[mine].astype(np.int64)
        counts = np.searchsorted(met, grams[mine].astype(np.int64) * n_keys + ends[own]) - starts[mine]
        counts[~_looked_up(own, counts)] = 0
        for part in _blocks(own, counts):
            yield from _met(own[part], starts[mine][part], counts[part], postings, n_keys)


def _met(
    owners: NDArray[np.int64],
    starts: NDArray[np.int32],
    counts: NDArray[np.int64],
    postings: NDArray[np.int32],
    n_keys: int,
) -> Iterator[tuple[int, list[int]]]:
    """For each key the later ones that it shares enough n-grams with, looked up in `postings`."""
    left = np.repeat(owners, counts)
    run_ends = np.cumsum(counts)
    offsets = np.arange(len(left)) - np.repeat(run_ends - counts, counts)
    right = postings[np.repeat(starts, counts) + offsets]
    pairs = np.sort(left * n_keys + right)
    runs = np.flatnonzero(np.diff(pairs, prepend=-1))
    times = np.diff(runs, append=len(pairs))
    # Keys that are near share several rare n-grams; one alone is mostly a common word.
    first = owners[0]
    needed = np.where(np.bincount(owners - first) >= _SURE, 2, 1)
    left, right = np.divmod(pairs[runs[times >= needed[pairs[runs] // n_keys - first]]], n_keys)
    bounds = np.flatnonzero(np.diff(left, prepend=-1, append=-1))
    for start, stop in pairwise(bounds.tolist()):
        yield int(left[start]), right[start:stop].tolist()


def _looked_up(owners: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Of each key's n-grams, rarest first, which are looked up: some for sure, more while they meet few other keys."""
    before = np.cumsum(counts) - counts
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    key_of = np.cumsum(np.diff(owners, prepend=-1) != 0) - 1
    rank = np.arange(len(owners)) - first[key_of]
    looked: NDArray[np.bool_] = (rank < _SURE) | (before - before[first][key_of] <= _RIVALS)
    return looked


def _blocks(owners: NDArray[np.int64], counts: NDArray[np.int64]) -> Iterator[slice]:
    """Consecutive parts of the n-grams, each of whole keys, whose counts sum to about `_BLOCK`."""
    if not len(owners):
        return
    first = np.flatnonzero(np.diff(owners, prepend=-1, append=-1))
    numbers = np.cumsum(np.add.reduceat(counts, first[:-1])) // _BLOCK
    bounds = first[[0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), -1]]
    yield from (slice(start, stop) for start, stop in pairwise(bounds.tolist()))


def _rare_grams(
    keys: Sequence[str], lengths: NDArray[np.int64], threshold: float
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The rarest n-grams of each key that another key has too, as (key, n-gram), by key and rarity.

    They are so many that two survive three misspelled characters, which destroy `_GRAM` n-grams each, or a word
    replaced by another that is as long as `threshold` allows. The n-grams of a misspelling are mostly unique: these do
    not count. N-grams are hashed; where two share a bucket they are one, which costs a comparison and loses nothing.
    """
    batches = range(0, len(keys), _BATCH)

    def hashed(start: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        return _hashed_grams(keys[start : start + _BATCH], lengths[start : start + _BATCH])

    usage = np.zeros(1 << _BUCKETS, dtype=np.int64)
    for start in batches:
        usage += np.bincount(hashed(start)[1], minlength=len(usage))
    most = np.maximum(3 * _GRAM, ((1 - threshold) * lengths).astype(np.int64) + _GRAM) + 2
    chosen = []
    for start in batches:
        owners, grams = hashed(start)
        order = np.lexsort((grams, usage[grams], owners))
        order = order[usage[grams[order]] > 1]
        first = np.searchsorted(owners[order], owners[order])
        order = order[np.arange(len(order)) - first < most[start + owners[order]]]
        chosen.append((owners[order] + np.int32(start), grams[order]))
    return np.concatenate([owners for owners, _ in chosen]), np.concatenate([grams for _, grams in chosen])


def _hashed_grams(keys: Sequence[str], lengths: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Distinct n-grams of each key as (place of the key, bucket), in order of both.

    The ends are padded, so that a key has as many n-grams as characters and short ones have some.
    """
    text = "".join(f"\x02{key}\x03" for key in keys)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    # Fibonacci hashing: three code points of 21 bits, times 2^64 over the golden ratio, of which the top bits are kept.
    packed = (codes[:-2] << np.uint64(42)) | (codes[1:-1] << np.uint64(21)) | codes[2:]
    buckets = (packed * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - _BUCKETS)
    own = np.repeat(np.arange(len(keys), dtype=np.uint64), lengths + 2)
    inside = own[:-2] == own[2:]
    distinct = np.sort((own[:-2][inside] << np.uint64(_BUCKETS)) | buckets[inside])
    distinct = distinct[np.diff(distinct, prepend=np.uint64(1 << 63)) != 0]
    owners, grams = np.divmod(distinct, np.uint64(1 << _BUCKETS))
    return owners.astype(np.int32), grams.astype(np.int32)
