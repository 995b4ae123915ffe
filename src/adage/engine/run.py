"""The one loop: decide whether a stage is up to date, prepare, apply row by row, write, count."""

from __future__ import annotations

import asyncio
import collections
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from adage.engine.ledger import Ledger
from adage.errors import AdageError, TooManyFailures
from adage.records import Record, digest
from adage.stage import Failed, Outcome, Stage
from adage.store.files import atomic_folder, write_atomic
from adage.store.recorded import Usage
from adage.store.run import FAILED, KEPT, Broken, Counts, Run, StageState

R = TypeVar("R", bound=msgspec.Struct)

AnyStage = Stage[Any, Any, Any, Any]


class Rows(Protocol):
    """Where a stage's input rows come from; can be read more than once."""

    hash: str
    """Hash of the rows."""

    def read(self, kind: type[R]) -> Iterator[R]:
        """The rows, or those of their columns that `kind` has."""
        ...


class StageOutput:
    """The rows that a finished stage kept."""

    def __init__(self, run: Run, state: StageState, folder: str) -> None:
        self.hash = state.output
        self._run, self._folder = run, folder

    def read(self, kind: type[R]) -> Iterator[R]:
        """The rows, or those of their columns that `kind` has."""
        return self._run.rows(self._folder, KEPT, kind)


class Watcher(Protocol):
    """Who is told how a build goes; all methods are called in order, from one thread."""

    def begins(self, usage: Callable[[], Usage]) -> None:
        """A build begins; `usage` tells what it has spent so far."""

    def prepares(self, stage: AnyStage) -> None:
        """A stage looks at all its rows, which may take a while."""

    def starts(self, stage: AnyStage, rows: int, changes: list[str], calls: int | None) -> None:
        """A stage begins: its rows, what changed since it last ran, and its model calls not yet in the journal."""

    def row(self, stage: AnyStage, outcome: Outcome) -> None:
        """A row is done."""

    def ends(self, state: StageState, *, fresh: bool) -> None:
        """A stage is done; `fresh` is False where it was up to date."""


class Known(Protocol):
    """What the engine asks of the journal."""

    def known(self, keys: Iterable[str]) -> set[str]:
        """The keys that are stored."""
        ...


