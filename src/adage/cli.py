"""The command line: parse, call, print. Every command is also a function of the package."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NoReturn

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from adage import api, bill, terminal
from adage.analyser import Figures
from adage.corpus.read import ReadOptions
from adage.errors import AdageError, Interrupted, MissingKey, RecipeError
from adage.evaluation.ask import Labels, Rotations
from adage.keys import variable_name
from adage.pipeline import NAMES
from adage.story import sample_items
from adage.text.unicode import harmless

app = typer.Typer(
    name="adage",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Turn proverbs of any language into a hard multiple-choice benchmark of analogical reasoning.",
)
journal = typer.Typer(no_args_is_help=True, help="Look after the journal of model calls beside a recipe.")
app.add_typer(journal, name="journal")
languages = typer.Typer(no_args_is_help=True, help="See, check and write language packs.")
app.add_typer(languages, name="languages")
out = Console(highlight=False, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for scripts and nothing else.")]
RecipeArgument = Annotated[Path, typer.Argument(help="Recipe, or a folder that holds recipe.yaml.")]
RunArgument = Annotated[Path, typer.Argument(help="Run folder, recipe, or a folder that holds recipe.yaml.")]
StageOption = Annotated[str | None, typer.Option(metavar="STAGE", help=f"One of {', '.join(NAMES)}.")]


def main() -> NoReturn:
    """Run the command line; a mistake of the user's is shown as a message, without a traceback."""
    calm_collector()
    try:
        app()
    except AdageError as error:
        err.print(Text(harmless(f"adage: {error}")), soft_wrap=True)
        sys.exit(error.exit_code)
    sys.exit(0)


@contextmanager
def resumable() -> Iterator[None]:
    """Tell an interruption as what it is, with the way to go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted", hint="run the same command again to go on: what models have answered is stored"
        ) from None


def calm_collector() -> None:
    """Have the garbage collector look less often, and never at what is imported: a fifth of a build's time."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a script shows escapes, no traceback
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _tell_version(wanted: bool) -> None:
    if wanted:
        out.print(f"adage {version('adage')}")
        raise typer.Exit


