"""From what a foreign file says of a question to a `Question`: tidy texts, ids that last, groups by shared golds."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence

from adage.errors import BenchmarkError
from adage.evaluation.result import Question
from adage.language import Language
from adage.records import Record, digest
from adage.text.unicode import key, show

_MEND = "take the record out, or mend it"


class Draft(Record, frozen=True, kw_only=True):
    """A question as a foreign file puts it."""

    place: str
    """`file:line` or `file#record`, for messages."""
    scenario: str
    options: tuple[str, ...]
    gold: tuple[int, ...]
    id: str = ""
    group: str = ""
    roles: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    clusters: tuple[int, ...] = ()
    equivalent: str = ""
    language: str = ""
    split: str = ""


def tidy(text: str) -> str:
    """A text as it is asked: NFC, without controls and stray bidi marks; line breaks stay."""
    return "\n".join(show(line, joiners=True) for line in text.strip().splitlines())


def finish(drafts: Sequence[Draft], language: Language) -> tuple[Question, ...]:
    """Questions with an id and a group each.

    An id that is missing follows from what is asked; one that came before gets a number. The group is the file's own,
    else the questions that share a right option, by its key, form one.

    Raises:
        BenchmarkError: A question has no text, fewer than two options, or lists of other lengths than its options.
    """
    seen: collections.Counter[str] = collections.Counter()
    groups = _groups([[key(draft.options[place], language) for place in draft.gold] for draft in drafts])
    questions = []
    for draft, group in zip(drafts, groups, strict=True):
        _check(draft)
        name = draft.id or "q" + digest(draft.scenario, draft.options, size=8)
        seen[name] += 1
        questions.append(
            Question(
                id=name if seen[name] == 1 else f"{name}#{seen[name]}",
                scenario=draft.scenario,
                options=draft.options,
                gold=draft.gold,
                group=draft.group or "g" + digest(group, size=8),
                names=draft.names,
                roles=draft.roles,
                clusters=draft.clusters,
                equivalent=draft.equivalent,
                split=draft.split,
            )
        )
    return tuple(questions)


def _check(draft: Draft) -> None:
    if not draft.scenario:
        raise BenchmarkError(f"{draft.place}: the question has no text", hint=_MEND)
    check_options(draft.place, draft.options)
    if len(draft.gold) == len(draft.options):
        raise BenchmarkError(f"{draft.place}: every option is right, so that nothing is asked", hint=_MEND)
    marked = tuple(place for place, role in enumerate(draft.roles) if role == "gold")
    if marked and marked != draft.gold:
        raise BenchmarkError(
            f"{draft.place}: the answers are {list(draft.gold)} (from 0), but the roles mark {list(marked)} as gold",
            hint="mend the one or the other",
        )
    for what in ("roles", "names", "clusters"):
        if (listed := getattr(draft, what)) and len(listed) != len(draft.options):
            raise BenchmarkError(f"{draft.place}: {len(draft.options)} options, but {len(listed)} {what}: {listed!r}")


def check_options(place: str, options: Sequence[str]) -> None:
    """Raise `BenchmarkError` unless there are two options or more, none of them empty."""
    if len(options) < 2 or not all(options):
        raise BenchmarkError(
            f"{place}: expected two options or more, none of them empty; found {list(options)!r}",
            hint=_MEND,
        )


def _groups(golds: Iterable[Sequence[str]]) -> list[str]:
    """For each question, the smallest of all keys that are linked to its own by sharing a question."""
    golds = list(golds)
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = name = parent[parent[name]]
        return name

    for keys in golds:
        for other in keys[1:]:
            first, second = sorted((root(keys[0]), root(other)))
            parent[second] = first
    return [root(keys[0]) for keys in golds]
