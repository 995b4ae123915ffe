"""The benchmark folder: Parquet per split and assembly, explanations and themes apart, manifest, lock and card.

The layout is that of a Hugging Face dataset repository, so `load_dataset(FOLDER, "balanced")` works on it. Nothing in
the items' tables names a theme or explains a proverb; that is a configuration of its own.
"""

from __future__ import annotations

import collections
import io
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adage.analysis.controls import Control
from adage.analysis.leaks import option_controls
from adage.cast import Cast
from adage.errors import StageError
from adage.export.card import write_card
from adage.recipe import Recipe, Unit
from adage.records import Item, Manifest, Proverb, Source, verify
from adage.stages.splits import SPLITS
from adage.store.files import atomic_folder, hash_file, pretty, write_atomic
from adage.store.run import KEPT, Run

ITEMS = pa.schema(
    [
        ("id", pa.string()),
        ("language", pa.string()),
        ("scenario", pa.string()),
        ("choices", pa.list_(pa.string())),
        ("answer", pa.int8()),
        ("roles", pa.list_(pa.string())),
        ("proverb_ids", pa.list_(pa.string())),
        ("proverb_id", pa.string()),
        ("scenario_id", pa.string()),
        ("group", pa.string()),
        ("equivalent", pa.string()),
        ("clusters", pa.list_(pa.int16())),
        ("cluster_levels", pa.list_(pa.int16())),
        ("cos_scenario", pa.list_(pa.float32())),
        ("cos_gold", pa.list_(pa.float32())),
        ("length_ratio", pa.list_(pa.float32())),
        ("written_by", pa.string()),
        ("source_id", pa.string()),
        ("row_hash", pa.string()),
        ("canary", pa.string()),
    ]
)
EXPLANATIONS = pa.schema(
    [
        ("proverb_id", pa.string()),
        ("text", pa.string()),
        ("explanation", pa.string()),
        ("alternatives", pa.list_(pa.string())),
        ("group", pa.string()),
        ("equivalent", pa.string()),
        ("variety", pa.string()),
        ("theme", pa.string()),
        ("theme_by", pa.string()),
        ("cluster", pa.int16()),
        ("cluster_name", pa.string()),
        ("source_id", pa.string()),
        ("row_hash", pa.string()),
        ("canary", pa.string()),
    ]
)


def item_row(item: Item, canary: str, *, texts: bool) -> dict[str, Any]:
    """An item as a row of `ITEMS`; without texts, scenario and choices are empty."""
    options = item.options
    return {
        "id": item.id,
        "language": item.language,
        "scenario": item.scenario if texts else None,
        "choices": [option.text for option in options] if texts else [],
        "answer": item.answer,
        "roles": [option.role for option in options],
        "proverb_ids": [option.proverb_id for option in options],
        "proverb_id": item.proverb_id,
        "scenario_id": item.scenario_id,
        "group": item.group,
        "equivalent": item.equivalent or None,
        "clusters": [option.cluster for option in options],
        "cluster_levels": [option.cluster_level for option in options],
        "cos_scenario": [option.cos_scenario for option in options],
        "cos_gold": [option.cos_gold for option in options],
        "length_ratio": [option.length_ratio for option in options],
        "written_by": item.by,
        "source_id": item.source_id,
        "row_hash": item.row_hash,
        "canary": canary,
    }


def explanation_row(proverb: Proverb, canary: str, *, texts: bool) -> dict[str, Any]:
    """A proverb as a row of `EXPLANATIONS`."""
    theme = proverb.theme
    return {
        "proverb_id": proverb.id,
        "text": proverb.text if texts else None,
        "explanation": proverb.explanation if texts else None,
        "alternatives": list(proverb.alternatives) if texts else [],
        "group": proverb.group,
        "equivalent": proverb.equivalent or None,
        "variety": proverb.variety or None,
        "theme": theme.label if theme else None,
        "theme_by": theme.by if theme else None,
        "cluster": theme.cluster if theme else None,
        "cluster_name": theme.name if theme else None,
        "source_id": proverb.source_id,
        "row_hash": proverb.row_hash,
        "canary": canary,
    }


