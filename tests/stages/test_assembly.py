"""The choice of options: hard rules always, even use and balance on a corpus with themes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adage.analysis.controls import Control, Options, option_only
from adage.records import Assembly, Role
from adage.stages.assembly import Assembled, Plan, Pool, Stories, assemble, similarity_cap
from adage.stages.clustering import centroids, choose_k, levels, unit, ward

Corpus = tuple[Pool, Stories]


def corpus(*, proverbs: int = 120, themes: int = 8, per_proverb: int = 2, splits: int = 1, seed: int = 0) -> Corpus:
    """Proverbs around themes, some in groups of two, with scenarios that resemble their own proverb."""
    rng = np.random.default_rng(seed)
    theme = np.arange(proverbs) % themes
    dim = 24
    meaning = unit(1.5 + rng.normal(size=(themes, dim))[theme] + 1.2 * rng.normal(size=(proverbs, dim)))
    text = unit(2.0 + 0.5 * meaning * np.sqrt(dim) + rng.normal(size=(proverbs, dim)))
    group = np.arange(proverbs)
    group[1::10] = group[::10]
    gold = np.repeat(np.arange(proverbs), per_proverb)
    pool = Pool(
        ids=[f"p{number:04d}" for number in rng.permutation(proverbs)],
        group=group,
        cluster=theme,
        split=group % splits,
        meaning=meaning,
        text=text,
        length=rng.integers(5, 40, size=proverbs),
        levels=levels(ward(centroids(meaning, theme)), np.arange(themes)),
    )
    vectors = unit(meaning[gold] + 0.12 * rng.normal(size=(gold.size, dim)))
    return pool, Stories([f"s{number}" for number in range(gold.size)], gold, vectors)


def chosen(made: Assembled, stories: Stories) -> np.ndarray:
    """Gold and wrong options of the items that were made, (items, n)."""
    rows = [(stories.gold[row], *(pick.proverb for pick in picks)) for row, picks in made_items(made)]
    return np.array(rows)


def made_items(made: Assembled) -> list:
    """(row, picks) of the scenarios that became items."""
    return [(row, picks) for row, picks in enumerate(made.options) if not isinstance(picks, str)]


def controls(made: Assembled, pool: Pool, stories: Stories) -> dict[tuple[str, str], Control]:
    """The option-only controls by guesser and space."""
    options = chosen(made, stories)
    items = Options(
        proverbs=options,
        gold=np.zeros(len(options), dtype=np.int64),
        group=pool.group[options[:, 0]],
        cluster=pool.cluster,
        length=pool.length,
        spaces={"text": pool.text, "meaning": pool.meaning},
    )
    return {(control.name, control.space): control for control in option_only(items)}


@settings(max_examples=15)
@given(
    seed=st.integers(0, 1000),
    assembly=st.sampled_from(["paper", "balanced"]),
    splits=st.integers(1, 3),
    quantile=st.floats(0.5, 1.0),
    counts=st.fixed_dictionaries({role: st.integers(1, 2) for role in ("same_cluster", "near_match", "random")}),
)
def test_every_item_keeps_the_hard_rules(
    seed: int, assembly: Assembly, splits: int, quantile: float, counts: dict[Role, int]
) -> None:
    """Groups differ, options stay in the split and under the cap, and each role is what it says, whatever the plan."""
    pool, stories = corpus(proverbs=60, themes=5, per_proverb=1, splits=splits, seed=seed)
    cap = similarity_cap(pool.meaning, pool.group, quantile)
    plan = Plan(assembly=assembly, cap=cap, counts=counts, seed=seed)
    for row, picks in made_items(assemble(pool, stories, plan)):
        gold = stories.gold[row]
        options = [gold, *(pick.proverb for pick in picks)]
        assert [pick.role for pick in picks] == plan.roles()
        assert len(set(pool.group[options])) == len(options)
        assert set(pool.split[options]) == {pool.split[gold]}
        assert (pool.meaning[options[1:]] @ pool.meaning[gold] <= cap + 1e-6).all()
        fit = pool.meaning @ stories.vectors[row]
        for pick in picks:
            if pick.role == "same_cluster":
                assert pick.cluster_level == pool.levels[pool.cluster[gold], pool.cluster[pick.proverb]]
            else:
                assert pick.cluster_level == 0
                assert pool.cluster[pick.proverb] != pool.cluster[gold]
            if pick.role == "near_match":
                assert fit[pick.proverb] < fit[gold] + 1e-6


@pytest.mark.parametrize("assembly", ["paper", "balanced"])
def test_result_does_not_depend_on_file_order(assembly: Assembly) -> None:
    """The same proverbs and scenarios in another order give every scenario the same options."""
    pool, stories = corpus()
    rng = np.random.default_rng(1)
    order, turn = rng.permutation(len(pool.ids)), rng.permutation(len(stories.ids))
    shuffled = Pool(
        ids=[pool.ids[i] for i in order],
        group=pool.group[order],
        cluster=pool.cluster[order],
        split=pool.split[order],
        meaning=pool.meaning[order],
        text=pool.text[order],
        length=pool.length[order],
        levels=pool.levels,
    )
    told = Stories([stories.ids[i] for i in turn], np.argsort(order)[stories.gold[turn]], stories.vectors[turn])
    plan = Plan(assembly=assembly, seed=3)

    def by_story(made: Assembled, pool: Pool, stories: Stories) -> dict[str, list[str]]:
        return {stories.ids[row]: [pool.ids[pick.proverb] for pick in picks] for row, picks in made_items(made)}

    first, second = assemble(pool, stories, plan), assemble(shuffled, told, plan)
    assert by_story(first, pool, stories) == by_story(second, shuffled, told)
    assert first.usage == second.usage


def test_seed_decides() -> None:
    """Another seed deals other options, the same seed the same ones."""
    pool, stories = corpus(proverbs=60)
    first, again, other = (assemble(pool, stories, Plan(seed=seed)).options for seed in (0, 0, 1))
    assert first == again != other


def test_paper_assembly_leaks_and_balanced_does_not() -> None:
    """Guessers that see only the options beat chance on the paper's assembly and not on the balanced one."""
    pool, stories = corpus(per_proverb=5)
    leaky, level = (
        controls(assemble(pool, stories, Plan(assembly=assembly)), pool, stories) for assembly in ("paper", "balanced")
    )
    assert leaky["theme_pair", "clusters"].accuracy > 0.4
    assert leaky["closest_pair", "meaning"].low > 0.25
    assert leaky["medoid", "meaning"].low > 0.25
    assert leaky["outlier", "meaning"].high < 0.25
    assert level["theme_pair", "clusters"].accuracy == pytest.approx(0.25, abs=0.005)
    for name in ("closest_pair", "medoid", "outlier"):
        for space in ("text", "meaning"):
            assert level[name, space].accuracy == pytest.approx(0.25, abs=0.02), (name, space)
    assert level["longest", "lengths"].accuracy == pytest.approx(0.25, abs=0.03)


