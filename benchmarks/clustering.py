"""The search for k by one linkage and nested silhouettes, against one scikit-learn fit and score per k.

    python benchmarks/clustering.py [--sizes 1000 2000 5000] [--repeats 3]

Needs scikit-learn, which ADAGE itself does not. Both sides search k = 10 to 25 with the same weights and must agree.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import silhouette_samples

from adage.stages.clustering import choose_k, unit

T = TypeVar("T")
K_RANGE = (10, 25)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 2_000, 5_000], help="numbers of labels")
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    print("   n   one linkage   scikit-learn   ratio   k")
    for n in arguments.sizes:
        vectors, weights = labels(n, arguments.dim)
        ours, choice = timed(lambda v=vectors, w=weights: choose_k(v, w, K_RANGE), arguments.repeats)
        # One repeat of the slow side is enough to see a ratio in the tens.
        theirs, curve = timed(lambda v=vectors, w=weights: sixteen_fits(v, w), 1 if n > 2_000 else arguments.repeats)
        np.testing.assert_allclose([score for _, score in choice.curve], curve, atol=1e-9)
        print(f"{n:5d} {ours:10.2f} s {theirs:12.2f} s {theirs / ours:7.1f}  {choice.k:2d}")


def labels(n: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors around twenty overlapping themes, and how many proverbs carry each."""
    rng = np.random.default_rng(n)
    themes = rng.normal(size=(20, dim))
    return unit(0.4 * themes[rng.integers(20, size=n)] + rng.normal(size=(n, dim))), rng.integers(1, 9, size=n)


def sixteen_fits(vectors: np.ndarray, weights: np.ndarray) -> list[float]:
    """Weighted silhouettes as one would get them from scikit-learn."""
    curve = []
    for k in range(K_RANGE[0], K_RANGE[1] + 1):
        found = AgglomerativeClustering(k, linkage="ward").fit_predict(vectors)
        curve.append(float(np.average(silhouette_samples(vectors, found), weights=weights)))
    return curve


def timed(run: Callable[[], T], repeats: int) -> tuple[float, T]:
    """Median seconds, and the last result."""
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds), result


if __name__ == "__main__":
    main()
