"""Stage 1: rows of a corpus → distinct proverbs in meaning groups; nothing vanishes.

Equal keys merge into one proverb with all explanations. Near duplicates, proverbs that share a usable explanation and
proverbs that the corpus marks are not merged: they form one meaning group.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence

from adage.corpus.dedupe import explained, meaning_groups, merge_keys
from adage.language import Language
from adage.recipe import Acquire as AcquireRecipe
from adage.records import Check, Proverb, RawRow, Record, proverb_id, seal
from adage.stage import Dropped, Kept, Outcome, Stage
from adage.text.unicode import key


class Leader(Record, frozen=True, kw_only=True):
    """What a row that others merged into, or that shares its meaning, becomes."""

    id: str
    group: str
    explanations: tuple[str, ...] = ()
    """Its own and those of the merged rows, best first, without repeats."""
    merged: tuple[str, ...] = ()
    """Places of the merged rows."""
    equivalent: str = ""
    variety: str = ""
    """Its own; where it has none, that of the first merged row that has. Likewise `equivalent`."""
    flags: tuple[str, ...] = ()


class Acquired(Record, frozen=True, kw_only=True):
    """Which rows stay, what merges into what, and which groups look suspicious."""

    leaders: dict[str, Leader] = {}
    """Row number → what the row becomes."""
    merged_into: dict[str, str] = {}
    """Row number → id of the proverb that the row merges into."""
    large_groups: dict[str, int] = {}
    """Meaning group → size, above `max_group`."""
    groups: int = 0
    """Meaning groups in all."""
    explained: int = 0
    """Proverbs with a usable explanation."""
    flags: dict[str, int] = {}
    """Kind of problem that does not reject → proverbs that have it."""


class Acquire(Stage[RawRow, RawRow, Acquired, Proverb]):
    """Merges equal proverbs and finds meaning groups."""

    name = "acquire"
    number = "1"
    version = 1
    row = RawRow
    slim = RawRow
    context = Acquired
    out = Proverb

    def __init__(self, options: AcquireRecipe, *, language: Language) -> None:
        self._options, self._language = options, language

    def settings(self) -> object:
        """Thresholds and the language pack (its folds make the keys)."""
        return {"options": self._options.model_dump(mode="json"), "language": self._language}

    def key(self, row: RawRow) -> str:
        """The row's place in the file."""
        return row.place

    async def prepare(self, rows: Iterable[RawRow], previous: Acquired | None) -> Acquired:  # noqa: ARG002
        """Merge by key and group by meaning."""
        good = [row for row in rows if not row.rejected]
        keys = [key(row.text, self._language) for row in good]
        target = merge_keys(keys, [explained(row) for row in good])
        members: dict[int, list[int]] = collections.defaultdict(list)
        for i, leader in enumerate(target):
            members[leader].append(i)
        order = sorted(members)
        explanations = {leader: _explanations(good[leader], [good[i] for i in members[leader]]) for leader in order}
        groups = meaning_groups(
            [keys[leader] for leader in order],
            [[key(text, self._language) for text in explanations[leader]] for leader in order],
            [next((good[i].group for i in members[leader] if good[i].group), "") for leader in order],
            threshold=self._options.near_duplicate,
        )
        ids = [proverb_id(self._language.code, keys[leader]) for leader in order]
        name_of: dict[int, str] = {}
        for name, group in zip(ids, groups, strict=True):
            name_of[group] = min(name, name_of.get(group, name))
        leaders, merged_into = {}, {}
        for i, leader in enumerate(order):
            others = [good[j] for j in members[leader] if j != leader]
            leaders[str(good[leader].number)] = Leader(
                id=ids[i],
                group=name_of[groups[i]],
                explanations=explanations[leader],
                merged=tuple(row.place for row in others),
                equivalent=next((row.equivalent for row in (good[leader], *others) if row.equivalent), ""),
                variety=next((row.variety for row in (good[leader], *others) if row.variety), ""),
                flags=tuple(sorted({flag for j in members[leader] for flag in good[j].flags})),
            )
            merged_into.update({str(row.number): ids[i] for row in others})
        sizes = collections.Counter(leader.group for leader in leaders.values())
        large = {group: n for group, n in sorted(sizes.items()) if n > self._options.max_group}
        flags = collections.Counter(
            kind for leader in leaders.values() for kind in {flag.partition(":")[0] for flag in leader.flags}
        )
        return Acquired(
            leaders=leaders,
            merged_into=merged_into,
            large_groups=large,
            groups=len(sizes),
            explained=sum(bool(leader.explanations) for leader in leaders.values()),
            flags=dict(sorted(flags.items())),
        )

    def remarks(self, context: Acquired) -> Sequence[str]:
        """Groups, explanations and flags, and meaning groups that look too large to be true."""
        size = f"{len(context.leaders)} proverbs in {context.groups} meaning groups"
        found = [f"{size}; {context.explained} have a usable explanation"]
        if context.flags:
            found.append("flagged: " + ", ".join(f"{kind} {n}" for kind, n in context.flags.items()))
        return found + [
            f"meaning group {group} has {size} proverbs: check with `adage show` that they mean the same"
            for group, size in context.large_groups.items()
        ]

    async def apply(self, row: RawRow, context: Acquired, attempt: int) -> Outcome:  # noqa: ARG002
        """The proverb, or why the row is none of its own."""
        if row.rejected:
            reason, _, evidence = row.rejected.partition(":")
            return Dropped(reason=reason.strip(), evidence=evidence.strip())
        if str(row.number) in context.merged_into:
            return Dropped(reason=f"merged_into:{context.merged_into[str(row.number)]}")
        leader = context.leaders[str(row.number)]
        explanation, *alternatives = leader.explanations or ("",)
        if self._options.require_explanation and not explanation:
            return Dropped(reason="no_explanation", evidence=", ".join(leader.flags))
        proverb = Proverb(
            id=leader.id,
            language=self._language.code,
            text=row.text,
            key=key(row.text, self._language),
            explanation=explanation,
            alternatives=tuple(alternatives),
            gloss=row.gloss,
            group=leader.group,
            equivalent=leader.equivalent,
            variety=leader.variety,
            source_id=row.source_id,
            place=row.place,
            merged=leader.merged,
            checks=tuple(Check(name=flag.partition(":")[0], passed=None, evidence=flag) for flag in leader.flags),
        )
        return Kept(rows=(seal(proverb),))


def _explanations(first: RawRow, rows: Sequence[RawRow]) -> tuple[str, ...]:
    """Distinct explanations of merged rows, the leader's own first."""
    return tuple(dict.fromkeys(text for row in (first, *rows) for text in row.explanations))
