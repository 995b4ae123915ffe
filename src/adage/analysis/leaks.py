"""What a benchmark's options give away by themselves, measured on its own items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from adage.analysis.controls import Control, Options
from adage.analysis.probe import every_control
from adage.models.base import Embedder
from adage.records import Item, Proverb


async def option_controls(
    items: Sequence[Item], proverbs: Mapping[str, Proverb], encoder: Embedder
) -> dict[str, list[Control]]:
    """Controls of each assembly: guessers that see the options alone, one of them trained, and the nearest embedding.

    Two spaces are looked at: the texts of the options, which any guesser can embed, and the explanations, which stand
    for the knowledge of a guesser that knows what the proverbs mean.
    """
    if not items:
        return {}
    names = sorted({option.proverb_id for item in items for option in item.options})
    number = {name: i for i, name in enumerate(names)}
    texts = {option.proverb_id: option.text for item in items for option in item.options}
    clusters = {option.proverb_id: option.cluster for item in items for option in item.options}
    text = await encoder.embed([texts[name] for name in names])
    meaning = await encoder.embed([proverbs[name].explanation or texts[name] for name in names])
    found: dict[str, list[Control]] = {}
    for assembly in sorted({item.assembly for item in items}):
        chosen = [item for item in items if item.assembly == assembly]
        options = Options(
            proverbs=np.array([[number[option.proverb_id] for option in item.options] for item in chosen]),
            gold=np.array([item.answer for item in chosen]),
            group=np.array([item.group for item in chosen]),
            cluster=np.array([clusters[name] for name in names]),
            length=np.array([len(texts[name]) for name in names]),
            spaces={"text": text, "meaning": meaning},
            split=np.array([item.split for item in chosen]),
        )
        scenarios = await encoder.embed([item.scenario for item in chosen])
        found[assembly] = every_control(options, scenarios, circular=True)
    return found
