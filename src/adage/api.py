"""Every command as a function of the same name: what `import adage` offers."""

from __future__ import annotations

import asyncio
from pathlib import Path

from adage.builder import Built
from adage.builder import build as _build
from adage.corpus.inspect import Inspection
from adage.corpus.inspect import inspect as _inspect
from adage.corpus.read import ReadOptions
from adage.engine.run import Watcher
from adage.errors import StoreError
from adage.language import load
from adage.models.base import Message
from adage.planner import StagePlan
from adage.planner import plan as _plan
from adage.recipe import load_recipe, recipe_file
from adage.scaffold import scaffold
from adage.showcase import DemoResult, run_demo
from adage.store.run import Run, StageState
from adage.story import Appearance, appearances, prompt_of


def init(folder: Path, *, language: str, corpus: Path | None = None) -> list[Path]:
    """Write a commented recipe into a folder; returns the files written. See `scaffold.scaffold` for errors."""
    return scaffold(folder, language, corpus)


def inspect(file: Path, *, language: str, options: ReadOptions | None = None) -> Inspection:
    """Say what is in a corpus file; raises `CorpusError` where it cannot be read at all."""
    return _inspect(file, load(language), options or ReadOptions())


def build(
    recipe: Path = Path(),
    *,
    until: str | None = None,
    start: str | None = None,
    limit: int | None = None,
    replay: bool = False,
    recalibrate: bool = False,
    out: Path | None = None,
    watcher: Watcher | None = None,
) -> Built:
    """Run the stages that are not up to date; see `build.build` for arguments and errors."""
    return asyncio.run(
        _build(
            recipe,
            out=out,
            watcher=watcher,
            until=until,
            start=start,
            limit=limit,
            replay=replay,
            recalibrate=recalibrate,
        )
    )


def plan(recipe: Path = Path(), *, limit: int | None = None, out: Path | None = None) -> list[StagePlan]:
    """What a build would call and cost, stage by stage (`adage build --dry-run`)."""
    return asyncio.run(_plan(recipe, out=out, limit=limit))


def status(run: Path = Path()) -> list[StageState]:
    """The finished stages of a run; raises `StoreError` where there is none."""
    states = open_run(run).states()
    if not states:
        raise StoreError(f"no stage has finished in {str(run)!r}", hint="build it with: adage build")
    return states


def show(run: Path, name: str) -> list[Appearance]:
    """Everything in a run that is, or was made from, the record of this id; raises `StoreError` for an unknown id."""
    return appearances(open_run(run), name)


def prompt(run: Path, stage: str, name: str | None = None) -> list[Message]:
    """The exact messages that a stage sends for a record (`adage show --prompt`)."""
    opened = open_run(run)
    recipe = run if _is_recipe(run) else opened.recipe()
    return list(asyncio.run(prompt_of(opened, recipe, stage, name)))


def demo(out: Path = Path("demo"), *, watcher: Watcher | None = None) -> list[DemoResult]:
    """Build the sample benchmarks on the embedded models."""
    return run_demo(out, watcher)


def open_run(path: Path) -> Run:
    """The run that a run folder, a recipe or a recipe's folder means."""
    return Run(load_recipe(path).out) if _is_recipe(path) else Run(path)


def _is_recipe(path: Path) -> bool:
    return recipe_file(path).is_file()
