"""Whether a model's probabilities mean what they say: calibration of letter probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from adage.analysis.controls import from_scores
from adage.analysis.responses import Responses
from adage.analysis.stats import Bools, Floats

BINS = 10
_PER_BIN = 10
_DIGITS = 9
"""Confidences that agree so far are equal."""


class Bin(NamedTuple):
    """Questions with about the same confidence."""

    confidence: float
    """Mean probability of the most probable option."""
    accuracy: float
    n: int


class Calibration(NamedTuple):
    """Calibration of the probabilities of one run."""

    ece: float
    """Expected calibration error: Σ n_b / n |accuracy_b - confidence_b|."""
    brier: float
    """Mean over questions of Σ_options (p - y)², from 0 to 2."""
    confidence: float
    accuracy: float
    n: int
    bins: tuple[Bin, ...]


def calibration(run: Responses) -> Calibration | None:
    """Calibration of probabilities averaged over the rotations; None where the scores are no such probabilities."""
    if run.condition.method != "letter":
        return None
    p = run.averaged(np.exp)
    have = ~np.isnan(p).all(axis=1)
    if not have.any():
        return None
    inside = np.arange(p.shape[1]) < run.size[:, None]
    kept = np.where(inside, p, 0.0)[have]
    kept = kept / kept.sum(axis=1, keepdims=True)
    gold = run.gold[have]
    confidence = kept.max(axis=1)
    right = (from_scores(kept) * gold).sum(axis=1)
    bins = equal_mass_bins(confidence, right)
    return Calibration(
        ece=expected_error(bins),
        brier=brier(kept, gold),
        confidence=float(confidence.mean()),
        accuracy=float(right.mean()),
        n=len(kept),
        bins=bins,
    )


def equal_mass_bins(confidence: ArrayLike, right: ArrayLike) -> tuple[Bin, ...]:
    """Questions in ten bins by the quantiles of confidence; fewer where a bin would hold fewer than ten.

    Bins of equal width would leave most of them nearly empty (Nixon et al. 2019, "Measuring Calibration in Deep
    Learning"). Equal confidences share a bin, so that bins may differ in size.

    Args:
        confidence: Probability of the chosen option, shape (n,).
        right: Whether that is right, or how probably where several are the most probable, shape (n,).
    """
    sure, hit = np.round(np.asarray(confidence, dtype=np.float64), _DIGITS), np.asarray(right, dtype=np.float64)
    count = max(1, min(BINS, len(sure) // _PER_BIN))
    edges = np.quantile(sure, np.linspace(0, 1, count + 1))
    index = np.searchsorted(edges[1:-1], sure)
    parts = [index == number for number in np.unique(index)]
    return tuple(Bin(float(sure[part].mean()), float(hit[part].mean()), int(part.sum())) for part in parts)


def expected_error(bins: tuple[Bin, ...]) -> float:
    """Expected calibration error (Naeini, Cooper & Hauskrecht 2015) of binned questions."""
    return sum(part.n * abs(part.accuracy - part.confidence) for part in bins) / sum(part.n for part in bins)


def brier(p: Floats, gold: Bools) -> float:
    """Brier's (1950) score of probabilities (n, options); several right options share the truth evenly."""
    truth = gold / gold.sum(axis=1, keepdims=True)
    return float(((p - truth) ** 2).sum(axis=1).mean())
