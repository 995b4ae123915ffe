"""The pictures of an analysis, each drawn from one of its tables.

The same tables give the same bytes. Colours are those of Okabe and Ito (2008), which colour-blind readers can tell
apart; markers differ as well. Text stays text in SVG.
"""

from __future__ import annotations

import io
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from textwrap import fill
from typing import Any, Literal, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager, get_font
from matplotlib.ticker import FuncFormatter, NullFormatter

from adage.analysis.analyse import Analysis
from adage.analysis.tables import Cell, Measure, Table
from adage.text.unicode import harmless

Format = Literal["svg", "png"]
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_GREY = "#777777"
_FONT = "DejaVu Sans"
"""Comes with matplotlib."""
_ROLES = ("same_cluster", "near_match", "random")
_SIZES = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)
"""Billions of parameters that are written on an axis."""
_ACROSS = 4
"""Panels, or names in a legend, beside one another."""
_TITLE = 30
"""Characters of a panel's title before it breaks into lines."""
_PER_INCH = 12
"""Characters of a legend that an inch holds."""
Row = dict[str, Cell]


class Picture(NamedTuple):
    """A figure as a file."""

    name: str
    """Without ending."""
    content: bytes


def draw_all(analysis: Analysis, kind: Format = "svg") -> Iterator[Picture]:
    """Every figure that the tables give rise to, for each condition."""
    fonts, lacking = _fonts(_names(analysis))
    settings: dict[Any, Any] = {
        "font.family": fonts,
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "adage",
        "text.parse_math": False,
    }
    # A browser finds a font for what ours lack; a PNG would show empty boxes.
    shown = _escaping(lacking) if kind == "png" else harmless
    with mpl.rc_context(settings), warnings.catch_warnings():
        if kind == "svg":
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        for name, (key, draw) in _DRAWN.items():
            table = analysis.table(key)
            for condition, rows in _by(_relabelled(table, shown), "condition") if table else ():
                figure = draw(rows) if "choices_only" not in condition else None
                if figure is not None:
                    yield Picture(f"{name}.{condition}", _bytes(figure, kind))


def accuracy(rows: Sequence[Row]) -> Figure:
    """Accuracy of every model with its interval, a marker a benchmark, and chance."""
    figure, axes = _dots(rows, "accuracy", by="benchmark")
    for chance in sorted({_number(row["chance"]) for row in rows}):
        axes.axvline(chance, color=_GREY, linestyle="--", linewidth=1, zorder=0)
    axes.set_xlim(0, 1)
    figure.supxlabel("accuracy over answered questions, 95 % interval; dashed: chance", fontsize=9)
    return figure


def scaling(rows: Sequence[Row]) -> Figure | None:
    """Accuracy against parameters, a line a family, a panel a benchmark; None without sizes."""
    sized = [row for row in rows if isinstance(row["parameters"], int | float) and isinstance(row["accuracy"], Measure)]
    if not sized:
        return None
    panels = _by(sized, "benchmark")
    families = [name for name, _ in _by(sized, "family")]
    figure, all_axes = _grid(len(panels), width=3.2, height=3.0)
    for (name, group), axes in zip(panels, all_axes, strict=False):
        for family, members in _by(group, "family"):
            place = families.index(family)
            ordered = sorted(members, key=lambda row: _number(row["parameters"]))
            x = [_number(row["parameters"]) * 1.04**place for row in ordered]  # bars of equal sizes side by side
            values, errors = _bars([row["accuracy"] for row in ordered])
            axes.errorbar(x, values, yerr=errors, label=family or "no family", **look_of(place), linestyle="-")
        for chance in sorted({_number(row["chance"]) for row in group}):
            axes.axhline(chance, color=_GREY, linestyle="--", linewidth=1, zorder=0)
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        axes.set_xticks([tick for tick in _SIZES if low <= tick <= high])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(0, 1)
        axes.set_title(fill(name, _TITLE))
        axes.set_xlabel("parameters (billions)")
    all_axes[0].set_ylabel("accuracy, 95 % interval; dashed: chance")
    _legend(figure)
    return figure


