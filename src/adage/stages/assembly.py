"""Choosing the wrong options of every item, so that the options alone do not give the right one away.

The `paper` assembly takes, independently, a proverb of the gold's theme, one that resembles the scenario, and a
random one. The gold is then the natural centre of its options. The `balanced` assembly draws many option sets for
each item and keeps the one after which the golds, over all items so far, are most like any other option in
everything that can be seen without the scenario: sequential balancing by minimisation (Taves 1974, Pocock &
Simon 1975), with the gold in the part of the treated patient.

Proverbs and scenarios are taken in the order of their ids or of seeded hashes of them, never in file order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adage.records import Assembly, Role, digest

Floats = NDArray[np.floating]
Ints = NDArray[np.int64]
Reason = Literal["no_same_cluster", "no_near_match", "no_random"]

DISTRACTORS: tuple[Role, ...] = ("same_cluster", "near_match", "random")
"""Roles of the wrong options, in the order in which they are chosen and stored."""

_SHORTLIST = 20
"""Candidates per role from which the least used are taken."""
_DRAWS = 1_000
"""Option sets that the balanced assembly compares for one item."""
_CELL_LIMIT = 10.0
"""Items by which a cell may be off before it weighs no more, so that an unreachable cell does not hide the others."""
_USE_WEIGHT = 4.0
"""Weight of evenness of use against one item's worth of imbalance."""


@dataclass(frozen=True)
class Pool:
    """The proverbs that options are taken from, one array entry each."""

    ids: Sequence[str]
    group: Ints
    """Meaning group, shape (proverbs,)."""
    cluster: Ints
    """Theme cluster, 0 to k - 1, shape (proverbs,)."""
    split: Ints
    """Options come from the gold's own split, shape (proverbs,)."""
    meaning: Floats
    """Unit vectors of the explanations, shape (proverbs, dim)."""
    text: Floats
    """Unit vectors of the proverbs themselves, all that an option-only guesser can see, shape (proverbs, dim)."""
    length: Ints
    """Characters, shape (proverbs,)."""
    levels: Ints
    """Steps up the dendrogram from one cluster to another, shape (k, k); see `clustering.levels`."""


@dataclass(frozen=True)
class Stories:
    """The scenarios that items are made for, one array entry each."""

    ids: Sequence[str]
    gold: Ints
    """Index of the right proverb, shape (scenarios,)."""
    vectors: Floats
    """Unit vectors of the scenarios in the space of `Pool.meaning`, shape (scenarios, dim)."""


@dataclass(frozen=True)
class Plan:
    """How options are chosen."""

    assembly: Assembly = "balanced"
    cap: float = 1.0
    """Highest cosine of a wrong option's explanation and the gold's; see `similarity_cap`."""
    counts: Mapping[Role, int] = field(default_factory=lambda: dict.fromkeys(DISTRACTORS, 1))
    """Wrong options of each role."""
    seed: int = 0


class Pick(NamedTuple):
    """One chosen wrong option."""

    proverb: int
    role: Role
    cluster_level: int
    """Steps climbed to find it; above 0 only for a same-cluster option."""


class Usage(NamedTuple):
    """How often proverbs are wrong options, against (n_options - 1) times their uses as gold."""

    climbed: float
    """Share of the same-cluster options from outside the gold's own cluster."""
    mean_deviation: float
    """Mean of |wrong uses - target| over the proverbs, in uses."""
    max_deviation: int
    target: float
    """Mean target, in uses: the scale of the two deviations."""


@dataclass(frozen=True)
class Assembled:
    """The outcome for every scenario, in the order given."""

    options: list[tuple[Pick, ...] | Reason]
    """The wrong options, or the role that could not be filled."""
    usage: Usage