def parquet(rows: Sequence[dict[str, Any]], schema: pa.Schema) -> bytes:
    """Rows as the bytes of a Parquet file; equal rows give equal bytes."""
    buffer = io.BytesIO()
    table = pa.Table.from_pylist(list(rows), schema=schema)
    pq.write_table(table, buffer, compression="zstd", store_schema=False)
    return buffer.getvalue()


def read_items(run: Run) -> list[Item]:
    """The items that curate kept, verified.

    Raises:
        VerificationError: an item's content does not match its id and hash.
        StageError: no item is left.
    """
    items = list(run.rows("7-curate", KEPT, Item))
    for item in items:
        verify(item)
    if not items:
        drops = [(n, state.stage, reason) for state in run.states() for reason, n in state.counts.reasons.items()]
        n, stage, reason = max(drops, default=(0, "", "nothing"))
        raise StageError(
            f"no item is left; most rows were dropped by {stage or 'no stage'} because of {reason} ({n})",
            hint="see the whole funnel with: adage status",
        )
    return items


async def write_benchmark(
    run: Run, recipe: Recipe, cast: Cast, source: Source
) -> tuple[Path, dict[str, list[Control]]]:
    """Write `benchmark/` in the run folder from its finished stages; returns it and the controls of each assembly.

    Where the rights do not allow texts to be passed on, `release/` beside it holds the same without any text.
    """
    items = read_items(run)
    proverbs = _proverbs(run, items)
    controls = await option_controls(items, {proverb.id: proverb for proverb in proverbs}, cast.encoder)
    counts = sizes(items)
    lock = {option.proverb_id: item.split for item in items for option in item.options}
    folder = run.root / "benchmark"
    bare = run.root / "release"
    if source.releasable:
        shutil.rmtree(bare, ignore_errors=True)
    for target, texts in [(folder, True)] if source.releasable else [(folder, True), (bare, False)]:
        with atomic_folder(target) as temporary:
            _write_tables(temporary, items, proverbs, recipe.canary, texts=texts)
            write_atomic(temporary / "splits.lock", pretty(dict(sorted(lock.items()))))
            write_card(
                temporary / "README.md",
                run=run,
                recipe=recipe,
                cast=cast,
                source=source,
                items=items,
                proverbs=proverbs,
                sizes=counts,
                controls=controls,
                texts=texts,
            )
            files = sorted(path for path in temporary.rglob("*") if path.is_file())
            manifest = Manifest(
                name=recipe.name,
                release=recipe.release,
                released=recipe.released,
                language=recipe.language,
                unit=recipe.unit.word or (recipe.unit.name if recipe.unit.name != Unit().name else ""),
                encoder=cast.encoder.id,
                canary=recipe.canary,
                texts=texts,
                redistribute=source.releasable,
                recipe=recipe.fingerprint(),
                items=counts,
                files={str(path.relative_to(temporary)): hash_file(path) for path in files},
            )
            write_atomic(temporary / "manifest.json", pretty(manifest))
    return folder, controls


def sizes(items: Iterable[Item]) -> dict[str, dict[str, int]]:
    """Assembly → split → number of items, splits in their order."""
    counts = collections.Counter((item.assembly, item.split) for item in items)
    assemblies = sorted({assembly for assembly, _ in counts})
    return {
        assembly: {split: counts[assembly, split] for split in SPLITS if counts[assembly, split]}
        for assembly in assemblies
    }


def _proverbs(run: Run, items: Sequence[Item]) -> list[Proverb]:
    """The proverbs that occur in an item, by id."""
    used = {option.proverb_id for item in items for option in item.options}
    clustered = run.rows("2b-cluster", KEPT, Proverb)
    return sorted((proverb for proverb in clustered if proverb.id in used), key=lambda proverb: proverb.id)


def _write_tables(
    folder: Path, items: Sequence[Item], proverbs: Sequence[Proverb], canary: str, *, texts: bool
) -> None:
    for assembly, splits in sizes(items).items():
        for split in splits:
            rows = [
                item_row(item, canary, texts=texts)
                for item in sorted(items, key=lambda item: item.id)
                if (item.assembly, item.split) == (assembly, split)
            ]
            write_atomic(folder / assembly / f"{split}.parquet", parquet(rows, ITEMS))
    rows = [explanation_row(proverb, canary, texts=texts) for proverb in proverbs]
    write_atomic(folder / "explanations" / "proverbs.parquet", parquet(rows, EXPLANATIONS))
