"""Build the benchmarks that ship with the samples, each as `adage build` would.

python samples/make.py              build them anew into samples/capr-XX/benchmark, with the filter's verdicts
python samples/make.py --table      print the table of docs/samples.md
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pyarrow.parquet as pq

import adage
from adage.records import Scenario
from adage.store.files import write_atomic
from adage.store.run import DROPPED, KEPT, Gone, Run

SAMPLES = Path(__file__).parent
PAGE = SAMPLES.parent / "docs" / "samples.md"
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


def sizes() -> Iterator[str]:
    """Sizes, drops and second reading of the shipped samples, as Markdown."""
    columns = ("", "proverbs", "meaning groups", "scenarios", "dropped", "without an option", "dev", "test", "doubted")
    yield from _head(columns)
    for language in LANGUAGES:
        folder = SAMPLES / f"capr-{language}"
        made = {name: len(_rows(folder / f"{name}.jsonl")) for name in ("proverbs", "scenarios")}
        manifest = msgspec.json.decode((folder / "benchmark" / "manifest.json").read_bytes())
        items = manifest["items"]["balanced"]
        dropped = sum(bool(row["dropped"]) for row in _rows(folder / "verdicts.jsonl"))
        explained = pq.read_table(folder / "benchmark" / "explanations" / "proverbs.parquet").to_pylist()
        left = made["scenarios"] - dropped - sum(items.values())
        doubted = sum(row["row"] == "scenario" for row in _rows(folder / "reading.jsonl"))
        groups = len({row["group"] for row in explained})
        yield (
            f"| CAPR-{language} | {made['proverbs']} | {groups} | {made['scenarios']} | {dropped} | {left} | "
            f"{items['dev']} | {items['test']} | {doubted / made['scenarios']:.0%} |"
        )


def controls() -> Iterator[str]:
    """What guessers that never see the scenario reach on `balanced`, from the cards, as Markdown."""
    found: dict[str, dict[str, str]] = {}
    for language in LANGUAGES:
        card = (SAMPLES / f"capr-{language}" / "benchmark" / "README.md").read_text("utf-8")
        for line in card.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if cells[0] == "balanced" and len(cells) > 4 and "sees the scenario" not in cells[1]:
                accuracy, interval = (text.replace("0.", ".") for text in cells[3:5])
                found.setdefault(f"{cells[1]} ({cells[2]})", {})[language] = f"{accuracy} [{interval}]"
    yield from _head(("", *(f"CAPR-{language}" for language in LANGUAGES)))
    for name, values in found.items():
        yield f"| {' | '.join([name, *(values[language] for language in LANGUAGES)])} |"


def page() -> str:
    """The page on the samples with its tables as they are now."""
    text = PAGE.read_text("utf-8")
    for name, lines in (("sizes", sizes()), ("controls", controls())):
        before, _, rest = text.partition(f"<!-- table: {name} -->")
        _, _, after = rest.partition("<!-- end -->")
        text = "\n".join([f"{before}<!-- table: {name} -->", *lines, f"<!-- end -->{after}"])
    return text


def _head(columns: Sequence[str]) -> tuple[str, str]:
    return f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"


def _rows(path: Path) -> list[dict[str, str]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", action="store_true", help="write the tables only")
    if not parser.parse_args().docs:
        for language in LANGUAGES:
            with tempfile.TemporaryDirectory() as scratch:
                ship(build(language, Path(scratch) / f"capr-{language}"), SAMPLES / f"capr-{language}")
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
