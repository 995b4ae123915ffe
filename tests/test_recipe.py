"""The recipe: everything is checked before anything runs, and every fault is named with its place."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from adage.errors import RecipeError
from adage.recipe import Endpoint, Local, Recipe, Scripted, load_recipe, parse_recipe

BASE = "version: 1\nname: tiny\nlanguage: sw\ncorpus: {file: proverbs.tsv}\n"
ROOT = Path(__file__).parents[1]
SHIPPED = sorted(
    [*ROOT.glob("samples/*/recipe.yaml"), *ROOT.glob("recipes/*.yaml"), *ROOT.glob("recipes/*/recipe.yaml")]
)
MODEL = "  a: {kind: endpoint, base_url: 'http://localhost:8000/v1', model: m}\n"


def parse(text: str) -> Recipe:
    """A recipe from the text that follows the four required keys."""
    return parse_recipe(BASE + text, Path("/place/recipe.yaml"))


def faults(text: str) -> list[str]:
    """The faults of a recipe, without the file's name."""
    with pytest.raises(RecipeError) as caught:
        parse(text)
    return [problem.removeprefix("/place/recipe.yaml:") for problem in caught.value.problems]


def test_the_smallest_recipe_takes_the_papers_numbers():
    """Left out keys have the values of the paper, or the stated choice."""
    recipe = parse("")
    assert (recipe.generate.n, recipe.cluster.k) == (10, (10, 25))
    assert recipe.options_per_item() == 4
    assert recipe.validate_.accept == 2
    assert recipe.distract.assembly == ("balanced",)
    assert recipe.curate.shares.of("train") == 0.6


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("generte: {n: 3}\n", "5: generte: unknown key"),
        ("generate: {n: 3,\n  per_cal: 2}\n", "6: generate.per_cal: unknown key"),
        ("seed: soon\n", "5: seed: Input should be a valid integer, unable to parse string as an integer (found"),
        ("generate: {n: 0}\n", "5: generate.n: Input should be greater than or equal to 1 (found 0)"),
        ("generate: {n: [1]}\n", "5: generate.n: Input should be a valid integer"),
        ("generate: 3\n", "5: generate: Input should be a valid dictionary"),
        ("cluster:\n  k: [9, 4]\n", "5: cluster: k must be [low, high] with 2 <= low <= high, not [9, 4]"),
        ("cluster: {k: [1, 4]}\n", "5: cluster: k must be [low, high]"),
        ("cluster: {label: maybe}\n", "5: cluster.label: Input should be 'model' or 'none' (found 'maybe')"),
        ("curate: {shares: {train: 0.5}}\n", "5: curate.shares: train + dev + test must be 1, not 0.5"),
        ("curate:\n  shares:\n    train: 2\n", "7: curate.shares.train: Input should be less than or equal to 1"),
        ("distract: {same_cluster: 0, near_match: 0, random: 0}\n", "5: distract: same_cluster + near_match + random"),
        ("distract: {assembly: [paper, paper]}\n", "5: distract: assembly must name balanced, paper or both once each"),
        ("distract: {assembly: []}\n", "5: distract: assembly must name"),
        ("filter: {leak_percentile: 100}\n", "5: filter.leak_percentile: Input should be less than 100 (found 100)"),
        ("models:\n  a: {kind: magic}\n", "6: models.a: Input tag 'magic'"),
        ("models:\n  a: {kind: endpoint, model: m}\n", "6: models.a.endpoint.base_url: Field required"),
        ("models:\n" + MODEL + "  b: {kind: local, model: g, temperature: 9}\n", "7: models.b.local.temperature"),
        ("roles: {judges: [x, x], generator: y}\n", "models that `models` does not define: x, y (defined: none)"),
        ("models:\n" + MODEL + "roles: {judges: [a, a]}\n", "each judge must be another model, not ['a', 'a']"),
        ("models:\n" + MODEL + "roles: {judges: a}\n", "validate.accept is 2, but there are only 1 judges"),
        ("name_: x\n", "5: name_: unknown key"),
        ("audit: {require: some}\n", "5: audit.require: Input should be 'none', 'sample' or 'all' (found 'some')"),
        ("encoder: {kind: endpoint, base_url: 'http://localhost/v1'}\n", "5: encoder.endpoint.model: Field required"),
        ("? [1, 2]\n: 3\n", "unknown key"),
        ("cluster:\n  themes:\n  - a.jsonl\n  - 3\n", "8: cluster.themes.1: Input is not a valid path"),
        ("models:\n  a: &a {kind: scripted, script: s, typo: 1}\n  b:\n    <<: *a\n", "7: models.b.scripted.typo"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_path_and_line(text, fault):
    """Unknown keys, wrong types, values out of range and contradictions each say where and what was expected."""
    found = sorted(faults(text), key=lambda problem: int(problem.partition(":")[0]))
    assert any(fault in problem for problem in found), found


@pytest.mark.parametrize(
    "text",
    [
        "models:\n  a:\n    kind: endpoint\n    base_url: http://h/v1\n    model: m\n    key_env: {}\n",
        "models:\n  a: {{kind: endpoint, base_url: 'http://h/v1', model: m,\n\n\n    key_env: [{}]}}\n",
        "encoder:\n  kind: endpoint\n  base_url: http://h/v1\n  model: m\n\n  key_env: '{}'\n",
        "models:\n  a:\n    kind: endpoint\n\n\n    key: {}\n",
        "models:\n\n\n\n\n  a: {}\n",
        "models:\n  a:\n    kind: endpoint\n    key_env: X\n\n    key_env: {}\n",
        "\n\n\n\n\nseed: {}\n",
    ],
)
@pytest.mark.parametrize(
    "key", ["sk-very-secret-0815", "gsk_veryVerySecret", "hf_verysecret", "xVery7Secret0815And9More"]
)
def test_a_key_in_a_recipe_is_refused_and_never_shown(text, key):
    """Where the name of its variable belongs, or anywhere else: file and line are told, the key is not."""
    with pytest.raises(RecipeError) as caught:
        parse(text.format(key))
    said = f"{caught.value} {caught.value!r} {caught.value.problems}"
    assert key not in said
    assert re.search(r"recipe\.yaml:\d+: ", said)
    if "key_env: {}" in text and "X" not in text:
        assert "/place/recipe.yaml:10: models.a.endpoint.key_env: expected the name of an environment variable" in said
        assert "looks like the key itself (it is not shown)" in said
        assert "export LLM_KEY=…" in said


def test_not_even_pydantic_shows_what_it_was_given():
    """Whoever makes a model in Python and prints the error sees no key either."""
    with pytest.raises(ValidationError) as caught:
        Endpoint(kind="endpoint", base_url="http://h/v1", model="m", key_env="sk-very-secret-0815")
    assert "secret" not in str(caught.value)


def test_all_faults_are_reported_at_once():
    """Somebody who mends a recipe sees the whole list the first time."""
    text = "seed: soon\ngenerate: {n: 0}\nfilter: {rouge: 2}\ncurate: {min_group: 3}\nmodels:\n  m: {kind: local}\n"
    assert {problem.partition(":")[0] for problem in faults(text)} == {"5", "6", "7", "8", "10"}
    with pytest.raises(RecipeError, match=r"has 5 fault\(s\)"):
        parse(text)


def test_required_keys_are_asked_for():
    """An empty table lacks version, name, language and corpus."""
    with pytest.raises(RecipeError) as caught:
        parse_recipe("seed: 1\n", Path("recipe.yaml"))
    assert [problem.split(": ")[1] for problem in caught.value.problems] == ["version", "name", "language", "corpus"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "recipe.yaml:1: a recipe is a mapping of keys to values, not nothing"),
        ("- a\n- b\n", "recipe.yaml:1: a recipe is a mapping of keys to values, not a list"),
        ("version: 1\nname: [a\nlanguage: en\n", "recipe.yaml:3: not valid YAML"),
        ("version: 1\n\tname: a\n", "recipe.yaml:2: not valid YAML"),
        ("version: 1\nname: a\nname: b\n", "recipe.yaml:3: not valid YAML"),
        ("# ours\nversion: 2\nwonder: 1\n", "recipe.yaml:2: the recipe has version 2, this ADAGE reads up to 1"),
        ("version: 1\nname: \x07\n", "not valid YAML"),
    ],
)
def test_what_is_no_recipe_at_all(text, message):
    """A syntax error has its line; a recipe of a later ADAGE is told from a wrong one."""
    with pytest.raises(RecipeError, match=re.escape(message)):
        parse_recipe(text, Path("recipe.yaml"))


