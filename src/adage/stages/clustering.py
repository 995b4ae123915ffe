"""Ward clustering of sentence vectors with k chosen by the weighted silhouette: one linkage, all cuts, one pass.

All functions compare rows at unit length, in float64. Rows keep their order, and cluster numbers follow the first
member of each cluster, so that equal input gives equal output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import linkage as hierarchy

from adage.errors import StageError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHUNK = 512
"""Rows of the distance matrix held at once."""
_NEAR = 1e-6
"""Squared distance below which the subtraction in |a|² + |b|² - 2ab has lost too many digits."""


class Choice(NamedTuple):
    """The clustering that `choose_k` settled on."""

    k: int
    labels: Ints
    """Cluster of each vector, 0 to k - 1, shape (n,)."""
    linkage: Floats
    """Ward's merges, shape (n - 1, 4), as SciPy defines them."""
    curve: tuple[tuple[int, float], ...]
    """Every k tried, with its weighted silhouette."""
    at_edge: bool
    """Whether the optimum lies on an end of the range that could be widened."""


def unit(vectors: ArrayLike) -> Floats:
    """The rows of `vectors` (n, d) scaled to length 1 in float64; rows of zeros stay zero.

    Raises:
        StageError: A value is not a finite number.
    """
    rows = np.asarray(vectors, dtype=np.float64)
    broken = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if broken.size:
        raise StageError(
            f"vector {int(broken[0])} of {len(rows)} holds a value that is not a finite number",
            hint="the encoder returned a broken vector: check the embedding endpoint, then run the stage again",
        )
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Floats = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return scaled


