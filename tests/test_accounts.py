"""Accounts of a build: the plan of each stage beside the truth, told however the build ends."""

from __future__ import annotations

import json

import pytest

from adage.builder import Built
from adage.errors import AdageError, LimitReached, RequestRejected, TooManyFailures
from endpoint import FakeEndpoint, status
from workspace import Workspace, workspace


@pytest.fixture
async def server():
    """An endpoint with the scripted replies."""
    async with FakeEndpoint() as server:
        yield server


async def failing(space: Workspace, fault: type[AdageError]) -> Built:
    """What is reported of a build that ends with this error."""
    told: list[Built] = []
    with pytest.raises(fault):
        await space.abuild(report=told.append)
    (built,) = told
    assert built.error.startswith(fault.__name__)
    assert built.benchmark is None
    return built


async def test_plans_stand_beside_the_truth(tmp_path, server):
    """Tokens, money and time of each stage that asks, in the result and in run.json; the first build knows no time."""
    space = workspace(tmp_path / "mine", server.url)
    told: list[Built] = []
    built = await space.abuild(report=told.append)
    assert told == [built]
    assert built.error == ""
    spent = {part.stage: part for part in built.spent}
    for name in ("label", "cluster", "generate", "validate"):
        plan = spent[name].planned
        assert plan is not None
        assert plan.calls == spent[name].announced == spent[name].calls
        assert 150 < plan.prompt_tokens / plan.calls < 450
        assert (plan.seconds, plan.usd) == (None, None)
        assert spent[name].seconds > 0
    assert spent["validate"].models == ("judge-0: fake", "judge-1: fake", "judge-2: fake")
    assert spent["validate"].at_once == 8
    assert (spent["filter"].planned, spent["filter"].seconds, spent["filter"].models) == (None, 0, ())
    noted = json.loads((space.run / "run.json").read_text(encoding="utf-8"))[-1]["stages"]
    assert noted[1]["planned"]["prompt_tokens"] == spent["label"].planned.prompt_tokens


async def test_the_next_build_plans_with_what_this_one_took(tmp_path, server):
    """Ten rows first: the plan of the others has their tokens and a time."""
    space = workspace(tmp_path / "mine", server.url)
    await space.abuild(limit=10, until="label")
    label = next(part for part in (await space.abuild(until="label")).spent if part.stage == "label")
    assert label.planned is not None
    assert (label.planned.calls, label.calls, label.planned.known) == (20, 20, 10)
    assert label.planned.prompt_tokens == pytest.approx(label.prompt_tokens, rel=0.1)
    assert label.planned.seconds


async def test_a_plan_changes_no_artefact(tmp_path, server):
    """What earlier builds have taken is in no file but run.json."""
    one, two = (workspace(tmp_path / name, server.url) for name in ("one", "two"))
    await one.abuild(until="generate")
    await two.abuild(until="generate", limit=10)
    await two.abuild(until="generate")
    assert one.content() == two.content()


async def test_a_spent_budget_is_accounted_for(tmp_path, server):
    """What was called before the limit, beside the plan of the whole stage."""
    space = workspace(tmp_path / "mine", server.url)
    space.edit(budget={"calls": 12})
    label = (await failing(space, LimitReached)).spent[-1]
    assert (label.stage, label.announced, label.calls) == ("label", 30, 12)
    assert label.planned is not None
    assert label.planned.calls == 30


async def test_failures_are_accounted_for(tmp_path, server):
    """A refused key and too many failed rows end the build; what was done is told all the same."""
    space = workspace(tmp_path / "mine", server.url)
    await space.abuild(until="label")
    server.always = status(401)
    built = await failing(space, RequestRejected)
    assert [state.stage for state in built.states] == ["acquire", "label"]
    assert built.spent[-1].calls == 0
    server.always = status(400)
    built = await failing(space, TooManyFailures)
    assert built.spent[-1].announced


async def test_nothing_is_told_where_no_stage_was_begun(tmp_path, server):
    """An error of the recipe, for instance, needs no account."""
    space = workspace(tmp_path / "mine", server.url)
    space.edit(generate={"n": 1, "scenarios": "not-there.jsonl"})
    told: list[Built] = []
    with pytest.raises(AdageError):
        await space.abuild(report=told.append)
    assert told == []
