"""The statistics of the reports: pure functions over arrays, each with the source of its formula.

The clusters of the standard errors are meaning groups: items of one group share a proverb, so their scores are not
independent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Metric = Literal["nominal", "ordinal", "interval", "ratio"]
_BLOCK = 1000
"""Bootstrap samples that are held at once."""
_ROUNDING = 1e-12
"""What rounding may leave of 0."""


class Interval(NamedTuple):
    """Ends of a confidence interval."""

    low: float
    high: float


class Estimate(NamedTuple):
    """A mean with its clustered standard error and interval."""

    mean: float
    se: float
    low: float
    high: float
    n: int
    """Number of scores."""
    clusters: int


class Gap(NamedTuple):
    """Difference of two unpaired means, in percentage points."""

    points: float
    se: float
    low: float
    high: float


class Test(NamedTuple):
    """A test statistic and its p-value."""

    statistic: float
    p: float


class McNemar(NamedTuple):
    """Result of McNemar's test."""

    statistic: float
    p: float
    """From χ² with one degree of freedom."""
    exact_p: float
    """From the binomial distribution of the discordant pairs, two-sided."""


class Attraction(NamedTuple):
    """How strongly each role draws errors."""

    ratios: Floats
    """Observed / expected errors by role; 1 = errors fall evenly on the wrong options."""
    chi2: float
    p: float


class Trend(NamedTuple):
    """Result of the Cochran-Armitage test."""

    m2: float
    z: float
    """Its root, signed: above 0 where the share of successes grows with the score."""
    p: float
    """Two-sided."""


def clustered_mean(
    scores: ArrayLike,
    clusters: ArrayLike,
    *,
    corrected: bool = True,
    level: float = 0.95,
    within: tuple[float, float] | None = None,
) -> Estimate:
    """Mean of `scores` (n,) with the cluster-robust standard error sqrt(Σ_c (Σ_{i∈c} (s_i - s̄))²) / n.

    Miller 2024, "Adding Error Bars to Evals", after Liang & Zeger 1986. `corrected` multiplies the variance by
    C / (C - 1) for C clusters. The interval is Student's t with C - 1 degrees of freedom; with a single cluster the
    standard error cannot be known and comes out as NaN.

    Args:
        scores: One number per item; a proportion is the mean of zeros and ones.
        clusters: The cluster of each item, any values, shape (n,).
        corrected: Whether to correct for a small number of clusters.
        level: Coverage of the interval.
        within: Least and greatest score that is possible. The interval keeps within them and, where every score is
            the one or the other, is Wilson's for the clusters: that nothing varied in a sample is no certainty.

    Raises:
        ValueError: There are no scores, or the two arrays differ in length.
    """
    s = np.asarray(scores, dtype=np.float64)
    index = np.unique(np.asarray(clusters), return_inverse=True)[1]
    if s.size == 0 or s.shape != index.shape:
        raise ValueError(f"expected as many scores as clusters, at least one; got {s.shape} and {index.shape}")
    mean = float(s.mean())
    sums = np.bincount(index, weights=s - mean)
    count = sums.size
    if count == 1:
        return Estimate(mean, np.nan, np.nan, np.nan, s.size, 1)
    se = float(np.sqrt(sums @ sums)) / s.size
    if corrected:
        se *= float(np.sqrt(count / (count - 1)))
    half = se * float(special.stdtrit(count - 1, (1 + level) / 2))
    low, high = mean - half, mean + half
    if within is not None:
        least, most = within
        if se == 0 and mean in within:
            ends = wilson(count if mean == most else 0, count, level=level)
            low, high = (least + (most - least) * end for end in ends)
        low, high = max(low, least), min(high, most)
    return Estimate(mean, se, low, high, s.size, count)


def paired_difference(
    first: ArrayLike, second: ArrayLike, clusters: ArrayLike, *, corrected: bool = True, level: float = 0.95
) -> Estimate:
    """Mean of first - second, scores from 0 to 1 of the same items, with its clustered standard error (Miller 2024)."""
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return clustered_mean(difference, clusters, corrected=corrected, level=level, within=(-1, 1))