@app.callback()
def _adage(
    _: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Nothing but the options that stand before a command."""


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write into; made if it is not there.")],
    language: Annotated[str, typer.Option(help="BCP 47 code, e.g. ja, ar, am.")],
    corpus: Annotated[Path | None, typer.Option(help="Your file of proverbs; its columns are recognised.")] = None,
) -> None:
    """Write a commented recipe, with a sample corpus or with the mapping guessed from your file.

    Example: `adage init mine --language ja --corpus proverbs.xlsx`
    """
    for path in api.init(folder, language=language, corpus=corpus):
        out.print(f"wrote {path}", soft_wrap=True)
    out.print(f"next: look at the recipe, then run: adage build {folder} --dry-run", soft_wrap=True)


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(help="File of proverbs, in any of the formats of docs/corpora.md.")],
    language: Annotated[str, typer.Option(help="BCP 47 code of the proverbs.")],
    encoding: Annotated[str, typer.Option(help="Encoding, where it cannot be found out.")] = "",
    delimiter: Annotated[str, typer.Option(help="Character between the cells.")] = "",
    table: Annotated[str, typer.Option("--table", "--sheet", help="Table or sheet that holds the proverbs.")] = "",
    text: Annotated[str, typer.Option(help="Column or key of the proverb.")] = "",
    explanation: Annotated[list[str] | None, typer.Option(help="Column or key of the explanation; repeatable.")] = None,
    as_json: Json = False,
) -> None:
    """Say what is in a corpus before anything is built: fields, records, duplicates, damage. Changes nothing.

    Example: `adage inspect proverbs.csv --language am --json`
    """
    options = ReadOptions(
        encoding=encoding, delimiter=delimiter, table=table, text=text, explanation=tuple(explanation or ())
    )
    found = api.inspect(file, language=language, options=options)
    if as_json:
        _print_json(found.as_dict())
    else:
        out.print(found.page())


@app.command()
def build(
    recipe: RecipeArgument = Path(),
    until: StageOption = None,
    start: Annotated[str | None, typer.Option("--from", metavar="STAGE", help="Compute again from here on.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Use only the first rows of the corpus.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show calls, tokens and money; spend nothing.")] = False,
    replay: Annotated[bool, typer.Option("--replay", help="Answer from journal and vectors, call no model.")] = False,
    recalibrate: Annotated[bool, typer.Option("--recalibrate", help="Measure the filter's thresholds anew.")] = False,
    to: Annotated[Path | None, typer.Option("--out", help="Run folder, instead of the recipe's.")] = None,
    batch_out: Annotated[
        Path | None, typer.Option("--batch-out", metavar="FILE", help="Call no endpoint; write the requests here.")
    ] = None,
    batch_in: Annotated[
        list[Path] | None, typer.Option("--batch-in", metavar="FILE", help="Take responses to a batch in; repeatable.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run the seven stages; go on where an earlier build stopped.

    With `--batch-in` alone, responses are stored and nothing is built.

    Exit codes: 0 done, 1 with failed rows or unusable responses, 2 bad input, 3 stopped by a limit, 130 interrupted.

    Example: `adage build mine --until filter --limit 50`
    """
    if dry_run:
        plans = api.plan(recipe, until=until, start=start, limit=limit, out=to)
        if as_json:
            _print_json({"stages": plans})
        else:
            out.print(bill.plan_table(plans))
            out.print("nothing was called or written")
        return
    unusable = 0
    if batch_in:
        unusable = _take_in(recipe, batch_in, quiet=as_json and batch_out is not None, as_json=as_json)
        if batch_out is None:
            raise typer.Exit(1 if unusable else 0)
    with resumable():
        built = api.build(
            recipe,
            until=until,
            start=start,
            limit=limit,
            replay=replay,
            recalibrate=recalibrate,
            batch_out=batch_out,
            out=to,
            watcher=terminal.Reporter(out, quiet=as_json),
            report=lambda built: _print_json(built) if as_json else bill.print_built(out, built),
        )
    if unusable or any(state.counts.failed for state in built.states):
        raise typer.Exit(1)


@app.command()
def status(run: RunArgument = Path(), as_json: Json = False) -> None:
    """Show the funnel of a run: in, kept, dropped (by reason) and failed, per stage, and how models answered.

    Example: `adage status mine`
    """
    states = api.status(run)
    if as_json:
        stages = [
            {"stage": state.stage, **msgspec.to_builtins(state.counts), "remarks": state.remarks} for state in states
        ]
        _print_json({"stages": stages})
    else:
        terminal.print_status(out, states)


@app.command()
def show(
    run: RunArgument,
    name: Annotated[str | None, typer.Argument(metavar="[ID]", help="Id of a proverb, scenario or item.")] = None,
    prompt: Annotated[str | None, typer.Option(metavar="STAGE", help="Show this stage's prompt for ID.")] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="How many items to show without an ID.")] = 5,
    as_json: Json = False,
) -> None:
    """Show sampled items, the whole story of one record, or the exact prompt that a stage sends for it.

    Examples: `adage show mine`, `adage show mine p3f0…`, `adage show mine --prompt generate p3f0…`
    """
    if prompt is not None:
        messages = api.prompt(run, prompt, name)
        _print_json({"messages": messages}) if as_json else terminal.print_messages(out, messages)
    elif name is None:
        items = sample_items(api.open_run(run), n)
        _print_json({"items": items}) if as_json else terminal.print_items(out, items)
    else:
        found = api.show(run, name)
        _print_json({"found": found}) if as_json else terminal.print_story(out, found)


@app.command()
def demo(
    to: Annotated[Path, typer.Option("--out", help="Folder to build in.")] = Path("demo"),
    as_json: Json = False,
) -> None:
    """Build small Japanese, Arabic and Amharic benchmarks from the samples, offline, on embedded models.

    Example: `adage demo --out demo`
    """
    with resumable():
        results = api.demo(to, watcher=lambda name: terminal.Reporter(out, quiet=as_json, name=name))
    if as_json:
        _print_json(results)
    else:
        terminal.print_demo(out, results)