@pytest.mark.parametrize("name", ["-x", "", "a b", "../up", "naïve", ".hidden"])
def test_the_name_can_name_a_folder(name):
    """A benchmark's name is part of paths on every system."""
    with pytest.raises(RecipeError, match="name"):
        parse_recipe(f"version: 1\nname: {name!r}\nlanguage: sw\ncorpus: {{file: x}}\n", Path("recipe.yaml"))


def test_paths_are_relative_to_the_recipe():
    """Every path field is made absolute against the recipe's folder; absolute ones and names of models stay."""
    recipe = parse(
        "pack: own.toml\nout: ../run\ncluster: {themes: a.jsonl, freeze: old/2b-cluster}\n"
        "generate: {scenarios: [b.jsonl, /abs/c.jsonl]}\naudit: {scenarios: d.jsonl, items: e.jsonl}\n"
        "curate: {lock: splits.lock}\nmodels:\n  s: {kind: scripted, script: s.yaml}\n"
        "  g: {kind: local, model: m.gguf}\n  n: {kind: local, model: gemma3-270m}\n"
    )
    place = Path("/place")
    assert recipe.pack == place / "own.toml"
    assert recipe.out == place / "../run"
    assert recipe.corpus.file == place / "proverbs.tsv"
    assert recipe.cluster.themes == (place / "a.jsonl",)
    assert recipe.cluster.freeze == place / "old/2b-cluster"
    assert recipe.generate.scenarios == (place / "b.jsonl", Path("/abs/c.jsonl"))
    assert (recipe.audit.scenarios, recipe.audit.items) == ((place / "d.jsonl",), (place / "e.jsonl",))
    assert recipe.curate.lock == place / "splits.lock"
    scripted, gguf, named = recipe.models["s"], recipe.models["g"], recipe.models["n"]
    assert isinstance(scripted, Scripted)
    assert scripted.script == place / "s.yaml"
    assert isinstance(gguf, Local)
    assert gguf.model == str(place / "m.gguf")
    assert isinstance(named, Local)
    assert named.model == "gemma3-270m"


