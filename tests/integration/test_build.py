"""The whole pipeline against a scripted endpoint over real HTTP."""

from __future__ import annotations

import asyncio
import collections
import json
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from adage.builder import Silent
from adage.errors import LimitReached, NotStored, RecipeError, StageError, TooManyFailures, VerificationError
from adage.planner import plan
from adage.records import Item, Proverb, Scenario, verify
from adage.store.run import KEPT, Run
from endpoint import FakeEndpoint, status
from workspace import Workspace, proverbs, workspace

STAGES = ("1-acquire", "2a-label", "2b-cluster", "3-generate", "4-filter", "5-distract", "6-validate", "7-curate")


@pytest.fixture
async def endpoint() -> AsyncIterator[FakeEndpoint]:
    """A scripted endpoint on loopback."""
    async with FakeEndpoint() as running:
        yield running


@pytest.fixture
def space(tmp_path: Path, endpoint: FakeEndpoint) -> Workspace:
    """A workspace whose models are the endpoint."""
    return workspace(tmp_path / "mine", endpoint.url)


async def test_every_stage_accounts_for_every_row(space: Workspace) -> None:
    """In = kept + dropped + failed at every stage, and each stage takes in what the one before it made."""
    await space.abuild()
    made = None
    for folder in STAGES:
        counts = space.counts(folder)
        assert counts["rows_in"] == counts["kept"] + counts["dropped"] + counts["failed"]
        assert made in {None, counts["rows_in"]}
        made = counts["made"]
    assert made is not None
    assert made > 20


async def test_records_carry_ids_and_hashes_that_follow_from_their_content(space: Workspace) -> None:
    """`verify` accepts every record of every stage."""
    await space.abuild()
    run = Run(space.run)
    kinds = {
        "1-acquire": Proverb,
        "2a-label": Proverb,
        "2b-cluster": Proverb,
        "3-generate": Scenario,
        "4-filter": Scenario,
    }
    for folder in STAGES:
        for record in run.rows(folder, KEPT, kinds.get(folder, Item)):
            verify(record)


async def test_a_second_build_makes_no_call_and_changes_no_byte(space: Workspace, endpoint: FakeEndpoint) -> None:
    """What is up to date is neither called for nor written again."""
    await space.abuild()
    before, calls = space.content(), endpoint.calls
    await space.abuild()
    assert endpoint.calls == calls
    assert space.content() == before


async def test_a_fresh_run_over_the_same_journal_is_the_same_bytes_without_a_call(
    space: Workspace, endpoint: FakeEndpoint
) -> None:
    """`--replay` rebuilds everything from journal and vectors, byte for byte, with the endpoint gone."""
    await space.abuild()
    before = space.content()
    await endpoint.stop()
    (space.folder / "run").rename(space.folder / "first")
    await space.abuild(replay=True)
    assert space.content() == before


async def test_replay_stops_at_the_first_missing_call(space: Workspace) -> None:
    """A replay without a journal says which model's reply is missing."""
    with pytest.raises(NotStored, match="writer"):
        await space.abuild(replay=True)


@pytest.mark.parametrize("change", ["add", "edit"])
async def test_one_changed_proverb_costs_only_its_own_label_and_scenarios(
    space: Workspace, endpoint: FakeEndpoint, change: str
) -> None:
    """Adding a proverb or editing one explanation asks labeller and generator about that row alone."""
    rows = proverbs(31)
    await space.abuild()
    if change == "add":
        space.write_corpus(rows)
        marked = rows[30]["text"]
    else:
        edited = rows[:30]
        edited[4] = {**edited[4], "explanation": "Said when somebody learns only from what went wrong."}
        space.write_corpus(edited)
        marked = edited[4]["text"]
    endpoint.bodies.clear()
    await space.abuild()
    asked = collections.Counter()
    for body in endpoint.bodies:
        properties = body["response_format"]["json_schema"]["schema"]["properties"]
        asked[next(iter(properties))] += 1
        if "theme" in properties or "scenarios" in properties:
            assert marked in body["messages"][-1]["content"]
    assert (asked["theme"], asked["scenarios"]) == (1, 1)


