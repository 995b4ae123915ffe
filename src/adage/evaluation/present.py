"""How a question is put to a model: pure functions from a question to prompts.

What stays the same over the orders of the options comes first, so that it is computed once. Only scenario and option
texts of a question ever enter a prompt; both are data, and neither can pass for an instruction or for another option.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Literal, NamedTuple

from adage.errors import RecipeError
from adage.evaluation.result import Benchmark, Question, Shown
from adage.language import Evaluate, Language, load
from adage.models.base import Message
from adage.models.score import RAW, Messages
from adage.records import Record
from adage.stages.prompt import defused, fenced

Asked = Literal["letter", "text", "generate"]
"""What a model is asked for: scores of labels, scores of texts, or a reply."""
LATIN = tuple(string.ascii_uppercase)
_FALLBACK = "en"
_NATIVE = "native"


def asked_of(names: Sequence[str]) -> tuple[Asked, ...]:
    """The methods of these names, each once; raises `RecipeError` for a name that is none."""
    known: dict[str, Asked] = {"letter": "letter", "text": "text", "generate": "generate"}
    if unknown := [name for name in names if name not in known]:
        raise RecipeError(f"there is no method {unknown[0]!r}", hint=f"the methods are: {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names))


class Wording(Record, frozen=True, kw_only=True):
    """The words of a prompt."""

    prompt: str
    """Language, as a result names it: `native`, or a BCP 47 code."""
    texts: Evaluate
    unit: str
    """What an option is called."""
    notes: tuple[str, ...] = ()

    def questions(self, most: int) -> tuple[str, ...]:
        """The first `most` wordings of the question."""
        return tuple(question.format(unit=self.unit) for question in self.texts.questions[:most])

    def instruction(self, asked: Asked) -> str:
        """The sentence that says in which form to answer."""
        return str(getattr(self.texts, asked)).format(unit=self.unit)


def wording_of(benchmark: Benchmark, prompt: str = _NATIVE, language_of: Callable[[str], Language] = load) -> Wording:
    """The words for a benchmark: in its own language, or in that of `prompt`, by the packs that `language_of` finds.

    A language without instructions is asked in English, which the result then says.

    Raises:
        RecipeError: `prompt` is a language without instructions.
        LanguageError: it is no language.
    """
    pack = language_of(benchmark.language if prompt == _NATIVE else prompt)
    notes: tuple[str, ...] = ()
    if not pack.evaluate.questions:
        if prompt != _NATIVE:
            raise RecipeError(
                f"there are no instructions for evaluated models in {pack.name} ({prompt!r})",
                hint="use --prompt native or --prompt en, or add a table [evaluate] to the language pack",
            )
        notes = (f"asked in English: there are no instructions in {pack.name}",)
        pack, prompt = language_of(_FALLBACK), _FALLBACK
    named = prompt if prompt == _NATIVE else pack.code
    return Wording(prompt=named, texts=pack.evaluate, unit=benchmark.unit or pack.words.name, notes=notes)


def native_labels(language: Language, n: int) -> tuple[str, ...]:
    """The language's own letters for `n` options; none where it has too few."""
    return language.letters[:n] if len(language.letters) >= n else ()


class Form(NamedTuple):
    """Everything about a prompt but the question."""

    wording: Wording
    asked: Asked
    template: bool
    """Whether the model takes turns of a conversation; otherwise it completes text up to the answer."""
    labels: tuple[str, ...] = LATIN
    shown: Shown = "full"

    def start(self, question: Question, phrasing: int) -> Messages:
        """The part that all orders of the options share."""
        asked = self.wording.texts.questions[phrasing].format(unit=self.wording.unit)
        story = [] if self.shown == "choices_only" else [fenced(question.scenario, "story")]
        return (Message(role="user" if self.template else RAW, content="\n\n".join([*story, asked]) + "\n\n"),)

    def end(self, question: Question, rotation: int) -> str:
        """The options in one order, and what follows them."""
        listed = "\n".join(
            f"{label}. {one_line(question.options[at])}"
            for label, at in zip(self.labels, order(len(question.options), rotation), strict=False)
        )
        return f"{listed}\n\n{self._after()}"

    def continued_labels(self, n: int) -> list[str]:
        """The labels of `n` options as they go on from the prompt."""
        return [f"{self._gap()}{label}" for label in self.labels[:n]]

    def before_text(self, question: Question, phrasing: int, *, neutral: bool = False) -> Messages:
        """The prompt after which the texts of options are scored; `neutral`: without the scenario."""
        form = self._replace(shown="choices_only") if neutral else self
        (start,) = form.start(question, phrasing)
        return (Message(role=start.role, content=start.content + self._after()),)

    def continued_texts(self, question: Question) -> list[str]:
        """The texts of the options as they go on from that prompt."""
        return [self._gap() + one_line(option) for option in question.options]

    def _after(self) -> str:
        return self.wording.instruction(self.asked) if self.template else self.wording.texts.cue.rstrip()

    def _gap(self) -> str:
        cue = self.wording.texts.cue
        return "" if self.template else cue[len(cue.rstrip()) :]


def order(n: int, rotation: int) -> list[int]:
    """Positions of the options in the order shown: place `j` shows option `(j + rotation) % n`."""
    return [(place + rotation) % n for place in range(n)]


def one_line(text: str) -> str:
    """The text of an option on one line, without anything that could close the fence of the scenario."""
    return defused(" ".join(text.split()))


def balanced_rotations(questions: Sequence[Question], seed: int) -> dict[str, int]:
    """A rotation for each question, by its id, so that the gold stands in each place equally often (within 1).

    Which question gets which place is drawn by hash, over the whole benchmark: it does not depend on `--limit`.
    """
    drawn = sorted(questions, key=lambda question: _hash(seed, question.id))
    return {question.id: (question.gold[0] - place) % len(question.options) for place, question in enumerate(drawn)}


def chosen(questions: Sequence[Question], *, limit: int | None, sample: int | None, seed: int) -> list[Question]:
    """The questions to ask: the first `limit`, then `sample` of them, in their own order.

    A sample goes round the meaning groups, one question each, in an order drawn by hash: a smaller sample is part of a
    larger one, and no group has two questions in it before every group has one.
    """
    left = list(questions[:limit])
    if sample is None or sample >= len(left):
        return left
    drawn = sorted(left, key=lambda question: _hash(seed, question.id))
    rounds: dict[str, int] = {}
    keyed: list[tuple[int, bytes, str]] = []
    for question in drawn:
        rounds[question.group] = turn = rounds.get(question.group, -1) + 1
        keyed.append((turn, _hash(seed, question.group), question.id))
    ids = {name for _, _, name in sorted(keyed)[:sample]}
    return [question for question in left if question.id in ids]


def _hash(seed: int, name: str) -> bytes:
    return blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
