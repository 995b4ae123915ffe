"""Asking: every question once in each order, the choice mapped back by content, failures apart, nothing asked twice."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adage.errors import BadRequest, EndpointUnreachable, LimitReached, NotStored, Unscorable
from adage.evaluation.ask import Plan, ask, raw_reply, read_reply
from adage.evaluation.candidates import open_candidate
from adage.evaluation.result import Answer, Benchmark, Condition, Result, Status, Subject
from adage.evaluation.roster import EndpointEntry, ScriptedEntry
from adage.language import load
from adage.models.base import ChatReply, ChatRequest, Message, Sampling
from adage.models.score import Messages, Scores
from adage.recipe import Budget
from adage.store.journal import Journal
from adage.store.meter import Meter
from endpoint import FakeEndpoint, status, top_logprobs
from quiz import benchmark, candidate, question

OPTIONS = ("Haste makes waste", "Look before you leap")


class Reader:
    """A scorer that finds a marked option wherever it stands, and notes what it is asked."""

    def __init__(self, mark: str = "", *, batches: bool = True, template: bool = True, tokens: bool = True) -> None:
        self.name = "reader"
        self.batches = batches
        self.mark, self.template, self.tokens = mark, template, tokens
        self.prompts: list[str] = []
        self.texts_asked: list[tuple[str, list[str]]] = []
        self.requests: list[ChatRequest] = []
        self.fault: Exception | None = None

    def request(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, *, sample: int = 0, attempt: int = 0
    ) -> ChatRequest:
        """The request that would be sent."""
        return Sampling().request("reader", "test", messages, schema, sample=sample, attempt=attempt)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """A reply with the label of the marked option."""
        self._note(request.messages)
        self.requests.append(request)
        return ChatReply(text=f"Answer: {self._label(request.messages)}")

    async def has_template(self) -> bool:
        """As it was made."""
        return self.template

    async def are_tokens(self, messages: Messages, labels: Sequence[str]) -> bool:
        """As it was made."""
        return self.tokens

    async def letters(self, prompts: Sequence[Messages], labels: Sequence[str]) -> list[Scores]:
        """Most of the weight on the label of the marked option."""
        rows: list[Scores] = []
        for messages in prompts:
            self._note(messages)
            found = self._label(messages)
            rows.append([math.log(0.7 if label.strip() == found else 0.1) for label in labels])
        return rows

    async def texts(self, messages: Messages, texts: Sequence[str]) -> Scores:
        """Shorter texts are likelier; after a story, the marked one gains 5."""
        self._note(messages)
        self.texts_asked.append((messages[0].content, list(texts)))
        bonus = 5.0 if "<story>" in messages[0].content else 0.0
        return [-float(len(text)) + (bonus if text.strip().endswith(self.mark) else 0.0) for text in texts]

    async def close(self) -> None:
        """Nothing to free."""

    def _note(self, messages: Messages) -> None:
        if self.fault:
            raise self.fault
        self.prompts.append(messages[0].content)

    def _label(self, messages: Messages) -> str:
        lines = [line for line in messages[0].content.splitlines() if line[1:3] == ". "]
        return next((line[0] for line in lines if line.endswith(self.mark)), "A")


class Note:
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.requests = 0
        self.statuses: Counter[str] = Counter()
        self.results: list[Result] = []

    def starts(self, subject: Subject, benchmark: Benchmark, method: str, requests: int) -> None:
        """Add up the requests."""
        self.requests += requests

    def answered(self, statuses: Sequence[Status]) -> None:
        """Count."""
        self.statuses.update(statuses)

    def ends(self, result: Result) -> None:
        """Keep."""
        self.results.append(result)

    def measures(self, benchmark: Benchmark) -> None:
        """Nothing."""

    def stops(self) -> None:
        """Nothing."""


async def put(
    reader: Reader, bench: Benchmark, method: str, folder: Path, **plan: Any
) -> list[tuple[Result, list[Answer]]]:
    """Ask a reader."""
    known = candidate(ScriptedEntry(kind="scripted", name="reader", skill=0), folder)
    known = known._replace(scorer=reader, notes=())
    known.chat._model = type(known.chat._model)(reader)
    try:
        return await ask(known, bench, method, Plan(**plan), Note())
    finally:
        await known.chat.close()
        known.chat._journal.close()


def questions(*marks: str) -> Benchmark:
    """A benchmark whose question `i` has an option that ends in `marks[i]`, at place `i % 4`."""
    made = []
    for number, mark in enumerate(marks):
        one = question(number)
        options = list(one.options)
        options[number % 4] += mark
        made.append(msgspec.structs.replace(one, options=tuple(options)))
    return Benchmark(name="b", language="en", questions=tuple(made))


@pytest.mark.parametrize("batches", [True, False])
async def test_letters_are_mapped_back_to_the_option_in_every_order(tmp_path: Path, batches: bool) -> None:
    """Whoever always finds the same option by content chooses it in every rotation, wherever it stands."""
    bench = questions("!", "!", "!")
    reader = Reader("!", batches=batches)
    ((result, answers),) = await put(reader, bench, "letter", tmp_path)
    assert [(one.item, one.rotation) for one in sorted(answers, key=lambda one: (one.item, one.rotation))] == [
        (each.id, rotation) for each in bench.questions for rotation in range(4)
    ]
    for one in answers:
        place = int(one.item[1:]) % 4
        assert one.choice == place
        assert one.scores[place] == max(one.scores)
        assert sum(map(math.exp, one.scores)) == pytest.approx(1, abs=1e-5)
    assert (result.asked, result.rotations, result.statuses) == (3, 4, {"answered": 12})
    assert len(reader.prompts) == len(set(reader.prompts)) == 12


async def test_who_always_says_the_same_letter_chooses_each_option_once(tmp_path: Path) -> None:
    """A position bias is spread evenly over the options by the rotations."""
    ((_, answers),) = await put(Reader("no such mark"), benchmark(2), "letter", tmp_path)
    for item in ("i000", "i001"):
        assert sorted(one.choice for one in answers if one.item == item) == [0, 1, 2, 3]


async def test_replies_are_asked_once_with_even_places_or_in_all_orders(tmp_path: Path) -> None:
    """One order a question by default; the raw reply is kept, the choice is by content."""
    bench = questions(*"!" * 8)
    ((result, answers),) = await put(Reader("!"), bench, "generate", tmp_path)
    assert {one.choice == int(one.item[1:]) % 4 for one in answers} == {True}
    shown = Counter(one.reply for one in answers)
    assert shown == dict.fromkeys((f"Answer: {label}" for label in "ABCD"), 2)
    assert (result.rotations, result.statuses) == (1, {"answered": 8})
    ((result, answers),) = await put(Reader("!"), bench, "generate", tmp_path, rotations="all")
    assert (result.rotations, len(answers)) == (4, 32)


async def test_texts_are_scored_in_three_ways_from_the_same_calls(tmp_path: Path) -> None:
    """Raw, by byte, and less the score after the prompt without the scenario, which each text is scored by once."""
    bench = questions("", "!")
    reader = Reader("!")
    found = {result.condition.method: answers for result, answers in await put(reader, bench, "text", tmp_path)}
    assert set(found) == {"text", "text_bytes", "text_pmi"}
    second = {method: next(one for one in answers if one.item == "i001") for method, answers in found.items()}
    lengths = [len(option) for option in bench.questions[1].options]
    assert second["text"].scores == tuple(-length + 5.0 * (at == 1) for at, length in enumerate(lengths))
    assert second["text_bytes"].scores == tuple(
        round((-length + 5 * (at == 1)) / length, 6) for at, length in enumerate(lengths)
    )
    assert second["text_pmi"].scores == (0.0, 5.0, 0.0, 0.0)
    assert second["text_pmi"].choice == 1
    first = next(one for one in found["text_pmi"] if one.item == "i000")
    assert (first.status, first.choice, first.error) == ("unparsed", None, "the best options score the same")
    neutral = [texts for prompt, texts in reader.texts_asked if "<story>" not in prompt]
    assert all(len(texts) == 1 for texts in neutral)
    assert len(neutral) == 8


async def test_without_the_scenario_there_is_no_pointwise_information(tmp_path: Path) -> None:
    """Of texts, two readings are left; the condition says that only the choices were shown."""
    found = await put(Reader(), benchmark(2), "text", tmp_path, shown="choices_only")
    assert [result.condition.method for result, _ in found] == ["text", "text_bytes"]
    assert {result.condition.shown for result, _ in found} == {"choices_only"}


async def test_a_model_without_a_template_completes_the_prompt_up_to_the_line_end(tmp_path: Path) -> None:
    """Base models are asked in plain text, and their reply ends with the line."""
    reader = Reader("!", template=False)
    await put(reader, questions("!"), "generate", tmp_path)
    assert reader.prompts[0].endswith("\n\nAnswer:")
    assert reader.requests[0].messages[0].role == "raw"
    assert reader.requests[0].extra == {"stop": ["\n"]}


async def test_native_labels_are_used_where_they_are_tokens(tmp_path: Path) -> None:
    """Otherwise Latin ones are, and the result says why."""
    bench = msgspec.structs.replace(benchmark(1), language="ja")
    reader = Reader()
    ((result, _),) = await put(reader, bench, "letter", tmp_path / "a", labels="native")
    assert result.condition.labels == "native"
    assert "\nイ. " in reader.prompts[0]
    reader = Reader(tokens=False)
    ((result, _),) = await put(reader, bench, "letter", tmp_path / "b", labels="native")
    assert result.condition.labels == "latin"
    assert "\nB. " in reader.prompts[0]
    assert result.notes == ("labelled A, B, C: ア, イ, ウ, エ are not distinct single tokens of this model",)


async def test_phrasings_are_asked_one_by_one(tmp_path: Path) -> None:
    """Each has its number and stands in the result; a language with fewer says so."""
    ((result, answers),) = await put(Reader(), benchmark(2), "letter", tmp_path, phrasings=3)
    assert len(result.phrasings) == len(set(result.phrasings)) == 3
    assert Counter(one.phrasing for one in answers) == {0: 8, 1: 8, 2: 8}
    korean = msgspec.structs.replace(benchmark(1), language="ko")
    ((result, _),) = await put(Reader(), korean, "letter", tmp_path, phrasings=3)
    assert len(result.phrasings) == 1
    assert result.notes == ("1 of 3 phrasings: there are no more in the language",)


async def test_a_failing_question_costs_itself_alone(tmp_path: Path) -> None:
    """Others are answered; the next run asks the failed one again, and it alone."""

    def reply(body: dict[str, Any]) -> dict[str, Any] | str:
        return top_logprobs(dict.fromkeys("ABCD", -1.0) | {"A": -0.1})

    async with FakeEndpoint(reply) as endpoint:
        endpoint.faults.extend([status(400, "blocked by a filter")])
        entry = EndpointEntry(name="m", base_url=endpoint.url, model="fake", retries=0, concurrency=1)
        known = candidate(entry, tmp_path)
        ((result, answers),) = await ask(known, benchmark(3), "letter", Plan(), Note())
        assert result.statuses == {"answered": 11, "failed": 1}
        (failed,) = [one for one in answers if one.status == "failed"]
        assert "blocked by a filter" in failed.error
        assert (failed.choice, failed.scores, failed.reply) == (None, (), "")
        asked = endpoint.calls
        ((result, _),) = await ask(known, benchmark(3), "letter", Plan(), Note())
        assert (result.statuses, endpoint.calls - asked) == ({"answered": 12}, 1)
        await known.chat.close()
        known.chat._journal.close()


async def test_a_label_without_a_score_leaves_the_answer_open(tmp_path: Path) -> None:
    """It is unparsed, with the labels that lack; it is no choice among the others, and it is not asked again."""
    async with FakeEndpoint(lambda _: top_logprobs({"A": -0.1, "B": -2.0})) as endpoint:
        known = candidate(EndpointEntry(name="m", base_url=endpoint.url, model="fake"), tmp_path)
        ((_, answers),) = await ask(known, benchmark(1), "letter", Plan(), Note())
        assert {(one.status, one.choice, one.error) for one in answers} == {
            ("unparsed", None, "not among the likeliest tokens: C, D")
        }
        asked = endpoint.calls
        await ask(known, benchmark(1), "letter", Plan(), Note())
        assert endpoint.calls == asked
        await known.chat.close()
        known.chat._journal.close()


async def test_a_dead_endpoint_ends_the_method_at_once(tmp_path: Path) -> None:
    """With its address, not question by question."""
    async with FakeEndpoint() as endpoint:
        url = endpoint.url
    known = candidate(EndpointEntry(name="m", base_url=url, model="fake", retries=0), tmp_path)
    with pytest.raises(EndpointUnreachable, match=r"127\.0\.0\.1"):
        await ask(known, benchmark(50), "letter", Plan(), Note())
    await known.chat.close()
    known.chat._journal.close()


async def test_an_unforeseen_error_is_a_failed_answer(tmp_path: Path) -> None:
    """Whatever a question trips over, the run goes on; what nobody could be asked by ends it."""
    reader = Reader()
    reader.fault = ZeroDivisionError("by zero")
    ((result, answers),) = await put(reader, benchmark(2), "letter", tmp_path)
    assert result.statuses == {"failed": 8}
    assert {one.error for one in answers} == {"ZeroDivisionError: by zero"}
    reader.fault = BadRequest("too long")
    ((result, _),) = await put(reader, benchmark(2), "generate", tmp_path)
    assert result.statuses == {"failed": 2}
    reader.fault = Unscorable("no scores")
    with pytest.raises(Unscorable):
        await put(reader, benchmark(2), "letter", tmp_path)


async def test_the_budget_stops_it_and_what_was_said_is_kept(tmp_path: Path) -> None:
    """A second run with a new budget goes on behind it."""
    bench, entry = benchmark(10), ScriptedEntry(kind="scripted", name="s", skill=0.5)
    known = open_candidate(entry, Journal(tmp_path / "calls.sqlite"), Meter(Budget(calls=6)), [bench])
    with pytest.raises(LimitReached):
        await ask(known, bench, "generate", Plan(), Note())
    await known.chat.finish()
    assert known.chat._journal.stats().calls == 6
    await known.chat.close()
    known.chat._journal.close()
    rest = candidate(entry, tmp_path, [bench])
    await ask(rest, bench, "generate", Plan(), Note())
    assert (rest.chat.usage.calls, rest.chat.usage.stored) == (4, 6)
    await rest.chat.close()
    rest.chat._journal.close()
    replayed = candidate(entry, tmp_path, [bench], replay=True)
    await ask(replayed, bench, "generate", Plan(), Note())
    with pytest.raises(NotStored):
        await ask(replayed, bench, "letter", Plan(), Note())
    await replayed.chat.close()
    replayed.chat._journal.close()


async def test_answers_do_not_depend_on_what_else_is_asked(tmp_path: Path) -> None:
    """A limited run gives the same answers as the whole one, and leaves less to ask."""
    bench, entry = benchmark(12), ScriptedEntry(kind="scripted", name="s", skill=0.5, position=(1.0,))
    known = candidate(entry, tmp_path, [bench])
    ((_, few),) = await ask(known, bench, "generate", Plan(sample=5), Note())
    ((_, all_),) = await ask(known, bench, "generate", Plan(), Note())
    assert len(few) == 5
    assert {one.item: one for one in few}.items() <= {one.item: one for one in all_}.items()
    assert known.chat.usage.calls == 12
    await known.chat.close()
    known.chat._journal.close()


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (ChatReply(text="Answer: B"), ("answered", 1)),
        (ChatReply(text="<think>Answer: A</think>Answer: B"), ("answered", 1)),
        (ChatReply(text="Answer: B", reasoning="A it is."), ("answered", 1)),
        (ChatReply(text="<think>So it is A", finish_reason="length"), ("truncated", None)),
        (ChatReply(text="It is about haste, so A", finish_reason="length"), ("truncated", None)),
        (ChatReply(text="Haste makes waste", finish_reason="length"), ("truncated", None)),
        (ChatReply(text="Answer: B\nBecause one should loo", finish_reason="length"), ("answered", 1)),
        (ChatReply(text="", finish_reason="content_filter"), ("refused", None)),
        (ChatReply(text="I cannot answer that."), ("refused", None)),
        (ChatReply(text="A or B"), ("unparsed", None)),
        (ChatReply(text=""), ("unparsed", None)),
    ],
)
def test_a_reply_is_read_as_it_ended(reply: ChatReply, expected: tuple[str, int | None]) -> None:
    """Thinking never counts, a line that was cut off neither; nothing that is unclear becomes a letter."""
    assert read_reply(reply, OPTIONS, load("en")) == expected


def test_thinking_that_came_apart_is_kept_with_the_reply() -> None:
    """The raw reply holds all that the model wrote."""
    assert raw_reply(ChatReply(text="B", reasoning="Hm.")) == "<think>Hm.</think>\nB"
    assert raw_reply(ChatReply(text="B")) == "B"


async def test_requests_run_side_by_side_up_to_the_limit(tmp_path: Path) -> None:
    """As many as the roster allows, no more."""
    async with FakeEndpoint(lambda _: "Answer: A", latency_s=0.005) as endpoint:
        known = candidate(EndpointEntry(name="m", base_url=endpoint.url, model="fake", concurrency=7), tmp_path)
        await ask(known, benchmark(40), "generate", Plan(), Note())
        assert endpoint.peak == 7
        assert not [task for task in asyncio.all_tasks() if "worker" in repr(task)]
        await known.chat.close()
        known.chat._journal.close()


async def test_conditions_tell_results_apart(tmp_path: Path) -> None:
    """Prompt, labels and what was shown are part of the condition."""
    ((result, _),) = await put(Reader(), benchmark(1, language="ja"), "letter", tmp_path, prompt="en")
    assert result.condition == Condition(method="letter", prompt="en")
