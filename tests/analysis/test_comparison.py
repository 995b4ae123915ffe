"""Comparisons of runs: pairs of models, languages, and the scenario left out."""

import numpy as np
import pytest
from msgspec.structs import replace

from adage.analysis.comparison import above_chance, language_gaps, model_pairs, paired, without_scenario
from adage.analysis.responses import all_responses
from adage.analysis.stats import clustered_mean, paired_difference
from adage.evaluation.result import Answer, Evaluated
from evaluated import Mind, benchmark, evaluate


def answered(asked, scores, name="model", **fields):
    """A run in one order that is right where `scores` says 1, and not answered where it says None."""
    base = evaluate(asked, Mind(), name=name, rotations=1, method="generate", **fields)
    answers = []
    for question, score in zip(asked.questions, scores, strict=True):
        gold = question.gold[0]
        choice = None if score is None else gold if score else (gold + 1) % 4
        answers.append(Answer(item=question.id, status="refused" if score is None else "answered", choice=choice))
    return Evaluated(base.result, asked, tuple(answers))


ASKED = benchmark(n=12, per_group=3)
FIRST = [1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0]
SECOND = [1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1]


def test_pairs_reproduce_the_reference():
    """The paired difference of the reference data has its mean and corrected error, McNemar its discordant pairs."""
    (pair,) = model_pairs(all_responses([answered(ASKED, FIRST, "a"), answered(ASKED, SECOND, "b")]))
    assert pair.difference == pytest.approx(paired_difference(FIRST, SECOND, np.repeat([0, 1, 2, 3], 3)))
    assert pair.difference[:2] == pytest.approx((0.083333, 0.159571), abs=1e-6)
    assert pair.mcnemar.statistic == pytest.approx(1 / 3)


def test_pairs_use_what_both_answered():
    """A question that one of two models refused counts for neither, and nothing in common is no pair."""
    runs = all_responses(
        [
            answered(ASKED, [None, *FIRST[1:]], "a"),
            answered(ASKED, SECOND, "b"),
            answered(ASKED, [1] + [None] * 11, "c"),
        ]
    )
    pairs = {(pair.first.model, pair.second.model): pair for pair in model_pairs(runs)}
    assert pairs["a", "b"].difference.n == 11
    assert pairs["b", "c"].difference.n == 1
    assert ("a", "c") not in pairs


def test_mcnemar_is_for_whole_answers_alone():
    """Scores averaged over orders are no right or wrong, so that McNemar's test has nothing to say."""
    asked = benchmark(n=40)
    runs = all_responses([evaluate(asked, Mind(), name=name, seed=seed) for seed, name in enumerate("ab")])
    assert model_pairs(runs)[0].mcnemar is None


def test_the_gap_adds_up_variances_of_two_languages():
    """Gap = accuracy in English - accuracy in the language, in points, SE² = SE_a² + SE_b²."""
    runs = all_responses([answered(ASKED, FIRST), answered(benchmark("ja", 12, per_group=3, seed=1), SECOND)])
    (gap,) = language_gaps(runs)
    clusters = np.repeat([0, 1, 2, 3], 3)
    first, second = (clustered_mean(scores, clusters) for scores in (FIRST, SECOND))
    assert gap.overall.points == pytest.approx(100 * (first.mean - second.mean))
    assert gap.overall.se == pytest.approx(100 * np.hypot(first.se, second.se))
    assert gap.above_chance.points == pytest.approx(gap.overall.points / 0.75)


def test_matched_lessons_are_those_that_both_have():
    """Only lessons of both benchmarks count on matched meanings, each once, as a pair."""
    japanese = benchmark("ja", 12, per_group=3, seed=1)
    moved = [
        replace(question, equivalent="elsewhere" if place < 6 else question.equivalent)
        for place, question in enumerate(japanese.questions)
    ]
    japanese = replace(japanese, questions=tuple(moved))
    (gap,) = language_gaps(all_responses([answered(ASKED, FIRST), answered(japanese, SECOND)]))
    differences = [1 - 2 / 3, 0 - 1 / 3]
    assert gap.lessons == 2
    assert gap.matched.points == pytest.approx(100 * np.mean(differences))
    assert gap.matched.se == pytest.approx(100 * clustered_mean(differences, [0, 1]).se)
    bare = replace(japanese, questions=tuple(replace(question, equivalent="") for question in moved))
    (gap,) = language_gaps(all_responses([answered(ASKED, FIRST), answered(bare, SECOND)]))
    assert gap.matched is None


def test_assemblies_are_not_mixed():
    """A benchmark with other wrong options is no reference, one without a known assembly is."""
    runs = [
        answered(benchmark("en", 12, assembly=assembly, name=f"en{assembly}"), FIRST)
        for assembly in ("paper", "balanced", "")
    ]
    runs.append(answered(benchmark("ja", 12), SECOND))
    assert {gap.reference.benchmark.assembly for gap in language_gaps(all_responses(runs))} == {"balanced", ""}


def test_a_language_asked_in_english_has_its_gap():
    """English instructions are native to English: a language without its own is compared with them, once."""

    def put(run, prompt, labels="latin"):
        condition = replace(run.result.condition, prompt=prompt, labels=labels)
        return run._replace(result=replace(run.result, condition=condition))

    here = put(answered(benchmark("ja", 12, per_group=3, seed=1), SECOND), "en")
    native, same = put(answered(ASKED, FIRST), "native"), put(answered(ASKED, FIRST), "en")
    for there in ([native], [same], [native, same], [put(native, "native", "native")]):
        (gap,) = language_gaps(all_responses([here, *there]))
        assert (gap.lessons, gap.questions, gap.reference_questions) == (4, 12, 12)
    elsewhere = put(answered(ASKED, FIRST), "ja")
    assert not list(language_gaps(all_responses([here, elsewhere])))


def test_above_chance_is_zero_at_chance_and_one_at_the_top():
    """(accuracy - chance) / (1 - chance), with the error on the same scale."""
    estimate = clustered_mean(FIRST, range(12))
    found = above_chance(estimate, 0.25)
    assert found.mean == pytest.approx((0.5 - 0.25) / 0.75)
    assert found.se == pytest.approx(estimate.se / 0.75)
    assert above_chance(clustered_mean([1, 1], [0, 1]), 0.2).mean == 1


def test_the_run_without_scenario_is_that_of_the_same_model():
    """Choices only is paired by question with the full run of the same model, method and labels."""
    runs = all_responses(
        [
            answered(ASKED, FIRST, "a"),
            answered(ASKED, SECOND, "a", shown="choices_only"),
            answered(ASKED, [0] * 12, "b", shown="choices_only"),
        ]
    )
    full = next(run for run in runs if run.condition.shown == "full")
    bare = without_scenario(full, runs)
    assert bare.model == "a"
    assert paired(full, bare).mean == pytest.approx(1 / 12)
    assert without_scenario(bare, runs) is None
