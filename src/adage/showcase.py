"""The demo: small Japanese, Arabic and Amharic benchmarks from the shipped samples, offline, on embedded models."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

import msgspec

from adage.analysis.controls import Control
from adage.analysis.judges import JudgeRates, judge_rates
from adage.builder import build
from adage.engine.loop import run_async
from adage.engine.run import Watcher
from adage.errors import StoreError
from adage.export.card import judged_items
from adage.records import Item, Record
from adage.stages.validate import Probe
from adage.store.files import write_atomic
from adage.store.run import PROBES, Run, StageState
from adage.story import sample_items

LANGUAGES = ("ja", "ar", "am")
PROVERBS = 28
"""Proverbs of a sample, its first ones, that the demo uses."""
STORIES = 3
"""Stories of each."""


class DemoResult(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What the demo built in one language."""

    language: str
    benchmark: str
    states: tuple[StageState, ...]
    items: tuple[Item, ...]
    """A few of the items."""
    controls: dict[str, tuple[Control, ...]]
    judges: tuple[JudgeRates, ...]
    seconds: float


def shared_folder(name: str) -> Path:
    """The folder of samples or recipes that ships with the package, or stands in its source tree.

    Raises:
        StoreError: it is in neither place.
    """
    package = Path(str(files("adage")))
    for candidate in (package / name, package.parents[1] / name):
        if candidate.is_dir():
            return candidate
    raise StoreError(f"the folder {name!r} that ships with ADAGE is missing", hint="install the package again")


def run_demo(
    to: Path, watcher: Callable[[str], Watcher] | None = None, *, languages: tuple[str, ...] = LANGUAGES
) -> list[DemoResult]:
    """Copy the beginning of the samples to `to` and build a benchmark of each; what is built is not built again.

    The builds run at the same time, so that one encodes while another's items are judged and the embedded model is
    loaded once. `watcher` makes the one who is told how the build of a name goes.
    """
    return run_async(_build_all([to.absolute() / f"capr-{language}" for language in languages], watcher))


async def _build_all(folders: Sequence[Path], watcher: Callable[[str], Watcher] | None) -> list[DemoResult]:
    return await asyncio.gather(*(_build_one(folder, watcher and watcher(folder.name)) for folder in folders))


async def _build_one(folder: Path, watcher: Watcher | None) -> DemoResult:
    started = time.monotonic()
    copy_sample(shared_folder("samples") / folder.name, folder)
    built = await build(folder, watcher=watcher)
    run = Run(built.run)
    return DemoResult(
        language=folder.name.removeprefix("capr-"),
        benchmark=str(built.benchmark),
        states=built.states,
        items=tuple(sample_items(run, 4)),
        controls={assembly: tuple(found) for assembly, found in built.controls.items()},
        judges=tuple(judge_rates(judged_items(run), list(run.rows("6-validate", PROBES, Probe)))),
        seconds=round(time.monotonic() - started, 1),
    )


def copy_sample(sample: Path, folder: Path) -> None:
    """Copy a sample's first proverbs, with their themes and first stories, and its recipe for the demo."""
    folder.mkdir(parents=True, exist_ok=True)
    proverbs = _lines(sample / "proverbs.jsonl")[:PROVERBS]
    used = Counter({proverb["text"]: STORIES for proverb in proverbs})
    stories = []
    for story in _lines(sample / "scenarios.jsonl"):
        if used[story["proverb"]] > 0:
            used[story["proverb"]] -= 1
            stories.append(story)
    themes = [theme for theme in _lines(sample / "themes.jsonl") if theme["proverb"] in used]
    for name, rows in (("proverbs", proverbs), ("themes", themes), ("scenarios", stories)):
        write_atomic(folder / f"{name}.jsonl", b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    for source, name in (("demo.yaml", "recipe.yaml"), ("corpus.yaml", "corpus.yaml")):
        write_atomic(folder / name, (sample / source).read_bytes())


def _lines(path: Path) -> list[dict[str, str]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
