"""A run folder: one folder a stage, `run.json` for all that is volatile, and nothing else."""

from __future__ import annotations

import fcntl
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from adage.errors import StoreError
from adage.records import Record
from adage.store.files import disk_errors, pretty, read_lines, recover, write_atomic

R = TypeVar("R", bound=msgspec.Struct)

KEPT, DROPPED, FAILED, PROBES = "kept.jsonl", "dropped.jsonl", "failed.jsonl", "probes.jsonl"
CALLS = "calls.jsonl"


class Counts(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The account of a stage: rows_in = kept + dropped + failed, always."""

    rows_in: int
    kept: int
    """Input rows that went on."""
    dropped: int
    failed: int
    made: int
    """Rows that came out (equal to `kept` unless the stage makes children)."""
    short: int = 0
    """Children asked for that were not made."""
    probes: int = 0
    reasons: dict[str, int] = {}
    """Kind of reason → dropped rows."""
    calls: dict[str, dict[str, int]] = {}
    """Model → what became of a question to it → how many; each distinct question counts once."""

    def __post_init__(self) -> None:
        if self.rows_in != self.kept + self.dropped + self.failed:
            raise AssertionError(f"rows do not add up: {self}")
        if sum(self.reasons.values()) != self.dropped:
            raise AssertionError(f"reasons do not add up: {self}")


class StageState(Record, frozen=True, kw_only=True, omit_defaults=False):
    """`stage.json`: what a finished stage was computed from and what came out; nothing volatile."""

    stage: str
    fingerprint: str
    parts: dict[str, Any]
    """What the fingerprint covers, in full, so that a change can be named."""
    counts: Counts
    output: str
    """Hash of `kept.jsonl`; the next stage's input."""
    remarks: tuple[str, ...] = ()
    """What a person should know of the whole, beyond the counts."""
    attempts: dict[str, int] = {}
    """Row → number of earlier runs in which it failed, for rows that ever did."""


class Gone(Record, frozen=True, kw_only=True):
    """A line of `dropped.jsonl`: the row, whole, and why it ended."""

    id: str
    reason: str
    evidence: str = ""
    row: dict[str, Any]


class Question(Record, frozen=True, kw_only=True):
    """A line of `calls.jsonl`: a question to a model, by the first row that asked it."""

    id: str
    """The row."""
    model: str
    status: str
    """What became of it: `ok`, `repaired`, `asked_again`, `refused`, `truncated`, `invalid` or `http_error`."""
    keys: tuple[str, ...]
    """Journal keys of its requests."""


class Broken(Record, frozen=True, kw_only=True):
    """A line of `failed.jsonl`: the row, whole, and what happened."""

    id: str
    error: str
    evidence: str = ""
    attempt: int
    row: dict[str, Any]


def outdated(states: Sequence[StageState]) -> set[str]:
    """Names of the stages that rest on rows which an earlier stage has since replaced."""
    found: set[str] = set()
    for before, state in itertools.pairwise(states):
        if found or state.parts.get("input") != before.output:
            found.add(state.stage)
    return found


class Run:
    """A run folder on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one build; mends what a killed build left half done.

        Raises:
            StoreError: another build is at work in the folder.
        """
        with disk_errors(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            lock = (self.root / ".lock").open("w")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StoreError(
                    f"another build is at work in {str(self.root)!r}",
                    hint="wait for it to end, or give this build another folder with --out",
                ) from None
            recover(self.root)
            try:
                yield
            finally:
                self._remove_if_empty()

    def _remove_if_empty(self) -> None:
        """Leave nothing behind where no stage has finished."""
        if [path.name for path in self.root.iterdir()] == [".lock"]:
            (self.root / ".lock").unlink()
            self.root.rmdir()

    def state(self, folder: str) -> StageState | None:
        """State of a stage, or None where it has not finished."""
        path = self.root / folder / "stage.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=StageState)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            raise StoreError(
                f"{str(path)!r} is damaged: {error}",
                hint="delete that stage's folder and build again (model calls are kept)",
            ) from error

    def states(self) -> list[StageState]:
        """States of all finished stages, in the pipeline's order."""
        if not self.root.is_dir():
            return []
        folders = sorted(path.parent.name for path in self.root.glob("[0-9]*-*/stage.json"))
        return [state for folder in folders if (state := self.state(folder)) is not None]

    def rows(self, folder: str, name: str, kind: type[R]) -> Iterator[R]:
        """Records of one of a stage's files; nothing where the file does not exist."""
        path = self.root / folder / name
        return read_lines(path, kind) if path.exists() else iter(())

    def context(self, folder: str, kind: type[R]) -> R | None:
        """The stored context of a stage, or None where it is absent or of an earlier shape."""
        try:
            return msgspec.json.decode((self.root / folder / "context.json").read_bytes(), type=kind)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def call_keys(self) -> Iterator[str]:
        """Journal keys of the requests that led to the finished stages."""
        for path in sorted(self.root.glob(f"[0-9]*-*/{CALLS}")):
            for question in read_lines(path, Question):
                yield from question.keys

    def note(self, entry: dict[str, Any]) -> None:
        """Add one build's volatile facts (times, host, versions, calls) to `run.json`."""
        path = self.root / "run.json"
        try:
            history = msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]])
        except (FileNotFoundError, msgspec.MsgspecError):
            history = []
        history.append(entry)
        write_atomic(path, pretty(history))

    def recipe(self) -> Path:
        """The recipe of the last build.

        Raises:
            StoreError: no build has left a note of it.
        """
        for entry in reversed(self.history()):
            if path := entry.get("recipe"):
                return (self.root / str(path)).resolve()
        raise StoreError(
            f"{str(self.root)!r} does not say which recipe it was built from", hint="name the recipe instead of the run"
        )

    def history(self) -> list[dict[str, Any]]:
        """All builds of this run, oldest first."""
        try:
            return msgspec.json.decode((self.root / "run.json").read_bytes(), type=list[dict[str, Any]])
        except (FileNotFoundError, msgspec.MsgspecError):
            return []
