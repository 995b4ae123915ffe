"""Choosing the wrong options of every item, so that the options alone do not give the right one away.

The `paper` assembly takes, each by itself, a proverb of the gold's theme, one that resembles the scenario, and a
random one. The gold is then the natural centre of its options. The `balanced` assembly draws many option sets for
each item and keeps the one that brings the golds of all items so far closest to being like any other option, in
everything that can be seen without the scenario. This is sequential balancing by minimisation (Taves 1974, Pocock &
Simon 1975), with the gold in the part of the treated patient.

Proverbs are taken in the order of their ids and scenarios in that of a seeded hash of theirs, never in file order.
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

_REASONS: dict[Role, Reason] = {
    "same_cluster": "no_same_cluster",
    "near_match": "no_near_match",
    "random": "no_random",
}
_SHORTLIST = 20
"""Candidates per role among which use may decide."""
_NEIGHBOURS = 10
"""Candidates for the random option from the cluster of one near match."""
_DRAWS = 500
"""Option sets that the balanced assembly compares for one item."""
_LIMIT = 10.0
"""Items beyond which an imbalance weighs no more, so that one that cannot be mended does not drown the others."""
_USE = 4
"""Weight of one use too many, beside that of a feature that is off by one item: how often a proverb is an option can
be counted by anybody who has the benchmark."""
_THEME = 12
"""Weight of sharing a theme with another option, which any reader sees, beside 1 for each other feature."""
_BINS = 16
"""Cells of a binned quantity, each half a standard deviation wide."""


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
    """Unit vectors of the proverbs themselves, which an option-only guesser can see, shape (proverbs, dim)."""
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

    def roles(self) -> list[Role]:
        """The role of each wrong option."""
        return [role for role in DISTRACTORS for _ in range(self.counts.get(role, 0))]


class Pick(NamedTuple):
    """One chosen wrong option."""

    proverb: int
    """Index in the pool."""
    role: Role
    cluster_level: int
    """Steps climbed up the dendrogram to find it; above 0 only for a same-cluster option."""


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
    apart = np.flatnonzero(group[first] != group[second])
    if not apart.size:
        raise ValueError("a similarity cap needs proverbs of at least two meaning groups")
    parts = np.array_split(apart, 1 + apart.size // 50_000)
    cosines = [np.einsum("ij,ij->i", meaning[first[part]], meaning[second[part]]) for part in parts]
    return float(np.quantile(np.concatenate(cosines), quantile))


def assemble(pool: Pool, stories: Stories, plan: Plan) -> Assembled:
    """Choose the wrong options of every scenario under `plan`.

    Wrong options are of other meaning groups than the gold and than one another, come from the gold's split, and
    their explanations are no closer to the gold's than the cap. A same-cluster option is of the gold's cluster or,
    where none there is eligible, of the clusters that first join it up the dendrogram; a near match is of another
    cluster and among the most similar to the scenario, but less so than the gold; a random one is of another cluster.
    Use is kept even softly: each proverb should be wrong (n_options - 1) times as often as it is right.
    """
    size = len(pool.ids)
    options: list[tuple[Pick, ...] | Reason] = ["no_same_cluster"] * len(stories.gold)
    by_id = np.array(sorted(range(size), key=pool.ids.__getitem__), dtype=np.int64)
    hashes = [digest(plan.seed, "turn", story) for story in stories.ids]
    for split in np.unique(pool.split[stories.gold]):
        turn = sorted(np.flatnonzero(pool.split[stories.gold] == split).tolist(), key=hashes.__getitem__)
        table = _Table(pool, by_id[pool.split[by_id] == split], stories.gold[turn], plan)
        for row in turn:
            options[row] = table.deal(int(stories.gold[row]), stories.vectors[row], stories.ids[row])
    made = [row for row, chosen in enumerate(options) if not isinstance(chosen, str)]
    picks = [pick for chosen in options if not isinstance(chosen, str) for pick in chosen]
    target = len(plan.roles()) * np.bincount(stories.gold[made], minlength=size)
    off = np.abs(np.bincount(np.array([pick.proverb for pick in picks], dtype=np.int64), minlength=size) - target)
    climbs = [pick.cluster_level > 0 for pick in picks if pick.role == "same_cluster"]
    climbed = float(np.mean(climbs)) if climbs else 0.0
    return Assembled(options, Usage(climbed, float(off.mean()), int(off.max()), float(target.mean())))


class _Candidates(NamedTuple):
    """Eligible wrong options of one item by role, as local numbers, best first."""

    same: Ints
    """Nearest clusters first, then least used."""
    level: Ints
    """Steps climbed to each of `same`."""
    near: Ints
    """The shortlist of those most similar to the scenario, least used first."""
    far: Ints
    """Of any cluster but the gold's, least used first."""


