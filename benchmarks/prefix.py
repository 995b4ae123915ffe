"""What sharing a prefix saves: all orders of a question's options scored in one call against one call for each.

    python benchmarks/prefix.py demo/capr-ja --model gemma3-270m --sample 5

One call computes the scenario and the question once; separate calls compute every prompt afresh. Texts likewise: the
prompt once for all options. The model is warmed up; times are medians over the questions, alternating.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from pathlib import Path

from adage.evaluation.load import load_benchmark
from adage.evaluation.present import Form, chosen, wording_of
from adage.models.local import LocalModel
from adage.models.score import extended


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("--model", default="gemma3-270m")
    parser.add_argument("--sample", type=int, default=5)
    parser.add_argument(
        "--texts", action="store_true", help="measure texts too; not every model can score every script"
    )
    asked = parser.parse_args()
    benchmark = load_benchmark(asked.benchmark)
    model = LocalModel(asked.model, model=asked.model)
    template = await model.has_template()
    letters, texts = (Form(wording_of(benchmark), method, template) for method in ("letter", "text"))
    times: dict[str, list[float]] = {}

    async def timed(name: str, *calls) -> None:
        began = time.perf_counter()
        for call in calls:
            await call
        times.setdefault(name, []).append(time.perf_counter() - began)

    questions = chosen(benchmark.questions, limit=None, sample=asked.sample, seed=0)
    for warm, question in enumerate([questions[0], *questions]):
        n = len(question.options)
        labels, options = letters.continued_labels(n), texts.continued_texts(question)
        prompts = [extended(letters.start(question, 0), letters.end(question, rotation)) for rotation in range(n)]
        before = texts.before_text(question, 0)
        await timed("letters, one call", model.letters(prompts, labels))
        await timed("letters, apart", *(model.letters([prompt], labels) for prompt in prompts))
        if asked.texts:
            await timed("texts, one call", model.texts(before, options))
            await timed("texts, apart", *(model.texts(before, [option]) for option in options))
        if not warm:
            times.clear()
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name, seconds in medians.items():
        print(f"{name:18} {seconds:6.2f} s a question")
    for kind in ("letters", "texts")[: 1 + asked.texts]:
        print(f"{kind}: {medians[f'{kind}, apart'] / medians[f'{kind}, one call']:.2f} times as fast in one call")
    await model.close()


if __name__ == "__main__":
    asyncio.run(main())
