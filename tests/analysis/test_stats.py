"""The statistics against published values, and the properties that no example shows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.analysis import stats

CLUSTERS = np.repeat([0, 1, 2, 3], 3)
FIRST = [1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0]
SECOND = [1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1]

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section E: four observers, twelve units.
NAN = np.nan
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]
# Fourteen raters, ten subjects, five categories: the common worked example of Fleiss' kappa.
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def test_clustered_mean_reference() -> None:
    """The clustered standard error, with and without the small-sample correction, has its reference values."""
    plain = stats.clustered_mean(FIRST, CLUSTERS, corrected=False)
    assert (plain.mean, plain.n, plain.clusters) == (0.5, 12, 4)
    assert plain.se == pytest.approx(0.186339, abs=1e-6)
    corrected = stats.clustered_mean(FIRST, CLUSTERS)
    assert corrected.se == pytest.approx(0.215166, abs=1e-6)
    assert corrected.high - corrected.mean == pytest.approx(3.182446 * corrected.se, rel=1e-6)


def test_clustered_mean_of_singletons_is_the_usual_standard_error() -> None:
    """Where every item is its own cluster, the clustered standard error is that of independent items."""
    assert stats.clustered_mean(FIRST, range(12)).se == pytest.approx(0.150756, abs=1e-6)


def test_clustered_mean_of_one_cluster_has_no_error() -> None:
    """A single cluster says nothing of its own spread, so the error is NaN rather than zero."""
    estimate = stats.clustered_mean([1, 0, 1], [7, 7, 7])
    assert np.isnan([estimate.se, estimate.low, estimate.high]).all()


@pytest.mark.parametrize(("scores", "clusters"), [([], []), ([1, 0], [1])])
def test_clustered_mean_rejects_arrays_that_do_not_match(scores: list[int], clusters: list[int]) -> None:
    """Empty or unequal arrays are refused instead of being averaged."""
    with pytest.raises(ValueError, match="as many scores as clusters"):
        stats.clustered_mean(scores, clusters)


@given(st.permutations(range(12)))
def test_clustered_mean_ignores_order_and_names(order: list[int]) -> None:
    """Neither the order of the items nor the names of the clusters matter."""
    names = np.array(["d", "a", "c", "b"])[CLUSTERS]
    shuffled = stats.clustered_mean(np.array(FIRST)[order], names[order])
    assert shuffled == pytest.approx(stats.clustered_mean(FIRST, CLUSTERS))


def test_paired_difference_reference() -> None:
    """The standard error of a paired difference has its reference values."""
    assert stats.paired_difference(FIRST, SECOND, CLUSTERS, corrected=False)[:2] == pytest.approx(
        (0.083333, 0.138193), abs=1e-6
    )
    assert stats.paired_difference(FIRST, SECOND, CLUSTERS).se == pytest.approx(0.159571, abs=1e-6)


def test_unpaired_gap() -> None:
    """The variances of two languages add up, in percentage points, and the interval is Welch's."""
    first = stats.Estimate(0.7, 0.03, 0.0, 0.0, 100, 21)
    second = stats.Estimate(0.5, 0.04, 0.0, 0.0, 100, 11)
    gap = stats.unpaired_gap(first, second)
    assert gap.points == pytest.approx(20)
    assert gap.se == pytest.approx(5)
    freedom = 0.0025**2 / (0.0009**2 / 20 + 0.0016**2 / 10)
    assert freedom == pytest.approx(21.1, abs=0.1)
    assert gap.high - gap.points == pytest.approx(5 * 2.0791, abs=1e-2)


def test_unpaired_gap_without_spread() -> None:
    """Two means without spread differ by exactly their difference."""
    flat = stats.Estimate(1.0, 0.0, 1.0, 1.0, 5, 5)
    assert stats.unpaired_gap(flat, flat) == (0.0, 0.0, 0.0, 0.0)


def test_wilson_reference() -> None:
    """The score interval has its reference values, also at 0 successes."""
    assert stats.wilson(81, 263) == pytest.approx((0.25529, 0.36621), abs=1e-5)
    assert stats.wilson(0, 20) == pytest.approx((0.0, 0.16113), abs=1e-5)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_mirrors(counts: tuple[int, int]) -> None:
    """The interval holds the observed share, stays within [0, 1], and that of the failures is its mirror image."""
    successes, n = counts
    low, high = stats.wilson(successes, n)
    assert 0 <= low <= successes / n + 1e-12
    assert successes / n - 1e-12 <= high <= 1
    assert stats.wilson(n - successes, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (3, 2), (-1, 2)])
def test_wilson_rejects_impossible_counts(successes: int, n: int) -> None:
    """Counts that are no proportion are refused."""
    with pytest.raises(ValueError, match="successes"):
        stats.wilson(successes, n)


def test_mcnemar_reference() -> None:
    """McNemar's statistic and both p-values have their reference values."""
    result = stats.mcnemar(86, 150)
    assert result.statistic == pytest.approx(17.3559, abs=1e-4)
    assert result.p == pytest.approx(3.10e-5, abs=1e-7)
    assert result.exact_p == pytest.approx(3.716e-5, abs=1e-8)
    assert stats.mcnemar(0, 0) == (0.0, 1.0, 1.0)


def test_attraction_reference() -> None:
    """Observed over expected errors by role, and their χ², have their reference values."""
    result = stats.attraction([60, 90, 30], [1, 1, 1])
    assert result.ratios == pytest.approx([1, 1.5, 0.5])
    assert result.chi2 == pytest.approx(30)
    assert result.p == pytest.approx(3.059e-7, abs=1e-10)


