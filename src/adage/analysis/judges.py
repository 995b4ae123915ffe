"""What the judges did: pass rates, agreement, and how well they tell known-bad items from the others."""

from __future__ import annotations

import collections
from collections.abc import Sequence

import numpy as np

from adage.analysis.stats import Interval, fleiss_kappa, gwet_ac1, krippendorff_alpha, wilson
from adage.records import Item, Record
from adage.stages.validate import CRITERIA, Probe


class JudgeRates(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One judge's record."""

    judge: str
    judged: int
    """Items on which the judge gave a usable answer."""
    passed: dict[str, int]
    """Criterion → items passed."""
    probes: int
    caught: int
    """Known-bad items that the judge failed on some criterion."""
    false_alarms: int
    """Items of the benchmark that the judge failed on some criterion; some may be bad in truth."""

    def hit_interval(self) -> Interval:
        """Wilson 95 % interval of the hit rate."""
        return wilson(self.caught, self.probes)


class Agreement(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Agreement of the judges on one criterion."""

    criterion: str
    items: int
    """Items on which every judge gave a verdict."""
    raw: float
    """Share of judge pairs that agree."""
    fleiss: float
    krippendorff: float
    gwet: float


def judge_rates(items: Sequence[Item], probes: Sequence[Probe]) -> list[JudgeRates]:
    """Record of each judge, by name."""
    passed: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    judged: collections.Counter[str] = collections.Counter()
    alarms: collections.Counter[str] = collections.Counter()
    for item in items:
        verdicts: dict[str, dict[str, bool | None]] = collections.defaultdict(dict)
        for check in item.checks:
            if check.name in CRITERIA:
                verdicts[check.by][check.name] = check.passed
        for judge, by_criterion in verdicts.items():
            if any(passing is None for passing in by_criterion.values()):
                continue
            judged[judge] += 1
            alarms[judge] += not all(by_criterion.values())
            passed[judge].update(name for name, passing in by_criterion.items() if passing)
    names = sorted({*judged, *(judge for probe in probes for judge in probe.caught)})
    return [
        JudgeRates(
            judge=name,
            judged=judged[name],
            passed={criterion: passed[name][criterion] for criterion in CRITERIA},
            probes=sum(name in probe.caught for probe in probes),
            caught=sum(probe.caught.get(name, False) for probe in probes),
            false_alarms=alarms[name],
        )
        for name in names
    ]


def agreement(items: Sequence[Item]) -> list[Agreement]:
    """Agreement per criterion over the items that every judge gave a verdict on; none for a single judge."""
    found = []
    judges = sorted({check.by for item in items for check in item.checks if check.name in CRITERIA})
    if len(judges) < 2:
        return []
    for criterion in CRITERIA:
        rows = []
        for item in items:
            given = {check.by: check.passed for check in item.checks if check.name == criterion}
            votes = [given.get(judge) for judge in judges]
            if None not in votes:
                rows.append([float(bool(vote)) for vote in votes])
        if not rows:
            continue
        ratings = np.array(rows)  # (items, judges)
        yes = ratings.sum(axis=1)
        n = len(judges)
        pairs = (yes * (yes - 1) + (n - yes) * (n - yes - 1)) / (n * (n - 1))
        found.append(
            Agreement(
                criterion=criterion,
                items=len(rows),
                raw=float(pairs.mean()),
                fleiss=fleiss_kappa(np.stack([n - yes, yes], axis=1)),
                krippendorff=krippendorff_alpha(ratings.T),
                gwet=gwet_ac1(ratings.T),
            )
        )
    return found
