"""From results folders to tables and figures: what `adage analyse` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from adage.analysis.analyse import Analysis
from adage.analysis.analyse import analyse as _analyse
from adage.analysis.controls import Control
from adage.analysis.tables import to_csv, to_markdown
from adage.errors import StoreError
from adage.evaluation.result import read_results
from adage.store.files import atomic_folder, pretty, write_atomic

Figures = Literal["svg", "png", "none"]
_MADE = frozenset({"tables", "figures", "analysis.json"})
_Stored = tuple[str, str, float, float | None, float | None, int, int, float, bool]
"""A `Control` in JSON, which has no NaN."""


class Analysed(NamedTuple):
    """An analysis, and the files that hold it."""

    analysis: Analysis
    folder: Path | None
    files: tuple[Path, ...]
    """Empty where nothing was to be written."""


def analyse(results: Sequence[Path], *, out: Path | None = None, figures: Figures = "svg") -> Analysed:
    """Every table that the results give rise to; with `out`, written there with the figures.

    Args:
        results: Results folders, model folders in them, or headers of single runs.
        out: Folder for `analysis.json`, `tables/*.csv`, `tables/*.md` and `figures/*`; an earlier analysis in it is
            replaced. The same results give the same bytes.
        figures: Format of the figures.

    Raises:
        StoreError: there are no results, they contradict each other or are damaged, or `out` holds other files or
            lies within the results.
    """
    if out is not None:
        _check(out, results)
    analysis = _analyse(read_results(results), _controls(results))
    if out is None:
        return Analysed(analysis, None, ())
    with atomic_folder(out.absolute()) as folder:
        names = [str(file.relative_to(folder)) for file in _write(analysis, folder, figures)]
    return Analysed(analysis, out, tuple(out / name for name in sorted(names)))


def _write(analysis: Analysis, folder: Path, figures: Figures) -> Iterator[Path]:
    contents = [("analysis.json", pretty(analysis))]
    for table in analysis.tables:
        contents += [
            (f"tables/{table.key}.csv", to_csv(table).encode()),
            (f"tables/{table.key}.md", to_markdown(table).encode()),
        ]
    if figures != "none":
        # matplotlib takes a second to load: it waits until something is drawn.
        draw: Callable[..., Iterator[tuple[str, bytes]]] = import_module("adage.analysis.figures").draw_all
        contents += [(f"figures/{name}.{figures}", content) for name, content in draw(analysis, figures)]
    for name, content in contents:
        write_atomic(folder / name, content)
        yield folder / name


def _check(out: Path, results: Sequence[Path]) -> None:
    """Refuse a folder in which something might be overwritten, or taken for a result."""
    if any(out.resolve().is_relative_to(path.resolve()) for path in results if path.is_dir()):
        raise StoreError(f"{str(out)!r} lies within the results", hint="name a folder beside them with --out")
    if out.exists() and (not out.is_dir() or {entry.name for entry in out.iterdir()} - _MADE):
        raise StoreError(f"{str(out)!r} holds something else than an analysis", hint="name a new folder with --out")


def _controls(results: Sequence[Path]) -> dict[str, list[Control]]:
    """Controls of each benchmark that are stored beside its questions, by slug."""
    found: dict[str, list[Control]] = {}
    folders = {parent / "benchmarks" for path in results for parent in (path, *path.absolute().parents[:2])}
    for folder in sorted(folders):
        for file in sorted(folder.glob("*.controls.json")):
            found[file.name.removesuffix(".controls.json")] = _read_controls(file)
    return found


def _read_controls(file: Path) -> list[Control]:
    try:
        rows = msgspec.json.decode(file.read_bytes(), type=list[_Stored])
    except msgspec.DecodeError as error:
        raise StoreError(
            f"{str(file)!r} holds no controls: {error}", hint="delete it; the next adage evaluate writes it anew"
        ) from error
    nan = float("nan")
    return [
        Control(name, space, accuracy, nan if low is None else low, nan if high is None else high, n, of, by, circular)
        for name, space, accuracy, low, high, n, of, by, circular in rows
    ]
