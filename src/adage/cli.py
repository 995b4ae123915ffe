"""The command line: parse, call, print. Every command is also a function of the package."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from adage import terminal
from adage.build import build as run_build
from adage.corpus.inspect import inspect as inspect_corpus
from adage.corpus.read import ReadOptions
from adage.demo import run_demo
from adage.errors import AdageError, StoreError
from adage.language import load
from adage.pipeline import NAMES
from adage.plan import plan
from adage.recipe import Recipe, load_recipe
from adage.scaffold import scaffold
from adage.store.run import Run
from adage.story import appearances, prompt_of, sample_items

app = typer.Typer(
    name="adage",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Turn proverbs of any language into a hard multiple-choice benchmark of analogical reasoning.",
)
out = Console(highlight=False, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for scripts and nothing else.")]
RecipeArgument = Annotated[Path, typer.Argument(help="Recipe, or a folder that holds recipe.yaml.")]
RunArgument = Annotated[Path, typer.Argument(help="Run folder, recipe, or a folder that holds recipe.yaml.")]
StageOption = Annotated[str | None, typer.Option(metavar="STAGE", help=f"One of {', '.join(NAMES)}.")]


def main() -> NoReturn:
    """Run the command line; a mistake of the user's is shown as a message, without a traceback."""
    try:
        app()
    except AdageError as error:
        err.print(Text(f"adage: {error}"))
        sys.exit(error.exit_code)
    sys.exit(0)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write into; made if it is not there.")],
    language: Annotated[str, typer.Option(help="BCP 47 code, e.g. ja, ar, am.")],
    corpus: Annotated[Path | None, typer.Option(help="Your file of proverbs; its columns are recognised.")] = None,
) -> None:
    """Write a commented recipe, with a sample corpus or with the mapping guessed from your file.

    Example: `adage init mine --language ja --corpus proverbs.xlsx`
    """
    for path in scaffold(folder, language, corpus):
        out.print(f"wrote {path}")
    out.print(f"next: look at the recipe, then run: adage build {folder} --dry-run")


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(help="File of proverbs, in any of the formats of docs/corpora.md.")],
    language: Annotated[str, typer.Option(help="BCP 47 code of the proverbs.")],
    encoding: Annotated[str, typer.Option(help="Encoding, where it cannot be found out.")] = "",
    delimiter: Annotated[str, typer.Option(help="Character between the cells.")] = "",
    table: Annotated[str, typer.Option("--table", "--sheet", help="Table or sheet that holds the proverbs.")] = "",
    text: Annotated[str, typer.Option(help="Column or key of the proverb.")] = "",
    explanation: Annotated[
        list[str] | None, typer.Option(help="Column or key of the explanation; may be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what is in a corpus before anything is built: fields, records, duplicates, damage. Changes nothing.

    Example: `adage inspect proverbs.csv --language am --json`
    """
    options = ReadOptions(
        encoding=encoding, delimiter=delimiter, table=table, text=text, explanation=tuple(explanation or ())
    )
    found = inspect_corpus(file, load(language), options)
    if as_json:
        _print_json(found.as_dict())
    else:
        out.print(found.page())


@app.command()
def build(
    recipe: RecipeArgument = Path(),
    until: StageOption = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="STAGE", help="Compute again from this stage on.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Use only the first rows of the corpus.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show calls, tokens and money by stage; spend nothing.")
    ] = False,
    replay: Annotated[
        bool, typer.Option("--replay", help="Answer from journal and vectors alone, without any model.")
    ] = False,
    recalibrate: Annotated[bool, typer.Option("--recalibrate", help="Measure the filter's thresholds anew.")] = False,
    to: Annotated[Path | None, typer.Option("--out", help="Run folder, instead of the recipe's.")] = None,
    as_json: Json = False,
) -> None:
    """Run the seven stages; go on where an earlier build stopped.

    Exit codes: 0 done, 1 done with failed rows, 2 bad input, 3 stopped by a limit.

    Example: `adage build mine --until filter --limit 50`
    """
    loaded, folder = _recipe(recipe)
    if to:
        loaded = loaded.model_copy(update={"out": to.absolute()})
    if dry_run:
        plans = asyncio.run(plan(loaded, folder, limit=limit))
        if as_json:
            _print_json({"stages": msgspec.to_builtins(plans)})
        else:
            out.print(terminal.plan_table(plans))
            out.print("nothing was called or written")
        return
    reporter = terminal.Reporter(out, quiet=as_json)
    built = asyncio.run(
        run_build(
            loaded,
            folder,
            watcher=reporter,
            until=until,
            start=start,
            limit=limit,
            replay=replay,
            recalibrate=recalibrate,
        )
    )
    if as_json:
        _print_json(built)
    else:
        for line in terminal.usage_lines(built.calls):
            out.print(line)
        out.print(f"benchmark: {built.benchmark}" if built.benchmark else f"run: {built.run}")
    if any(state.counts.failed for state in built.states):
        raise typer.Exit(1)


@app.command()
def status(run: RunArgument = Path(), as_json: Json = False) -> None:
    """Show the funnel of a run: in, kept, dropped (by reason) and failed, per stage.

    Example: `adage status mine`
    """
    states = _run(run).states()
    if not states:
        raise StoreError(f"no stage has finished in {str(run)!r}", hint="build it with: adage build")
    if as_json:
        _print_json({"stages": [{"stage": state.stage, **msgspec.to_builtins(state.counts)} for state in states]})
    else:
        out.print(terminal.funnel(states))


@app.command()
def show(
    run: RunArgument,
    name: Annotated[str | None, typer.Argument(metavar="[ID]", help="Id of a proverb, scenario or item.")] = None,
    prompt: Annotated[
        str | None, typer.Option(metavar="STAGE", help="Show the exact prompt of this stage for ID.")
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="How many items to show without an ID.")] = 5,
    as_json: Json = False,
) -> None:
    """Show sampled items, the whole story of one record, or the exact prompt that a stage sends for it.

    Examples: `adage show mine`, `adage show mine p3f0…`, `adage show mine --prompt generate p3f0…`
    """
    folder = _run(run)
    if prompt is not None:
        recipe, beside = _recipe(run if _is_recipe(run) else folder.recipe())
        messages = asyncio.run(prompt_of(folder, recipe, beside, prompt, name))
        if as_json:
            _print_json({"messages": msgspec.to_builtins(messages)})
        else:
            for message in messages:
                out.print(Text(f"── {message.role} ──", style="bold"))
                out.print(Text(message.content))
    elif name is None:
        items = sample_items(folder, n)
        _print_json({"items": msgspec.to_builtins(items)}) if as_json else terminal.print_items(out, items)
    else:
        found = appearances(folder, name)
        _print_json({"found": msgspec.to_builtins(found)}) if as_json else terminal.print_story(out, found)


@app.command()
def demo(
    to: Annotated[Path, typer.Option("--out", help="Folder to build in.")] = Path("demo"),
    as_json: Json = False,
) -> None:
    """Build small Japanese, Arabic and Amharic benchmarks from the samples, offline, on embedded models.

    Example: `adage demo --out demo`
    """
    results = run_demo(to, terminal.Reporter(out, quiet=as_json))
    if as_json:
        _print_json(results)
    else:
        terminal.print_demo(out, results)


def _is_recipe(path: Path) -> bool:
    return path.is_file() or (path / "recipe.yaml").is_file()


def _recipe(path: Path) -> tuple[Recipe, Path]:
    """A recipe and the folder it lies in."""
    file = path / "recipe.yaml" if path.is_dir() else path
    return load_recipe(path), file.absolute().parent


def _run(path: Path) -> Run:
    """The run that a run folder, a recipe or a recipe's folder means."""
    return Run(load_recipe(path).out) if _is_recipe(path) else Run(path)


def _print_json(content: object) -> None:
    sys.stdout.write(msgspec.json.encode(content, enc_hook=str).decode() + "\n")
