"""What a build would cost, before anything is spent."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import msgspec

from adage.builder import CorpusSource, Silent, open_recipe, stage_place, stores_of
from adage.cast import Cast, assemble, language_of
from adage.engine.run import AnyStage, Engine, Rows, StageOutput, fingerprint_of
from adage.forecast import Forecast, Forecaster, sampled
from adage.language import Language
from adage.pipeline import NAMES, read_by_hand, stages
from adage.recipe import Recipe
from adage.records import Item, Option, Proverb, Record, Role
from adage.stages.generate import likely_story
from adage.store.run import Run, StageState

_TYPICAL = 0.2
"""Relative error of prompts that are not known yet. On the English sample, a judge's had 1 % fewer tokens."""


class StagePlan(Forecast, frozen=True, kw_only=True, omit_defaults=False):
    """What one stage needs."""

    stage: str
    rows: int
    up_to_date: bool
    exact: bool
    """Whether `calls` counts the requests themselves; otherwise it is an upper bound from the rows expected."""
    stored: int = 0
    """Calls that the journal answers."""


async def plan(
    path: Path,
    *,
    out: Path | None = None,
    until: str | None = None,
    start: str | None = None,
    limit: int | None = None,
) -> list[StagePlan]:
    """The calls, tokens, money and time that each stage still needs; makes no model call and changes no run.

    Calls are exact for stages whose input is at hand. The corpus is read and merged in a temporary folder; what comes
    after a stage that needs models is bounded from above by what it would yield if nothing were dropped, and its
    prompts are written from proverbs of the corpus.
    """
    last = stage_place(until, default=len(NAMES) - 1)
    first = stage_place(start, default=len(NAMES))
    recipe = open_recipe(path, out)
    by_hand = read_by_hand(recipe, language_of(recipe))
    forecaster = Forecaster(recipe, Run(recipe.out).history())
    with tempfile.TemporaryDirectory() as scratch:
        stores = stores_of(path)
        cast = assemble(recipe, stores if stores.is_dir() else Path(scratch), replay=True)
        try:
            source = CorpusSource(recipe.corpus, cast.language, limit=limit)
            planner = _Planner(recipe, cast, Run(Path(scratch)), forecaster)
            return await planner.plan(stages(recipe, cast, by_hand)[: last + 1], source, first)
        finally:
            await forecaster.close()
            await cast.close()


class _Planner:
    """Goes through the stages with the rows that are there, and from then on with how many there may be."""

    def __init__(self, recipe: Recipe, cast: Cast, scratch: Run, forecaster: Forecaster) -> None:
        self._cast, self._scratch, self._forecaster = cast, scratch, forecaster
        self._run = Run(recipe.out)
        self._engine = Engine(scratch, cast.journal, Silent(), max_failed=recipe.max_failed)
        self._proverbs: list[Proverb] = []
        """Some of those that are known so far; what is not there yet is written from them."""

    async def plan(self, chain: Sequence[AnyStage], rows: Rows | None, first: int) -> list[StagePlan]:
        """Plans of a chain of stages; those from the place `first` on count as not yet run."""
        n_rows, plans = 0, []
        for place, stage in enumerate(chain):
            run, state = self._run, self._finished(stage, rows) if place < first else None
            if state is None and rows and stage.name == "acquire":
                run, state = self._scratch, await self._engine.run(stage, rows)
            if state is None:
                plans.append(await self._of(stage, rows, n_rows))
                rows, n_rows = None, stage.estimate(n_rows).rows
                continue
            rows, n_rows = StageOutput(run, state, stage.folder), state.counts.made
            if stage.out is Proverb:
                self._proverbs = sampled(rows.read(Proverb), n_rows)
            done = run is self._run
            plans.append(StagePlan(stage=stage.name, rows=state.counts.rows_in, up_to_date=done, exact=True, calls=0))
        return plans

    def _finished(self, stage: AnyStage, rows: Rows | None) -> StageState | None:
        """State of a stage that is up to date."""
        state = self._run.state(stage.folder)
        current = rows and state and state.fingerprint == fingerprint_of(stage, rows)[1]
        return state if current and state and not state.counts.failed else None

    async def _of(self, stage: AnyStage, rows: Rows | None, n_rows: int) -> StagePlan:
        """Calls are exact where the stage's requests follow from its rows alone, an upper bound otherwise."""
        exact, stored = rows is not None and stage.plannable, 0
        seen = sampled(rows.read(stage.row), n_rows) if rows else self._stand_ins(stage)
        if rows and stage.plannable:
            context = await stage.prepare(rows.read(stage.slim), None)
            keys = {request.key() for row in rows.read(stage.row) for request in stage.requests(row, context, 0)}
            stored = len(self._cast.journal.known(keys))
            calls = len(keys) - stored
        else:
            calls = stage.estimate(n_rows).calls
        needed = msgspec.structs.asdict(await self._forecaster.forecast(stage, seen, calls))
        if calls and not exact:
            needed["prompt_error"] = max(needed["prompt_error"], _TYPICAL)
        return StagePlan(stage=stage.name, rows=n_rows, up_to_date=False, exact=exact, stored=stored, **needed)

    def _stand_ins(self, stage: AnyStage) -> Sequence[Record]:
        """Rows like those that the stage will have, as far as its prompts show them."""
        if stage.row is Proverb:
            return self._proverbs
        return likely_items(self._proverbs, self._cast.language) if stage.row is Item else ()


def likely_items(proverbs: Sequence[Proverb], language: Language) -> list[Item]:
    """An item a proverb, with a story of middling length and the next proverbs as wrong options; for prompts alone."""
    items = []
    for place, gold in enumerate(proverbs):
        options = [
            Option(
                proverb_id=option.id,
                text=option.text,
                role=role,
                group=option.group,
                cluster=0,
                cos_scenario=0,
                cos_gold=0,
                length_ratio=1,
            )
            for role, option in zip(get_args(Role), [*proverbs[place:], *proverbs[:place]], strict=False)
        ]
        story = likely_story(gold.explanation or gold.text, language)
        items.append(
            Item(
                id=gold.id,
                assembly="balanced",
                language=language.code,
                scenario_id="",
                scenario=story,
                proverb_id=gold.id,
                group=gold.group,
                by="",
                options=tuple(options),
                source_id=gold.source_id,
            )
        )
    return items
