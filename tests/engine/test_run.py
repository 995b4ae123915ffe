"""The loop: up to date or not, order, window, failures, and what a reader finds afterwards."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adage.engine.run import Engine, Rows, StageOutput, changed, fingerprint_of, in_order
from adage.errors import EndpointBusy, EndpointUnreachable, StoreError, TooManyFailures, UnparsableReply
from adage.models.base import ChatRequest
from adage.records import Record, digest
from adage.stage import Dropped, Failed, Kept, NoContext, Nothing, Outcome, Stage
from adage.store.files import read_lines
from adage.store.run import DROPPED, FAILED, KEPT, Broken, Gone, Run, StageState


class Row(Record, frozen=True, kw_only=True):
    """A row of these tests."""

    id: str
    text: str = ""


class Source:
    """Rows held in memory."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.hash = digest(rows)

    def read(self, kind: type[Any]) -> Iterator[Any]:
        """The rows, or those of their columns that `kind` has."""
        return (msgspec.convert(msgspec.to_builtins(row), kind) for row in self.rows)


class Work(Stage[Row, Nothing, NoContext, Row]):
    """A stage that does as it is told; remembers the attempts it was given."""

    name = "work"
    number = "3"
    version = 1
    row = Row
    slim = Nothing
    context = NoContext
    out = Row

    def __init__(self, act: Callable[[Row, int], Outcome], **settings: object) -> None:
        self._act, self._settings = act, settings
        self.attempts: dict[str, int] = {}

    def settings(self) -> object:
        """What the test says."""
        return self._settings

    async def apply(self, row: Row, context: NoContext, attempt: int) -> Outcome:
        """What the test says."""
        self.attempts[row.id] = attempt
        return self._act(row, attempt)


class Asking(Work):
    """A stage that announces one model request for each text."""

    def requests(self, row: Row, context: NoContext, attempt: int) -> list[ChatRequest]:
        """One request; equal texts ask the same."""
        return [ChatRequest(model=row.text, family="test", messages=(), attempt=attempt)]


class Told:
    """A watcher that remembers what it was told, and a journal that knows some keys."""

    def __init__(self, known: set[str] | None = None) -> None:
        self.started: list[tuple[str, int, list[str], int | None]] = []
        self.rows: list[Outcome] = []
        self.ended: list[bool] = []
        self._known = known or set()

    def prepares(self, stage: Any) -> None:
        """A stage looks at its rows."""

    def starts(self, stage: Any, rows: int, changes: list[str], calls: int | None) -> None:
        """A stage begins."""
        self.started.append((stage.name, rows, changes, calls))

    def row(self, stage: Any, outcome: Outcome) -> None:
        """A row is done."""
        self.rows.append(outcome)

    def ends(self, state: StageState, *, fresh: bool) -> None:
        """A stage is done."""
        self.ended.append(fresh)

    def known(self, keys: Any) -> set[str]:
        """The keys that are stored."""
        return self._known & set(keys)


def keep(row: Row, attempt: int) -> Outcome:
    """Every row goes on."""
    return Kept(rows=(row,))


def rows(n: int) -> Source:
    """`n` rows."""
    return Source([Row(id=f"r{number}", text=f"t{number % 3}") for number in range(n)])


async def go(tmp_path, stage: Work, source: Rows, *, force: bool = False, **options: int) -> tuple[StageState, Told]:
    """Run a stage and return its state and what was told."""
    told = Told()
    return await Engine(Run(tmp_path), told, told, **options).run(stage, source, force=force), told


def kept(tmp_path) -> list[str]:
    """Ids that went on."""
    return [row.id for row in read_lines(tmp_path / "3-work" / KEPT, Row)]


acts = st.lists(st.sampled_from(["kept", "two", "none", "dropped", "failed", "raised", "broken"]), max_size=25)


@settings(max_examples=30)
@given(plan=acts, window=st.integers(1, 9))
async def test_every_row_ends_once_and_in_order(tmp_path_factory, plan, window):
    """Whatever happens to the rows, they are all accounted for, in their files, in the order they came."""
    tmp_path = tmp_path_factory.mktemp("run")

    def act(row: Row, _: int) -> Outcome:
        kind = row.text
        if kind == "raised":
            raise EndpointBusy("429")
        if kind == "broken":
            raise ZeroDivisionError("bug")
        children = {"kept": 1, "two": 2, "none": 0}.get(kind)
        if children is not None:
            return Kept(rows=tuple(Row(id=row.id) for _ in range(children)))
        return Dropped(reason="x:y") if kind == "dropped" else Failed(error="no")

    source = Source([Row(id=f"{number:02}", text=kind) for number, kind in enumerate(plan)])
    state, told = await go(tmp_path, Work(act), source, window=window, max_failed=99)
    counts = state.counts
    failed = [f"{number:02}" for number, kind in enumerate(plan) if kind in {"failed", "raised", "broken"}]
    assert counts.rows_in == len(plan) == len(told.rows) == counts.kept + counts.dropped + counts.failed
    assert kept(tmp_path) == [
        f"{n:02}" for n, kind in enumerate(plan) for _ in range({"kept": 1, "two": 2}.get(kind, 0))
    ]
    assert [row.id for row in read_lines(tmp_path / "3-work" / FAILED, Broken)] == failed
    gone = [row.id for row in read_lines(tmp_path / "3-work" / DROPPED, Gone)]
    assert gone == [f"{number:02}" for number, kind in enumerate(plan) if kind == "dropped"]


