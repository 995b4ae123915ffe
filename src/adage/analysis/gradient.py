"""The capability gradient: do abler models fall for the near match more often, guessing set aside?

Let a question be understood, *misread* (share m; role d of the misreading with probability π_d) or guessed at (share
g). The raw share of a role among the errors mixes π with g: it moves when guessing falls, though π stands still. In
all n rotations of n options, a misreading picks the same option by content, and a uniform guess does so rarely
(n^-n for each option), so that π can be told from g without knowing g.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from adage.analysis.attraction import errors_by_role, group_sums, options_by_role
from adage.analysis.responses import WRONG_ROLES, Responses, asked_alike
from adage.analysis.stats import Floats, Interval, Trend, clustered_bootstrap, cochran_armitage, quotient

FEWEST = 5.0
"""Misreadings, less guesses, that a share is computed of at least."""


class Gradients(NamedTuple):
    """Shares of the roles in several runs on one benchmark; arrays (runs, roles) unless said otherwise."""

    capability: Floats
    """Shape (runs,), NaN where it is unknown."""
    errors: Floats
    """Errors, those of one question adding up to one at most, shape (runs,)."""
    raw: Floats
    """Share of each role among the errors."""
    pi: Floats
    """π̂: share of each role among the misreadings; NaN where there are too few, or no rotations."""
    low: Floats
    high: Floats
    """Ends of the 95 % bootstrap interval of π̂ or, without rotations, of the π that some g admits."""
    misreadings: Floats
    """Misreadings seen, shape (runs,)."""
    guessed: Floats
    """ĝ: share of questions guessed at, shape (runs,), NaN without rotations."""
    misread: Floats
    """m̂: share of questions misread, shape (runs,), NaN without rotations."""


class Slope(NamedTuple):
    """Change of a share of the errors per unit of capability."""

    slope: float
    low: float
    high: float
    """Ends of the 95 % bootstrap interval over meaning groups."""
    trend: Trend | None
    """Cochran-Armitage test; None where nothing differs."""
    n: float
    """Errors, or corrected misreadings, of all models."""


def misreadings(run: Responses) -> tuple[Floats, Floats, Floats]:
    """What each question adds to the misreadings of each role.

    A unit (a question in one phrasing, answered in all its n rotations) that always chose the same wrong option adds 1
    to the option's role. A unit whose choice changed must have been guessed at; for each such unit, 1 / (1 - n^(1-n))
    were guessed at uniformly, of which n^-n stayed with each wrong option: those are taken away.

    Returns:
        Seen (questions, roles); seen less what guessing leaves (questions, roles); share guessed at (questions,), NaN
        without a unit. Units of one question are averaged.
    """
    units, k = run.units, options_by_role(run)
    n = run.size.astype(np.float64)
    count = np.bincount(units.item, minlength=len(n))
    share = 1 / np.maximum(count, 1)[units.item]
    wrong = (units.choice >= 0) & ~run.gold[units.item, units.choice]
    seen = np.zeros(k.shape)
    np.add.at(seen, (units.item[wrong], run.role[units.item, units.choice][wrong]), share[wrong])
    changed = np.bincount(units.item, share * (units.choice < 0), minlength=len(n))
    guessed = changed / (1 - n ** (1 - n))
    corrected = seen - guessed[:, None] * k * n[:, None] ** -n[:, None]
    return seen, corrected, np.where(count > 0, guessed, np.nan)


def shares(corrected: ArrayLike) -> Floats:
    """π̂ of corrected misreadings (..., roles); negative ones count as none, NaN below `FEWEST` in all."""
    counts = np.maximum(np.asarray(corrected, dtype=np.float64), 0)
    total = counts.sum(axis=-1, keepdims=True)
    return quotient(counts, np.where(total >= FEWEST, total, 0))


def admissible(errors: ArrayLike, options: ArrayLike, n_options: float, accuracy: float) -> list[Interval]:
    """The π of each role that some guessing rate g admits, where every question was shown once.

    π_d(g) = (e_d - g k_d / n) / Σ_d (e_d - g k_d / n) moves one way in g, and g runs from 0 to where a role, or the
    share understood, would fall below 0: min(min_d n e_d / k_d, n · accuracy).

    Args:
        errors: Errors on each role as shares of the questions, shape (roles,).
        options: Wrong options of each role in a question, shape (roles,).
        n_options: Options of a question.
        accuracy: Share of the questions answered rightly.

    Returns:
        The interval of each role; without an error, from 0 to 1.
    """
    e, k = np.asarray(errors, dtype=np.float64), np.asarray(options, dtype=np.float64)
    if e.sum() <= 0:
        return [Interval(0.0, 1.0) for _ in e]
    offered = k > 0
    most = min(float((n_options * e[offered] / k[offered]).min()), n_options * accuracy, 1.0)
    ends = [e / e.sum()]
    left = e - most * k / n_options
    if left.sum() > 1e-9:
        ends.append(np.maximum(left, 0) / np.maximum(left, 0).sum())
    return [
        Interval(float(low), float(high)) for low, high in zip(np.min(ends, axis=0), np.max(ends, axis=0), strict=True)
    ]


def capabilities(runs: Sequence[Responses]) -> dict[tuple[str, str], dict[str, float]]:
    """Capability of each model for each (benchmark, condition): its mean accuracy in the other languages.

    Only benchmarks with roles and the same assembly count, under the same condition.
    """
    found: dict[tuple[str, str], dict[str, float]] = {}
    able = [run for run in runs if run.has_roles and run.answered.any()]
    for run in able:
        others = [
            float(np.nanmean(other.item_scores))
            for other in able
            if other.model == run.model
            and asked_alike(other, run)
            and other.benchmark.assembly == run.benchmark.assembly
            and other.benchmark.language != run.benchmark.language
        ]
        if others:
            found.setdefault((run.result.benchmark, run.condition.slug), {})[run.model] = sum(others) / len(others)
    return found


def gradients(runs: Sequence[Responses], capability: dict[str, float], *, draws: int = 10_000) -> Gradients:
    """Raw shares and π̂ of runs on one benchmark under one condition, with capability from other languages."""
    by_role = np.array([errors_by_role(run)[0].sum(axis=0) for run in runs])
    errors = by_role.sum(axis=1)
    found = [misreadings(run) for run in runs]
    corrected = np.stack([part[1] for part in found], axis=1)
    shape = corrected.shape[1:]
    low, high = clustered_bootstrap(
        group_sums(runs, corrected), lambda totals: shares(totals.reshape(-1, *shape)), draws=draws
    )
    total = corrected.sum(axis=0)
    units = np.array([np.isfinite(part[2]).sum() for part in found])
    pi = shares(total)
    low, high = (np.where(np.isnan(pi), np.nan, end) for end in (low, high))
    for number, run in enumerate(runs):
        if not units[number] and run.answered.any():
            ends = _admissible(run)
            low[number], high[number] = [end.low for end in ends], [end.high for end in ends]
    none = np.maximum(units, 1)
    return Gradients(
        capability=np.array([capability.get(run.model, np.nan) for run in runs]),
        errors=errors,
        raw=quotient(by_role, errors[:, None]),
        pi=pi,
        low=low,
        high=high,
        misreadings=np.array([part[0].sum() for part in found]),
        # Estimates of shares may fall a little outside of what a share can be.
        guessed=np.where(units > 0, np.clip([np.nansum(part[2]) for part in found] / none, 0, 1), np.nan),
        misread=np.where(units > 0, np.clip(total.sum(axis=1) / none, 0, 1), np.nan),
    )


def slopes(runs: Sequence[Responses], capability: dict[str, float], *, draws: int = 10_000) -> dict[str, list[Slope]]:
    """Trend of each role's share with capability, `raw` and `corrected`: one slope a role; empty below three models.

    The slope is that of the Cochran-Armitage test: share on capability, models weighted by their errors (or corrected
    misreadings). Meaning groups are drawn for all models at once, as they answer the same questions.
    """
    known = [run for run in runs if run.model in capability]
    x = np.array([capability[run.model] for run in known])
    if len(known) < 3 or np.ptp(x) == 0:
        return {}
    found = {}
    for name, parts in (
        ("raw", [errors_by_role(run)[0] for run in known]),
        ("corrected", [misreadings(run)[1] for run in known]),
    ):
        counts = np.stack(parts, axis=1)
        if counts.sum() < FEWEST:
            continue
        low, high = clustered_bootstrap(group_sums(known, counts), partial(_slope, x=x), draws=draws)
        total = np.maximum(counts.sum(axis=0), 0)
        slope = _slope(total[None], x)[0]
        found[name] = [
            Slope(float(slope[role]), float(low[role]), float(high[role]), _trend(total, role, x), float(total.sum()))
            for role in range(len(WRONG_ROLES))
        ]
    return found


def _admissible(run: Responses) -> list[Interval]:
    have = ~np.isnan(run.item_scores)
    errors = errors_by_role(run)[0][have].mean(axis=0)
    options = options_by_role(run)[have].mean(axis=0)
    return admissible(errors, options, float(run.size[have].mean()), float(run.item_scores[have].mean()))


def _slope(counts: Floats, x: Floats) -> Floats:
    """Least squares of shares on x (models,), weighted by totals; counts (draws, models · roles) → (draws, roles)."""
    counts = np.maximum(counts.reshape(len(counts), len(x), -1), 0)
    total = counts.sum(axis=2)
    everything = np.maximum(total.sum(axis=1, keepdims=True), 1e-12)
    off = x - (total @ x)[:, None] / everything
    spread = (total * off**2).sum(axis=1, keepdims=True)
    hit = np.einsum("dmr,dm->dr", counts, off)
    return quotient(hit, np.where(spread > 1e-12, spread, 0))


def _trend(total: Floats, role: int, x: Floats) -> Trend | None:
    try:
        return cochran_armitage(total[:, role], total.sum(axis=1), x)
    except ValueError:
        return None
