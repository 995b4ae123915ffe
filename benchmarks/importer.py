"""What the reader makes of whole corpora, and how long it takes and how much memory.

    python benchmarks/importer.py ../shared/corpora/large [--json]     a table of the files of a folder
    python benchmarks/importer.py --synthetic 100000 1000000           made-up tables of so many records

A file's language is the beginning of its name up to the first `_`. Each file is inspected in a process of its own, so
that the peak of its memory is its own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from adage.corpus import groups, merge, read
from adage.language import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="folder of corpora")
    parser.add_argument("--synthetic", type=int, nargs="*", default=[], metavar="N", help="records of made-up tables")
    parser.add_argument("--json", action="store_true", help="one JSON object a file instead of a table")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one)))
        return
    if not arguments.json:
        print("| file | records | rejected | merged | groups | large groups | explained | seconds | peak MB |")
        print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        files = sorted(arguments.folder.iterdir()) if arguments.folder else []
        for file in itertools.chain(files, (synthetic(Path(folder), n) for n in arguments.synthetic)):
            command = [sys.executable, __file__, "--one", str(file)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            print(json.dumps(found) if arguments.json else row(found))


def measure(file: Path) -> dict[str, object]:
    """The figures of one file."""
    language = load(file.name.split("_")[0])
    started = time.perf_counter()
    rows = read(file, language).rows
    after_reading = time.perf_counter()
    merged = merge(rows, language)
    grouped = groups(merged.rows, language)
    finished = time.perf_counter()
    sizes = Counter(grouped.of)
    return {
        "file": file.name,
        "records": len(rows),
        "rejected": Counter(row.rejected.partition(":")[0] for row in rows if row.rejected),
        "merged": sum(1 for i, into in enumerate(merged.into) if into not in {i, -1}),
        "distinct": len(merged.rows),
        "groups": sum(1 for size in sizes.values() if size > 1),
        "large_groups": [len(group) for group in grouped.large],
        "explained": sum(1 for row in merged.rows if row.explanations),
        "seconds": round(finished - started, 1),
        "seconds_reading": round(after_reading - started, 1),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


def row(found: dict[str, object]) -> str:
    """A line of the table."""
    rejected = found["rejected"]
    assert isinstance(rejected, dict)
    reasons = ", ".join(f"{reason} {count}" for reason, count in rejected.items()) or "0"
    names = ("records", "", "merged", "groups", "large_groups", "explained", "seconds", "peak_mb")
    cells = [str(found["file"]), *(reasons if not name else f"{found[name]}" for name in names)]
    return "| " + " | ".join(cell.strip("[]") or "none" for cell in cells) + " |"


def synthetic(folder: Path, n: int) -> Path:
    """A table of made-up proverbs and explanations; one in fifty is another spelling of an earlier one.

    They are said to be Rusyn, which is written in Cyrillic and unknown to language identifiers.
    """
    rng = random.Random(n)
    syllables = [consonant + vowel for consonant in "бвгджзклмнпрстфхцчш" for vowel in "аеиіоуя"]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(30_000)]
    usage = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    file = folder / f"rue_synthetic_{n}.csv"
    earlier: list[str] = []
    with file.open("w", encoding="utf-8") as out:
        out.write("text,explanation\n")
        for _ in range(n):
            text = " ".join(rng.choices(words, cum_weights=usage, k=rng.randint(4, 8)))
            if earlier and rng.random() < 0.02:
                text = rng.choice(earlier)
                place = rng.randrange(len(text))
                text = text[:place] + text[place + 1 :]
            elif len(earlier) < 10_000:
                earlier.append(text)
            out.write(f"{text},{' '.join(rng.choices(words, cum_weights=usage, k=rng.randint(8, 20)))}\n")
    return file


if __name__ == "__main__":
    main()