@app.command()
def evaluate(
    benchmarks: Annotated[
        list[Path], typer.Argument(metavar="BENCH...", help="Run or benchmark folders, or files of other benchmarks.")
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="`gemma3-270m`, `smollm2-135m`, a GGUF file, BASE_URL#MODEL, or a name in the roster; repeatable.",
        ),
    ] = None,
    roster: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File that lists models; all of them unless --model chooses.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="letter (the usual): labels are scored; text: texts are; generate: replies; repeatable."),
    ] = None,
    prompt: Annotated[str, typer.Option(metavar="LANGUAGE", help="`native`, or a code such as en.")] = "native",
    labels: Annotated[Labels, typer.Option(help="Letters of the options.")] = "latin",
    phrasings: Annotated[int, typer.Option(min=1, help="Wordings of the question that are tried.")] = 1,
    rotations: Annotated[
        Rotations, typer.Option(help="Orders of the options; auto: all for letters, one for replies.")
    ] = "auto",
    choices_only: Annotated[
        bool, typer.Option("--choices-only", help="Leave the scenario out: what the options alone give away.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask only the first questions.")] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="Ask only so many, drawn over the meaning groups.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample and of the places that are dealt.")] = 0,
    split: Annotated[str, typer.Option(help="Split: test, or the only one there is; `all` for every one.")] = "",
    assembly: Annotated[str, typer.Option(help="Assembly: balanced, or the only one; `all` for every one.")] = "",
    language: Annotated[str, typer.Option(help="BCP 47 code, where a file does not say it.")] = "",
    pack: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Language pack of your own, in place of the packaged one; repeatable."),
    ] = None,
    layout: Annotated[str, typer.Option("--format", help="Format of a file, where it cannot be told.")] = "",
    max_calls: Annotated[int | None, typer.Option(min=0, help="Stop after so many new model calls.")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Answer from the journal, call no model.")] = False,
    to: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the results.")] = Path("results"),
    as_json: Json = False,
) -> None:
    """Ask models the questions of benchmarks, zero-shot; go on where an earlier run stopped.

    Exit codes: 0 done, 1 done with failed answers, 2 bad input, 3 stopped by a limit, 130 interrupted.

    Example: `adage evaluate demo/capr-ja --model gemma3-270m --method letter --method generate`
    """
    with resumable():
        done = api.evaluate(
            benchmarks,
            models=model or (),
            roster=roster,
            methods=method or ("letter",),
            prompt=prompt,
            labels=labels,
            phrasings=phrasings,
            rotations=rotations,
            choices_only=choices_only,
            limit=limit,
            sample=sample,
            seed=seed,
            split=split,
            assembly=assembly,
            language=language,
            packs=pack or (),
            layout=layout,
            max_calls=max_calls,
            replay=replay,
            out=to,
            watcher=terminal.EvaluationReporter(out, quiet=as_json),
        )
    if as_json:
        _print_json(done)
    else:
        terminal.print_evaluation(out, done)
    if done.failed:
        raise typer.Exit(1)


@app.command()
def analyse(
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULTS...", help="Results folders, or single models or runs in them.")
    ],
    to: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for tables, figures and analysis.json.")
    ] = None,
    figures: Annotated[Figures, typer.Option(help="Format of the figures; they need --out.")] = "svg",
    layout: Annotated[terminal.Layout, typer.Option("--format", help="How the tables are printed.")] = "rich",
    as_json: Json = False,
) -> None:
    """Compare models: accuracy with intervals, gap to English, what draws their errors, position bias, calibration.

    Every table says how to read it; `docs/analysis.md` says more.

    Example: `adage analyse results --out analysis`
    """
    found = api.analyse(results, out=to, figures=figures)
    if as_json:
        _print_json(found.analysis)
    else:
        terminal.print_analysis(out, found, layout)


@app.command("serve-model")
def serve_model(
    model: Annotated[str, typer.Argument(help="`gemma3-270m`, `smollm2-135m`, or the path of a GGUF file.")],
    host: Annotated[
        str, typer.Option(help="Address to listen at; beyond this machine, a token is needed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 finds a free one.")] = 8080,
    token_env: Annotated[str, typer.Option(metavar="NAME", help="Variable that holds the token clients send.")] = "",
    context: Annotated[int, typer.Option(min=256, help="Tokens of prompt and answer together.")] = 4096,
    slots: Annotated[int, typer.Option(min=1, max=16, help="Requests answered together.")] = 1,
) -> None:
    """Offer an embedded model as an OpenAI-compatible endpoint, until interrupted.

    Example: `adage serve-model models/qwen.gguf --port 8080`
    """
    try:
        token = os.environ.get(variable_name(token_env), "") if token_env else ""
    except ValueError as error:
        raise RecipeError(f"--token-env: {error}") from None
    if token_env and not token:
        raise MissingKey(f"the environment variable {token_env!r} should hold the token, but it is not set")
    api.serve_model(
        model,
        host=host,
        port=port,
        token=token,
        context=context,
        slots=slots,
        ready=lambda url: out.print(f"base_url: {url}"),
    )


@journal.command("stats")
def journal_stats(recipe: RecipeArgument = Path(), as_json: Json = False) -> None:
    """Count the calls of the journal beside a recipe, by model, and their tokens.

    Example: `adage journal stats mine`
    """
    with api.open_journal(recipe) as opened:
        found = opened.stats()
    if as_json:
        _print_json(found)
    else:
        for name, calls in found.models.items():
            out.print(f"{name}: {calls} calls", soft_wrap=True)
        out.print(
            f"{found.calls} calls, {found.prompt_tokens} + {found.completion_tokens} tokens, "
            f"{found.bytes / 1e6:.1f} MB",
            soft_wrap=True,
        )


