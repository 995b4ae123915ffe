"""Stage 2b: every proverb in a cluster, clusters named once, and frozen ones that do not move."""

import msgspec
import pytest

from adage.errors import HandFileError, StageError
from adage.models.fake import Rule, ScriptedEmbedder, ScriptedModel
from adage.records import verify
from adage.stages.cluster import Cluster
from material import context_of, proverb, run_stage, themed

LABELS = ("patience", "thrift", "greed", "haste", "unity", "pride")
ROWS = [themed(f"Proverb {n}", LABELS[n % 6]) for n in range(14)]
BARE = [themed(f"Proverb {n}", "") for n in range(7)]


def stage(**options) -> Cluster:
    """The stage with vectors from hashes."""
    return Cluster(**{"k": (2, 4), "encoder": ScriptedEmbedder(8), "namer": None, **options})


async def test_equal_labels_share_a_cluster_and_its_name():
    """Each proverb gets its label's cluster; without a namer the most frequent label names it."""
    context = await context_of(stage(), ROWS)
    made = [outcome.rows[0] for outcome in await run_stage(stage(), ROWS)]
    assert {row.theme.label: row.theme.cluster for row in made} == context.cluster_of
    assert sorted(label for group in context.labels for label in group) == sorted(LABELS)
    assert all(row.theme.name == context.labels[row.theme.cluster][0] for row in made)
    assert {row.theme.named_by for row in made} == {"most frequent label"}
    assert 2 <= context.k == len(context.centroids) == len(context.labels) <= 4
    assert dict(context.curve)[context.k] == max(score for _, score in context.curve)
    for row in made:
        verify(row)


async def test_more_frequent_labels_come_first():
    """The order of a cluster's labels is that of their use, ties by name."""
    context = await context_of(stage(), [*ROWS, *(themed(f"More {n}", "pride") for n in range(9))])
    cluster = context.labels[context.cluster_of["pride"]]
    assert cluster[0] == "pride"


async def test_the_namer_sees_labels_only_and_every_proverb_asks_alike():
    """One request a cluster, the same for all its proverbs, without a word of a proverb in it."""
    namer = ScriptedModel("namer", [Rule(when="<label>(.*?)</label>", reply={"name": "On {1}"})])
    made = stage(namer=namer)
    context = await context_of(made, ROWS)
    keys = {made.requests(row, context, 0)[0].key() for row in ROWS}
    assert len(keys) == context.k
    assert not any("Proverb" in message.content for row in ROWS for message in made.prompt(row, context))
    rows = [outcome.rows[0] for outcome in await run_stage(made, ROWS)]
    assert {row.theme.name for row in rows} == {f"on {labels[0]}" for labels in context.labels}
    assert {row.theme.named_by for row in rows} == {"namer"}
    assert made.estimate(14).calls == 4


async def test_an_empty_name_is_asked_for_again():
    """A name of signs alone is none."""
    replies = ['{"name": "??"}', '{"name": "Virtue"}'] * 20
    namer = ScriptedModel("namer", lambda _: replies.pop(0))
    (outcome, *_) = await run_stage(stage(namer=namer), ROWS)
    assert outcome.rows[0].theme.name == "virtue"


async def test_without_labels_explanations_are_clustered():
    """Clusters hold proverbs then, and are called by number; no namer is asked."""
    made = stage(namer=ScriptedModel("namer", []))
    rows = [outcome.rows[0] for outcome in await run_stage(made, BARE)]
    context = await context_of(made, BARE)
    assert set(context.cluster_of) == {row.id for row in BARE}
    assert not context.by_label
    assert all(row.theme.name == f"cluster {row.theme.cluster + 1}" for row in rows)
    assert made.requests(BARE[0], context, 0) == ()


async def test_the_order_of_the_rows_does_not_matter():
    """The same clustering comes out of any order."""
    for rows in (ROWS, BARE):
        assert await context_of(stage(), rows) == await context_of(stage(), rows[::-1])


async def test_some_labels_are_not_enough():
    """All proverbs are labelled or none; fewer than three labels cannot be clustered; unlabelled rows are refused."""
    with pytest.raises(StageError, match="14 of 21 proverbs have a theme label"):
        await context_of(stage(), [*ROWS, *BARE])
    with pytest.raises(StageError, match="at least 3 distinct labels"):
        await context_of(stage(), ROWS[:2])
    context = await context_of(stage(), ROWS)
    with pytest.raises(StageError, match="has not passed the label stage"):
        await stage().apply(proverb("A goat"), context, 0)


async def test_frozen_clusters_stay_and_newcomers_join_the_nearest(tmp_path):
    """A released clustering grows: old labels keep their cluster, a new one gets one, names keep their labels."""
    context = await context_of(stage(), ROWS)
    (tmp_path / "context.json").write_bytes(msgspec.json.encode(context))
    for place in (tmp_path, tmp_path / "context.json"):
        made = stage(freeze=place)
        grown = await context_of(made, [*ROWS, themed("New", "envy")])
        assert {label: grown.cluster_of[label] for label in LABELS} == context.cluster_of
        assert 0 <= grown.cluster_of["envy"] < context.k
        assert (grown.labels, grown.centroids, grown.score) == (context.labels, context.centroids, None)
        outcomes = await run_stage(made, [*ROWS, themed("New", "envy")])
        assert outcomes[-1].rows[0].theme.cluster == grown.cluster_of["envy"]
    assert stage(freeze=tmp_path).settings() != stage().settings()


async def test_frozen_clusters_must_fit(tmp_path):
    """What is no clustering is named; clusters of labels cannot take in proverbs without."""
    with pytest.raises(HandFileError, match="holds no clustering"):
        stage(freeze=tmp_path)
    (tmp_path / "context.json").write_bytes(msgspec.json.encode(await context_of(stage(), ROWS)))
    with pytest.raises(StageError, match="were made with theme labels"):
        await context_of(stage(freeze=tmp_path), BARE)
