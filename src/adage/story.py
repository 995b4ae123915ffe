"""One record's whole story: where it came from, every check, what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from adage.builder import stores_of
from adage.cast import assemble, language_of
from adage.errors import StoreError
from adage.models.base import Message
from adage.pipeline import read_by_hand, stages
from adage.recipe import load_recipe
from adage.records import Item, Record
from adage.store.files import read_lines
from adage.store.run import DROPPED, FAILED, KEPT, PROBES, Broken, Gone, Run


class Appearance(Record, frozen=True, kw_only=True):
    """A record in one of a run's files."""

    folder: str
    outcome: str
    """`kept`, `dropped`, `failed` or `probe`."""
    why: str = ""
    evidence: str = ""
    row: dict[str, Any]


def appearances(run: Run, name: str) -> list[Appearance]:
    """Everything in a run that is, or was made from, the record of this id; a prefix of an id, or a place, will do.

    Raises:
        StoreError: nothing in the run has this id.
    """
    everything = (seen for folder in _folders(run) for seen in _in_folder(run, folder))
    found = [seen for seen in everything if name and _speaks_of(seen.row, name)]
    if not found:
        raise StoreError(
            f"nothing in {str(run.root)!r} has the id {name!r}",
            hint="ids start with p (proverb), s (scenario) or i (item); adage show DIR lists some",
        )
    return found


def sample_items(run: Run, n: int) -> list[Item]:
    """The first `n` items by id (ids are hashes, so this is a random sample that stays the same)."""
    return sorted(run.rows("7-curate", KEPT, Item), key=lambda item: item.id)[:n]


def _folders(run: Run) -> Sequence[str]:
    return sorted(path.parent.name for path in Path(run.root).glob("[0-9]*-*/stage.json"))


def _in_folder(run: Run, folder: str) -> Iterator[Appearance]:
    path = run.root / folder
    for name, outcome in ((KEPT, "kept"), (PROBES, "probe")):
        if (path / name).exists():
            for row in read_lines(path / name, dict[str, Any]):
                yield Appearance(folder=folder, outcome=outcome, row=row)
    for gone in run.rows(folder, DROPPED, Gone):
        yield Appearance(folder=folder, outcome="dropped", why=gone.reason, evidence=gone.evidence, row=gone.row)
    for broken in run.rows(folder, FAILED, Broken):
        yield Appearance(folder=folder, outcome="failed", why=broken.error, evidence=broken.evidence, row=broken.row)


def _speaks_of(row: dict[str, Any], name: str) -> bool:
    named = (row.get(field, "") for field in ("id", "proverb_id", "scenario_id", "item_id", "edited_from"))
    return row.get("place") == name or any(value.startswith(name) for value in named if isinstance(value, str))


async def prompt_of(run: Run, path: Path, stage: str, name: str | None) -> Sequence[Message]:
    """The exact messages that a stage sends for a record (the first that has a request, without a name).

    Raises:
        StoreError: the stage asks no model, has no such row, or its input is not there yet.
    """
    recipe = load_recipe(path)
    by_hand = read_by_hand(recipe, language_of(recipe))
    cast = assemble(recipe, stores_of(path), replay=True)
    try:
        chain = stages(recipe, cast, by_hand)
        place = next((i for i, candidate in enumerate(chain) if candidate.name == stage), 0)
        if place == 0:
            raise StoreError(
                f"stage {stage!r} sends no prompt", hint="stages with prompts: label, cluster, generate, validate"
            )
        chosen, before = chain[place], chain[place - 1]
        context = run.context(chosen.folder, chosen.context)
        if context is None and chosen.plannable:
            context = await chosen.prepare(run.rows(before.folder, KEPT, chosen.slim), None)
        if context is None:
            raise StoreError(f"stage {stage!r} has not run yet", hint=f"build with: adage build --until {stage}")
        for row in run.rows(before.folder, KEPT, chosen.row):
            requests = chosen.requests(row, context, 0)
            if requests and (name is None or _speaks_of(msgspec.to_builtins(row), name)):
                return requests[0].messages
    finally:
        await cast.close()
    raise StoreError(
        f"stage {stage!r} sends no prompt for {name or 'any row'} in {str(run.root)!r}",
        hint=f"rows that came from a hand file are not sent; is stage {before.name!r} built, and the id right?",
    )
