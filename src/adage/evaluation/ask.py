"""Ask one model the questions of one benchmark: requests in, answers out; a question that fails costs itself alone.

Everything that a model says goes through the journal: what was asked once is never asked again, and a run that was
killed goes on where it stopped.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

from adage.errors import AdageError
from adage.evaluation.parse import parse_answer
from adage.evaluation.present import (
    Asked,
    Form,
    balanced_rotations,
    chosen,
    native_labels,
    order,
    wording_of,
)
from adage.evaluation.result import Answer, Benchmark, Condition, Method, Question, Result, Shown, Status, Subject
from adage.language import Language, fingerprint, load
from adage.models.base import ChatReply, ChatRequest
from adage.models.score import Scorer, Scores, extended, letters_request, scores_of, texts_request
from adage.store.recorded import RecordedChat

Labels = Literal["latin", "native"]
Rotations = Literal["auto", "one", "all"]
_DECIMALS = 6
"""Log-probabilities are compared and written with so many: what lies beyond is noise of the arithmetic."""
_STOP = {"stop": ["\n"]}
"""A model without a template has answered where the line ends."""


class Plan(NamedTuple):
    """How to ask: what all models and benchmarks of an evaluation share."""

    methods: tuple[Asked, ...] = ("letter",)
    prompt: str = "native"
    labels: Labels = "latin"
    shown: Shown = "full"
    phrasings: int = 1
    """Wordings of the question that are used, as far as the language has so many."""
    rotations: Rotations = "auto"
    """Orders of the options: `all` shows each option in each place; `one` deals the places evenly over the questions;
    `auto`: all for letters, one for replies."""
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    packs: tuple[Language, ...] = ()
    """Language packs of the user's own, in place of the packaged ones."""

    def language_of(self, code: str) -> Language:
        """The language of a BCP 47 code; raises `LanguageError` for one that is not known."""
        known = load(code)
        return next((pack for pack in self.packs if pack.code == known.code), known)


class Candidate(NamedTuple):
    """A model that is evaluated, behind the journal."""

    subject: Subject
    scorer: Scorer
    chat: RecordedChat
    concurrency: int
    """Requests in flight at once."""
    template: bool = True
    """Whether the model's template is used, if it has one."""
    notes: tuple[str, ...] = ()
    """What a reader should know of its results."""

    def judging(self, judges: Collection[str]) -> Candidate:
        """The same model, marked if it is one of those (by model id) that judged the items it is asked."""
        judged = self.chat.request((), None).model in judges
        return self._replace(subject=msgspec.structs.replace(self.subject, judge=judged))

    def noting(self, notes: Sequence[str]) -> Candidate:
        """The same model, with more that a reader should know."""
        return self._replace(notes=(*self.notes, *notes))


class Watcher(Protocol):
    """Is told how an evaluation goes."""

    def starts(self, subject: Subject, benchmark: Benchmark, method: Asked, requests: int) -> None:
        """A model is about to be asked a benchmark, by so many requests."""
        ...

    def answered(self, statuses: Sequence[Status]) -> None:
        """A request has been dealt with; the statuses of the answers that came of it."""
        ...

    def ends(self, result: Result) -> None:
        """A result is complete."""
        ...

    def measures(self, benchmark: Benchmark) -> None:
        """All are asked; what the options of a benchmark give away is about to be measured, which takes a while."""
        ...

    def stops(self) -> None:
        """Nothing more is asked, for good or for bad."""
        ...


class Asking(NamedTuple):
    """One model, one benchmark, one method: what its questions share."""

    candidate: Candidate
    language: Language
    form: Form
    rotations: dict[str, tuple[int, ...]]
    """The orders in which each question is shown, by its id."""


class Call(NamedTuple):
    """What is asked together: a question in one wording, in one order or several."""

    question: Question
    phrasing: int
    rotations: tuple[int, ...]


Found = dict[Method, list[Answer]]


async def ask(
    candidate: Candidate, benchmark: Benchmark, method: Asked, plan: Plan, watcher: Watcher
) -> list[tuple[Result, list[Answer]]]:
    """Put the questions; one result for each way of reading the answers (`text` has three).

    Raises:
        ModelError: a fatal one: the model cannot be asked at all, or not in this way.
        LimitReached: the budget is used up.
        StoreError: a reply could not be stored.
    """
    asking, condition, notes = await _prepare(candidate, benchmark, method, plan)
    phrasings = asking.form.wording.questions(plan.phrasings)
    questions = chosen(benchmark.questions, limit=plan.limit, sample=plan.sample, seed=plan.seed)
    calls = [
        Call(question, phrasing, rotations)
        for question in questions
        for phrasing in range(len(phrasings))
        for rotations in _together(asking, question)
    ]
    watcher.starts(candidate.subject, benchmark, method, len(calls))
    found: Found = {each: [] for each in _readings(asking.form)}

    async def put(call: Call) -> None:
        answers = await _answers(asking, call)
        for each, got in answers.items():
            found[each] += got
        watcher.answered([one.status for got in answers.values() for one in got][: len(call.rotations)])

    await _each(put, calls, candidate.concurrency)
    results = []
    for each, answers in found.items():
        result = Result(
            subject=candidate.subject,
            benchmark=benchmark.slug,
            condition=msgspec.structs.replace(condition, method=each),
            asked=len(questions),
            phrasings=phrasings,
            rotations=max(len(asking.rotations[question.id]) for question in questions),
            statuses=dict(sorted(Counter(one.status for one in answers).items())),
            notes=notes,
        )
        results.append((result, answers))
        watcher.ends(result)
    return results


