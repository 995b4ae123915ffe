"""Records, models and stages in small, for tests that need some: nobody's texts, valid ids and hashes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from adage.models.base import ChatRequest
from adage.models.fake import ScriptedModel
from adage.records import (
    Check,
    Item,
    Option,
    Proverb,
    RawRow,
    Role,
    Scenario,
    Theme,
    item_id,
    proverb_id,
    scenario_id,
    seal,
)

ROLES: tuple[Role, ...] = ("gold", "same_cluster", "near_match", "random")


def raw(number: int, text: str, **fields: Any) -> RawRow:
    """A row as a reader gives it."""
    return RawRow(text=text, number=number, place=f"corpus.tsv:{number}", source_id="src", **fields)


def proverb(text: str = "Slow drops fill the jar", *, language: str = "en", **fields: Any) -> Proverb:
    """A sealed proverb; its key is its text in small letters."""
    key = text.casefold()
    name = proverb_id(language, key)
    filled = {"explanation": f"What is meant by {text}.", "group": name, "source_id": "src", "place": "corpus.tsv:1"}
    return seal(Proverb(id=name, language=language, text=text, key=key, **{**filled, **fields}))


def themed(text: str, label: str, cluster: int | None = None, **fields: Any) -> Proverb:
    """A proverb that has passed the label stage, and the cluster stage where `cluster` is given."""
    return proverb(text, theme=Theme(label=label, by="hand", cluster=cluster), **fields)


def scenario(text: str, of: Proverb, *, cluster: int = 0, by: str = "hand", **fields: Any) -> Scenario:
    """A sealed scenario of a proverb."""
    return seal(
        Scenario(
            id=scenario_id(of.id, text),
            proverb_id=of.id,
            proverb=of.text,
            explanation=of.explanation,
            group=of.group,
            cluster=cluster,
            text=text,
            by=by,
            source_id=of.source_id,
            **fields,
        )
    )


def option(of: Proverb, role: Role, *, cluster: int = 0) -> Option:
    """A proverb as an option."""
    return Option(
        proverb_id=of.id,
        text=of.text,
        role=role,
        group=of.group,
        cluster=cluster,
        cos_scenario=0.5,
        cos_gold=1.0 if role == "gold" else 0.4,
        length_ratio=1.0,
    )


def item(
    text: str, gold: Proverb, wrong: Sequence[Proverb], *, assembly: str = "balanced", checks: tuple[Check, ...] = (),
    split: str | None = "test", by: str = "hand",
) -> Item:  # fmt: skip
    """A sealed item, gold first."""
    options = tuple(option(of, role) for of, role in zip((gold, *wrong), ROLES, strict=False))
    name = scenario_id(gold.id, text)
    return seal(
        msgspec.convert(
            {
                "id": item_id(name, [one.proverb_id for one in options], assembly),
                "assembly": assembly,
                "language": gold.language,
                "scenario_id": name,
                "scenario": text,
                "proverb_id": gold.id,
                "group": gold.group,
                "by": by,
                "options": options,
                "split": split,
                "source_id": "src",
                "checks": checks,
            },
            Item,
        )
    )


def judge(name: str, verdict: Callable[[dict[str, str], str], object]) -> ScriptedModel:
    """A judge that sees what a real one sees: `verdict(letter → option text, story)` is its answer."""

    def script(request: ChatRequest) -> str:
        story, options = shown(request)
        answer = verdict(options, story)
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)

    return ScriptedModel(name, script)


def shown(request: ChatRequest) -> tuple[str, dict[str, str]]:
    """Story, and letter → option text, out of a judge's request."""
    first = next(message.content for message in request.messages if message.role == "user")
    story, _, rest = first.partition("</story>\n")
    options = dict(line.removesuffix("</option>").split(") <option>", 1) for line in rest.splitlines())
    return story.removeprefix("<story>"), options


def says(letters: Iterable[str], *, plausible: bool = True, fluent: bool = True, reason: str = "") -> dict[str, object]:
    """A judge's answer."""
    return {"fits": list(letters), "plausible": plausible, "fluent": fluent, "reason": reason}


class TableEmbedder:
    """An encoder whose vectors are given: text → vector, scaled to unit length; anything else gets its own axis."""

    def __init__(self, table: dict[str, Sequence[float]], dim: int) -> None:
        self.id = f"table:{dim}"
        self._table, self._dim = table, dim

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (n_texts, dim), rows of unit length."""
        rows = np.zeros((len(texts), self._dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self._table[text]
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)

    async def close(self) -> None:
        """Nothing to free."""


async def run_stage(stage: Any, rows: Sequence[Any], *, previous: Any = None, attempt: int = 0) -> list[Any]:
    """Outcomes of a stage on all rows, as the engine would get them: slim rows and context go through JSON."""
    context = await context_of(stage, rows, previous)
    return [await stage.apply(row, context, attempt) for row in rows]


async def context_of(stage: Any, rows: Sequence[Any], previous: Any = None) -> Any:
    """A stage's context, written and read as on disk."""
    slims = [msgspec.json.decode(msgspec.json.encode(row), type=stage.slim) for row in rows]
    context = await stage.prepare(iter(slims), previous)
    return msgspec.json.decode(msgspec.json.encode(context), type=stage.context)


def check_of(record: Any, name: str) -> Check:
    """The check of that name on a record."""
    return next(check for check in record.checks if check.name == name)
