"""The one loop: decide whether a stage is up to date, prepare, apply row by row, write, count."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import itertools
import time
from array import array
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np

from adage.engine.ledger import Ledger
from adage.errors import AdageError, TooManyFailures, VerificationError
from adage.models.ask import Asked, questions
from adage.records import Record, digest
from adage.stage import Failed, Outcome, Stage
from adage.store.files import atomic_folder, hash_file, pretty, write_atomic
from adage.store.recorded import Usage
from adage.store.run import FAILED, KEPT, Broken, Counts, Run, StageState

R = TypeVar("R", bound=msgspec.Struct)
T = TypeVar("T")

AnyStage = Stage[Any, Any, Any, Any]

_AT_ONCE = 64
"""Rows begun before the others get a turn."""
_LOOKED_UP = 500
"""Rows whose requests are looked up in the journal at once."""


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

    def stops(self) -> None:
        """The build is over, well or not."""

    def prepares(self, stage: AnyStage) -> None:
        """A stage looks at all its rows, which may take a while."""

    def starts(self, stage: AnyStage, rows: int, changes: list[str], calls: int | None) -> None:
        """A stage begins: its rows, what changed since it last ran, and its model calls not yet in the journal."""

    def row(self, stage: AnyStage, outcome: Outcome) -> None:
        """A row is done."""

    def notes(self, text: str) -> None:
        """Something happened that a person should know and that does not stop the build."""

    def ends(self, state: StageState, *, fresh: bool) -> None:
        """A stage is done; `fresh` is False where it was up to date."""


class Known(Protocol):
    """What the engine asks of the journal."""

    def known(self, keys: Iterable[str]) -> set[str]:
        """The keys that are stored."""
        ...


class Done(NamedTuple):
    """A row, what became of it, and what models were asked on the way."""

    row: Record
    outcome: Outcome
    asked: list[Asked]


class Engine:
    """Runs stages in one process; rows stream, at most `window` are in flight.

    The window is wider than what endpoints take at once, so that a slow row at its head does not hold up the others.

    Args:
        run: The run folder.
        journal: Tells which calls are new.
        watcher: Told how each stage goes.
        window: Rows in flight.
        max_failed: Rows that may fail in a stage.
        before_writing: Called when a stage's rows are done; what it raises leaves the stage unwritten.
    """

    def __init__(
        self,
        run: Run,
        journal: Known,
        watcher: Watcher,
        *,
        window: int = 1024,
        max_failed: int = 0,
        before_writing: Callable[[AnyStage], None] = lambda _: None,
    ) -> None:
        self._run, self._journal, self._watcher = run, journal, watcher
        self._window, self._max_failed, self._before_writing = window, max_failed, before_writing
        self.announced: int | None = None
        """Calls that the present stage was expected to make; None before they are counted, and without models."""
        self.rows = 0
        """Rows of the present stage."""
        self.began = 0.0
        """When its first row was begun, by the monotonic clock."""

    async def run(self, stage: AnyStage, source: Rows, *, force: bool = False) -> StageState:
        """Bring one stage up to date.

        Raises:
            TooManyFailures: more rows failed than allowed; the stage's folder is written all the same.
            AdageError: a fatal error of a model or the disk; nothing is written.
        """
        self.announced = None
        parts, fingerprint = fingerprint_of(stage, source)
        old = self._run.state(stage.folder)
        current = old is not None and old.fingerprint == fingerprint and not force
        if old is not None and current and not old.counts.failed:
            self._verify(stage, old)
            self._watcher.ends(old, fresh=False)
            return old
        attempts = self.attempts(stage, old)
        self._watcher.prepares(stage)
        previous = self._run.context(stage.folder, stage.context)
        context = await stage.prepare(source.read(stage.slim), previous)
        self.rows, self.announced = self.outlook(stage, source, context, attempts)
        self.began = time.monotonic()
        changes = ["retrying failed rows"] if old and current else changed(old.parts if old else None, parts)
        self._watcher.starts(stage, self.rows, changes, self.announced)
        with atomic_folder(self._run.root / stage.folder) as folder:
            write_atomic(folder / "context.json", msgspec.json.encode(context, order="sorted"))
            counts, output = await self._apply(stage, source, context, attempts, folder)
            self._before_writing(stage)
            state = StageState(
                stage=stage.name,
                fingerprint=fingerprint,
                parts=parts,
                counts=counts,
                output=output,
                remarks=tuple(stage.remarks(context)),
                attempts={key: n for key, n in sorted(attempts.items()) if n},
            )
            write_atomic(folder / "stage.json", pretty(state))
        self._watcher.ends(state, fresh=True)
        if counts.failed > self._max_failed:
            raise TooManyFailures(
                f"stage {stage.name}: {counts.failed} of {counts.rows_in} rows failed, {self._max_failed} are allowed "
                f"(see {stage.folder}/{FAILED})",
                hint="run the same command again to retry them, or raise max_failed to go on without them",
            )
        return state

    def _verify(self, stage: AnyStage, state: StageState) -> None:
        """Raise `VerificationError` where a finished stage's rows are no longer those that it wrote."""
        kept = self._run.root / stage.folder / KEPT
        if not kept.is_file() or hash_file(kept) != state.output:
            raise VerificationError(
                f"{str(kept)!r} is not what the stage wrote: it was edited or damaged",
                hint=f"delete the folder {stage.folder} and build again; edits belong into the stage's hand files",
            )

    def attempts(self, stage: AnyStage, old: StageState | None) -> dict[str, int]:
        """Row → earlier failures; a row that failed in the last run counts one more."""
        attempts = dict(old.attempts) if old else {}
        for broken in self._run.rows(stage.folder, FAILED, Broken):
            attempts[broken.id] = broken.attempt + 1
        return attempts

    def outlook(
        self, stage: AnyStage, source: Rows, context: Record, attempts: dict[str, int]
    ) -> tuple[int, int | None]:
        """Rows to come, and how many distinct model requests of them the journal does not hold (None: no model).

        Eight bytes a request are kept: requests are told apart by half of their keys.
        """
        if type(stage).requests is Stage.requests:
            return sum(1 for _ in source.read(stage.row)), None
        rows, new = 0, array("Q")
        for group in batched(source.read(stage.row), _LOOKED_UP):
            rows += len(group)
            asked = [stage.requests(row, context, attempts.get(stage.key(row), 0)) for row in group]
            keys = {request.key() for requests in asked for request in requests}
            new.extend(int(key[:16], 16) for key in keys - self._journal.known(keys))
        return rows, np.unique(np.frombuffer(new, dtype=np.uint64)).size

    async def _apply(
        self, stage: AnyStage, source: Rows, context: Record, attempts: dict[str, int], folder: Path
    ) -> tuple[Counts, str]:
        async def outcome_of(row: Record) -> Done:
            asked: list[Asked] = []
            questions.set(asked)  # in the context of this row's own task
            try:
                outcome = await stage.apply(row, context, attempts.get(stage.key(row), 0))
            except AdageError as error:
                if error.fatal:
                    raise
                outcome = Failed(error=f"{type(error).__name__}: {error}", evidence=getattr(error, "reply", ""))
            except Exception as error:  # noqa: BLE001 - a bad row, whatever it trips over, must not stop the others
                outcome = Failed(error=f"unexpected {type(error).__name__}: {error}")
            return Done(row, outcome, asked)

        with Ledger(folder) as ledger:
            async with contextlib.aclosing(in_order(source.read(stage.row), outcome_of, self._window)) as rows:
                async for done in rows:
                    key = stage.key(done.row)
                    ledger.enter(key, done.row, done.outcome, attempts.get(key, 0), done.asked)
                    self._watcher.row(stage, done.outcome)
        return ledger.counts(), ledger.output


async def in_order(
    rows: Iterable[Record], work: Callable[[Any], Coroutine[Any, Any, T]], window: int
) -> AsyncGenerator[T, None]:
    """Results of `work` on each row in the rows' order, with at most `window` rows in flight.

    The first exception of `work` ends the iteration; everything in flight is cancelled.
    """
    pending: collections.deque[asyncio.Task[T]] = collections.deque()
    try:
        for number, row in enumerate(rows, 1):
            pending.append(asyncio.create_task(work(row)))
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)  # the first calls are on their way while later rows are still being read
            while pending and (pending[0].done() or len(pending) >= window):
                yield await pending.popleft()
        while pending:
            yield await pending.popleft()
    finally:
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


def batched(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """The rows in lists of `size`, the last one shorter."""
    rest = iter(rows)
    while group := list(itertools.islice(rest, size)):
        yield group


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
