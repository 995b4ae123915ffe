"""Stage 1: equal proverbs merge with all they carry, like ones form a meaning group, and nothing vanishes."""

import msgspec
import pytest

from adage.language import load
from adage.recipe import Acquire as Options
from adage.records import Proverb, verify
from adage.stage import Dropped, Kept
from adage.stages.acquire import Acquire
from material import raw, run_stage


def stage(code: str = "en", **options: object) -> Acquire:
    """The stage for a language."""
    return Acquire(Options(**options), language=load(code))


async def proverbs(rows, *, code="en", **options) -> list[Proverb | str]:
    """What each row became: its proverb, or the reason why there is none."""
    outcomes = await run_stage(stage(code, **options), rows)
    return [outcome.rows[0] if isinstance(outcome, Kept) else outcome.reason for outcome in outcomes]


@pytest.mark.parametrize(
    ("code", "text", "same"),
    [
        ("en", "Slow drops fill the jar.", "slow drops fill the jar"),
        ("ar", "الصبر مفتاح الفرج", "الصَّبْرُ مِفتاحُ الفَرَج"),
        ("am", "ሀሳብ ያለው ሰው", "ሐሳብ ያለው ሰው።"),
        ("ja", "猿も木から落ちる", "猿も木から落ちる。"),
    ],
)
async def test_spellings_of_one_proverb_merge(code, text, same):
    """Whatever the script: one proverb, with the explanations of both rows and the place of the merged one."""
    first, second = await proverbs(
        [raw(1, text, explanations=("A.", "B.")), raw(2, same, explanations=("B.", "C."))], code=code
    )
    assert isinstance(first, Proverb)
    verify(first)
    assert first.text == text
    assert (first.explanation, set(first.alternatives)) == ("A.", {"B.", "C."})
    assert first.merged == ("corpus.tsv:2",)
    assert second == f"merged_into:{first.id}"


async def test_the_best_explained_row_leads():
    """A row without an explanation merges into one that has one, whichever came first."""
    first, second = await proverbs([raw(1, "A goat"), raw(2, "a goat!", explanations=("It climbs.",))])
    assert isinstance(second, Proverb)
    assert second.explanation == "It climbs."
    assert first == f"merged_into:{second.id}"


async def test_what_means_the_same_is_grouped_not_merged():
    """Near duplicates, a shared explanation and the corpus' own mark each join groups; the rest stands alone."""
    rows = [
        raw(1, "The early bird catches the worm", explanations=("Be early.",)),
        raw(2, "The early bird catches the worms", explanations=("Rise soon.",)),
        raw(3, "First come, first served", explanations=("Be early.",)),
        raw(4, "Still waters run deep", explanations=("Quiet people think.",), group="g"),
        raw(5, "An empty vessel makes much noise", explanations=("Fools talk.",), group="g"),
        raw(6, "Honey is won from thorns", explanations=("Pain pays.",)),
    ]
    found = await proverbs(rows)
    groups = [proverb.group for proverb in found if isinstance(proverb, Proverb)]
    assert len(groups) == 6
    assert groups[0] == groups[1] == groups[2]
    assert groups[3] == groups[4]
    assert len(set(groups)) == 3
    assert groups[0] == min(proverb.id for proverb in found[:3] if isinstance(proverb, Proverb))


async def test_rows_that_the_reader_set_aside_are_dropped_with_its_reason():
    """Reason and evidence come apart, and the row takes no part in merging."""
    outcomes = await run_stage(stage(), [raw(1, "A goat", rejected="language: looks like Latin"), raw(2, "A goat")])
    assert outcomes[0] == Dropped(reason="language", evidence="looks like Latin")
    assert isinstance(outcomes[1], Kept)


async def test_an_explanation_may_be_required():
    """Without one the row is dropped where the recipe says so, and kept otherwise."""
    rows = [raw(1, "A goat", flags=("explanation_placeholder",))]
    assert await proverbs(rows, require_explanation=True) == ["no_explanation"]
    (kept,) = await proverbs(rows)
    assert isinstance(kept, Proverb)
    assert [(check.name, check.passed) for check in kept.checks] == [("explanation_placeholder", None)]


async def test_a_suspiciously_large_group_is_reported():
    """More proverbs under one explanation than `max_group` hints at a template."""
    rows = [raw(n, text, explanations=("A wise saying.",)) for n, text in enumerate(("goat", "river", "kettle"), 1)]
    context = await stage(max_group=2).prepare(iter(rows), None)
    assert list(context.large_groups.values()) == [3]
    assert (await stage().prepare(iter(rows), None)).large_groups == {}


async def test_every_row_ends_somewhere_and_ids_do_not_depend_on_the_order():
    """As many outcomes as rows, and the same ids and groups when the file is turned round."""
    texts = ["A goat", "a GOAT", "The river", "Kettle calls pot", "the river!"]
    rows = [raw(n, text, explanations=(f"{text.casefold().strip('!')}.",)) for n, text in enumerate(texts, 1)]
    there = await proverbs(rows)
    back = await proverbs([raw(n, row.text, explanations=row.explanations) for n, row in enumerate(rows[::-1], 1)])
    assert len(there) == len(back) == 5
    seen = [{(one.id, one.group) for one in found if isinstance(one, Proverb)} for found in (there, back)]
    assert seen[0] == seen[1]
    assert len(seen[0]) == 3


async def test_an_empty_corpus_is_no_error():
    """No rows in, no rows out."""
    assert await proverbs([]) == []


def test_settings_cover_options_and_pack_and_rows_are_keyed_by_place():
    """Another threshold or another language is another fingerprint."""
    settings = [stage().settings(), stage(max_group=3).settings(), stage("ja").settings()]
    assert all(settings[0] != other for other in settings[1:])
    assert stage().key(raw(3, "x")) == "corpus.tsv:3"


async def test_lesson_and_variety_are_the_best_explained_rows():
    """A proverb keeps the lesson and variety of its leading row, or those of the first merged row that has any."""
    rows = [
        raw(1, "A goat", equivalent="e1", variety="en-GB"),
        raw(2, "a goat!", explanations=("It climbs.",), equivalent="e2"),
    ]
    _, kept = await proverbs(rows)
    assert isinstance(kept, Proverb)
    assert (kept.equivalent, kept.variety) == ("e2", "en-GB")
    (plain,) = await proverbs([raw(1, "A goat")])
    assert isinstance(plain, Proverb)
    assert not {"equivalent", "variety"} & set(msgspec.to_builtins(plain))