def ward(vectors: ArrayLike) -> Floats:
    """Ward's (1963) minimum-variance linkage of the rows of `vectors` (n, d), shape (n - 1, 4)."""
    points = unit(vectors)
    n = len(points)
    condensed = np.empty(n * (n - 1) // 2)
    filled = 0
    for start, block in _distances(points):
        for offset, row in enumerate(block):
            tail = row[start + offset + 1 :]
            condensed[filled : filled + tail.size] = tail
            filled += tail.size
    merges: Floats = hierarchy(condensed, method="ward")
    return merges


def cuts(linkage: Floats, ks: Sequence[int]) -> Ints:
    """Labels of the clusterings with `ks` clusters, shape (len(ks), n), all nested in one another.

    Cutting into k clusters applies the first n - k merges; this gives exactly k clusters even where merges tie in
    height.
    """
    return np.stack([_cut(linkage, k) for k in ks])


def silhouettes(vectors: ArrayLike, labels: Ints) -> Floats:
    """Silhouette of every point in each of several nested clusterings (Rousseeuw 1987, Euclidean distance).

    The distances from each point to the clusters of the finest clustering are summed once; coarser clusterings only
    add up columns of these sums. A point that is alone in its cluster scores 0.

    Args:
        vectors: Points, shape (n, d).
        labels: Clusterings, shape (m, n), each numbered from 0 without gaps and coarser than, or equal to, the one
            with the most clusters.

    Returns:
        Scores in [-1, 1], shape (m, n).

    Raises:
        ValueError: The clusterings are not nested, or one has fewer than two clusters.
    """
    finest = labels[np.argmax(labels.max(axis=1))]
    points, n = unit(vectors), labels.shape[1]
    member = np.zeros((n, int(finest.max()) + 1))
    member[np.arange(n), finest] = 1.0
    sums = np.concatenate([block @ member for _, block in _distances(points)])
    first = np.unique(finest, return_index=True)[1]
    scores = np.empty(labels.shape)
    for row, coarse in enumerate(labels):
        merged = coarse[first]
        if not np.array_equal(merged[finest], coarse) or merged.max() < 1:
            raise ValueError("silhouettes needs nested clusterings of at least two clusters each")
        into = np.zeros((merged.size, int(merged.max()) + 1))
        into[np.arange(merged.size), merged] = 1.0
        scores[row] = _silhouette(sums @ into, coarse)
    return scores


def weighted_silhouette(scores: Floats, weights: ArrayLike) -> Floats:
    """Σ w s / Σ w over the last axis of `scores` (..., n)."""
    average: Floats = np.average(scores, axis=-1, weights=np.asarray(weights, dtype=np.float64))
    return average


def choose_k(vectors: ArrayLike, weights: ArrayLike, k_range: tuple[int, int]) -> Choice:
    """Cluster by Ward and keep the k with the highest weighted silhouette; the smallest such k where several tie.

    Args:
        vectors: One vector per unique label, shape (n, d).
        weights: How many proverbs carry each label, shape (n,).
        k_range: Smallest and largest k to try, clipped to [2, n - 1].

    Raises:
        StageError: There are fewer than three vectors.
    """
    points = unit(vectors)
    n = len(points)
    if n < 3:
        raise StageError(
            f"clustering needs at least 3 distinct labels, but there are {n}",
            hint="add proverbs, or make the theme labels more specific",
        )
    low, high = (min(max(k, 2), n - 1) for k in k_range)
    ks = range(low, high + 1)
    linkage = ward(points)
    labels = cuts(linkage, ks)
    curve = weighted_silhouette(silhouettes(points, labels), weights)
    best = int(np.argmax(curve))
    k = ks[best]
    at_edge = low < high and ((k == low and k > 2) or (k == high and k < n - 1))
    pairs = tuple((k, float(score)) for k, score in zip(ks, curve, strict=True))
    return Choice(k, labels[best], linkage, pairs, at_edge)


def levels(linkage: Floats, labels: Ints) -> Ints:
    """How far one climbs from each cluster until another one joins it, shape (k, k).

    `levels(...)[a, b]` counts the merges above cluster a up to the first that also holds b: 0 for a itself, 1 for
    what the next merge above a brings in. It is not symmetric. Clusters that no linkage underlies (frozen ones) are
    handled by `levels(ward(centroids), np.arange(k))`.

    Args:
        linkage: Merges as `ward` returns them.
        labels: A cut of that linkage, shape (n,).
    """
    n, k = len(labels), int(labels.max()) + 1
    held: dict[int, Ints] = {}
    climbed = np.zeros(k, dtype=np.int64)
    joined = np.zeros((k, k), dtype=np.int64)
    cluster_of = np.concatenate([labels, np.zeros(n - 1, dtype=np.int64)])
    for step, (left, right) in enumerate(linkage[:, :2].astype(np.int64)):
        if step < n - k:
            cluster_of[n + step] = cluster_of[left]
            continue
        a, b = (held.get(int(node), cluster_of[node : node + 1]) for node in (left, right))
        both = np.concatenate([a, b])
        climbed[both] += 1
        joined[np.ix_(a, b)] = climbed[a][:, None]
        joined[np.ix_(b, a)] = climbed[b][:, None]
        held[n + step] = both
    return joined


def centroids(vectors: ArrayLike, labels: Ints) -> Floats:
    """Mean of the unit vectors of each cluster, shape (k, d)."""
    points = unit(vectors)
    total = np.zeros((int(labels.max()) + 1, points.shape[1]))
    np.add.at(total, labels, points)
    means: Floats = total / np.bincount(labels)[:, None]
    return means


def nearest_cluster(vectors: ArrayLike, centres: ArrayLike) -> Ints:
    """Cluster whose centroid (k, d) is nearest to each vector (n, d) in Euclidean distance; the first where two tie."""
    middle = np.asarray(centres, dtype=np.float64)
    # |x - c|² = |x|² - 2xc + |c|², and |x|² is the same for every c.
    nearest: Ints = np.argmin((middle * middle).sum(axis=1) - 2.0 * unit(vectors) @ middle.T, axis=1)
    return nearest


def _cut(linkage: Floats, k: int) -> Ints:
    """Labels (n,) after the first n - k merges, numbered by first member."""
    n = len(linkage) + 1
    parent = np.arange(2 * n - 1)
    parent[linkage[: n - k, :2].astype(np.int64)] = np.arange(n, 2 * n - k)[:, None]
    while not np.array_equal(parent, above := parent[parent]):
        parent = above
    _, first, inverse = np.unique(parent[:n], return_index=True, return_inverse=True)
    rank = np.empty(k, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(k)
    return rank[inverse]


def _distances(points: Floats) -> Iterator[tuple[int, Floats]]:
    """Euclidean distances from blocks of rows to all rows: (first row, block of shape (rows, n)).

    Dot products give squared distances fast, but with an absolute error near 1e-16 that a square root would blow up
    to 1e-8 for close points; these few are computed again by subtraction.
    """
    squares = np.einsum("ij,ij->i", points, points)
    for start in range(0, len(points), _CHUNK):
        rows = points[start : start + _CHUNK]
        block: NDArray[Any] = rows @ points.T
        block *= -2.0
        block += squares[start : start + _CHUNK, None]
        block += squares
        near, other = np.nonzero(block < _NEAR)
        for part in range(0, near.size, _CHUNK):
            pair = slice(part, part + _CHUNK)
            gap = rows[near[pair]] - points[other[pair]]
            block[near[pair], other[pair]] = np.einsum("ij,ij->i", gap, gap)
        yield start, np.sqrt(block, out=block)


def _silhouette(sums: Floats, labels: Ints) -> Floats:
    """Silhouettes (n,) from the summed distances of each point to each cluster (n, k)."""
    sizes = np.bincount(labels)
    point = np.arange(len(labels))
    own = sizes[labels]
    inside = sums[point, labels] / np.maximum(own - 1, 1)
    means = sums / sizes
    means[point, labels] = np.inf
    outside = means.min(axis=1)
    widest = np.maximum(inside, outside)
    scores: Floats = np.divide(outside - inside, widest, out=np.zeros_like(widest), where=widest > 0)
    scores[own == 1] = 0.0
    return scores
