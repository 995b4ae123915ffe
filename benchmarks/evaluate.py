"""A whole evaluation by replies, from a file of questions to a folder of results, against other harnesses on one stub.

    python -m venv .venv-inspect && .venv-inspect/bin/pip install inspect-ai openai
    python -m venv .venv-lm-eval && .venv-lm-eval/bin/pip install "lm-eval[api]"
    python benchmarks/evaluate.py --inspect .venv-inspect/bin/python --lm-eval .venv-lm-eval/bin/python
        [--questions 2000] [--repeats 3] [--latency 0.05] [--concurrency 64]

All read the same questions, ask each once at the same concurrency, parse the reply and keep it: ours in the journal
(synchronous) and the results, Inspect in its log, lm-evaluation-harness (local-chat-completions; it needs no torch for
that) in its results and samples. Nothing is cached between runs, nor fetched. Each run is a process of its own; its
time and CPU are those between the first question and the written result, imports not counted, nor, for
lm-evaluation-harness, the index of the tasks that come with it. A harness that is absent is skipped, with a word.

What guessers without understanding reach is measured by ours alone, once for a file of questions and whatever the
number of models: it is timed by itself, once, and added in a row of its own (the first model on a new file). With an
encoder on the processor it takes minutes for thousands of questions.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from stub import Running

SETUP = """
import json, sys, time
from pathlib import Path
import adage, adage.errors
from adage.cli import calm_collector
questions, url, out, concurrency = sys.argv[1:]
roster = Path(out + ".yaml")
model = {"name": "stub", "base_url": url, "model": "stub", "concurrency": int(concurrency)}
roster.write_text(json.dumps({"version": 1, "models": [model]}))
calm_collector()
adage.evaluate
began, cpu = time.perf_counter(), time.process_time()
"""
CONTROLS = (
    SETUP
    + """
adage.evaluate([Path(questions)], roster=roster, methods=["generate"], out=Path(out), limit=1)
print(json.dumps([time.perf_counter() - began, time.process_time() - cpu, 0]))
"""
)
OURS = (
    SETUP
    + """
done = adage.evaluate([Path(questions)], roster=roster, methods=["generate"], out=Path(out))
print(json.dumps([time.perf_counter() - began, time.process_time() - cpu, done.scores[0].accuracy]))
"""
)
INSPECT = """
import json, os, sys, time
questions, url, out, concurrency = sys.argv[1:]
os.environ |= {"STUB_BASE_URL": url, "STUB_API_KEY": "none"}
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice
began, cpu = time.perf_counter(), time.process_time()
rows = [json.loads(line) for line in open(questions, encoding="utf-8")]
samples = [
    Sample(id=r["id"], input=r["scenario"] + " Which proverb fits?", choices=r["choices"], target="ABCD"[r["answer"]])
    for r in rows
]
log, = eval(
    Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice()),
    model="openai-api/stub/stub",
    display="none",
    log_dir=out,
    max_connections=int(concurrency),
    max_samples=int(concurrency),
    temperature=0.0,
)
accuracy = log.results.scores[0].metrics["accuracy"].value
print(json.dumps([time.perf_counter() - began, time.process_time() - cpu, accuracy]))
"""
LM_EVAL = """
import json, os, sys, time
from pathlib import Path
questions, url, out, concurrency = sys.argv[1:]
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": out + "-home", "TQDM_DISABLE": "1"}
import datasets, lm_eval, lm_eval.models.openai_completions
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager
letters = "{% for choice in choices %}{{'ABCD'[loop.index0]}}) {{choice}}\\n{% endfor %}"
task = {
    "task": "sayings",
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": questions}},
    "test_split": "test",
    "output_type": "generate_until",
    "num_fewshot": 0,
    "doc_to_text": "{{scenario}} Which proverb fits?\\n" + letters + "\\nThe last line of the reply is ANSWER: LETTER.",
    "doc_to_target": "{{'ABCD'[answer]}}",
    "generation_kwargs": {"until": [], "do_sample": False, "temperature": 0.0},
    "filter_list": [{"name": "letter", "filter": [
        {"function": "regex", "regex_pattern": "ANSWER: *([A-D])", "group_select": -1}, {"function": "take_first"},
    ]}],
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
}
tasks = Path(out + "-tasks")
tasks.mkdir()
(tasks / "sayings.yaml").write_text(json.dumps(task))
began, cpu = time.perf_counter(), time.process_time()
tracker = EvaluationTracker(output_path=out)
done = lm_eval.simple_evaluate(
    model="local-chat-completions",
    model_args={"model": "stub", "base_url": url + "/chat/completions", "num_concurrent": int(concurrency)},
    tasks=["sayings"],
    task_manager=TaskManager(include_path=tasks, include_defaults=False),
    apply_chat_template=True,
    log_samples=True,
    evaluation_tracker=tracker,
)
samples = done.pop("samples")
tracker.save_results_aggregated(results=done, samples=samples)
tracker.save_results_samples("sayings", samples["sayings"])
accuracy = done["results"]["sayings"]["exact_match,letter"]
print(json.dumps([time.perf_counter() - began, time.process_time() - cpu, accuracy]))
"""
PEERS = {  # distribution, what else it needs, script
    "inspect": ("inspect-ai", "openai", INSPECT),
    "lm-eval": ("lm-eval", "aiohttp", LM_EVAL),
}


def installed(python: str, *distributions: str) -> str | None:
    """Version of the first distribution, if that Python exists and has all of them."""
    script = "import sys\nfrom importlib.metadata import version\nprint(*map(version, sys.argv[1:]))"
    try:
        done = subprocess.run([python, "-c", script, *distributions], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.split()[0]


def present(pythons: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Python and script of each harness that can run here; the others are named with the reason."""
    sides = {"adage": (sys.executable, OURS)}
    for name, (distribution, needs, script) in PEERS.items():
        if not pythons[name]:
            print(f"{name:8} skipped: no --{name} PYTHON was given (see --help)")
        elif version := installed(pythons[name], distribution, needs):
            print(f"{name:8} is {distribution} {version}")
            sides[name] = pythons[name], script
        else:
            print(f"{name:8} skipped: {pythons[name]!r} has no {distribution} with {needs} (see --help)")
    return sides


