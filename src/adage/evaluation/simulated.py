"""A scripted model for evaluations: it answers with known skill and biases, to prove tables and figures.

It is a fake, and its results say so (`scripted` in the identity): it holds the key of the benchmarks that it is asked.
How it works: it recognises a question by its options and scenario. It understands a share of them (`skill`); of the
others it misreads a share, and takes a wrong option, by its role, for the right one in every order; at the rest it
guesses. Favoured places and favoured texts tip the balance where nothing else does. Without the scenario it only
guesses. All of it is drawn by hash: the same question gets the same answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate
from statistics import NormalDist
from typing import Any

from adage.errors import BadRequest
from adage.evaluation.present import one_line
from adage.evaluation.result import Benchmark, Question
from adage.evaluation.roster import ScriptedEntry
from adage.models.base import ChatReply, ChatRequest, Message, Sampling
from adage.models.score import Messages, Scores
from adage.records import digest
from adage.stages.prompt import fenced

_SURE = 6.0
"""Log-odds by which what it takes for right stands out."""
_NOISE = 0.1
_SHARED_DIFFICULTY = 0.5
"""Share of the questions whose difficulty all models agree on."""
_LISTED = re.compile(r"^(\S{1,2})\. (.+)$", re.MULTILINE)
_NORMAL = NormalDist()


class SimulatedModel:
    """A `Scorer` that follows a roster's script; `benchmarks` are its key."""

    batches = True

    def __init__(self, entry: ScriptedEntry, benchmarks: Iterable[Benchmark]) -> None:
        self.name = entry.name
        self._entry = entry
        self._script = digest(entry.model_dump(mode="json"), size=8)
        self._key: dict[frozenset[str], list[tuple[str, Question]]] = {}
        for benchmark in benchmarks:
            for question in benchmark.questions:
                options = frozenset(map(one_line, question.options))
                self._key.setdefault(options, []).append((benchmark.language, question))

    def request(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, *, sample: int = 0, attempt: int = 0
    ) -> ChatRequest:
        """The request that the script is shown; its key changes with the script."""
        return Sampling().request(self._script, "scripted", messages, schema, sample=sample, attempt=attempt)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """A reply in one of several styles, now and then without a clear answer."""
        prompt = request.messages[-1].content
        labels, options = self._options(prompt)
        scores = self._scores(prompt, options)
        best, second, *_ = sorted(range(len(options)), key=lambda place: -scores[place])
        draw = _unit(self.name, "style", prompt)
        if draw < self._entry.refusing:
            return ChatReply(text="I am sorry, but I cannot answer that.")
        if draw < self._entry.refusing + self._entry.unclear:
            return ChatReply(text=f"It could be {labels[best]} or {labels[second]}.")
        style = int(_unit(self.name, "form", prompt) * 3)
        reply = (f"Answer: {labels[best]}", f"**{labels[best]}**", f"{labels[best]}. {options[best]}")[style]
        return ChatReply(text=f"<think>Let me see.</think>\n{reply}" if self._entry.thinking else reply)

    async def has_template(self) -> bool:
        """As the roster says."""
        return self._entry.template != "none"

    async def are_tokens(self, messages: Messages, labels: Sequence[str]) -> bool:  # noqa: ARG002 -- the protocol's
        """A script has no tokens; any labels will do."""
        return True

    async def letters(self, prompts: Sequence[Messages], labels: Sequence[str]) -> list[Scores]:
        """Log-probabilities of the labels after each prompt."""
        rows: list[Scores] = []
        for messages in prompts:
            prompt = messages[-1].content
            scores = self._scores(prompt, self._options(prompt)[1])
            total = math.log(math.fsum(math.exp(score) for score in scores))
            rows.append([score - total for score in scores[: len(labels)]])
        return rows

    async def texts(self, messages: Messages, texts: Sequence[str]) -> Scores:
        """Log-probabilities of texts: longer ones are less likely, and what it takes for right is likelier."""
        options = [text.strip() for text in texts]
        scores = self._scores(messages[-1].content, options, places=False)
        return [score - len(option.encode()) for score, option in zip(scores, options, strict=True)]

    async def close(self) -> None:
        """Nothing to free."""

    def _options(self, prompt: str) -> tuple[list[str], list[str]]:
        """Labels and texts of the options that a prompt lists."""
        listed = _LISTED.findall(prompt)
        if len(listed) < 2:
            raise BadRequest(f"the scripted model {self.name!r} finds no options in {prompt[-200:]!r}")
        return [label for label, _ in listed], [text for _, text in listed]

    def _scores(self, prompt: str, options: Sequence[str], *, places: bool = True) -> list[float]:
        """How much each option, in the order given, seems right; in log-odds."""
        taken = self._taken(prompt, options)
        bias = [*self._entry.position, *[0.0] * len(options)]
        return [
            _SURE * (option == taken)
            + (bias[place] if places else 0.0)
            + self._entry.prior * _normal(self.name, "prior", option)
            + _NOISE * _normal(self.name, prompt, option)
            for place, option in enumerate(options)
        ]

    def _taken(self, prompt: str, options: Sequence[str]) -> str | None:
        """The option that it takes for right, wherever it stands; None where it has to guess."""
        found = next(
            (
                (language, question)
                for language, question in self._key.get(frozenset(options), ())
                if fenced(question.scenario, "story") in prompt
            ),
            None,
        )
        if found is None:
            return None
        language, question = found
        shared = _unit("difficulty kind", question.id) < _SHARED_DIFFICULTY
        if _unit("" if shared else self.name, "difficulty", question.id) < self._skill(language):
            return one_line(question.options[question.gold[0]])
        if _unit(self.name, "misreads", question.id) < self._entry.misreading:
            return self._misread(question)
        return None

    def _skill(self, language: str) -> float:
        skill = self._entry.skill
        return skill.get(language, skill.get("default", 0.0)) if isinstance(skill, Mapping) else skill

    def _misread(self, question: Question) -> str:
        """One of the wrong options, drawn by the weights of their roles."""
        wrong = [place for place in range(len(question.options)) if place not in question.gold]
        roles = question.roles or ("",) * len(question.options)
        weights = {str(role): weight for role, weight in self._entry.attraction.items()}
        shares = [weights.get(roles[place], 1.0) for place in wrong]
        mark = _unit(self.name, "misread as", question.id) * math.fsum(shares)
        passed = next((at for at, end in enumerate(accumulate(shares)) if mark < end), len(wrong) - 1)
        return one_line(question.options[wrong[passed]])


def _unit(*parts: str) -> float:
    """A number from 0 to 1, exclusive, drawn by the hash of `parts`."""
    drawn = int.from_bytes(blake2b("\0".join(parts).encode(errors="replace"), digest_size=6).digest())
    return (drawn + 0.5) / 2**48


def _normal(*parts: str) -> float:
    return _NORMAL.inv_cdf(_unit(*parts))
