"""Near duplicates."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adage.text import near
from adage.text.near import near_pairs

SYLLABLES = [consonant + vowel + end for consonant in "bdfgklmnprstz" for vowel in "aeiou" for end in ("", "n", "s")]


def _sentences(n: int, seed: int) -> list[str]:
    """Made-up keys of three to eight words, some of them frequent, as words are."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(10_000)]
    zipf = [1 / rank for rank in range(1, 10_001)]
    return [" ".join(rng.choices(words, zipf, k=rng.randint(3, 8))) for _ in range(n)]


def _edited(key: str, rng: random.Random) -> str:
    """The key with one character gone, doubled or replaced."""
    place = rng.randrange(len(key))
    return key[:place] + rng.choice(["", key[place] * 2, "x"]) + key[place + 1 :]


def _exhaustive(keys: list[str], threshold: float) -> list[tuple[int, int, float]]:
    """All pairs by the plain definition."""
    found = []
    for i, a in enumerate(keys):
        for j in range(i + 1, len(keys)):
            b = keys[j]
            row = [0] * (len(b) + 1)
            for x in a:
                above, row = row, [0]
                for k, y in enumerate(b):
                    row.append(above[k] + 1 if x == y else max(above[k + 1], row[k]))
            similarity = 2 * row[-1] / (len(a) + len(b)) if a and b else 0.0
            contained = row[-1] == min(len(a), len(b))
            if similarity >= threshold and (min(len(a), len(b)) >= 10 or contained):
                found.append((i, j, similarity))
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("天高く馬肥ゆる", "天高く馬肥ゆる秋"),
        ("犬も歩けば棒に当たる", "犬も歩けば棒にあたる"),
        ("a bird in the hand is worth two in the bush", "a bird in hand is worth two in the bush"),
        ("deliye göre her gün bayram", "deliye her gün bayram"),
        ("العاشق الكذاب يفرح بالهم", "العاشق الكذاب يفرح بالكهم"),
    ],
)
def test_variants_of_one_proverb_are_near(one: str, other: str) -> None:
    """Another spelling, or a small word more, makes a near pair."""
    [(i, j, similarity)] = near_pairs([one, other])
    assert (i, j) == (0, 1)
    assert similarity >= near.THRESHOLD


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("一石二鳥", "一石三鳥"),
        ("間が良い", "気が良い"),
        ("اظلم من ذئب", "اظلم من صبي"),
        ("the pot calls the kettle black", "the pen outlives the sword"),
        ("", ""),
        ("", "a"),
    ],
)
def test_other_proverbs_are_not_near(one: str, other: str) -> None:
    """Two proverbs of one template, two short ones, and empty keys are no pair."""
    assert near_pairs([one, other]) == []


@given(
    st.lists(st.text(st.sampled_from("abc "), max_size=14), max_size=12),
    st.sampled_from([0.5, 0.75, near.THRESHOLD, 1.0]),
)
def test_small_searches_are_exhaustive(keys: list[str], threshold: float) -> None:
    """Up to 3,000 keys the result is exactly that of comparing every pair by the definition."""
    found = near_pairs(keys, threshold=threshold)
    expected = _exhaustive(keys, threshold)
    assert [pair[:2] for pair in found] == [pair[:2] for pair in expected]
    assert [pair[2] for pair in found] == pytest.approx([pair[2] for pair in expected])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_blocked_search_finds_what_the_exhaustive_one_finds(seed: int) -> None:
    """Blocking by rare n-grams loses at most one near pair in a hundred, and invents none."""
    rng = random.Random(seed)
    keys = _sentences(120, seed)
    keys += [_edited(key, rng) for key in keys]
    rng.shuffle(keys)
    expected = near_pairs(keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near, "_EXHAUSTIVE", 0)
        found = near_pairs(keys)
    assert set(found) <= set(expected)
    assert len(found) >= 0.99 * len(expected)
    assert found == sorted(found)


@pytest.mark.slow
def test_fifty_thousand_keys_take_seconds() -> None:
    """A large collection is searched in well under a minute and finds its planted variants."""
    rng = random.Random(1)
    keys = _sentences(49_000, seed=1)
    keys += [_edited(key, rng) for key in keys[:1_000]]
    start = time.perf_counter()
    pairs = {(i, j) for i, j, _ in near_pairs(keys)}
    assert time.perf_counter() - start < 60
    planted = [(i, 49_000 + i) for i in range(1_000) if len(keys[i]) >= 16]
    assert sum(pair in pairs for pair in planted) >= 0.99 * len(planted)


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.1])
def test_impossible_threshold_is_refused(threshold: float) -> None:
    """A threshold that would pair everything, or nothing, is a mistake."""
    with pytest.raises(ValueError, match="threshold"):
        near_pairs(["a"], threshold=threshold)
