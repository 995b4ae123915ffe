"""What an evaluation asks and what it finds: questions, answers, and the results folder that holds them.

```
RESULTS/
  benchmarks/NAME-DIGEST.json    the questions as they were asked, with what analysis needs to know of their options
  MODEL/NAME-DIGEST.CONDITION.json     who was asked, how, and what became of it (`Result`)
  MODEL/NAME-DIGEST.CONDITION.jsonl    one `Answer` a line
```

The folder is complete in itself: it can be analysed where neither benchmark nor model is at hand.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from adage.errors import StoreError
from adage.records import Record, digest
from adage.store.files import pretty, read_lines, write_atomic

Method = Literal["letter", "text", "text_bytes", "text_pmi", "generate"]
"""`letter`: log-probability of the option's label; `text`: of the option's text, raw, per byte, or less that of the
text after a neutral prompt; `generate`: a reply, read by `evaluation.parse`."""
Status = Literal["answered", "unparsed", "refused", "truncated", "failed"]
Shown = Literal["full", "choices_only"]


class Question(Record, frozen=True, kw_only=True):
    """One multiple-choice question. Positions count from 0, in the order of `options`."""

    id: str
    scenario: str
    options: tuple[str, ...]
    gold: tuple[int, ...]
    """Positions of the right options; one, but in foreign benchmarks."""
    group: str
    """Cluster of the standard errors: the meaning group of the gold."""
    names: tuple[str, ...] = ()
    """What identifies each option by content (its proverb's id); empty: its text."""
    roles: tuple[str, ...] = ()
    """`gold`, `same_cluster`, `near_match`, `random` of each option; empty where the benchmark has no roles."""
    clusters: tuple[int, ...] = ()
    """Theme cluster of each option; empty where there are none."""
    cos_scenario: tuple[float, ...] = ()
    """Cosine of each option's explanation and the scenario, from the build; empty where it is not known."""
    equivalent: str = ""
    """Id of the lesson that the gold shares with proverbs of other languages, where a sample marks it."""
    split: str = ""


class Benchmark(Record, frozen=True, kw_only=True):
    """A set of questions in one language."""

    name: str
    language: str
    """BCP 47 code."""
    assembly: str = ""
    """How the options were put together; empty for a foreign benchmark."""
    unit: str = ""
    """What an option is called in the prompt; empty: the language's word for a proverb."""
    encoder: str = ""
    """Identity of the encoder that the options were chosen with, if any: controls by the same encoder are circular."""
    redistribute: bool = False
    """Whether texts may be passed on."""
    questions: tuple[Question, ...]

    @property
    def digest(self) -> str:
        """Hash (16 hex digits) of all that is asked and of the key."""
        return digest(self.name, self.language, self.assembly, self.questions, size=8)

    @property
    def slug(self) -> str:
        """Name of the benchmark in the results folder."""
        return "-".join(filter(None, (slug(self.name), self.assembly, self.digest)))

    @property
    def chance(self) -> float:
        """Accuracy of a guesser that draws an option."""
        shares = (len(question.gold) / len(question.options) for question in self.questions)
        return math.fsum(shares) / len(self.questions)


class Subject(Record, frozen=True, kw_only=True):
    """A model that is evaluated."""

    name: str
    identity: str
    """What the answers are stored under: hash of the weights, or endpoint and name."""
    family: str = ""
    """Models of one family differ in size alone; joined by a line in the plots."""
    parameters: float | None = None
    """Billions of parameters, if known."""
    thinking: bool = False
    """Whether it thinks before it answers."""
    judge: bool = False
    """Whether it judged items of the benchmark it is asked."""


class Condition(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How the questions were put."""

    method: Method
    prompt: str = "native"
    """Language of the instruction: `native`, or a BCP 47 code such as `en`."""
    labels: Literal["latin", "native"] = "latin"
    shown: Shown = "full"
    """`choices_only`: the scenario is left out."""

    @property
    def slug(self) -> str:
        """Name of the condition in the results folder."""
        return f"{self.method}.{slug(self.prompt)}.{self.labels}.{self.shown}"


class Answer(Record, frozen=True, kw_only=True):
    """What a model answered to one presentation of a question: one phrasing, one order of the options."""

    item: str
    phrasing: int = 0
    """Number of the prompt's wording, from 0."""
    rotation: int = 0
    """Place `j` showed option `(j + rotation) % n`; 0 for the `text` methods, which show no order."""
    status: Status
    choice: int | None = None
    """Position, in the question's own order, of the chosen option; None unless answered."""
    scores: tuple[float, ...] = ()
    """Of each option, in the question's own order, the number whose highest wins: log-probabilities (natural), which
    for letters add up to 1 over the options; empty for `generate`."""
    reply: str = ""
    """The reply as it came, thinking included."""
    error: str = ""
    """Why there is no choice: with `failed`, and with scores that choose nothing."""


class Result(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Header of a file of answers."""

    subject: Subject
    benchmark: str
    """Slug of the benchmark."""
    condition: Condition
    asked: int
    """Questions asked: all, or those that `--limit` and `--sample` left."""
    phrasings: tuple[str, ...]
    """The instructions, in the order of their numbers."""
    rotations: int
    statuses: dict[str, int]
    """Status → answers."""
    notes: tuple[str, ...] = ()
    """What a reader of the numbers should know, e.g. that native labels were not single tokens."""


class Evaluated(NamedTuple):
    """A result with the questions it speaks of and its answers."""

    result: Result
    benchmark: Benchmark
    answers: tuple[Answer, ...]


def slug(name: str) -> str:
    """A name as part of a file's name: letters, digits, dot, dash and underline of any script.

    >>> slug("Qwen/Qwen3-8B"), slug("../x")
    ('Qwen-Qwen3-8B', 'x')
    """
    return re.sub(r"[^\w.-]+", "-", name).strip(".-") or digest(name, size=4)


def write_questions(folder: Path, benchmark: Benchmark) -> Path:
    """Keep the questions in a results folder; returns the file."""
    path = folder / "benchmarks" / f"{benchmark.slug}.json"
    write_atomic(path, pretty(benchmark))
    return path


def write_result(folder: Path, result: Result, answers: Iterable[Answer]) -> Path:
    """Write answers, sorted by item, phrasing and rotation, then their header; returns the header's file."""
    path = folder / slug(result.subject.name) / f"{result.benchmark}.{result.condition.slug}.json"
    ordered = sorted(answers, key=lambda answer: (answer.item, answer.phrasing, answer.rotation))
    lines = b"".join(msgspec.json.encode(answer) + b"\n" for answer in ordered)
    write_atomic(path.with_suffix(".jsonl"), lines)
    write_atomic(path, pretty(result))
    return path


def read_results(paths: Sequence[Path]) -> list[Evaluated]:
    """Every result in these results folders (or model folders in one, or header files), sorted by file name.

    Raises:
        StoreError: a path holds no result, or one that names questions or answers that are not there.
    """
    found: list[Evaluated] = []
    benchmarks: dict[Path, Benchmark] = {}
    for path in paths:
        if not path.exists():
            raise StoreError(f"there is no {str(path)!r}", hint="name a folder that `adage evaluate` has written")
        headers = [path] if path.is_file() else sorted(path.glob("*.json")) + sorted(path.glob("*/*.json"))
        headers = [header for header in headers if header.parent.name != "benchmarks"]
        if not headers:
            raise StoreError(f"there are no results in {str(path)!r}", hint="make some with: adage evaluate")
        found += [_read_result(header, benchmarks) for header in headers]
    return found


def _read_result(header: Path, benchmarks: dict[Path, Benchmark]) -> Evaluated:
    """One result; `benchmarks` holds the questions read so far, which many results share."""
    try:
        result = msgspec.json.decode(header.read_bytes(), type=Result)
        questions = header.parents[1] / "benchmarks" / f"{result.benchmark}.json"
        if questions not in benchmarks:
            benchmarks[questions] = msgspec.json.decode(questions.read_bytes(), type=Benchmark)
    except FileNotFoundError as error:
        raise StoreError(
            f"{str(error.filename)!r} is missing, which {str(header)!r} needs", hint="run adage evaluate again"
        ) from error
    except msgspec.DecodeError as error:
        raise StoreError(f"{str(header)!r} is no result of an evaluation: {error}") from error
    if benchmarks[questions].slug != result.benchmark:
        raise StoreError(f"{str(questions)!r} does not hold the questions that were asked: it was edited", hint=_AGAIN)
    answers = tuple(read_lines(header.with_suffix(".jsonl"), Answer))
    if (counted := Counter(answer.status for answer in answers)) != Counter(result.statuses):
        raise StoreError(
            f"{str(header.with_suffix('.jsonl'))!r} holds {dict(counted)}, but its header counts {result.statuses}",
            hint=_AGAIN,
        )
    return Evaluated(result, benchmarks[questions], answers)


_AGAIN = "run adage evaluate again: model calls are kept"
