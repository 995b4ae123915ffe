"""Rosters: read whole or refused with every fault in its place; the ones that ship are sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from adage.errors import MissingKey, RecipeError
from adage.evaluation.candidates import check_keys
from adage.evaluation.roster import EndpointEntry, LocalEntry, ScriptedEntry, TransformersEntry, load_roster, pick

ROSTERS = Path(__file__).parents[2] / "recipes" / "rosters"
GOOD = """
version: 1
defaults:
  base_url: http://localhost:8000/v1
  concurrency: 4
models:
  - name: small
    family: F
    parameters: 0.5
    model: org/small
  - name: large
    model: org/large
    base_url: http://other:8000/v1
    thinking: true
    key_env: SOME_KEY
  - {name: file, kind: local, model: weights/m.gguf, template: none}
  - {name: fake, kind: scripted, skill: {en: 0.5, default: 0.2}}
"""


def roster(folder: Path, text: str) -> Path:
    """A roster file."""
    path = folder / "roster.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_hold_for_models_of_their_kind(tmp_path: Path) -> None:
    """A model says what differs; weights lie relative to the roster."""
    small, large, file, fake = load_roster(roster(tmp_path, GOOD)).models
    assert isinstance(small, EndpointEntry)
    assert (small.base_url, small.concurrency, small.parameters) == ("http://localhost:8000/v1", 4, 0.5)
    assert isinstance(large, EndpointEntry)
    assert (large.base_url, large.thinking) == ("http://other:8000/v1", True)
    assert isinstance(file, LocalEntry)
    assert (file.model, file.template) == (str(tmp_path / "weights" / "m.gguf"), "none")
    assert isinstance(fake, ScriptedEntry)


def test_all_faults_are_reported_with_their_lines(tmp_path: Path) -> None:
    """Unknown keys, values out of range, kinds that are none: each with file, line and path."""
    text = "version: 1\nmodels:\n  - name: a\n    modle: x\n    base_url: u\n  - {name: b, kind: magic}\n"
    text += "  - name: c\n    kind: scripted\n    skill: 2\n"
    with pytest.raises(RecipeError) as caught:
        load_roster(roster(tmp_path, text))
    said = str(caught.value)
    assert "roster.yaml:4: models.0.endpoint.modle: unknown key" in said
    assert "roster.yaml:3: models.0.endpoint.model: Field required" in said
    assert "roster.yaml:6: models.1" in said
    assert "roster.yaml:9: models.2.scripted.skill" in said
    assert "docs/evaluation.md" in said
    assert "at least 1 item" not in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: 1\nmodels: []\n", "roster.yaml:2: models: Tuple should have at least 1 item"),
        ("version: 2\nmodels: []\n", "the roster has version 2, this ADAGE reads up to 1"),
        ("- a\n", "a roster is a mapping of keys to values, not a list"),
        ("version: 1\nmodels: [{name: [\n", "not valid YAML"),
        (GOOD.replace("name: large", "name: small"), "would share one folder of results: 'small' and 'small'"),
        (GOOD.replace("name: large", "name: small/"), "would share one folder of results: 'small' and 'small/'"),
    ],
)
def test_a_roster_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """With what was expected."""
    with pytest.raises(RecipeError, match="roster") as caught:
        load_roster(roster(tmp_path, text))
    assert message in str(caught.value)


@pytest.mark.parametrize("place", ["key_env: SOME_KEY", "concurrency: 4"])
def test_a_key_in_a_roster_is_refused_and_never_shown(tmp_path: Path, place: str) -> None:
    """In a model or in the defaults: the file and a line are told, the key is not."""
    text = GOOD.replace(place, "key_env: gsk_very_secret_0815", 1)
    with pytest.raises(
        RecipeError, match=r"roster\.yaml:\d+: models\.\d\.endpoint\.key_env: expected the name"
    ) as caught:
        load_roster(roster(tmp_path, text))
    assert "very_secret" not in str(caught.value)


def test_a_missing_roster_says_where_examples_lie(tmp_path: Path) -> None:
    """A mistyped path is the user's."""
    with pytest.raises(RecipeError, match="recipes/rosters"):
        load_roster(tmp_path / "none.yaml")


