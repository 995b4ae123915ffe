"""What a stage's model calls are likely to need: tokens, money and time, by a few rows and earlier builds.

Nothing is called, and a stage of any size costs the reading of some rows.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from adage.cast import calls_at_once, endpoints_of, open_model, price_of
from adage.engine.run import AnyStage
from adage.errors import MissingExtra, ModelError
from adage.models.base import Message
from adage.models.local import LocalModel
from adage.recipe import Local, Recipe
from adage.records import Record
from adage.stage import Exchange

T = TypeVar("T")

BYTES_PER_TOKEN = 3.5
"""Rough size of a token in UTF-8 text of any script. Measured on prompts in English, Arabic, Japanese and Amharic: 3.4
to 4.1 by Gemma 3's tokenizer; 3.7 in English and 1.2 to 2.0 in the others by SmolLM2's, which was made for English."""
REPLY_BYTES_PER_TOKEN = 4.7
"""The same of plain prose: 4.6 to 4.9 in stories in these languages by Gemma 3's tokenizer."""
ROUGH = 0.2
"""Relative error of prompt tokens by that size, for a tokenizer made for many languages."""
REPLY_ERROR = 0.5
"""Relative error of reply tokens, which rest on what a reply is usually like: stories in the four samples have 5 % to
30 % fewer. It is also taken for twice the spread of single replies, and `ROUGH` for that of prompts, where earlier
builds tell the mean."""
_SAMPLE = 50
"""Rows whose prompts are looked at."""
_READ = 10_000
"""Rows that they are picked from, so that a large stage is not read whole."""


