"""Build the benchmarks that ship with the samples, each as `adage build` would.

python samples/make.py              build them anew into samples/capr-XX/benchmark, with the filter's verdicts
python samples/make.py --table      print the table of docs/samples.md
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

import adage
from adage.records import Scenario
from adage.store.files import write_atomic
from adage.store.run import DROPPED, KEPT, Gone, Run

SAMPLES = Path(__file__).parent
LANGUAGES = ("ar", "am", "ja", "en")
SOURCES = ("recipe.yaml", "corpus.yaml", "proverbs.jsonl", "themes.jsonl", "scenarios.jsonl")


def build(language: str, folder: Path) -> Run:
    """Build one sample in a folder of its own; what lies in `samples/` is only read."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in SOURCES:
        shutil.copyfile(SAMPLES / f"capr-{language}" / name, folder / name)
    return Run(adage.build(folder).run)


def verdicts(run: Run) -> Iterator[dict[str, object]]:
    """What the filter said of every scenario, in the order of their ids."""
    kept = [(row, "") for row in run.rows("4-filter", KEPT, Scenario)]
    gone = [(msgspec.convert(row.row, Scenario), row.reason) for row in run.rows("4-filter", DROPPED, Gone)]
    for scenario, reason in sorted(kept + gone, key=lambda pair: pair[0].id):
        yield {
            "scenario_id": scenario.id,
            "proverb_id": scenario.proverb_id,
            "dropped": reason,
            "checks": msgspec.to_builtins(scenario.checks),
        }


def ship(run: Run, folder: Path) -> None:
    """Put a built benchmark, and the filter's verdicts, where they ship."""
    shutil.rmtree(folder / "benchmark", ignore_errors=True)
    shutil.copytree(run.root / "benchmark", folder / "benchmark")
    lines = b"".join(msgspec.json.encode(verdict) + b"\n" for verdict in verdicts(run))
    write_atomic(folder / "verdicts.jsonl", lines)


def table() -> Iterator[str]:
    """Sizes, drops and second reading of the shipped samples, as Markdown."""
    columns = ("", "proverbs", "meaning groups", "scenarios", "dropped", "without an option", "dev", "test", "doubted")
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for language in LANGUAGES:
        folder = SAMPLES / f"capr-{language}"
        sizes = {name: len(_rows(folder / f"{name}.jsonl")) for name in ("proverbs", "scenarios")}
        manifest = msgspec.json.decode((folder / "benchmark" / "manifest.json").read_bytes())
        items = manifest["items"]["balanced"]
        dropped = [row for row in _rows(folder / "verdicts.jsonl") if row["dropped"]]
        groups = len({row["group"] for row in _explanations(folder)})
        left = sizes["scenarios"] - len(dropped)
        doubted = sum(row["row"] == "scenario" for row in _rows(folder / "reading.jsonl"))
        yield (
            f"| CAPR-{language} | {sizes['proverbs']} | {groups} | {sizes['scenarios']} | {len(dropped)} | "
            f"{left - sum(items.values())} | {items['dev']} | {items['test']} | {doubted / sizes['scenarios']:.0%} |"
        )


def _rows(path: Path) -> list[dict[str, str]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def _explanations(folder: Path) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = pq.read_table(folder / "benchmark" / "explanations" / "proverbs.parquet").to_pylist()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="print the table only")
    if not parser.parse_args().table:
        for language in LANGUAGES:
            with tempfile.TemporaryDirectory() as scratch:
                ship(build(language, Path(scratch) / f"capr-{language}"), SAMPLES / f"capr-{language}")
    print("\n".join(table()))


if __name__ == "__main__":
    main()
