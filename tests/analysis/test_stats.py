"""The statistics against published values, and the properties that no example shows."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.regression.linear_model import OLS
from statsmodels.stats import contingency_tables, inter_rater
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

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


def test_two_sided_p_is_that_of_a_t_test() -> None:
    """Where every score is its own cluster, the p-value is that of Student's one-sample test."""
    scores = np.random.default_rng(3).normal(0.3, 1, 40)
    expected = scipy.stats.ttest_1samp(scores, 0)
    assert stats.two_sided_p(stats.clustered_mean(scores, range(40))) == pytest.approx(expected.pvalue)


def test_perfect_scores_are_no_certainty() -> None:
    """Where every score is the best or the worst, the interval is Wilson's; others keep within what is possible."""
    none = stats.clustered_mean([0] * 40, np.repeat(range(20), 2), within=(0, 1))
    assert (none.se, none.low, none.high) == pytest.approx((0, 0, 0.16113), abs=1e-5)
    ahead = stats.paired_difference([1] * 20, [0] * 20, range(20))
    assert (ahead.low, ahead.high) == pytest.approx((1 - 2 * 0.16113, 1), abs=1e-5)
    assert stats.clustered_mean([1, 1, 1, 0], range(4), within=(0, 1)).high == 1
    assert stats.clustered_mean([0.25] * 9, range(9), within=(0, 1))[2:4] == (0.25, 0.25), "as by one place always"


def test_a_gap_to_perfect_scores_keeps_an_interval() -> None:
    """A language in which every score is the best adds its uncertainty, which a standard error of 0 would hide."""
    perfect = stats.clustered_mean([1] * 20, range(20), within=(0, 1))
    nothing = stats.clustered_mean([0] * 20, range(20), within=(0, 1))
    gap = stats.unpaired_gap(perfect, nothing)
    assert (gap.points, gap.low, gap.high) == pytest.approx((100, 100 - 16.113 * 2**0.5, 100), abs=1e-2)
    half = stats.clustered_mean([0, 1] * 10, range(20), within=(0, 1))
    mixed = stats.unpaired_gap(perfect, half)
    assert mixed.points - mixed.low > mixed.high - mixed.points == pytest.approx(100 * (half.mean - half.low))


def test_two_sided_p_edges() -> None:
    """Without spread, a mean of 0 is no evidence, and any other is as sure as the clusters are many."""
    assert stats.two_sided_p(stats.clustered_mean([0, 0], [1, 2])) == 1
    assert stats.two_sided_p(stats.clustered_mean([1, 1], [1, 2])) == 0.5
    assert stats.two_sided_p(stats.clustered_mean([0.3] * 11, range(11))) == 2**-10
    assert np.isnan(stats.two_sided_p(stats.clustered_mean([1, 0], [1, 1])))


def test_even_shares_is_friedmans_test() -> None:
    """On ranks, Q and p are scipy's Friedman test; on one choice a cluster, Pearson's χ² against even counts."""
    ranks = np.argsort(np.random.default_rng(2).random((60, 4)), axis=1) + 1
    found = stats.even_shares(ranks / 10, range(60))
    assert found == pytest.approx(tuple(scipy.stats.friedmanchisquare(*ranks.T)))
    places = np.repeat(np.arange(4), [9, 12, 3, 6])
    assert stats.even_shares(np.eye(4)[places], range(30)) == pytest.approx(tuple(scipy.stats.chisquare([9, 12, 3, 6])))


@pytest.mark.parametrize("n", [6, 12, 40])
def test_even_shares_holds_its_level_where_places_are_never_chosen(n: int) -> None:
    """Among few answers some place is often chosen by nobody, which is no evidence of a preference."""
    rng = np.random.default_rng(n)
    rows = (np.eye(4)[rng.integers(0, 4, n)] for _ in range(1000))
    assert np.mean([stats.even_shares(row, range(n)).p < 0.05 for row in rows]) < 0.07


def test_even_shares_holds_its_level_in_clusters() -> None:
    """Guessers without a preference for a place are called biased about one time in twenty, clusters or not."""
    rng = np.random.default_rng(11)
    rejected = []
    for _ in range(400):
        favourite = rng.integers(0, 4, 40)  # of a meaning group, so that its items are alike
        places = np.where(rng.random((40, 5)) < 0.5, favourite[:, None], rng.integers(0, 4, (40, 5)))
        shares = np.eye(4)[places.ravel()]
        rejected.append(stats.even_shares(shares, np.repeat(np.arange(40), 5)).p < 0.05)
    assert 0.02 < np.mean(rejected) < 0.09


