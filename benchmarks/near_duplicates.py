"""The blocked search for near duplicates, against all pairs and against MinHash (package `datasketch`).

    python benchmarks/near_duplicates.py [--sizes 5000 20000 100000] [--all-pairs-up-to 20000]

Keys are made up: words of few syllables with natural frequencies, one key in fifty an edited copy of another. MinHash
proposes pairs, which are then compared as `near_pairs` compares them; recall is against all pairs where these are
computed, else against the planted copies.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections.abc import Callable

from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from adage.text.near import THRESHOLD, near_pairs, same_words

try:
    from datasketch import MinHash, MinHashLSH
except ImportError:
    MinHash = MinHashLSH = None

Pairs = set[tuple[int, int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 20_000, 100_000], help="numbers of keys")
    parser.add_argument("--all-pairs-up-to", type=int, default=20_000)
    arguments = parser.parse_args()
    searches: dict[str, Callable[[list[str]], Pairs]] = {"blocked": blocked, "all pairs": all_pairs, "MinHash": minhash}
    if MinHashLSH is None:
        print("MinHash is skipped: the package 'datasketch' is not installed (pip install datasketch)")
        del searches["MinHash"]
    print("      n  search       seconds   pairs  recall")
    for n in arguments.sizes:
        keys, planted = made_up(n)
        truth = all_pairs(keys) if n <= arguments.all_pairs_up_to else planted
        for name, search in searches.items():
            if name == "all pairs" and n > arguments.all_pairs_up_to:
                continue
            started = time.perf_counter()
            found = search(keys)
            seconds = time.perf_counter() - started
            print(
                f"{n:7d}  {name:10s} {seconds:9.2f} {len(found):7d} {len(found & truth) / len(truth):7.3f}", flush=True
            )


def blocked(keys: list[str]) -> Pairs:
    """ADAGE's search."""
    return {(i, j) for i, j, _ in near_pairs(keys)}


def all_pairs(keys: list[str]) -> Pairs:
    """Every pair, by the same measure."""
    found = set()
    for start in range(0, len(keys), 256):
        part = keys[start : start + 256]
        scores = cdist(part, keys, scorer=Indel.normalized_similarity, score_cutoff=THRESHOLD)
        for row, column in zip(*scores.nonzero(), strict=True):
            i, j = start + int(row), int(column)
            if i < j and same_words(keys[i], keys[j]):
                found.add((i, j))
    return found


def minhash(keys: list[str]) -> Pairs:
    """MinHash LSH over character 3-grams with 64 permutations, then the same comparison."""
    index = MinHashLSH(threshold=0.5, num_perm=64)
    found = set()
    sketches = MinHash.generator(
        ({key[i : i + 3].encode() for i in range(max(1, len(key) - 2))} for key in keys), num_perm=64
    )
    for j, sketch in enumerate(sketches):
        for i in index.query(sketch):
            a, b = keys[i], keys[j]
            if Indel.normalized_similarity(a, b) >= THRESHOLD and same_words(a, b):
                found.add((i, j))
        index.insert(j, sketch)
    return found


def made_up(n: int) -> tuple[list[str], Pairs]:
    """Keys, and the pairs of which one is an edited copy of the other."""
    rng = random.Random(n)
    syllables = [start + vowel + end for start in "bdfgklmnprstz" for vowel in "aeiou" for end in ("", "n", "s")]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(10_000)]
    usage = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    copies = n // 50
    drawn = (rng.choices(words, cum_weights=usage, k=rng.randint(3, 8)) for _ in range(n - copies))
    keys = [" ".join(dict.fromkeys(sentence)) for sentence in drawn]
    planted = set()
    for i in range(copies):
        place = rng.randrange(len(keys[i]))
        if len(keys[i]) >= 16:
            planted.add((i, len(keys)))
        keys.append(keys[i][:place] + rng.choice(["", keys[i][place] * 2, "x"]) + keys[i][place + 1 :])
    return keys, planted


if __name__ == "__main__":
    main()
