"""Comparisons of runs: two models on the same questions, two languages, with and without the scenario."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from adage.analysis.responses import Responses, asked_alike
from adage.analysis.stats import (
    Estimate,
    Floats,
    Gap,
    McNemar,
    mcnemar,
    paired_difference,
    unpaired_gap,
)

REFERENCE = "en"
"""Language that the others are compared with."""


class Pair(NamedTuple):
    """Two models on the questions that both answered."""

    first: Responses
    second: Responses
    difference: Estimate
    """First - second."""
    mcnemar: McNemar | None
    """None where presentations of a question disagree, so that right and wrong are no whole numbers."""


class LanguageGap(NamedTuple):
    """How much better a model is in the reference language."""

    run: Responses
    reference: Responses
    overall: Gap
    """Of accuracy."""
    above_chance: Gap
    """Of (accuracy - chance) / (1 - chance)."""
    matched: Gap | None
    """Over lessons that both benchmarks have; None without any."""
    lessons: int
    questions: int
    """Answered questions of the run."""
    reference_questions: int


def model_pairs(runs: Sequence[Responses]) -> list[Pair]:
    """Every two models on one benchmark under one condition; pairs without a common answered question are left out."""
    found = []
    for first, second in combinations(runs, 2):
        if difference := paired(first, second):
            found.append(Pair(first, second, difference, _mcnemar(first.item_scores, second.item_scores)))
    return found


def without_scenario(run: Responses, runs: Sequence[Responses]) -> Responses | None:
    """The run of the same model on the same questions that saw the options only, if there is one."""
    bare = f"{run.condition.slug.removesuffix(run.condition.shown)}choices_only"
    for other in runs:
        if (other.model, other.result.benchmark, other.condition.slug) == (run.model, run.result.benchmark, bare):
            return other if other is not run else None
    return None


def paired(first: Responses, second: Responses) -> Estimate | None:
    """First - second over the questions that both answered."""
    have = ~np.isnan(first.item_scores) & ~np.isnan(second.item_scores)
    if not have.any():
        return None
    return paired_difference(first.item_scores[have], second.item_scores[have], first.group[have])


def language_gaps(runs: Sequence[Responses]) -> Iterator[LanguageGap]:
    """Accuracy in the reference language less that in every other, for each model and condition.

    Benchmarks whose options were put together in different ways are not compared; foreign ones, of which that is not
    known, are.
    """
    for run in runs:
        for reference in _references(run, runs):
            here, there = run.estimate(run.item_scores), reference.estimate(reference.item_scores)
            if here is None or there is None:
                continue
            matched, lessons = _matched(run, reference)
            yield LanguageGap(
                run,
                reference,
                unpaired_gap(there, here),
                unpaired_gap(above_chance(there, reference.chance), above_chance(here, run.chance)),
                matched,
                lessons,
                here.n,
                there.n,
            )


def _references(run: Responses, runs: Sequence[Responses]) -> list[Responses]:
    """What a run is compared with: under the condition of the same name, or else one that comes to the same."""
    if run.benchmark.language == REFERENCE:
        return []
    alike = [
        other
        for other in runs
        if other.benchmark.language == REFERENCE
        and other.model == run.model
        and asked_alike(other, run)
        and len({run.benchmark.assembly, other.benchmark.assembly} - {""}) < 2
    ]
    named = {other.result.benchmark for other in alike if other.condition == run.condition}
    return [other for other in alike if other.condition == run.condition or other.result.benchmark not in named]


def above_chance(estimate: Estimate, chance: float) -> Estimate:
    """(accuracy - chance) / (1 - chance): 0 for a guesser, 1 for perfect answers, whatever the number of options."""
    width = 1 - chance
    mean, low, high = ((value - chance) / width for value in (estimate.mean, estimate.low, estimate.high))
    return estimate._replace(mean=mean, se=estimate.se / width, low=low, high=high)


def _matched(run: Responses, reference: Responses) -> tuple[Gap | None, int]:
    """Mean over the lessons of both of reference - run, each lesson a pair, and the number of lessons."""
    here, there = _lessons(run), _lessons(reference)
    both = sorted(here.keys() & there.keys())
    if not both:
        return None, 0
    found = paired_difference([there[lesson] for lesson in both], [here[lesson] for lesson in both], both)
    return Gap(*(100 * value for value in (found.mean, found.se, found.low, found.high))), len(both)


def _lessons(run: Responses) -> dict[str, float]:
    """Lesson → mean score of its answered questions."""
    scores: dict[str, list[float]] = {}
    for question, score in zip(run.questions, run.item_scores, strict=True):
        if question.equivalent and not np.isnan(score):
            scores.setdefault(question.equivalent, []).append(float(score))
    return {lesson: sum(found) / len(found) for lesson, found in scores.items()}


def _mcnemar(first: Floats, second: Floats) -> McNemar | None:
    have = ~np.isnan(first) & ~np.isnan(second)
    if not np.isin(np.concatenate([first[have], second[have]]), (0.0, 1.0)).all():
        return None
    return mcnemar(int((first > second).sum()), int((first < second).sum()))
