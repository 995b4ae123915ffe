"""Limits: no minute holds more than allowed, a full server is neither stormed nor left idle, nothing overtakes."""

import asyncio
import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.models.limits import WINDOW_S, Limiter, Limits, Rate
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


def test_the_limit_recovers_when_the_server_does():
    """After a burst of refusals at a moment of weakness, the whole concurrency is in use again within seconds."""
    limiter = Limiter(64)
    storm(limiter, 2, calls=64)
    assert limiter.limit < 16
    storm(limiter, 1000, calls=3000)
    assert limiter.limit == 64.0
