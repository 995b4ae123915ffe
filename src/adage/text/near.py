"""Near duplicates among proverbs: pairs of keys that differ in spelling or in a small word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

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
_RIVALS = 3_000
"""Keys met through the rarest n-grams of a key after which its less rare ones are not looked up."""


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
        if not len(rivals):
            continue
        a, others = ordered[place], [ordered[rival] for rival in rivals]
        scores = cdist([a], others, scorer=Indel.normalized_similarity, score_cutoff=threshold - 1e-6)[0]
        for hit in np.flatnonzero(scores):
            b = others[hit]
            similarity = Indel.normalized_similarity(a, b)
            if similarity >= threshold and _same_words(a, b):
                i, j = sorted((by_length[place], by_length[rivals[hit]]))
                found.append((i, j, similarity))
    return sorted(found)


def _same_words(a: str, b: str) -> bool:
    """Whether two close keys are long enough to tell, or one is the other with something added."""
    return min(len(a), len(b)) >= _SHORT or Indel.distance(a, b) == abs(len(a) - len(b))


def _candidates(keys: Sequence[str], threshold: float) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """For each of the keys, sorted by length, the later ones that it may be near to."""
    n_keys = len(keys)
    lengths = np.array([len(key) for key in keys])
    # Even with all of the shorter key shared, 2·min / (min + max) must reach the threshold.
    ends = np.searchsorted(lengths, lengths * (2 - threshold) / threshold + 1e-9, side="right")
    if n_keys <= _EXHAUSTIVE:
        for i in range(n_keys - 1):
            yield i, np.arange(i + 1, ends[i], dtype=np.int32)
        return
    chosen = _rare_grams(keys, threshold)
    members: dict[str, list[int]] = {}
    for i, grams in enumerate(chosen):
        for gram in grams:
            members.setdefault(gram, []).append(i)
    postings = {gram: np.array(found, dtype=np.int32) for gram, found in members.items()}
    for i, grams in enumerate(chosen):
        later: list[NDArray[np.int32]] = []
        for gram in grams:
            if len(later) > _GRAM and sum(map(len, later)) > _RIVALS:
                break
            found = postings[gram]
            later.append(found[slice(*np.searchsorted(found, (i + 1, ends[i])))])
        if later:
            met = np.sort(np.concatenate(later))
            # Keys that are near share several rare n-grams; one alone is mostly a common word.
            again = met[1:][met[1:] == met[:-1]] if len(later) > _GRAM else met
            yield i, np.unique(again)


def _rare_grams(keys: Sequence[str], threshold: float) -> list[list[str]]:
    """The rarest n-grams of each key that another key has too.

    They are so many that two survive three misspelled characters, which destroy `_GRAM` n-grams each, or a word
    replaced by another that is as long as `threshold` allows. The n-grams of a misspelling are mostly unique: these do
    not count.
    """
    # The ends are padded, so that a key has as many n-grams as characters and short ones have some.
    grams = [list(dict.fromkeys(_padded_grams(key))) for key in keys]
    counts = Counter(chain.from_iterable(grams))
    chosen = []
    for key, own in zip(keys, grams, strict=True):
        shared = sorted((gram for gram in own if counts[gram] > 1), key=lambda gram: (counts[gram], gram))
        chosen.append(shared[: max(3 * _GRAM, int((1 - threshold) * len(key)) + _GRAM) + 2])
    return chosen


def _padded_grams(key: str) -> Iterator[str]:
    padded = f"\x02{key}\x03"
    return (padded[start : start + _GRAM] for start in range(len(padded) - _GRAM + 1))
