"""What each stage of a build has called and spent, beside what it was expected to."""

from __future__ import annotations

import asyncio
import time

from adage.cast import Cast
from adage.engine.run import AnyStage, Engine, Rows
from adage.forecast import Forecast, Forecaster, sampled
from adage.records import Record


class Spent(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What one stage has spent, beside what was announced when it began."""

    stage: str
    announced: int | None
    """Calls that were new when the stage began; None where it asks no model or did not get so far."""
    planned: Forecast | None
    """What these calls were expected to need, by the stage's rows and earlier builds."""
    calls: int
    """Calls made; re-asks of answers that could not be used come on top of what was announced."""
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    usd: float | None
    """None where a model's price is unknown."""
    seconds: float
    """From the stage's first row to its last."""
    models: tuple[str, ...]
    """Whom the stage asks, by name and model id."""
    at_once: int
    """Calls that these answer at the same time."""


class Accounts:
    """What the stages of a build have spent, beside what they were expected to spend."""

    def __init__(self, engine: Engine, cast: Cast, forecaster: Forecaster) -> None:
        self._engine, self._cast, self._forecaster = engine, cast, forecaster
        self._before = cast.usage()
        self.spent: list[Spent] = []

    async def enter(self, stage: AnyStage, source: Rows) -> None:
        """Enter the stage that has just ended, well or not.

        Its plan rests on what was known when it began. It is made only now, and only where models were to be asked, so
        that nothing waits for it; a build that is interrupted does without.
        """
        seconds, calls, task = time.monotonic() - self._engine.began, self._engine.announced, asyncio.current_task()
        planned: Forecast | None = None
        if calls and not (task and task.cancelling()):
            seen = sampled(source.read(stage.row), self._engine.rows)
            planned = await self._forecaster.forecast(stage, seen, calls)
        before, after = self._before, self._cast.usage()
        self._before = after
        self.spent.append(
            Spent(
                stage=stage.name,
                announced=calls,
                planned=planned,
                calls=after.calls - before.calls,
                prompt_tokens=after.prompt_tokens - before.prompt_tokens,
                completion_tokens=after.completion_tokens - before.completion_tokens,
                cached_tokens=after.cached_tokens - before.cached_tokens,
                usd=None if after.usd is None or before.usd is None else round(after.usd - before.usd, 6),
                seconds=0.0 if calls is None else round(seconds, 3),
                models=self._forecaster.asked(stage),
                at_once=self._forecaster.at_once(stage),
            )
        )

    async def close(self) -> None:
        """Let go of what the plans needed."""
        await self._forecaster.close()
