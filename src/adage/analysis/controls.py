"""Controls: how well guessers do that cannot understand the items, so that a benchmark's leaks can be seen.

An option-only guesser never sees the scenario. Its accuracy is an expected value: where it would toss a coin, or
several options tie, the item scores the probability of hitting the gold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adage.analysis.stats import clustered_mean

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_DIGITS = 9
"""Scores are compared after rounding, so that equal options tie whatever the order of summation was."""


class Control(NamedTuple):
    """A guesser's accuracy over a set of items."""

    name: str
    space: str
    """What the guesser looks at: a vector space by name, or `clusters`, `lengths`, `counts`."""
    accuracy: float
    low: float
    high: float
    """Ends of the 95 % interval, clustered by meaning group."""
    n: int
    clusters: int
    chance: float
    circular: bool = False
    """Whether the guesser uses the encoder that the options were chosen with."""


@dataclass(frozen=True)
class Options:
    """Items as arrays: each option is the index of its proverb."""

    proverbs: Ints
    """Proverb of each option, shape (items, n)."""
    gold: Ints
    """Position of the gold, shape (items,)."""
    group: NDArray[np.generic]
    """Meaning group of the gold, shape (items,)."""
    cluster: Ints
    """Theme cluster of each proverb, shape (proverbs,)."""
    length: Ints
    """Characters of each proverb, shape (proverbs,)."""
    spaces: Mapping[str, NDArray[np.floating]]
    """Unit vectors of each proverb by name of the space, shape (proverbs, dim) each."""


def option_only(items: Options) -> list[Control]:
    """Accuracy of every guesser that sees the options alone.

    `theme_pair` picks a pair of options that share a cluster (any pair where there are several, any option where
    there is none) and one of the two. `closest_pair` does so with the most similar options of a vector space,
    `medoid` picks the option most similar to the others, `outlier` the least similar one, `longest` the one with
    the most characters, `most_frequent` the one that is an option most often in these items.
    """
    cluster = items.cluster[items.proverbs]
    uses = np.bincount(items.proverbs.ravel(), minlength=len(items.cluster))[items.proverbs]
    guesses = [
        ("theme_pair", "clusters", from_pairs(cluster[:, :, None] == cluster[:, None, :])),
        ("longest", "lengths", from_scores(items.length[items.proverbs])),
        ("most_frequent", "counts", from_scores(uses)),
    ]
    for space, vectors in items.spaces.items():
        cosines = similarities(vectors, items.proverbs)
        upper = np.where(np.eye(cosines.shape[1], dtype=bool), -np.inf, cosines)
        centrality = np.where(np.isfinite(upper), upper, 0.0).sum(axis=2)
        guesses += [
            ("closest_pair", space, from_pairs(upper == upper.max(axis=(1, 2), keepdims=True))),
            ("medoid", space, from_scores(centrality)),
            ("outlier", space, from_scores(-centrality)),
        ]
    return [_control(name, space, guess, items) for name, space, guess in guesses]


def nearest_embedding(
    items: Options, space: str, scenarios: NDArray[np.floating], vectors: NDArray[np.floating], *, circular: bool
) -> Control:
    """Accuracy of picking the option nearest to the scenario: not option-only, but no understanding either.

    Args:
        items: The items.
        space: Name of the encoder and of what it was shown of the options.
        scenarios: Unit vector of each scenario, shape (items, dim).
        vectors: Unit vector of each proverb in the same space, shape (proverbs, dim).
        circular: Whether the options were chosen with this same encoder.
    """
    cosines = np.einsum("id,ind->in", scenarios, vectors[items.proverbs])
    return _control("nearest_embedding", space, from_scores(cosines), items)._replace(circular=circular)


def similarities(vectors: NDArray[np.floating], proverbs: Ints) -> Floats:
    """Cosines among the options of each item, shape (items, n, n), rounded so that equal ones tie."""
    rows = vectors.astype(np.float64)[proverbs]
    cosines: Floats = np.round(rows @ rows.transpose(0, 2, 1), _DIGITS)
    return cosines


def from_scores(scores: NDArray[np.generic]) -> Floats:
    """Probability that each option (items, n) is guessed when the highest score wins and ties are drawn."""
    rounded = np.round(scores.astype(np.float64), _DIGITS)
    return _shares(rounded == rounded.max(axis=1, keepdims=True))


def from_pairs(pairs: Bools) -> Floats:
    """Probability that each option (items, n) is guessed when one of the marked pairs and then one of its two is drawn.

    Args:
        pairs: Which pairs the guesser considers, symmetric, shape (items, n, n); the diagonal is ignored.
    """
    marked = (pairs & ~np.eye(pairs.shape[1], dtype=bool)).sum(axis=2)
    return _shares(np.where(marked.any(axis=1, keepdims=True), marked, 1))


def _shares(weights: NDArray[np.generic]) -> Floats:
    total = weights.sum(axis=1, keepdims=True)
    shares: Floats = weights / total
    return shares


def _control(name: str, space: str, guess: Floats, items: Options) -> Control:
    hit = np.take_along_axis(guess, items.gold[:, None], axis=1)[:, 0]
    found = clustered_mean(hit, items.group)
    chance = 1 / items.proverbs.shape[1]
    return Control(name, space, found.mean, found.low, found.high, found.n, found.clusters, chance)