def gap(rows: Sequence[Row]) -> Figure:
    """Gap to English of every model, a marker a benchmark; hollow: on matched lessons."""
    figure, axes = _dots(rows, "gap", by="benchmark", hollow="matched")
    axes.axvline(0, color=_GREY, linestyle="--", linewidth=1, zorder=0)
    figure.supxlabel(
        "accuracy in English less accuracy in the language (points),\n95 % interval; hollow: matched lessons",
        fontsize=9,
    )
    return figure


def attraction(rows: Sequence[Row]) -> Figure:
    """Attraction of the roles for every model, a panel a benchmark."""
    panels = _by(rows, "benchmark")
    models = _order(rows, "model")
    figure, all_axes = _grid(len(panels), width=3.4, height=0.9 + 0.34 * len(models), sharey=True)
    for (name, group), axes in zip(panels, all_axes, strict=False):
        for place, role in enumerate(_ROLES):
            found = [(models.index(str(row["model"])), row[role]) for row in group]
            _scatter(axes, found, place, len(_ROLES), label=role.replace("_", " "))
        axes.axvline(1, color=_GREY, linestyle="--", linewidth=1, zorder=0)
        axes.set_title(fill(name, _TITLE))
        axes.tick_params(axis="y", length=0)
    right = max(axes.get_xlim()[1] for axes in all_axes)
    for axes in all_axes:
        axes.set_xlim(0, right)
    _models(all_axes[0], models)
    figure.supxlabel("errors / errors if they fell evenly on the wrong options, 95 % interval", fontsize=9)
    _legend(figure)
    return figure


def gradient(rows: Sequence[Row]) -> Figure | None:
    """Near match's share of the errors, raw and π̂, against capability, a panel a benchmark; None without capability."""
    known = [row for row in rows if isinstance(row["capability"], int | float)]
    if not known:
        return None
    panels = _by(known, "benchmark")
    figure, all_axes = _grid(len(panels), width=3.4, height=3.2)
    for (name, group), axes in zip(panels, all_axes, strict=False):
        x = np.array([_number(row["capability"]) for row in group])
        raw = [_number(row["raw_near_match"]) for row in group]
        axes.plot(x, raw, "o", color=COLOURS[0], markerfacecolor="none", label="raw share of the errors")
        for even in sorted({_number(row["even_near_match"]) for row in group}):
            axes.axhline(even, color=_GREY, linestyle="--", linewidth=1, zorder=0)
        sure = [(at, row["pi_near_match"]) for at, row in zip(x, group, strict=True)]
        points = [(at, cell) for at, cell in sure if isinstance(cell, Measure) and cell.value is not None]
        if points:
            values, errors = _bars([cell for _, cell in points])
            where = [at + 0.004 for at, _ in points]
            axes.errorbar(where, values, yerr=errors, **look_of(1), linestyle="none", label="π̂ among misreadings")
        spans = [(at, cell) for at, cell in sure if isinstance(cell, Measure) and cell.value is None]
        if spans:
            low, high = zip(*((cell.low or 0.0, cell.high or 0.0) for _, cell in spans), strict=True)
            axes.vlines(
                [at for at, _ in spans], low, high, color=COLOURS[1], linewidth=1, label="π that guessing admits"
            )
        axes.set_ylim(0, 1)
        axes.set_title(fill(name, _TITLE))
        axes.set_xlabel("capability: accuracy in other languages")
    all_axes[0].set_ylabel("near match's share; dashed: if even")
    _legend(figure)
    return figure


