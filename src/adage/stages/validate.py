"""Stage 6: LLM judges × criteria, one call a judge, with known-bad probes mixed in [paper: 3 judges × 3 criteria].

A judge is never told the key and sees the options in an order of its own.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Iterable, Sequence

import msgspec

from adage.errors import UnparsableReply
from adage.models.ask import ask, object_schema
from adage.models.base import ChatModel, ChatRequest, Message
from adage.recipe import Validate as ValidateRecipe
from adage.records import Check, Item, Option, Record, digest, seal
from adage.stage import Dropped, Estimate, Exchange, Kept, Outcome, Stage
from adage.stages.prompt import prompt_hash, render

CRITERIA = ("fits", "plausible", "fluent")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_REASON_LENGTH = 80
_LIKELY = '{"fits": ["A"], "plausible": true, "fluent": true, "reason": "A second option fits the story just as well."}'
"""A reply of the usual length."""
_WORD = re.compile(r"[^\W_]+")


class JudgeAnswer(msgspec.Struct):
    """What a judge answers."""

    fits: list[str]
    plausible: bool
    fluent: bool
    reason: str = ""


class Slim(Record, frozen=True, kw_only=True):
    """The columns of an item that sampling and probes need."""

    id: str
    assembly: str
    group: str
    proverb_id: str
    options: tuple[Option, ...]


class ProbePlan(Record, frozen=True, kw_only=True):
    """How one item is spoilt."""

    kind: str
    """`wrong_proverb`: the gold is replaced; `two_answers`: a wrong option is replaced by a second right one;
    `leaked_keyword`: the scenario quotes the gold."""
    text: str = ""
    """Text of the proverb that is put in."""


class Probe(Record, frozen=True, kw_only=True):
    """A known-bad item and what the judges made of it; lives in `probes.jsonl` only, never in a benchmark."""

    item_id: str
    """The item it was made from."""
    kind: str
    scenario: str
    options: tuple[str, ...]
    """The first is the one that a careless key would call right."""
    checks: tuple[Check, ...]
    caught: dict[str, bool]
    """Judge → whether it failed the item on any criterion."""


class ValidateContext(Record, frozen=True, kw_only=True):
    """Which items are judged, and which of them lend themselves to a probe."""

    judged: frozenset[str] | None = None
    """Item ids, or None for all."""
    probes: dict[str, ProbePlan] = {}


class Validate(Stage[Item, Slim, ValidateContext, Item]):
    """Has each item judged; drops it where judges agree that it is bad, unless `gate` is off."""

    name = "validate"
    number = "6"
    version = 1
    plannable = True
    row = Item
    slim = Slim
    context = ValidateContext
    out = Item

    def __init__(
        self,
        options: ValidateRecipe,
        *,
        judges: Sequence[ChatModel],
        unit: str,
        language: str,
        seed: int,
        notes: Sequence[str] = (),
    ) -> None:
        self._options, self._judges = options, tuple(judges)
        self._unit, self._language, self._seed, self._notes = unit, language, seed, tuple(notes)

    def settings(self) -> object:
        """Rules, judges, prompt and seed."""
        return {
            "options": self._options.model_dump(mode="json"),
            "judges": [judge.request((), None) for judge in self._judges],
            "names": [judge.name for judge in self._judges],
            "prompt": prompt_hash("judge"),
            "unit": self._unit,
            "language": self._language,
            "notes": self._notes,
            "seed": self._seed,
        }

    def remarks(self, context: ValidateContext) -> Sequence[str]:
        """What makes the judges less than independent, and how much they were asked."""
        if context.judged is not None and self._judges:
            return [*self._notes, f"{len(context.judged)} items were judged, the others were not"]
        return self._notes

    def estimate(self, n_rows: int) -> Estimate:
        """A call a judge for each item and probe."""
        n = min(n_rows, self._options.sample or n_rows)
        probes = round(n * self._options.probes)
        return Estimate(calls=(n + probes) * len(self._judges), rows=n_rows)

    async def prepare(self, rows: Iterable[Slim], previous: ValidateContext | None) -> ValidateContext:  # noqa: ARG002
        """Draw the sample and plan the probes, both by hashes of item ids."""
        if not self._judges:
            return ValidateContext(judged=frozenset())
        items = sorted(rows, key=lambda item: digest(self._seed, "judge", item.id))
        judged = items[: self._options.sample]
        n_probes = max(1, round(self._options.probes * len(judged))) if self._options.probes and judged else 0
        return ValidateContext(
            judged=None if self._options.sample is None else frozenset(item.id for item in judged),
            probes={item.id: _plan(item, i, items) for i, item in enumerate(judged[:n_probes])},
        )

    def requests(self, row: Item, context: ValidateContext, attempt: int) -> Sequence[ChatRequest]:
        """What every judge is asked about the item and its probe; early stopping may save some."""
        if not self._is_judged(row, context):
            return ()
        versions = [_shown(row)]
        if plan := context.probes.get(row.id):
            versions.append(_spoilt(row, plan))
        return [
            judge.request(self._prompt(judge, *version)[0], self._schema(len(version[1])), attempt=attempt)
            for version in versions
            for judge in self._judges
        ]

    def exchanges(self, row: Item) -> Sequence[Exchange]:
        """A call of the first judge; the others see the options in another order."""
        return (Exchange(messages=self.prompt(row), reply=_LIKELY),)

    def prompt(self, row: Item) -> tuple[Message, ...]:
        """The messages sent to the first judge."""
        return self._prompt(self._judges[0], *_shown(row))[0]

    async def apply(self, row: Item, context: ValidateContext, attempt: int) -> Outcome:
        """The item with a check per judge and criterion."""
        if not self._is_judged(row, context):
            return Kept(rows=(row,))
        checks = await self._judge(*_shown(row), attempt=attempt, gate=self._options.gate)
        judged = seal(msgspec.structs.replace(row, checks=row.checks + checks))
        probes: tuple[Probe, ...] = ()
        if plan := context.probes.get(row.id):
            probes = (await self._probe(row, plan, attempt),)
        reason = self._rejection(checks)
        if reason and self._options.gate:
            evidence = "; ".join(f"{check.by}: {check.evidence}" for check in checks if check.passed is False)
            return Dropped(reason=reason, evidence=evidence, row=judged, probes=probes)
        return Kept(rows=(judged,), probes=probes)

    def _is_judged(self, row: Item, context: ValidateContext) -> bool:
        return bool(self._judges) and (context.judged is None or row.id in context.judged)

    async def _probe(self, row: Item, plan: ProbePlan, attempt: int) -> Probe:
        scenario, options = _spoilt(row, plan)
        checks = await self._judge(scenario, options, attempt=attempt, gate=False)
        caught = {
            judge.name: any(check.passed is False for check in checks if check.by == judge.name)
            for judge in self._judges
        }
        return Probe(
            item_id=row.id, kind=plan.kind, scenario=scenario, options=tuple(options), checks=checks, caught=caught
        )

    async def _judge(self, scenario: str, options: Sequence[str], *, attempt: int, gate: bool) -> tuple[Check, ...]:
        """Checks of all judges; where they gate, of as many as it takes until rejection is certain.

        Raises:
            UnparsableReply: a judge's reply is of no use and `gate` is set, so that the row is tried again.
        """
        checks: list[Check] = []
        for judge in self._judges:
            try:
                checks += await self._ask(judge, scenario, options, attempt)
            except UnparsableReply as error:
                if gate:
                    raise
                evidence = f"{error.status} reply"
                checks += [Check(name=name, passed=None, evidence=evidence, by=judge.name) for name in CRITERIA]
            if gate and self._certain(checks):
                break
        return tuple(checks)

    def _certain(self, checks: Sequence[Check]) -> bool:
        """Whether no further judge can save the item."""
        may_fail = len(self._judges) - self._options.accept
        fails = [sum(check.name == name and check.passed is False for check in checks) for name in CRITERIA]
        return max(fails) > may_fail or any(check.name == "second_answer" for check in checks)

    def _rejection(self, checks: Sequence[Check]) -> str:
        """Why the item is rejected, or nothing."""
        if any(check.name == "second_answer" for check in checks):
            return "second_answer"
        for name in CRITERIA:
            if sum(check.name == name and check.passed is True for check in checks) < self._options.accept:
                return f"judges_{name}"
        return ""

    async def _ask(self, judge: ChatModel, scenario: str, options: Sequence[str], attempt: int) -> list[Check]:
        """One judge's checks."""
        messages, order = self._prompt(judge, scenario, options)
        dealt = [options[i] for i in order]
        answer, _ = await ask(
            judge,
            messages,
            self._schema(len(options)),
            JudgeAnswer,
            attempt=attempt,
            object_to=lambda given: _objection(given, dealt),
        )
        picked = {order[place] for entry in answer.fits for place in _places(entry, dealt)}
        shown = "fits: " + (", ".join(options[i] for i in sorted(picked)) or "none")
        reason = answer.reason[:_REASON_LENGTH]
        checks = [
            Check(name="fits", passed=picked == {0}, evidence=shown, by=judge.name),
            Check(name="plausible", passed=answer.plausible, evidence=reason, by=judge.name),
            Check(name="fluent", passed=answer.fluent, evidence=reason, by=judge.name),
        ]
        if 0 in picked and len(picked) > 1:
            checks.append(Check(name="second_answer", passed=False, evidence=shown, by=judge.name))
        return checks

    def _prompt(
        self, judge: ChatModel, scenario: str, options: Sequence[str]
    ) -> tuple[tuple[Message, ...], Sequence[int]]:
        """Messages, and the order in which this judge sees the options (place → index)."""
        order = list(range(len(options)))
        random.Random(digest(self._seed, "order", judge.name, scenario, options)).shuffle(order)
        letters = LETTERS[: len(options)]
        messages = render(
            "judge",
            language=self._language,
            unit=self._unit,
            n=len(options),
            letters=letters,
            scenario=scenario,
            options=[(letter, options[i]) for letter, i in zip(letters, order, strict=True)],
        )
        return messages, order

    def _schema(self, n_options: int) -> dict[str, object]:
        letters = list(LETTERS[:n_options])
        return object_schema(
            fits={"type": "array", "items": {"type": "string", "enum": letters}, "maxItems": n_options},
            plausible={"type": "boolean"},
            fluent={"type": "boolean"},
            reason={"type": "string", "maxLength": _REASON_LENGTH},
        )


