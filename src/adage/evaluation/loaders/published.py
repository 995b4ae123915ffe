"""Our own benchmark folder, as `export.benchmark` writes it, wherever it lies in a run or a recipe's folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from adage.errors import BenchmarkError, VerificationError
from adage.evaluation.result import Benchmark, Question
from adage.records import Manifest, Record
from adage.stages.splits import SPLITS
from adage.store.files import hash_file

ALL = "all"
"""Asks for every assembly or split."""
_PLACES = ("manifest.json", "benchmark/manifest.json", "*/benchmark/manifest.json", "*/*/benchmark/manifest.json")
"""Where a benchmark folder lies below what people name: itself, a run, a recipe's folder, a folder of such."""
_BARE = ("release/manifest.json", "*/release/manifest.json")


class _Row(Record, frozen=True, kw_only=True):
    """The columns of `ASSEMBLY/SPLIT.parquet` that an evaluation needs."""

    id: str
    scenario: str
    choices: tuple[str, ...]
    answer: int
    group: str
    roles: tuple[str, ...] = ()
    proverb_ids: tuple[str, ...] = ()
    clusters: tuple[int, ...] = ()
    cos_scenario: tuple[float, ...] = ()
    equivalent: str | None = None


def find_published(path: Path) -> list[tuple[Path, Manifest]]:
    """Benchmark folders at a path, with their manifests: it may name one, or a run, a recipe, or a folder of those."""
    root = path.parent if path.is_file() and path.suffix in {".yaml", ".yml", ".json"} else path
    for pattern in (*_PLACES, *_BARE):
        found = [(file.parent, manifest) for file in sorted(root.glob(pattern)) if (manifest := _manifest(file))]
        if found:
            return found
    return []


def folder_of(file: Path) -> Path | None:
    """The benchmark folder that a table belongs to; None where it is none of ours."""
    full = file.resolve()
    manifest = _manifest(full.parents[1] / "manifest.json") if full.is_file() and len(full.parents) > 1 else None
    return full.parents[1] if manifest and f"{full.parent.name}/{full.name}" in manifest.files else None


def _manifest(file: Path) -> Manifest | None:
    """The manifest in a file; None where the file is something else of that name."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Manifest)
    except (msgspec.DecodeError, OSError, RecursionError):
        return None


def load_published(folder: Path, manifest: Manifest, *, assembly: str, split: str) -> Iterator[Benchmark]:
    """The benchmark of each assembly that is asked for (`balanced` by default, `all` for each).

    Raises:
        BenchmarkError: The folder holds no texts, or not what is asked for.
        VerificationError: A file is not what the manifest says.
    """
    if not manifest.texts:
        raise BenchmarkError(
            f"{str(folder)!r} is a release without texts: it holds ids and hashes only, and nothing that can be asked",
            hint="name the folder benchmark/ of whoever built it; rights may forbid that it is passed on",
        )
    for name in choose(assembly, manifest.items, "balanced", what="assembly", place=folder):
        splits = choose(split, manifest.items[name], "test", what="split", place=folder / name)
        questions = [question for each in splits for question in _questions(folder, manifest, name, each)]
        if not questions:
            raise BenchmarkError(f"{str(folder / name)!r} holds no item", hint="see why with: adage status")
        yield Benchmark(
            name=manifest.name,
            language=manifest.language,
            assembly=name,
            unit=manifest.unit,
            encoder=manifest.encoder,
            redistribute=manifest.redistribute,
            questions=tuple(questions),
        )


def choose(asked: str, there: Mapping[str, object] | Iterable[str], usual: str, *, what: str, place: Path) -> list[str]:
    """Which of the names that are there are meant: the one asked for, all of them, else the usual or the only one.

    Raises:
        BenchmarkError: The one asked for is not there, or none was and it is not clear which.
    """
    names = list(there)
    if asked == ALL:
        return names
    if asked in names:
        return [asked]
    if not asked and (usual in names or len(names) == 1):
        return [usual if usual in names else names[0]]
    listed = ", ".join(map(repr, names)) or "none"
    wrong = f"has no {what} {asked!r}" if asked else f"has several and no {usual!r} among them"
    raise BenchmarkError(
        f"{str(place)!r} {wrong}; it has: {listed}", hint=f"name one of them with --{what}, or all of them with {ALL!r}"
    )


def _questions(folder: Path, manifest: Manifest, assembly: str, split: str) -> Iterator[Question]:
    name = f"{assembly}/{split}.parquet"
    file = folder / name
    sealed = manifest.files.get(name)
    if sealed is None or split not in SPLITS or not file.resolve().is_relative_to(folder.resolve()):
        raise BenchmarkError(f"{str(folder / 'manifest.json')!r} lists no {name!r} among its files", hint=_AGAIN)
    try:
        if (found := hash_file(file)) != sealed:
            raise VerificationError(
                f"{str(file)!r} has the hash {found!r}, but the manifest says {sealed!r}", hint=_AGAIN
            )
        rows = pq.read_table(file).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise BenchmarkError(f"{str(file)!r} cannot be read: {error}", hint=_AGAIN) from error
    for number, fields in enumerate(rows, 1):
        yield _question(fields, split, f"{file}#{number}")


def _question(fields: Mapping[str, object], split: str, place: str) -> Question:
    try:
        row = msgspec.convert({key: value for key, value in fields.items() if value is not None}, _Row)
    except msgspec.ValidationError as error:
        raise BenchmarkError(f"{place}: not an item of a benchmark: {error}", hint=_AGAIN) from error
    beside = (row.roles, row.proverb_ids, row.clusters, row.cos_scenario)
    if (
        not 0 <= row.answer < len(row.choices)
        or any(len(each) not in {0, len(row.choices)} for each in beside)
        or (row.roles and row.roles[row.answer] != "gold")
    ):
        raise BenchmarkError(
            f"{place}: the answer {row.answer} or a list beside the {len(row.choices)} choices does not fit them",
            hint=_AGAIN,
        )
    return Question(
        id=row.id,
        scenario=row.scenario,
        options=row.choices,
        gold=(row.answer,),
        group=row.group,
        names=row.proverb_ids,
        roles=row.roles,
        clusters=row.clusters,
        cos_scenario=tuple(round(cosine, 4) for cosine in row.cos_scenario),
        equivalent=row.equivalent or "",
        split=split,
    )


_AGAIN = "fetch or build the benchmark again: the folder is not as it was written"
