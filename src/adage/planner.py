"""What a build would cost, before anything is spent."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from adage.builder import CorpusSource, Silent, open_recipe, stage_place, stores_of
from adage.cast import Cast, assemble, language_of, open_model, price_of
from adage.engine.run import AnyStage, Engine, Rows, StageOutput, fingerprint_of
from adage.errors import MissingExtra
from adage.models.base import ChatRequest, Message
from adage.models.local import LocalModel
from adage.pipeline import NAMES, read_by_hand, stages
from adage.recipe import Recipe
from adage.records import Record
from adage.store.run import Run

_BYTES_PER_TOKEN = 3.5
"""Rough size of a token in UTF-8 text of any script. Measured on prompts in English, Arabic, Japanese and Amharic: 3.4
to 4.1 by Gemma 3's tokenizer; 3.7 in English and 1.2 to 2.0 in the others by SmolLM2's, which was made for English."""
_SAMPLE = 200
"""Prompts that a model's own tokenizer is shown, where there is one: those with the smallest keys."""
_ROLES = {"label": "labeller", "cluster": "namer", "generate": "generator"}


class StagePlan(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What one stage needs."""

    stage: str
    rows: int
    up_to_date: bool
    exact: bool
    """Whether `calls` counts the requests themselves; otherwise it is an upper bound from the rows expected."""
    calls: int
    """Calls that the journal does not hold."""
    stored: int = 0
    """Calls that the journal answers."""
    tokens: int = 0
    """Prompt and reply tokens of the new calls, estimated."""
    tokenizer: str = ""
    """Model whose own tokenizer tells the size of a token in these prompts; empty where 3.5 bytes are assumed."""
    usd: float | None = 0.0
    """Price of the new calls; None where a model's price is unknown."""


async def plan(
    path: Path,
    *,
    out: Path | None = None,
    until: str | None = None,
    start: str | None = None,
    limit: int | None = None,
) -> list[StagePlan]:
    """The calls, tokens and money that each stage still needs; makes no model call and changes no run.

    Counts are exact for stages whose input is at hand. The corpus is read and merged in a temporary folder; what comes
    after a stage that needs models is bounded from above by what it would yield if nothing were dropped.
    """
    last = stage_place(until, default=len(NAMES) - 1)
    first = stage_place(start, default=len(NAMES))
    recipe = open_recipe(path, out)
    by_hand = read_by_hand(recipe, language_of(recipe))
    with tempfile.TemporaryDirectory() as scratch:
        stores = stores_of(path)
        cast = assemble(recipe, stores if stores.is_dir() else Path(scratch), replay=True)
        try:
            source = CorpusSource(recipe.corpus, cast.language, limit=limit)
            chain = stages(recipe, cast, by_hand)[: last + 1]
            return await _plan(chain, source, first=first, recipe=recipe, cast=cast, scratch=Run(Path(scratch)))
        finally:
            await cast.close()


async def _plan(
    chain: Sequence[AnyStage], rows: Rows | None, *, first: int, recipe: Recipe, cast: Cast, scratch: Run
) -> list[StagePlan]:
    """Plans of a chain of stages; those from the place `first` on count as not yet run."""
    run = Run(recipe.out)
    engine = Engine(scratch, cast.journal, Silent(), max_failed=recipe.max_failed)
    n_rows, plans = 0, []
    for place, stage in enumerate(chain):
        state = run.state(stage.folder) if place < first else None
        if rows and state and state.fingerprint == fingerprint_of(stage, rows)[1] and not state.counts.failed:
            rows, n_rows = StageOutput(run, state, stage.folder), state.counts.made
            plans.append(StagePlan(stage=stage.name, rows=state.counts.rows_in, up_to_date=True, exact=True, calls=0))
            continue
        if rows and stage.name == "acquire":
            state = await engine.run(stage, rows)
            rows, n_rows = StageOutput(scratch, state, stage.folder), state.counts.made
            plans.append(StagePlan(stage=stage.name, rows=state.counts.rows_in, up_to_date=False, exact=True, calls=0))
            continue
        plans.append(await _stage_plan(stage, rows, n_rows, recipe, cast))
        rows, n_rows = None, stage.estimate(n_rows).rows
    return plans


async def _stage_plan(stage: AnyStage, rows: Rows | None, n_rows: int, recipe: Recipe, cast: Cast) -> StagePlan:
    """Exact where the stage's requests follow from its rows alone, an upper bound otherwise."""
    if rows is None or not stage.plannable:
        calls = stage.estimate(n_rows).calls
        tokens = calls * (stage.reply_tokens + 400)
        return StagePlan(
            stage=stage.name,
            rows=n_rows,
            up_to_date=False,
            exact=False,
            calls=calls,
            tokens=tokens,
            usd=_price(stage, recipe, calls * 400, calls * stage.reply_tokens),
        )
    sizes: dict[str, int] = {}
    context = await stage.prepare(rows.read(stage.slim), None)

    def requests() -> Iterator[ChatRequest]:
        for row in rows.read(stage.row):
            for request in stage.requests(row, context, 0):
                sizes[request.key()] = _size(request.messages)
                yield request

    sample = heapq.nsmallest(_SAMPLE, requests(), key=ChatRequest.key)
    known = cast.journal.known(sizes)
    new = [size for key, size in sizes.items() if key not in known]
    bytes_per_token, tokenizer = await _token_size(stage, recipe, sample)
    prompt, reply = round(sum(new) / bytes_per_token), len(new) * stage.reply_tokens
    return StagePlan(
        stage=stage.name,
        rows=n_rows,
        up_to_date=False,
        exact=True,
        calls=len(new),
        stored=len(known),
        tokens=prompt + reply,
        tokenizer=tokenizer,
        usd=_price(stage, recipe, prompt, reply),
    )


def _size(messages: Sequence[Message]) -> int:
    """Bytes of the messages' texts in UTF-8."""
    return sum(len(message.content.encode()) for message in messages)


async def _token_size(stage: AnyStage, recipe: Recipe, sample: Sequence[ChatRequest]) -> tuple[float, str]:
    """Bytes of a token in these prompts, and the model by whose tokenizer; a rough figure and nobody otherwise."""
    name: str | None = getattr(recipe.roles, _ROLES.get(stage.name, ""), None)
    model = open_model(name, recipe, {}, check=False) if name and sample else None
    if name is None or not isinstance(model, LocalModel):
        return _BYTES_PER_TOKEN, ""
    try:
        tokens = [await model.tokens(request.messages) for request in sample]
    except MissingExtra:
        return _BYTES_PER_TOKEN, ""
    finally:
        await model.close()
    return sum(_size(request.messages) for request in sample) / sum(tokens), name


def _price(stage: AnyStage, recipe: Recipe, prompt: int, reply: int) -> float | None:
    """US dollars for the stage's tokens, shared evenly among its models; None where a price is unknown."""
    if not prompt + reply:
        return 0.0
    names = list(recipe.roles.judges) if stage.name == "validate" else [getattr(recipe.roles, _ROLES[stage.name])]
    total = 0.0
    for name in names:
        price = price_of(recipe, name)
        if price is None:
            return None
        total += (prompt * price.input_usd + reply * price.output_usd) / 1e6 / len(names)
    return round(total, 4)
