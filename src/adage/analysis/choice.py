"""McFadden's (1974) conditional logit: P(j) = exp(x_j β) / Σ_k exp(x_k β) over the options that a choice offers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from adage.analysis.stats import Bools, Floats

_STEPS = 50
_BOUND = 20.0
"""A coefficient beyond this means that its term separates the choices: there is no finite estimate."""


class Logit(NamedTuple):
    """Coefficients of a conditional logit."""

    beta: Floats
    """Shape (terms,); NaN for a term that tells the choices for certain, and so has no finite coefficient."""
    se: Floats
    """Standard errors if all choices were independent, shape (terms,)."""
    clustered_se: Floats
    """Standard errors robust to clusters, shape (terms,)."""


def conditional_logit(
    x: ArrayLike,
    offered: ArrayLike,
    chosen: ArrayLike,
    weight: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
) -> Logit:
    """The conditional logit of greatest likelihood, by Newton's method.

    A term that separates the choices (as the place does where the first is always chosen) is left out, the rest fitted.

    Args:
        x: Terms of every option, shape (choices, options, terms).
        offered: Which options could be chosen, shape (choices, options).
        chosen: The chosen option, shape (choices,).
        weight: Weight of each choice; 1, unless given.
        cluster: Clusters for the robust standard errors (with C / (C - 1)); every choice its own, unless given.
    """
    terms, open_to = np.asarray(x, dtype=np.float64), np.asarray(offered, dtype=bool)
    picked = np.asarray(chosen)
    w = np.ones(len(picked)) if weight is None else np.asarray(weight, dtype=np.float64)
    of = np.arange(len(picked)) if cluster is None else np.unique(np.asarray(cluster), return_inverse=True)[1]
    terms = np.where(open_to[:, :, None], terms, 0.0)
    if not terms.shape[2]:
        return Logit(*(np.empty(0) for _ in Logit._fields))
    target = picked[:, None] == np.arange(terms.shape[1])
    beta = np.zeros(terms.shape[2])
    for _ in range(_STEPS):
        score, information = derivatives(terms, target, probabilities(terms, open_to, beta), w)
        step = np.linalg.lstsq(information, score.sum(axis=0), rcond=None)[0]
        beta += step
        if np.abs(step).max() < 1e-10:
            break
        if np.abs(beta).max() > _BOUND:
            worst = int(np.abs(beta).argmax())
            others = conditional_logit(np.delete(terms, worst, axis=2), open_to, picked, w, of)
            return Logit(*(np.insert(part, worst, np.nan) for part in others))
    score, information = derivatives(terms, target, probabilities(terms, open_to, beta), w)
    bread = np.linalg.pinv(information)
    sums = np.zeros((int(of.max()) + 1, len(beta)))
    np.add.at(sums, of, score)
    count = len(sums)
    meat = sums.T @ sums * (count / (count - 1) if count > 1 else np.nan)
    return Logit(beta, np.sqrt(np.diag(bread)), np.sqrt(np.diag(bread @ meat @ bread)))


def probabilities(x: Floats, offered: Bools, beta: Floats) -> Floats:
    """Probability of each option (choices, options), 0 where it is not offered; x (choices, options, terms)."""
    return np.asarray(special.softmax(np.where(offered, x @ beta, -np.inf), axis=1))


def derivatives(
    x: Floats, target: NDArray[np.generic], p: Floats, weight: Floats | None = None
) -> tuple[Floats, Floats]:
    """Of the log-likelihood: the score of each choice (choices, terms), and the information matrix (terms, terms).

    Args:
        x: Terms of every option, shape (choices, options, terms).
        target: What was chosen, rows that add up to 1, shape (choices, options).
        p: Probabilities of the options, shape (choices, options).
        weight: Weight of each choice; 1, unless given.
    """
    w = np.ones(len(x)) if weight is None else weight
    mean = np.einsum("co,cot->ct", p, x)
    score = w[:, None] * (np.einsum("co,cot->ct", target.astype(np.float64), x) - mean)
    spread = (x - mean[:, None, :]) * np.sqrt(p * w[:, None])[:, :, None]
    flat = spread.reshape(-1, x.shape[2])
    return score, flat.T @ flat
