"""The contract of a stage: `prepare` looks at all rows once, `apply` turns one row at a time into an outcome.

The engine owns everything else: order, concurrency, files, counts, resuming. A stage holds its settings and models and
no state; it never learns where or how often it is called.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Generic, TypeAlias, TypeVar

from adage.models.base import ChatRequest, Message
from adage.records import Record


class Kept(Record, frozen=True, kw_only=True):
    """The row goes on, as `rows` (several for a stage that makes children)."""

    rows: tuple[Record, ...]
    short: int = 0
    """Children asked for that were not made."""
    probes: tuple[Record, ...] = ()
    """Records outside the counts (known-bad items), written to `probes.jsonl`."""


class Dropped(Record, frozen=True, kw_only=True):
    """The row ends here for a reason that lies in it."""

    reason: str
    """Short and countable, e.g. `keyword` or `merged_into:p0f3a…`; what precedes `:` is the kind."""
    evidence: str = ""
    row: Record | None = None
    """The row with the checks made so far; None where it is unchanged."""
    probes: tuple[Record, ...] = ()


class Failed(Record, frozen=True, kw_only=True):
    """The row could not be worked on; the next run tries again."""

    error: str
    evidence: str = ""
    """Raw reply or other material that shows what happened."""


Outcome: TypeAlias = Kept | Dropped | Failed

I = TypeVar("I", bound=Record)  # noqa: E741 - the row that comes in
S = TypeVar("S", bound=Record)
C = TypeVar("C", bound=Record)
O = TypeVar("O", bound=Record)  # noqa: E741 - the row that goes out


class NoContext(Record, frozen=True, kw_only=True):
    """Context of a stage that needs to know nothing of the whole."""


class Nothing(Record, frozen=True, kw_only=True):
    """Slim row of a stage whose `prepare` reads no column."""


class Stage(ABC, Generic[I, S, C, O]):
    """One step of the pipeline.

    Type parameters: the row that comes in, the columns of it that `prepare` sees (a record with a subset of the row's
    fields), the context, and the row that goes out.
    """

    name: ClassVar[str]
    number: ClassVar[str]
    """The paper's stage, with a letter where ours takes it in two steps: `1`, `2a`, `2b` …"""
    version: ClassVar[int]
    """Raised with every change of the code that may change an output."""
    plannable: ClassVar[bool] = False
    """Whether `prepare` is cheap and needs no encoder, so that a plan may run it to count calls exactly."""
    row: type[I]
    slim: type[S]
    context: type[C]
    out: type[O]

    @abstractmethod
    def settings(self) -> object:
        """What of the recipe, prompts, models and hand files determines the output (anything JSON can hold)."""

    async def prepare(self, rows: Iterable[S], previous: C | None) -> C:  # noqa: ARG002 - most stages need neither
        """The context, from the slim columns of all rows; deterministic given rows, settings and `previous`.

        `previous` is the context of the last finished run of this stage, for calibrations that must not move.
        """
        return self.context()

    def requests(self, row: I, context: C, attempt: int) -> Sequence[ChatRequest]:  # noqa: ARG002
        """The first model calls that `apply` will make for this row; pure. Used to announce and plan calls."""
        return ()

    def exchanges(self, row: I) -> Sequence[Exchange]:  # noqa: ARG002 - most stages ask no model
        """The calls that a row leads to, each with a reply of the length to expect; for plans, which count tokens.

        `row` may be one that stands in for those to come.
        """
        return ()

    def remarks(self, context: C) -> Sequence[str]:  # noqa: ARG002 - most stages have nothing to say
        """What a person should know of the whole, beyond the counts: warnings and figures, a sentence each."""
        return ()

    def estimate(self, n_rows: int) -> Estimate:
        """Calls and output rows to expect of `n_rows` rows, before the rows are known."""
        return Estimate(calls=0, rows=n_rows)

    @abstractmethod
    async def apply(self, row: I, context: C, attempt: int) -> Outcome:
        """The outcome of one row. Model errors may be raised: the engine turns them into `Failed`.

        `attempt` counts the earlier runs in which this row failed.
        """

    def key(self, row: I) -> str:
        """What names an input row in files and messages."""
        return str(getattr(row, "id"))  # noqa: B009 - every record but the raw row has an id

    @property
    def folder(self) -> str:
        """Name of the stage's folder in a run."""
        return f"{self.number}-{self.name}"


class Exchange(Record, frozen=True, kw_only=True):
    """A prompt, and a reply that is as long as one is likely to be."""

    messages: tuple[Message, ...]
    reply: str


class Estimate(Record, frozen=True, kw_only=True):
    """What a stage is expected to need; exact where the rows are known, an upper bound otherwise."""

    calls: int
    rows: int
    exact: bool = False
