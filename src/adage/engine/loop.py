"""The event loop that builds run on."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_async(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` to its end as `asyncio.run` does, on uvloop where that is installed (extra `[fast]`)."""
    with asyncio.Runner(loop_factory=_fastest_loop()) as runner:
        return runner.run(main)


def _fastest_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes an event loop of uvloop; None, which stands for Python's own, where it is not installed."""
    try:
        uvloop = importlib.import_module("uvloop")
    except ModuleNotFoundError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