async def test_new_calls_are_announced_before_they_are_made(space: Workspace, endpoint: FakeEndpoint) -> None:
    """The number of new namer and judge requests is known before the first of them is sent."""
    announced: dict[str, tuple[int | None, int]] = {}

    class Listener(Silent):
        def starts(self, stage, rows, changes, calls) -> None:
            announced[stage.name] = (calls, endpoint.calls)

        def ends(self, state, *, fresh) -> None:
            name = state.stage
            if name in announced:
                calls, before = announced[name]
                announced[name] = (calls, endpoint.calls - before)

    await space.abuild(watcher=Listener())
    assert announced["label"] == (30, 30)
    assert announced["cluster"][0] == announced["cluster"][1] > 0
    assert announced["generate"] == (30, 30)
    announced_calls, made = announced["validate"]
    assert made == announced_calls  # every judge passes these items, so nothing stops early


async def test_a_plan_counts_exactly_and_calls_nothing(space: Workspace, endpoint: FakeEndpoint) -> None:
    """A dry run makes no call, writes no run, and is exact where rows are at hand."""
    plans = {row.stage: row for row in await plan(space.folder)}
    assert endpoint.calls == 0
    assert not space.run.exists()
    assert (plans["label"].calls, plans["label"].exact) == (30, True)
    assert plans["generate"].calls == 30
    assert plans["validate"].usd is None  # no price is given: unknown, not 0
    await space.abuild()
    assert all(row.up_to_date and row.calls == 0 for row in await plan(space.folder))
    part = await plan(space.folder, start="generate", until="filter")
    assert [(row.stage, row.up_to_date) for row in part][2:] == [
        ("cluster", True),
        ("generate", False),
        ("filter", False),
    ]
    assert part[3].stored == 30


async def test_no_group_is_in_two_splits_and_positions_are_uniform(space: Workspace) -> None:
    """Proverbs and meaning groups stay within a split; the gold's place is uniform within ± 1."""
    await space.abuild()
    items = space.rows("7-curate")
    split_of: dict[str, set[str]] = collections.defaultdict(set)
    places = collections.defaultdict(collections.Counter)
    for item in items:
        for option in item["options"]:
            split_of[option["group"]].add(item["split"])
            split_of[option["proverb_id"]].add(item["split"])
        places[item["split"]][item.get("answer", 0)] += 1
        roles = [option["role"] for option in item["options"]]
        assert roles[item.get("answer", 0)] == "gold"
        assert sorted(roles) == ["gold", "near_match", "random", "same_cluster"]
    assert all(len(splits) == 1 for splits in split_of.values())
    assert len({item["split"] for item in items}) > 1
    for counts in places.values():
        found = [counts[place] for place in range(4)]
        assert max(found) - min(found) <= 1


async def test_themes_names_and_explanations_stay_out_of_what_a_model_is_shown(space: Workspace) -> None:
    """The items' tables hold no theme, cluster name or explanation; only the separate configuration does."""
    built = await space.abuild()
    proverbs_ = space.rows("2b-cluster")
    secrets = {row["explanation"] for row in proverbs_} | {row["theme"]["name"] for row in proverbs_}
    tables = list((built.benchmark / "balanced").glob("*.parquet"))
    assert tables
    for table in tables:
        shown = json.dumps(pq.read_table(table).to_pylist())
        assert not [secret for secret in secrets if secret in shown]
    named = pq.read_table(built.benchmark / "explanations" / "proverbs.parquet").to_pylist()
    assert secrets == {row["explanation"] for row in named} | {row["cluster_name"] for row in named}


async def test_probes_are_kept_apart_from_the_benchmark(space: Workspace) -> None:
    """Known-bad items are judged and written down, and none of them is an item."""
    await space.abuild()
    probes = space.rows("6-validate", "probes")
    items = {(item["scenario"], tuple(sorted(o["text"] for o in item["options"]))) for item in space.rows("7-curate")}
    assert probes
    for probe in probes:
        assert (probe["scenario"], tuple(sorted(probe["options"]))) not in items
        assert set(probe["caught"]) == {"judge-0", "judge-1", "judge-2"}


