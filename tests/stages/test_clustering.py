"""Ward clustering and the choice of k, against scikit-learn, SciPy and brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import silhouette_samples
from sklearn.metrics.pairwise import paired_euclidean_distances

from adage.errors import StageError
from adage.stages import clustering

Vectors = NDArray[np.float64]


def blobs(centres: int, each: int, *, dim: int = 16, spread: float = 0.1, seed: int = 0) -> Vectors:
    """`each` points around each of several random directions, blob after blob."""
    rng = np.random.default_rng(seed)
    middle = np.repeat(clustering.unit(rng.normal(size=(centres, dim))), each, axis=0)
    return middle + spread * rng.normal(size=middle.shape)


@st.composite
def point_sets(draw: st.DrawFn) -> Vectors:
    """A few dozen vectors, some of them equal or nearly so."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(5, 40))
    vectors = rng.normal(size=(n, draw(st.integers(2, 12))))
    copies = rng.integers(n, size=(2, draw(st.integers(0, n // 3))))
    vectors[copies[0]] = vectors[copies[1]] + draw(st.sampled_from([0, 1e-9, 1e-4])) * rng.normal(size=vectors.shape[1])
    return vectors


def exact_distances(vectors: Vectors) -> Vectors:
    """Euclidean distances by subtraction, without the rounding of dot products."""
    unit = clustering.unit(vectors)
    n = len(unit)
    return paired_euclidean_distances(np.repeat(unit, n, axis=0), np.tile(unit, (n, 1))).reshape(n, n)


@given(point_sets(), st.data())
def test_weighted_silhouette_equals_scikit_learn(vectors: Vectors, data: st.DataObject) -> None:
    """For every nested cut, the weighted silhouette is np.average(silhouette_samples, weights) to 1e-9."""
    n = len(vectors)
    weights = data.draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
    labels = clustering.cuts(clustering.ward(vectors), range(2, n))
    scores = clustering.weighted_silhouette(clustering.silhouettes(vectors, labels), weights)
    distances = exact_distances(vectors)
    for row, score in zip(labels, scores, strict=True):
        samples = silhouette_samples(distances, row, metric="precomputed")
        assert score == pytest.approx(np.average(samples, weights=weights), abs=1e-9)


def test_ward_equals_scipy() -> None:
    """The linkage from blocked dot products is that of SciPy on the points themselves, over several blocks."""
    vectors = blobs(6, 180)
    assert clustering.ward(vectors) == pytest.approx(linkage(clustering.unit(vectors), "ward"), abs=1e-9)


def test_cuts_equal_scikit_learn() -> None:
    """A cut groups the points as scikit-learn's agglomerative clustering does."""
    vectors = blobs(5, 12, spread=0.3)
    for k, labels in zip((2, 5, 9), clustering.cuts(clustering.ward(vectors), (2, 5, 9)), strict=True):
        expected = AgglomerativeClustering(k).fit_predict(clustering.unit(vectors))
        assert len(set(zip(labels.tolist(), expected.tolist(), strict=True))) == k


def test_cuts_have_exactly_k_clusters_where_merges_tie() -> None:
    """Equal points, whose merges tie in height, are still cut into as many clusters as asked."""
    ks = range(1, 9)
    for k, labels in zip(ks, clustering.cuts(clustering.ward(np.ones((8, 3))), ks), strict=True):
        assert set(labels) == set(range(k))


@given(point_sets())
def test_cluster_numbers_follow_first_members(vectors: Vectors) -> None:
    """Clusters are numbered in the order in which they first appear."""
    for labels in clustering.cuts(clustering.ward(vectors), (2, 4)):
        _, first = np.unique(labels, return_index=True)
        assert (np.diff(first) > 0).all()


def test_singletons_score_zero() -> None:
    """A point alone in its cluster scores 0, as Rousseeuw defines it."""
    vectors = np.array([[1.0, 0.0], [0.99, 0.01], [0.0, 1.0]])
    assert clustering.silhouettes(vectors, np.array([[0, 0, 1]]))[0, 2] == 0


@pytest.mark.parametrize("labels", [[[0, 0, 1, 1], [0, 1, 1, 2]], [[0, 0, 0, 0]]])
def test_silhouettes_reject_what_is_not_nested(labels: list[list[int]]) -> None:
    """Clusterings that are not nested, or have one cluster, are refused rather than scored wrongly."""
    with pytest.raises(ValueError, match="nested"):
        clustering.silhouettes(np.eye(4), np.array(labels))


def test_choose_k_finds_planted_clusters() -> None:
    """The k chosen is the number of planted clusters, and the whole curve is there to be shown."""
    choice = clustering.choose_k(blobs(7, 10), np.ones(70), (2, 12))
    assert choice.k == 7
    assert [k for k, _ in choice.curve] == list(range(2, 13))
    assert choice.labels.tolist() == np.repeat(np.arange(7), 10).tolist()
    assert not choice.at_edge


def test_choose_k_weighs_labels() -> None:
    """Weights decide between clusterings: those of the heavy labels count."""
    vectors = np.concatenate([blobs(2, 6, spread=0.02, seed=3), blobs(3, 6, spread=0.5, seed=4)])
    scores = clustering.silhouettes(vectors, clustering.cuts(clustering.ward(vectors), range(2, 10)))
    weights = np.where(np.arange(30) < 12, 50, 1)
    choice = clustering.choose_k(vectors, weights, (2, 9))
    assert choice.k == 2 + int(np.argmax(np.average(scores, axis=1, weights=weights)))
    assert dict(choice.curve)[choice.k] != pytest.approx(scores[choice.k - 2].mean())


@pytest.mark.parametrize(("k_range", "k", "at_edge"), [((2, 5), 5, True), ((9, 14), 9, True), ((7, 7), 7, False)])
def test_choose_k_says_when_the_optimum_is_at_an_edge(k_range: tuple[int, int], k: int, at_edge: bool) -> None:
    """An optimum at an end of a searched range is reported, since a wider range may hold a better one."""
    choice = clustering.choose_k(blobs(7, 10), np.ones(70), k_range)
    assert (choice.k, choice.at_edge) == (k, at_edge)


def test_choose_k_clips_the_range() -> None:
    """With few labels the range is clipped to [2, n - 1], whose ends are no edges that could be moved."""
    choice = clustering.choose_k(blobs(4, 1), np.ones(4), (10, 25))
    assert [k for k, _ in choice.curve] == [3]
    assert not choice.at_edge


def test_choose_k_needs_three_labels() -> None:
    """Two labels cannot be clustered, and the message says what to do."""
    with pytest.raises(StageError, match="at least 3 distinct labels, but there are 2"):
        clustering.choose_k(np.eye(2), np.ones(2), (2, 5))


def test_a_broken_vector_is_named() -> None:
    """A vector with NaN is reported with its place instead of spoiling every distance."""
    vectors = np.eye(4)
    vectors[2, 1] = np.nan
    with pytest.raises(StageError, match="vector 2 of 4"):
        clustering.ward(vectors)


@given(point_sets(), st.data())
def test_levels_count_the_steps_up_the_dendrogram(vectors: Vectors, data: st.DataObject) -> None:
    """Going through ever coarser cuts, cluster b joins a's set at the counted growth of that set."""
    n = len(vectors)
    k = data.draw(st.integers(2, n - 1))
    merges = clustering.ward(vectors)
    labels = clustering.cuts(merges, [k])[0]
    joined = clustering.levels(merges, labels)
    coarser = clustering.cuts(merges, range(k, 0, -1))
    first = np.unique(labels, return_index=True)[1]
    for a in range(k):
        sets = [frozenset(np.flatnonzero(cut[first] == cut[first[a]])) for cut in coarser]
        growth = list(dict.fromkeys(sets))
        for b in range(k):
            assert joined[a, b] == next(step for step, held in enumerate(growth) if b in held)


def test_levels_of_frozen_clusters() -> None:
    """Clusters without a linkage can be climbed by that of their centroids."""
    vectors = blobs(5, 4)
    labels = np.repeat(np.arange(5), 4)
    joined = clustering.levels(clustering.ward(clustering.centroids(vectors, labels)), np.arange(5))
    assert (np.diag(joined) == 0).all()
    assert (joined[~np.eye(5, dtype=bool)] >= 1).all()


def test_newcomers_join_the_nearest_cluster() -> None:
    """Against frozen centroids, a point joins the cluster whose centroid is nearest by Euclidean distance."""
    vectors = blobs(6, 8)
    labels = np.repeat(np.arange(6), 8)
    newcomers = blobs(6, 8, spread=0.2)
    centres = clustering.centroids(vectors, labels)
    gaps = np.linalg.norm(clustering.unit(newcomers)[:, None] - centres, axis=2)
    assert clustering.nearest_cluster(newcomers, centres).tolist() == gaps.argmin(axis=1).tolist()
    assert clustering.nearest_cluster(vectors, centres).tolist() == labels.tolist()
