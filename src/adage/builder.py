"""Building a benchmark: recipe → run folder → benchmark folder."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from adage.accounts import Accounts, Spent
from adage.analysis.controls import Control
from adage.cast import Cast, assemble, language_of
from adage.corpus.read import ReadOptions, read
from adage.corpus.source import source as read_source
from adage.engine.run import AnyStage, Engine, Rows, StageOutput, Watcher
from adage.errors import LimitReached, RecipeError
from adage.export.benchmark import write_benchmark
from adage.forecast import Forecaster
from adage.language import Language
from adage.models.batch import TakenIn, write_batch
from adage.models.batch import take_in as take_in_responses
from adage.pipeline import NAMES, read_by_hand, stages
from adage.recipe import Corpus, Recipe, load_recipe, recipe_file
from adage.records import RawRow, Source, digest
from adage.stage import Outcome
from adage.store.files import hash_file
from adage.store.journal import Journal
from adage.store.recorded import Usage
from adage.store.run import Run, StageState

R = TypeVar("R", bound=msgspec.Struct)

_BATCH = "batch.jsonl"
"""The list, beside the journal, of the requests that batches hold."""


@dataclass(frozen=True)
class Built:
    """What a build left behind."""

    run: Path
    states: tuple[StageState, ...]
    benchmark: Path | None
    """Folder of the finished benchmark; None where the build ended before curate."""
    calls: dict[str, dict[str, int | float | None]]
    """Model → calls made, taken from the journal, tokens, and money (None: unknown)."""
    spent: tuple[Spent, ...]
    """What each stage that ran was expected to call, and what it has truly spent."""
    controls: dict[str, list[Control]]
    """Assembly → what its options give away; empty where there is no benchmark yet."""
    error: str = ""
    """What ended the build early."""


class CorpusSource:
    """The rows of a user's file, numbered, read when first asked for (at once with `eager`).

    Raises:
        CorpusError: the file cannot be read as asked.
    """

    def __init__(self, corpus: Corpus, language: Language, *, limit: int | None = None, eager: bool = False) -> None:
        self._corpus, self._language, self._limit = corpus, language, limit
        self._rows: list[RawRow] | None = None
        self.hash = digest(
            corpus.file.name,
            hash_file(corpus.file) if corpus.file.is_file() else "",
            corpus.model_dump(mode="json", exclude={"file", "provenance"}),
            read_source(corpus.file).id,
            limit,
        )
        if eager:
            self._all()

    def read(self, kind: type[R]) -> Iterator[R]:
        """The rows; `kind` must be `RawRow`, which acquire needs whole."""
        yield from (row for row in self._all() if isinstance(row, kind))

    def _all(self) -> list[RawRow]:
        if self._rows is None:
            rows = read(self._corpus.file, self._language, read_options(self._corpus)).rows[: self._limit]
            self._rows = [msgspec.structs.replace(row, number=number) for number, row in enumerate(rows, 1)]
        return self._rows


def read_options(corpus: Corpus) -> ReadOptions:
    """What a recipe says of how its corpus is to be read."""
    return msgspec.convert(corpus.model_dump(exclude={"file", "provenance"}), ReadOptions)


def open_recipe(path: Path, out: Path | None = None) -> Recipe:
    """The recipe at a path, with another run folder where one is given."""
    recipe = load_recipe(path)
    return recipe.model_copy(update={"out": out.absolute()}) if out else recipe


def stores_of(path: Path) -> Path:
    """Folder of the call journal and the vectors: `.adage` beside the recipe, shared by all its runs."""
    return recipe_file(path).absolute().parent / ".adage"


class Silent:
    """A watcher that says nothing."""

    def begins(self, usage: Callable[[], Usage]) -> None:
        """Nothing."""

    def stops(self) -> None:
        """Nothing."""

    def prepares(self, stage: AnyStage) -> None:
        """Nothing."""

    def starts(self, stage: AnyStage, rows: int, changes: list[str], calls: int | None) -> None:
        """Nothing."""

    def row(self, stage: AnyStage, outcome: Outcome) -> None:
        """Nothing."""

    def notes(self, text: str) -> None:
        """Nothing."""

    def ends(self, state: StageState, *, fresh: bool) -> None:
        """Nothing."""


def source_of(recipe: Recipe) -> Source:
    """Origin and rights of the corpus: from the recipe, else from `corpus.yaml` beside the file."""
    stated = recipe.corpus.provenance
    return read_source(recipe.corpus.file, stated.model_dump(exclude_unset=True) if stated else None)


async def build(
    path: Path,
    *,
    out: Path | None = None,
    watcher: Watcher | None = None,
    until: str | None = None,
    start: str | None = None,
    limit: int | None = None,
    replay: bool = False,
    recalibrate: bool = False,
    batch_out: Path | None = None,
    report: Callable[[Built], None] = lambda _: None,
) -> Built:
    """Run the stages that are not up to date, and write the benchmark.

    Args:
        path: The recipe, or a folder that holds `recipe.yaml`; the stores lie in `.adage` beside it.
        out: Run folder, instead of the recipe's.
        watcher: Told how the build goes.
        until: Last stage to run.
        start: First stage to compute again even if it is up to date.
        limit: Use only this many rows of the corpus.
        replay: Answer model calls and vectors from the stores alone; the first one missing ends the build.
        recalibrate: Let the filter measure its thresholds anew.
        batch_out: Call no endpoint; write what a stage would ask into this file, and stop there.
        report: Told what was done and spent, whether the build ends well or not; not where no stage was begun.

    Raises:
        LimitReached: the budget is used up, or requests were left to a batch.
        AdageError: see `errors`; its `exit_code` says how a command line should end.
    """
    last = stage_place(until, default=len(NAMES) - 1)
    first = stage_place(start, default=len(NAMES))
    recipe, watcher = open_recipe(path, out), watcher or Silent()
    run = Run(recipe.out)
    language = language_of(recipe)
    by_hand = read_by_hand(recipe, language)
    source: Rows = CorpusSource(recipe.corpus, language, limit=limit, eager=not run.root.exists())
    started, clock = datetime.now(UTC), time.monotonic()
    cast = assemble(recipe, stores_of(path), replay=replay, offline=batch_out is not None, tell=watcher.notes)
    states: list[StageState] = []
    benchmark: Path | None = None
    controls: dict[str, list[Control]] = {}

    leave_owed = partial(_leave_owed, cast, path, batch_out)
    engine = Engine(run, cast.journal, watcher, max_failed=recipe.max_failed, before_writing=leave_owed)
    accounts = Accounts(engine, cast, Forecaster(recipe, run.history()))
    error = ""
    try:
        with run.locked():
            watcher.begins(cast.usage)
            for place, stage in enumerate(stages(recipe, cast, by_hand, recalibrate=recalibrate)[: last + 1]):
                try:
                    forced = place >= first or (recalibrate and stage.name == "filter")
                    state = await engine.run(stage, source, force=forced)
                except LimitReached as stop:
                    await cast.finish()
                    raise (cast.meter.stopped() if cast.meter.exhausted else stop) from None
                finally:
                    await accounts.enter(stage, source)
                states.append(state)
                source = StageOutput(run, state, stage.folder)
            if last == len(NAMES) - 1:
                benchmark, controls = await write_benchmark(run, recipe, cast, source_of(recipe))
    except BaseException as fault:
        error = f"{type(fault).__name__}: {fault}"
        raise
    finally:
        watcher.stops()
        calls = {name: msgspec.to_builtins(model.usage) for name, model in cast.played.items()}
        await accounts.close()
        await cast.close()
        if states:
            facts = {"models": calls, "stages": msgspec.to_builtins(accounts.spent), "error": error}
            run.note(_times(path, run.root, started, clock) | facts)
        built = Built(run.root, tuple(states), benchmark, calls, tuple(accounts.spent), controls, error)
        if built.spent:
            report(built)
    return built


async def take_in(path: Path, files: Sequence[Path]) -> TakenIn:
    """Store the responses to batches that builds of this recipe wrote; see `models.batch.take_in`."""
    stores = stores_of(path)
    with Journal(stores / "calls.sqlite") as journal:
        return await take_in_responses(files, stores / _BATCH, journal)


def _leave_owed(cast: Cast, path: Path, target: Path | None, stage: AnyStage) -> None:
    """Write the requests that a stage lacks, where there are any, and end the build: where they are, how to go on.

    Raises:
        LimitReached: the stage waits for answers.
    """
    if target is None or not any(cast.owed.values()):
        return
    bodies = {name: model.body for name, model in cast.remote.items()}
    written = write_batch(target, cast.owed, bodies, stores_of(path) / _BATCH, cast.journal)
    listed = ", ".join(f"{count} in {str(file)!r}" for file, count in written.items())
    raise LimitReached(
        f"stage {stage.name} waits for the answers to {sum(written.values())} requests: {listed}",
        hint=f"have them answered, then run: adage build {path} --batch-in RESPONSES --batch-out {target}",
    )


def _times(path: Path, root: Path, started: datetime, clock: float) -> dict[str, Any]:
    """When, where and with what a build ran."""
    return {
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - clock, 1),
        "recipe": os.path.relpath(recipe_file(path), root),
        "host": platform.node(),
        "python": sys.version.split()[0],
        "adage": version("adage"),
    }


def stage_place(name: str | None, *, default: int) -> int:
    """Place of a stage in the pipeline; raises `RecipeError` for a name that it does not have."""
    if name is None:
        return default
    if name not in NAMES:
        raise RecipeError(f"there is no stage {name!r}", hint=f"the stages are: {', '.join(NAMES)}")
    return NAMES.index(name)
