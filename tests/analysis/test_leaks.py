"""What the options of a benchmark give away, from its records."""

import msgspec

from adage.analysis.leaks import option_controls
from adage.models.fake import ScriptedEmbedder
from material import TableEmbedder, item, proverb

POOL = [proverb(f"Proverb {n}", explanation=f"Lesson {n}") for n in range(5)]
PROVERBS = {one.id: one for one in POOL}


async def test_no_items_give_nothing_away():
    """An empty benchmark has no controls."""
    assert await option_controls([], {}, ScriptedEmbedder(8)) == {}


async def test_each_assembly_is_looked_at_by_itself():
    """Controls come per assembly, chance among them."""
    rows = [
        item(f"Story {n}.", POOL[n], [POOL[(n + k) % 5] for k in (1, 2, 3)], assembly=assembly)
        for n in range(5)
        for assembly in ("paper", "balanced")
    ]
    found = await option_controls(rows, PROVERBS, ScriptedEmbedder(8))
    assert list(found) == ["balanced", "paper"]
    names = {(one.name, one.space) for one in found["paper"]}
    assert names == {(one.name, one.space) for one in found["balanced"]}
    assert len(names) == len(found["paper"])


async def test_positions_follow_the_key():
    """Where scenario and gold's explanation are one vector, the nearest one is the gold wherever it stands."""
    axis = [[float(i == j) for j in range(5)] for i in range(5)]
    table = {one.text: axis[(n + 1) % 5] for n, one in enumerate(POOL)}
    table |= {one.explanation: axis[n] for n, one in enumerate(POOL)} | {f"Story {n}.": axis[n] for n in range(5)}
    rows = []
    for n in range(5):
        row = item(f"Story {n}.", POOL[n], [POOL[(n + k) % 5] for k in (1, 2, 3)])
        order = row.options[n % 4 :] + row.options[: n % 4]
        rows.append(msgspec.structs.replace(row, options=order, answer=order.index(row.options[0])))
    found = await option_controls(rows, PROVERBS, TableEmbedder(table, 5))
    nearest = {one.space: one.accuracy for one in found["balanced"] if one.name == "nearest_embedding"}
    assert nearest["meaning"] == 1.0
    assert nearest["text"] < 0.5