def _places(entry: str, options: Sequence[str]) -> set[int]:
    """Places of the options that an entry of `fits` names, by letters, by text or both; empty where that is unclear.

    >>> sorted(_places("A and c", ["Haste makes waste", "A stitch in time", "Let it lie"]))
    [0, 2]
    >>> _places("B) A stitch in time", ["Haste makes waste", "A stitch in time", "Let it lie"])
    {1}
    """
    rest, told = _worded(entry), set()
    for place in sorted(range(len(options)), key=lambda i: -len(options[i])):  # a text may be part of another
        text = _worded(options[place])
        if text.strip() and text in rest:
            rest = rest.replace(text, " ")
            told.add(place)
    letters = [word.upper() for word in rest.split() if word != "and"]
    if any(letter not in tuple(LETTERS[: len(options)]) for letter in letters):
        return set()
    named = set(map(LETTERS.index, letters))
    return set() if told and named and told != named else told | named


def _worded(text: str) -> str:
    """The words of a text in one spelling, with a space before and after each."""
    return f" {' '.join(_WORD.findall(unicodedata.normalize('NFKC', text).casefold()))} "


def _objection(answer: JudgeAnswer, options: Sequence[str]) -> str:
    """What is wrong with a judge's answer: an unclear entry of `fits` would be read as a verdict it is not."""
    odd = [entry for entry in answer.fits if not _places(entry, options)]
    letters = LETTERS[: len(options)]
    return f"fits must list letters out of {letters}, but holds {odd[0][:_REASON_LENGTH]!r}" if odd else ""


