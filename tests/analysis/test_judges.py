"""What judges did: rates over usable answers, agreement over complete ones."""

import pytest

from adage.analysis.judges import agreement, judge_rates
from adage.analysis.stats import wilson
from adage.records import Check
from adage.stages.validate import CRITERIA, Probe
from material import item, proverb

POOL = [proverb(f"Proverb {n}") for n in range(4)]


def judged(n, **verdicts):
    """An item with one verdict per judge on all three criteria; a tuple gives them one by one."""
    checks = [Check(name="keyword", passed=True)]
    for judge, verdict in verdicts.items():
        each = verdict if isinstance(verdict, tuple) else (verdict,) * 3
        checks += [Check(name=name, passed=passed, by=judge) for name, passed in zip(CRITERIA, each, strict=True)]
    return item(f"Story {n}.", POOL[0], POOL[1:], checks=tuple(checks))


def probe(**caught):
    """A probe and who caught it."""
    return Probe(item_id="i", kind="wrong_proverb", scenario="S.", options=("a",), checks=(), caught=caught)


def test_rates_count_usable_answers():
    """Undecided answers are left out; a failed criterion of a benchmark item is a false alarm."""
    rows = [judged(0, a=True, b=True), judged(1, a=(True, False, True), b=None), judged(2, a=False)]
    a, b = judge_rates(rows, [probe(a=True, b=False), probe(a=True)])
    assert (a.judge, a.judged, a.false_alarms) == ("a", 3, 2)
    assert a.passed == {"fits": 2, "plausible": 1, "fluent": 2}
    assert (a.probes, a.caught) == (2, 2)
    assert (b.judge, b.judged, b.false_alarms, b.probes, b.caught) == ("b", 1, 0, 1, 0)
    assert a.hit_interval() == wilson(2, 2)


def test_nobody_judged():
    """No checks, no rates; a judge of probes alone has a record."""
    assert judge_rates([judged(0)], []) == []
    (only,) = judge_rates([], [probe(a=True)])
    assert (only.judged, only.caught) == (0, 1)


def test_agreement_of_judges_who_agree():
    """All coefficients are 1 where every pair agrees and both verdicts occur."""
    found = agreement([judged(n, a=n % 2 == 0, b=n % 2 == 0, c=n % 2 == 0) for n in range(6)])
    assert [one.criterion for one in found] == list(CRITERIA)
    for one in found:
        assert one.items == 6
        assert (one.raw, one.fleiss, one.krippendorff, one.gwet) == pytest.approx((1, 1, 1, 1))


def test_agreement_by_hand():
    """Two judges who agree on three of four items: raw .75; Cohen-like kappa from the pooled margins."""
    rows = [
        judged(0, a=True, b=True),
        judged(1, a=True, b=False),
        judged(2, a=False, b=False),
        judged(3, a=True, b=True),
    ]
    first = agreement(rows)[0]
    yes = 5 / 8
    expected = yes**2 + (1 - yes) ** 2
    assert first.raw == 0.75
    assert first.fleiss == pytest.approx((0.75 - expected) / (1 - expected))


def test_agreement_needs_complete_rows_and_two_judges():
    """Early stopping leaves items that one judge never saw: they do not count, here nor as disagreement."""
    rows = [judged(0, a=True, b=True), judged(1, a=False), judged(2, a=False, b=None), judged(3, a=False, b=False)]
    assert [one.items for one in agreement(rows)] == [2, 2, 2]
    assert agreement([judged(0, a=True)]) == []
    assert agreement([judged(0, a=True), judged(1, b=True)]) == []
