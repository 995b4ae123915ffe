"""The answers of one run as arrays: which option each presentation of each question got.

A *presentation* is one showing of a question: one phrasing, one order of the options. A *unit* is a question in one
phrasing that was answered in every cyclic order of its options. What several presentations of a question say is
averaged within the question before any standard error is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from adage.analysis.controls import from_scores
from adage.analysis.stats import Bools, Estimate, Floats, Ints, clustered_mean, quotient
from adage.errors import StoreError
from adage.evaluation.result import Benchmark, Condition, Evaluated, Question, Result, Status
from adage.evaluation.result import slug as file_name

STATUSES: tuple[Status, ...] = get_args(Status)
WRONG_ROLES = ("same_cluster", "near_match", "random")
"""Roles of the wrong options, in the order of every array over roles."""


class Units(NamedTuple):
    """Questions in one phrasing that were answered in every rotation."""

    item: Ints
    """Question of each unit, shape (units,)."""
    choice: Ints
    """The option that was chosen in every rotation, -1 where the choice changed, shape (units,)."""


@dataclass(frozen=True, eq=False)
class Responses:
    """One model's answers to one benchmark under one condition.

    Arrays over questions cover the whole benchmark, asked or not, so that those of two runs can be compared.
    """

    result: Result
    benchmark: Benchmark
    name: str
    """Name of the benchmark, which no other benchmark of the analysis has."""
    item: Ints
    """Question of each presentation, shape (m,)."""
    phrasing: Ints
    rotation: Ints
    status: Ints
    """Index into `STATUSES`, shape (m,)."""
    choice: Ints
    """Chosen option of each presentation, in the question's own order, -1 where there is none, shape (m,)."""
    scores: Floats
    """Scores of the options of each presentation, NaN where there are none, shape (m, widest question)."""
    group: Ints
    """Meaning group of each question, shape (questions,)."""
    size: Ints
    """Options of each question, shape (questions,)."""
    gold: Bools
    """Which options are right, shape (questions, widest question)."""
    role: Ints
    """Index into `WRONG_ROLES` of each option, -1 for the gold and where there are no roles; as `gold`."""

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.result.subject.name

    @property
    def condition(self) -> Condition:
        """How the questions were put."""
        return self.result.condition

    @property
    def put(self) -> str:
        """The condition in a few words, without `full`, which goes without saying."""
        return self.condition.slug.removesuffix(".full")

    @property
    def questions(self) -> tuple[Question, ...]:
        """Every question of the benchmark."""
        return self.benchmark.questions

    @property
    def ordered(self) -> bool:
        """Whether the model saw the options in an order."""
        return self.condition.method in {"letter", "generate"}

    @cached_property
    def has_roles(self) -> bool:
        """Whether every wrong option of the benchmark has a role."""
        inside = np.arange(self.gold.shape[1]) < self.size[:, None]
        return bool((self.role[inside & ~self.gold] >= 0).all())

    @cached_property
    def answered(self) -> Bools:
        """Which presentations were answered, shape (m,)."""
        return self.choice >= 0

    @cached_property
    def right(self) -> Bools:
        """Which presentations were answered rightly, shape (m,)."""
        return self.answered & self.gold[self.item, self.choice]

    @cached_property
    def place(self) -> Ints:
        """Where the chosen option was shown, -1 where there is none, shape (m,)."""
        return np.where(self.answered, (self.choice - self.rotation) % self.size[self.item], -1)

    @cached_property
    def asked(self) -> Bools:
        """Which questions were asked, shape (questions,)."""
        return np.bincount(self.item, minlength=len(self.size)) > 0

    @cached_property
    def weight(self) -> Floats:
        """1 / answered presentations of its question for each answered presentation, 0 for the others, shape (m,)."""
        count = np.bincount(self.item, self.answered, minlength=len(self.size))
        return np.where(self.answered, 1 / np.maximum(count, 1)[self.item], 0.0)

    @cached_property
    def item_scores(self) -> Floats:
        """Share of right ones among the answered presentations of each question, NaN without any, (questions,)."""
        return self.average(self.right)

    @cached_property
    def chance(self) -> float:
        """Accuracy of a guesser on the questions asked."""
        return float((self.gold.sum(axis=1) / self.size)[self.asked].mean())

    def average(self, values: NDArray[np.generic], among: Bools | None = None) -> Floats:
        """Mean within each question of a value of its answered presentations, NaN without any, (questions,).

        Args:
            values: One number for each presentation, shape (m,).
            among: Presentations that count; all, unless given, shape (m,).
        """
        use = self.answered if among is None else self.answered & among
        count = np.bincount(self.item, use, minlength=len(self.size))
        total = np.bincount(self.item, use * values.astype(np.float64), minlength=len(self.size))
        return quotient(total, count)

    def estimate(self, item_scores: Floats) -> Estimate | None:
        """Clustered mean of scores of questions (questions,) from 0 to 1, NaN left out; None where nothing is left."""
        have = ~np.isnan(item_scores)
        return clustered_mean(item_scores[have], self.group[have], within=(0, 1)) if have.any() else None

    @cached_property
    def units(self) -> Units:
        """What was answered in every rotation; without options in an order there is none."""
        key = self.item * (int(self.phrasing.max(initial=0)) + 1) + self.phrasing
        keys, unit = np.unique(key, return_inverse=True)
        item = keys // (int(self.phrasing.max(initial=0)) + 1)
        low, high = np.full(len(keys), np.iinfo(np.int64).max), np.full(len(keys), -1)
        np.minimum.at(low, unit, self.choice)
        np.maximum.at(high, unit, self.choice)
        whole = (np.bincount(unit, self.answered, minlength=len(keys)) == self.size[item]) & self.ordered
        return Units(item[whole], np.where(low == high, low, -1)[whole])

    def averaged(self, transform: Callable[[Floats], Floats] = np.asarray) -> Floats:
        """Mean score of each option over complete sets of rotations, NaN without such a set, (questions, widest).

        Args:
            transform: Applied to the scores (m, widest) beforehand, e.g. to make probabilities of them.
        """
        inside = np.arange(self.scores.shape[1]) < self.size[self.item, None]
        scored = (np.isfinite(self.scores) | ~inside).all(axis=1) & self.answered
        phrasings = int(self.phrasing.max(initial=0)) + 1
        seen = np.zeros((len(self.size), phrasings), dtype=np.int64)
        np.add.at(seen, (self.item, self.phrasing), scored)
        needed = self.size[:, None] if self.ordered else 1
        use = scored & (seen >= needed)[self.item, self.phrasing]
        total = np.zeros(self.gold.shape)
        np.add.at(total, self.item[use], transform(np.where(inside, self.scores, np.nan)[use]))
        count = np.bincount(self.item[use], minlength=len(self.size))[:, None]
        return quotient(total, count)

    @cached_property
    def debiased_scores(self) -> Floats:
        """Scores of questions (questions,) when the option with the highest average over the rotations is chosen.

        A preference for a place adds the same to the average log-probability of every option, and so falls out.
        """
        mean = self.averaged()
        have = ~np.isnan(mean).all(axis=1)
        guess = from_scores(np.nan_to_num(mean, nan=-np.inf))
        return np.where(have, (guess * self.gold).sum(axis=1), np.nan)


