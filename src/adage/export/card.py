"""The data card: what a benchmark is, how it was made, what its options give away, and who may do what with it."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import msgspec
from jinja2 import Environment, StrictUndefined

from adage.analysis.controls import Control
from adage.analysis.judges import agreement, judge_rates
from adage.cast import Cast
from adage.export.audit import count_audit
from adage.recipe import Recipe
from adage.records import Item, Proverb, Source
from adage.stages.cluster import Clustering
from adage.stages.distract import DistractContext
from adage.stages.prompt import source_of
from adage.stages.splits import SPLITS
from adage.stages.validate import Probe
from adage.store.files import write_atomic
from adage.store.run import DROPPED, KEPT, PROBES, Gone, Run

_PROMPTS = ("label", "name", "generate", "judge")


def inline(text: str) -> str:
    r"""Text of people and models as a part of one line of Markdown: no markup, no cell ends, no line ends.

    >>> inline("a | b <c>")
    'a \\\\| b &lt;c&gt;'
    """
    return re.sub(r"([|`*_\[\]])", r"\\\1", html.escape(" ".join(text.split()), quote=False))


def judged_items(run: Run) -> list[Item]:
    """All items that went through validate, the dropped ones included."""
    dropped = (msgspec.convert(gone.row, Item) for gone in run.rows("6-validate", DROPPED, Gone))
    return [*run.rows("6-validate", KEPT, Item), *dropped]


def write_card(
    path: Path,
    *,
    run: Run,
    recipe: Recipe,
    cast: Cast,
    source: Source,
    items: Sequence[Item],
    proverbs: Sequence[Proverb],
    sizes: Mapping[str, Mapping[str, int]],
    controls: Mapping[str, Sequence[Control]],
    texts: bool,
) -> None:
    """Write the card of a finished run; equal runs give equal cards."""
    judged = judged_items(run)
    distract = run.context("5-distract", DistractContext) or DistractContext()
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - Markdown, not HTML; the card holds no corpus text
    )
    environment.filters["inline"] = inline
    environment.filters["figure"] = lambda value: "–" if math.isnan(value) else f"{value:.3f}"
    template = environment.from_string(files("adage.export").joinpath("templates/card.md.j2").read_text("utf-8"))
    card = template.render(
        recipe=recipe,
        language=cast.language,
        unit=recipe.unit.name,
        source=source,
        texts=texts,
        n_options=recipe.options_per_item(),
        n_proverbs=len(proverbs),
        n_groups=len({proverb.group for proverb in proverbs}),
        sizes=sizes,
        split_names=[split for split in SPLITS if any(split in splits for splits in sizes.values())],
        states=run.states(),
        writers=", ".join(sorted({item.by for item in items})),
        labellers=", ".join(sorted({proverb.theme.by for proverb in proverbs if proverb.theme and proverb.theme.by}))
        or "nobody (explanations were clustered directly)",
        clustering=run.context("2b-cluster", Clustering),
        usage=distract.usage,
        encoder=cast.encoder.id,
        controls=controls,
        judges=judge_rates(judged, list(run.rows("6-validate", PROBES, Probe))),
        agreement=agreement(judged),
        gate=recipe.validate_.gate,
        audit=count_audit(items),
        prompts={name: source_of(name).rstrip() for name in _PROMPTS},
    )
    write_atomic(path, card.encode())