def unpaired_gap(first: Estimate, second: Estimate, *, level: float = 0.95) -> Gap:
    """First - second in percentage points for two sets of different items: SE² = SE_a² + SE_b².

    The interval is Student's t with the degrees of freedom of Welch (1947) and Satterthwaite (1946), each side
    bringing its number of clusters - 1. Where a side did not vary, the two intervals are combined instead (Newcombe
    1998, method 10), as a standard error of 0 would pass for certainty.
    """
    variances = np.array([first.se, second.se]) ** 2
    total = float(variances.sum())
    points, se = 100 * (first.mean - second.mean), 100 * float(np.sqrt(total))
    if (variances == 0).any():
        down = 100 * float(np.hypot(first.mean - first.low, second.high - second.mean))
        up = 100 * float(np.hypot(first.high - first.mean, second.mean - second.low))
        return Gap(points, se, points - down, points + up)
    freedom = total**2 / float((variances**2 / np.array([first.clusters - 1, second.clusters - 1])).sum())
    half = se * float(special.stdtrit(freedom, (1 + level) / 2))
    return Gap(points, se, points - half, points + half)


def two_sided_p(estimate: Estimate) -> float:
    """p-value of a mean of 0, by Student's t with C - 1 degrees of freedom; NaN for one cluster.

    Where all scores are the same but 0, t is infinite whatever C is; p is then that of Fisher's (1935) exact test, in
    which the sign of each cluster is a coin's: 2 / 2^C.
    """
    if estimate.se < _ROUNDING:
        return 2.0 ** (1 - estimate.clusters) if abs(estimate.mean) > _ROUNDING else 1.0
    return float(2 * special.stdtr(estimate.clusters - 1, -abs(estimate.mean) / estimate.se))


def wilson(successes: int, n: int, *, level: float = 0.95) -> Interval:
    """Score interval of a proportion (Wilson 1927), which keeps within [0, 1] and its coverage near the ends.

    Raises:
        ValueError: Not 0 <= successes <= n with n > 0.
    """
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"expected 0 <= successes <= n and n > 0, got {successes} of {n}")
    z = float(special.ndtri((1 + level) / 2))
    share, spread = successes / n, z * z / n
    centre = (share + spread / 2) / (1 + spread)
    half = float(np.sqrt(share * (1 - share) * spread + spread * spread / 4)) / (1 + spread)
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def mcnemar(only_first: int, only_second: int) -> McNemar:
    """McNemar's (1947) test of two paired proportions, without continuity correction: (b - c)² / (b + c).

    Args:
        only_first: b, pairs where the first succeeds and the second fails.
        only_second: c, pairs the other way round.
    """
    discordant = only_first + only_second
    if discordant == 0:
        return McNemar(0.0, 1.0, 1.0)
    statistic = (only_first - only_second) ** 2 / discordant
    # At p = 1/2 the binomial distribution is symmetric: both tails weigh the same.
    exact = min(1.0, 2 * float(special.bdtr(min(only_first, only_second), discordant, 0.5)))
    return McNemar(statistic, float(special.chdtrc(1, statistic)), exact)


def attraction(errors: ArrayLike, options: ArrayLike) -> Attraction:
    """Observed against expected errors by role, E_d = n_err k_d / Σ k, with Pearson's χ² (1900) on roles - 1 df.

    Args:
        errors: Errors that fell on each role, shape (roles,).
        options: Wrong options of each role in an item, shape (roles,).

    Raises:
        ValueError: There are no errors, or a role has no options.
    """
    observed, k = np.asarray(errors, dtype=np.float64), np.asarray(options, dtype=np.float64)
    if observed.sum() <= 0 or (k <= 0).any():
        raise ValueError("attraction needs at least one error and at least one option in every role")
    expected = observed.sum() * k / k.sum()
    chi2 = float(((observed - expected) ** 2 / expected).sum())
    return Attraction(observed / expected, chi2, float(special.chdtrc(len(k) - 1, chi2)))


def clustered_bootstrap(
    sums: ArrayLike, statistic: Callable[[Floats], Floats], *, draws: int = 10_000, level: float = 0.95, seed: int = 0
) -> tuple[Floats, Floats]:
    """Percentile interval of a statistic when whole clusters are drawn with replacement (Davison & Hinkley 1997, §3.8).

    Args:
        sums: What each cluster adds to the totals the statistic is made of, shape (clusters, m).
        statistic: Maps totals (draws, m) to statistics (draws, ...).
        draws: Bootstrap samples.
        level: Coverage of the interval.
        seed: Seed of the draws.

    Returns:
        Lower and upper ends, each with the shape of one statistic.
    """
    parts = np.asarray(sums, dtype=np.float64)
    count = len(parts)
    rng = np.random.default_rng(seed)
    share = np.full(count, 1 / count)
    sizes = [min(_BLOCK, draws - start) for start in range(0, draws, _BLOCK)]
    totals = np.concatenate([rng.multinomial(count, share, size=size) @ parts for size in sizes])
    values = statistic(totals)
    ends = np.full((2, *values.shape[1:]), np.nan)
    known = ~np.isnan(values).all(axis=0)
    ends[:, known] = np.nanquantile(values[:, known], [(1 - level) / 2, (1 + level) / 2], axis=0)
    return ends[0], ends[1]


