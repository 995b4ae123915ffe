"""The misreading estimator: what it recovers, what biases it, and what one order of the options cannot tell."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from adage.analysis.attraction import errors_by_role
from adage.analysis.gradient import admissible, capabilities, gradients, misreadings, shares, slopes
from adage.analysis.responses import all_responses
from adage.analysis.stats import cochran_armitage
from evaluated import Mind, benchmark, evaluate

PI = (0.2, 0.7, 0.1)
NEAR = 1
M = 0.2


@cache
def simulated(guesses, guesser="uniform", rotations=4, n=1500):
    """A model of known guessing rate, as arrays."""
    mind = Mind(guesses=guesses, misreads=M, pi=PI, guesser=guesser)
    asked = benchmark(n=n, per_group=3)
    return all_responses([evaluate(asked, mind, name=f"{guesser}{guesses}", rotations=rotations, seed=17)])[0]


def test_the_raw_share_mixes_guesses_and_misreadings():
    """With g = .4, m = .2 and π = .7, the raw share of the near match is (g/4 + mπ) / (3g/4 + m) = .48."""
    assert pytest.approx(0.48) == (0.4 / 4 + M * 0.7) / (3 * 0.4 / 4 + M)
    raw = errors_by_role(simulated(0.4))[0].sum(axis=0)
    assert raw[NEAR] / raw.sum() == pytest.approx(0.48, abs=0.03)


@pytest.mark.parametrize("guesses", [0.0, 0.2, 0.4, 0.6])
@pytest.mark.parametrize("guesser", ["uniform", "position"])
def test_rotations_recover_pi_whatever_is_guessed(guesses, guesser):
    """π̂ finds π, and ĝ and m̂ the rates, for uniform and position-biased guessers, without being told g."""
    found = gradients([simulated(guesses, guesser)], {}, draws=500)
    assert found.low[0, NEAR] < 0.7 < found.high[0, NEAR]
    assert found.pi[0] == pytest.approx(PI, abs=0.06)
    assert found.guessed[0] == pytest.approx(guesses, abs=0.03)
    assert found.misread[0] == pytest.approx(M, abs=0.03)


def test_the_raw_share_does_not_recover_pi():
    """The raw share falls far short of π as soon as there is guessing, and rises as guessing falls."""
    raw = [gradients([simulated(g)], {}, draws=10).raw[0, NEAR] for g in (0.6, 0.4, 0.2, 0.0)]
    assert raw == sorted(raw)
    assert raw[0] < 0.5
    assert raw[-1] == pytest.approx(0.7, abs=0.03)


def test_a_guesser_by_text_passes_for_a_misreader():
    """A guesser that prefers certain texts in any order is not told from a misreader: π̂ is biased, as documented."""
    found = gradients([simulated(0.4, "prior")], {}, draws=200)
    assert found.guessed[0] == 0
    expected = (M * 0.7 + 0.4 * 0.1) / (M + 0.4 * 0.9)
    assert found.pi[0, NEAR] == pytest.approx(expected, abs=0.05)
    assert found.pi[0, NEAR] == pytest.approx(found.raw[0, NEAR])


@given(st.lists(st.floats(0.01, 1), min_size=4, max_size=4))
def test_no_taste_for_places_leaves_more_than_uniform_guessing(weights):
    """A guesser that draws a place by any fixed odds repeats an option in all orders with at most 4⁻⁴."""
    odds = np.array(weights) / sum(weights)
    assert odds.prod() <= 4.0**-4 + 1e-12


def test_misreadings_are_by_content_in_every_rotation():
    """What is seen is a whole number of units, and the correction takes away what guessing leaves on average."""
    run = simulated(1.0 - M)
    seen, corrected, guessed = misreadings(run)
    assert np.isin(seen, (0, 1)).all()
    changed = (run.units.choice < 0).sum()
    assert (seen - corrected).sum() == pytest.approx(3 * 4.0**-4 * changed / (1 - 4.0**-3))
    assert guessed.mean() == pytest.approx(changed / len(run.size) / (1 - 4.0**-3))


def test_few_misreadings_have_no_shares():
    """Below five misreadings, less guesses, no π̂ is given."""
    assert np.isnan(shares([2.0, 2.0, 0.5])).all()
    assert shares([4.0, 2.0, -1.0]) == pytest.approx([2 / 3, 1 / 3, 0])


def test_one_order_does_not_identify_pi():
    """Role rates .24/.14/.12 fit g = 0, .2, .4, .48 with π = .48, .54, .70, .86: the interval spans them."""
    errors = np.array([0.24, 0.14, 0.12])
    for g, pi in ((0.0, 0.48), (0.2, 0.54), (0.4, 0.70), (0.48, 0.86)):
        left = errors - g / 4
        assert left[0] / left.sum() == pytest.approx(pi, abs=0.005)
    first, second, third = admissible(errors, [1, 1, 1], 4, 0.5)
    assert first == pytest.approx((0.48, 0.857), abs=1e-3)
    assert second == pytest.approx((0.1429, 0.28), abs=1e-3)
    assert third == pytest.approx((0.0, 0.24), abs=1e-3)


def test_the_admissible_interval_is_bounded_by_accuracy():
    """Nobody guesses so much that fewer than none would be understood; without errors anything is possible."""
    tight = admissible([0.5, 0.3, 0.15], [1, 1, 1], 4, 0.05)
    g = 4 * 0.05
    assert tight[0].high == pytest.approx((0.5 - g / 4) / (0.95 - 3 * g / 4))
    assert admissible([0, 0, 0], [1, 1, 1], 4, 1.0) == [(0, 1)] * 3
    assert admissible([0.1, 0.1, 0.1], [1, 1, 1], 4, 0.7)[0] == pytest.approx((1 / 3, 1 / 3))


def test_without_rotations_pi_is_an_interval_alone():
    """A run in one order has no π̂, and its interval holds the true π and the raw share."""
    found = gradients([simulated(0.4, rotations=1)], {}, draws=50)
    assert np.isnan(found.pi[0]).all()
    assert np.isnan([found.guessed[0], found.misread[0]]).all()
    assert found.low[0, NEAR] <= found.raw[0, NEAR] <= 0.7 <= found.high[0, NEAR]


def roster(pi_of=lambda able: PI, languages=("en", "ja")):
    """Five models of rising capability in two languages, guessing less the abler they are."""
    found = []
    for place, language in enumerate(languages):
        asked = benchmark(language, 500, per_group=2, seed=place)
        for number, able in enumerate((0.1, 0.25, 0.4, 0.55, 0.7)):
            mind = Mind(guesses=0.75 - able, misreads=0.25, pi=pi_of(able))
            found.append(evaluate(asked, mind, name=f"m{number}", seed=10 * place + number))
    return all_responses(found)


def test_who_never_stays_with_an_option_guesses_at_no_more_than_all():
    """Shares that are estimated stay shares, also where nothing like a uniform guess was seen."""
    asked = benchmark("ja", 40)
    run = all_responses([evaluate(asked, Mind(guesses=1.0, misreads=0.0, guesser="position"))])
    found = gradients(run, {}, draws=50)
    assert (found.guessed[0], found.misread[0], found.errors[0]) == pytest.approx((1, 0, 30))


def test_capability_in_english_counts_for_who_is_asked_in_english():
    """A language without instructions of its own is asked in English, as English is by its own."""
    english, other = (evaluate(benchmark(language, 40), Mind()) for language in ("en", "ja"))
    result = replace(other.result, condition=replace(other.result.condition, prompt="en"))
    runs = all_responses([english, other._replace(result=result)])
    assert len(capabilities(runs)) == 2


def test_capability_comes_from_the_other_language():
    """A model's capability for one benchmark is its accuracy on those in other languages, never on the same."""
    runs = roster()
    found = capabilities(runs)
    english = next(run for run in runs if run.model == "m3" and run.benchmark.language == "en")
    japanese = next(run for run in runs if run.model == "m3" and run.benchmark.language == "ja")
    assert found[english.result.benchmark, english.condition.slug]["m3"] == pytest.approx(
        float(np.mean(japanese.item_scores))
    )
    assert capabilities([run for run in runs if run.benchmark.language == "en"]) == {}


