"""Stage 2, first step: an LLM reads proverb and native explanation and gives one short English theme label [paper]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import regex

from adage.language import Language
from adage.models.ask import ask, object_schema
from adage.models.base import ChatModel, ChatRequest, Message
from adage.records import Proverb, Theme, seal
from adage.stage import Dropped, Estimate, Exchange, Kept, Outcome, Stage
from adage.stages.hand import HandTheme, Named, Unmatched, unmatched, unmatched_remark
from adage.stages.prompt import prompt_hash, render

SCHEMA = object_schema(theme={"type": "string", "description": "English theme label, one to four words, lower case"})
_MAX_LABEL = 60
_LIKELY = '{"theme": "patience and hope"}'
"""A reply of the usual length."""


class ThemeAnswer(msgspec.Struct):
    """What the labeller answers."""

    theme: str


class Label(Stage[Proverb, Named, Unmatched, Proverb]):
    """Gives every proverb a theme label, from a hand file or the labelling model."""

    name = "label"
    number = "2a"
    version = 1
    plannable = True
    row = Proverb
    slim = Named
    context = Unmatched
    out = Proverb

    def __init__(
        self, *, mode: str, model: ChatModel | None, hand: dict[str, HandTheme], unit: str, language: Language
    ) -> None:
        self._mode, self._model, self._hand = mode, model, hand
        self._unit, self._language = unit, language

    def settings(self) -> object:
        """Mode, model, prompt, unit and the hand file's content."""
        return {
            "label": self._mode,
            "model": self._model and self._model.request((), SCHEMA),
            "by": self._model and self._model.name,
            "language": self._language.name,
            "prompt": prompt_hash("label"),
            "unit": self._unit,
            "themes": self._hand,
        }

    def estimate(self, n_rows: int) -> Estimate:
        """One call a proverb that has no label by hand."""
        calls = max(0, n_rows - len(self._hand)) if self._model and self._mode == "model" else 0
        return Estimate(calls=calls, rows=n_rows)

    async def prepare(self, rows: Iterable[Named], previous: Unmatched | None) -> Unmatched:  # noqa: ARG002
        """Look for lines of the themes file that speak of no proverb here."""
        references = {name: line.proverb for name, line in self._hand.items()}
        return Unmatched(references=unmatched(references, (row.id for row in rows)))

    def remarks(self, context: Unmatched) -> Sequence[str]:
        """Lines of the themes file that were of no use."""
        return unmatched_remark("proverbs of the themes file are not in the corpus", context.references)

    def prompt(self, row: Proverb) -> tuple[Message, ...]:
        """The messages sent for a proverb."""
        return render(
            "label", unit=self._unit, language=self._language.name, text=row.text, explanation=row.explanation
        )

    def exchanges(self, row: Proverb) -> Sequence[Exchange]:
        """One call."""
        return (Exchange(messages=self.prompt(row), reply=_LIKELY),)

    def requests(self, row: Proverb, context: Unmatched, attempt: int) -> Sequence[ChatRequest]:  # noqa: ARG002
        """The labelling request, where the model is asked."""
        if self._mode == "none" or row.id in self._hand or self._model is None:
            return ()
        return (self._model.request(self.prompt(row), SCHEMA, attempt=attempt),)

    async def apply(self, row: Proverb, context: Unmatched, attempt: int) -> Outcome:  # noqa: ARG002
        """The proverb with its label."""
        if self._mode == "none":
            theme = Theme(label="", by="")
        elif hand := self._hand.get(row.id):
            theme = Theme(label=canonical(hand.theme), by=hand.by)
        elif self._model is None:
            return Dropped(reason="no_theme", evidence="the hand file has none and the recipe names no labeller")
        else:
            answer, _ = await ask(
                self._model, self.prompt(row), SCHEMA, ThemeAnswer, attempt=attempt, object_to=_objection
            )
            theme = Theme(label=canonical(answer.theme), by=self._model.name)
        return Kept(rows=(seal(msgspec.structs.replace(row, theme=theme)),))


def _objection(answer: ThemeAnswer) -> str:
    if not canonical(answer.theme):
        return "the theme is empty"
    if len(answer.theme) > _MAX_LABEL:
        return f"the theme has {len(answer.theme)} characters; one to four words are wanted"
    return ""


def canonical(label: str) -> str:
    """A label in the one spelling under which equal labels meet.

    >>> canonical("Patience & Hope."), canonical("  patience and  hope")
    ('patience and hope', 'patience and hope')
    """
    text = label.casefold().replace("&", " and ").replace("_", " ")
    text = regex.sub(r"[^\p{L}\p{M}\p{N}\s'-]", " ", text)
    return regex.sub(r"\s+", " ", text).strip(" '-")
