"""Stage 6: what judges are shown, how their words count, and probes that never get out."""

from __future__ import annotations

import msgspec
import pytest

from adage.errors import UnparsableReply
from adage.models.fake import ScriptedModel
from adage.recipe import Validate as Options
from adage.records import verify
from adage.stage import Dropped, Kept
from adage.stages.validate import CRITERIA, Validate, _places
from material import context_of, item, judge, proverb, run_stage, says, shown

POOL = [proverb(text) for text in ("The goat climbs", "The river bends", "The kettle sings", "The lamp waits")]
TWIN = proverb("The goat scrambles", group=POOL[0].group)
MORE = [proverb(f"Stranger {n}") for n in range(4)]
ROW = item("Ana tried again.", POOL[0], POOL[1:])
GOLD = POOL[0].text


def right(options, story):
    """A good judge: names the gold alone."""
    return says(letter for letter, text in options.items() if text == GOLD)


def wrong(options, story):
    """Names another option alone."""
    return says(letter for letter, text in options.items() if text == POOL[1].text)


def both(options, story):
    """Names the gold and another one."""
    return says(letter for letter, text in options.items() if text in {GOLD, POOL[1].text})


def dull(options, story):
    """Finds the story implausible and clumsy."""
    return {**right(options, story), "plausible": False, "fluent": False, "reason": "nobody does that"}


def blank(options, story):
    """Gives no usable answer."""
    return "I would rather talk."


def stage(*verdicts, probes=0.0, **options) -> Validate:
    """A stage with one judge for each verdict."""
    judges = [judge(f"judge{n}", verdict) for n, verdict in enumerate(verdicts)]
    made = Validate(Options(probes=probes, **options), judges=judges, unit="proverb", language="English", seed=0)
    made.judges = judges
    return made


@pytest.mark.parametrize(
    ("verdicts", "reason"),
    [
        ((right, right, right), ""),
        ((right, right, wrong), ""),
        ((right, wrong, right), ""),
        ((right, wrong, wrong), "judges_fits"),
        ((wrong, wrong, wrong), "judges_fits"),
        ((right, right, both), "second_answer"),
        ((both, right, right), "second_answer"),
        ((right, dull, right), ""),
        ((right, dull, dull), "judges_plausible"),
    ],
)
async def test_two_of_three_judges_decide_and_a_second_answer_vetoes(verdicts, reason):
    """Criterion 1 passes for the gold alone; one judge who misses it does not sink an item, a second right one does."""
    (outcome,) = await run_stage(stage(*verdicts), [ROW])
    assert isinstance(outcome, Dropped if reason else Kept)
    row = outcome.row if isinstance(outcome, Dropped) else outcome.rows[0]
    verify(row)
    if reason:
        assert outcome.reason == reason
        assert "judge" in outcome.evidence
    else:
        assert len(row.checks) == 9


@pytest.mark.parametrize(
    ("verdicts", "calls"),
    [
        ((right, right, right), [1, 1, 1]),
        ((right, wrong, wrong), [1, 1, 1]),
        ((wrong, wrong, right), [1, 1, 0]),
        ((wrong, right, right), [1, 1, 1]),
        ((both, right, right), [1, 0, 0]),
        ((dull, dull, right), [1, 1, 0]),
    ],
)
async def test_judging_stops_only_when_rejection_is_certain(verdicts, calls):
    """Acceptance takes all calls; a rejection that nobody can turn saves the rest."""
    made = stage(*verdicts)
    await run_stage(made, [ROW])
    assert [one.calls for one in made.judges] == calls


async def test_without_the_gate_nothing_is_dropped_and_everybody_is_heard():
    """Verdicts are shown and no more; all judges are asked."""
    made = stage(both, wrong, dull, gate=False)
    (outcome,) = await run_stage(made, [ROW])
    assert isinstance(outcome, Kept)
    assert [one.calls for one in made.judges] == [1, 1, 1]
    assert [check.passed for check in outcome.rows[0].checks if check.name == "fits"] == [False, False, True]


async def test_an_unusable_reply():
    """With the gate the row is tried again later; without it the judge's checks are undecided."""
    with pytest.raises(UnparsableReply):
        await run_stage(stage(right, blank, right), [ROW])
    (outcome,) = await run_stage(stage(blank, right, gate=False), [ROW])
    first = [check for check in outcome.rows[0].checks if check.by == "judge0"]
    assert [(check.name, check.passed, check.evidence) for check in first] == [
        (name, None, "invalid reply") for name in CRITERIA
    ]


