"""A run as arrays: what counts, what does not, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from adage.analysis.responses import STATUSES, all_responses, by_benchmark
from adage.errors import StoreError
from adage.evaluation.result import Answer, Benchmark, Evaluated, Question
from evaluated import Mind, benchmark, evaluate, roster


def run_of(evaluated):
    """One run as arrays."""
    return all_responses([evaluated])[0]


def with_answers(evaluated, answers):
    """The run with other answers."""
    return Evaluated(evaluated.result, evaluated.benchmark, tuple(answers))


BASE = evaluate(benchmark(n=24), Mind())


def test_scores_are_averaged_within_the_question_first():
    """A question answered rightly in one of four orders scores a quarter, and n counts questions."""
    question = BASE.benchmark.questions[0]
    gold = question.gold[0]
    answers = [
        Answer(item=question.id, rotation=r, status="answered", choice=gold if r == 2 else (gold + 1) % 4)
        for r in range(4)
    ]
    run = run_of(with_answers(BASE, answers))
    assert run.item_scores[0] == 0.25
    assert np.isnan(run.item_scores[1:]).all()
    estimate = run.estimate(run.item_scores)
    assert (estimate.mean, estimate.n) == (0.25, 1)


@pytest.mark.parametrize("status", [status for status in STATUSES if status != "answered"])
def test_what_is_not_answered_is_not_wrong(status):
    """Refused, unparsed, truncated and failed presentations leave the score of a question as it was."""
    mended = [
        Answer(item=answer.item, rotation=answer.rotation, status=status) if answer.rotation == 3 else answer
        for answer in BASE.answers
    ]
    fewer = [answer for answer in BASE.answers if answer.rotation != 3]
    marked, left_out = (run_of(with_answers(BASE, answers)) for answers in (mended, fewer))
    assert marked.item_scores == pytest.approx(left_out.item_scores)
    assert marked.chance == 0.25


def test_the_place_of_a_choice_follows_from_the_rotation():
    """Place j showed option (j + rotation) % n: always picking the first place picks every option once."""
    run = run_of(evaluate(benchmark(n=30), Mind(guesses=1.0, misreads=0, guesser="position")))
    assert (run.place == 0).all()
    assert run.item_scores == pytest.approx(np.full(30, 0.25))


def test_units_need_every_rotation():
    """A question of which one order was not answered is no unit; one of several phrasings still is."""
    evaluated = evaluate(benchmark(n=5), Mind(guesses=0, misreads=0), phrasings=2)
    dropped = [
        replace(answer, status="unparsed", choice=None, scores=())
        if (answer.item, answer.phrasing, answer.rotation) == ("i0000", 1, 2)
        else answer
        for answer in evaluated.answers
    ]
    run = run_of(with_answers(evaluated, dropped))
    assert sorted(run.units.item) == [0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert (run.units.choice == run.gold.argmax(axis=1)[run.units.item]).all()
    assert len(run_of(evaluate(benchmark(n=5), Mind(), method="text")).units.item) == 0


@settings(max_examples=40)
@given(
    st.lists(st.floats(-3, 0), min_size=4, max_size=4, unique_by=lambda x: round(x, 3)),
    st.lists(st.floats(-20, 20), min_size=4, max_size=4),
)
def test_debiased_choices_do_not_depend_on_a_taste_for_places(content, taste):
    """Log-probabilities = content + place, normalised: averaged over the orders, the content alone decides."""
    content = [round(x, 3) for x in content]
    question = Question(id="q", scenario="s", options=("a", "b", "c", "d"), gold=(int(np.argmax(content)),), group="g")
    asked = Benchmark(name="b", language="en", questions=(question,))
    answers = []
    for rotation in range(4):
        raw = np.array([content[option] + taste[(option - rotation) % 4] for option in range(4)])
        scores = raw - np.log(np.exp(raw - raw.max()).sum()) - raw.max()
        answers.append(
            Answer(
                item="q",
                rotation=rotation,
                status="answered",
                choice=int(scores.argmax()),
                scores=tuple(map(float, scores)),
            )
        )
    result = replace(BASE.result, benchmark=asked.slug)
    run = run_of(Evaluated(result, asked, tuple(answers)))
    assert run.debiased_scores == pytest.approx([1.0])
    assert np.isnan(run_of(Evaluated(result, asked, tuple(answers[:3]))).debiased_scores).all(), "an order is missing"


def test_questions_of_different_sizes_and_several_keys():
    """Foreign benchmarks: three to five options, several right ones, no roles, no groups."""
    questions = tuple(
        Question(
            id=f"q{n}", scenario="s", options=tuple("abcde"[: 3 + n % 3]), gold=(0, 1) if n % 2 else (2,), group=""
        )
        for n in range(6)
    )
    asked = Benchmark(name="foreign", language="en", questions=questions)
    answers = [Answer(item=f"q{n}", rotation=n % 3, status="answered", choice=1) for n in range(6)]
    run = run_of(Evaluated(replace(BASE.result, benchmark=asked.slug), asked, tuple(answers)))
    assert run.item_scores == pytest.approx([0, 1, 0, 1, 0, 1])
    assert run.chance == pytest.approx(asked.chance)
    assert len(set(run.group)) == 6
    assert not run.has_roles


def test_runs_are_ordered_and_named():
    """Tables list runs by language, benchmark, condition, family and size, whatever order they came in."""
    runs = all_responses(roster(n=12)[::-1])
    english = [run.model for run in runs if run.benchmark.language == "en" and run.condition.shown == "full"]
    assert english == [f"{f} {p}B" for f in ("Alpha", "Beta", "Gamma") for p in (0.3, 3.0, 30.0)]
    assert [len(same) for same in by_benchmark(runs)] == [3, 9, 3, 9]
    twins = [
        evaluate(benchmark(n=8, assembly=assembly, seed=seed), Mind())
        for assembly, seed in (("paper", 0), ("balanced", 0), ("balanced", 1))
    ]
    twins.append(evaluate(benchmark(n=8, name="CAPR en"), Mind()))
    names = {run.name for run in all_responses(twins)}
    assert "CAPR-en paper" in names
    assert len(names) == 4


def test_a_run_given_twice_counts_once():
    """The same folder named twice changes nothing; two different runs of one name are refused."""
    assert len(all_responses([BASE, BASE])) == 1
    other = evaluate(BASE.benchmark, Mind(), seed=99)
    with pytest.raises(StoreError, match="two different runs of 'model'"):
        all_responses([BASE, other])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"item": "nobody"}, "lacks"),
        ({"choice": 9}, "4 options"),
        ({"rotation": 4}, "4 options"),
        ({"choice": None}, "status 'answered' and the choice None"),
        ({"scores": (0.0,)}, "4 options"),
    ],
)
def test_damaged_answers_are_refused(change, message):
    """An answer that does not fit its question stops the analysis with a word on what is wrong."""
    first, *others = BASE.answers
    with pytest.raises(StoreError, match=message):
        all_responses([with_answers(BASE, [replace(first, **change), *others])])
    with pytest.raises(StoreError, match="there twice"):
        all_responses([with_answers(BASE, [*BASE.answers, first])])
