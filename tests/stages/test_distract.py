"""Stage 5: wrong options of other meanings, from the same split, with what they were chosen by."""

from __future__ import annotations

import msgspec
import pytest

from adage.errors import LimitReached, StageError
from adage.models.fake import ScriptedEmbedder
from adage.recipe import Audit, Shares
from adage.recipe import Distract as Options
from adage.records import Check, verify
from adage.stage import Dropped, Kept
from adage.stages.distract import Distract, DistractContext, require_audit
from material import context_of, proverb, run_stage, scenario

POOL = [proverb(f"Proverb {n}", explanation=f"Lesson {n}") for n in range(40)]
POOL[1::8] = [
    proverb(one.text, explanation=one.explanation, group=before.group)
    for one, before in zip(POOL[1::8], POOL[::8], strict=True)
]
ROWS = [scenario(f"Story {n} {k}.", one, cluster=n % 5) for n, one in enumerate(POOL) for k in range(2)]
HALVES = Shares(train=0.5, dev=0.0, test=0.5)


def stage(*, audit=None, shares=HALVES, lock=None, seed=0, min_groups=1, **options) -> Distract:
    """The stage with vectors from hashes."""
    return Distract(
        Options(**options),
        audit=audit or Audit(),
        shares=shares,
        min_groups=min_groups,
        lock=lock or {},
        encoder=ScriptedEmbedder(16),
        language="en",
        seed=seed,
    )


@pytest.mark.parametrize("assembly", ["balanced", "paper"])
async def test_options_keep_the_rules(assembly):
    """Other meaning groups than the gold's and one another's, the gold's own split, one option a role, gold first."""
    context = await context_of(stage(assembly=assembly), ROWS)
    outcomes = await run_stage(stage(assembly=assembly), ROWS)
    assert sum(isinstance(outcome, Kept) for outcome in outcomes) > 60
    for row, outcome in zip(ROWS, outcomes, strict=True):
        for item in outcome.rows if isinstance(outcome, Kept) else ():
            verify(item)
            gold, *wrong = item.options
            assert [option.role for option in item.options] == ["gold", "same_cluster", "near_match", "random"]
            assert (gold.proverb_id, gold.text, item.answer) == (row.proverb_id, row.proverb, 0)
            assert len({option.group for option in item.options}) == 4
            assert {context.split_of[option.group] for option in item.options} == {item.split}
            assert (item.assembly, item.scenario, item.group, item.checks) == (assembly, row.text, row.group, ())
            assert (wrong[0].cluster == gold.cluster) == (wrong[0].cluster_level == 0)
            assert wrong[1].cluster != gold.cluster != wrong[2].cluster
            assert wrong[1].cos_scenario < gold.cos_scenario
            assert all(option.cos_gold <= context.cap + 1e-3 for option in wrong)


async def test_both_assemblies_side_by_side():
    """One scenario makes an item of each, with ids of their own, and the evenness of use is stored."""
    made = stage(assembly=("balanced", "paper"))
    context = await context_of(made, ROWS)
    assert set(context.usage) == set(context.chosen) == {"balanced", "paper"}
    outcomes = [outcome for outcome in await run_stage(made, ROWS) if isinstance(outcome, Kept)]
    both = [outcome.rows for outcome in outcomes if not outcome.short]
    assert both
    assert all([item.assembly for item in items] == ["balanced", "paper"] for items in both)
    assert all(items[0].id != items[1].id for items in both)
    assert made.estimate(10).rows == 20


async def test_scores_are_those_of_the_texts():
    """Cosines and length ratio stand with the option, rounded to four digits."""
    item = next(outcome.rows[0] for outcome in await run_stage(stage(), ROWS) if isinstance(outcome, Kept))
    encoder = ScriptedEmbedder(16)
    gold = next(one for one in POOL if one.id == item.proverb_id)
    for option in item.options:
        explanation = next(one.explanation for one in POOL if one.id == option.proverb_id)
        story, own, other = await encoder.embed([item.scenario, gold.explanation, explanation])
        assert option.cos_scenario == pytest.approx(float(story @ other), abs=1e-4)
        assert option.cos_gold == pytest.approx(float(own @ other), abs=1e-4)
        assert option.length_ratio == pytest.approx(len(option.text) / len(gold.text), abs=1e-4)


async def test_a_role_that_cannot_be_filled_drops_the_scenario():
    """With three proverbs of one cluster there is no near match from another one."""
    rows = [scenario(f"Story {n}.", one, cluster=0) for n, one in enumerate(POOL[2:6])]
    outcomes = await run_stage(stage(shares=Shares(test=1.0)), rows)
    assert {outcome.reason for outcome in outcomes if isinstance(outcome, Dropped)} == {"no_near_match"}
    assert len(outcomes) == 4
    alone = stage(shares=Shares(test=1.0), near_match=0, random=0, max_similarity=1.0)
    assert all(isinstance(outcome, Kept) for outcome in await run_stage(alone, rows))


async def test_one_meaning_group_is_not_enough():
    """There is nothing wrong to choose; no rows at all are no error."""
    with pytest.raises(StageError, match="belong to one meaning group"):
        await context_of(stage(), ROWS[:2])
    assert await context_of(stage(), []) == DistractContext()


async def test_the_order_of_the_rows_does_not_matter():
    """The same items come out of any order; another seed gives others."""
    context = await context_of(stage(), ROWS)
    assert context == await context_of(stage(), ROWS[::-1])
    assert context.chosen != (await context_of(stage(seed=1), ROWS)).chosen


async def test_a_locked_group_keeps_its_split():
    """What was released in train stays there, with its options."""
    lock = dict.fromkeys(sorted({one.group for one in POOL})[:20], "train")
    context = await context_of(stage(lock=lock, shares=Shares(test=1.0)), ROWS)
    assert {group: context.split_of[group] for group in lock} == lock
    assert set(context.split_of.values()) == {"train", "test"}


async def test_an_audit_that_is_owed_stops_before_options_are_chosen():
    """Exit code 3; verdicts on the scenarios let it pass."""
    with pytest.raises(LimitReached, match="0 of 80 scenarios carry a verdict, 50 are needed") as caught:
        await context_of(stage(audit=Audit(require="sample")), ROWS)
    assert caught.value.exit_code == 3
    audited = [msgspec.structs.replace(row, checks=(Check(name="audit", passed=True, by="Huda"),)) for row in ROWS]
    await context_of(stage(audit=Audit(require="all")), audited)


@pytest.mark.parametrize(
    ("require", "judged", "stops"),
    [("none", 0, False), ("sample", 2, False), ("sample", 1, True), ("all", 3, True), ("all", 4, False)],
)
def test_how_much_audit_is_enough(require, judged, stops):
    """A sample is never more than there are rows; other checks are no verdicts."""
    checks = [(Check(name="audit" if n < judged else "keyword", passed=True),) for n in range(4)]
    audit = Audit(require=require, sample=2)
    if stops:
        with pytest.raises(LimitReached):
            require_audit(audit, checks, "items")
    else:
        require_audit(audit, checks, "items")
    require_audit(Audit(require="sample", sample=99), [(Check(name="audit", passed=True),)], "items")


def test_settings_name_all_that_matters():
    """Numbers, shares, lock, seed and audit change the fingerprint."""
    made = [stage(), stage(random=2), stage(shares=Shares(test=1.0)), stage(lock={"p": "dev"}), stage(seed=1)]
    made += [stage(audit=Audit(require="all")), stage(min_groups=3)]
    assert len({msgspec.json.encode(one.settings()) for one in made}) == len(made)
