"""Every command as a function of the same name: what `import adage` offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from adage.analyser import Analysed, Figures
from adage.analyser import analyse as _analyse
from adage.builder import Built, stores_of
from adage.builder import build as _build
from adage.builder import take_in as _take_in
from adage.corpus.inspect import Inspection
from adage.corpus.inspect import inspect as _inspect
from adage.corpus.read import ReadOptions
from adage.engine.loop import run_async
from adage.engine.run import Watcher
from adage.errors import StoreError
from adage.evaluation.ask import Labels, Plan, Rotations
from adage.evaluation.ask import Watcher as EvaluationWatcher
from adage.evaluation.present import asked_of
from adage.evaluation.roster import load_roster, pick
from adage.evaluator import Evaluation
from adage.evaluator import evaluate as _evaluate
from adage.language import load, load_file
from adage.models.base import Message
from adage.models.batch import TakenIn
from adage.models.local import LocalModel
from adage.models.serve import serve
from adage.packs import Checked, Facts, Summary, facts, summaries
from adage.packs import check as _check
from adage.planner import StagePlan
from adage.planner import plan as _plan
from adage.recipe import load_recipe, recipe_file
from adage.scaffold import scaffold
from adage.showcase import DemoResult, run_demo
from adage.skeleton import new_pack
from adage.store.journal import Journal
from adage.store.run import Run, StageState
from adage.story import Appearance, appearances, prompt_of


def init(folder: Path, *, language: str, corpus: Path | None = None) -> list[Path]:
    """Write a commented recipe into a folder; returns the files written. See `scaffold.scaffold` for errors."""
    return scaffold(folder, language, corpus)


def inspect(file: Path, *, language: str, options: ReadOptions | None = None) -> Inspection:
    """Say what is in a corpus file; raises `CorpusError` where it cannot be read at all."""
    return _inspect(file, load(language), options or ReadOptions())


def build(
    recipe: Path = Path(),
    *,
    until: str | None = None,
    start: str | None = None,
    limit: int | None = None,
    replay: bool = False,
    recalibrate: bool = False,
    batch_out: Path | None = None,
    out: Path | None = None,
    watcher: Watcher | None = None,
    report: Callable[[Built], None] = lambda _: None,
) -> Built:
    """Run the stages that are not up to date; see `build.build` for arguments and errors."""
    return run_async(
        _build(
            recipe,
            out=out,
            watcher=watcher,
            until=until,
            start=start,
            limit=limit,
            replay=replay,
            recalibrate=recalibrate,
            batch_out=batch_out,
            report=report,
        )
    )


def take_in(recipe: Path, responses: Sequence[Path]) -> TakenIn:
    """Store responses to the batches that builds of this recipe wrote (`adage build --batch-in`)."""
    return run_async(_take_in(recipe, responses))


def plan(
    recipe: Path = Path(),
    *,
    until: str | None = None,
    start: str | None = None,
    limit: int | None = None,
    out: Path | None = None,
) -> list[StagePlan]:
    """What a build would call and cost, stage by stage (`adage build --dry-run`)."""
    return run_async(_plan(recipe, out=out, until=until, start=start, limit=limit))


def status(run: Path = Path()) -> list[StageState]:
    """The finished stages of a run; raises `StoreError` where there is none."""
    return open_run(run).states()


def show(run: Path, name: str) -> list[Appearance]:
    """Everything in a run that is, or was made from, the record of this id; raises `StoreError` for an unknown id."""
    return appearances(open_run(run), name)


def prompt(run: Path, stage: str, name: str | None = None) -> list[Message]:
    """The exact messages that a stage sends for a record (`adage show --prompt`)."""
    opened = open_run(run)
    recipe = run if _is_recipe(run) else opened.recipe()
    return list(run_async(prompt_of(opened, recipe, stage, name)))


def demo(out: Path = Path("demo"), *, watcher: Callable[[str], Watcher] | None = None) -> list[DemoResult]:
    """Build the sample benchmarks on the embedded models."""
    return run_demo(out, watcher)


def evaluate(
    benchmarks: Sequence[Path],
    *,
    models: Sequence[str] = (),
    roster: Path | None = None,
    methods: Sequence[str] = ("letter",),
    prompt: str = "native",
    labels: Labels = "latin",
    phrasings: int = 1,
    rotations: Rotations = "auto",
    choices_only: bool = False,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    split: str = "",
    assembly: str = "",
    language: str = "",
    packs: Sequence[Path] = (),
    layout: str = "",
    max_calls: int | None = None,
    replay: bool = False,
    out: Path = Path("results"),
    watcher: EvaluationWatcher | None = None,
) -> Evaluation:
    """Ask models the questions of benchmarks; see `evaluator.evaluate` and `evaluation.ask.Plan` for the arguments."""
    plan = Plan(
        methods=asked_of(methods),
        prompt=prompt,
        labels=labels,
        shown="choices_only" if choices_only else "full",
        phrasings=phrasings,
        rotations=rotations,
        limit=limit,
        sample=sample,
        seed=seed,
        packs=tuple(load_file(pack) for pack in packs),
    )
    return run_async(
        _evaluate(
            benchmarks,
            models=models,
            roster=roster,
            plan=plan,
            folder=out,
            assembly=assembly,
            split=split,
            language=language,
            layout=layout,
            max_calls=max_calls,
            replay=replay,
            watcher=watcher,
        )
    )


def analyse(results: Sequence[Path], *, out: Path | None = None, figures: Figures = "svg") -> Analysed:
    """Tables and figures of what models answered; see `analyser.analyse` for arguments and errors."""
    return _analyse(results, out=out, figures=figures)


def serve_model(
    model: str,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str = "",
    context: int = 4096,
    slots: int = 1,
    ready: Callable[[str], object] = lambda _: None,
) -> None:
    """Offer an embedded model as an OpenAI-compatible endpoint until interrupted; `ready` is told the base URL."""
    local = LocalModel(
        Path(model).stem if model.endswith(".gguf") else model, model=model, context=context, slots=slots
    )
    local.check()
    run_async(serve(local, host, port, token=token, ready=ready))


def languages() -> list[Summary]:
    """The language packs that come with ADAGE."""
    return summaries()


def language(code: str) -> Facts:
    """What is known of a language, from its pack or from CLDR; raises `LanguageError` for an unknown code."""
    return facts(code)


def check_languages(which: str = "") -> list[Checked]:
    """Run the examples of a pack, by code or file, or of all; see `packs.check` for errors."""
    return _check(which)


def new_language(code: str, *, out: Path | None = None, model: str = "", roster: Path | None = None) -> Path:
    """Write a pack to complete and return its file; see `skeleton.new_pack` for errors, `roster.pick` for `model`."""
    entry = pick([model], load_roster(roster) if roster else None)[0] if model else None
    file = out or Path(f"{code}.toml")
    new_pack(code, file, entry)
    return file


def open_journal(recipe: Path = Path()) -> Journal:
    """The call journal beside a recipe; raises `StoreError` where there is none yet."""
    path = stores_of(recipe) / "calls.sqlite"
    if not path.exists():
        raise StoreError(f"there is no journal at {str(path)!r}", hint="it is made by the first build")
    return Journal(path)


def prune_journal(recipe: Path = Path(), *, model: str = "", keep: Sequence[Path] = (), delete: bool = False) -> int:
    """How many stored calls are of this model, or asked by none of the runs in `keep`; with `delete`, they go.

    Raises:
        StoreError: neither a model nor a run is named, or a run names no calls: that would be everything.
    """
    if not model and not keep:
        raise StoreError("every stored call would go", hint="name a model, or runs whose calls are kept")
    kept: set[str] = set()
    for run in keep:
        found = set(open_run(run).call_keys())
        if not found:
            raise StoreError(f"{str(run)!r} is no run with a list of its calls", hint="name the folder of a built run")
        kept |= found
    with open_journal(recipe) as journal:
        return journal.prune(model=model, keep=kept) if delete else journal.count(model=model, keep=kept)


def open_run(path: Path) -> Run:
    """The run that a run folder, a recipe or a recipe's folder means; raises `StoreError` where nothing is built."""
    run = Run(load_recipe(path).out) if _is_recipe(path) else Run(path)
    if not run.states():
        raise StoreError(f"no stage has finished in {str(run.root)!r}", hint="build it with: adage build")
    return run


def _is_recipe(path: Path) -> bool:
    return recipe_file(path).is_file()
