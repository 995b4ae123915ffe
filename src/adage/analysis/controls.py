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

from adage.analysis.stats import Bools, Floats, Ints, clustered_mean

_DIGITS = 9
"""Scores are compared after rounding, so that equal options tie whatever the order of summation was."""


class Control(NamedTuple):
    """A guesser's accuracy over a set of items."""

    name: str
    space: str
    """What the guesser looks at: a vector space by name, or `clusters`, `lengths`, `counts`, `options` (all of it)."""
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
    """Proverb of each option, shape (items, n); -1 stands where an item has fewer options than others."""
    gold: Ints
    """Position of the gold, shape (items,); where some have several, shape (items, m), filled up with -1."""
    group: NDArray[np.generic]
    """Meaning group of the gold, shape (items,)."""
    cluster: Ints | None
    """Theme cluster of each proverb, shape (proverbs,); None where themes are not known."""
    length: Ints
    """Characters of each proverb, shape (proverbs,)."""
    spaces: Mapping[str, NDArray[np.floating]]
    """Unit vectors of each proverb by name of the space, shape (proverbs, dim) each."""
    split: NDArray[np.generic] | None = None
    """Split of each item, shape (items,), where there are several."""

    @property
    def there(self) -> Bools:
        """Which options there are, shape (items, n)."""
        found: Bools = self.proverbs >= 0
        return found

    @property
    def right(self) -> Bools:
        """Which options are right, shape (items, n)."""
        gold = self.gold.reshape(len(self.proverbs), -1)
        found: Bools = (gold[:, :, None] == np.arange(self.proverbs.shape[1])).any(axis=1)
        return found

    @property
    def uses(self) -> Ints:
        """How often the proverb of each option is an option in these items, shape (items, n)."""
        counts: Ints = np.bincount(self.proverbs[self.there], minlength=len(self.length))[self.proverbs]
        return counts

    @property
    def mates(self) -> Bools | None:
        """Which two options of an item share a cluster, shape (items, n, n); None where themes are not known."""
        if self.cluster is None:
            return None
        cluster = self.cluster[self.proverbs]
        shared: Bools = (cluster[:, :, None] == cluster[:, None, :]) & pairs_there(self)
        return shared


def option_only(items: Options) -> list[Control]:
    """Accuracy of every guesser that sees the options alone.

    `theme_pair` picks a pair of options that share a cluster (any pair where there are several, any option where
    there is none) and one of the two. `closest_pair` does so with the most similar options of a vector space,
    `medoid` picks the option most similar to the others, `outlier` the least similar one, `longest` the one with
    the most characters, `most_frequent` the one that is an option most often in these items.
    """
    there, mates = items.there, items.mates
    guesses = [] if mates is None else [("theme_pair", "clusters", from_pairs(mates, there))]
    guesses += [
        ("longest", "lengths", from_scores(np.where(there, items.length[items.proverbs], -np.inf))),
        ("most_frequent", "counts", from_scores(np.where(there, items.uses, -np.inf))),
    ]
    for space, vectors in items.spaces.items():
        cosines = np.where(pairs_there(items), similarities(vectors, items.proverbs), -np.inf)
        centrality = np.where(np.isfinite(cosines), cosines, 0.0).sum(axis=2)
        guesses += [
            ("closest_pair", space, from_pairs(cosines == cosines.max(axis=(1, 2), keepdims=True), there)),
            ("medoid", space, from_scores(np.where(there, centrality, -np.inf))),
            ("outlier", space, from_scores(np.where(there, -centrality, -np.inf))),
        ]
    return [control(name, space, guess, items) for name, space, guess in guesses]


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
    guess = from_scores(np.where(items.there, cosines, -np.inf))
    return control("nearest_embedding", space, guess, items)._replace(circular=circular)


def similarities(vectors: NDArray[np.floating], proverbs: Ints) -> Floats:
    """Cosines among the options of each item, shape (items, n, n), rounded so that equal ones tie."""
    rows = vectors.astype(np.float64)[proverbs]
    cosines: Floats = np.round(rows @ rows.transpose(0, 2, 1), _DIGITS)
    return cosines


def pairs_there(items: Options) -> Bools:
    """Which two different options there are, shape (items, n, n)."""
    there = items.there
    pairs: Bools = there[:, :, None] & there[:, None, :] & ~np.eye(there.shape[1], dtype=bool)
    return pairs


def from_scores(scores: NDArray[np.generic]) -> Floats:
    """Probability that each option (items, n) is guessed when the highest score wins and ties are drawn.

    An option that is not there has the score -inf.
    """
    rounded = np.round(scores.astype(np.float64), _DIGITS)
    return _shares(rounded == rounded.max(axis=1, keepdims=True))


def from_pairs(pairs: Bools, there: Bools | None = None) -> Floats:
    """Probability that each option (items, n) is guessed when one of the marked pairs and then one of its two is drawn.

    Args:
        pairs: Which pairs the guesser considers, symmetric, shape (items, n, n); the diagonal is ignored.
        there: Which options there are, shape (items, n); all by default. An item without a pair is guessed among them.
    """
    marked = (pairs & ~np.eye(pairs.shape[1], dtype=bool)).sum(axis=2)
    return _shares(np.where(marked.any(axis=1, keepdims=True), marked, 1 if there is None else there))


def _shares(weights: NDArray[np.generic]) -> Floats:
    total = weights.sum(axis=1, keepdims=True)
    shares: Floats = weights / total
    return shares


def control(name: str, space: str, guess: Floats, items: Options) -> Control:
    """The accuracy of a guesser that takes each option (items, n) with the given probability."""
    right = items.right
    found = clustered_mean((guess * right).sum(axis=1), items.group, within=(0, 1))
    chance = float((right.sum(axis=1) / items.there.sum(axis=1)).mean())
    return Control(name, space, found.mean, found.low, found.high, found.n, found.clusters, chance)
