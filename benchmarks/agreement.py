"""Letter scores: ours against an independent reading of llama.cpp's own HTTP server, same weights, same prompts.

Ours biases the labels' logits. The peer asks /completion of the server that xllamacpp starts for the likeliest tokens,
thousands of them, without any bias, and looks the labels up by their text. Both normalise over the labels. The peer
does it twice: with every prompt afresh, and after the beginning that a question's prompts share, as ours does.
Arithmetic on quantised weights depends on the size of the batches; that difference has nothing to do with the method.

    python benchmarks/agreement.py demo/capr-ja --model smollm2-135m --sample 20
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adage.evaluation.load import load_benchmark
from adage.evaluation.present import Form, chosen, order, wording_of
from adage.models.local import LocalModel
from adage.models.score import extended

N_PROBS = 5000
"""Likeliest tokens that the peer asks for: every label is among them."""


def post(url: str, path: str, **body: Any) -> dict[str, Any]:
    request = urllib.request.Request(url + path, json.dumps(body).encode())
    with urllib.request.urlopen(request) as reply:
        return dict(json.load(reply))


def peer_row(url: str, tokens: list[int], labels: Sequence[str], *, cache: bool) -> list[float]:
    """Log-probabilities of the labels, normalised, from the server's own list of the likeliest tokens."""
    answer = post(url, "/completion", prompt=tokens, n_predict=1, n_probs=N_PROBS, temperature=1.0, cache_prompt=cache)
    top = answer["completion_probabilities"][0]["top_logprobs"]
    found = {entry["token"]: entry["logprob"] for entry in reversed(top)}
    total = math.log(sum(math.exp(found[label]) for label in labels))
    return [found[label] - total for label in labels]


def peer(url: str, texts: Sequence[str], labels: Sequence[str]) -> tuple[list[list[float]], list[list[float]]]:
    """Scores with every prompt afresh, and those after the beginning that all share."""
    tokens = [post(url, "/tokenize", content=text, add_special=True)["tokens"] for text in texts]
    afresh = [peer_row(url, each, labels, cache=False) for each in tokens]
    at = next(at for at, column in enumerate(zip(*tokens, strict=False)) if len(set(column)) > 1)
    post(url, "/completion", prompt=tokens[0][:at], n_predict=0, cache_prompt=False)
    alike = []
    for each in tokens:
        post(url, "/completion", prompt=tokens[0][:at], n_predict=0, cache_prompt=True)
        alike.append(peer_row(url, each, labels, cache=True))
    return afresh, alike


class Compared:
    """Differences of one peer from ours."""

    def __init__(self) -> None:
        self.gaps: list[float] = []
        self.right = self.same = 0

    def add(self, ours: Sequence[float], other: Sequence[float], gold: set[int]) -> None:
        """One prompt; `gold` are the places of the right options."""
        self.gaps += [abs(a - b) for a, b in zip(ours, other, strict=True)]
        self.same += best(ours) == best(other)
        self.right += best(other) in gold

    def line(self, n: int) -> str:
        gaps = sorted(self.gaps)
        return (
            f"accuracy {self.right / n:.4f}, the same choice in {self.same} of {n}; difference of log-probabilities: "
            f"median {gaps[len(gaps) // 2]:.5f}, largest {gaps[-1]:.5f}"
        )


def best(row: Sequence[float]) -> int:
    return max(range(len(row)), key=row.__getitem__)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--sample", type=int, default=20)
    asked = parser.parse_args()
    benchmark = load_benchmark(asked.benchmark)
    questions = chosen(benchmark.questions, limit=None, sample=asked.sample, seed=0)
    model = LocalModel(asked.model, model=asked.model)
    form = Form(wording_of(benchmark), "letter", await model.has_template())
    engine = model._loaded()  # noqa: SLF001 -- for the server's address and its chat template
    right = n = 0
    afresh, alike = Compared(), Compared()
    for question in questions:
        size = len(question.options)
        labels = form.continued_labels(size)
        prompts = [extended(form.start(question, 0), form.end(question, rotation)) for rotation in range(size)]
        rows = await model.letters(prompts, labels)
        texts = await engine.run(lambda engine, prompts=prompts: [engine.written(prompt) for prompt in prompts])
        url = await engine.run(lambda engine: engine._server.listening_address)  # noqa: SLF001
        found = await asyncio.to_thread(peer, url, texts, labels)
        for rotation, (row, one, other) in enumerate(zip(rows, *found, strict=True)):
            shown = order(size, rotation)
            gold = {place for place in range(size) if shown[place] in question.gold}
            right += best(row) in gold
            afresh.add(row, one, gold)
            alike.add(row, other, gold)
            n += 1
    print(f"{benchmark.name}, {asked.model}: {len(questions)} questions, {n} prompts; ours: accuracy {right / n:.4f}")
    print(f"peer, same batches: {alike.line(n)}")
    print(f"peer, all afresh:   {afresh.line(n)}")
    await model.close()


if __name__ == "__main__":
    asyncio.run(main())
