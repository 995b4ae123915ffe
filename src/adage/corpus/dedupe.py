"""Same proverb, same meaning: rows with one key merge; rows that mean the same form a group but stay apart."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec
import numpy as np
import regex

from adage.language import Language
from adage.records import RawRow
from adage.text.near import THRESHOLD, near_pairs
from adage.text.unicode import key

LARGE_GROUP = 10
"""Members above which a meaning group is suspicious: it may hang together by a careless explanation."""


class Pair(NamedTuple):
    """Two spellings that were merged."""

    kept: str
    """Place of the row that stays."""
    merged: str
    kept_text: str
    merged_text: str


class Merged(NamedTuple):
    """Proverbs after merging."""

    rows: tuple[RawRow, ...]
    """One per key, in file order, with the explanations and variants of all its rows; no rejected ones."""
    into: tuple[int, ...]
    """For each given row the index of the one it merged into (its own where it stays); -1 for a rejected one."""
    by_spaces: tuple[Pair, ...]
    """Merges of texts that differ in nothing but spaces."""
    by_marks: tuple[Pair, ...]
    """Merges of texts that differ in nothing but combining marks (vowelling, tones)."""


class Groups(NamedTuple):
    """Meaning groups."""

    of: tuple[int, ...]
    """For each row the index of its group's first member."""
    large: tuple[tuple[int, ...], ...]
    """Members of each group of more than `LARGE_GROUP`."""


def merge_keys(keys: Sequence[str], scores: Sequence[float]) -> list[int]:
    """For each row the index of the row it merges into: of those with its key, the first with the highest score.

    >>> merge_keys(["a", "b", "a", "a"], [0, 0, 2, 2])
    [2, 1, 2, 2]
    """
    best: dict[str, int] = {}
    for index, name in enumerate(keys):
        if name not in best or scores[index] > scores[best[name]]:
            best[name] = index
    return [best[name] for name in keys]


def meaning_groups(
    keys: Sequence[str],
    explanation_keys: Iterable[Iterable[str]],
    marks: Sequence[str],
    *,
    threshold: float = THRESHOLD,
) -> list[int]:
    """For each row the index of the first member of its meaning group.

    A group is a connected component of: equal keys, near-duplicate keys (`near_pairs`), a shared explanation, the same
    mark set by hand. Not by similarity of embeddings, which would chain everything.

    Args:
        keys: Key text of each row.
        explanation_keys: Keys of the usable explanations of each row.
        marks: Mark of each row, empty for none.
        threshold: Similarity from which keys are near duplicates.

    >>> meaning_groups(["abc", "xyz", "uvw"], [["m"], [], ["m"]], ["", "", ""])
    [0, 1, 0]
    """
    parent = list(range(len(keys)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    def join(a: int, b: int) -> None:
        low, high = sorted((root(a), root(b)))
        parent[high] = low

    for left, right, _ in near_pairs(keys, threshold=threshold):
        join(left, right)
    owners, labels = array("q"), array("Q")
    for index, (name, mark, texts) in enumerate(zip(keys, marks, explanation_keys, strict=True)):
        for kind, label in (("key", name), ("mark", mark), *(("explanation", text) for text in texts)):
            if label:
                owners.append(index)
                labels.append(hash_of(f"{kind}\0{label}"))
    order = np.argsort(np.frombuffer(labels, dtype=np.uint64), kind="stable")
    same = np.diff(np.frombuffer(labels, dtype=np.uint64)[order]) == 0
    members = np.frombuffer(owners, dtype=np.int64)[order]
    for left, right in zip(members[:-1][same].tolist(), members[1:][same].tolist(), strict=True):
        join(left, right)
    return [root(index) for index in range(len(keys))]


def hash_of(label: str) -> int:
    """A hash that stands for a label, eight bytes instead of a text; that two of a million agree has odds of 1e-7."""
    return int.from_bytes(blake2b(label.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def explained(row: RawRow) -> float:
    """How well a row explains its proverb, for choosing the best of several: 0 for not at all.

    Longer is better up to 200 characters; what is flagged (shared, quoting, run together) counts half.
    """
    if not row.explanations:
        return 0.0
    flagged = any(flag in {"explanation_shared", "explanation_run_on", "leak", "instructions"} for flag in row.flags)
    return (1 + min(len(row.explanations[0]), 200) / 200) * (0.5 if flagged else 1.0)


def merge(rows: Sequence[RawRow], language: Language) -> Merged:
    """Merge rows of equal key; the best-explained one gives the text, and all their explanations are kept."""
    good = [index for index, row in enumerate(rows) if not row.rejected]
    targets = merge_keys([key(rows[i].text, language) for i in good], [explained(rows[i]) for i in good])
    into = [-1] * len(rows)
    merged_by: dict[int, list[int]] = defaultdict(list)
    for place, index in enumerate(good):
        into[index] = good[targets[place]]
        if into[index] != index:
            merged_by[into[index]].append(index)
    by_spaces, by_marks = list[Pair](), list[Pair]()
    for kept in sorted(merged_by):
        for index in merged_by[kept]:
            pair = Pair(rows[kept].place, rows[index].place, rows[kept].text, rows[index].text)
            bare = [_NO_SIGNS.sub("", text) for text in (pair.kept_text, pair.merged_text)]
            if bare[0] == bare[1]:
                continue
            if len({text.replace(" ", "") for text in bare}) == 1:
                by_spaces.append(pair)
            elif len({_MARKS.sub("", text) for text in bare}) == 1:
                by_marks.append(pair)
    united = tuple(
        _unite(rows[i], [rows[j] for j in merged_by[i]]) if i in merged_by else rows[i] for i in good if into[i] == i
    )
    return Merged(united, tuple(into), tuple(by_spaces), tuple(by_marks))


_NO_SIGNS = regex.compile(r"[\p{P}\p{S}]")
_MARKS = regex.compile(r"[\p{M}\u0640]")


def _unite(kept: RawRow, merged: Sequence[RawRow]) -> RawRow:
    """The kept row with what the others add, its own first."""
    ordered = [kept, *merged]
    others = (text for row in ordered for text in (row.text, *row.variants))
    return msgspec.structs.replace(
        kept,
        explanations=tuple(dict.fromkeys(text for row in ordered for text in row.explanations)),
        variants=tuple(dict.fromkeys(text for text in others if text != kept.text)),
        gloss="; ".join(dict.fromkeys(row.gloss for row in ordered if row.gloss)),
        group=next((row.group for row in ordered if row.group), ""),
        equivalent=next((row.equivalent for row in ordered if row.equivalent), ""),
        variety=next((row.variety for row in ordered if row.variety), ""),
        reading=next((row.reading for row in ordered if row.reading), ""),
        flags=tuple(dict.fromkeys(flag for row in ordered for flag in row.flags)),
    )


def groups(rows: Sequence[RawRow], language: Language, *, threshold: float = THRESHOLD) -> Groups:
    """Meaning groups of good rows."""
    found = meaning_groups(
        [key(row.text, language) for row in rows],
        ([key(text, language) for text in row.explanations] for row in rows),
        [row.group for row in rows],
        threshold=threshold,
    )
    members: dict[int, list[int]] = defaultdict(list)
    for index, first in enumerate(found):
        members[first].append(index)
    return Groups(tuple(found), tuple(tuple(group) for group in members.values() if len(group) > LARGE_GROUP))
