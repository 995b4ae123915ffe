"""Limits: no minute holds more than allowed, a full server is neither stormed nor left idle, nothing overtakes."""

import asyncio
import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.models.limits import WINDOW_S, Deadlines, Limiter, Limits, Rate
from clock import run_skipping


def most_in_a_minute(events):
    """The largest sum of amounts of (time, amount) in any half-open window of a minute, up to rounding."""
    minute = WINDOW_S - 1e-6
    return max(sum(n for other, n in events if start <= other < start + minute) for start, _ in events)


@given(
    most=st.integers(1, 20),
    gaps=st.lists(st.floats(0, 40), min_size=1, max_size=60),
    amounts=st.lists(st.integers(1, 20), min_size=60, max_size=60),
)
def test_no_minute_holds_more_than_the_limit(most, gaps, amounts):
    """Whatever comes when, the sum over any minute stays within the limit, in the order of coming."""

    async def work():
        rate, events, coming = Rate(most), [], itertools.count()

        async def use(at, amount):
            await asyncio.sleep(at)
            number = next(coming)
            await rate.take(amount)
            events.append((asyncio.get_running_loop().time(), amount, number))

        wanted = zip(itertools.accumulate(gaps), amounts, strict=False)
        await asyncio.gather(*(use(at, min(amount, most)) for at, amount in wanted))
        return events

    events = run_skipping(work())
    assert most_in_a_minute([(at, amount) for at, amount, _ in events]) <= most
    assert [number for *_, number in events] == sorted(number for *_, number in events)


def test_the_allowance_is_used_in_full():
    """Two hundred requests at sixty a minute take three minutes, not four."""

    async def work():
        rate = Rate(60)
        await asyncio.gather(*(rate.take() for _ in range(200)))
        return asyncio.get_running_loop().time()

    assert run_skipping(work()) == pytest.approx(180.0, abs=0.1)


def test_tokens_that_were_not_needed_are_given_back_at_once():
    """A request takes the most it can need; when it has needed less, the next one goes without waiting a minute."""

    async def work():
        rate, times = Rate(1000), []
        for _ in range(3):
            taken = await rate.take(900)
            times.append(asyncio.get_running_loop().time())
            asyncio.get_running_loop().call_later(2.0, rate.settle, taken, 100)
        return times

    assert run_skipping(work()) == pytest.approx([0.0, 2.0, 60.0], abs=0.1)


def test_what_needs_more_than_a_minute_allows_goes_alone():
    """A request larger than the limit waits for an empty minute and then goes; it does not wait for ever."""

    async def work():
        rate, times = Rate(100), []
        for amount in (50, 500, 10):
            await rate.take(amount)
            times.append(asyncio.get_running_loop().time())
        return times

    assert run_skipping(work()) == pytest.approx([0.0, 60.0, 120.0], abs=0.1)


def test_settling_after_the_minute_changes_nothing():
    """An answer that comes late must not make room twice."""

    async def work():
        rate = Rate(10)
        late = await rate.take(10)
        await asyncio.sleep(61)
        await rate.take(10)
        rate.settle(late, 0)
        await rate.take(10)
        return asyncio.get_running_loop().time()

    assert run_skipping(work()) == pytest.approx(121.0, abs=0.1)


def test_one_who_gives_up_waiting_leaves_room():
    """A cancelled request takes nothing, and the one behind it gets its turn."""

    async def work():
        limits = Limits(5, requests_per_minute=1)
        await limits.admit(1)
        gone = asyncio.create_task(limits.admit(1))
        stays = asyncio.create_task(limits.admit(1))
        await asyncio.sleep(1)
        gone.cancel()
        await stays
        return asyncio.get_running_loop().time()

    assert run_skipping(work()) == pytest.approx(60.0, abs=0.1)


def storm(limiter, capacity, *, calls=1000, latency_s=0.1, wait_s=1.0):
    """Seconds until a server that takes `capacity` at once has answered all calls, and how many it has refused."""
    busy = refused = 0

    async def call():
        nonlocal busy, refused
        while True:
            async with limiter:
                sent_at = time.monotonic()
                if busy < capacity:
                    busy += 1
                    await asyncio.sleep(latency_s)
                    busy -= 1
                    limiter.succeeded()
                    return
                await asyncio.sleep(0.001)
                refused += 1
                limiter.overloaded(sent_at)
            await asyncio.sleep(wait_s)

    async def work():
        await asyncio.gather(*(call() for _ in range(calls)))
        return asyncio.get_running_loop().time()

    return run_skipping(work()), refused