async def _prepare(
    candidate: Candidate, benchmark: Benchmark, method: Asked, plan: Plan
) -> tuple[Asking, Condition, tuple[str, ...]]:
    """Find out in which form this model can be asked; what could not be as wished is said in the notes."""
    language = plan.language_of(benchmark.language)
    wording = wording_of(benchmark, plan.prompt, plan.language_of)
    template = candidate.template and await candidate.scorer.has_template()
    form = Form(wording, method, template, shown=plan.shown)
    notes = [*wording.notes, *candidate.notes]
    if language in plan.packs:
        notes.append(f"with a language pack of the user's own ({fingerprint(language)[:8]})")
    labels: Labels = "latin"
    if plan.labels == "native" and method != "text":
        most = max(len(question.options) for question in benchmark.questions)
        native = form._replace(labels=native_labels(language, most))
        if why := await _unusable(candidate, native, benchmark.questions[0]):
            notes.append(f"labelled A, B, C: {why}")
        else:
            form, labels = native, "native"
    if len(wording.texts.questions) < plan.phrasings:
        notes.append(f"{len(wording.texts.questions)} of {plan.phrasings} phrasings: there are no more in the language")
    if method == "letter" and candidate.subject.thinking:
        notes.append("letters were scored without thinking")
    temperature = candidate.chat.request((), None).temperature
    if method == "generate" and temperature > 0:
        notes.append(f"replies were drawn at temperature {temperature:g}, not greedily")
    condition = Condition(method=method, prompt=wording.prompt, labels=labels, shown=plan.shown)
    rotations = _rotations(benchmark, method, plan)
    return Asking(candidate, language, form, rotations), condition, tuple(notes)


async def _unusable(candidate: Candidate, form: Form, question: Question) -> str:
    """Why the labels of a form cannot be used; empty where they can."""
    n = len(question.options)
    if not form.labels:
        return "the language has too few letters of its own"
    if form.asked == "letter":
        prompt = extended(form.start(question, 0), form.end(question, 0))
        if await candidate.scorer.are_tokens(prompt, form.continued_labels(n)) is False:
            return f"{', '.join(form.labels[:n])} are not distinct single tokens of this model"
    return ""


def _rotations(benchmark: Benchmark, method: Asked, plan: Plan) -> dict[str, tuple[int, ...]]:
    if method == "text":
        return {question.id: (0,) for question in benchmark.questions}
    if plan.rotations == "all" or (plan.rotations == "auto" and method == "letter"):
        return {question.id: tuple(range(len(question.options))) for question in benchmark.questions}
    return {name: (one,) for name, one in balanced_rotations(benchmark.questions, plan.seed).items()}


def _together(asking: Asking, question: Question) -> list[tuple[int, ...]]:
    """The orders of a question, put together as they are asked: at once where that shares the work."""
    rotations = asking.rotations[question.id]
    if asking.form.asked == "letter" and asking.candidate.scorer.batches:
        return [rotations]
    return [(one,) for one in rotations]


def _readings(form: Form) -> tuple[Method, ...]:
    if form.asked != "text":
        return (form.asked,)
    if form.shown == "choices_only":
        return ("text", "text_bytes")  # the neutral prompt is this prompt: nothing would be left
    return ("text", "text_bytes", "text_pmi")