@pytest.mark.parametrize("form", ["{0}", "{0}) {1}", " ({0})", "{0}: {1}", "{0}."])
async def test_a_letter_may_come_with_its_text(form):
    """Judges write letters in many ways."""

    def verdict(options, story):
        return says(form.format(letter, text) for letter, text in options.items() if text == GOLD)

    (outcome,) = await run_stage(stage(verdict, verdict), [ROW])
    assert isinstance(outcome, Kept)


TEXTS = ["Haste makes waste", "A stitch in time saves nine", "More haste makes waste", "塵も積もれば山となる"]


@pytest.mark.parametrize(
    ("entry", "places"),
    [
        ("A, B", {0, 1}),
        ("A and C", {0, 2}),
        ("A, B, and D.", {0, 1, 3}),
        ("a/c", {0, 2}),
        ("**(B) & (D)**", {1, 3}),
        ("Ａ、Ｃ", {0, 2}),
        ("A stitch in time saves nine", {1}),
        ("a stitch in time saves nine.", {1}),
        ("B: “A stitch in time saves nine”", {1}),
        ("More haste makes waste", {2}),
        ("A) Haste makes waste; C) More haste makes waste", {0, 2}),
        ("Haste makes waste, 塵も積もれば山となる", {0, 3}),
        ("D：塵も積もれば山となる。", {3}),
        ("A: A stitch in time saves nine", set()),
        ("A, A stitch in time saves nine", set()),
        ("A stitch", set()),
        ("A or B", set()),
        ("A, but not B", set()),
        ("A: no, B: yes", set()),
        ("B, E", set()),
        ("none", set()),
    ],
)
def test_an_entry_is_read_as_what_it_names(entry, places):
    """Several letters are several options, texts count as their options, and what is unclear is nothing."""
    assert _places(entry, TEXTS) == places


@pytest.mark.parametrize("form", [", ".join, " and ".join, "".join, list])
async def test_a_second_answer_is_seen_in_whatever_form_it_comes(form):
    """Two letters in one text, or two in a list; run together they are asked for again, and then unusable."""

    def verdict(options, story):
        fits = form(letter for letter, text in options.items() if text in {GOLD, POOL[1].text})
        return {**says([]), "fits": fits}

    made = stage(verdict, gate=False)
    (outcome,) = await run_stage(made, [ROW])
    vetoed = any(check.name == "second_answer" for check in outcome.rows[0].checks)
    assert (vetoed, made.judges[0].calls) == ((False, 2) if form == "".join else (True, 1))


@pytest.mark.parametrize("entry", ["Because it bends", "E", "", "正解", "AB"])
async def test_what_is_no_letter_is_no_verdict(entry):
    """A word that begins with B is not option B: the judge is asked again, and then counts as unusable."""
    made = stage(lambda options, story: says([entry]), gate=False)
    (outcome,) = await run_stage(made, [ROW])
    assert [check.passed for check in outcome.rows[0].checks] == [None] * 3
    assert made.judges[0].calls == 2


async def test_every_judge_has_its_own_order_and_no_key():
    """The order differs between judges and items, is the same on every run, and the key is nowhere."""
    made = stage(*[right] * 3)
    rows = [item(f"Story {n}.", POOL[0], POOL[1:]) for n in range(8)]
    context = await context_of(made, rows)
    orders = [tuple(shown(request)[1].values()) for row in rows for request in made.requests(row, context, 0)]
    assert len(set(orders)) > 8
    assert {texts.index(GOLD) for texts in orders} == {0, 1, 2, 3}
    assert all(set(texts) == {one.text for one in POOL} for texts in orders)
    again = [tuple(shown(request)[1].values()) for row in rows for request in made.requests(row, context, 0)]
    assert orders == again
    for row in rows:
        for request in made.requests(row, context, 0):
            sent = " ".join(message.content for message in request.messages)
            assert not any(secret in sent for secret in ("gold", "same_cluster", row.proverb_id, row.id))
    dealt = msgspec.structs.replace(ROW, options=(*ROW.options[1:], ROW.options[0]), answer=3)
    assert made.prompt(dealt) == made.prompt(ROW), "where the gold stands in the record is not seen either"