def write_questions(path: Path, n: int) -> None:
    draw = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for number in range(n):
            row = {
                "id": f"q{number}",
                "language": "en",
                "scenario": f"At house {number}, the baker waited for the rain to end, and nobody thanked her for it. "
                * 3,
                "choices": [f"Saying {draw.randrange(10**6)} of the old carpenter" for _ in range(4)],
                "answer": number % 4,
            }
            file.write(json.dumps(row) + "\n")


def measured(python: str, script: str, *arguments: object) -> tuple[float, float, float]:
    """Seconds, CPU seconds and accuracy of one run."""
    done = subprocess.run([python, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    seconds, cpu, accuracy = json.loads(done.stdout.strip().splitlines()[-1])
    return seconds, cpu, accuracy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inspect", default="", help="Python of an environment with inspect-ai and openai")
    parser.add_argument("--lm-eval", default="", help="Python of an environment with lm-eval[api]")
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--concurrency", type=int, default=64)
    asked = parser.parse_args()
    sides = present({"inspect": asked.inspect, "lm-eval": asked.lm_eval})
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    with tempfile.TemporaryDirectory() as scratch, Running(latency=asked.latency, answer="ANSWER: B") as server:
        questions, controls = Path(scratch) / "questions.jsonl", Path(scratch) / "controls"
        write_questions(questions, asked.questions)
        once = measured(sys.executable, CONTROLS, questions, server.url, controls, asked.concurrency)[:2]
        print(f"controls {once[0]:6.1f} s {once[1]:6.2f} CPU s  (ours alone, once)", flush=True)
        for repeat in range(asked.repeats):
            for name, (python, script) in sides.items():
                out = Path(scratch) / f"{name}-{repeat}"
                if name == "adage":
                    shutil.copytree(controls / "benchmarks", out / "benchmarks")
                seconds, cpu, accuracy = measured(python, script, questions, server.url, out, asked.concurrency)
                times[name].append((seconds, cpu))
                print(f"{name:8} {seconds:6.1f} s {cpu:6.2f} CPU s  accuracy {accuracy:.3f}", flush=True)
    report(times, once, asked.questions)


def report(times: dict[str, list[tuple[float, float]]], once: tuple[float, float], n: int) -> None:
    """Medians of each side; the others against ours, without and with what ours does once."""
    medians = {name: [statistics.median(column) for column in zip(*runs, strict=True)] for name, runs in times.items()}
    ours = medians.pop("adage")
    first = [a + b for a, b in zip(ours, once, strict=True)]
    for name, (seconds, cpu) in {"adage": ours, "adage, with controls": first, **medians}.items():
        print(f"{name:21} {n / seconds:7.0f} questions/s, {1000 * cpu / n:7.2f} ms CPU each")
    for name, (seconds, cpu) in medians.items():
        for label, side in (("ours", ours), ("ours with controls", first)):
            print(f"{label} against {name}: {seconds / side[0]:.2f} times the rate, {side[1] / cpu:.2f} of its CPU")


if __name__ == "__main__":
    main()