def all_responses(evaluated: Iterable[Evaluated]) -> list[Responses]:
    """Every run as arrays, in the order of the tables: by benchmark, condition, and model (family, size, name).

    A run that is given twice counts once.

    Raises:
        StoreError: two different runs claim the same model, benchmark and condition, or an answer does not fit.
    """
    found: dict[tuple[str, str, str], Evaluated] = {}
    for run in evaluated:
        key = (run.result.subject.name, run.result.benchmark, run.result.condition.slug)
        if found.setdefault(key, run) != run:
            raise StoreError(
                f"there are two different runs of {key[0]!r} on {key[1]!r} ({key[2]})",
                hint="analyse them apart, or give the models different names in the roster",
            )
    names = _names({run.result.benchmark: run.benchmark for run in found.values()})
    runs = [_responses(run, names[run.result.benchmark]) for run in found.values()]
    return sorted(runs, key=_order)


def _order(run: Responses) -> tuple[str, str, str, str, float, str]:
    subject = run.result.subject
    size = float("inf") if subject.parameters is None else subject.parameters
    return (run.benchmark.language, run.name, run.condition.slug, subject.family, size, subject.name)


def _names(benchmarks: dict[str, Benchmark]) -> dict[str, str]:
    """Slug → the shortest of name, name with assembly, slug that tells the benchmarks, and files named so, apart."""
    names: dict[str, str] = {}
    for slug, benchmark in benchmarks.items():
        same = [other for key, other in benchmarks.items() if key != slug and _file(other) == _file(benchmark)]
        if not same:
            names[slug] = benchmark.name
        elif benchmark.assembly not in {other.assembly for other in same}:
            names[slug] = f"{benchmark.name} {benchmark.assembly}".strip()
        else:
            names[slug] = slug
    return names