def even_shares(shares: ArrayLike, clusters: ArrayLike) -> Test:
    """Test that the mean of `shares` (n, k), whose rows add up to 1, is 1 / k everywhere.

    Friedman's (1937) test with the shares in place of ranks (Conover 1999, Practical Nonparametric Statistics, §5.8):
    Q = (k - 1) Σ_j (Σ_c x_cj)² / Σ_cj x_cj², χ² on k - 1 df if the places of each cluster are exchangeable. For one
    choice a cluster it is Pearson's χ². x_c sums a cluster's shares, less 1 / k, so that neither several presentations
    of an item nor several items of a meaning group count as independent.

    Returns:
        Q and its p.
    """
    rows = np.asarray(shares, dtype=np.float64)
    k = rows.shape[1]
    index = np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums = np.zeros((int(index.max()) + 1, k))
    np.add.at(sums, index, rows - 1 / k)
    spread = float((sums**2).sum())
    if spread < _ROUNDING:
        return Test(0.0, 1.0)
    q = (k - 1) * float((sums.sum(axis=0) ** 2).sum()) / spread
    return Test(q, float(special.chdtrc(k - 1, q)))


def cochran_armitage(successes: ArrayLike, totals: ArrayLike, scores: ArrayLike) -> Trend:
    """Test of a linear trend in proportions (Cochran 1954, Armitage 1955) as M² = (n - 1) r².

    r is the correlation of the outcome with the score (Mantel 1963; Agresti, Categorical Data Analysis, §3.4).

    Args:
        successes: Successes at each score, shape (m,).
        totals: Trials at each score, shape (m,).
        scores: The ordered scores, shape (m,).

    Raises:
        ValueError: All outcomes or all scores are the same, so that there is no trend to test.
    """
    hit, trials, x = (np.asarray(values, dtype=np.float64) for values in (successes, totals, scores))
    n = trials.sum()
    share, centre = hit.sum() / n, (trials @ x) / n
    covariance = float(hit @ x / n - share * centre)
    spread = float((trials @ (x - centre) ** 2) / n) * float(share * (1 - share))
    if not spread > 0:
        raise ValueError("a trend needs outcomes that differ and at least two scores")
    z = covariance * float(np.sqrt((n - 1) / spread))
    return Trend(z * z, z, float(2 * special.ndtr(-abs(z))))


def item_rest_correlation(scores: ArrayLike) -> Floats:
    """Correlation of each item with a solver's mean over the other items (Henrysson 1963), shape (items,).

    A solver counts for the items that it answered. Items that nobody or everybody solves, or whose rest does not vary,
    have no correlation and score 0.

    Args:
        scores: One row per solver, one column per item, NaN where there is no answer, shape (solvers, items).
    """
    s = np.asarray(scores, dtype=np.float64)
    have = ~np.isnan(s)
    filled = np.where(have, s, 0.0)
    others = have.sum(axis=1, keepdims=True) - have
    have &= others > 0
    rest = (filled.sum(axis=1, keepdims=True) - filled) / np.maximum(others, 1)
    solvers = np.maximum(have.sum(axis=0), 1)
    item = np.where(have, filled - np.where(have, filled, 0).sum(axis=0) / solvers, 0)
    rest = np.where(have, rest - np.where(have, rest, 0).sum(axis=0) / solvers, 0)
    norm = np.sqrt((item * item).sum(axis=0) * (rest * rest).sum(axis=0))
    correlation: Floats = np.divide((item * rest).sum(axis=0), norm, out=np.zeros_like(norm), where=norm > _ROUNDING)
    return correlation


def quotient(top: ArrayLike, bottom: ArrayLike) -> Floats:
    """Top / bottom of any shapes that broadcast; NaN where bottom is not above 0."""
    a, b = np.broadcast_arrays(np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64))
    found: Floats = np.divide(a, b, out=np.full(a.shape, np.nan), where=b > 0)
    return found


