"""Memory of a whole generate stage as the number of calls grows: each size in a process of its own.

python benchmarks/memory.py [--sizes 2000 10000 30000 100000]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from calls import Proverbs, whole_stage
from stub import Running

from adage.engine.loop import run_async


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 10_000, 30_000, 100_000])
    parser.add_argument("--stories", type=int, default=1, help="scenarios a call")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        with Running(latency=0.001, stories=options.stories) as server, tempfile.TemporaryDirectory() as scratch:
            rows = Proverbs(options.one, Path(scratch) / "proverbs.jsonl")
            run_async(whole_stage(server.url, rows, Path(scratch), options.stories))
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
        return
    for n in options.sizes:
        command = [sys.executable, __file__, "--one", str(n), "--stories", str(options.stories)]
        print(f"{n:7d} calls: {subprocess.check_output(command, text=True).strip():>5} MB at most", flush=True)


if __name__ == "__main__":
    main()