def similarity_cap(meaning: Floats, group: Ints, quantile: float, *, seed: int = 0, pairs: int = 1_000_000) -> float:
    """The `quantile` of the cosines of explanations of different meaning groups in this corpus and encoder.

    Exact while there are at most `pairs` pairs, from a seeded sample above. Encoders differ in where the cosines of
    unrelated texts lie (.75 to .9 for e5), so only a percentile can say what is too close.

    Raises:
        ValueError: All proverbs are of one meaning group.
    """
    n = len(group)
    if n * (n - 1) // 2 <= pairs:
        first, second = np.triu_indices(n, 1)
    else:
        first, second = np.random.default_rng(seed).integers(n, size=(2, pairs))
    apart = group[first] != group[second]
    if not apart.any():
        raise ValueError("a similarity cap needs proverbs of at least two meaning groups")
    cosines = np.concatenate([
        np.einsum("ij,ij->i", meaning[first[part]], meaning[second[part]])
        for part in np.array_split(np.flatnonzero(apart), 1 + apart.sum() // 50_000)
    ])
    return float(np.quantile(cosines, quantile))


def assemble(pool: Pool, stories: Stories, plan: Plan) -> Assembled:
    """Choose the wrong options of every scenario under `plan`.

    Wrong options are of other meaning groups than the gold and than one another, come from the gold's split, and
    their explanations are no closer to the gold's than the cap. A same-cluster option is of the gold's cluster or,
    where none there is eligible, of the clusters that join it first up the dendrogram; a near match is of another
    cluster and among the most similar to the scenario, but less so than the gold; a random one is of another cluster.
    Use is kept even softly: each proverb should be wrong (n_options - 1) times as often as it is right.
    """
    options: list[tuple[Pick, ...] | Reason] = ["no_same_cluster"] * len(stories.gold)
    used = np.zeros(len(pool.ids), dtype=np.int64)
    target = sum(plan.counts.values()) * np.bincount(stories.gold, minlength=len(pool.ids))
    by_id = np.array(sorted(range(len(pool.ids)), key=pool.ids.__getitem__), dtype=np.int64)
    turn = sorted(range(len(stories.gold)), key=lambda row: digest(plan.seed, "assembly", stories.ids[row]))
    for split in np.unique(pool.split[stories.gold]):
        members = by_id[pool.split[by_id] == split]
        table = _Table(pool, members, target[members], plan)
        for row in turn:
            gold = int(stories.gold[row])
            if pool.split[gold] == split:
                options[row] = table.deal(gold, stories.vectors[row], stories.ids[row])
        used[members] = table.used
    picks = [pick for chosen in options if not isinstance(chosen, str) for pick in chosen]
    climbs = [pick.cluster_level > 0 for pick in picks if pick.role == "same_cluster"]
    off = np.abs(used - target)
    climbed = float(np.mean(climbs)) if climbs else 0.0
    return Assembled(options, Usage(climbed, float(off.mean()), int(off.max(initial=0)), float(target.mean())))


class _Candidates(NamedTuple):
    """Eligible wrong options of one item by role, as local numbers, best first."""

    same: Ints
    """In other meaning groups, nearest clusters first, then least used."""
    level: Ints
    """Steps climbed to each of `same`."""
    near: Ints
    """The least used of the shortlist of those most similar to the scenario."""
    far: Ints
    """Of any other cluster, least used first."""


class _Table:
    """The items of one split while they are dealt: its proverbs, their use so far, and the balance so far.

    Proverbs have local numbers here, their ranks by id within the split.
    """

    def __init__(self, pool: Pool, members: Ints, target: Ints, plan: Plan) -> None:
        self.plan = plan
        self.members = members
        self.local = {int(member): number for number, member in enumerate(members)}
        self.group, self.cluster, self.length = pool.group[members], pool.cluster[members], pool.length[members]
        self.meaning, self.text = pool.meaning[members], pool.text[members]
        self.levels = pool.levels
        self.mean, self.spread = [], []
        for vectors in (self.meaning, self.text):
            some = vectors[:: 1 + len(vectors) // 1000]
            c = (some @ some.T)[np.triu_indices(len(some), 1)]
            self.mean.append(c.mean())
            self.spread.append(c.std())
        self.target = target
        self.used = np.zeros(len(members), dtype=np.int64)
        self.balance = _Balance(1 + sum(plan.counts.values()))

    def deal(self, proverb: int, story: Floats, story_id: str) -> tuple[Pick, ...] | Reason:
        """Choose the wrong options of one item and record their use."""
        rng = np.random.default_rng(int(digest(self.plan.seed, "options", story_id), 16))
        gold = self.local[proverb]
        candidates = self._candidates(gold, story, rng)
        chosen = self._independently(gold, candidates)
        if isinstance(chosen, str):
            return chosen
        if self.plan.assembly == "balanced":
            sets = self._draw(gold, chosen, candidates, rng)
            cells = self._cells(sets)
            load = (self.used / np.maximum(self.target, 1))[sets[:, 1:]].mean(axis=1)
            best = int(np.argmin(self.balance.cost(cells) + _USE_WEIGHT * load))
            chosen = sets[best, 1:]
            self.balance.add([cell[best] for cell in cells])
        self.used[chosen] += 1
        steps = self.levels[self.cluster[gold], self.cluster[chosen]]
        return tuple(
            Pick(int(self.members[number]), role, int(step) if role == "same_cluster" else 0)
            for number, role, step in zip(chosen, self._roles(), steps, strict=True)
        )

    def _roles(self) -> list[Role]:
        return [role for role in DISTRACTORS for _ in range(self.plan.counts.get(role, 0))]

    def _candidates(self, gold: int, story: Floats, rng: np.random.Generator) -> _Candidates:
        to_story, to_gold = (self.meaning @ np.stack([story, self.meaning[gold]], axis=1)).T
        eligible = (self.group != self.group[gold]) & (to_gold <= self.plan.cap)
        level = self.levels[self.cluster[gold], self.cluster]
        order = np.lexsort((rng.permutation(len(level)), self.used / np.maximum(self.target, 1)))
        order = order[eligible[order]]
        same = order[np.argsort(level[order], kind="stable")]
        far = order[self.cluster[order] != self.cluster[gold]]
        below = far[to_story[far] < to_story[gold]]
        similar = np.sort(np.argsort(-to_story[below], kind="stable")[:_SHORTLIST])
        return _Candidates(same, level[same], below[similar], far)

    def _independently(self, gold: int, candidates: _Candidates) -> Ints | Reason:
        """The first candidate of each role whose meaning group is still free, or the reason why there is none."""
        taken, chosen = [self.group[gold]], []
        for role in self._roles():
            pool = {"same_cluster": candidates.same, "near_match": candidates.near, "random": candidates.far}[role]
            free = pool[~np.isin(self.group[pool], taken)]
            if not free.size:
                reasons: dict[Role, Reason] = {
                    "same_cluster": "no_same_cluster",
                    "near_match": "no_near_match",
                    "random": "no_random",
                }
                return reasons[role]
            chosen.append(int(free[0]))
            taken.append(self.group[free[0]])
        return np.array(chosen)

    def _draw(self, gold: int, chosen: Ints, candidates: _Candidates, rng: np.random.Generator) -> Ints:
        """Option sets (sets, n) to compare: the gold first; the first set holds the `chosen` options."""
        columns = [np.full(_DRAWS, gold)]
        near = -1
        for number, role in zip(chosen, self._roles(), strict=True):
            if role == "same_cluster":
                level = self.levels[self.cluster[gold], self.cluster[number]]
                columns.append(rng.choice(candidates.same[candidates.level == level][:_SHORTLIST], _DRAWS))
            elif role == "near_match":
                columns.append(rng.choice(candidates.near, _DRAWS))
                near = len(columns) - 1
            else:
                column = rng.choice(candidates.far[:_SHORTLIST], _DRAWS)
                if near > 0:
                    beside = self.cluster[columns[near]]
                    beside[_DRAWS // 2 :] = -1
                    for cluster in np.unique(beside[: _DRAWS // 2]):
                        there = candidates.far[self.cluster[candidates.far] == cluster][:_SHORTLIST]
                        rows = np.flatnonzero(beside == cluster)
                        column[rows] = rng.choice(there, rows.size)
                columns.append(column)
        sets = np.stack(columns, axis=1)
        sets[0, 1:] = chosen
        groups = np.sort(self.group[sets], axis=1)
        return sets[(groups[:, 1:] != groups[:, :-1]).all(axis=1)]

    def _cells(self, sets: Ints) -> list[Ints]:
        """What a guesser without the scenario can tell of each option of each set: numbers of shape (sets, n)."""
        names, sets = np.unique(sets, return_inverse=True)
        n = sets.shape[1]
        cells = []
        for vectors, mean, spread in zip((self.meaning, self.text), self.mean, self.spread, strict=True):
            rows = vectors[names]
            cosines = ((rows @ rows.T - mean) / spread)[sets[:, :, None], sets[:, None, :]]
            cosines[:, np.arange(n), np.arange(n)] = 0.0
            centrality = cosines.sum(axis=2) / np.sqrt(n - 1)
            cosines[:, np.arange(n), np.arange(n)] = -np.inf
            nearness = cosines.max(axis=2)
            central, near = _ranks(centrality), _ranks(nearness)
            cells += [central, near, central * n + near, central * 16 + _bins(centrality), near * 16 + _bins(nearness)]
        cells.append(cells[0] * n + cells[5])
        cluster = self.cluster[names][sets]
        cells.append((cluster[:, :, None] == cluster[:, None, :]).sum(axis=2) - 1)
        length = self.length[names][sets]
        longer = _ranks(length)
        cells += [longer, longer * 16 + _bins(2*np.log2(length / length.mean(axis=1, keepdims=True)))]
        return cells


def _bins(x: Floats) -> Ints:
    return np.clip(np.rint(2 * x) + 8, 0, 15).astype(np.int64)


class _Balance:
    """By how many items the golds are ahead of what they would be if any option were as likely to be the gold.

    For every feature and each of its values: the items whose gold has the value, less the n-th part of the options
    that have it.
    """

    def __init__(self, n: int) -> None:
        self.ahead = [np.zeros(n*16) for _ in range(14)]

    def cost(self, cells: Sequence[Ints]) -> Floats:
        """How much each option set (sets,) would add to what is ahead already; below 0 where it makes up for it."""
        cost = np.zeros(len(cells[0]))
        for ahead, cell in zip(self.ahead, cells, strict=True):
            weight = np.clip(ahead, -_CELL_LIMIT, _CELL_LIMIT)[cell]
            cost += weight[:, 0] - weight.mean(axis=1)
        return cost

    def add(self, cells: Sequence[Ints]) -> None:
        """Record the chosen set's value of each feature, (n,) each."""
        for ahead, cell in zip(self.ahead, cells, strict=True):
            ahead[cell[0]] += 1.0
            np.subtract.at(ahead, cell, 1.0 / cell.size)


def _ranks(scores: NDArray[np.generic]) -> Ints:
    """How many options of the same set (sets, n) score higher; equal ones share a rank."""
    ranks: Ints = (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
    return ranks