@pytest.mark.parametrize("capacity", [1, 4, 32, 100])
def test_a_full_server_is_kept_busy_and_not_stormed(capacity):
    """A thousand calls at 256 against a server that takes fewer: near the ideal time, with few refusals."""
    seconds, refused = storm(Limiter(256), capacity)
    assert seconds <= 1.1 * 100 / capacity + 1.5
    assert refused < 256 + 150


def queue(limiter, capacity, *, calls=20_000, latency_s=0.1, tokens=lambda number: 100, stretch=lambda number: 1.0):
    """Greatest number of requests in flight at the end, for a server that never refuses but lets requests wait."""
    places = asyncio.Semaphore(capacity)
    seen = []

    async def call(number):
        clock = asyncio.get_running_loop().time
        async with limiter:
            sent_at = clock()
            async with places:
                await asyncio.sleep(latency_s * stretch(number))
            limiter.succeeded(clock() - sent_at, tokens(number))
            seen.append(limiter.in_flight)

    async def work():
        await asyncio.gather(*(call(number) for number in range(calls)))
        return asyncio.get_running_loop().time()

    seconds = run_skipping(work())
    return max(seen[calls // 2 : -limiter.most]), seconds


def test_a_server_that_lets_requests_wait_is_given_fewer():
    """Replies that take far longer than the fastest lower the limit; the server stays as busy as it can be."""
    limiter = Limiter(256)
    in_flight, seconds = queue(limiter, 8)
    assert in_flight < 128
    assert seconds == pytest.approx(20_000 / 8 * 0.1, rel=0.01)


def test_large_replies_are_no_sign_of_a_slow_server():
    """Replies of twenty times the length take twenty times as long; the limit stays where it is."""
    limiter = Limiter(64)
    queue(limiter, 64, calls=5000, tokens=lambda n: 2000 if n % 2 else 100, stretch=lambda n: 20 if n % 2 else 1)
    assert limiter.limit == 64.0


def test_one_fast_exception_does_not_ruin_the_limit():
    """A single reply in no time at all does not count; where many were fast once, an eighth of the limit stays."""
    limiter = Limiter(64)
    limiter.succeeded(0.001, 100)
    queue(limiter, 64, calls=5000)
    assert limiter.limit == 64.0
    for _ in range(5):
        limiter.succeeded(0.001, 100)
    queue(limiter, 64, calls=5000)
    assert 8.0 <= limiter.limit < 64.0


def test_the_limit_recovers_when_the_server_does():
    """After a burst of refusals at a moment of weakness, the whole concurrency is in use again within seconds."""
    limiter = Limiter(64)
    storm(limiter, 2, calls=64)
    assert limiter.limit < 16
    storm(limiter, 1000, calls=3000)
    assert limiter.limit == 64.0


def test_each_request_has_the_whole_time_and_no_more():
    """One timer ends each request that takes too long, at its own time, and lets the others be."""

    async def work():
        deadlines, loop = Deadlines(10), asyncio.get_running_loop()

        async def request(begin_s, takes_s):
            await asyncio.sleep(begin_s)
            try:
                await deadlines.within(asyncio.sleep(takes_s))
            except TimeoutError:
                return "late", loop.time()
            return "in time", loop.time()

        return await asyncio.gather(request(0, 99), request(1, 9.9), request(2, 99), request(2, 1), request(50, 99))

    late = [("late", 10), ("in time", 10.9), ("late", 12), ("in time", 3), ("late", 60)]
    assert [(said, pytest.approx(at)) for said, at in run_skipping(work())] == late


def test_a_request_that_is_cancelled_is_not_late():
    """Whoever ends a build sees his own cancellation, also where the time is up at the same moment."""

    async def work(cancel_at):
        deadlines = Deadlines(10)
        task = asyncio.create_task(deadlines.within(asyncio.sleep(99)))
        await asyncio.sleep(cancel_at)
        task.cancel()
        return await asyncio.gather(task, return_exceptions=True)

    for cancel_at in (5, 10):
        assert [type(fault) for fault in run_skipping(work(cancel_at))] == [asyncio.CancelledError]
