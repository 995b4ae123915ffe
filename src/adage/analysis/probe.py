"""A trained guesser that never sees the scenario: a logistic probe on what can be told of the options alone.

It learns what a person or model that studied the benchmark could learn, such as "the right option is rather long and
in the middle of the others", and so finds leaks that no guesser with a fixed rule looks for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from adage.analysis.choice import derivatives, probabilities
from adage.analysis.controls import (
    Control,
    Options,
    control,
    from_scores,
    nearest_embedding,
    option_only,
    pairs_there,
    similarities,
)
from adage.analysis.stats import Bools, Floats
from adage.records import digest

PENALTY = 1.0
"""Weight of half the squared norm of the coefficients, as in ridge regression with scikit-learn's C = 1."""


def logistic_probe(items: Options) -> Control | None:
    """Accuracy of the probe on each split, fitted on the others; on each half of the meaning groups where one is all.

    The model is McFadden's (1974) conditional logit: a softmax over the options of an item. None where all items are
    of one meaning group, so that nothing can be left out.
    """
    parts = _parts(items)
    if len(np.unique(parts)) < 2:
        return None
    seen, right, there = option_features(items), items.right, items.there
    guess = np.zeros(there.shape)
    for part in np.unique(parts):
        scored = parts == part
        weights = fit(seen[~scored], right[~scored], there[~scored])
        guess[scored] = from_scores(np.where(there, seen @ weights, -np.inf)[scored])
    return control("logistic_probe", "options", guess, items)


def _parts(items: Options) -> NDArray[np.generic]:
    """Which part each item belongs to, for fitting on the others: its split, or a half of the meaning groups."""
    if items.split is not None and len(np.unique(items.split)) > 1:
        return items.split
    names, group = np.unique(items.group, return_inverse=True)
    order = sorted(range(len(names)), key=lambda place: digest("probe", str(names[place])))
    return np.isin(group, order[::2])


def every_control(items: Options, scenarios: NDArray[np.floating], *, circular: bool) -> list[Control]:
    """All guessers without understanding: those that see the options alone, the probe, and the nearest in each space.

    Args:
        items: The items.
        scenarios: Unit vector of each scenario, shape (items, dim).
        circular: Whether the options were chosen with the encoder of these vectors.
    """
    probe = logistic_probe(items)
    return [
        *option_only(items),
        *([probe] if probe else []),
        *(
            nearest_embedding(items, space, scenarios, vectors, circular=circular)
            for space, vectors in items.spaces.items()
        ),
    ]


def option_features(items: Options) -> Floats:
    """Every feature of every option, less its mean over the item's options and in units of its spread.

    Shape (items, n, features); zeros where there is no option. Each property comes as its size, as its rank among the
    options (0 to 1), and as being the greatest and the least.
    """
    there = items.there
    count = there.sum(axis=1, keepdims=True)
    columns = []
    for value in _properties(items):
        higher = ((value[:, None, :] > value[:, :, None]) & there[:, None, :]).sum(axis=2)
        lower = ((value[:, None, :] < value[:, :, None]) & there[:, None, :]).sum(axis=2)
        columns += [value, higher / np.maximum(count - 1, 1), higher == 0, lower == 0]
    seen = np.where(there[:, :, None], np.stack(columns, axis=2), 0.0)
    seen = np.where(there[:, :, None], seen - seen.sum(axis=1, keepdims=True) / count[:, :, None], 0.0)
    spread = np.sqrt((seen**2).sum(axis=(0, 1)) / there.sum())
    return np.asarray(seen / np.where(spread > 0, spread, 1.0))


def _properties(items: Options) -> Iterator[Floats]:
    """Length, frequency, options of the same cluster; by space mean, greatest and least cosine to the other options."""
    yield np.log(np.maximum(items.length[items.proverbs], 1))
    yield np.log(np.maximum(items.uses, 1))
    if (mates := items.mates) is not None:
        yield mates.sum(axis=2).astype(np.float64)
    pairs = pairs_there(items)
    others = np.maximum(pairs.sum(axis=2), 1)
    for vectors in items.spaces.values():
        cosines = similarities(vectors, items.proverbs)
        yield np.where(pairs, cosines, 0.0).sum(axis=2) / others
        # Absent options have no pair; any finite number does for them.
        yield np.where(pairs, cosines, -1.0).max(axis=2)
        yield np.where(pairs, cosines, 1.0).min(axis=2)


def fit(seen: Floats, right: Bools, there: Bools, *, penalty: float = PENALTY) -> Floats:
    """Coefficients (features,) of the conditional logit: least ridge-penalised cross-entropy, which is convex.

    Args:
        seen: Features, shape (items, n, features).
        right: Which options are right, shape (items, n); several of an item share its weight.
        there: Which options there are, shape (items, n).
        penalty: Weight of half the squared norm of the coefficients.
    """
    target = right / right.sum(axis=1, keepdims=True)
    size = seen.shape[2]

    def loss(weights: Floats) -> tuple[float, Floats]:
        p = probabilities(seen, there, weights)
        entropy = -float(special.xlogy(target, p).sum())
        score, _ = derivatives(seen, target, p)
        return entropy + penalty / 2 * float(weights @ weights), penalty * weights - score.sum(axis=0)

    def curvature(weights: Floats) -> Floats:
        _, information = derivatives(seen, target, probabilities(seen, there, weights))
        return information + penalty * np.eye(size)

    found = optimize.minimize(loss, np.zeros(size), jac=True, hess=curvature, method="trust-exact")
    return np.asarray(found.x, dtype=np.float64)
