"""The whole generate stage, from rows to files, against a bare aiohttp loop that posts the same bodies.

    python benchmarks/calls.py [--calls 6000] [--repeats 5] [--latency 0.05] [--stories 10] [--profile]

Ours: prompts, journal on disk, parsing, checks, records, files. Theirs: post, read, decode, forget. Both at concurrency
256 against one server. Theirs runs on Python's own event loop (the reference), and once more on uvloop where that is
installed, as ours does. Ratios are those of the medians; CPU is that of the client process alone. At 50 ms both sides
are bound by the processor; a language model takes a second and more.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import itertools
import pstats
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import aiohttp
import msgspec
from stub import Running

from adage.builder import Silent
from adage.cli import calm_collector
from adage.engine.loop import run_async
from adage.engine.run import Engine
from adage.language import load
from adage.models.chat import EndpointModel
from adage.records import Proverb, Theme, proverb_id, seal
from adage.stages.generate import Generate
from adage.store.files import Lines, read_lines
from adage.store.journal import Journal
from adage.store.recorded import RecordedChat
from adage.store.run import Run, StageState

Given = TypeVar("Given")

CONCURRENCY = 256


class Proverbs:
    """Rows as the cluster stage leaves them, in a file; `first` numbers the first of `n`, all have other texts."""

    def __init__(self, n: int, file: Path, first: int = 0) -> None:
        self.file = file
        file.parent.mkdir(exist_ok=True)
        lines = Lines(file)
        for i in range(first, first + n):
            text = f"The lantern number {i} teaches the sparrow to wait for the harvest"
            name = proverb_id("en", text)
            row = Proverb(
                id=name,
                language="en",
                text=text,
                key=text,
                group=name,
                explanation=f"Said of patience that is rewarded late, as case {i} shows to everybody who doubted it.",
                source_id="src",
                place=f"corpus.tsv:{i}",
                theme=Theme(label="patience", by="stub", cluster=i % 20, name="patience", named_by="stub"),
            )
            lines.write(seal(row))
        self.hash = lines.close()

    def read(self, kind: type) -> Iterator:
        return read_lines(self.file, kind)


def generator(url: str, journal: Journal, **options: object) -> tuple[RecordedChat, EndpointModel]:
    settings = {"max_tokens": 4096, "temperature": 0.7, "seed": 1, "concurrency": CONCURRENCY, **options}
    model = EndpointModel("writer", base_url=url, model="stub", **settings)
    return RecordedChat(model, journal), model


def stage_of(model: RecordedChat, stories: int = 10) -> Generate:
    return Generate(
        n=stories, per_call=stories, model=model, hand={}, unit="proverb", word="proverb", language=load("en")
    )


async def whole_stage(url: str, rows: Proverbs, folder: Path, stories: int = 10, **options: object) -> StageState:
    """The stage, run as a build runs it."""
    with Journal(folder / "calls.sqlite") as journal:
        model, _ = generator(url, journal, **options)
        engine = Engine(Run(folder / "run"), journal, Silent(), max_failed=10**9)
        state = await engine.run(stage_of(model, stories), rows)
        await model.close()
    return state


async def bare_loop(url: str, bodies: list[bytes]) -> int:
    """The same bodies through aiohttp and nothing else."""
    done = 0
    left = iter(bodies)

    async def work(session: aiohttp.ClientSession) -> None:
        nonlocal done
        for body in left:
            async with session.post(f"{url}/chat/completions", data=body) as response:
                done += bool(msgspec.json.decode(await response.read())["choices"])

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, headers={"Content-Type": "application/json"}) as session:
        await asyncio.gather(*(work(session) for _ in range(CONCURRENCY)))
    return done


def bodies_of(url: str, rows: Proverbs, folder: Path, stories: int) -> list[bytes]:
    with Journal(folder / "unused.sqlite") as journal:
        model, endpoint = generator(url, journal)
        stage = stage_of(model, stories)
        return [
            msgspec.json.encode(endpoint.body(request))
            for row in rows.read(Proverb)
            for request in stage.requests(row, stage.context(), 0)
        ]


def timed(run: Callable[[Given], object], given: Given) -> tuple[float, float]:
    """Seconds and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    run(given)
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    calm_collector()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=6000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--stories", type=int, default=10, help="scenarios a call")
    parser.add_argument("--profile", action="store_true", help="show where the stage's time goes, once")
    options = parser.parse_args()
    with Running(latency=options.latency, stories=options.stories) as server, tempfile.TemporaryDirectory() as scratch:
        rows = Proverbs(options.calls, Path(scratch) / "proverbs.jsonl")
        bodies = bodies_of(server.url, rows, Path(scratch), options.stories)
        rounds_of = itertools.count(1)

        def fresh() -> tuple[Proverbs, Path]:
            """Rows that no cache has seen, and an empty folder."""
            number = next(rounds_of)
            folder = Path(scratch) / str(number)
            folder.mkdir()
            return Proverbs(options.calls, folder / "proverbs.jsonl", number * options.calls), folder

        def ours(given: tuple[Proverbs, Path]) -> None:
            state = run_async(whole_stage(server.url, *given, options.stories))
            assert (state.counts.kept, state.counts.made) == (options.calls, options.stories * options.calls), (
                state.counts
            )

        def theirs(_: object) -> None:
            assert asyncio.run(bare_loop(server.url, bodies)) == options.calls

        def theirs_faster(_: object) -> None:
            assert run_async(bare_loop(server.url, bodies)) == options.calls

        if options.profile:
            given = fresh()
            with cProfile.Profile() as profile:
                ours(given)
            pstats.Stats(profile).sort_stats("tottime").print_stats(45)
            return
        sides = {"bare aiohttp": theirs, "bare, fastest loop": theirs_faster, "generate stage": ours}
        theirs(None), ours(fresh())  # a round for nothing
        rounds = [{name: timed(side, fresh()) for name, side in sides.items()} for _ in range(options.repeats)]
    print("                      calls/s   CPU s per 1,000 calls   stage's rate against it")
    ours_s = statistics.median(times["generate stage"][0] for times in rounds)
    for name in sides:
        seconds, cpu = (statistics.median(times[name][i] for times in rounds) for i in (0, 1))
        print(f"{name:20} {options.calls / seconds:8.0f} {1000 * cpu / options.calls:12.2f} {seconds / ours_s:20.2f}")


if __name__ == "__main__":
    main()