def _file(benchmark: Benchmark) -> str:
    return file_name(benchmark.name)


def _responses(run: Evaluated, name: str) -> Responses:
    questions, answers = run.benchmark.questions, run.answers
    number = {question.id: index for index, question in enumerate(questions)}
    size = np.array([len(question.options) for question in questions])
    _check(run, number, size)
    scores = np.full((len(answers), size.max()), np.nan)
    for row, answer in enumerate(answers):
        scores[row, : len(answer.scores)] = answer.scores
    gold = np.zeros((len(questions), size.max()), dtype=bool)
    role = np.full(gold.shape, -1)
    for row, question in enumerate(questions):
        gold[row, list(question.gold)] = True
        role[row, : len(question.roles)] = [_role(part) for part in question.roles]
    role[gold] = -1
    return Responses(
        result=run.result,
        benchmark=run.benchmark,
        name=name,
        item=_ints(number[answer.item] for answer in answers),
        phrasing=_ints(answer.phrasing for answer in answers),
        rotation=_ints(answer.rotation for answer in answers),
        status=_ints(STATUSES.index(answer.status) for answer in answers),
        choice=_ints(-1 if answer.choice is None else answer.choice for answer in answers),
        scores=scores,
        group=np.unique([question.group or question.id for question in questions], return_inverse=True)[1],
        size=size,
        gold=gold,
        role=role,
    )


def _check(run: Evaluated, number: dict[str, int], size: Ints) -> None:
    """Raise `StoreError` at an answer that does not belong to these questions."""
    seen: set[tuple[str, int, int]] = set()
    for answer in run.answers:
        key = (answer.item, answer.phrasing, answer.rotation)
        place = number.get(answer.item)
        if place is None:
            problem = "is to a question that the benchmark lacks"
        elif key in seen:
            problem = "is there twice"
        elif (answer.choice is None) == (answer.status == "answered"):
            problem = f"has the status {answer.status!r} and the choice {answer.choice!r}"
        elif (
            not 0 <= (answer.choice or 0) < size[place]
            or not 0 <= answer.rotation < size[place]
            or answer.phrasing < 0
            or len(answer.scores) not in {0, size[place]}
        ):
            problem = f"does not fit a question with {size[place]} options"
        else:
            seen.add(key)
            continue
        raise StoreError(
            f"the answer of {run.result.subject.name!r} to {answer.item!r} on {run.result.benchmark!r} {problem}",
            hint="the results were edited or damaged: evaluate again (model calls are kept)",
        )


def _role(name: str) -> int:
    return WRONG_ROLES.index(name) if name in WRONG_ROLES else -1


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)


def asked_alike(first: Responses, second: Responses) -> bool:
    """Whether two runs, of any languages, were put under the same condition.

    For a benchmark in English, `native` and `en`, and `native` and `latin`, name the same prompts and labels.
    """
    english = {run.benchmark.language for run in (first, second)} & {"en"}
    one, other = first.condition, second.condition
    if not english or not {one.prompt, other.prompt} <= {"native", "en"}:
        return one == other
    return (one.method, one.shown) == (other.method, other.shown)


def by_benchmark(runs: Sequence[Responses]) -> list[list[Responses]]:
    """Runs of the same benchmark and condition together, in their order."""
    found: dict[tuple[str, str], list[Responses]] = {}
    for run in runs:
        found.setdefault((run.result.benchmark, run.condition.slug), []).append(run)
    return list(found.values())
