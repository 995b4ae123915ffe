"""Stage 3: scenarios for each proverb, by an LLM or from a hand file [paper: 10 a proverb]."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence

import msgspec

from adage.errors import ModelError, StageError
from adage.language import Language
from adage.models.ask import ask, object_schema
from adage.models.base import ChatModel, ChatRequest, Message
from adage.records import Proverb, Scenario, scenario_id, seal
from adage.stage import Dropped, Estimate, Exchange, Failed, Kept, Outcome, Stage
from adage.stages.hand import HandScenario, Named, Unmatched, unmatched, unmatched_remark
from adage.stages.prompt import Form, prompt_hash
from adage.text.leakage import content_words
from adage.text.scripts import script_share
from adage.text.segment import length
from adage.text.unicode import show

SCHEMA = object_schema(scenarios={"type": "array", "items": {"type": "string"}})
DOMAINS = ("family", "market", "school", "farm", "office", "neighbours", "sport", "travel", "health", "craft")
_MIN_SCRIPT_SHARE = 0.5
"""Share of letters in the language's scripts below which a reply is taken to be in another language."""
_SAMPLE = 400
"""Characters by which that is judged, evenly from all stories; the filter judges every story whole."""
_OPENINGS = 1000
"""Characters of the stories' beginnings, together, by which an identifier judges a language of the same script."""


class ScenarioAnswer(msgspec.Struct):
    """What the generator answers."""

    scenarios: list[str]