def test_models_are_picked_by_name_or_by_themselves(tmp_path: Path) -> None:
    """A roster's name, a packaged model, a file, an address: in the order named, each once."""
    listed = load_roster(roster(tmp_path, GOOD))
    assert pick((), listed) == list(listed.models)
    picked = pick(["gemma3-270m", "large", "x/y.gguf", "https://host/v1#org/model", "large"], listed)
    assert [entry.name for entry in picked] == ["gemma3-270m", "large", "y", "org/model"]
    assert picked[1] is listed.models[1]
    gemma, _, _, remote = picked
    assert (gemma.family, gemma.parameters) == ("Gemma 3", 0.27)
    assert isinstance(remote, EndpointEntry)
    assert (remote.base_url, remote.model) == ("https://host/v1", "org/model")


@pytest.mark.parametrize(("names", "message"), [((), "no model is named"), (("nobody",), "there is no model 'nobody'")])
def test_a_name_that_is_no_model_is_refused(names: tuple[str, ...], message: str) -> None:
    """With everything that would be one."""
    with pytest.raises(RecipeError, match=message) as caught:
        pick(names, None)
    assert "BASE_URL#MODEL" in str(caught.value)


def test_models_that_would_share_a_folder_are_refused() -> None:
    """Two files of one name."""
    with pytest.raises(RecipeError, match="share one folder"):
        pick(["a/m.gguf", "b/m.gguf"], None)


def test_keys_are_asked_for_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that lack, at once, with all the models that need them."""
    monkeypatch.delenv("SOME_KEY", raising=False)
    text = GOOD.replace("    parameters: 0.5\n", "    parameters: 0.5\n    key_env: SOME_KEY\n")
    models = load_roster(roster(tmp_path, text)).models
    with pytest.raises(MissingKey, match=r"SOME_KEY \(for small, large\) is not set"):
        check_keys(models)
    monkeypatch.setenv("SOME_KEY", "x")
    check_keys(models)


@pytest.mark.parametrize("file", sorted(ROSTERS.glob("*.yaml")), ids=lambda file: file.stem)
def test_the_rosters_that_ship_are_sound(file: Path) -> None:
    """Every model has family and size, in billions up to 35; none has a key."""
    for entry in load_roster(file).models:
        assert entry.family
        assert entry.parameters
        assert 0.1 <= entry.parameters <= 35
        assert not (isinstance(entry, EndpointEntry) and entry.key_env)


def test_the_open_families_are_the_same_everywhere() -> None:
    """VLLM's roster and Ollama's list the same models under the same names."""
    vllm, ollama = (load_roster(ROSTERS / name).models for name in ("open-weights.yaml", "ollama.yaml"))
    described = [
        [(entry.name, entry.family, entry.parameters, entry.thinking) for entry in models] for models in (vllm, ollama)
    ]
    assert described[0] == described[1]
    assert len(vllm) > 20


def test_the_scripted_roster_has_fourteen_models_in_three_families() -> None:
    """As many as the paper's; each is more skilled in English than elsewhere, larger ones more than smaller ones."""
    models = load_roster(ROSTERS / "scripted.yaml").models
    assert len(models) == 14
    families: dict[str, list[ScriptedEntry]] = {}
    for entry in models:
        assert isinstance(entry, ScriptedEntry)
        families.setdefault(entry.family, []).append(entry)
    assert len(families) == 3
    for family in families.values():
        skills = [entry.skill for entry in family if isinstance(entry.skill, dict)]
        assert [skill["en"] for skill in skills] == sorted(skill["en"] for skill in skills)
        assert all(skill["en"] > skill["default"] for skill in skills)


def test_every_key_is_explained() -> None:
    """The page that errors point to names each key of each kind, and every method and status."""
    page = (ROSTERS.parents[1] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    for kind in (EndpointEntry, LocalEntry, TransformersEntry, ScriptedEntry):
        missing = {name for name in kind.model_fields if f"`{name}`" not in page}
        assert not missing, kind.__name__