async def test_a_release_without_a_licence_holds_no_text(space: Workspace) -> None:
    """An unknown licence gives a release of ids and hashes beside the private benchmark."""
    built = await space.abuild()
    texts = {row["text"] for row in proverbs(30)}
    shown = b"".join(path.read_bytes() for path in sorted((space.run / "release").rglob("*")) if path.is_file())
    assert not [text for text in texts if text.encode() in shown]
    items = pq.read_table(space.run / "release" / "balanced" / "test.parquet").to_pylist()
    assert items
    assert all(item["scenario"] is None and item["choices"] == [] and item["row_hash"] for item in items)
    assert "Not for redistribution" in (built.benchmark / "README.md").read_text(encoding="utf-8")


async def test_a_known_licence_needs_no_second_folder(space: Workspace) -> None:
    """With a licence that allows it, texts are released."""
    (space.folder / "corpus.yaml").write_text("title: Mine\nlicence: CC-BY-4.0\nredistribute: true\n", encoding="utf-8")
    await space.abuild()
    assert not (space.run / "release").exists()


async def test_both_assemblies_stand_side_by_side(space: Workspace) -> None:
    """One run holds `paper` and `balanced` items of the same scenarios, each with positions of its own."""
    recipe = _recipe(space)
    recipe["distract"] = {"assembly": ["balanced", "paper"]}
    space.write_recipe(recipe)
    built = await space.abuild()
    items = space.rows("7-curate")
    by = collections.Counter(item["assembly"] for item in items)
    assert by["balanced"] > 0
    assert by["balanced"] == by["paper"]
    assert set(built.controls) == {"balanced", "paper"}
    assert (built.benchmark / "paper" / "test.parquet").exists()


async def test_until_from_and_limit(space: Workspace, endpoint: FakeEndpoint) -> None:
    """A build can end early, take fewer rows, and compute a part again; an unknown stage is named."""
    built = await space.abuild(until="cluster", limit=12)
    assert [state.stage for state in built.states] == ["acquire", "label", "cluster"]
    assert space.counts("1-acquire")["rows_in"] == 12
    assert built.benchmark is None
    await space.abuild()
    calls, before = endpoint.calls, space.content()
    await space.abuild(start="filter")
    assert (endpoint.calls, space.content()) == (calls, before)
    with pytest.raises(RecipeError, match="'polish'"):
        await space.abuild(until="polish")


async def test_failed_rows_stop_before_the_next_stage_and_are_tried_again(
    space: Workspace, endpoint: FakeEndpoint
) -> None:
    """A row whose calls fail is set aside; the next build asks for that row alone, as a new attempt."""
    broken = proverbs(30)[7]["text"]
    usual = endpoint.reply
    endpoint.reply = lambda body: "I'd rather not" if broken in body["messages"][1]["content"] else usual(body)
    with pytest.raises(TooManyFailures, match="1 of 30 rows failed") as stopped:
        await space.abuild()
    assert stopped.value.exit_code == 1
    assert [row["row"]["text"] for row in space.rows("2a-label", "failed")] == [broken]
    assert "I'd rather not" in space.rows("2a-label", "failed")[0]["evidence"]
    assert not (space.run / "2b-cluster").exists()
    endpoint.reply = usual
    endpoint.bodies.clear()
    await space.abuild(until="label")
    assert len(endpoint.bodies) == 1
    assert space.counts("2a-label")["failed"] == 0
    before = space.content()
    await space.abuild(until="label")
    assert space.content() == before


async def test_max_failed_lets_a_build_go_on_without_bad_rows(space: Workspace, endpoint: FakeEndpoint) -> None:
    """With `max_failed`, failed rows are left behind and counted."""
    recipe = _recipe(space)
    recipe["max_failed"] = 1
    space.write_recipe(recipe)
    broken = proverbs(30)[7]["text"]
    usual = endpoint.reply
    endpoint.reply = lambda body: "?" if broken in body["messages"][1]["content"] else usual(body)
    built = await space.abuild()
    assert built.states[1].counts.failed == 1
    assert built.states[2].counts.rows_in == 29