class _Table:
    """The items of one split while they are dealt: its proverbs, their use so far, and the balance so far.

    Proverbs have local numbers here, their ranks by id within the split.
    """

    def __init__(self, pool: Pool, members: Ints, golds: Ints, plan: Plan) -> None:
        self.plan = plan
        self.members = members
        self.local = {int(member): number for number, member in enumerate(members)}
        self.group, self.cluster = pool.group[members], pool.cluster[members]
        self.levels = pool.levels
        self.meaning, text = (vectors[members].astype(np.float32) for vectors in (pool.meaning, pool.text))
        # Wrong uses less those that would be due by now: every item makes all proverbs due for a little more.
        self.excess = np.zeros(len(members))
        self.due = len(plan.roles()) * np.bincount(golds, minlength=len(pool.ids))[members] / len(golds)
        self.view = _View(self.meaning, text, self.cluster, pool.length[members])
        self.balance = _Balance()

    def deal(self, proverb: int, story: Floats, story_id: str) -> tuple[Pick, ...] | Reason:
        """Choose the wrong options of one item and record their use."""
        rng = np.random.default_rng(int(digest(self.plan.seed, "options", story_id), 16))
        gold = self.local[proverb]
        candidates = self._candidates(gold, story, rng)
        chosen = self._each_by_itself(gold, candidates)
        if isinstance(chosen, str):
            return chosen
        if self.plan.assembly == "balanced":
            sets = self._draw(gold, chosen, candidates, rng)
            cells = self.view.cells(sets)
            best = int(np.argmin(self.balance.cost(cells) + _USE * self.excess[sets[:, 1:]].sum(axis=1)))
            chosen = sets[best, 1:]
            self.balance.add([cell[best] for cell in cells])
        self.excess[chosen] += 1.0
        self.excess -= self.due
        steps = self.levels[self.cluster[gold], self.cluster[chosen]]
        return tuple(
            Pick(int(self.members[number]), role, int(step) if role == "same_cluster" else 0)
            for number, role, step in zip(chosen, self.plan.roles(), steps, strict=True)
        )

    def _candidates(self, gold: int, story: Floats, rng: np.random.Generator) -> _Candidates:
        to_story, to_gold = _cosines(self.meaning, np.stack([story.astype(np.float32), self.meaning[gold]]))
        eligible = (self.group != self.group[gold]) & (to_gold <= self.plan.cap)
        least_used = np.lexsort((rng.permutation(eligible.size), self.excess))
        least_used = least_used[eligible[least_used]]
        level = self.levels[self.cluster[gold], self.cluster[least_used]]
        nearest = np.argsort(level, kind="stable")
        far = least_used[self.cluster[least_used] != self.cluster[gold]]
        below = far[to_story[far] < to_story[gold]]
        similar = np.sort(np.argsort(-to_story[below], kind="stable")[:_SHORTLIST])
        return _Candidates(least_used[nearest], level[nearest], below[similar], far)

    def _each_by_itself(self, gold: int, candidates: _Candidates) -> Ints | Reason:
        """The best candidate of each role whose meaning group is still free, or the reason why there is none."""
        pools: dict[Role, Ints] = dict(
            zip(DISTRACTORS, (candidates.same, candidates.near, candidates.far), strict=True)
        )
        taken = [gold]
        for role in self.plan.roles():
            free = pools[role][~np.isin(self.group[pools[role]], self.group[taken])]
            if not free.size:
                return _REASONS[role]
            taken.append(int(free[0]))
        return np.array(taken[1:], dtype=np.int64)

    def _draw(self, gold: int, chosen: Ints, candidates: _Candidates, rng: np.random.Generator) -> Ints:
        """Option sets (sets, n) to compare, the gold first; `chosen` alone where none of the drawn ones is eligible.

        Where the gold shares its theme with an option, the first random option nearly always comes from the near
        match's cluster, so that two pairs share a theme; it may not in some sets, or a proverb alone in its cluster
        would never be wrong. Other random options come from there in half of the sets.
        """
        columns = [np.full(_DRAWS, gold)]
        neighbours = np.full(_DRAWS, -1)
        beside = _DRAWS // 2
        for number, role in zip(chosen, self.plan.roles(), strict=True):
            if role == "same_cluster":
                level = self.levels[self.cluster[gold], self.cluster[number]]
                column = rng.choice(candidates.same[candidates.level == level][:_SHORTLIST], _DRAWS)
                beside = _DRAWS * 7 // 8 if level == 0 else beside
            elif role == "near_match":
                column = rng.choice(candidates.near, _DRAWS)
                neighbours = self.cluster[column]
            else:
                column = rng.choice(candidates.far[:_SHORTLIST], _DRAWS)
                for cluster in np.unique(neighbours[neighbours >= 0]):
                    rows = np.flatnonzero(neighbours[:beside] == cluster)
                    there = candidates.far[self.cluster[candidates.far] == cluster][:_NEIGHBOURS]
                    column[rows] = rng.choice(there, rows.size)
                beside = _DRAWS // 2
            columns.append(column)
        sets = np.stack(columns, axis=1)
        groups = np.sort(self.group[sets], axis=1)
        distinct: Ints = sets[(groups[:, 1:] != groups[:, :-1]).all(axis=1)]
        return distinct if len(distinct) else np.array([[gold, *chosen]])