def position(rows: Sequence[Row]) -> Figure:
    """Share of the answers on each place for every model, a panel a benchmark; white: as often as the others."""
    panels = _by(rows, "benchmark")
    models = _order(rows, "model")
    figure, all_axes = _grid(len(panels), width=2.9, height=0.9 + 0.26 * len(models), sharey=True)
    for (name, group), axes in zip(panels, all_axes, strict=False):
        places = max(int(_number(row["place"])) for row in group)
        shares = np.full((len(models), places), np.nan)
        for row in group:
            if isinstance(row["chosen"], Measure) and row["chosen"].value is not None:
                shares[models.index(str(row["model"])), int(_number(row["place"])) - 1] = row["chosen"].value
        excess = shares * places
        axes.imshow(np.log2(np.clip(excess, 0.25, 4)), cmap="PuOr_r", vmin=-2, vmax=2, aspect="auto")
        for (line, place), share in np.ndenumerate(shares):
            if np.isfinite(share):
                strong = abs(np.log2(np.clip(excess[line, place], 0.25, 4))) > 1.2
                colour = "white" if strong else "black"
                axes.text(place, line, f"{share:.2f}", ha="center", va="center", fontsize=7, color=colour)
        axes.set_xticks(range(places), [str(place + 1) for place in range(places)])
        axes.set_title(fill(name, _TITLE))
        axes.set_xlabel("place")
        axes.tick_params(axis="y", length=0)
    all_axes[0].set_yticks(range(len(models)), models)
    return figure