def test_every_split_is_balanced_by_itself() -> None:
    """A benchmark is scored split by split, so no split may owe its balance to another."""
    pool, stories = corpus(proverbs=240, per_proverb=3, splits=2)
    made = assemble(pool, stories, Plan())
    for split in (0, 1):
        rows = np.flatnonzero(pool.split[stories.gold] == split)
        part = Stories([stories.ids[row] for row in rows], stories.gold[rows], stories.vectors[rows])
        found = controls(replace(made, options=[made.options[row] for row in rows]), pool, part)
        for name in ("closest_pair", "medoid", "outlier"):
            assert found[name, "meaning"].accuracy == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("assembly", ["paper", "balanced"])
def test_use_is_even(assembly: Assembly) -> None:
    """Each proverb is wrong about (n_options - 1) times as often as it is right, and the usage reports it truly."""
    pool, stories = corpus(per_proverb=4)
    made = assemble(pool, stories, Plan(assembly=assembly))
    wrong = np.bincount(chosen(made, stories)[:, 1:].ravel(), minlength=len(pool.ids))
    off = np.abs(wrong - 12)
    usage = made.usage
    assert (usage.mean_deviation, usage.max_deviation, usage.target) == (off.mean(), off.max(), 12)
    assert usage.mean_deviation < 1
    assert usage.climbed == 0


