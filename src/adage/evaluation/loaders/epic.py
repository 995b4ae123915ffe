"""ePiC (Ghosh & Srivastava 2022), from the user's own copy: narratives with the proverb that each was written for.

It has no options. Three of its other proverbs are drawn for each narrative, evenly and by a seed of its own, so that
the same copy gives the same questions everywhere; the gold's place is drawn with them. Such options are easier to tell
from the gold than ours, which share its theme. ePiC has no licence: nothing made from it may be passed on.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from adage.corpus.mapping import fold
from adage.errors import BenchmarkError
from adage.evaluation.loaders.files import Entry
from adage.evaluation.loaders.question import Draft, tidy
from adage.language import Language
from adage.records import digest
from adage.text.unicode import key

OPTIONS = 4
_NARRATIVE = ("narrative", "narratives", "story")
_PROVERB = ("quote", "proverb", "proverbs", "gold proverb")


def is_epic(entry: Entry) -> bool:
    """Whether a record pairs a narrative with a proverb."""
    fields = _fields(entry)
    return _first(fields, _NARRATIVE) is not None and _first(fields, _PROVERB) is not None


def read_epic(entries: Sequence[Entry], language: Language) -> Iterator[Draft]:
    """The questions made from narratives, options drawn among the other proverbs.

    Raises:
        BenchmarkError: A record lacks narrative or proverb, or there are too few proverbs.
    """
    pairs: list[tuple[str, str]] = []
    for entry in entries:
        fields = _fields(entry)
        narrative, proverb = _first(fields, _NARRATIVE), _first(fields, _PROVERB)
        if not narrative or not proverb:
            raise BenchmarkError(
                f"{entry.place}: expected a narrative and its proverb, found {', '.join(fields)}",
                hint="ePiC has the columns 'narrative' and 'quote' (or 'proverb')",
            )
        pairs.append((tidy(narrative), tidy(proverb)))
    texts: dict[str, str] = {}
    for _, proverb in pairs:
        texts.setdefault(key(proverb, language), proverb)
    if len(texts) < OPTIONS:
        raise BenchmarkError(f"{len(texts)} proverbs are too few for {OPTIONS} options", hint="name the whole data set")
    names = sorted(texts)
    for entry, (narrative, proverb) in zip(entries, pairs, strict=True):
        gold = key(proverb, language)
        draw = random.Random(digest("epic", narrative, gold))
        options = [name for name in draw.sample(names, OPTIONS) if name != gold][: OPTIONS - 1]
        place = draw.randrange(OPTIONS)
        options.insert(place, gold)
        yield Draft(
            place=entry.place, scenario=narrative, options=tuple(texts[name] for name in options), gold=(place,)
        )


def _fields(entry: Entry) -> dict[str, object]:
    """Fields by folded name; the published JSON keeps them under `fields`."""
    inner = entry.fields.get("fields")
    return {fold(name): value for name, value in (inner if isinstance(inner, dict) else entry.fields).items()}


def _first(fields: dict[str, object], names: Sequence[str]) -> str | None:
    return next((value for name in names if isinstance(value := fields.get(name), str)), None)