def test_even_shares_edges() -> None:
    """Always the same place is the clearer the more clusters there are; always all places is no evidence."""
    always = [1.0, 0, 0, 0]
    assert stats.even_shares(np.tile(always, (20, 1)), range(20)) == pytest.approx((60, 0), abs=1e-9)
    assert stats.even_shares(np.tile(always, (20, 1)), [0] * 20).p == pytest.approx(0.3916, abs=1e-4)
    assert stats.even_shares(np.full((20, 4), 0.25), range(20)).p == 1


def test_item_rest_correlation_passes_over_what_was_not_answered() -> None:
    """A solver without an answer to an item counts neither for it nor, with that item, for the others."""
    rows = np.array([[1, 1, 0, 1], [1, 0, 0, 1], [1, 1, 1, 0], [0, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]], float)
    gaps = np.vstack([rows, [1, NAN, 0, 1]])
    rest = (np.nansum(gaps, axis=1) - gaps[:, 0]) / (np.isfinite(gaps).sum(axis=1) - 1)
    assert stats.item_rest_correlation(gaps)[0] == pytest.approx(np.corrcoef(gaps[:, 0], rest)[0, 1])
    answered = rows[:, 1]
    assert stats.item_rest_correlation(gaps)[1] == pytest.approx(
        np.corrcoef(answered, (rows.sum(axis=1) - answered) / 3)[0, 1]
    )


def test_clustered_bootstrap_does_not_depend_on_its_blocks() -> None:
    """A statistic that some draws lack is taken from the others, and one that all lack has no interval."""
    sums = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    low, high = stats.clustered_bootstrap(sums, lambda t: stats.quotient(t, t[:, 1:] * [1, 0]), draws=2500)
    assert (low[0], high[0]) == (1, 1)
    assert np.isnan([low[1], high[1]]).all()


def test_clustered_errors_are_those_of_a_regression_on_a_constant() -> None:
    """The corrected clustered standard error is statsmodels' for a model with an intercept alone."""
    rng = np.random.default_rng(8)
    clusters = rng.integers(0, 15, 90)
    scores = rng.random(90) + clusters / 20
    fit = OLS(scores, np.ones(90)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    found = stats.clustered_mean(scores, clusters)
    assert found.mean == pytest.approx(fit.params[0])
    assert found.se == pytest.approx(fit.bse[0])


def test_intervals_and_tests_are_those_of_the_libraries() -> None:
    """Wilson's interval, McNemar's test, χ², κ and both corrections agree with statsmodels and scipy."""
    assert stats.wilson(81, 263) == pytest.approx(proportion_confint(81, 263, method="wilson"))
    table = [[794, 86], [150, 570]]
    plain = contingency_tables.mcnemar(table, exact=False, correction=False)
    found = stats.mcnemar(86, 150)
    assert found[:2] == pytest.approx((plain.statistic, plain.pvalue))
    assert found.exact_p == pytest.approx(contingency_tables.mcnemar(table, exact=True).pvalue)
    chi2 = scipy.stats.chisquare([60, 90, 30])
    assert stats.attraction([60, 90, 30], [1, 1, 1])[1:] == pytest.approx((chi2.statistic, chi2.pvalue))
    assert stats.fleiss_kappa(FLEISS) == pytest.approx(inter_rater.fleiss_kappa(FLEISS))
    p = np.random.default_rng(1).random(20) ** 3
    assert stats.holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    assert stats.benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1])


def test_the_trend_is_that_of_the_library() -> None:
    """Cochran-Armitage's z is statsmodels' linear-by-linear association of the table."""
    present, absent = np.array([48, 38, 5, 1, 1]), np.array([17066, 14464, 788, 126, 37])
    scores = np.array([0, 0.5, 1.5, 4, 7])
    table = contingency_tables.Table(np.stack([absent, present]), shift_zeros=False)
    found = table.test_ordinal_association(row_scores=np.array([0, 1]), col_scores=scores)
    assert stats.cochran_armitage(present, present + absent, scores).z == pytest.approx(found.zscore, rel=1e-3)