@settings(max_examples=30)
@given(n=st.integers(0, 40), window=st.integers(1, 12), seed=st.integers(0, 99))
async def test_order_and_window_hold_under_random_delays(n, window, seed):
    """Results come in the rows' order though later rows finish first, and never more than `window` are in flight."""
    rng = random.Random(seed)
    flying = most = 0

    async def work(row: Row) -> tuple[Row, Outcome]:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        for _ in range(rng.randrange(5)):
            await asyncio.sleep(0)
        flying -= 1
        return row, Kept(rows=())

    found = [row.id async for row, _ in in_order(rows(n).rows, work, window)]
    assert found == [row.id for row in rows(n).rows]
    assert most <= window
    assert n == 0 or most == min(n, window) or window > 1


@pytest.mark.parametrize("how", ["error", "leaving"])
async def test_what_is_in_flight_is_cancelled(how):
    """When a row stops the build, or the reader leaves, the other rows' calls end at once instead of being paid for."""
    cancelled: list[str] = []

    async def work(row: Row) -> tuple[Row, Outcome]:
        if row.id == "r0":
            await asyncio.sleep(0.02)
            if how == "error":
                raise EndpointUnreachable("down")
            return row, Kept(rows=())
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(row.id)
            raise
        raise AssertionError

    results = in_order(rows(9).rows, work, 4)
    if how == "error":
        with pytest.raises(EndpointUnreachable):
            await anext(results)
    else:
        await anext(results)
        await results.aclose()
    assert cancelled == ["r1", "r2", "r3"]


async def test_calls_in_flight_end_when_a_row_cannot_be_written(tmp_path, monkeypatch):
    """A full disk stops the other rows too, before the fault is reported."""
    ended: list[str] = []

    class Slow(Work):
        async def apply(self, row: Row, context: NoContext, attempt: int) -> Outcome:
            try:
                await asyncio.sleep(0.02 if row.id == "r0" else 60)
            finally:
                ended.append(row.id)
            return Kept(rows=(row,))

    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr("adage.engine.ledger.Ledger.enter", full)
    with pytest.raises(StoreError):
        await go(tmp_path, Slow(keep), rows(3), window=3)
    assert ended == ["r0", "r1", "r2"]
    assert list(tmp_path.iterdir()) == []


async def test_a_stage_that_is_up_to_date_is_not_run_again(tmp_path):
    """Equal settings, code and input: nothing is computed; `force` computes all the same."""
    first, told = await go(tmp_path, Work(keep, k=1), rows(3))
    assert told.ended == [True]
    assert told.started == [("work", 3, [], None)]
    again, told = await go(tmp_path, Work(keep, k=1), rows(3))
    assert (again, told.started, told.ended, told.rows) == (first, [], [False], [])
    forced, told = await go(tmp_path, Work(keep, k=1), rows(3), force=True)
    assert (forced, told.ended) == (first, [True])


async def test_what_changed_is_named(tmp_path):
    """Another setting, other rows or a new version of the code each say so."""
    await go(tmp_path, Work(keep, k=[4, 8], name="a"), rows(2))
    _, told = await go(tmp_path, Work(keep, k=[10, 25], name="a"), rows(2))
    assert told.started[0][2] == ["settings.k: [4,8] → [10,25]"]
    _, told = await go(tmp_path, Work(keep, k=[10, 25], name="a"), rows(3))
    assert [change.partition(":")[0] for change in told.started[0][2]] == ["input"]
    newer = Work(keep, k=[10, 25], name="a")
    newer.version = 2
    _, told = await go(tmp_path, newer, rows(3))
    assert told.started[0][2] == ["version: 1 → 2"]


def test_changes_are_shown_briefly():
    """Something new comes from nothing, and a long value is cut."""
    assert changed(None, {"a": 1}) == []
    assert changed({"a": {"b": 1}}, {"a": {"b": 1}}) == []
    assert changed({}, {"a": "x" * 99}) == ['a: nothing → "' + "x" * 36 + "…"]
    assert changed({"a": {"b": 1, "c": 2}}, {"a": {"b": 2, "c": 2}}) == ["a.b: 1 → 2"]


