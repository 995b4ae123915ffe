"""Plans and accounts as they are shown: bounds, estimates with their errors, and the unknown as unknown."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from adage import bill
from adage.accounts import Spent
from adage.builder import Built
from adage.forecast import Forecast
from adage.planner import StagePlan

ROUGH = {"prompt_error": 0.2, "reply_error": 0.5}


def shown(what: RenderableType, width: int = 80) -> str:
    """What a console of that width makes of it."""
    made = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)
    made.print(what)
    return made.file.getvalue()


def planned(stage: str, **changes: object) -> StagePlan:
    """A plan of nine calls."""
    given = {"rows": 9, "up_to_date": False, "exact": True, "calls": 9, "prompt_tokens": 1234, "completion_tokens": 90}
    return StagePlan(stage=stage, **given | ROUGH | changes)


def spent(stage: str, **changes: object) -> Spent:
    """Nine calls made, as planned."""
    given = {
        "announced": 9,
        "planned": Forecast(calls=9, prompt_tokens=1234, completion_tokens=90, usd=None, seconds=None, **ROUGH),
        "calls": 9,
        "prompt_tokens": 1300,
        "completion_tokens": 81,
        "cached_tokens": 0,
        "usd": 0.0123,
        "seconds": 75.0,
        "models": ("writer: fake",),
        "at_once": 8,
    }
    return Spent(stage=stage, **given | changes)


def test_a_plan_tells_bounds_estimates_and_the_unknown_apart() -> None:
    """≤ marks bounds and ≈ estimates; what is unknown is said to be, in the sum too."""
    done = planned("acquire", up_to_date=True, calls=0, prompt_tokens=0, completion_tokens=0)
    exact = planned("label", usd=0.5, seconds=4000.0, known=40, prompt_error=0.03, reply_error=0.08)
    bound = planned("validate", rows=90, exact=False, calls=2700, usd=None, seconds=None)
    lines = [" ".join(line.split()) for line in shown(bill.plan_table([done, exact, bound])).splitlines()]
    rows = {line.partition(" ")[0]: line for line in lines}
    assert rows["acquire"] == "acquire 9 up to date 0 0 0 0 0"
    assert rows["label"] == "label 9 9 0 ≈ 1,230 ≈ 90 ≈ 0.5000 ≈ 67 min"
    assert rows["validate"] == "validate ≤ 90 ≤ 2,700 0 ≈ 1,230 ≈ 90 unknown unknown"
    assert rows["all"] == "all ≤ 2,709 0 ≈ 2,470 ≈ 180 unknown unknown"


def test_every_estimate_says_what_it_rests_on() -> None:
    """Earlier builds, the model's own tokenizer, or bytes, each with the error it has, for the stages it applies to."""
    learned = planned("label", known=40, prompt_error=0.03, reply_error=0.08)
    counted = planned("generate", tokenizers=("tiny",), prompt_error=0.012, seconds=None)
    flat = " ".join(shown(bill.plan_table([learned, counted])).split())
    assert "label: by 40 calls of earlier builds; prompt tokens within 3%, reply tokens within 8%." in flat
    assert "generate: prompt tokens by the model's own tokenizer, within 1%" in flat
    assert "Where it is unknown, no build" in flat
    assert "bytes" not in flat
    assert "≤" not in flat
    rough = " ".join(shown(bill.plan_table([planned("label"), planned("validate", exact=False)])).split())
    assert "label, validate: prompt tokens of 3.5 bytes each, within 20%" in rough
    assert "made for English" in rough
    assert "validate: what will be asked is not known yet" in rough
    assert "unknown" not in rough


def test_a_plan_without_calls_explains_nothing() -> None:
    """There is nothing to be estimated."""
    table = shown(bill.plan_table([planned("acquire", calls=0)]))
    assert "≈" not in table
    assert table.rstrip().endswith("0")


def test_the_truth_stands_below_the_plan() -> None:
    """Calls, tokens, money and time of each stage; caches only where there were any; stages without calls left out."""
    quiet = spent("filter", announced=None, planned=None, calls=0)
    table = shown(bill.spent_table([spent("label"), quiet]), 100)
    lines = [" ".join(line.split()) for line in table.splitlines()]
    assert lines[2] == "label planned 9 ≈ 1,230 ≈ 90 unknown unknown"
    assert lines[3] == "true 9 1,300 81 0.0123 75 s"
    assert "filter" not in table
    assert "cached" not in table
    assert "label: prompt tokens of 3.5 bytes each, within 20%" in " ".join(table.split())
    assert "40%" in shown(bill.spent_table([spent("label", cached_tokens=520)]))


@pytest.mark.parametrize("width", [80, 120])
def test_large_figures_fit(width: int) -> None:
    """What 100,000 proverbs with ten stories each need stays on a line of its own at the usual widths."""
    figures = {"calls": 3_150_000, "prompt_tokens": 1_004_850_000, "completion_tokens": 94_500_000}
    plan = planned("generate", rows=1_000_000, exact=False, usd=12345.6, seconds=345_600.0, known=9, **figures)
    table = shown(bill.plan_table([plan]), width)
    assert " ".join(table.partition("generate")[2].split("\n")[0].split()) == (
        "≤ 1,000,000 ≤ 3,150,000 0 ≈ 1,000 M ≈ 94.5 M ≈ 12,346 ≈ 4.0 days"
    )
    table = shown(bill.spent_table([spent("generate", cached_tokens=10**9, **figures)]), width)
    assert " ".join(table.partition("true")[2].split("\n")[0].split()) == "3,150,000 1,004.9 M 100% 94.5 M 0.0123 75 s"


def test_what_ended_early_is_accounted_for_without_a_benchmark() -> None:
    """The account stands alone where an error message will follow it; nothing stands where nothing was asked."""
    usage = {"writer": {"calls": 9, "stored": 0, "usd": None}}
    built = {"run": Path("run"), "states": (), "benchmark": None, "calls": usage, "controls": {}}
    told = io.StringIO()
    made = Console(file=told, width=100)
    bill.print_built(made, Built(spent=(spent("acquire", announced=None, calls=0),), error="CorpusError: no", **built))
    assert told.getvalue() == ""
    bill.print_built(made, Built(spent=(spent("label"),), error="LimitReached: stop", **built))
    assert "writer: 9 calls made" in told.getvalue()
    assert "run:" not in told.getvalue()
    bill.print_built(made, Built(spent=(spent("label"),), **built))
    assert told.getvalue().endswith("run: run\n")