def test_proverb_alone_in_its_cluster_climbs() -> None:
    """A gold without eligible companions takes its same-cluster option from the cluster that joins it first."""
    pool, stories = corpus(themes=6)
    cluster = pool.cluster.copy()
    cluster[0] = 6
    lonely = replace(pool, cluster=cluster, levels=levels(ward(centroids(pool.meaning, cluster)), np.arange(7)))
    for assembly in ("paper", "balanced"):
        made = assemble(lonely, stories, Plan(assembly=assembly))
        same = made.options[0][0]
        assert same.role == "same_cluster"
        assert same.cluster_level == 1
        assert made.usage.climbed == pytest.approx(2 / 240)
        assert 0 in chosen(made, stories)[:, 1:], "it would be known as gold wherever it appears"


def test_roles_that_cannot_be_filled_are_named() -> None:
    """A scenario without any eligible proverb for a role is given back with that role, not with fewer options."""
    pool, stories = corpus(proverbs=12, themes=2, per_proverb=1)
    one_group = replace(pool, group=np.zeros(12, dtype=np.int64))
    assert set(assemble(one_group, stories, Plan()).options) == {"no_same_cluster"}
    one_theme = replace(pool, cluster=np.zeros(12, dtype=np.int64), levels=np.zeros((1, 1), dtype=np.int64))
    assert set(assemble(one_theme, stories, Plan()).options) == {"no_near_match"}
    without_near: dict[Role, int] = {"same_cluster": 1, "random": 1}
    assert set(assemble(one_theme, stories, Plan(counts=without_near)).options) == {"no_random"}


def test_near_match_is_among_the_most_similar_to_the_scenario() -> None:
    """Near matches come from the twenty best eligible proverbs of other clusters."""
    pool, stories = corpus()
    for row, picks in made_items(assemble(pool, stories, Plan())):
        gold = stories.gold[row]
        fit = pool.meaning @ stories.vectors[row]
        rivals = (pool.cluster != pool.cluster[gold]) & (pool.group != pool.group[gold]) & (fit < fit[gold])
        assert (fit[rivals] > fit[picks[1].proverb] + 1e-6).sum() < 20


def test_similarity_cap_is_a_quantile_of_unrelated_pairs() -> None:
    """The cap is the quantile over all pairs of different groups; a sample of pairs comes close."""
    pool, _ = corpus()
    first, second = np.triu_indices(120, 1)
    apart = pool.group[first] != pool.group[second]
    cosines = (pool.meaning @ pool.meaning.T)[first, second][apart]
    assert similarity_cap(pool.meaning, pool.group, 0.99) == pytest.approx(np.quantile(cosines, 0.99))
    sampled = similarity_cap(pool.meaning, pool.group, 0.9, pairs=5000)
    assert sampled == pytest.approx(np.quantile(cosines, 0.9), abs=0.02)


def test_similarity_cap_needs_two_groups() -> None:
    """Without unrelated pairs there is no cap."""
    with pytest.raises(ValueError, match="at least two meaning groups"):
        similarity_cap(np.eye(3), np.zeros(3, dtype=np.int64), 0.99)


def test_chosen_clustering_feeds_the_assembly() -> None:
    """The linkage and labels of `choose_k` are what the pool's clusters and levels are made of."""
    pool, stories = corpus(themes=5)
    choice = choose_k(pool.meaning, np.ones(120), (3, 10))
    themed = replace(pool, cluster=choice.labels, levels=levels(choice.linkage, choice.labels))
    assert len(made_items(assemble(themed, stories, Plan()))) == 240