async def test_failed_rows_alone_are_tried_with_a_new_attempt(tmp_path):
    """A failed row fails the build with exit code 1, its folder stands, and the next run counts its attempt up."""

    def act(row: Row, attempt: int) -> Outcome:
        return Failed(error="not yet") if row.id == "r1" and attempt < 2 else Kept(rows=(row,))

    for tries in (0, 1):
        stage = Work(act)
        with pytest.raises(TooManyFailures, match="1 of 3 rows failed, 0 are allowed") as caught:
            await go(tmp_path, stage, rows(3))
        assert caught.value.exit_code == 1
        assert "run the same command again" in caught.value.hint
        assert stage.attempts == {"r0": 0, "r1": tries, "r2": 0}
        assert kept(tmp_path) == ["r0", "r2"]
    stage = Work(act)
    state, told = await go(tmp_path, stage, rows(3))
    assert told.started[0][2] == ["retrying failed rows"]
    assert stage.attempts == {"r0": 0, "r1": 2, "r2": 0}
    assert kept(tmp_path) == ["r0", "r1", "r2"]
    assert state.attempts == {"r1": 2}
    stage = Work(act, k=2)
    await go(tmp_path, stage, rows(3))
    assert stage.attempts["r1"] == 2, "the attempt that worked stays, so that the journal is met again"


async def test_failures_within_the_limit_let_the_build_go_on(tmp_path):
    """`max_failed` rows may be missing; one more may not."""

    def act(row: Row, _: int) -> Outcome:
        return Failed(error="no") if row.id in {"r0", "r1"} else Kept(rows=(row,))

    state, _ = await go(tmp_path, Work(act), rows(3), max_failed=2)
    assert state.counts.failed == 2
    with pytest.raises(TooManyFailures):
        await go(tmp_path, Work(act), rows(3), max_failed=1)


async def test_a_fatal_error_leaves_what_was_there(tmp_path):
    """An endpoint that is down writes no folder, and destroys none."""

    def down(row: Row, _: int) -> Outcome:
        raise EndpointUnreachable("no connection")

    with pytest.raises(EndpointUnreachable):
        await go(tmp_path, Work(down), rows(3))
    assert list(tmp_path.iterdir()) == []
    await go(tmp_path, Work(keep), rows(3))
    with pytest.raises(EndpointUnreachable):
        await go(tmp_path, Work(down, k=2), rows(3))
    assert kept(tmp_path) == ["r0", "r1", "r2"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["3-work"]


@pytest.mark.parametrize(
    ("error", "shown", "evidence"),
    [
        (EndpointBusy("429", hint="wait"), "EndpointBusy: 429\n  wait", ""),
        (UnparsableReply("no JSON", reply="Hm."), "UnparsableReply: no JSON", "Hm."),
        (KeyError("a"), "unexpected KeyError: 'a'", ""),
    ],
)
async def test_an_error_of_one_row_ends_that_row(tmp_path, error, shown, evidence):
    """A model's error or a bug on one row becomes Failed with what happened; the other rows go on."""

    def act(row: Row, _: int) -> Outcome:
        if row.id == "r1":
            raise error
        return Kept(rows=(row,))

    await go(tmp_path, Work(act), rows(3), max_failed=1)
    (broken,) = read_lines(tmp_path / "3-work" / FAILED, Broken)
    assert (broken.id, broken.error, broken.evidence) == ("r1", shown, evidence)
    assert kept(tmp_path) == ["r0", "r2"]


async def test_calls_to_come_are_counted_once_and_without_stored_ones(tmp_path):
    """The number announced is that of distinct requests the journal does not hold."""
    known = ChatRequest(model="t0", family="test", messages=()).key()
    told = Told({known})
    await Engine(Run(tmp_path), told, told).run(Asking(keep), rows(7))
    assert told.started == [("work", 7, [], 2)]


async def test_a_stages_output_is_the_next_ones_input(tmp_path):
    """Rows kept, their hash, and the slim columns of them."""
    state, _ = await go(tmp_path, Work(keep), rows(2))
    output = StageOutput(Run(tmp_path), state, "3-work")
    assert output.hash == state.output
    assert list(output.read(Row)) == rows(2).rows
    assert list(output.read(Nothing)) == [Nothing(), Nothing()]


def test_a_fingerprint_covers_name_version_settings_and_input():
    """Each of them changes it, and nothing else does."""
    base = fingerprint_of(Work(keep, k=1), rows(2))[1]
    assert fingerprint_of(Work(lambda row, _: Failed(error="x"), k=1), rows(2))[1] == base
    assert fingerprint_of(Work(keep, k=2), rows(2))[1] != base
    assert fingerprint_of(Work(keep, k=1), rows(3))[1] != base


def test_the_defaults_of_the_contract():
    """A stage that says no more needs no calls, one row out per row in, and is keyed by id."""
    stage = Work(keep)
    assert stage.estimate(7).calls == 0
    assert stage.estimate(7).rows == 7
    assert stage.key(Row(id="x")) == "x"
    assert stage.requests(Row(id="x"), NoContext(), 0) == ()
    assert stage.folder == "3-work"
