"""The documentation: its commands run and print what is shown, its records are real, its links resolve."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from adage.cli import main
from adage.records import Item, Proverb, Record, Scenario, verify
from adage.stages.hand import HandScenario, HandTheme, ItemVerdict, ScenarioVerdict
from adage.stages.validate import Probe
from adage.store.run import Broken, Gone, Run

REPO = Path(__file__).parents[2]
DOCS = REPO / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "design" not in path.parts)
COMMANDED = [path for path in [REPO / "README.md", *PAGES] if path.name != "cli.md"]
RECORDS: dict[str, type[Record]] = {
    kind.__name__: kind
    for kind in (Proverb, Scenario, Item, Probe, Gone, Broken, HandTheme, HandScenario, ScenarioVerdict, ItemVerdict)
}


class Step(NamedTuple):
    """A command in a page, and the lines that it is shown to print."""

    command: str
    prints: tuple[str, ...]


_BLOCK = re.compile(
    r"(?P<before>(?:<!--[^>]*-->\s*)?)^```(?P<info>\w[^\n]*)\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL
)


def steps(page: Path) -> list[Step]:
    """The `$ adage …` commands of a page's console blocks, without those marked <!-- not run: … -->."""
    found: list[Step] = []
    for block in _BLOCK.finditer(page.read_text("utf-8")):
        if block["info"].strip() != "console" or "not run:" in block["before"]:
            continue
        for part in re.split(r"^\$ ", block["body"], flags=re.MULTILINE)[1:]:
            command, *output = part.splitlines()
            if command.startswith("adage "):
                found.append(Step(command.partition("  #")[0], tuple(line for line in output if line.strip() != "…")))
    return found


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scripted example, built, as `mine`, and the recipes beside it."""
    folder = tmp_path_factory.mktemp("docs")
    for target in ("mine", "recipes/scripted"):
        shutil.copytree(REPO / "recipes" / "scripted", folder / target, ignore=shutil.ignore_patterns("run", ".adage"))
    shutil.copytree(REPO / "recipes" / "rosters", folder / "recipes" / "rosters")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("adage build mine", patch)
    return folder


def run(command: str, patch: pytest.MonkeyPatch) -> None:
    """Run a command line in this process; its exit code must be 0."""
    patch.setattr("sys.argv", shlex.split(command))
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code, f"{command!r} ended with exit code {ended.value.code}"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if any("demo" in step.command for step in steps(page)) else [])
        for page in COMMANDED
        if steps(page)
    ],
    ids=lambda page: page.name,
)
def test_commands_run_and_print_what_is_shown(
    page: Path, example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """A reader who types the commands of a page, in order, sees what the page shows."""
    shutil.copytree(example, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for step in steps(page):
        run(step.command, monkeypatch)
        printed = " ".join(capsys.readouterr().out.split())
        for line in step.prints:
            for piece in line.split("…"):
                assert " ".join(piece.split()) in printed, f"{step.command!r} does not print {line!r}"


def example_records() -> Iterator[tuple[str, str, str]]:
    """(page, kind, JSON) of the records shown in the pages: blocks whose info string is `json KIND`."""
    for page in PAGES:
        for block in _BLOCK.finditer(page.read_text("utf-8")):
            language, _, kind = block["info"].strip().partition(" ")
            if language in {"json", "jsonl"} and kind:
                texts = block["body"].splitlines() if language == "jsonl" else [block["body"]]
                yield from ((str(page.relative_to(DOCS)), kind, text) for text in texts)


@pytest.mark.parametrize(("page", "kind", "text"), list(example_records()))
def test_records_shown_are_real(page: str, kind: str, text: str):
    """An example in a page has the fields of its record, and its id and hash follow from its content."""
    record = msgspec.json.decode(text, type=RECORDS[kind])
    assert set(json.loads(text)) <= set(RECORDS[kind].__struct_fields__), page
    if isinstance(record, Proverb | Scenario | Item):
        verify(record)


def test_every_reason_of_the_example_is_explained(example: Path):
    """A reason that `adage status` shows is found on a page of the stages."""
    pages = " ".join(page.read_text("utf-8") for page in (DOCS / "stages").glob("*.md"))
    reasons = {reason for state in Run(example / "mine" / "run").states() for reason in state.counts.reasons}
    assert {reason for reason in reasons if f"`{reason}" not in pages} == set()


LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


@pytest.mark.parametrize("page", [*PAGES, REPO / "README.md", REPO / "CONTRIBUTING.md", REPO / "CHANGELOG.md"], ids=str)
def test_links_resolve(page: Path):
    """A link from page to page leads to a file, and to a heading of it."""
    for link in LINK.finditer(re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)):
        target, _, heading = link["target"].partition("#")
        if "://" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{page.name} links to {link['target']!r}"
        if heading:
            titles = re.findall(r"^#+ (.+)$", file.read_text("utf-8"), flags=re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert heading in anchors, f"{page.name} links to {link['target']!r}"