async def test_probes_stand_outside_the_rows():
    """Known-bad items of all kinds are judged, equal no item, and are not among what is kept."""
    rows = [item(f"Story {n}.", POOL[0], POOL[1:]) for n in range(6)]
    rows += [item(f"Tale {n}.", gold, POOL[1:]) for n, gold in enumerate((TWIN, *MORE))]
    made = stage(right, right, right, probes=0.6, gate=False)
    outcomes = await run_stage(made, rows)
    probes = [probe for outcome in outcomes for probe in outcome.probes]
    assert len(probes) == round(0.6 * len(rows))
    assert {probe.kind for probe in probes} >= {"wrong_proverb", "leaked_keyword"}
    assert all(len(outcome.rows) == 1 for outcome in outcomes)
    known = {(row.scenario, tuple(o.text for o in row.options)) for row in rows}
    for probe in probes:
        assert (probe.scenario, probe.options) not in known
        assert len(set(probe.options)) == 4
        assert set(probe.caught) == {"judge0", "judge1", "judge2"}
        row = next(row for row in rows if row.id == probe.item_id)
        if probe.kind == "wrong_proverb":
            assert row.options[0].text not in probe.options
        elif probe.kind == "two_answers":
            assert probe.options[0] == row.options[0].text
            assert probe.options[1] in {GOLD, TWIN.text}
        else:
            assert row.options[0].text in probe.scenario


async def test_a_second_right_answer_comes_from_the_golds_own_meaning_group():
    """Where such a proverb is at hand, it takes the place of a wrong option."""
    rows = [item(f"Story {n}.", gold, POOL[1:]) for n, gold in enumerate((POOL[0], TWIN) * 3)]
    outcomes = await run_stage(stage(right, probes=1.0, gate=False), rows)
    probes = [(row, probe) for row, outcome in zip(rows, outcomes, strict=True) for probe in outcome.probes]
    doubled = [(row, probe) for row, probe in probes if probe.kind == "two_answers"]
    assert len(doubled) == 2
    for row, probe in doubled:
        assert set(probe.options[:2]) == {GOLD, TWIN.text}
        assert probe.options[0] == row.options[0].text


async def test_probes_of_a_dropped_item_are_judged_too():
    """Whether the item itself is good does not matter to its probe; a probe is never cut short."""
    made = stage(wrong, wrong, wrong, probes=1.0)
    (outcome,) = await run_stage(made, [ROW])
    assert isinstance(outcome, Dropped)
    assert len(outcome.probes[0].checks) >= 9
    assert all(outcome.probes[0].caught.values()) is True


async def test_only_the_sample_is_judged():
    """Chosen by hash, whatever the order of the rows; the others pass unseen."""
    rows = [item(f"Story {n}.", POOL[0], POOL[1:]) for n in range(7)]
    made = stage(wrong, wrong, wrong, sample=3)
    context = await context_of(made, rows)
    assert context == await context_of(made, rows[::-1])
    outcomes = await run_stage(made, rows)
    dropped = {row.id for row, outcome in zip(rows, outcomes, strict=True) if isinstance(outcome, Dropped)}
    assert dropped == context.judged
    assert len(dropped) == 3
    assert made.estimate(7).calls == 9
    assert all(not made.requests(row, context, 0) for row in rows if row.id not in dropped)


async def test_without_judges_everything_passes():
    """No judge, no check."""
    (outcome,) = await run_stage(stage(), [ROW])
    assert outcome == Kept(rows=(ROW,))


async def test_the_announced_requests_cover_those_that_are_made():
    """All calls that may be made are announced; early stopping may save some."""
    asked = []
    made = stage(right, right, right, probes=1.0)
    for one in made.judges:

        async def spy(request, chat=one.chat):
            asked.append(request.key())
            return await chat(request)

        one.chat = spy
    context = await context_of(made, [ROW])
    announced = [request.key() for request in made.requests(ROW, context, 0)]
    await run_stage(made, [ROW])
    assert sorted(asked) == sorted(announced)
    assert len(asked) == 6


def test_settings_name_judges_and_rules():
    """Another judge, rule or language is another fingerprint."""
    made = [stage(right), stage(right, right), stage(right, gate=False), stage()]
    made.append(Validate(Options(), judges=[ScriptedModel("x", [])], unit="proverb", language="Twi", seed=0))
    assert len({msgspec.json.encode(one.settings()) for one in made}) == 5