async def _each(work: Callable[[Call], Awaitable[None]], calls: Sequence[Call], at_once: int) -> None:
    """Do the work for every call, so many at a time; the first error that `work` raises ends it all."""
    left = iter(calls)

    async def worker() -> None:
        for call in left:
            await work(call)

    workers = [asyncio.create_task(worker()) for _ in range(min(at_once, len(calls)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


async def _answers(asking: Asking, call: Call) -> Found:
    """Ask once; an error that does not concern the others becomes an answer."""
    put = {"letter": _letters, "text": _texts, "generate": _replies}[asking.form.asked]
    try:
        return await put(asking, call)
    except AdageError as error:
        if error.fatal:
            raise
        why = error.message
    except Exception as error:  # noqa: BLE001 -- one question never stops a run
        why = f"{type(error).__name__}: {error}"
    failed = [_answer(call, one, "failed", error=why) for one in call.rotations]
    return dict.fromkeys(_readings(asking.form), failed)


async def _letters(asking: Asking, call: Call) -> Found:
    form, question = asking.form, call.question
    request = letters_request(
        asking.candidate.chat,
        form.start(question, call.phrasing),
        [form.end(question, one) for one in call.rotations],
        form.continued_labels(len(question.options)),
    )
    rows = scores_of(await asking.candidate.chat.chat(request))
    return {"letter": [_lettered(form, call, one, row) for one, row in zip(call.rotations, rows, strict=True)]}


def _lettered(form: Form, call: Call, rotation: int, row: Scores) -> Answer:
    """An answer of the scores of the labels, which stand in the order shown."""
    shown = order(len(row), rotation)
    known = {at: score for at, score in zip(shown, row, strict=True) if score is not None}
    if len(known) == len(row):
        return _scored(call, rotation, [known[at] for at in range(len(row))])
    missing = ", ".join(label for label, score in zip(form.labels, row, strict=False) if score is None)
    return _answer(call, rotation, "unparsed", error=f"not among the likeliest tokens: {missing}")


async def _texts(asking: Asking, call: Call) -> Found:
    """Scores of the options' texts, raw, by byte, and less that after the prompt without the scenario."""
    form, chat = asking.form, asking.candidate.chat
    texts = form.continued_texts(call.question)
    raw = await _text_scores(chat, texts_request(chat, form.before_text(call.question, call.phrasing), texts))
    scores: dict[Method, list[float]] = {
        "text": raw,
        "text_bytes": [score / len(text.encode()) for score, text in zip(raw, texts, strict=True)],
    }
    if "text_pmi" in _readings(form):
        neutral = form.before_text(call.question, call.phrasing, neutral=True)
        alone = await asyncio.gather(*(_text_scores(chat, texts_request(chat, neutral, [text])) for text in texts))
        scores["text_pmi"] = [score - less for score, (less,) in zip(raw, alone, strict=True)]
    return {method: [_scored(call, 0, found)] for method, found in scores.items()}


async def _text_scores(chat: RecordedChat, request: ChatRequest) -> list[float]:
    (row,) = scores_of(await chat.chat(request))
    return [score for score in row if score is not None]


async def _replies(asking: Asking, call: Call) -> Found:
    form, chat = asking.form, asking.candidate.chat
    (rotation,) = call.rotations
    prompt = extended(form.start(call.question, call.phrasing), form.end(call.question, rotation))
    request = chat.request(prompt, None)
    if not form.template:
        request = msgspec.structs.replace(request, extra={**request.extra, **_STOP})
    reply = await chat.chat(request)
    shown = order(len(call.question.options), rotation)
    status, place = read_reply(reply, [call.question.options[at] for at in shown], asking.language)
    choice = None if place is None else shown[place]
    return {"generate": [_answer(call, rotation, status, choice=choice, reply=raw_reply(reply))]}


def read_reply(reply: ChatReply, options: Sequence[str], language: Language) -> tuple[Status, int | None]:
    """What became of a reply, and the place of the option that it chooses.

    Of a reply that was cut off, what stands on its last line does not count.
    """
    if reply.finish_reason == "content_filter":
        return "refused", None
    text = reply.text.rpartition("\n")[0] if reply.finish_reason == "length" else reply.text
    parsed = parse_answer(text, options, language)
    if reply.finish_reason == "length" and parsed.status != "answered":
        return "truncated", None
    return parsed.status, parsed.index


def raw_reply(reply: ChatReply) -> str:
    """A reply as it came; thinking that came apart from it stands before it."""
    return f"<think>{reply.reasoning}</think>\n{reply.text}" if reply.reasoning else reply.text


def _scored(call: Call, rotation: int, scores: Sequence[float]) -> Answer:
    """An answer of the options' scores, in the question's own order; a draw between the best is no answer."""
    rounded = tuple(round(score, _DECIMALS) for score in scores)
    best = max(rounded)
    if rounded.count(best) > 1:
        return _answer(call, rotation, "unparsed", scores=rounded, error="the best options score the same")
    return _answer(call, rotation, "answered", choice=rounded.index(best), scores=rounded)


def _answer(
    call: Call,
    rotation: int,
    status: Status,
    *,
    choice: int | None = None,
    scores: tuple[float, ...] = (),
    reply: str = "",
    error: str = "",
) -> Answer:
    return Answer(
        item=call.question.id,
        phrasing=call.phrasing,
        rotation=rotation,
        status=status,
        choice=choice,
        scores=scores,
        reply=reply,
        error=error,
    )
