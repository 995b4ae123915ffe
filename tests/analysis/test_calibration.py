"""Calibration of letter probabilities, against scikit-learn and by hand."""

import numpy as np
import pytest
from msgspec.structs import replace
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from adage.analysis.calibration import Bin, brier, calibration, equal_mass_bins, expected_error
from adage.analysis.responses import all_responses
from evaluated import Mind, benchmark, evaluate


def test_bins_are_those_of_the_library():
    """Accuracy and confidence of the bins are scikit-learn's with the quantile strategy."""
    rng = np.random.default_rng(6)
    confidence = rng.uniform(0.25, 1, 500)
    right = rng.random(500) < confidence
    accuracy, mean = calibration_curve(right, confidence, n_bins=10, strategy="quantile")
    bins = equal_mass_bins(confidence, right)
    assert [part.accuracy for part in bins] == pytest.approx(accuracy)
    assert [part.confidence for part in bins] == pytest.approx(mean, abs=1e-8)
    assert [part.n for part in bins] == [50] * 10


def test_equal_confidences_share_a_bin():
    """Chance alone never splits questions of equal confidence, and few questions have few bins."""
    assert equal_mass_bins([0.5] * 40, [1] * 10 + [0] * 30) == (Bin(0.5, 0.25, 40),)
    assert len(equal_mass_bins(np.linspace(0.3, 0.9, 25), np.ones(25))) == 2
    assert len(equal_mass_bins([0.4, 0.6], [0, 1])) == 1


def test_expected_error_by_hand():
    """ECE is the mean distance of accuracy and confidence, weighted by the size of the bins."""
    assert expected_error((Bin(0.4, 0.5, 10), Bin(0.9, 0.6, 30))) == pytest.approx((10 * 0.1 + 30 * 0.3) / 40)


def test_brier_is_that_of_the_library():
    """Brier's score over several options is scikit-learn's; even odds on four options cost .75."""
    rng = np.random.default_rng(7)
    p, truth = rng.dirichlet(np.ones(4), 50), rng.integers(0, 4, 50)
    gold = np.eye(4, dtype=bool)[truth]
    assert brier(p, gold) == pytest.approx(brier_score_loss(truth, p, labels=range(4), scale_by_half=False))
    assert brier(np.full((1, 4), 0.25), gold[:1]) == pytest.approx(0.75)
    assert brier(np.array([[0.5, 0.5]]), np.array([[True, True]])) == 0, "two right options share the truth"


def test_probabilities_are_averaged_over_the_orders():
    """A taste for a place is averaged away before confidence is read off."""
    run = all_responses([evaluate(benchmark(n=40), Mind(guesses=1.0, misreads=0, guesser="position"))])[0]
    found = calibration(run)
    assert found.confidence == pytest.approx(0.25)
    assert found.n == 40
    assert found.ece == pytest.approx(abs(found.accuracy - 0.25))


def test_even_probabilities_score_chance_wherever_the_key_stands():
    """A model without any preference is right as often as chance, also where the key always stands first."""
    asked = benchmark(n=40)
    first = replace(asked, questions=tuple(replace(question, gold=(0,), roles=()) for question in asked.questions))
    evaluated = evaluate(first, Mind(guesses=1.0, misreads=0, guesser="position"))
    assert calibration(all_responses([evaluated])[0]).accuracy == pytest.approx(0.25)


@pytest.mark.parametrize("method", ["text", "generate"])
def test_other_methods_have_no_probabilities(method):
    """Log-likelihoods of texts and replies are no probabilities of options."""
    assert calibration(all_responses([evaluate(benchmark(n=20), Mind(), method=method)])[0]) is None


def test_without_a_complete_set_of_orders_there_is_no_calibration():
    """One order alone would measure the taste for places too."""
    assert calibration(all_responses([evaluate(benchmark(n=20), Mind(), rotations=1)])[0]) is None
