"""How much one endpoint is asked, at a time and by the minute (shared by everybody who talks to it), and how long."""

from __future__ import annotations

import asyncio
import bisect
import math
import time
from collections import deque
from collections.abc import Awaitable
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")

_SLOW = 10.0
"""Multiple of the fastest time from which a server counts as late; batching alone makes it several times slower."""
_LARGEST_STEP = 0.2
_LEAST_SHARE = 1 / 8
_FASTEST = 5
"""Of so many shortest times the longest is what others are compared with: a few may be exceptions."""

WINDOW_S = 60.0
"""What "per minute" means: no stretch of this length holds more than the limit, wherever it begins."""


class Limiter:
    """At most so many at once: as many as the server takes, first come, first served.

    A refusal says that the server is full with what else is in flight, so the limit falls to that. It grows by one with
    each success up to half of where it stood before, and from there by one with each full round of successes: slow
    start and congestion avoidance (RFC 5681), with the window measured instead of guessed. What was refused is tried
    again ten times as slowly, for each refusal costs somebody a wait. A refusal although nothing else is in flight is
    about time, not about load: the server counts by the minute. Who got it waits as long as it is told in its place, so
    that everybody waits, and then growth is quick up to where the limit stood before.

    A server that never refuses lets requests queue instead. So the limit also falls, by at most a fifth a round, while
    replies take more than ten times as long as the fastest of about their size did (delay-based congestion control, as
    in TCP Vegas); never below an eighth of `most`, for a server may have become slower for good.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = float(most)
        self.in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._steady = float(most)
        """Limit from which it grows slowly."""
        self._full: float = math.inf
        """Calls in flight at the last refusal."""
        self._refused_at = -1.0
        self._before = float(most)
        """Limit before the last burst of refusals."""
        self._fastest: dict[int, list[float]] = {}
        """The shortest times in seconds, in order, by size class (binary logarithm of the tokens)."""
        self._slowness: list[float] = []
        """Times of this round's replies as multiples of the fastest."""

    async def __aenter__(self) -> None:
        if self._waiting or self.in_flight >= int(self.limit):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._leave()
                raise
        else:
            self.in_flight += 1

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def succeeded(self, seconds: float = 0.0, tokens: int = 0) -> None:
        """Note a success: how long it took, and how large it was."""
        self._note_time(seconds, tokens.bit_length())
        by_round = 0.1 if abs(self.limit - self._full) <= 1 else 1.0
        self.limit = min(float(self.most), self.limit + (1.0 if self.limit < self._steady else by_round / self.limit))

    def _note_time(self, seconds: float, size: int) -> None:
        """Compare a reply's time with the fastest of its size; lower the limit after a round that was slow."""
        fastest = self._fastest.setdefault(size, [])
        if len(fastest) < _FASTEST or seconds < fastest[-1]:
            bisect.insort(fastest, seconds)
            del fastest[_FASTEST:]
        self._slowness.append(seconds / (fastest[-1] or 1.0))
        if len(self._slowness) < self.limit:
            return
        slowness = sum(self._slowness) / len(self._slowness)
        if slowness > _SLOW:
            lower = max(self.most * _LEAST_SHARE, self.limit * max(1 - _LARGEST_STEP, _SLOW / slowness))
            self.limit = self._steady = min(self.limit, lower)
        self._slowness.clear()

    def overloaded(self, sent_at: float) -> bool:
        """Note a refusal of a request that was sent at `sent_at` and is still counted as in flight.

        Returns:
            Whether nothing else is in flight.
        """
        alone = self.in_flight <= 1
        if sent_at > self._refused_at and not alone:  # the first of a burst
            self._before, self._steady = self.limit, self.limit / 2
            self._refused_at = time.monotonic()
        self._full = self.in_flight
        self.limit = max(1.0, min(self.limit, self._full - 1.0))
        if alone:
            self._full, self._steady = math.inf, self._before
        return alone

    def _leave(self) -> None:
        self.in_flight -= 1
        while self._waiting and self.in_flight < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)


