"""The example recipes: valid, complete, and the scripted one builds."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel
from ruamel.yaml import YAML

from adage.cli import main
from adage.recipe import Endpoint, Recipe, load_recipe
from adage.records import Item, verify
from adage.stages.validate import Probe
from adage.store.run import KEPT, PROBES, Run

REPO = Path(__file__).parents[2]
RECIPES = sorted((REPO / "recipes").rglob("recipe.yaml")) + sorted((REPO / "recipes").glob("*.yaml"))


def parts(annotation: object) -> Iterator[type[BaseModel]]:
    """The recipe tables that an annotation can hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from parts(inner)


def every_key(table: type[BaseModel]) -> set[tuple[str, str]]:
    """(table, key) of all that a recipe can say from `table` down."""
    keys = set()
    for name, field in table.model_fields.items():
        keys.add((table.__name__, name))
        for inner in parts(field.annotation):
            keys |= every_key(inner)
    return keys


def keys_said(table: BaseModel) -> set[tuple[str, str]]:
    """(table, key) of all that a recipe does say."""
    said = {(type(table).__name__, name) for name in table.model_fields_set}
    for name in table.model_fields_set:
        value = getattr(table, name)
        for inner in value.values() if isinstance(value, dict) else (value,):
            if isinstance(inner, BaseModel):
                said |= keys_said(inner)
    return said


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: str(path.relative_to(REPO / "recipes")))
def test_every_example_is_a_valid_recipe(path: Path):
    """An example that a user copies is never refused."""
    assert load_recipe(path).version == 1


def test_the_examples_show_every_key():
    """Whatever a recipe can say is said, with a comment, in one of the examples."""
    said: set[tuple[str, str]] = set()
    for path in RECIPES:
        said |= keys_said(Recipe.model_validate(YAML(typ="safe").load(path.read_text("utf-8"))))
    assert every_key(Recipe) - said == set()


def test_the_papers_judges_are_of_three_families_and_none_is_the_generators():
    """A judge of the generator's family would favour it."""
    recipe = load_recipe(REPO / "recipes" / "paper.yaml")
    family = {name: model.family for name, model in recipe.models.items() if isinstance(model, Endpoint)}
    judges = {family[name] for name in recipe.roles.judges}
    assert len(judges) == 3
    assert family[str(recipe.roles.generator)] not in judges
    assert (recipe.cluster.k, recipe.generate.n, recipe.distract.assembly) == ((10, 25), 10, ("paper",))


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The run of a finished build of the scripted example."""
    folder = tmp_path / "mine"
    shutil.copytree(REPO / "recipes" / "scripted", folder, ignore=shutil.ignore_patterns("run", ".adage"))
    monkeypatch.setattr("sys.argv", ["adage", "build", str(folder)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    return Run(folder / "run")


def test_the_scripted_example_builds_without_any_model(built: Run):
    """Every stage of the example has work to do, and its output holds together."""
    states = {state.stage: state.counts for state in built.states()}
    assert states["acquire"].reasons == {"merged_into": 1}
    assert states["filter"].reasons == {"keyword": 1, "length": 1, "sibling": 1}
    assert states["generate"].short == 1
    assert not any(counts.failed for counts in states.values())
    items = list(built.rows("7-curate", KEPT, Item))
    for item in items:
        verify(item)
    assert {(item.assembly, item.split) for item in items} == {
        (assembly, split) for assembly in ("balanced", "paper") for split in ("dev", "test")
    }


def test_the_scripted_judges_notice_every_probe(built: Run):
    """The example shows what probes are for: known-bad items are caught and stay out of the counts."""
    probes = list(built.rows("6-validate", PROBES, Probe))
    assert {probe.kind for probe in probes} >= {"wrong_proverb", "leaked_keyword"}
    assert all(all(probe.caught.values()) for probe in probes if probe.kind != "two_answers")
