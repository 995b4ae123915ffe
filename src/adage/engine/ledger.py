"""Where each row of a stage ends up, written as it happens and counted from what was written."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec

from adage.models.ask import Asked
from adage.records import Record
from adage.stage import Dropped, Failed, Kept, Outcome
from adage.store.files import Lines
from adage.store.run import CALLS, DROPPED, FAILED, KEPT, PROBES, Broken, Counts, Gone, Question


class Ledger:
    """The files of one stage being written; a context manager that closes them."""

    output: str = ""
    """Hash of `kept.jsonl`, once closed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept, self._dropped, self._failed = (Lines(folder / name) for name in (KEPT, DROPPED, FAILED))
        self._probes: Lines | None = None
        self._calls: Lines | None = None
        self._asked: set[bytes] = set()
        """Keys of the questions so far: the one thing here that grows with the rows, by some 80 bytes a question."""
        self._statuses: collections.Counter[tuple[str, str]] = collections.Counter()
        self._reasons: collections.Counter[str] = collections.Counter()
        self._rows_in = self._rows_kept = self._short = 0

    def enter(self, key: str, row: Record, outcome: Outcome, attempt: int, asked: Sequence[Asked] = ()) -> None:
        """Write one row's outcome, and the questions to models that led to it."""
        self._rows_in += 1
        for question in sorted(asked, key=_by_model) if len(asked) > 1 else asked:
            self._enter_question(key, question)
        if isinstance(outcome, Failed):
            content = msgspec.to_builtins(row)
            self._failed.write(
                Broken(id=key, error=outcome.error, evidence=outcome.evidence, attempt=attempt, row=content)
            )
            return
        if isinstance(outcome, Kept):
            self._rows_kept += 1
            self._short += outcome.short
            self._kept.write(*outcome.rows)
        elif isinstance(outcome, Dropped):
            self._reasons[outcome.reason.partition(":")[0]] += 1
            content = msgspec.to_builtins(outcome.row or row)
            self._dropped.write(Gone(id=key, reason=outcome.reason, evidence=outcome.evidence, row=content))
        for record in outcome.probes:
            if self._probes is None:
                self._probes = Lines(self._folder / PROBES)
            self._probes.write(record)

    def _enter_question(self, key: str, asked: Asked) -> None:
        """Write one question, unless an earlier row asked the same."""
        name = bytes.fromhex(asked.keys[0])
        if name in self._asked:
            return
        self._asked.add(name)
        self._statuses[asked.model, asked.status] += 1
        if self._calls is None:
            self._calls = Lines(self._folder / CALLS)
        self._calls.write(Question(id=key, model=asked.model, status=asked.status, keys=asked.keys))

    def counts(self) -> Counts:
        """The account so far; raises `AssertionError` where rows do not add up."""
        calls: dict[str, dict[str, int]] = {}
        for (model, status), n in sorted(self._statuses.items()):
            calls.setdefault(model, {})[status] = n
        return Counts(
            rows_in=self._rows_in,
            kept=self._rows_kept,
            dropped=self._dropped.count,
            failed=self._failed.count,
            made=self._kept.count,
            short=self._short,
            probes=self._probes.count if self._probes else 0,
            reasons=dict(sorted(self._reasons.items())),
            calls=calls,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.ExitStack() as stack:
            for lines in (self._dropped, self._failed, self._probes, self._calls):
                if lines is not None:
                    stack.callback(lines.close)
            self.output = self._kept.close()


def _by_model(question: Asked) -> tuple[str, tuple[str, ...]]:
    return question.model, question.keys