@journal.command("verify")
def journal_verify(recipe: RecipeArgument = Path()) -> None:
    """Check the journal's file, hash every request again and read every reply.

    Example: `adage journal verify mine`
    """
    with api.open_journal(recipe) as opened:
        out.print(f"{opened.verify()} calls, all whole")


@journal.command("export")
def journal_export(
    recipe: RecipeArgument = Path(),
    model: Annotated[str, typer.Option(help="Calls of this model id alone.")] = "",
) -> None:
    """Print every call as a line of JSON: its key, the request, and the reply as it came.

    Example: `adage journal export mine > calls.jsonl`
    """
    with api.open_journal(recipe) as opened:
        for call in opened.calls(model=model):
            _print_json(call)


@journal.command("prune")
def journal_prune(
    recipe: RecipeArgument = Path(),
    model: Annotated[str, typer.Option(help="Calls of this model id alone.")] = "",
    keep: Annotated[
        list[Path] | None, typer.Option("--keep", metavar="RUN", help="Keep what this run asked; repeatable.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it, only count.")] = False,
) -> None:
    """Delete stored calls of one model, or those that the named runs did not ask. They would be paid for again.

    Example: `adage journal prune mine --keep mine/run --yes`
    """
    count = api.prune_journal(recipe, model=model, keep=keep or (), delete=yes)
    out.print(f"{count} calls deleted" if yes else f"{count} calls would be deleted; delete them with --yes")


@languages.command("list")
def languages_list(as_json: Json = False) -> None:
    """List the language packs that come with ADAGE; every other language of CLDR works without one.

    Example: `adage languages list`
    """
    found = api.languages()
    if as_json:
        _print_json({"languages": found})
    else:
        out.print(terminal.languages_table(found))
        out.print("any other language is derived from CLDR, e.g.: adage languages show ka", soft_wrap=True)


@languages.command("show")
def languages_show(
    code: Annotated[str, typer.Argument(metavar="XX", help="BCP 47 code, e.g. am, ar-YE, ka.")], as_json: Json = False
) -> None:
    """Show what is known of a language, from its pack or from CLDR.

    Example: `adage languages show ka`
    """
    found = api.language(code)
    _print_json(found) if as_json else terminal.print_language(out, found)


@languages.command("check")
def languages_check(
    which: Annotated[str, typer.Argument(metavar="[XX|FILE]", help="Code or pack file; without it, all packs.")] = "",
    as_json: Json = False,
) -> None:
    """Validate packs and run the examples in them; exit code 2 where one does not hold.

    Example: `adage languages check mine.toml`
    """
    checked = api.check_languages(which)
    if as_json:
        _print_json({"packs": checked})
    else:
        terminal.print_checked(out, checked)
    if any(pack.faults for pack in checked):
        raise typer.Exit(2)


@languages.command("new")
def languages_new(
    code: Annotated[str, typer.Argument(metavar="XX", help="BCP 47 code of a language without a pack.")],
    to: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="File to write; XX.toml by default.")] = None,
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="Drafts what CLDR lacks: GGUF file, BASE_URL#MODEL, or roster name.")
    ] = "",
    roster: Annotated[Path | None, typer.Option(metavar="FILE", help="File that lists models.")] = None,
) -> None:
    """Write a commented pack from CLDR's data, for a speaker to complete; a model may draft it first.

    Example: `adage languages new ka --out ka.toml`
    """
    file = api.new_language(code, out=to, model=model, roster=roster)
    out.print(f"wrote {file}", soft_wrap=True)
    out.print(f"next: have a speaker complete it, then run: adage languages check {file}", soft_wrap=True)


def _take_in(recipe: Path, files: list[Path], *, quiet: bool, as_json: bool) -> int:
    """Take responses in, and say what could not be used; how many that were."""
    taken = api.take_in(recipe, files)
    for problem in taken.problems:
        err.print(Text(problem), soft_wrap=True)
    if as_json and not quiet:
        _print_json(taken)
    elif not quiet:
        out.print(
            f"{taken.stored} responses stored, {taken.known} were known, {len(taken.problems)} could not be used",
            soft_wrap=True,
        )
    return len(taken.problems)


def _print_json(content: object) -> None:
    sys.stdout.write(msgspec.json.encode(content, enc_hook=str).decode() + "\n")
