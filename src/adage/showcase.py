"""The demo: small Japanese, Arabic and Amharic benchmarks from the shipped samples, offline, on embedded models."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

from adage.analysis.controls import Control
from adage.analysis.judges import JudgeRates, judge_rates
from adage.builder import build
from adage.engine.run import Watcher
from adage.errors import StoreError
from adage.export.card import judged_items
from adage.records import Item, Record
from adage.stages.validate import Probe
from adage.store.run import PROBES, Run, StageState
from adage.story import sample_items

LANGUAGES = ("ja", "ar", "am")


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
    """Copy the samples to `to` and build a benchmark of each; what is built already is not built again.

    The builds run at the same time, so that one encodes while another's items are judged and the embedded model is
    loaded once. `watcher` makes the one who is told how the build of a name goes.
    """
    return asyncio.run(_build_all([to.absolute() / f"capr-{language}" for language in languages], watcher))


async def _build_all(folders: Sequence[Path], watcher: Callable[[str], Watcher] | None) -> list[DemoResult]:
    return await asyncio.gather(*(_build_one(folder, watcher and watcher(folder.name)) for folder in folders))


async def _build_one(folder: Path, watcher: Watcher | None) -> DemoResult:
    started = time.monotonic()
    shutil.copytree(shared_folder("samples") / folder.name, folder, dirs_exist_ok=True)
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