def test_optional_paths_stay_absent():
    """What is not named is not made a path."""
    recipe = parse("cluster: {themes: }\n")
    assert (recipe.pack, recipe.cluster.freeze, recipe.curate.lock, recipe.cluster.themes) == (None, None, None, ())


def test_yaml_means_what_it_looks_like():
    """`no` is Norwegian, not false; a date is its text; one entry stands for a list of one."""
    recipe = parse_recipe(BASE.replace("sw", "no") + "released: 2026-11-30\n", Path("/place/recipe.yaml"))
    assert recipe.language == "no"
    assert recipe.released == "2026-11-30"
    assert parse("distract: {assembly: paper}\n").distract.assembly == ("paper",)
    assert parse("corpus2: 1\n".replace("corpus2: 1", "seed: 0x10")).seed == 16


def test_a_fingerprint_follows_what_the_recipe_says_not_where_it_lies():
    """Moved to another folder or with another output it is the same; another file or number is another one."""
    text = "cluster: {themes: a.jsonl}\nmodels:\n  s: {kind: scripted, script: s.yaml}\n"
    here = parse(text).fingerprint()
    assert parse_recipe(BASE + text, Path("/elsewhere/recipe.yaml")).fingerprint() == here
    assert parse(text + "out: other\n").fingerprint() == here
    assert parse(text + "seed: 1\n").fingerprint() != here
    assert parse(text.replace("a.jsonl", "b.jsonl")).fingerprint() != here


def test_a_recipe_is_frozen():
    """Nobody changes a recipe after it was checked."""
    recipe = parse("")
    with pytest.raises(ValidationError, match="frozen"):
        recipe.seed = 1
    with pytest.raises(ValidationError, match="frozen"):
        recipe.generate.n = 1


def test_load_reads_a_file_or_its_folder_with_or_without_bom(tmp_path):
    """A recipe saved by an editor that marks UTF-8 loads like any other."""
    file = tmp_path / "recipe.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + BASE.encode())
    assert load_recipe(tmp_path) == load_recipe(file)
    assert load_recipe(file).corpus.file == tmp_path / "proverbs.tsv"


def test_load_says_what_cannot_be_read(tmp_path):
    """A missing recipe comes with the command that writes one; another encoding is named."""
    with pytest.raises(RecipeError, match="there is no recipe at") as caught:
        load_recipe(tmp_path)
    assert "adage init" in caught.value.hint
    (tmp_path / "recipe.yaml").write_bytes("name: Sprichwörter".encode("latin-1"))
    with pytest.raises(RecipeError, match="cannot be read"):
        load_recipe(tmp_path)


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_shipped_recipes_are_valid(file):
    """What ADAGE ships as an example loads, and its files stand beside it."""
    recipe = load_recipe(file)
    if file.parent.parent.name == "samples":
        assert recipe.corpus.file.is_file()
        assert all(path.is_file() for path in (*recipe.cluster.themes, *recipe.generate.scenarios))
