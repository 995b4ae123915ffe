"""The sample benchmarks that ship: their sources are complete, and building them gives what ships, byte for byte."""

import collections
import importlib.util
from pathlib import Path

import msgspec
import pytest

from adage.language import load
from adage.records import Manifest
from adage.store.files import hash_file

SAMPLES = Path(__file__).parents[2] / "samples"
LANGUAGES = ("ar", "am", "ja", "en")
LEAST = {"am": 100}
DOMAINS = set(load("en").domains)


def rows(language: str, name: str) -> list[dict]:
    """The rows of one of a sample's files."""
    path = SAMPLES / f"capr-{language}" / f"{name}.jsonl"
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_proverb_has_its_theme_and_four_stories_of_different_domains(language):
    """A sample is what its card says: enough proverbs, one theme each, four stories from four corners of life."""
    proverbs = [row["text"] for row in rows(language, "proverbs")]
    assert len(proverbs) == len(set(proverbs)) >= LEAST.get(language, 120)
    themes = collections.Counter(row["proverb"] for row in rows(language, "themes"))
    assert themes == collections.Counter(proverbs)
    assert len({row["theme"] for row in rows(language, "themes")}) >= 15
    stories = collections.defaultdict(list)
    for row in rows(language, "scenarios"):
        stories[row["proverb"]].append(row["domain"])
    assert stories.keys() == set(proverbs)
    assert all(len(domains) == len(set(domains)) >= 4 for domains in stories.values())
    assert {domain for domains in stories.values() for domain in domains} == DOMAINS


@pytest.mark.parametrize("language", LANGUAGES)
def test_proverbs_are_explained_and_grouped(language):
    """Every proverb has a native explanation and an English gloss; a group has at least two members."""
    proverbs = rows(language, "proverbs")
    assert all(row["explanation"] and row["gloss"] for row in proverbs)
    sizes = collections.Counter(row["group"] for row in proverbs if "group" in row)
    assert all(2 <= size <= 6 for size in sizes.values())
    lessons = [row["equivalent"] for row in proverbs if "equivalent" in row]
    assert len(lessons) == len(set(lessons))


def test_thirty_lessons_correspond():
    """At least thirty lessons have a proverb in all four languages, so that a gap can be taken on matched meanings."""
    lessons = [{row.get("equivalent") for row in rows(language, "proverbs")} - {None} for language in LANGUAGES]
    assert len(set.intersection(*lessons)) >= 30


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_ships_is_whole(language):
    """The shipped benchmark's files are those its manifest lists, in both assemblies, and no story was let through."""
    folder = SAMPLES / f"capr-{language}" / "benchmark"
    manifest = msgspec.json.decode((folder / "manifest.json").read_bytes(), type=Manifest)
    assert {name: hash_file(folder / name) for name in manifest.files} == manifest.files
    assert manifest.items.keys() == {"balanced", "paper"}
    verdicts = rows(language, "verdicts")
    assert len(verdicts) == len(rows(language, "scenarios"))
    failed = [verdict for verdict in verdicts if any(check["passed"] is False for check in verdict["checks"])]
    assert [verdict["dropped"] for verdict in verdicts if verdict not in failed] == [""] * (len(verdicts) - len(failed))
    assert all(verdict["dropped"] for verdict in failed)


def maker():
    """The script that builds what ships."""
    spec = importlib.util.spec_from_file_location("make_samples", SAMPLES / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    return make


def test_the_page_on_the_samples_is_current():
    """The tables of docs/samples.md are those of what ships; `python samples/make.py --docs` writes them."""
    make = maker()
    assert make.page() == make.PAGE.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_building_a_sample_gives_what_ships(language, tmp_path):
    """`adage build` on a sample's sources writes the shipped benchmark and verdicts again, byte for byte."""
    make = maker()
    make.ship(make.build(language, tmp_path / "build"), tmp_path / "shipped")
    built, shipped = tmp_path / "shipped", SAMPLES / f"capr-{language}"
    names = {str(path.relative_to(built)) for path in built.rglob("*.*")}
    theirs = {str(path.relative_to(shipped)) for path in (shipped / "benchmark").rglob("*.*")}
    assert names == theirs | {"verdicts.jsonl"}
    assert [name for name in sorted(names) if (built / name).read_bytes() != (shipped / name).read_bytes()] == []
