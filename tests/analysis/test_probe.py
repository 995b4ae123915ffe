"""The trained probe finds planted leaks, finds none where there is none, and is the regression it says it is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from adage.analysis.controls import Options
from adage.analysis.probe import fit, logistic_probe, option_features


def items(n_items: int = 400, n: int = 4, seed: int = 0, *, per_group: int = 4) -> Options:
    """Items of random proverbs whose gold is drawn by lot."""
    rng = np.random.default_rng(seed)
    proverbs = 60
    vectors = rng.normal(size=(proverbs, 8))
    return Options(
        proverbs=np.stack([rng.permutation(proverbs)[:n] for _ in range(n_items)]),
        gold=rng.integers(0, n, n_items),
        group=np.arange(n_items) // per_group,
        cluster=rng.integers(0, 9, proverbs),
        length=rng.integers(5, 60, proverbs),
        spaces={"text": vectors / np.linalg.norm(vectors, axis=1, keepdims=True)},
    )


def planted(plain: Options, rule: np.ndarray, share: float) -> Options:
    """The same items with the gold where the rule says, in a share of them."""
    chosen = np.random.default_rng(1).random(len(plain.gold)) < share
    return replace(plain, gold=np.where(chosen, rule, plain.gold))


def test_no_leak_leaves_the_probe_at_chance() -> None:
    """Golds drawn by lot cannot be learnt."""
    found = logistic_probe(items(1200))
    assert found is not None
    assert (found.name, found.space, found.chance) == ("logistic_probe", "options", 0.25)
    assert found.low < 0.25 < found.high
    assert abs(found.accuracy - 0.25) < 0.05


@pytest.mark.parametrize("leak", ["second longest", "frequent", "cluster"])
def test_planted_leaks_are_found(leak: str) -> None:
    """Also such as no fixed guesser looks for: the second longest, in half of the items."""
    plain = items()
    length, uses = plain.length[plain.proverbs], plain.uses
    assert plain.mates is not None
    rule = {
        "second longest": np.argsort(-length, axis=1, kind="stable")[:, 1],
        "frequent": uses.argmax(axis=1),
        "cluster": plain.mates.sum(axis=2).argmax(axis=1),
    }[leak]
    found = logistic_probe(planted(plain, rule, 0.5))
    assert found is not None
    assert found.low > 0.27


def test_each_split_is_guessed_by_what_the_others_taught() -> None:
    """Where the longest option is right in one split and the shortest in the other, the probe is wrong in both."""
    plain = items()
    length = plain.length[plain.proverbs]
    dev = plain.group % 3 == 0
    opposed = replace(plain, gold=np.where(dev, length.argmin(axis=1), length.argmax(axis=1)))
    mixed = logistic_probe(opposed)
    apart = logistic_probe(replace(opposed, split=np.where(dev, "dev", "test")))
    alone = logistic_probe(replace(opposed, split=np.full(len(dev), "test")))
    assert mixed is not None
    assert apart is not None
    assert mixed.accuracy > 0.5
    assert apart.accuracy < 0.1
    assert alone == mixed


def test_two_options_are_a_logistic_regression_on_differences() -> None:
    """The coefficients are scikit-learn's for the differences of the two options' features, to five decimals."""
    rng = np.random.default_rng(3)
    seen = rng.normal(size=(300, 2, 5))
    first = rng.random(300) < 1 / (1 + np.exp(-(seen[:, 0] - seen[:, 1]) @ np.array([1.0, -0.5, 0, 0, 2.0])))
    right = np.stack([first, ~first], axis=1)
    oracle = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000)
    oracle.fit(seen[:, 0] - seen[:, 1], first)
    ours = fit(seen, right, np.ones((300, 2), dtype=bool))
    assert ours == pytest.approx(oracle.coef_[0], abs=1e-5)


def test_the_fit_is_a_minimum_with_absent_options_and_several_right() -> None:
    """No small step in any direction lowers the loss, computed here item by item."""
    rng = np.random.default_rng(4)
    seen = rng.normal(size=(40, 4, 3))
    there = np.arange(4) < rng.integers(2, 5, (40, 1))
    right = there & (np.arange(4) <= rng.integers(0, 2, (40, 1)))

    def loss(weights: np.ndarray) -> float:
        total = 0.5 * float(weights @ weights)
        for x, here, gold in zip(seen, there, right, strict=True):
            logits = x[here] @ weights
            shares = np.exp(logits) / np.exp(logits).sum()
            total -= float(np.log(shares[gold[here]]).mean())
        return total

    found = fit(seen, right, there)
    for step in np.eye(3) * 1e-3:
        assert loss(found) < min(loss(found + step), loss(found - step))


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_the_order_of_options_and_items_does_not_matter(seed: int) -> None:
    """Dealing options into other places, and items into another order, changes nothing."""
    plain = planted(items(40, seed=seed % 7), np.zeros(40, dtype=np.int64), 0.3)
    rng = np.random.default_rng(seed)
    deal = np.stack([rng.permutation(4) for _ in range(40)])
    rows = rng.permutation(40)
    dealt = replace(
        plain,
        proverbs=np.take_along_axis(plain.proverbs, deal, axis=1)[rows],
        gold=np.argmax(deal == plain.gold[:, None], axis=1)[rows],
        group=plain.group[rows],
    )
    one, two = logistic_probe(plain), logistic_probe(dealt)
    assert one is not None
    assert two is not None
    assert one[2:5] == pytest.approx(two[2:5])


def test_absent_options_count_for_nothing() -> None:
    """Items with a place for a fifth option that none of them has are the same items."""
    plain = items(80)
    wider = replace(plain, proverbs=np.pad(plain.proverbs, ((0, 0), (0, 1)), constant_values=-1))
    assert logistic_probe(wider) == logistic_probe(plain)
    assert not option_features(wider)[:, 4].any()
    assert option_features(wider)[:, :4] == pytest.approx(option_features(plain))


def test_one_meaning_group_cannot_be_halved() -> None:
    """Nothing to leave out: no probe, and no error."""
    assert logistic_probe(replace(items(8), group=np.zeros(8, dtype=np.int64))) is None


def test_it_is_fast_enough_for_thousands_of_items() -> None:
    """Five thousand items are a matter of a second or two."""
    found = logistic_probe(items(5000))
    assert found is not None
    assert found.n == 5000
