"""The controls on items small enough to count by hand, and on items without any leak."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.analysis.controls import Options, from_pairs, from_scores, nearest_embedding, option_only

ANGLES = np.radians([0, 10, 40, 90, 200, 205])


def items(proverbs: list[list[int]], gold: list[int]) -> Options:
    """Items over six proverbs on a circle: 0 and 1 are close, 2 lies amid 0, 1 and 3, and 4 and 5 are opposite."""
    return Options(
        proverbs=np.array(proverbs),
        gold=np.array(gold),
        group=np.arange(len(proverbs)),
        cluster=np.array([0, 0, 1, 2, 3, 3]),
        length=np.array([9, 9, 4, 5, 6, 7]),
        spaces={"circle": np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)},
    )


def accuracies(options: Options) -> dict[str, float]:
    """Accuracy by guesser."""
    return {control.name: control.accuracy for control in option_only(options)}


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        (0, {"theme_pair": 0.5, "closest_pair": 0.5, "medoid": 0.0, "outlier": 0.0, "longest": 0.5}),
        (1, {"theme_pair": 0.5, "closest_pair": 0.5, "medoid": 0.0, "outlier": 0.0, "longest": 0.5}),
        (2, {"theme_pair": 0.0, "closest_pair": 0.0, "medoid": 1.0, "outlier": 0.0, "longest": 0.0}),
        (3, {"theme_pair": 0.0, "closest_pair": 0.0, "medoid": 0.0, "outlier": 1.0, "longest": 0.0}),
    ],
)
def test_guesses_counted_by_hand(gold: int, expected: dict[str, float]) -> None:
    """Each guesser hits the gold with the probability one gets by hand, coin flips and ties included."""
    found = accuracies(items([[0, 1, 2, 3]], [gold]))
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert found["most_frequent"] == 0.25


def test_two_theme_pairs_are_drawn_evenly() -> None:
    """With two pairs of one theme each, the theme-pair guesser is at chance."""
    assert accuracies(items([[0, 1, 4, 5]], [0]))["theme_pair"] == 0.25


def test_no_theme_pair_leaves_a_blind_guess() -> None:
    """Where no options share a theme, the theme-pair guesser draws among all."""
    assert accuracies(items([[0, 2, 3, 4]], [1]))["theme_pair"] == 0.25


def test_most_frequent_counts_all_items() -> None:
    """The most frequent option is the one that occurs most over all items."""
    assert accuracies(items([[0, 1, 2, 3], [0, 4, 5, 2], [0, 1, 4, 5]], [0, 0, 1]))["most_frequent"] == pytest.approx(
        2 / 3
    )


def test_interval_is_clustered_by_meaning_group() -> None:
    """Items of one meaning group count as one cluster of the interval."""
    two = replace(items([[0, 1, 2, 3]] * 4, [0, 1, 2, 3]), group=np.array([0, 0, 1, 1]))
    control = option_only(two)[0]
    assert (control.n, control.clusters, control.chance) == (4, 2, 0.25)
    assert control.low < control.accuracy < control.high


@given(st.integers(0, 2**32))
def test_golds_without_pattern_leave_all_guessers_at_chance(seed: int) -> None:
    """Averaged over every position of the gold, each guesser's accuracy is exactly chance."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    options = items([rng.permutation(6)[:n].tolist()] * n, list(range(n)))
    assert all(control.accuracy == pytest.approx(1 / n) for control in option_only(options))


@given(st.permutations(range(4)))
def test_positions_do_not_matter(order: list[int]) -> None:
    """Dealing the options into other positions changes no control."""
    assert accuracies(items([order], [order.index(1)])) == pytest.approx(accuracies(items([[0, 1, 2, 3]], [1])))


def test_nearest_embedding_picks_the_option_next_to_the_scenario() -> None:
    """The embedding baseline takes the option nearest to the scenario, and says when it is circular."""
    options = items([[0, 2, 3, 4], [0, 2, 3, 4]], [2, 0])
    circle = options.spaces["circle"]
    control = nearest_embedding(options, "circle", circle[[3, 3]], circle, circular=True)
    assert (control.accuracy, control.circular) == (0.5, True)


def test_scores_that_differ_by_rounding_tie() -> None:
    """Options whose scores differ by floating-point noise share the guess."""
    assert from_scores(np.array([[0.1 + 0.2, 0.3, 0.0]])).tolist() == [[0.5, 0.5, 0.0]]


def test_pairs_ignore_the_diagonal() -> None:
    """An option does not form a pair with itself."""
    assert from_pairs(np.eye(4, dtype=bool)[None]).tolist() == [[0.25] * 4]
