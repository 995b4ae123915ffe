"""Which wrong options draw the errors: attraction of the roles, and the wrong choices as choices among options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from adage.analysis.responses import WRONG_ROLES, Responses
from adage.analysis.stats import Bools, Floats, Ints, clustered_bootstrap, quotient

_TERMS = (
    "same_cluster",
    "near_match",
    "same_cluster × capability",
    "near_match × capability",
    "cos_scenario",
    "length",
    "place",
)
"""Terms of `wrong_choices`."""


class Attractions(NamedTuple):
    """Attraction of the wrong roles in several runs on one benchmark; arrays (runs, roles)."""

    errors: Floats
    """Errors on each role; presentations of one question share one error."""
    expected: Floats
    """Errors that would fall on each role if they fell evenly on the wrong options."""
    ratios: Floats
    """errors / expected, NaN without errors."""
    low: Floats
    high: Floats
    """Ends of the 95 % bootstrap interval over meaning groups."""


class Choices(NamedTuple):
    """Choices among wrong options, for `choice.conditional_logit`."""

    x: Floats
    """Terms of every option, shape (choices, options, terms)."""
    offered: Bools
    """Which options could be chosen, shape (choices, options)."""
    chosen: Ints
    """Shape (choices,)."""
    weight: Floats
    """Shape (choices,)."""
    cluster: Ints
    """Shape (choices,)."""
    terms: tuple[str, ...]


def attractions(runs: Sequence[Responses], *, draws: int = 10_000) -> Attractions:
    """Observed against expected errors by role, with the bootstrap of whole meaning groups, for runs on one benchmark.

    Expected: an error falls on each wrong option of its question with equal probability.
    """
    parts = np.stack([errors_by_role(run) for run in runs], axis=2)

    def ratios(totals: Floats) -> Floats:
        errors, expected = totals.reshape(-1, 2, len(runs), len(WRONG_ROLES)).swapaxes(0, 1)
        return quotient(errors, expected)

    low, high = clustered_bootstrap(group_sums(runs, parts.swapaxes(0, 1)), ratios, draws=draws)
    errors, expected = parts.sum(axis=1)
    return Attractions(errors, expected, quotient(errors, expected), low, high)


def group_sums(runs: Sequence[Responses], values: Floats) -> Floats:
    """Sums over the questions (questions, ...) of each meaning group that some run was asked, (groups, m)."""
    asked = np.logical_or.reduce([run.asked for run in runs])
    groups, index = np.unique(runs[0].group[asked], return_inverse=True)
    flat = values[asked].reshape(len(index), -1)
    sums = np.zeros((len(groups), flat.shape[1]))
    np.add.at(sums, index, flat)
    return sums


def errors_by_role(run: Responses) -> tuple[Floats, Floats]:
    """Observed and expected errors of each question on each role, both (questions, roles).

    A question that was shown several times adds up to one error at most.
    """
    wrong = run.answered & ~run.right
    errors = np.zeros((len(run.size), len(WRONG_ROLES)))
    np.add.at(errors, (run.item[wrong], run.role[run.item, run.choice][wrong]), run.weight[wrong])
    k = options_by_role(run)
    expected = errors.sum(axis=1, keepdims=True) * k / np.maximum(k.sum(axis=1, keepdims=True), 1)
    return errors, expected


def options_by_role(run: Responses) -> Floats:
    """Wrong options of each role in each question, shape (questions, roles)."""
    return np.stack([(run.role == role).sum(axis=1) for role in range(len(WRONG_ROLES))], axis=1).astype(np.float64)


def wrong_choices(runs: Sequence[Responses], capability: Mapping[str, float]) -> Choices | None:
    """The wrong choices of several models on one benchmark as choices among the wrong options.

    Terms: same cluster and near match (against random), both times capability (in tenths, less the mean, of models
    that have one; with at least three models), cosine with the scenario and logarithm of the length (in standard
    deviations), and the place, from 0 for the first to 1 for the last. A term that does not vary is left out.

    Args:
        runs: Runs on one benchmark under one condition, which has roles.
        capability: Capability of each model by name; empty: no such terms.

    Returns:
        None where nothing was chosen wrongly.
    """
    graded = len(capability) >= 3
    centre = sum(capability.values()) / len(capability) if graded else 0.0
    features = _features(runs[0])
    blocks, offered, chosen, weights, clusters = [], [], [], [], []
    for run in runs:
        if graded and run.model not in capability:
            continue
        rows = np.flatnonzero(run.answered & ~run.right)
        item = run.item[rows]
        roles = np.stack([run.role[item] == role for role in (0, 1)], axis=2).astype(np.float64)
        ability = 10 * (capability[run.model] - centre) if graded else 0.0
        width = run.gold.shape[1]
        place = (np.arange(width) - run.rotation[rows, None]) % run.size[item, None] / (run.size[item, None] - 1)
        place = place * float(run.ordered)
        blocks.append(np.concatenate([roles, roles * ability, features[item], place[:, :, None]], axis=2))
        offered.append(run.role[item] >= 0)
        chosen.append(run.choice[rows])
        weights.append(run.weight[rows])
        clusters.append(run.group[item])
    if not sum(map(len, chosen)):
        return None
    x, open_to = np.concatenate(blocks), np.concatenate(offered)
    varies = [index for index in range(len(_TERMS)) if _varies(x[:, :, index], open_to)]
    return Choices(
        x[:, :, varies],
        open_to,
        np.concatenate(chosen),
        np.concatenate(weights),
        np.concatenate(clusters),
        tuple(_TERMS[index] for index in varies),
    )


def _features(run: Responses) -> Floats:
    """Cosine with the scenario and log length of each option in standard deviations, (questions, widest, 2)."""
    found = np.zeros((*run.gold.shape, 2))
    inside = np.arange(run.gold.shape[1]) < run.size[:, None]
    for row, question in enumerate(run.questions):
        if question.cos_scenario:
            found[row, : run.size[row], 0] = question.cos_scenario
        found[row, : run.size[row], 1] = np.log([max(1, len(text)) for text in question.options])
    spread = found[inside].std(axis=0)
    scaled: Floats = found / np.where(spread > 0, spread, 1)
    return scaled


def _varies(values: Floats, offered: Bools) -> bool:
    """Whether a term differs among the options of some choice."""
    low = np.where(offered, values, np.inf).min(axis=1)
    high = np.where(offered, values, -np.inf).max(axis=1)
    return bool((high - low > 1e-12).any())