def test_attraction_expects_errors_by_number_of_options() -> None:
    """A role with twice the options draws twice the errors by chance."""
    assert stats.attraction([20, 10, 10], [2, 1, 1]).ratios == pytest.approx([1, 1, 1])


def test_attraction_needs_errors() -> None:
    """Without an error there is nothing to share out."""
    with pytest.raises(ValueError, match="at least one error"):
        stats.attraction([0, 0, 0], [1, 1, 1])


def test_clustered_bootstrap_covers_the_clustered_interval() -> None:
    """On many clusters, the bootstrap interval of a mean is about that of the clustered standard error."""
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(200), 5)
    scores = (rng.random(1000) < np.repeat(rng.random(200), 5)).astype(float)
    sums = np.stack([np.bincount(clusters, scores), np.bincount(clusters)], axis=1)
    low, high = stats.clustered_bootstrap(sums, lambda total: total[:, 0] / total[:, 1], draws=4000)
    assert (low, high) == pytest.approx(stats.clustered_mean(scores, clusters)[2:4], abs=0.005)


def test_cochran_armitage_reference() -> None:
    """The trend test reproduces Agresti's table of infant malformation by alcohol consumption."""
    present = np.array([48, 38, 5, 1, 1])
    absent = np.array([17066, 14464, 788, 126, 37])
    trend = stats.cochran_armitage(present, present + absent, [0, 0.5, 1.5, 4, 7])
    assert trend == pytest.approx((6.570, 2.563, 0.0104), abs=5e-4)


def test_cochran_armitage_needs_something_to_trend() -> None:
    """Outcomes that are all alike have no trend."""
    with pytest.raises(ValueError, match="outcomes that differ"):
        stats.cochran_armitage([5, 5], [5, 5], [0, 1])


def test_item_rest_correlation_reference() -> None:
    """Item-rest correlations have their reference values, 0 included."""
    rows = [[1, 1, 0, 1], [1, 0, 0, 1], [1, 1, 1, 0], [0, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]]
    assert stats.item_rest_correlation(rows) == pytest.approx([0.7385, 0.7071, 0.4417, 0], abs=1e-4)


def test_item_rest_correlation_of_an_item_that_all_solve_is_zero() -> None:
    """An item without spread gets 0 rather than a division by zero."""
    assert stats.item_rest_correlation([[1, 1, 0], [1, 0, 1], [1, 0, 0]])[0] == 0


def test_fleiss_kappa_reference() -> None:
    """Fleiss' kappa has its reference value."""
    assert stats.fleiss_kappa(FLEISS) == pytest.approx(0.20993, abs=1e-5)


def test_fleiss_kappa_edges() -> None:
    """Perfect agreement is 1, a single category has no kappa, and unequal numbers of raters are refused."""
    assert stats.fleiss_kappa([[3, 0], [0, 3]]) == 1
    assert np.isnan(stats.fleiss_kappa([[3, 0], [3, 0]]))
    with pytest.raises(ValueError, match="same number of raters"):
        stats.fleiss_kappa([[3, 0], [1, 1]])


@pytest.mark.parametrize(
    ("metric", "alpha"), [("nominal", 0.74342), ("ordinal", 0.81539), ("interval", 0.84911), ("ratio", 0.79740)]
)
def test_krippendorff_alpha_reference(metric: stats.Metric, alpha: float) -> None:
    """α has Krippendorff's published values under all four metrics, with missing ratings."""
    assert stats.krippendorff_alpha(OBSERVERS, metric) == pytest.approx(alpha, abs=1e-5)


def test_krippendorff_alpha_edges() -> None:
    """α is 1 for perfect agreement, and NaN where nothing is rated twice or all ratings are equal."""
    assert stats.krippendorff_alpha([[1, 2, 3], [1, 2, 3]]) == 1
    assert np.isnan(stats.krippendorff_alpha([[1, NAN], [NAN, 2]]))
    assert np.isnan(stats.krippendorff_alpha([[1, 1], [1, 1]]))


def test_gwet_ac1_reference() -> None:
    """AC1 has the value published with the same four raters."""
    assert stats.gwet_ac1(OBSERVERS) == pytest.approx(0.77544, abs=1e-5)


def test_gwet_ac1_edges() -> None:
    """AC1 is 1 where all use one category (where κ has no value), and NaN where nothing is rated twice."""
    assert stats.gwet_ac1([[1, 1], [1, 1]]) == 1
    assert np.isnan(stats.gwet_ac1([[1, NAN], [NAN, 2]]))


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=4, max_size=12))
def test_agreement_ignores_the_order_of_raters_and_units(units: list[list[int]]) -> None:
    """α and AC1 do not change when raters or units are listed in another order."""
    ratings = np.array(units, dtype=float).T
    for measure in (stats.krippendorff_alpha, stats.gwet_ac1):
        assert measure(ratings[::-1, ::-1]) == pytest.approx(measure(ratings), nan_ok=True)


def test_multiplicity_reference() -> None:
    """Holm's and Benjamini and Hochberg's adjusted p-values have their reference values."""
    p = [0.01, 0.04, 0.03, 0.005]
    assert stats.holm(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert stats.benjamini_hochberg(p) == pytest.approx([0.02, 0.04, 0.04, 0.02])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_adjusted_p_values_stay_ordered(p: list[float]) -> None:
    """Adjustment never lowers a p-value or exceeds 1, keeps their order, and Holm's is the stricter of the two."""
    holm, discovery = stats.holm(p), stats.benjamini_hochberg(p)
    assert (holm >= discovery - 1e-12).all()
    for adjusted in (holm, discovery):
        assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= -1e-12).all()
        assert ((adjusted >= np.array(p) - 1e-12) & (adjusted <= 1)).all()