class Generate(Stage[Proverb, Named, Unmatched, Scenario]):
    """Makes the scenarios of each proverb; one parent in, up to `n` children out."""

    name = "generate"
    number = "3"
    version = 1
    plannable = True
    row = Proverb
    slim = Named
    context = Unmatched
    out = Scenario

    def __init__(
        self,
        *,
        n: int,
        per_call: int,
        model: ChatModel | None,
        hand: dict[str, list[HandScenario]],
        unit: str,
        word: str,
        language: Language,
        slipped: Callable[[str], bool] | None = None,
        identifier: str = "",
    ) -> None:
        self._n, self._per_call, self._model, self._hand = n, per_call, model, hand
        self._unit, self._word, self._language = unit, word, language
        self._slipped, self._identifier = slipped, identifier
        """Whether a text is in the language of the prompts instead (None where the script tells), and who says so."""
        known = tuple(language.domains) or DOMAINS
        domains = [known[i % len(known)] for i in range(n)]
        self._batches = [domains[i : i + per_call] for i in range(0, n, per_call)]
        """Domains of each call: `n` in all, round and round the list, `per_call` at a time."""
        self._forms = [self._form(batch) for batch in self._batches]

    def settings(self) -> object:
        """Numbers, model, prompt, language pack's share in it, and the hand file's content."""
        return {
            "n": self._n,
            "per_call": self._per_call,
            "model": self._model and self._model.request((), SCHEMA),
            "by": self._model and self._model.name,
            "prompt": prompt_hash("generate"),
            "unit": self._unit,
            "word": self._word,
            "language": self._language,
            "scenarios": self._hand,
        } | ({"identifier": self._identifier} if self._slipped else {})

    def estimate(self, n_rows: int) -> Estimate:
        """Calls for the proverbs without scenarios by hand; rows as if nothing fell short."""
        by_hand = min(len(self._hand), n_rows)
        asked = n_rows - by_hand if self._model else 0
        rows = asked * self._n + sum(len(scenarios) for scenarios in self._hand.values())
        return Estimate(calls=asked * len(self._batches), rows=rows)

    async def prepare(self, rows: Iterable[Named], previous: Unmatched | None) -> Unmatched:  # noqa: ARG002
        """Look for lines of the scenarios file that speak of no proverb here."""
        references = {name: lines[0].proverb for name, lines in self._hand.items()}
        return Unmatched(references=unmatched(references, (row.id for row in rows)))

    def remarks(self, context: Unmatched) -> Sequence[str]:
        """Lines of the scenarios file that were of no use."""
        return unmatched_remark("proverbs of the scenarios file are not in the corpus", context.references)

    def prompts(self, row: Proverb) -> list[tuple[Message, Message]]:
        """The messages of each call for a proverb."""
        banned = ", ".join(content_words(row.text, self._language))
        return [form.fill(text=row.text, explanation=row.explanation, banned=banned) for form in self._forms]

    def _form(self, domains: Sequence[str]) -> Form:
        """The prompt of one call for any proverb."""
        bounds = self._language.length
        word = self._word or self._unit
        native = self._language.prompts.get("generate", "")
        return Form(
            "generate",
            native=native.format(n=len(domains), min=bounds.min, max=bounds.max, unit=word),
            language=self._language.name,
            unit=self._unit,
            word=word,
            sentences=f"{bounds.min_sentences} to {bounds.max_sentences}",
            min=bounds.min,
            max=bounds.max,
            length_unit=bounds.unit,
            domains=[self._language.domains.get(domain, domain) for domain in domains],
        )

    def exchanges(self, row: Proverb) -> Sequence[Exchange]:
        """A call a batch of domains, answered with that many stories."""
        story = likely_story(row.explanation or row.text, self._language)
        return [
            Exchange(messages=prompt, reply=msgspec.json.encode({"scenarios": [story] * len(domains)}).decode())
            for prompt, domains in zip(self.prompts(row), self._batches, strict=True)
        ]

    def requests(self, row: Proverb, context: Unmatched, attempt: int) -> Sequence[ChatRequest]:  # noqa: ARG002
        """One request a batch of domains, where the model is asked."""
        if row.id in self._hand or self._model is None:
            return ()
        return [self._model.request(prompt, SCHEMA, attempt=attempt) for prompt in self.prompts(row)]

    async def apply(self, row: Proverb, context: Unmatched, attempt: int) -> Outcome:  # noqa: ARG002
        """The proverb's scenarios; a call that fails makes the row short, not failed, while another call succeeds."""
        if by_hand := self._hand.get(row.id):
            written = [(show(line.text, joiners=self._language.joiners), line.domain, line.by) for line in by_hand]
            return Kept(rows=self._scenarios(row, written))
        if self._model is None:
            return Dropped(reason="no_scenario", evidence="the hand file has none and the recipe names no generator")
        answers = await self._answers(self._model, self.prompts(row), attempt)
        faults = [answer for answer in answers if isinstance(answer, BaseException)]
        for fault in faults:
            if not isinstance(fault, ModelError) or fault.fatal or len(faults) == len(answers):
                raise fault
        written = [
            (text, domain, self._model.name)
            for domains, answer in zip(self._batches, answers, strict=True)
            if not isinstance(answer, BaseException)
            for domain, text in zip(domains, answer, strict=False)
        ]
        scenarios = self._scenarios(row, written)
        if not scenarios:
            return Failed(error="the generator gave no scenario", evidence=str(answers))
        return Kept(rows=scenarios, short=max(0, self._n - len(scenarios)))

    async def _answers(
        self, model: ChatModel, prompts: Sequence[Sequence[Message]], attempt: int
    ) -> list[list[str] | BaseException]:
        """What became of each call of a row; they are made at the same time."""
        if len(prompts) == 1:  # without a task of its own
            return [await self._ask(model, prompts[0], attempt)]
        calls = (self._ask(model, prompt, attempt) for prompt in prompts)
        return await asyncio.gather(*calls, return_exceptions=True)

    async def _ask(self, model: ChatModel, prompt: Sequence[Message], attempt: int) -> list[str]:
        answer, _ = await ask(model, prompt, SCHEMA, ScenarioAnswer, attempt=attempt, object_to=self._objection)
        return [show(text, joiners=self._language.joiners) for text in answer.scenarios]

    def _objection(self, answer: ScenarioAnswer) -> str:
        written = "".join(answer.scenarios)
        if not written.strip():
            return "there is no scenario in it"
        sample = written[:: 1 + len(written) // _SAMPLE | 1]  # an odd step: letters may alternate with spaces
        wrong = script_share(sample, self._language.scripts) < _MIN_SCRIPT_SHARE
        if not wrong and self._slipped:
            each = 1 + _OPENINGS // len(answer.scenarios)
            wrong = self._slipped("\n".join(text[:each] for text in answer.scenarios))
        if wrong:
            return f"the scenarios must be written in {self._language.name}"
        return ""

    def _scenarios(self, row: Proverb, written: Sequence[tuple[str, str, str]]) -> tuple[Scenario, ...]:
        """Records of the distinct, non-empty texts, in order."""
        if row.theme is None or row.theme.cluster is None:
            raise StageError(f"proverb {row.id!r} has not passed the cluster stage", hint="build with --from cluster")
        made: dict[str, Scenario] = {}
        for text, domain, by in written:
            if text and (name := scenario_id(row.id, text)) not in made:
                made[name] = seal(
                    Scenario(
                        id=name,
                        proverb_id=row.id,
                        proverb=row.text,
                        explanation=row.explanation,
                        group=row.group,
                        equivalent=row.equivalent,
                        cluster=row.theme.cluster,
                        text=text,
                        domain=domain,
                        by=by,
                        source_id=row.source_id,
                    )
                )
        return tuple(made.values())


def likely_story(text: str, language: Language) -> str:
    """As much of `text`, over and over, as makes a story of middling length in the language.

    That is the geometric mean of its bounds: models, and people, keep nearer to the lower one.
    """
    bounds, given = language.length, max(1, length(text, language))
    wanted = round(math.sqrt(bounds.min * bounds.max))
    whole = " ".join([text] * (wanted // given + 1))
    return whole[: len(text) * wanted // given]
