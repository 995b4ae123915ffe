"""Every command as a function of the same name: what `import adage` offers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from adage.builder import Built, stores_of
from adage.builder import build as _build
from adage.builder import take_in as _take_in
from adage.corpus.inspect import Inspection
from adage.corpus.inspect import inspect as _inspect
from adage.corpus.read import ReadOptions
from adage.engine.run import Watcher
from adage.errors import StoreError
from adage.language import load
from adage.models.base import Message
from adage.models.batch import TakenIn
from adage.models.local import LocalModel
from adage.models.serve import serve
from adage.planner import StagePlan
from adage.planner import plan as _plan
from adage.recipe import load_recipe, recipe_file
from adage.scaffold import scaffold
from adage.showcase import DemoResult, run_demo
from adage.store.journal import Journal
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
    batch_out: Path | None = None,
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
            batch_out=batch_out,
        )
    )


def take_in(recipe: Path, responses: Sequence[Path]) -> TakenIn:
    """Store responses to the batches that builds of this recipe wrote (`adage build --batch-in`)."""
    return asyncio.run(_take_in(recipe, responses))


def plan(
    recipe: Path = Path(),
    *,
    until: str | None = None,
    start: str | None = None,
    limit: int | None = None,
    out: Path | None = None,
) -> list[StagePlan]:
    """What a build would call and cost, stage by stage (`adage build --dry-run`)."""
    return asyncio.run(_plan(recipe, out=out, until=until, start=start, limit=limit))


def status(run: Path = Path()) -> list[StageState]:
    """The finished stages of a run; raises `StoreError` where there is none."""
    return open_run(run).states()


def show(run: Path, name: str) -> list[Appearance]:
    """Everything in a run that is, or was made from, the record of this id; raises `StoreError` for an unknown id."""
    return appearances(open_run(run), name)


def prompt(run: Path, stage: str, name: str | None = None) -> list[Message]:
    """The exact messages that a stage sends for a record (`adage show --prompt`)."""
    opened = open_run(run)
    recipe = run if _is_recipe(run) else opened.recipe()
    return list(asyncio.run(prompt_of(opened, recipe, stage, name)))


def demo(out: Path = Path("demo"), *, watcher: Callable[[str], Watcher] | None = None) -> list[DemoResult]:
    """Build the sample benchmarks on the embedded models."""
    return run_demo(out, watcher)


def serve_model(
    model: str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str = "",
    context: int = 4096,
    slots: int = 1,
    ready: Callable[[str], object] = lambda _: None,
) -> None:
    """Offer an embedded model as an OpenAI-compatible endpoint until interrupted; `ready` is told the base URL."""
    local = LocalModel(
        Path(model).stem if model.endswith(".gguf") else model, model=model, context=context, slots=slots
    )
    local.check()
    asyncio.run(serve(local, host, port, token=token, ready=ready))


def open_journal(recipe: Path = Path()) -> Journal:
    """The call journal beside a recipe; raises `StoreError` where there is none yet."""
    path = stores_of(recipe) / "calls.sqlite"
    if not path.exists():
        raise StoreError(f"there is no journal at {str(path)!r}", hint="it is made by the first build")
    return Journal(path)


def prune_journal(recipe: Path = Path(), *, model: str = "", keep: Sequence[Path] = (), delete: bool = False) -> int:
    """How many stored calls are of this model, or asked by none of the runs in `keep`; with `delete`, they go.

    Raises:
        StoreError: neither a model nor a run is named, or a run names no calls: that would be everything.
    """
    if not model and not keep:
        raise StoreError("every stored call would go", hint="name a model, or runs whose calls are kept")
    kept: set[str] = set()
    for run in keep:
        found = set(open_run(run).call_keys())
        if not found:
            raise StoreError(f"{str(run)!r} is no run with a list of its calls", hint="name the folder of a built run")
        kept |= found
    with open_journal(recipe) as journal:
        return journal.prune(model=model, keep=kept) if delete else journal.count(model=model, keep=kept)


def open_run(path: Path) -> Run:
    """The run that a run folder, a recipe or a recipe's folder means; raises `StoreError` where nothing is built."""
    run = Run(load_recipe(path).out) if _is_recipe(path) else Run(path)
    if not run.states():
        raise StoreError(f"no stage has finished in {str(run.root)!r}", hint="build it with: adage build")
    return run


def _is_recipe(path: Path) -> bool:
    return recipe_file(path).is_file()
