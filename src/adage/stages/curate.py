"""Stage 7: item verdicts, the split verified, positions dealt [paper: train/dev/test by proverb]."""

from __future__ import annotations

import collections
import random
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from adage.errors import StageError
from adage.recipe import Audit
from adage.records import Check, Item, Option, Record, Split, digest, seal
from adage.stage import Dropped, Kept, Outcome, Stage
from adage.stages.distract import require_audit
from adage.stages.hand import ItemVerdict, rejected, unmatched_remark


class Slim(Record, frozen=True, kw_only=True):
    """The columns of an item that splits and positions need."""

    id: str
    assembly: str
    group: str
    split: Split
    options: tuple[Option, ...]


class Positions(Record, frozen=True, kw_only=True):
    """Item id → 0-based place of the gold."""

    position: dict[str, int] = {}
    unmatched: tuple[str, ...] = ()
    """Verdicts on items that are not here."""


class Curate(Stage[Item, Slim, Positions, Item]):
    """Applies item verdicts, proves that no group is in two splits, and shuffles the options."""

    name = "curate"
    number = "7"
    version = 1
    row = Item
    slim = Slim
    context = Positions
    out = Item

    def __init__(self, *, audit: Audit, verdicts: Mapping[str, Sequence[ItemVerdict]], seed: int) -> None:
        self._audit, self._verdicts, self._seed = audit, verdicts, seed

    def settings(self) -> object:
        """Verdicts, the audit required, and the seed."""
        return {
            "audit": {"require": self._audit.require, "sample": self._audit.sample},
            "verdicts": self._verdicts,
            "seed": self._seed,
        }

    async def prepare(self, rows: Iterable[Slim], previous: Positions | None) -> Positions:  # noqa: ARG002
        """Deal the gold's positions among the items that stay: uniform within ± 1 in each split and assembly.

        Raises:
            LimitReached: the item audit that the recipe requires is not there.
            StageError: a meaning group is in two splits.
        """
        items = list(rows)
        require_audit(self._audit, [self._audit_checks(item.id) for item in items], "items")
        staying = [item for item in items if not rejected(self._verdicts.get(item.id, ()))]
        verify_splits(staying)
        dealt: dict[str, int] = {}
        stacks: dict[tuple[str, str], list[Slim]] = collections.defaultdict(list)
        for item in staying:
            stacks[item.assembly, item.split].append(item)
        for (assembly, split), stack in sorted(stacks.items()):
            stack.sort(key=lambda item: digest(self._seed, "deal", item.id))
            rng = random.Random(digest(self._seed, "positions", assembly, split))
            deck: list[int] = []
            for item in stack:
                if not deck:
                    deck = list(range(len(item.options)))
                    rng.shuffle(deck)
                dealt[item.id] = deck.pop()
        here = {item.id for item in items}
        return Positions(position=dealt, unmatched=tuple(name for name in self._verdicts if name not in here))

    def remarks(self, context: Positions) -> Sequence[str]:
        """Item verdicts that were of no use."""
        return unmatched_remark("verdicts are on items that are not here", context.unmatched)

    async def apply(self, row: Item, context: Positions, attempt: int) -> Outcome:  # noqa: ARG002
        """The item with its options in their final order."""
        checks = self._audit_checks(row.id)
        row = msgspec.structs.replace(row, checks=row.checks + checks)
        if rejected(self._verdicts.get(row.id, ())):
            evidence = next((check.evidence for check in checks if check.passed is False), "")
            return Dropped(reason="audit_rejected", evidence=evidence, row=seal(row))
        answer = context.position[row.id]
        options = [option for option in row.options if option.role != "gold"]
        random.Random(digest(self._seed, "options", row.id)).shuffle(options)
        options.insert(answer, row.options[row.answer])
        return Kept(rows=(seal(msgspec.structs.replace(row, options=tuple(options), answer=answer)),))

    def _audit_checks(self, item: str) -> tuple[Check, ...]:
        return tuple(
            Check(name="audit", passed=verdict.verdict == "accept", evidence=verdict.note, by=verdict.annotator)
            for verdict in self._verdicts.get(item, ())
        )


def verify_splits(items: Iterable[Slim]) -> None:
    """Raise `StageError` where a meaning group, as gold or as wrong option, occurs in two splits."""
    split_of: dict[str, Split] = {}
    for item in items:
        for option in item.options:
            if split_of.setdefault(option.group, item.split) != item.split:
                raise StageError(
                    f"meaning group {option.group!r} is in the splits {split_of[option.group]!r} and {item.split!r} "
                    f"(item {item.id!r})",
                    hint="the items are not of one build: build again with --from distract",
                )