def _shown(row: Item) -> tuple[str, list[str]]:
    """Scenario and option texts, gold first."""
    options = list(row.options)
    options.insert(0, options.pop(row.answer))
    return row.scenario, [option.text for option in options]


def _spoilt(row: Item, plan: ProbePlan) -> tuple[str, list[str]]:
    """The known-bad version of an item."""
    scenario, options = _shown(row)
    if plan.kind == "wrong_proverb":
        return scenario, [plan.text, *options[1:]]
    if plan.kind == "two_answers":
        return scenario, [options[0], plan.text, *options[2:]]
    return f"{scenario} {options[0]}", options


def _plan(item: Slim, turn: int, items: Sequence[Slim]) -> ProbePlan:
    """The next kind of probe in turn; a second right answer needs another proverb of the gold's meaning group."""
    golds = {other.proverb_id: option for other in items for option in other.options if option.role == "gold"}
    shown = {option.group for option in item.options}
    kind = ("wrong_proverb", "two_answers", "leaked_keyword")[turn % 3]
    if kind == "two_answers":
        twins = sorted(name for name, gold in golds.items() if gold.group == item.group and name != item.proverb_id)
        if twins:
            return ProbePlan(kind=kind, text=golds[twins[0]].text)
        kind = "wrong_proverb"
    strangers = sorted(name for name, gold in golds.items() if gold.group not in shown)
    if kind == "wrong_proverb" and strangers:
        pick = int(digest("stranger", item.id), 16) % len(strangers)
        return ProbePlan(kind=kind, text=golds[strangers[pick]].text)
    return ProbePlan(kind="leaked_keyword")