class Forecast(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What calls are expected to need."""

    calls: int
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """For answers of the usual length, and stories of middling length between the language's bounds; thinking, which
    some models do first, is in it only where earlier builds tell."""
    tokenizers: tuple[str, ...] = ()
    """Models whose own tokenizers counted; where the stage asks others, their tokens are taken for 3.5 bytes."""
    prompt_error: float = 0.0
    """Relative error of `prompt_tokens`: of the sample of rows, or of a token's size where no tokenizer counted."""
    reply_error: float = 0.0
    """Relative error of `completion_tokens`."""
    prompt_factor: float = 1.0
    """What earlier builds made of the prompt tokens first estimated: they are in `prompt_tokens` already."""
    reply_factor: float = 1.0
    """The same of `completion_tokens`."""
    usd: float | None = 0.0
    """Price of the calls; None where a model's price is unknown."""
    seconds: float | None = 0.0
    """Time of the calls at the models' concurrency, by earlier builds; None where none has asked these models this."""
    known: int = 0
    """Calls of earlier builds that `seconds` and the factors rest on."""


class _Size(NamedTuple):
    """Tokens of a call, on the average."""

    prompt: float
    reply: float
    prompt_error: float


class Forecaster:
    """Makes forecasts for the stages of a recipe.

    Args:
        recipe: The recipe.
        history: Notes of the run's earlier builds (`run.json`).
    """

    def __init__(self, recipe: Recipe, history: Sequence[Mapping[str, Any]]) -> None:
        self._recipe = recipe
        parts = [part for entry in history for part in entry.get("stages", ())]
        self._noted = [part for part in parts if part.get("calls") and part.get("models")]
        self._local: dict[str, LocalModel] = {}

    async def forecast(self, stage: AnyStage, rows: Iterable[Record], calls: int) -> Forecast:
        """What `calls` calls of a stage need, by the prompts of some of its rows."""
        exchanges = [exchange for row in rows for exchange in stage.exchanges(row)] if calls else []
        if not exchanges:
            return Forecast(calls=calls, usd=None if calls else 0.0, seconds=None if calls else 0.0)
        names = models_of(stage, self._recipe)
        noted = [part for part in self._noted if part["stage"] == stage.name and part["models"] == [*self.asked(stage)]]
        prompt_factor, prompt_error = _learned(noted, "prompt", ROUGH)
        reply_factor, reply_error = _learned(noted, "reply", REPLY_ERROR)
        sizes = {}
        for name in names:
            size = await self._size(name, exchanges)
            sizes[name] = size._replace(prompt=size.prompt * prompt_factor, reply=size.reply * reply_factor)
        return Forecast(
            calls=calls,
            prompt_tokens=round(calls * statistics.fmean(size.prompt for size in sizes.values())),
            completion_tokens=round(calls * statistics.fmean(size.reply for size in sizes.values())),
            tokenizers=tuple(name for name in names if name in self._local),
            prompt_error=min(prompt_error, max(size.prompt_error for size in sizes.values())),
            reply_error=reply_error,
            prompt_factor=prompt_factor,
            reply_factor=reply_factor,
            usd=self._price(sizes, calls),
            seconds=self._time(stage, noted, calls),
            known=sum(part["calls"] for part in noted),
        )

    def asked(self, stage: AnyStage) -> tuple[str, ...]:
        """Whom a stage asks, by name and model id: what its speed depends on."""
        ids = []
        for name in models_of(stage, self._recipe):
            model = self._recipe.models[name]
            parts = [part.model for _, part in endpoints_of(self._recipe, name)]
            ids.append(f"{name}: {', '.join(parts) or (model.model if isinstance(model, Local) else model.kind)}")
        return tuple(ids)

    def at_once(self, stage: AnyStage) -> int:
        """Calls of a stage that its models answer at the same time."""
        return calls_at_once(self._recipe, models_of(stage, self._recipe))

    async def close(self) -> None:
        """Let go of the models whose tokenizers were used."""
        for model in self._local.values():
            await model.close()

    async def _size(self, name: str, exchanges: Sequence[Exchange]) -> _Size:
        """Size of these calls to a model, by its own tokenizer where it is at hand."""
        if (model := self._tokenizer(name)) is not None:
            try:
                return await _counted(model, exchanges)
            except (MissingExtra, ModelError):
                await self._local.pop(name).close()
        prompts = [sum(len(message.content.encode()) for message in exchange.messages) for exchange in exchanges]
        replies = [len(exchange.reply.encode()) for exchange in exchanges]
        return _Size(
            prompt=statistics.fmean(prompts) / BYTES_PER_TOKEN,
            reply=statistics.fmean(replies) / REPLY_BYTES_PER_TOKEN,
            prompt_error=ROUGH,
        )

    def _tokenizer(self, name: str) -> LocalModel | None:
        if name not in self._local:
            model = open_model(name, self._recipe, {}, check=False)
            if not isinstance(model, LocalModel):
                return None
            self._local[name] = model
        return self._local[name]

    def _price(self, sizes: Mapping[str, _Size], calls: int) -> float | None:
        """US dollars for calls that the models share evenly; None where a price is unknown."""
        total = 0.0
        for name, size in sizes.items():
            if (price := price_of(self._recipe, name)) is None:
                return None
            total += (size.prompt * price.input_usd + size.reply * price.output_usd) / 1e6
        return round(total * calls / len(sizes), 6)

    def _time(self, stage: AnyStage, noted: Sequence[Mapping[str, Any]], calls: int) -> float | None:
        """Seconds for so many calls, as noted of earlier ones; a call took the stage's time by the calls at once."""
        known: int = sum(part["calls"] for part in noted)
        if not known:
            return None
        waited: float = sum(part["seconds"] * min(part["at_once"], part["calls"]) for part in noted)
        return round(waited / known * calls / min(self.at_once(stage), calls), 3)


def _learned(noted: Sequence[Mapping[str, Any]], what: Literal["prompt", "reply"], error: float) -> tuple[float, float]:
    """True tokens by those estimated without earlier builds, and the relative error that is left.

    Where there are none, or a server has counted no tokens, all is left as it is.
    """
    field = {"prompt": "prompt_tokens", "reply": "completion_tokens"}[what]
    told = [part for part in noted if part[field] and part["planned"] and part["planned"][field]]
    if not told:
        return 1.0, error
    plans = [(part["planned"], part["calls"]) for part in told]
    first = sum(plan[field] / plan[f"{what}_factor"] / plan["calls"] * calls for plan, calls in plans)
    known = sum(calls for _, calls in plans)
    return sum(part[field] for part in told) / first, max(0.02, error / math.sqrt(known))


async def _counted(model: LocalModel, exchanges: Sequence[Exchange]) -> _Size:
    prompts, replies = [], []
    for exchange in exchanges:
        prompts.append(await model.tokens(exchange.messages))
        answered = (*exchange.messages, Message(role="assistant", content=exchange.reply))
        replies.append(await model.tokens(answered) - prompts[-1])
    mean = statistics.fmean(prompts)
    spread = statistics.stdev(prompts) if len(prompts) > 1 else 0.0
    return _Size(mean, statistics.fmean(replies), round(2 * spread / math.sqrt(len(prompts)) / mean, 3))


def sampled(rows: Iterable[T], n: int) -> list[T]:
    """Some of `n` rows, evenly from the first thousands of them."""
    step = max(1, math.ceil(min(n, _READ) / _SAMPLE))
    return list(itertools.islice(rows, 0, _READ, step))


def models_of(stage: AnyStage, recipe: Recipe) -> list[str]:
    """Names of the models that a stage asks."""
    roles = recipe.roles
    asked = {
        "label": (roles.labeller,),
        "cluster": (roles.namer,),
        "generate": (roles.generator,),
        "validate": roles.judges,
    }
    return [name for name in asked.get(stage.name, ()) if name is not None]
