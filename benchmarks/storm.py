"""A server that can do less than it is asked: how long a stage takes, and whether a row is lost.

    python benchmarks/storm.py [--repeats 5]

429 storm: 1,000 calls at concurrency 256 against a server that answers 32 at once in 100 ms and refuses the others
with `Retry-After: 1`; the ideal is 1,000 / 32 × 0.1 s. Malformed: three in ten answers are cut off, wrapped in prose,
without JSON, of the wrong type, refusals, or misspelt; every row must be kept, or set aside with the raw text.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from calls import Proverbs, whole_stage
from stub import Running

from adage.engine.loop import run_async

CALLS, CAPACITY, LATENCY_S = 1000, 32, 0.1


def storm(folder: Path) -> float:
    """Seconds for the whole stage."""
    with Running(latency=LATENCY_S, capacity=CAPACITY) as server:
        rows = Proverbs(CALLS, folder / "proverbs.jsonl")
        began = time.perf_counter()
        counts = run_async(whole_stage(server.url, rows, folder, retries=8)).counts
        seconds = time.perf_counter() - began
        found = server.stats()
    assert (counts.kept, counts.failed) == (CALLS, 0), counts
    print(f"  {seconds:5.1f} s, {found['refused']} refusals, {found['calls']} answers, {found['repeats']} repeated")
    return seconds


def malformed(folder: Path) -> None:
    """Print what became of the rows."""
    with Running(latency=0.01, malformed=0.3) as server:
        counts = run_async(whole_stage(server.url, Proverbs(CALLS, folder / "proverbs.jsonl"), folder)).counts
    failed = [json.loads(line) for line in (folder / "run" / "3-generate" / "failed.jsonl").read_text().splitlines()]
    with_text = sum(bool(row["evidence"]) for row in failed)
    print(f"  {counts.kept} kept, {counts.failed} set aside, {with_text} of them with the raw text")
    assert counts.kept + with_text == CALLS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print("429 storm")
        median = statistics.median(storm(Path(scratch) / str(i)) for i in range(options.repeats))
        ideal = CALLS / CAPACITY * LATENCY_S
        print(f"  median {median:.1f} s, ideal {ideal:.1f} s, ratio {median / ideal:.2f}")
        print("malformed answers, 30 %")
        malformed(Path(scratch) / "malformed")


if __name__ == "__main__":
    main()