def reliability(rows: Sequence[Row]) -> Figure:
    """Accuracy against confidence in bins, a panel a model, a line a benchmark."""
    panels = _by(rows, "model")
    names = _order(rows, "benchmark")
    figure, all_axes = _grid(len(panels), width=2.2, height=2.2, sharey=True)
    for (name, group), axes in zip(panels, all_axes, strict=False):
        axes.plot([0, 1], [0, 1], color=_GREY, linestyle="--", linewidth=1, zorder=0)
        for benchmark, bins in _by(group, "benchmark"):
            x, y = [_number(row["confidence"]) for row in bins], [_number(row["accuracy"]) for row in bins]
            axes.plot(x, y, label=benchmark, clip_on=False, **look_of(names.index(benchmark)))
        axes.set(xlim=(0, 1), ylim=(0, 1), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        axes.set_title(fill(name, _TITLE), fontsize=8)
    figure.supxlabel("confidence: probability of the most probable option", fontsize=9)
    figure.supylabel("accuracy", fontsize=9)
    _legend(figure)
    return figure


_DRAWN: dict[str, tuple[str, Callable[[Sequence[Row]], Figure | None]]] = {
    "accuracy": ("accuracy", accuracy),
    "scaling": ("accuracy", scaling),
    "gap": ("gap", gap),
    "attraction": ("attraction", attraction),
    "gradient": ("gradient", gradient),
    "position": ("position", position),
    "reliability": ("reliability", reliability),
}
"""Name of a figure → the key of its table, and what draws it."""


def _dots(rows: Sequence[Row], key: str, *, by: str, hollow: str = "") -> tuple[Figure, Axes]:
    """Measures of every model as dots with bars, one line a model, dodged by the values of `by`."""
    models, series = _order(rows, "model"), _by(rows, by)
    figure = Figure(figsize=(6.4, 1.3 + len(models) * (0.12 + 0.13 * len(series))), layout="constrained")
    axes = figure.subplots()
    for place, (name, group) in enumerate(series):
        found = [(models.index(str(row["model"])), row[key]) for row in group]
        _scatter(axes, found, place, len(series), label=name)
        if hollow:
            also = [(models.index(str(row["model"])), row[hollow]) for row in group]
            _scatter(axes, also, place + 0.35, len(series), look=place, filled=False)
    _models(axes, models)
    _legend(figure)
    return figure, axes


def _scatter(
    axes: Axes,
    found: Sequence[tuple[int, Cell]],
    place: float,
    of: int,
    *,
    label: str = "",
    look: int | None = None,
    filled: bool = True,
) -> None:
    """Dots with bars at line `number + offset`, the offset by the place among `of` series."""
    kept = [(line, cell) for line, cell in found if isinstance(cell, Measure) and cell.value is not None]
    if not kept:
        return
    values, errors = _bars([cell for _, cell in kept])
    lines = [line + (place + 0.5 - of / 2) * 0.8 / of for line, _ in kept]
    style = look_of(int(place) if look is None else look)
    if not filled:
        style |= {"markerfacecolor": "white"}
    axes.errorbar(values, lines, xerr=errors, label=label or None, linestyle="none", **style)


def _models(axes: Axes, models: Sequence[str]) -> None:
    axes.set_yticks(range(len(models)), models)
    axes.set_ylim(len(models) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def _bars(cells: Sequence[Cell]) -> tuple[list[float], np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """Values, and the lengths of their bars downwards and upwards, shape (2, n); none where an end is unknown."""
    measures = [cell for cell in cells if isinstance(cell, Measure) and cell.value is not None]
    values = [cell.value or 0.0 for cell in measures]
    ends = [
        (cell.low, cell.high) if cell.low is not None else (value, value)
        for cell, value in zip(measures, values, strict=True)
    ]
    lengths = np.array(
        [[value - (low or 0.0), (high or 0.0) - value] for (low, high), value in zip(ends, values, strict=True)]
    )
    return values, np.maximum(lengths.reshape(-1, 2).T, 0)


def look_of(place: int) -> dict[str, Any]:
    """Colour and marker of a series by its number."""
    # Beyond the last colour they begin again, each with another marker than before.
    marker = MARKERS[(place + place // len(COLOURS)) % len(MARKERS)]
    return {"color": COLOURS[place % len(COLOURS)], "marker": marker, "markersize": 4, "linewidth": 1}


def _grid(panels: int, *, width: float, height: float, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """A figure with that many panels, at most four beside one another."""
    across = min(panels, _ACROSS)
    down = -(-panels // across)
    figure = Figure(figsize=(width * across + 1.2, height * down + 0.6), layout="constrained")
    axes = list(figure.subplots(down, across, squeeze=False, sharey=sharey).flat)
    for spare in axes[panels:]:
        spare.set_visible(False)
    return figure, axes[:panels]


def _legend(figure: Figure) -> None:
    """One legend of what any panel shows."""
    found = {
        label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if found:
        across = int(figure.get_figwidth() * _PER_INCH) // (max(map(len, found)) + 6)
        columns = min(_ACROSS, len(found), max(1, across))
        figure.legend(found.values(), found.keys(), loc="outside upper center", ncols=columns)


def _by(rows: Sequence[Row], key: str) -> list[tuple[str, list[Row]]]:
    """Rows by the text of a column, in the order of first appearance."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(str(row[key]), []).append(row)
    return list(found.items())


def _order(rows: Sequence[Row], key: str) -> list[str]:
    return [name for name, _ in _by(rows, key)]


def _number(cell: Cell) -> float:
    return float(cell) if isinstance(cell, int | float) else float("nan")


def _bytes(figure: Figure, kind: Format) -> bytes:
    content = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    figure.savefig(content, format=kind, dpi=150, metadata=metadata)
    return content.getvalue()


def _names(analysis: Analysis) -> set[str]:
    """Characters of all names that the tables show."""
    found: set[str] = set()
    for table in analysis.tables:
        keys = [column.key for column in table.columns if column.kind == "name"]
        found.update(char for row in table.rows for key in keys if isinstance(row[key], str) for char in str(row[key]))
    return found


def _relabelled(table: Table, shown: Callable[[str], str]) -> list[Row]:
    """The rows, their names put into a form that can be drawn."""
    keys = {column.key for column in table.columns if column.kind == "name"}
    return [
        {key: shown(cell) if key in keys and isinstance(cell, str) else cell for key, cell in row.items()}
        for row in table.rows
    ]


def _escaping(lacking: set[str]) -> Callable[[str], str]:
    def shown(text: str) -> str:
        return "".join(
            char.encode("ascii", "backslashreplace").decode() if char in lacking else char for char in harmless(text)
        )

    return shown


def _fonts(chars: set[str]) -> tuple[list[str], set[str]]:
    """Installed fonts that have these characters between them, ours first, and the characters that none has."""
    fonts, lacking = [_FONT], {char for char in chars if not char.isspace() and unicodedata.category(char) != "Cf"}
    known = sorted(fontManager.ttflist, key=lambda font: (font.name != _FONT, "Noto Sans" not in font.name, font.name))
    for font in known:
        if not lacking:
            break
        if font.style != "normal" or font.weight not in {400, "normal", "regular"}:
            continue
        has = {char for char in lacking if ord(char) in get_font(font.fname).get_charmap()}
        if has:
            fonts += [font.name] * (font.name != _FONT)
            lacking -= has
    return fonts, lacking
