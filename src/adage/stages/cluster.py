"""Stage 2, second step: unique labels → vectors → Ward, k by weighted silhouette → names [paper].

`label: none` clusters explanation vectors directly; `freeze` keeps an earlier clustering and puts newcomers into the
nearest cluster.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from adage.errors import HandFileError, StageError
from adage.models.ask import ask, object_schema
from adage.models.base import ChatModel, ChatRequest, Embedder, Message
from adage.records import Proverb, Record, Theme, seal
from adage.stage import Estimate, Exchange, Kept, Outcome, Stage
from adage.stages.clustering import centroids, choose_k, nearest_cluster, unit
from adage.stages.label import canonical
from adage.stages.prompt import prompt_hash, render

SCHEMA = object_schema(name={"type": "string", "description": "English name, one to four words, lower case"})
_LABELS_SHOWN = 20
_LIKELY = "patience and hope"
"""A label or name of the usual length."""
_DIGITS = 6


class NameAnswer(msgspec.Struct):
    """What the namer answers."""

    name: str


class Labelled(Record, frozen=True, kw_only=True):
    """The columns of a proverb that clustering needs."""

    id: str
    text: str
    explanation: str = ""
    theme: Theme


class Clustering(Record, frozen=True, kw_only=True):
    """Which cluster each label (or, without labels, each proverb) belongs to, and how k was found."""

    by_label: bool
    cluster_of: dict[str, int]
    """Canonical label, or proverb id where `by_label` is False → 0-based cluster."""
    labels: tuple[tuple[str, ...], ...]
    """Labels of each cluster, the most frequent first; empty without labels."""
    centroids: tuple[tuple[float, ...], ...]
    """Mean unit vector of each cluster, (k, dim), rounded to 6 digits."""
    encoder: str
    """Encoder of the centroids."""
    k: int
    score: float | None = None
    """Weighted silhouette at k; None where the clusters were frozen."""
    curve: tuple[tuple[int, float], ...] = ()
    """(k, weighted silhouette) for every k tried."""
    at_edge: bool = False
    """Whether the best k lies at an edge of the range: a wider range may hold a better one."""


class Cluster(Stage[Proverb, Labelled, Clustering, Proverb]):
    """Puts every proverb into a theme cluster and has the clusters named."""

    name = "cluster"
    number = "2b"
    version = 1
    row = Proverb
    slim = Labelled
    context = Clustering
    out = Proverb

    def __init__(
        self, *, k: tuple[int, int], encoder: Embedder, namer: ChatModel | None, freeze: Path | None = None
    ) -> None:
        self._k, self._encoder, self._namer = k, encoder, namer
        self._frozen = _load_frozen(freeze) if freeze else None

    def settings(self) -> object:
        """Range of k, encoder, namer, prompt and the frozen clusters."""
        return {
            "k": self._k,
            "encoder": self._encoder.id,
            "namer": self._namer and self._namer.request((), SCHEMA),
            "by": self._namer and self._namer.name,
            "prompt": prompt_hash("name"),
            "frozen": self._frozen,
        }

    def estimate(self, n_rows: int) -> Estimate:
        """At most one call a cluster."""
        return Estimate(calls=min(self._k[1], n_rows) if self._namer else 0, rows=n_rows)

    async def prepare(self, rows: Iterable[Labelled], previous: Clustering | None) -> Clustering:  # noqa: ARG002
        """Cluster the unique labels, weighted by the proverbs that carry them.

        Raises:
            StageError: there are too few labels, or only some proverbs have one.
        """
        proverbs = list(rows)
        with_label = sum(bool(proverb.theme.label) for proverb in proverbs)
        if with_label not in {0, len(proverbs)}:
            raise StageError(
                f"{with_label} of {len(proverbs)} proverbs have a theme label",
                hint="label all of them, or none (cluster.label: none)",
            )
        if with_label:
            counts = collections.Counter(proverb.theme.label for proverb in proverbs)
            names = sorted(counts)
            texts, weights = names, [counts[name] for name in names]
        else:
            proverbs.sort(key=lambda proverb: proverb.id)
            names = [proverb.id for proverb in proverbs]
            texts = [proverb.explanation or proverb.text for proverb in proverbs]
            counts, weights = collections.Counter(names), [1] * len(names)
        vectors = unit(await self._encoder.embed(texts))
        if self._frozen:
            return self._join_frozen(self._frozen, names, vectors, bool(with_label))
        choice = choose_k(vectors, weights, self._k)
        return Clustering(
            by_label=bool(with_label),
            cluster_of=dict(zip(names, choice.labels.tolist(), strict=True)),
            labels=_ranked(names, choice.labels, counts) if with_label else (),
            centroids=_rounded(centroids(vectors, choice.labels)),
            encoder=self._encoder.id,
            k=choice.k,
            score=round(dict(choice.curve)[choice.k], 4),
            curve=tuple((k, round(score, 4)) for k, score in choice.curve),
            at_edge=choice.at_edge,
        )

    def remarks(self, context: Clustering) -> Sequence[str]:
        """K and its score, and whether a wider range may hold a better one."""
        if context.score is None:
            return [f"{context.k} clusters, frozen"]
        searched = [k for k, _ in context.curve]
        remarks = [f"k = {context.k}, weighted silhouette {context.score:.3f}"]
        if context.at_edge:
            remarks[0] += ", at an edge of the range: widen cluster.k to see whether more is to be had"
        if (searched[0], searched[-1]) != self._k:
            remarks.append(
                f"k was searched in {searched[0]} to {searched[-1]}: there are too few labels for {list(self._k)}"
            )
        return remarks

    def _join_frozen(
        self, frozen: Clustering, names: Sequence[str], vectors: NDArray[np.float64], by_label: bool
    ) -> Clustering:
        """The earlier clusters, with everything new put into the nearest."""
        if frozen.by_label != by_label:
            raise StageError(
                f"the frozen clusters were made {'with' if frozen.by_label else 'without'} theme labels, "
                "this build is the other way round",
                hint="set cluster.label as in the build that cluster.freeze points to",
            )
        if frozen.encoder != self._encoder.id:
            raise StageError(
                f"the frozen clusters are of the encoder {frozen.encoder!r}, this build's is {self._encoder.id!r}",
                hint="use the encoder of the build that cluster.freeze points to",
            )
        nearest = nearest_cluster(vectors, np.array(frozen.centroids))
        joined = {name: int(cluster) for name, cluster in zip(names, nearest, strict=True)}
        return msgspec.structs.replace(frozen, cluster_of=joined | frozen.cluster_of, curve=(), score=None)

    def prompt(self, row: Proverb, context: Clustering) -> Sequence[Message]:
        """The messages that ask for the name of the proverb's cluster."""
        return render("name", labels=context.labels[self._cluster(row, context)][:_LABELS_SHOWN])

    def exchanges(self, row: Proverb) -> Sequence[Exchange]:  # noqa: ARG002 - one proverb tells nothing of a cluster
        """The naming of a large cluster."""
        reply = f'{{"name": "{_LIKELY}"}}'
        return (Exchange(messages=render("name", labels=[_LIKELY] * _LABELS_SHOWN), reply=reply),)

    def requests(self, row: Proverb, context: Clustering, attempt: int) -> Sequence[ChatRequest]:
        """The naming request of the proverb's cluster: the same for all of its proverbs, so it is made once."""
        if self._namer is None or not context.labels:
            return ()
        return (self._namer.request(self.prompt(row, context), SCHEMA, attempt=attempt),)

    async def apply(self, row: Proverb, context: Clustering, attempt: int) -> Outcome:
        """The proverb with its cluster and the cluster's name."""
        cluster = self._cluster(row, context)
        if not context.labels:
            name, by = f"cluster {cluster + 1}", "number"
        elif self._namer is None:
            name, by = context.labels[cluster][0], "most frequent label"
        else:
            answer, _ = await ask(
                self._namer, self.prompt(row, context), SCHEMA, NameAnswer, attempt=attempt, object_to=_objection
            )
            name, by = canonical(answer.name), self._namer.name
        theme = msgspec.structs.replace(_theme(row), cluster=cluster, name=name, named_by=by)
        return Kept(rows=(seal(msgspec.structs.replace(row, theme=theme)),))

    def _cluster(self, row: Proverb, context: Clustering) -> int:
        return context.cluster_of[_theme(row).label if context.by_label else row.id]


def _theme(row: Proverb) -> Theme:
    if row.theme is None:
        raise StageError(f"proverb {row.id!r} has not passed the label stage", hint="build again with --from label")
    return row.theme


def _objection(answer: NameAnswer) -> str:
    return "" if canonical(answer.name) else "the name is empty"


def _ranked(
    names: Sequence[str], labels: NDArray[np.int64], counts: collections.Counter[str]
) -> tuple[tuple[str, ...], ...]:
    members: list[list[str]] = [[] for _ in range(int(labels.max()) + 1)]
    for name, cluster in zip(names, labels.tolist(), strict=True):
        members[cluster].append(name)
    return tuple(tuple(sorted(group, key=lambda name: (-counts[name], name))) for group in members)


def _rounded(matrix: NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in np.round(matrix, _DIGITS).tolist())


def _load_frozen(folder: Path) -> Clustering:
    path = folder / "context.json" if folder.is_dir() else folder
    try:
        return msgspec.json.decode(path.read_bytes(), type=Clustering)
    except (OSError, msgspec.MsgspecError) as error:
        raise HandFileError(
            f"cluster.freeze: {str(path)!r} holds no clustering: {error}",
            hint="point it at the 2b-cluster folder of the run whose clusters shall stay",
        ) from error
