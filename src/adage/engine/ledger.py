"""Where each row of a stage ends up, written as it happens and counted from what was written."""

from __future__ import annotations

import collections
import contextlib
from pathlib import Path
from typing import Self

import msgspec

from adage.records import Record
from adage.stage import Dropped, Failed, Kept, Outcome
from adage.store.files import Lines
from adage.store.run import DROPPED, FAILED, KEPT, PROBES, Broken, Counts, Gone


class Ledger:
    """The files of one stage being written; a context manager that closes them."""

    output: str = ""
    """Hash of `kept.jsonl`, once closed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept, self._dropped, self._failed = (Lines(folder / name) for name in (KEPT, DROPPED, FAILED))
        self._probes: Lines | None = None
        self._reasons: collections.Counter[str] = collections.Counter()
        self._rows_in = self._rows_kept = self._short = 0

    def enter(self, key: str, row: Record, outcome: Outcome, attempt: int) -> None:
        """Write one row's outcome."""
        self._rows_in += 1
        if isinstance(outcome, Failed):
            content = msgspec.to_builtins(row)
            self._failed.write(
                Broken(id=key, error=outcome.error, evidence=outcome.evidence, attempt=attempt, row=content)
            )
            return
        if isinstance(outcome, Kept):
            self._rows_kept += 1
            self._short += outcome.short
            for record in outcome.rows:
                self._kept.write(record)
        elif isinstance(outcome, Dropped):
            self._reasons[outcome.reason.partition(":")[0]] += 1
            content = msgspec.to_builtins(outcome.row or row)
            self._dropped.write(Gone(id=key, reason=outcome.reason, evidence=outcome.evidence, row=content))
        for record in outcome.probes:
            if self._probes is None:
                self._probes = Lines(self._folder / PROBES)
            self._probes.write(record)

    def counts(self) -> Counts:
        """The account so far; raises `AssertionError` where rows do not add up."""
        return Counts(
            rows_in=self._rows_in,
            kept=self._rows_kept,
            dropped=self._dropped.count,
            failed=self._failed.count,
            made=self._kept.count,
            short=self._short,
            probes=self._probes.count if self._probes else 0,
            reasons=dict(sorted(self._reasons.items())),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.ExitStack() as stack:
            for lines in (self._dropped, self._failed, self._probes):
                if lines is not None:
                    stack.callback(lines.close)
            self.output = self._kept.close()
