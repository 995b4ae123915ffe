"""An event loop whose time is counted instead of waited: what would take minutes takes none."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Skipping(selectors.DefaultSelector):
    """A selector that jumps over every wait."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready at once; where nothing is, the time is as if it had been waited for."""
        ready = super().select(0)
        if not ready and timeout:
            self.now += timeout
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    """A loop with its own time, in seconds from 0. It suits code that waits for nothing but time."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        """Seconds that would have passed."""
        return self._skipping.now


def run_skipping(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, with all its waiting skipped."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(work)
