"""Attraction of the roles and the conditional logit, against published values and statsmodels."""

import numpy as np
import pytest
from msgspec.structs import replace
from statsmodels.discrete.conditional_models import ConditionalLogit

from adage.analysis.attraction import attractions, errors_by_role, wrong_choices
from adage.analysis.choice import conditional_logit
from adage.analysis.responses import all_responses
from adage.analysis.stats import attraction
from adage.evaluation.result import Evaluated
from evaluated import Mind, benchmark, evaluate

ROLES = np.repeat([0, 1, 2], [60, 90, 30])
"""Role of each error in the reference data: same cluster, near match, random."""


def terms(n):
    """Two dummies, same cluster and near match against random, for `n` choices among one option of each role."""
    return np.tile([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], (n, 1, 1))


def test_conditional_logit_reference():
    """Errors 60/90/30 on one option a role: the log odds against random are ln 2 and ln 3, with their errors."""
    found = conditional_logit(terms(180), np.ones((180, 3)), ROLES)
    assert found.beta == pytest.approx([0.6931, 1.0986], abs=1e-4)
    assert found.se == pytest.approx([0.2236, 0.2108], abs=1e-4)


def test_conditional_logit_agrees_with_statsmodels():
    """With continuous terms and choice sets of several sizes, coefficients and errors are statsmodels'."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(150, 4, 3))
    offered = np.ones((150, 4), dtype=bool)
    offered[::3, 3] = False
    utility = np.where(offered, x @ [0.8, -0.5, 0.2] + rng.gumbel(size=(150, 4)), -np.inf)
    chosen = utility.argmax(axis=1)
    picked = np.zeros((150, 4))
    picked[np.arange(150), chosen] = 1
    group = np.repeat(np.arange(150), 4).reshape(150, 4)
    oracle = ConditionalLogit(picked[offered], x[offered], groups=group[offered]).fit(disp=False)
    found = conditional_logit(x, offered, chosen)
    assert found.beta == pytest.approx(oracle.params, abs=1e-4)
    assert found.se == pytest.approx(oracle.bse, rel=1e-3)


def test_conditional_logit_weighs_choices():
    """A choice with weight 2 counts as two choices, and two halves of one cluster as one choice."""
    twice = conditional_logit(terms(180), np.ones((180, 3)), ROLES, np.full(180, 2.0))
    doubled = conditional_logit(terms(360), np.ones((360, 3)), np.repeat(ROLES, 2))
    assert twice.beta == pytest.approx(doubled.beta)
    assert twice.se == pytest.approx(doubled.se)
    halves = conditional_logit(
        terms(360), np.ones((360, 3)), np.repeat(ROLES, 2), np.full(360, 0.5), np.repeat(np.arange(180), 2)
    )
    whole = conditional_logit(terms(180), np.ones((180, 3)), ROLES)
    assert halves.clustered_se == pytest.approx(whole.clustered_se)


def test_conditional_logit_has_no_estimate_where_terms_separate():
    """Where one role is always chosen there is no finite coefficient, and none is made up."""
    found = conditional_logit(terms(30), np.ones((30, 3)), np.zeros(30, dtype=int))
    assert np.isnan(found.beta).all()
    assert np.isnan(found.clustered_se).all()


def test_a_term_that_separates_does_not_take_the_others_along():
    """Where the first place is always chosen, the place has no coefficient, and the roles have theirs all the same."""
    x = np.concatenate([terms(180), np.zeros((180, 3, 1))], axis=2)
    x[np.arange(180), ROLES, 2] = -1.0
    found = conditional_logit(x, np.ones((180, 3)), ROLES)
    assert np.isnan(found.beta[2])
    assert found.beta[:2] == pytest.approx([0.6931, 1.0986], abs=1e-4)


def test_questions_not_asked_leave_no_trace_in_the_intervals():
    """A run over the first questions has the intervals of a benchmark that has no others."""
    asked = benchmark(n=200)
    part = replace(asked, questions=asked.questions[:80])
    limited, whole = (
        attractions(all_responses([evaluate(each, Mind(), limit=80)]), draws=300) for each in (asked, part)
    )
    assert np.array_equal(limited.low, whole.low)
    assert np.array_equal(limited.high, whole.high)


def test_errors_of_a_question_add_up_to_one_at_most():
    """Presentations of one question share one error, and expected errors add up to the observed ones."""
    run = all_responses([evaluate(benchmark(n=60), Mind(guesses=0.9, misreads=0.1), phrasings=2)])[0]
    errors, expected = errors_by_role(run)
    assert errors.sum(axis=1) == pytest.approx(1 - run.item_scores)
    assert expected.sum(axis=1) == pytest.approx(errors.sum(axis=1))


def test_attractions_are_those_of_the_pure_statistic_with_an_interval():
    """Ratios are observed / expected errors as in `stats.attraction`, and the interval holds them."""
    asked = benchmark(n=300)
    runs = all_responses(
        [
            evaluate(asked, Mind(guesses=0.1, misreads=0.5, pi=(0.2, 0.7, 0.1)), name="a"),
            evaluate(asked, Mind(guesses=1.0, misreads=0.0), name="b", seed=2),
        ]
    )
    found = attractions(runs, draws=2000)
    assert found.ratios[0] == pytest.approx(attraction(found.errors[0], [1, 1, 1]).ratios)
    assert (found.low <= found.ratios).all()
    assert (found.ratios <= found.high).all()
    assert found.low[0, 1] > 1.5, "the near match draws the misreader's errors"
    assert found.high[0, 2] < 1
    assert ((found.low[1] < 1) & (found.high[1] > 1)).all(), "nothing draws a guesser's"


def test_the_bootstrap_takes_meaning_groups_whole():
    """Questions that repeat one another in their groups do not narrow the interval."""
    few = evaluate(benchmark(n=80, per_group=1), Mind(guesses=0.2, misreads=0.6), rotations=1)
    ids = [[f"i{4 * number + copy:04}" for copy in range(4)] for number in range(80)]
    questions = [replace(few.benchmark.questions[n], id=name) for n, names in enumerate(ids) for name in names]
    asked = replace(few.benchmark, questions=tuple(questions))
    answers = [replace(few.answers[n], item=name) for n, names in enumerate(ids) for name in names]
    many = Evaluated(replace(few.result, benchmark=asked.slug), asked, tuple(answers))
    one, four = (attractions(all_responses([run]), draws=4000) for run in (few, many))
    assert four.ratios == pytest.approx(one.ratios)
    assert four.high - four.low == pytest.approx(one.high - one.low, abs=0.12)


def test_the_logit_of_wrong_choices_finds_what_draws_errors():
    """A misreader's near matches stand out, a taste for the first place shows, and what never varies is left out."""
    asked = benchmark(n=300)
    mind = Mind(guesses=0.3, misreads=0.5, pi=(0.2, 0.7, 0.1), guesser="position")
    choices = wrong_choices(all_responses([evaluate(asked, mind)]), {})
    assert choices is not None
    assert choices.terms == ("same_cluster", "near_match", "cos_scenario", "length", "place")
    found = conditional_logit(choices.x, choices.offered, choices.chosen, choices.weight, choices.cluster)
    beta = dict(zip(choices.terms, found.beta, strict=True))
    se = dict(zip(choices.terms, found.clustered_se, strict=True))
    assert beta["near_match"] > 3 * se["near_match"]
    assert beta["place"] < -3 * se["place"]
    assert abs(beta["cos_scenario"]) < 3 * se["cos_scenario"]


def test_capability_moves_the_logit_of_models_that_differ():
    """Three models or more with known capability bring its products with the roles; abler ones misread more nearly."""
    asked = benchmark(n=250)
    runs = [
        evaluate(asked, Mind(guesses=1 - able - 0.3, misreads=0.3, pi=(0.1, 0.8, 0.1)), name=f"m{able}", seed=seed)
        for seed, able in enumerate((0.1, 0.3, 0.5, 0.7))
    ]
    choices = wrong_choices(all_responses(runs), {f"m{able}": able for able in (0.1, 0.3, 0.5, 0.7)})
    assert choices is not None
    found = conditional_logit(choices.x, choices.offered, choices.chosen, choices.weight, choices.cluster)
    at = choices.terms.index("near_match × capability")
    assert found.beta[at] > 2 * found.clustered_se[at]


def test_without_errors_there_are_no_choices():
    """A model that makes no errors has no wrong choices."""
    assert wrong_choices(all_responses([evaluate(benchmark(n=20), Mind(guesses=0, misreads=0))]), {}) is None
