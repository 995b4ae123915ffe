"""Stage 7: verdicts of people, splits that are proven apart, positions that tell nothing."""

from __future__ import annotations

import collections

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adage.errors import LimitReached, StageError
from adage.recipe import Audit
from adage.records import verify
from adage.stage import Dropped, Kept
from adage.stages.curate import Curate, Slim, verify_splits
from adage.stages.hand import ItemVerdict
from material import context_of, item, proverb, run_stage

PROVERBS = [proverb(f"Proverb {n}") for n in range(8)]


def items(n, *, split="test", assembly="balanced"):
    """Items over one pool of proverbs per split."""
    pool = [proverb(f"{split} {p.text}") for p in PROVERBS]
    return [
        item(f"Story {i}.", pool[i % 8], [pool[(i + j) % 8] for j in (1, 2, 3)], split=split, assembly=assembly)
        for i in range(n)
    ]


def stage(*, verdicts=None, seed=0, **audit) -> Curate:
    """The stage."""
    return Curate(audit=Audit(**audit), verdicts=verdicts or {}, seed=seed)


def verdict(of, word, annotator="a"):
    """An item verdict."""
    return ItemVerdict(item_id=of.id, verdict=word, annotator=annotator, note="two fit" if word == "reject" else "")


@settings(max_examples=25)
@given(st.tuples(*[st.integers(0, 23)] * 3), st.integers(0, 5))
async def test_positions_are_uniform_within_one(sizes, seed):
    """In each split and assembly the gold stands at every place equally often, but for the remainder."""
    rows = [
        row
        for size, split in zip(sizes, ("train", "dev", "test"), strict=True)
        for assembly in ("balanced", "paper")
        for row in items(size, split=split, assembly=assembly)
    ]
    context = await context_of(stage(seed=seed), rows)
    assert set(context.position) == {row.id for row in rows}
    places = collections.defaultdict(list)
    for row in rows:
        places[row.split, row.assembly].append(context.position[row.id])
    for dealt in places.values():
        counts = [dealt.count(place) for place in range(4)]
        assert max(counts) - min(counts) <= 1


async def test_dealing_changes_the_order_and_nothing_else():
    """The same options stand in the item, the key points at the gold, the id stays, and so it is on every run."""
    rows = items(16)
    outcomes = await run_stage(stage(), rows)
    for row, outcome in zip(rows, outcomes, strict=True):
        (dealt,) = outcome.rows
        verify(dealt)
        assert dealt.id == row.id
        assert dealt.options[dealt.answer] == row.options[0]
        assert sorted(o.proverb_id for o in dealt.options) == sorted(o.proverb_id for o in row.options)
    assert outcomes == await run_stage(stage(), rows)
    assert outcomes != await run_stage(stage(seed=1), rows)
    roles = {tuple(o.role for o in outcome.rows[0].options if o.role != "gold") for outcome in outcomes}
    assert len(roles) > 1, "the wrong options stand in no fixed order either"


async def test_positions_do_not_depend_on_the_order_of_the_rows():
    """They are dealt by hashes of ids."""
    rows = items(13)
    assert await context_of(stage(), rows) == await context_of(stage(), rows[::-1])


async def test_a_rejected_item_is_dropped_before_positions_are_dealt():
    """The verdict stands on the record as a check; an accepted item carries its check too."""
    rows = items(8)
    made = stage(verdicts={rows[0].id: [verdict(rows[0], "reject")], rows[1].id: [verdict(rows[1], "accept")]})
    context = await context_of(made, rows)
    assert rows[0].id not in context.position
    first, second, *_ = await run_stage(made, rows)
    assert isinstance(first, Dropped)
    assert (first.reason, first.evidence) == ("audit_rejected", "two fit")
    assert first.row.checks[-1].by == "a"
    verify(first.row)
    assert isinstance(second, Kept)
    assert [(check.name, check.passed) for check in second.rows[0].checks] == [("audit", True)]


async def test_an_audit_that_is_owed_stops_the_build():
    """Exit code 3, with how many verdicts are there and how many are needed; enough of them let it pass."""
    rows = items(4)
    some = {row.id: [verdict(row, "accept")] for row in rows[:2]}
    with pytest.raises(LimitReached, match="2 of 4 items carry a verdict, 4 are needed") as caught:
        await context_of(stage(verdicts=some, require="all"), rows)
    assert caught.value.exit_code == 3
    assert "audit.items" in caught.value.hint
    with pytest.raises(LimitReached, match="3 are needed"):
        await context_of(stage(verdicts=some, require="sample", sample=3), rows)
    await context_of(stage(verdicts=some, require="sample", sample=2), rows)


async def test_a_group_in_two_splits_is_found():
    """Whether as gold or as a wrong option: the benchmark is not made."""
    rows = items(3)
    slim = [msgspec.convert(msgspec.to_builtins(row), Slim) for row in rows]
    verify_splits(slim)
    with pytest.raises(StageError, match="is in the splits 'test' and 'dev'"):
        verify_splits([slim[0], msgspec.structs.replace(slim[1], split="dev")])
    with pytest.raises(StageError, match="not of one build"):
        await context_of(stage(), [rows[0], msgspec.structs.replace(rows[1], split="train")])


def test_settings_name_verdicts_and_seed():
    """A new verdict is a new fingerprint."""
    row = items(1)[0]
    made = [stage(), stage(seed=1), stage(require="all"), stage(verdicts={row.id: [verdict(row, "accept")]})]
    assert len({msgspec.json.encode(one.settings()) for one in made}) == 4