class Engine:
    """Runs stages in one process; rows stream, at most `window` are in flight."""

    def __init__(self, run: Run, journal: Known, watcher: Watcher, *, window: int = 256, max_failed: int = 0) -> None:
        self._run, self._journal, self._watcher = run, journal, watcher
        self._window, self._max_failed = window, max_failed

    async def run(self, stage: AnyStage, source: Rows, *, force: bool = False) -> StageState:
        """Bring one stage up to date.

        Raises:
            TooManyFailures: more rows failed than allowed; the stage's folder is written all the same.
            AdageError: a fatal error of a model or the disk; nothing is written.
        """
        parts, fingerprint = fingerprint_of(stage, source)
        old = self._run.state(stage.folder)
        current = old is not None and old.fingerprint == fingerprint and not force
        if old is not None and current and not old.counts.failed:
            self._watcher.ends(old, fresh=False)
            return old
        attempts = self.attempts(stage, old)
        self._watcher.prepares(stage)
        previous = self._run.context(stage.folder, stage.context)
        context = await stage.prepare(source.read(stage.slim), previous)
        rows, calls = self.outlook(stage, source, context, attempts)
        changes = ["retrying failed rows"] if old and current else changed(old.parts if old else None, parts)
        self._watcher.starts(stage, rows, changes, calls)
        with atomic_folder(self._run.root / stage.folder) as folder:
            write_atomic(folder / "context.json", msgspec.json.encode(context, order="sorted"))
            counts, output = await self._apply(stage, source, context, attempts, folder)
            state = StageState(
                stage=stage.name,
                fingerprint=fingerprint,
                parts=parts,
                counts=counts,
                output=output,
                remarks=tuple(stage.remarks(context)),
                attempts={key: n for key, n in sorted(attempts.items()) if n},
            )
            write_atomic(folder / "stage.json", msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n")
        self._watcher.ends(state, fresh=True)
        if counts.failed > self._max_failed:
            raise TooManyFailures(
                f"stage {stage.name}: {counts.failed} of {counts.rows_in} rows failed, {self._max_failed} are allowed "
                f"(see {stage.folder}/{FAILED})",
                hint="run the same command again to retry them, or raise max_failed to go on without them",
            )
        return state

    def attempts(self, stage: AnyStage, old: StageState | None) -> dict[str, int]:
        """Row → earlier failures; a row that failed in the last run counts one more."""
        attempts = dict(old.attempts) if old else {}
        for broken in self._run.rows(stage.folder, FAILED, Broken):
            attempts[broken.id] = broken.attempt + 1
        return attempts

    def outlook(
        self, stage: AnyStage, source: Rows, context: Record, attempts: dict[str, int]
    ) -> tuple[int, int | None]:
        """Rows to come, and how many distinct model requests of them the journal does not hold (None: no model)."""
        if type(stage).requests is Stage.requests:
            return sum(1 for _ in source.read(stage.row)), None
        rows, keys = 0, set[str]()
        for row in source.read(stage.row):
            rows += 1
            attempt = attempts.get(stage.key(row), 0)
            keys.update(request.key() for request in stage.requests(row, context, attempt))
        return rows, len(keys - self._journal.known(keys))

    async def _apply(
        self, stage: AnyStage, source: Rows, context: Record, attempts: dict[str, int], folder: Path
    ) -> tuple[Counts, str]:
        async def outcome_of(row: Record) -> tuple[Record, Outcome]:
            try:
                return row, await stage.apply(row, context, attempts.get(stage.key(row), 0))
            except AdageError as error:
                if error.fatal:
                    raise
                return row, Failed(error=f"{type(error).__name__}: {error}", evidence=getattr(error, "reply", ""))
            except Exception as error:  # noqa: BLE001 - a bad row, whatever it trips over, must not stop the others
                return row, Failed(error=f"unexpected {type(error).__name__}: {error}")

        with Ledger(folder) as ledger:
            async with contextlib.aclosing(in_order(source.read(stage.row), outcome_of, self._window)) as done:
                async for row, outcome in done:
                    key = stage.key(row)
                    ledger.enter(key, row, outcome, attempts.get(key, 0))
                    self._watcher.row(stage, outcome)
        return ledger.counts(), ledger.output


async def in_order(
    rows: Iterable[Record], work: Callable[[Any], Any], window: int
) -> AsyncGenerator[tuple[Record, Outcome], None]:
    """Results of `work` on each row in the rows' order, with at most `window` rows in flight.

    The first exception of `work` ends the iteration; everything in flight is cancelled.
    """
    pending: collections.deque[asyncio.Task[tuple[Record, Outcome]]] = collections.deque()
    try:
        for row in rows:
            pending.append(asyncio.create_task(work(row)))
            if len(pending) >= window:
                yield await pending.popleft()
        while pending:
            yield await pending.popleft()
    finally:
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


def fingerprint_of(stage: AnyStage, source: Rows) -> tuple[dict[str, Any], str]:
    """Everything that determines a stage's output, in full and as a hash."""
    parts = {"version": stage.version, "settings": stage.settings(), "input": source.hash}
    built: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(parts))  # as it reads back from stage.json
    return built, digest(stage.name, built)


def changed(old: dict[str, Any] | None, new: dict[str, Any]) -> list[str]:
    """What differs between two fingerprints' parts, for people.

    >>> changed({"version": 1, "settings": {"k": [4, 8]}}, {"version": 1, "settings": {"k": [10, 25]}})
    ['settings.k: [4, 8] → [10, 25]']
    """
    if old is None:
        return []
    return [f"{path}: {before} → {after}" for path, before, after in _differences(old, new)]


def _differences(old: object, new: object, path: str = "") -> Iterator[tuple[str, str, str]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _differences(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
    elif old != new:
        yield path, _brief(old), _brief(new)


def _brief(value: object) -> str:
    text = "nothing" if value is None else msgspec.json.encode(value).decode()
    return text if len(text) <= 40 else text[:37] + "…"
