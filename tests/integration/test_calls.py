"""What a build asks of models: within its budget, by batch where no endpoint can be reached, and accounted for."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from adage import api
from adage.builder import Silent, take_in
from adage.errors import LimitReached, RecipeError, StoreError
from endpoint import FakeEndpoint, scripted, status
from workspace import Workspace, workspace


@pytest.fixture
async def server():
    """An endpoint with the scripted replies."""
    async with FakeEndpoint() as server:
        yield server


def edited(space: Workspace, **changes: Any) -> Workspace:
    """The workspace with top-level keys of its recipe changed; `model` changes every model."""
    yaml = YAML()
    recipe = yaml.load(space.recipe_file.read_text(encoding="utf-8"))
    for model in recipe["models"].values():
        model.update(changes.get("model", {}))
    recipe.update({key: value for key, value in changes.items() if key != "model"})
    space.write_recipe(recipe)
    return space


async def until_stopped(space: Workspace, **options: Any) -> LimitReached | None:
    """Build; the limit that stopped it, or None where it came to its end."""
    try:
        await space.abuild(**options)
    except LimitReached as stop:
        return stop
    return None


def answered(files: list[Path], target: Path, *, failing: int = 0) -> Path:
    """A file of responses to batches, as a service would write it; the first `failing` requests got an error."""
    lines = []
    for request in (json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()):
        message = {"role": "assistant", "content": scripted(request["body"])}
        body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10}}
        response = {"status_code": 200, "request_id": "r", "body": body}
        if len(lines) < failing:
            response = {"status_code": 500, "request_id": "r", "body": {"error": {"message": "overloaded"}}}
        lines.append(json.dumps({"id": "b", "custom_id": request["custom_id"], "response": response, "error": None}))
    target.write_text("\n".join(reversed(lines)), encoding="utf-8")
    return target


async def test_a_benchmark_can_be_built_by_batches_alone(tmp_path, server):
    """Round after round requests go out and responses come in; the run is that of a build online, byte for byte.

    A response that is an error is asked for again, and the endpoint is never called.
    """
    online = workspace(tmp_path / "online" / "mine", server.url, n=24)
    await online.abuild()
    called = server.calls
    offline = workspace(tmp_path / "offline" / "mine", server.url, n=24)
    rounds: list[str] = []
    while True:
        for old in tmp_path.glob("out*"):
            old.unlink()
        stop = await until_stopped(offline, batch_out=tmp_path / "out.jsonl")
        if stop is None:
            break
        assert (stop.exit_code, "--batch-in" in stop.hint) == (3, True)
        rounds.append(stop.message.split()[1])
        files = sorted(tmp_path.glob("out*"))
        responses = answered(files, tmp_path / "in.jsonl", failing=3 if len(rounds) == 1 else 0)
        taken = await take_in(offline.folder, [responses])
        assert len(taken.problems) == (3 if len(rounds) == 1 else 0)
    assert rounds[:4] == ["label", "label", "cluster", "generate"]
    assert set(rounds[4:]) == {"validate"}
    assert server.calls == called
    assert offline.content() == online.content()


@pytest.mark.parametrize("budget", [{"calls": 40}, {"tokens": 600}, {"usd": 0.0006}])
async def test_a_budget_stops_a_build_that_goes_on_later(tmp_path, server, budget):
    """Each build spends its budget and no more, says so, and the last one ends as if there had been none."""
    price = {"price": {"input_usd": 1.0, "output_usd": 1.0}}
    whole = edited(workspace(tmp_path / "whole" / "mine", server.url, n=24), model=price)
    await whole.abuild()
    needed = server.calls
    space = edited(workspace(tmp_path / "cut" / "mine", server.url, n=24), model=price, budget=budget)
    stops = 0
    while True:
        before = server.calls
        stop = await until_stopped(space)
        if stop is None:
            break
        stops += 1
        assert "budget of this build is used up" in stop.message
        assert server.calls - before <= 40 + 8 * 4
    assert stops >= 2
    assert server.calls == 2 * needed
    assert space.content() == whole.content()


async def test_a_budget_in_money_needs_every_price(tmp_path, server):
    """Unknown is unknown, never 0: nothing runs."""
    space = edited(workspace(tmp_path / "mine", server.url), budget={"usd": 5})
    with pytest.raises(RecipeError, match="price of writer, judge-0, judge-1, judge-2 is unknown"):
        await space.abuild()
    assert server.calls == 0
    assert not space.run.exists()


async def test_every_question_is_accounted_for(tmp_path, server):
    """Counts by model and status agree with the lines of calls.jsonl, whose keys the journal holds; a replay agrees."""
    replies = Counter[str]()

    def sometimes_wrong(body: dict[str, Any]) -> str:
        good = scripted(body)
        asked = body["messages"][-1]["content"]
        replies[asked] += 1
        if "theme" in good and int.from_bytes(asked.encode()[-20:]) % 3 == 0 and len(body["messages"]) < 3:
            return "Hm."
        return good if "theme" in good else f"Here: {good}"

    server.reply = sometimes_wrong
    space = workspace(tmp_path / "mine", server.url, n=24)
    built = await space.abuild()
    states = {state.stage: state.counts for state in built.states}
    label = states["label"].calls["writer"]
    assert label["ok"] + label["asked_again"] == 24
    assert label["asked_again"] > 0
    assert set(states["validate"].calls) == {"judge-0", "judge-1", "judge-2"}
    lines = [line for folder in sorted(space.run.glob("[0-9]*")) for line in space.rows(folder.name, "calls")]
    counted = Counter((line["model"], line["status"]) for line in lines)
    summed = Counter()
    for counts in states.values():
        for model, statuses in counts.calls.items():
            summed.update({(model, status): n for status, n in statuses.items()})
    assert counted == summed
    keys = {key for line in lines for key in line["keys"]}
    with api.open_journal(space.folder) as journal:
        assert journal.known(keys) == keys
        assert journal.stats().calls == len(keys) == server.calls
        assert journal.count(keep=keys) == 0
    first = space.content()
    await space.abuild(start="acquire", replay=True)
    assert space.content() == first


async def test_true_figures_stand_beside_what_was_announced(tmp_path, server):
    """Per stage, in the result and in run.json: calls announced and made, tokens, money, and use of prefix caches."""
    price = {"price": {"input_usd": 1.0, "output_usd": 2.0}}
    space = edited(workspace(tmp_path / "mine", server.url, n=24), model=price)
    built = await space.abuild()
    spent = {part.stage: part for part in built.spent}
    assert (spent["label"].announced, spent["label"].calls) == (24, 24)
    assert (spent["label"].prompt_tokens, spent["label"].cached_tokens) == (240, 96)
    assert spent["label"].usd == pytest.approx(24 * (10 + 2 * 5) / 1e6)
    assert spent["acquire"].calls == 0
    noted = json.loads((space.run / "run.json").read_text(encoding="utf-8"))[-1]["stages"]
    assert [stage["calls"] for stage in noted] == [part.calls for part in built.spent]


async def test_a_pool_outlives_one_of_its_members(tmp_path, server):
    """When one address of a model fails for good, the build says so once, goes on, and pays nothing twice."""
    told: list[str] = []

    class Listener(Silent):
        def notes(self, text: str) -> None:
            told.append(text)

    async with FakeEndpoint() as other:
        space = workspace(tmp_path / "mine", server.url, n=24)
        yaml = YAML()
        recipe = yaml.load(space.recipe_file.read_text(encoding="utf-8"))
        writer = recipe["models"].pop("writer")
        recipe["models"] |= {"here": dict(writer), "there": {**writer, "base_url": other.url}}
        recipe["models"]["writer"] = {"kind": "pool", "of": ["here", "there"]}
        space.write_recipe(recipe)
        await space.abuild(until="label")
        assert server.calls + other.calls == 24
        assert min(server.calls, other.calls) > 0
        other.always = status(401)
        await space.abuild(watcher=Listener())
        assert len(told) == 1
        assert told[0].startswith("writer: there is left out from here on")
        recipe["models"]["writer"]["of"] = ["here"]
        space.write_recipe(recipe)
        before = server.calls
        await space.abuild(start="acquire")
        assert server.calls == before


def test_pruning_keeps_what_a_run_asked(tmp_path):
    """And refuses to delete everything by mistake."""
    with pytest.raises(StoreError, match="no journal"):
        api.prune_journal(tmp_path, model="m")
    with pytest.raises(StoreError, match="every stored call"):
        api.prune_journal(tmp_path)
    with pytest.raises(StoreError, match="no stage has finished"):
        api.prune_journal(tmp_path, keep=[tmp_path])
