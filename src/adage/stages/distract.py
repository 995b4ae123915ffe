"""Stage 5: wrong options by role, from the item's own split, so that the options alone give nothing away.

The choosing itself is `assembly.py`; this module brings the rows into arrays and the choice into records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from adage.errors import LimitReached, StageError
from adage.models.base import Embedder
from adage.recipe import Audit, Shares
from adage.recipe import Distract as DistractRecipe
from adage.records import Assembly, Check, Item, Option, Record, Role, Scenario, Split, item_id, seal
from adage.stage import Dropped, Estimate, Kept, Outcome, Stage
from adage.stages.assembly import Assembled, Plan, Pool, Stories, assemble, similarity_cap
from adage.stages.clustering import centroids, levels, unit, ward
from adage.stages.splits import SPLITS, conflicts, splits

_DIGITS = 4


class Slim(Record, frozen=True, kw_only=True):
    """The columns of a scenario that the choice of options needs."""

    id: str
    proverb_id: str
    proverb: str
    explanation: str = ""
    group: str
    cluster: int
    text: str
    checks: tuple[Check, ...] = ()


class Chosen(Record, frozen=True, kw_only=True):
    """The wrong options of one scenario in one assembly, or why there are none."""

    options: tuple[tuple[int, Role, int, float, float], ...] = ()
    """(proverb number, role, cluster level, cosine with the scenario, cosine with the gold's explanation)."""
    cos_own: float = 0.0
    """Cosine of the scenario and the gold's explanation."""
    missing: str = ""


class Usage(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How evenly proverbs serve as wrong options in one assembly."""

    climbed: float
    """Share of same-cluster options from outside the gold's own cluster."""
    mean_deviation: float
    max_deviation: int
    target: float
    """Mean wrong uses wanted of a proverb."""


class Entry(Record, frozen=True, kw_only=True):
    """A proverb of the pool, as options need it."""

    id: str
    text: str
    group: str
    cluster: int


class DistractContext(Record, frozen=True, kw_only=True):
    """The whole assignment: pool, splits, and the options of every scenario by assembly."""

    pool: tuple[Entry, ...] = ()
    split_of: dict[str, Split] = {}
    chosen: dict[str, dict[str, Chosen]] = {}
    """Assembly → scenario id → choice."""
    usage: dict[str, Usage] = {}
    """Assembly → evenness of use."""
    cap: float = 1.0
    """Cosine of explanations above which a proverb is too like the gold to be a wrong option."""
    conflicts: dict[str, tuple[str, ...]] = {}
    """Meaning groups whose members were released in several splits, with these splits."""


class Distract(Stage[Scenario, Slim, DistractContext, Item]):
    """Assembles items: one scenario in, one item per assembly out."""

    name = "distract"
    number = "5"
    version = 1
    row = Scenario
    slim = Slim
    context = DistractContext
    out = Item

    def __init__(
        self,
        options: DistractRecipe,
        *,
        audit: Audit,
        n_rejected: int = 0,
        shares: Shares,
        min_groups: int,
        lock: Mapping[str, Split],
        encoder: Embedder,
        language: str,
        seed: int,
    ) -> None:
        self._options, self._audit, self._encoder = options, audit, encoder
        self._n_rejected = n_rejected
        self._shares, self._min_groups, self._lock = shares, min_groups, dict(lock)
        self._language, self._seed = language, seed

    def settings(self) -> object:
        """Numbers per role, assemblies, split shares, encoder and seed."""
        return {
            "options": self._options.model_dump(mode="json"),
            "audit": {"require": self._audit.require, "sample": self._audit.sample, "rejected": self._n_rejected},
            "shares": self._shares.model_dump(mode="json"),
            "min_groups": self._min_groups,
            "lock": self._lock,
            "encoder": self._encoder.id,
            "language": self._language,
            "seed": self._seed,
        }

    def estimate(self, n_rows: int) -> Estimate:
        """One item a scenario and assembly."""
        return Estimate(calls=0, rows=n_rows * len(self._options.assembly))

    async def prepare(self, rows: Iterable[Slim], previous: DistractContext | None) -> DistractContext:  # noqa: ARG002
        """Choose the options of all scenarios together.

        Raises:
            LimitReached: the audit that the recipe requires is not there.
            StageError: there are too few proverbs to choose from.
        """
        scenarios = list(rows)
        require_audit(self._audit, [scenario.checks for scenario in scenarios], "scenarios", rejected=self._n_rejected)
        if not scenarios:
            return DistractContext()
        by_id = {scenario.proverb_id: scenario for scenario in scenarios}
        proverbs = [by_id[name] for name in sorted(by_id)]
        groups = sorted({proverb.group for proverb in proverbs})
        if len(groups) < 2:
            raise StageError(
                "all scenarios belong to one meaning group: there is nothing to take wrong options from",
                hint="add proverbs with other lessons, or look at the drops of the filter with: adage status",
            )
        members: dict[str, list[str]] = {group: [] for group in groups}
        for proverb in proverbs:
            members[proverb.group].append(proverb.proverb_id)
        split_of = splits(members, self._shares, self._min_groups, self._lock)
        pool, stories = await self._arrays(proverbs, scenarios, split_of)
        cap = similarity_cap(pool.meaning, pool.group, self._options.max_similarity, seed=self._seed)
        counts: dict[Role, int] = {
            "same_cluster": self._options.same_cluster,
            "near_match": self._options.near_match,
            "random": self._options.random,
        }
        chosen: dict[str, dict[str, Chosen]] = {}
        usage: dict[str, Usage] = {}
        for assembly in self._options.assembly:
            assembled = assemble(pool, stories, Plan(assembly=assembly, cap=cap, counts=counts, seed=self._seed))
            chosen[assembly] = _choices(pool, stories, assembled)
            usage[assembly] = Usage(
                climbed=round(assembled.usage.climbed, _DIGITS),
                mean_deviation=round(assembled.usage.mean_deviation, _DIGITS),
                max_deviation=assembled.usage.max_deviation,
                target=round(assembled.usage.target, _DIGITS),
            )
        return DistractContext(
            pool=tuple(
                Entry(id=row.proverb_id, text=row.proverb, group=row.group, cluster=row.cluster) for row in proverbs
            ),
            split_of=split_of,
            chosen=chosen,
            usage=usage,
            cap=round(cap, _DIGITS),
            conflicts=conflicts(members, self._lock),
        )

    def remarks(self, context: DistractContext) -> Sequence[str]:
        """Evenness of use, and how many options had to come from a neighbouring cluster."""
        uses = [
            f"{assembly}: a proverb is a wrong option {use.target:.1f} times, off by {use.mean_deviation:.1f}, "
            f"at most by {use.max_deviation}; {use.climbed:.0%} of same-cluster options from a neighbouring cluster"
            for assembly, use in context.usage.items()
        ]
        return uses + [
            f"meaning group {group} was released in the splits {' and '.join(released)}: it is now in "
            f"{context.split_of[group]} alone"
            for group, released in context.conflicts.items()
        ]

    async def _arrays(
        self, proverbs: Sequence[Slim], scenarios: Sequence[Slim], split_of: Mapping[str, Split]
    ) -> tuple[Pool, Stories]:
        number = {proverb.proverb_id: i for i, proverb in enumerate(proverbs)}
        meaning = unit(await self._encoder.embed([proverb.explanation or proverb.proverb for proverb in proverbs]))
        _, group = np.unique([proverb.group for proverb in proverbs], return_inverse=True)
        # Clusters are numbered afresh here: a cluster whose scenarios were all dropped holds no option.
        _, cluster = np.unique([proverb.cluster for proverb in proverbs], return_inverse=True)
        n_clusters = int(cluster.max()) + 1
        climb = np.zeros((1, 1), dtype=np.int64)
        if n_clusters > 1:
            climb = levels(ward(centroids(meaning, cluster)), np.arange(n_clusters))
        pool = Pool(
            ids=[proverb.proverb_id for proverb in proverbs],
            group=group,
            cluster=cluster,
            split=np.array([SPLITS.index(split_of[proverb.group]) for proverb in proverbs]),
            meaning=meaning,
            text=unit(await self._encoder.embed([proverb.proverb for proverb in proverbs])),
            length=np.array([len(proverb.proverb) for proverb in proverbs]),
            levels=climb,
        )
        stories = Stories(
            ids=[scenario.id for scenario in scenarios],
            gold=np.array([number[scenario.proverb_id] for scenario in scenarios]),
            vectors=unit(await self._encoder.embed([scenario.text for scenario in scenarios])),
        )
        return pool, stories

    async def apply(self, row: Scenario, context: DistractContext, attempt: int) -> Outcome:  # noqa: ARG002
        """The scenario's items, gold first; dropped where a role cannot be filled in any assembly."""
        missing = ""
        items = []
        for assembly in self._options.assembly:
            chosen = context.chosen[assembly][row.id]
            if chosen.missing:
                missing = chosen.missing
            else:
                items.append(self._item(row, chosen, context, assembly))
        if not items:
            return Dropped(reason=missing, evidence="no eligible proverb of that role in the split")
        return Kept(rows=tuple(items), short=len(self._options.assembly) - len(items))

    def _item(self, row: Scenario, chosen: Chosen, context: DistractContext, assembly: Assembly) -> Item:
        gold = Option(
            proverb_id=row.proverb_id,
            text=row.proverb,
            role="gold",
            group=row.group,
            cluster=row.cluster,
            cos_scenario=chosen.cos_own,
            cos_gold=1.0,
            length_ratio=1.0,
        )
        options = [gold]
        for number, role, level, cos_scenario, cos_gold in chosen.options:
            entry = context.pool[number]
            options.append(
                Option(
                    proverb_id=entry.id,
                    text=entry.text,
                    role=role,
                    group=entry.group,
                    cluster=entry.cluster,
                    cluster_level=level,
                    cos_scenario=cos_scenario,
                    cos_gold=cos_gold,
                    length_ratio=round(len(entry.text) / len(row.proverb), _DIGITS),
                )
            )
        item = Item(
            id=item_id(row.id, [option.proverb_id for option in options], assembly),
            assembly=assembly,
            language=self._language,
            scenario_id=row.id,
            scenario=row.text,
            proverb_id=row.proverb_id,
            group=row.group,
            equivalent=row.equivalent,
            by=row.by,
            options=tuple(options),
            split=context.split_of[row.group],
            source_id=row.source_id,
            checks=row.checks,
        )
        return seal(item)


def _choices(pool: Pool, stories: Stories, assembled: Assembled) -> dict[str, Chosen]:
    choices = {}
    for i, (name, picks) in enumerate(zip(stories.ids, assembled.options, strict=True)):
        gold = int(stories.gold[i])
        if isinstance(picks, str):
            choices[name] = Chosen(missing=picks)
            continue
        to_scenario = pool.meaning @ stories.vectors[i]
        to_gold = pool.meaning @ pool.meaning[gold]
        choices[name] = Chosen(
            options=tuple(
                (
                    pick.proverb,
                    pick.role,
                    pick.cluster_level,
                    round(float(to_scenario[pick.proverb]), _DIGITS),
                    round(float(to_gold[pick.proverb]), _DIGITS),
                )
                for pick in picks
            ),
            cos_own=round(float(to_scenario[gold]), _DIGITS),
        )
    return choices


def require_audit(audit: Audit, checks: Sequence[Sequence[Check]], what: str, *, rejected: int = 0) -> None:
    """Stop where native speakers' verdicts are required and missing; `rejected` rows are gone, but count for a sample.

    Raises:
        LimitReached: fewer rows carry an `audit` check than `audit.require` asks for.
    """
    if audit.require == "none":
        return
    judged = sum(any(check.name == "audit" for check in row) for row in checks)
    needed = len(checks) if audit.require == "all" else min(audit.sample, len(checks) + rejected) - rejected
    if judged < needed:
        raise LimitReached(
            f"the recipe requires an audit: {judged} of {len(checks)} {what} carry a verdict, {needed} are needed",
            hint=f"have native speakers judge them, name the verdict files under audit.{what}, and build again",
        )