def fleiss_kappa(counts: ArrayLike) -> float:
    """Chance-corrected agreement of a fixed number of raters (Fleiss 1971); NaN where only one category is used.

    Args:
        counts: How many raters put each subject into each category, shape (subjects, categories).

    Raises:
        ValueError: The subjects do not all have the same number of raters, or fewer than two.
    """
    table = np.asarray(counts, dtype=np.float64)
    raters = table.sum(axis=1)
    if table.size == 0 or raters[0] < 2 or (raters != raters[0]).any():
        raise ValueError("Fleiss' kappa needs the same number of raters, at least two, for every subject")
    observed = _pairwise_agreement(table).mean()
    share = table.sum(axis=0) / table.sum()
    return _beyond_chance(float(observed), float(share @ share))


def krippendorff_alpha(ratings: ArrayLike, metric: Metric = "nominal") -> float:
    """Krippendorff's α = 1 - D_o / D_e for any number of raters with missing ratings (Krippendorff 2011).

    Args:
        ratings: One row per rater, one column per unit, NaN where missing, shape (raters, units).
        metric: Level of measurement, which fixes the difference function.

    Returns:
        α, at most 1; NaN where no unit is rated twice or all ratings are equal.
    """
    counts, values = _rating_counts(ratings)
    counts = counts[counts.sum(axis=1) >= 2]
    if counts.size == 0:
        return float("nan")
    raters = counts.sum(axis=1, keepdims=True)
    coincidences = counts.T @ (counts / (raters - 1)) - np.diag((counts / (raters - 1)).sum(axis=0))
    margins = coincidences.sum(axis=0)
    difference = _differences(values, margins, metric)
    expected = float(margins @ difference @ margins) / (margins.sum() - 1)
    return 1 - float((coincidences * difference).sum()) / expected if expected > 0 else float("nan")


def gwet_ac1(ratings: ArrayLike) -> float:
    """Gwet's (2008) AC1 for nominal ratings, which does not collapse as κ does when nearly all ratings agree.

    With missing ratings as in Gwet 2014, Handbook of Inter-Rater Reliability: agreement over units rated at least
    twice, category shares over units rated at least once.

    Args:
        ratings: One row per rater, one column per unit, NaN where missing, shape (raters, units).

    Returns:
        AC1; NaN where no unit is rated twice, 1 where a single category is used.
    """
    counts, values = _rating_counts(ratings)
    counts = counts[counts.sum(axis=1) >= 1]
    twice = counts[counts.sum(axis=1) >= 2]
    if twice.size == 0:
        return float("nan")
    if values.size == 1:
        return 1.0
    share = (counts / counts.sum(axis=1, keepdims=True)).mean(axis=0)
    chance = float((share * (1 - share)).sum()) / (values.size - 1)
    return _beyond_chance(float(_pairwise_agreement(twice).mean()), chance)


def holm(p_values: ArrayLike) -> Floats:
    """Adjusted p-values that hold the family-wise error rate (Holm 1979), in the order of `p_values` (m,)."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(p.size, 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Adjusted p-values that hold the false discovery rate (Benjamini & Hochberg 1995), in the order of `p_values`."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = p[order] * p.size / np.arange(1, p.size + 1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0)
    return adjusted


def _pairwise_agreement(counts: Floats) -> Floats:
    """Share of the pairs of raters of each subject that agree, (subjects, categories) → (subjects,)."""
    raters = counts.sum(axis=1)
    agreement: Floats = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    return agreement


def _beyond_chance(observed: float, chance: float) -> float:
    """(observed - chance) / (1 - chance), NaN where chance alone agrees always."""
    return (observed - chance) / (1 - chance) if chance < 1 else float("nan")


def _rating_counts(ratings: ArrayLike) -> tuple[Floats, Floats]:
    """How often each unit got each value, (units, values), and the values in ascending order."""
    table = np.asarray(ratings, dtype=np.float64)
    values = np.unique(table[~np.isnan(table)])
    counts = (table[:, :, None] == values).sum(axis=0).astype(np.float64)
    return counts, values


def _differences(values: Floats, margins: Floats, metric: Metric) -> Floats:
    """Squared difference of every two values under Krippendorff's metrics, shape (values, values)."""
    a, b = values[:, None], values[None, :]
    match metric:
        case "nominal":
            return np.asarray(a != b, dtype=np.float64)
        case "ordinal":
            # Ranks lie between the values: all ratings between the two, and half of those on them.
            middle = np.cumsum(margins) - margins / 2
            return np.square(middle[:, None] - middle[None, :])
        case "interval":
            return np.square(a - b)
        case "ratio":
            total = a + b
            return np.square(np.divide(a - b, total, out=np.zeros_like(total), where=total != 0))
