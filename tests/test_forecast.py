"""Forecasts of a stage's calls: what they rest on, what they add up to, and what stays unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.builder import open_recipe, stores_of
from adage.cast import assemble
from adage.forecast import BYTES_PER_TOKEN, Forecast, Forecaster, models_of, sampled
from adage.pipeline import read_by_hand, stages
from adage.planner import likely_items
from material import proverb
from workspace import Workspace, workspace

ROWS = [proverb(f"Number {n}.", explanation="Said of it.") for n in range(20)]


def space_of(tmp_path, **model: Any) -> Workspace:
    """A workspace whose models all have these settings."""
    space = workspace(tmp_path / "mine", "http://127.0.0.1:1/v1")
    raw = space.recipe().model_dump(mode="json", exclude_unset=True)
    raw["corpus"]["file"] = "proverbs.jsonl"
    for each in raw["models"].values():
        each.update(model)
    raw.pop("out", None)
    space.write_recipe(raw)
    return space


async def forecast(space: Workspace, name: str, history: list[dict[str, Any]], calls: int) -> Forecast:
    """The forecast for a stage of a recipe, by twenty proverbs."""
    recipe = open_recipe(space.folder)
    cast = assemble(recipe, stores_of(space.folder), replay=True)
    forecaster = Forecaster(recipe, history)
    try:
        stage = next(s for s in stages(recipe, cast, read_by_hand(recipe, cast.language)) if s.name == name)
        return await forecaster.forecast(stage, ROWS, calls)
    finally:
        await forecaster.close()
        await cast.close()


def noted(**changes: Any) -> list[dict[str, Any]]:
    """The note of a build that labelled with the writer."""
    plan = {"calls": 100, "prompt_tokens": 20_000, "completion_tokens": 600, "prompt_factor": 1.0, "reply_factor": 2.0}
    part = {"stage": "label", "models": ["writer: fake"], "calls": 50, "prompt_tokens": 15_000, "seconds": 10.0}
    part |= {"completion_tokens": 600, "at_once": 8, "planned": plan}
    return [{"stages": [part | changes]}]


async def test_money_follows_tokens_and_is_unknown_without_a_price(tmp_path):
    """An unknown price is None, never 0; a known one is paid for prompts and replies apart."""
    unknown = await forecast(space_of(tmp_path), "label", [], 10)
    assert unknown.usd is None
    known = await forecast(space_of(tmp_path, price={"input_usd": 3.0, "output_usd": 7.0}), "label", [], 10)
    assert known.usd == pytest.approx((known.prompt_tokens * 3 + known.completion_tokens * 7) / 1e6, rel=0.1)
    assert (await forecast(space_of(tmp_path), "label", [], 0)).usd == 0


async def test_earlier_builds_correct_tokens_and_tell_the_time(tmp_path):
    """Tokens are multiplied by true ones over those first estimated, without earlier corrections; errors shrink."""
    space = space_of(tmp_path)
    first = await forecast(space, "label", [], 80)
    later = await forecast(space, "label", noted(), 80)
    assert (first.seconds, first.known, first.prompt_error, first.reply_error) == (None, 0, 0.2, 0.5)
    assert later.prompt_factor == pytest.approx(15_000 / (20_000 / 2))
    assert later.reply_factor == pytest.approx(600 / (600 / 2 / 2))
    assert later.prompt_tokens == pytest.approx(first.prompt_tokens * 1.5, rel=0.01)
    assert later.seconds == pytest.approx(10.0 * 80 / 50)
    assert later.prompt_error < 0.05
    assert later.reply_error < 0.1


@pytest.mark.parametrize(
    "changes", [{"models": ["writer: other"]}, {"stage": "generate"}, {"calls": 0}, {"models": None}], ids=str
)
async def test_builds_of_other_models_tell_nothing(tmp_path, changes):
    """Another model, another stage, no call, or a note of a shape that is older."""
    assert (await forecast(space_of(tmp_path), "label", noted(**changes), 80)).known == 0


async def test_a_server_that_counts_no_tokens_corrects_none(tmp_path):
    """Time is known all the same."""
    silent = await forecast(space_of(tmp_path), "label", noted(prompt_tokens=0, completion_tokens=0), 80)
    assert (silent.prompt_factor, silent.reply_factor, silent.prompt_error) == (1.0, 1.0, 0.2)
    assert silent.seconds == pytest.approx(16.0)


async def test_time_follows_the_concurrency_and_ends_at_one_call(tmp_path):
    """Twice the calls at once halve the time; a single call takes what a call takes, however many could be made."""
    assert (await forecast(space_of(tmp_path, concurrency=16), "label", noted(), 80)).seconds == pytest.approx(8.0)
    assert (await forecast(space_of(tmp_path), "label", noted(), 1)).seconds == pytest.approx(10.0 * 8 / 50)


async def test_replies_of_the_generator_follow_the_scenarios_of_a_call(tmp_path):
    """Ten stories in a call need five times the tokens of two; the prompts hardly grow."""
    space = space_of(tmp_path)
    sizes = []
    for n in (2, 10):
        raw = space.recipe().model_dump(mode="json", exclude_unset=True)
        raw["corpus"]["file"], raw["generate"] = "proverbs.jsonl", {"n": n, "per_call": n}
        raw.pop("out", None)
        space.write_recipe(raw)
        sizes.append(await forecast(space, "generate", [], 20))
    assert sizes[1].completion_tokens == pytest.approx(5 * sizes[0].completion_tokens, rel=0.1)
    assert sizes[0].completion_tokens / 20 == pytest.approx(2 * 52 * 5 / BYTES_PER_TOKEN, rel=0.5)
    assert sizes[1].prompt_tokens < 1.5 * sizes[0].prompt_tokens


@given(n=st.integers(0, 30_000))
def test_a_sample_is_small_and_spread(n):
    """At most fifty rows, all where there are no more, and evenly from the whole or its first ten thousand."""
    found = sampled(range(n), n)
    assert len(found) == n if n <= 50 else 25 < len(found) <= 50
    assert not found or found[-1] >= min(n, 10_000) * (1 - 1 / len(found)) - 1


async def test_every_stage_that_asks_expects_replies_that_it_would_take(tmp_path):
    """The replies whose length is counted have the fields that the stage's schema asks for."""
    space = space_of(tmp_path)
    recipe = open_recipe(space.folder)
    cast = assemble(recipe, stores_of(space.folder), replay=True)
    rows = {"validate": likely_items(ROWS, cast.language)}
    fields = {"label": {"theme"}, "cluster": {"name"}, "generate": {"scenarios"}}
    fields["validate"] = {"fits", "plausible", "fluent", "reason"}
    for stage in stages(recipe, cast, read_by_hand(recipe, cast.language)):
        if models_of(stage, recipe):
            (exchange,) = stage.exchanges(rows.get(stage.name, ROWS)[0])
            assert set(json.loads(exchange.reply)) == fields.pop(stage.name)
    assert fields == {}
    await cast.close()