def test_a_constant_pi_has_a_raw_trend_and_no_corrected_one():
    """As guessing falls the raw share rises significantly, though π stands still; the corrected slope stays at 0."""
    runs = [run for run in roster() if run.benchmark.language == "en"]
    capability = capabilities(roster())[runs[0].result.benchmark, runs[0].condition.slug]
    found = slopes(runs, capability, draws=1000)
    assert found["raw"][NEAR].low > 0
    assert found["raw"][NEAR].trend.p < 0.05
    assert found["corrected"][NEAR].low < 0 < found["corrected"][NEAR].high


def test_a_true_gradient_is_found():
    """Where abler models do fall for the near match more often, the corrected slope shows it."""
    everything = roster(lambda able: (0.5 - able / 2, 0.3 + able * 0.9, 0.2 - able * 0.4) if able < 0.5 else (0, 1, 0))
    runs = [run for run in everything if run.benchmark.language == "en"]
    capability = capabilities(everything)[runs[0].result.benchmark, runs[0].condition.slug]
    assert slopes(runs, capability, draws=500)["corrected"][NEAR].low > 0


def test_the_slope_is_that_of_the_trend_test():
    """The raw slope is the least-squares slope of which Cochran-Armitage is the test: z = slope · spread of scores."""
    runs = [run for run in roster() if run.benchmark.language == "en"]
    capability = capabilities(roster())[runs[0].result.benchmark, runs[0].condition.slug]
    found = slopes(runs, capability, draws=10)["raw"][NEAR]
    counts = np.array([errors_by_role(run)[0].sum(axis=0) for run in runs])
    x = np.array([capability[run.model] for run in runs])
    assert found.trend == cochran_armitage(counts[:, NEAR], counts.sum(axis=1), x)
    fit = np.polynomial.Polynomial.fit(x, counts[:, NEAR] / counts.sum(axis=1), 1, w=np.sqrt(counts.sum(axis=1)))
    assert found.slope == pytest.approx(fit.convert().coef[1])


def test_two_models_have_no_slope():
    """A line through two points proves nothing, so none is drawn."""
    runs = [run for run in roster() if run.benchmark.language == "en"][:2]
    assert slopes(runs, {run.model: place / 2 for place, run in enumerate(runs)}) == {}