async def test_a_bad_request_fails_its_row_only(space: Workspace, endpoint: FakeEndpoint) -> None:
    """A content filter's 400 ends one row, not the build."""
    recipe = _recipe(space)
    recipe["max_failed"] = 1
    recipe["models"]["writer"]["concurrency"] = 1
    space.write_recipe(recipe)
    endpoint.faults.extend([None, None, None, status(400, "content policy")])
    built = await space.abuild(until="label")
    assert built.states[1].counts.failed == 1
    assert "content policy" in space.rows("2a-label", "failed")[0]["error"]


async def test_themes_and_scenarios_by_hand_replace_the_model(space: Workspace, endpoint: FakeEndpoint) -> None:
    """Hand files stand in for labeller and generator, and provenance says who wrote what."""
    rows = proverbs(30)
    recipe = _recipe(space)
    recipe["roles"] = {"judges": recipe["roles"]["judges"]}
    recipe["cluster"]["themes"] = "themes.jsonl"
    recipe["generate"]["scenarios"] = "stories.jsonl"
    space.write_recipe(recipe)
    themes = [{"proverb": row["text"], "theme": f"Theme {i % 9}", "by": "Abebe"} for i, row in enumerate(rows)]
    stories = [
        {
            "proverb": row["text"],
            "text": f"Uncle number {i} kept at it. Nobody in house {i * 7} was surprised.",
            "by": "Sara",
        }
        for i, row in enumerate(rows[:25])
    ]
    _write_lines(space.folder / "themes.jsonl", themes)
    _write_lines(space.folder / "stories.jsonl", stories)
    await space.abuild(until="distract")
    assert endpoint.calls == 0
    assert {row["theme"]["by"] for row in space.rows("2b-cluster")} == {"Abebe"}
    assert {row["theme"]["label"] for row in space.rows("2b-cluster")} == {f"theme {i}" for i in range(9)}
    assert {row["by"] for row in space.rows("5-distract")} == {"Sara"}
    assert space.counts("3-generate")["reasons"] == {"no_scenario": 5}


