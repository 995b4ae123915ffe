"""The controls of any benchmark, ours or a foreign one, from its questions alone."""

from __future__ import annotations

from itertools import zip_longest

import numpy as np

from adage.analysis.controls import Control, Options
from adage.analysis.probe import every_control
from adage.evaluation.result import Benchmark
from adage.models.base import Embedder


async def benchmark_controls(benchmark: Benchmark, encoder: Embedder) -> list[Control]:
    """What guessers without understanding make of a benchmark: of its options alone, also trained, and by vectors.

    Each carries the chance of hitting a right option. The theme pair is there only where the benchmark has clusters.
    The nearest embedding is circular where the options were chosen with the same encoder.
    """
    questions = benchmark.questions
    named = [question.names or question.options for question in questions]
    texts = {
        name: text
        for names, question in zip(named, questions, strict=True)
        for name, text in zip(names, question.options, strict=True)
    }
    number = {name: place for place, name in enumerate(sorted(texts))}
    themes = {
        name: cluster
        for names, question in zip(named, questions, strict=True)
        for name, cluster in zip(names, question.clusters, strict=False)
    }
    vectors = await encoder.embed([texts[name] for name in number])
    items = Options(
        proverbs=np.array(list(zip_longest(*([number[name] for name in names] for names in named), fillvalue=-1))).T,
        gold=np.array(list(zip_longest(*(question.gold for question in questions), fillvalue=-1))).T,
        group=np.array([question.group for question in questions]),
        cluster=np.array([themes[name] for name in number]) if themes.keys() == number.keys() else None,
        length=np.array([len(texts[name]) for name in number]),
        spaces={"text": vectors},
        split=np.array([question.split for question in questions]),
    )
    scenarios = await encoder.embed([question.scenario for question in questions])
    return every_control(items, scenarios, circular=encoder.id == benchmark.encoder)