class _View:
    """What can be told of the options of an item without its scenario."""

    def __init__(self, meaning: Floats, text: Floats, cluster: Ints, length: Ints) -> None:
        self.cluster, self.length = cluster, length
        self.spaces = [(vectors, *_scale(vectors)) for vectors in (meaning, text)]

    def cells(self, sets: Ints) -> list[Ints]:
        """Every feature of every option of each set, as a number of a cell, shape (sets, n) each.

        First the options that share a cluster, which weigh `_THEME`. By vector space: rank and size of the mean
        similarity to the other options (what medoid and outlier go by), and of the highest (rank 0 is the closest
        pair). Then the length. The sizes matter to a guesser that learns, which could tell by how much a rank is held.
        """
        names, sets = np.unique(sets, return_inverse=True)
        n = sets.shape[1]
        own = np.arange(n)
        cells, central_ranks = [], []
        for vectors, mean, deviation in self.spaces:
            rows = vectors[names]
            cosines = ((_cosines(rows, rows) - mean) / deviation)[sets[:, :, None], sets[:, None, :]]
            cosines[:, own, own] = 0.0
            # The sum of m standardised cosines varies by about the root of m.
            centrality = cosines.sum(axis=2) / np.sqrt(n - 1)
            cosines[:, own, own] = -np.inf
            nearness = cosines.max(axis=2)
            central, near = _ranks(centrality), _ranks(nearness)
            cells += [central, near, central * n + near, _binned(central, centrality), _binned(near, nearness)]
            central_ranks.append(central)
        cells.append(central_ranks[0] * n + central_ranks[1])
        cluster = self.cluster[names][sets]
        mates = (cluster[:, :, None] == cluster[:, None, :]).sum(axis=2) - 1
        cells += [mates * n + central for central in central_ranks]
        length = self.length[names][sets]
        longer = _ranks(length)
        # In quarters of an octave, since bins are half a unit wide.
        cells += [longer, _binned(longer, 2 * np.log2(length / length.mean(axis=1, keepdims=True)))]
        return [mates, *cells]


class _Balance:
    """For each feature and cell: the golds in it less the n-th part of the options in it, over all items so far.

    It stays near 0 if the gold is as likely to be found in a cell as any other option.
    """

    def __init__(self) -> None:
        self.ahead: list[Floats] = []

    def cost(self, cells: Sequence[Ints]) -> Floats:
        """How much each option set would add to what is ahead already, shape (sets,); negative where it mends."""
        self._grow(cells)
        cost = np.zeros(len(cells[0]))
        weights = (_THEME, *(1 for _ in cells[1:]))
        for weight, ahead, cell in zip(weights, self.ahead, cells, strict=True):
            off = np.clip(ahead, -_LIMIT, _LIMIT)[cell]
            cost += weight * (off[:, 0] - off.mean(axis=1))
        return cost

    def add(self, cells: Sequence[Ints]) -> None:
        """Record the cells of the chosen set, shape (n,) for each feature."""
        for ahead, cell in zip(self.ahead, cells, strict=True):
            ahead[cell[0]] += 1.0
            np.subtract.at(ahead, cell, 1.0 / cell.size)

    def _grow(self, cells: Sequence[Ints]) -> None:
        if not self.ahead:
            n = cells[0].shape[1]
            self.ahead = [np.zeros(n * max(n, _BINS) + 1) for _ in cells]


def _cosines(vectors: Floats, others: Floats) -> Floats:
    """Dot products (others, vectors) without BLAS, whose threads cost such small products more than they bring."""
    cosines: Floats = np.einsum("vd,od->ov", vectors, others, optimize=False)
    return cosines


def _scale(vectors: Floats) -> tuple[float, float]:
    """Mean and standard deviation of the cosines of up to a thousand of the vectors."""
    some = vectors[:: 1 + len(vectors) // 1_000]
    cosines = (some @ some.T)[np.triu_indices(len(some), 1)]
    return (float(cosines.mean()), max(float(cosines.std()), 1e-6)) if cosines.size else (0.0, 1.0)


def _ranks(scores: Floats | Ints) -> Ints:
    """How many options of the same set (sets, n) score higher; equal ones share a rank."""
    ranks: Ints = (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
    return ranks


def _binned(ranks: Ints, values: Floats) -> Ints:
    """Cells of rank × size, with standardised values binned by halves and the tails thrown together."""
    bins = np.clip(np.rint(2 * values) + _BINS // 2, 0, _BINS - 1).astype(np.int64)
    cells: Ints = ranks * _BINS + bins
    return cells