async def test_scenario_verdicts_gate_the_build(space: Workspace) -> None:
    """Rejected scenarios are dropped, edited ones become new scenarios, and a missing audit stops with exit code 3."""
    recipe = _recipe(space)
    recipe["audit"] = {"require": "all", "scenarios": "verdicts.jsonl"}
    space.write_recipe(recipe)
    (space.folder / "verdicts.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(LimitReached, match=r"0 of \d+ scenarios carry a verdict") as stopped:
        await space.abuild()
    assert stopped.value.exit_code == 3
    scenarios = [row["id"] for row in space.rows("4-filter")]
    edit = "The tailor's boy swept the yard again. By noon the whole street was asking him for help."
    verdicts = [{"scenario_id": name, "verdict": "accept", "annotator": "Hana"} for name in scenarios]
    verdicts[0] |= {"verdict": "reject", "note": "no such custom"}
    verdicts[1] |= {"verdict": "edit", "text": edit}
    _write_lines(space.folder / "verdicts.jsonl", verdicts)
    recipe["audit"]["require"] = "none"
    space.write_recipe(recipe)
    await space.abuild(until="filter")
    assert space.counts("4-filter")["reasons"]["audit_rejected"] == 1
    edited = [row for row in space.rows("4-filter") if row.get("edited_from")]
    assert [(row["text"], row["edited_from"], row["by"]) for row in edited] == [(edit, scenarios[1], "Hana")]
    recipe["audit"]["require"] = "all"
    space.write_recipe(recipe)
    with pytest.raises(LimitReached, match="items carry a verdict"):
        await space.abuild()


async def test_item_verdicts_gate_curate_and_the_card_says_audited(space: Workspace) -> None:
    """Rejected items leave, positions are dealt among the rest, and the card tells how far the audit went."""
    built = await space.abuild()
    assert "not audited" in (built.benchmark / "README.md").read_text(encoding="utf-8")
    names = [row["id"] for row in space.rows("6-validate")]
    verdicts = [{"item_id": name, "verdict": "accept", "annotator": "Hana"} for name in names]
    verdicts[3] |= {"verdict": "reject", "note": "two fit"}
    _write_lines(space.folder / "items.jsonl", verdicts)
    recipe = _recipe(space)
    recipe["audit"] = {"require": "all", "items": "items.jsonl"}
    space.write_recipe(recipe)
    with pytest.raises(LimitReached, match="scenarios carry a verdict"):
        await space.abuild()
    recipe["audit"] = {"items": "items.jsonl"}
    space.write_recipe(recipe)
    built = await space.abuild()
    assert space.counts("7-curate")["reasons"] == {"audit_rejected": 1}
    assert names[3] not in {row["id"] for row in space.rows("7-curate")}
    assert "**Audit by native speakers: audited.**" in (built.benchmark / "README.md").read_text(encoding="utf-8")


async def test_one_line_switches_a_role_to_another_model(space: Workspace, endpoint: FakeEndpoint) -> None:
    """A role is a name; naming another model changes who is asked and nothing else."""
    recipe = _recipe(space)
    (space.folder / "replies.yaml").write_text('- when: ""\n  reply: {theme: "steady work"}\n', encoding="utf-8")
    recipe["models"]["script"] = {"kind": "scripted", "script": "replies.yaml"}
    recipe["roles"]["labeller"] = "script"
    recipe["cluster"]["label"] = "model"
    space.write_recipe(recipe)
    await space.abuild(until="label")
    assert endpoint.calls == 0
    assert {row["theme"]["label"] for row in space.rows("2a-label")} == {"steady work"}


async def test_two_builds_share_one_journal(tmp_path: Path, endpoint: FakeEndpoint) -> None:
    """Builds of two recipes in one folder pay for equal requests once, even at the same time."""
    space = workspace(tmp_path / "mine", endpoint.url)
    other = space.folder / "other"
    await asyncio.gather(space.abuild(until="label"), space.abuild(until="label", out=other))
    await space.abuild(until="label", out=other)
    assert endpoint.calls <= 60
    assert (space.run / "2a-label" / KEPT).read_bytes() == (other / "2a-label" / KEPT).read_bytes()


def _recipe(space: Workspace) -> dict:
    from ruamel.yaml import YAML

    return YAML(typ="safe").load(space.recipe_file.read_text(encoding="utf-8"))


def _write_lines(path: Path, rows: list[dict]) -> None:
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


async def test_a_released_split_holds_when_a_newcomer_renames_a_group(space: Workspace) -> None:
    """`splits.lock` names every proverb shown, and keeps each in its split whatever the shares say later."""
    built = await space.abuild()
    lock = json.loads((built.benchmark / "splits.lock").read_text(encoding="utf-8"))
    shown = {option["proverb_id"] for item in space.rows("7-curate") for option in item["options"]}
    assert set(lock) == shown
    (built.benchmark / "splits.lock").rename(space.folder / "released.lock")
    recipe = _recipe(space)
    recipe["curate"] = {"shares": {"test": 1.0}, "lock": "released.lock"}
    space.write_recipe(recipe)
    await space.abuild()
    for item in space.rows("7-curate"):
        for option in item["options"]:
            assert lock.get(option["proverb_id"], item["split"]) == item["split"]


async def test_redistribution_needs_a_known_licence(space: Workspace) -> None:
    """`redistribute: true` alone releases no text; with a licence the bare release goes away again."""
    (space.folder / "corpus.yaml").write_text("title: Mine\nredistribute: true\n", encoding="utf-8")
    await space.abuild()
    assert (space.run / "release").exists()
    (space.folder / "corpus.yaml").write_text("title: Mine\nlicence: CC0-1.0\nredistribute: true\n", encoding="utf-8")
    await space.abuild()
    assert not (space.run / "release").exists()


async def test_verdicts_reach_edited_scenarios_and_strays_are_told(space: Workspace) -> None:
    """A verdict on the id that an edit gave is heeded; verdicts on ids that are not here are named."""
    recipe = _recipe(space)
    recipe["audit"] = {"scenarios": "verdicts.jsonl"}
    space.write_recipe(recipe)
    _write_lines(space.folder / "verdicts.jsonl", [])
    await space.abuild(until="filter")
    first = space.rows("4-filter")[0]["id"]
    edit = "The tailor's boy swept the yard again. By noon the whole street was asking him for help."
    lines = [{"scenario_id": first, "verdict": "edit", "text": edit, "annotator": "Hana"}]
    _write_lines(space.folder / "verdicts.jsonl", lines)
    await space.abuild(until="filter")
    edited = next(row["id"] for row in space.rows("4-filter") if row.get("edited_from") == first)
    lines += [{"scenario_id": edited, "verdict": "reject", "annotator": name} for name in ("Abebe", "Sara")]
    lines += [{"scenario_id": "s0000000000000000", "verdict": "accept", "annotator": "Hana"}]
    _write_lines(space.folder / "verdicts.jsonl", lines)
    built = await space.abuild(until="filter")
    assert built.states[-1].counts.reasons["audit_rejected"] == 1
    assert any("1 verdicts" in remark and "s0000000000000000" in remark for remark in built.states[-1].remarks)


async def test_recalibrate_measures_a_finished_run_anew(space: Workspace) -> None:
    """`recalibrate` computes the filter again although nothing else has changed."""
    ran = []

    class Listener(Silent):
        def starts(self, stage, rows, changes, calls) -> None:
            ran.append(stage.name)

    await space.abuild(until="filter")
    await space.abuild(until="filter", recalibrate=True, watcher=Listener())
    assert ran == ["filter"]


async def test_an_empty_benchmark_is_an_error(space: Workspace) -> None:
    """Where no item is left the build says where most rows went."""
    recipe = _recipe(space)
    recipe["filter"]["min_length"] = recipe["filter"]["max_length"] = 9999
    space.write_recipe(recipe)
    with pytest.raises(StageError, match=r"no item is left; most rows were dropped by filter because of length \(60\)"):
        await space.abuild()


async def test_edited_rows_of_a_finished_stage_are_refused(space: Workspace) -> None:
    """A stage folder whose rows were changed by hand is neither used nor overwritten."""
    await space.abuild()
    kept = space.run / "7-curate" / "kept.jsonl"
    kept.write_bytes(kept.read_bytes().replace(b"At house", b"In house"))
    with pytest.raises(VerificationError, match="not what the stage wrote"):
        await space.abuild()


async def test_a_sample_audit_counts_the_rejected(space: Workspace) -> None:
    """Ten verdicts satisfy a sample of ten, three of them rejections."""
    await space.abuild(until="filter")
    names = [row["id"] for row in space.rows("4-filter")][:10]
    verdicts = [
        {"scenario_id": name, "verdict": "reject" if i < 3 else "accept", "annotator": "Hana"}
        for i, name in enumerate(names)
    ]
    _write_lines(space.folder / "verdicts.jsonl", verdicts)
    recipe = _recipe(space)
    recipe["audit"] = {"require": "sample", "sample": 10, "scenarios": "verdicts.jsonl"}
    space.write_recipe(recipe)
    built = await space.abuild(until="distract")
    assert built.states[-1].stage == "distract"


async def test_what_is_written_into_records_is_in_the_fingerprint(space: Workspace) -> None:
    """A new name of the labeller reaches the records although its replies are stored."""
    await space.abuild(until="label")
    recipe = _recipe(space)
    recipe["models"]["scribe"] = recipe["models"]["writer"]
    recipe["roles"]["labeller"] = "scribe"
    space.write_recipe(recipe)
    await space.abuild(until="label")
    assert {row["theme"]["by"] for row in space.rows("2a-label")} == {"scribe"}