class Taken:
    """An amount that counts against a rate from `at` on, for one window."""

    __slots__ = ("amount", "at", "counts")

    def __init__(self, at: float, amount: int) -> None:
        self.at = at
        self.amount = amount
        self.counts = True


class Rate:
    """At most `most` units in any minute, first come, first served; the clock is that of the event loop.

    A taker may turn out to have needed less or more than it took: `settle` corrects that, and those who wait notice.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._taken: deque[Taken] = deque()
        self._sum = 0
        self._turn = asyncio.Lock()
        self._settled = asyncio.Event()

    async def take(self, amount: int = 1) -> Taken:
        """Wait until `amount` more units fit into the last minute, and take them.

        An amount above the limit waits for an empty minute, since it would never fit.
        """
        loop = asyncio.get_running_loop()
        async with self._turn:
            while (wait_s := self._wait_s(min(amount, self.most), loop.time())) > 0:
                self._settled.clear()
                timer = loop.call_later(wait_s, self._settled.set)
                try:
                    await self._settled.wait()
                finally:
                    timer.cancel()
            taken = Taken(loop.time(), amount)
            self._taken.append(taken)
            self._sum += amount
            return taken

    def settle(self, taken: Taken, amount: int) -> None:
        """Count `amount` instead of what was taken."""
        if taken.counts:
            self._sum += amount - taken.amount
            taken.amount = amount
            self._settled.set()

    def _wait_s(self, amount: int, now: float) -> float:
        """Seconds until the oldest entry that stands in the way leaves the window; 0 where none does."""
        while self._taken and self._taken[0].at <= now - WINDOW_S:
            gone = self._taken.popleft()
            gone.counts = False
            self._sum -= gone.amount
        excess, until = self._sum + amount - self.most, now
        for taken in self._taken:
            if excess <= 0:
                break
            excess -= taken.amount
            until = taken.at + WINDOW_S
        return until - now


class Limits:
    """What one endpoint may be asked: so much at once, and by the minute. Models at one endpoint share one of these.

    A retry counts as a request of its own. Of a request's tokens, the most that it can need are taken when it is sent
    (a token is at least a byte of the prompt), and what it needed is counted once the endpoint has said so.
    """

    def __init__(
        self, concurrency: int, *, requests_per_minute: int | None = None, tokens_per_minute: int | None = None
    ) -> None:
        self.gate = Limiter(concurrency)
        self._requests = Rate(requests_per_minute) if requests_per_minute else None
        self._tokens = Rate(tokens_per_minute) if tokens_per_minute else None
        self.by_minute = bool(self._requests or self._tokens)
        """Whether there is anything to wait for in `admit`."""

    async def admit(self, most_tokens: int) -> Taken | None:
        """Wait until one request of at most so many tokens may be sent; what it takes of the tokens' rate."""
        taken = await self._tokens.take(most_tokens) if self._tokens else None
        if self._requests:
            await self._requests.take()
        return taken

    def settle(self, taken: Taken | None, tokens: int) -> None:
        """Note how many tokens an admitted request has needed."""
        if self._tokens and taken:
            self._tokens.settle(taken, tokens)


class Deadlines:
    """Ends requests that take longer than `seconds`, by one timer for all of them: who began first is due first."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._due: dict[asyncio.Task[Any], float] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def within(self, request: Awaitable[T]) -> T:
        """What `request` gives; raises `TimeoutError` where it takes too long."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is None:
            raise RuntimeError("a request is sent from within a task")
        self._due[task] = due = loop.time() + self.seconds
        if self._timer is None:
            self._timer = loop.call_at(due, self._end_late)
        try:
            return await request
        except asyncio.CancelledError:
            if task not in self._due and not task.uncancel():  # by the timer, and by nobody else as well
                raise TimeoutError from None
            raise
        finally:
            self._due.pop(task, None)

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_late(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        while self._due:
            task, due = next(iter(self._due.items()))
            if due > loop.time():
                self._timer = loop.call_at(due, self._end_late)
                return
            del self._due[task]
            task.cancel()
