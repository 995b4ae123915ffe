"""The generated pages docs/recipe.md and docs/cli.md: written from the code, and fresh.

`ADAGE_UPDATE_DOCS=1 pytest tests/docs` writes them anew.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from typer.models import ArgumentInfo, OptionInfo

from adage import recipe as recipe_module
from adage.cli import app
from adage.recipe import Recipe

DOCS = Path(__file__).parents[2] / "docs"
NOTICE = "<!-- Written by tests/docs/test_reference.py; write it anew with: ADAGE_UPDATE_DOCS=1 pytest tests/docs -->"

# What a key means where its field in adage/recipe.py has no docstring, because its name says it in the code.
MEANINGS = {
    "Recipe.version": "Version of the recipe's format.",
    "Recipe.name": "Name of the benchmark: letters, digits, `.`, `_` and `-`.",
    "Recipe.language": "BCP 47 code of the proverbs' language; it picks the language pack.",
    "Recipe.unit": "What the material is.",
    "Recipe.seed": "Seed of everything that is drawn by lot.",
    "Recipe.out": "Run folder.",
    "Recipe.corpus": "The corpus.",
    "Recipe.models": "Models by a name of your choice.",
    "Recipe.roles": "Which model plays which role.",
    "Recipe.encoder": "The sentence encoder.",
    "Recipe.acquire": "Stage 1.",
    "Recipe.cluster": "Stage 2.",
    "Recipe.generate": "Stage 3.",
    "Recipe.filter": "Stage 4.",
    "Recipe.audit": "Verdicts of native speakers.",
    "Recipe.distract": "Stage 5.",
    "Recipe.validate_": "Stage 6.",
    "Recipe.curate": "Stage 7.",
    "Recipe.max_failed": "Rows that may fail in a stage before the build stops after it.",
    "Recipe.budget": "Limits of one build.",
    "Provenance.title": "Title of the corpus.",
    "Provenance.url": "Where it is found.",
    "Provenance.licence": "SPDX identifier, or `unknown`.",
    "Provenance.attribution": "Whom to name.",
    "Provenance.variety": "BCP 47 tag of the variety, where it is narrower than the language.",
    "Provenance.consent": "How the community agreed, in its own words.",
    "Provenance.redistribute": "Whether texts may be released; otherwise a release holds ids and hashes only.",
    "Corpus.file": "The file.",
    "Corpus.encoding": "Encoding of a text file.",
    "Corpus.delimiter": "Character between the cells.",
    "Corpus.explanation": "Columns of native explanations; the first that is filled counts.",
    "Corpus.gloss": "Column of a translation or note in another language; shown to no model.",
    "Corpus.reading": "Column of a pronunciation.",
    "Corpus.group": "Column whose equal entries mark proverbs that mean the same.",
    "Corpus.variants": "Column of other wordings.",
    "Corpus.kind": "Column that tells proverbs from other material.",
    "Corpus.language": "Column that says in which language each row is.",
    "Corpus.provenance": "Rights and origin.",
    "Price.input_usd": "Prompt tokens.",
    "Price.output_usd": "Reply tokens.",
    "*.kind": "Which kind of entry this is.",
    "Pool.family": "As for an endpoint.",
    "Endpoint.model": "Id of the model, as the endpoint knows it.",
    "*.temperature": "Sampling temperature; 0 takes the likeliest token.",
    "Endpoint.top_p": "Nucleus sampling.",
    "*.max_tokens": "Most tokens of a reply.",
    "Endpoint.seed": "Seed sent to the server; null leaves it to the server.",
    "Endpoint.structured": "How JSON is asked for; where the server refuses, the weaker ways are tried.",
    "Endpoint.concurrency": "Most requests at once; fewer while the server is overloaded.",
    "Endpoint.timeout_s": "Seconds that one request may take.",
    "Endpoint.retries": "Retries of one request that failed for a passing reason.",
    "Endpoint.price": "Price, for plans.",
    "*.family": "Model family.",
    "Local.context": "Tokens of prompt and reply together.",
    "Local.threads": "Processor threads; null takes all.",
    "Scripted.script": "YAML file of rules.",
    "Roles.labeller": "Gives theme labels.",
    "Roles.namer": "Names the clusters.",
    "Roles.generator": "Writes scenarios.",
    "Roles.judges": "Judge the items, in this order.",
    "*.prefix": "Put before every text, as the encoder was trained.",
    "EndpointEncoder.base_url": "Address up to and including `/v1`.",
    "EndpointEncoder.model": "Id of the encoder.",
    "EndpointEncoder.key_env": "Name of the environment variable that holds the key.",
    "EndpointEncoder.batch": "Texts in a request.",
    "ScriptedEncoder.dim": "Length of the vectors.",
    "Filter.min_length": "Least length of a scenario, in the pack's unit; null takes the pack's.",
    "Filter.min_sentences": "Least number of sentences; null takes the pack's.",
    "Filter.max_sentences": "Greatest number of sentences; null takes the pack's.",
    "Filter.keyword": "What a content word of the proverb, or the word for the unit, does to a scenario.",
    "Audit.sample": "Rows that must carry a verdict under `require: sample`.",
    "Distract.same_cluster": "Wrong options from the right one's cluster.",
    "Distract.near_match": "Wrong options from other clusters that resemble the scenario.",
    "Distract.random": "Wrong options from other clusters, drawn by lot.",
    "Shares.train": "Share of the meaning groups in train.",
    "Shares.dev": "Share in dev.",
    "Shares.test": "Share in test.",
    "Curate.shares": "Sizes of the splits.",
    "Budget.calls": "Model calls.",
    "Budget.tokens": "Prompt and reply tokens.",
    "Budget.usd": "US dollars, by the models' prices.",
}


# --- docs/recipe.md ---------------------------------------------------------------------------------------------------


def recipe_page() -> str:
    """Every table and key of the recipe, from the pydantic models and their docstrings."""
    lines = [
        "# The recipe: every key",
        NOTICE,
        "",
        "A recipe is one YAML file. Unknown keys are refused, and all faults are reported at once with path and line.",
        "Relative paths start at the recipe's folder. What is left out has the default; *required* has none.",
        "Commented examples: [recipes/](../recipes/). `adage init` writes a recipe to start from.",
    ]
    for place, table in tables(Recipe, ""):
        lines += ["", f"## {place or 'Top level'}", "", (inspect.getdoc(table) or "").strip(), ""]
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        for name, field in table.model_fields.items():
            cells = (f"`{field.alias or name}`", kind_of(field), default_of(field), meaning_of(table, name))
            lines.append("| " + " | ".join(cell.replace("\n", " ").replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def tables(table: type[BaseModel], place: str) -> Iterator[tuple[str, type[BaseModel]]]:
    """(place in the recipe, model) of a table and all tables in it, in order."""
    yield place, table
    for name, field in table.model_fields.items():
        here = f"{place}.{field.alias or name}".strip(".")
        if typing.get_origin(field.annotation) is dict:
            here += ".NAME"
        inner = list(models_in(field.annotation))
        for model in inner:
            kind = model.model_fields.get("kind")
            which = f", kind: {typing.get_args(kind.annotation)[0]}" if kind and len(inner) > 1 else ""
            yield from tables(model, here + which)


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """The tables that an annotation can hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from models_in(inner)


def kind_of(field: FieldInfo) -> str:
    """A field's type in plain words, with its bounds."""
    bounds = [
        f"{word} {getattr(entry, name):g}"
        for entry in field.metadata
        for name, word in (("ge", "at least"), ("gt", "above"), ("le", "at most"), ("lt", "below"))
        if getattr(entry, name, None) is not None
    ]
    return ", ".join([plain(field.annotation), *bounds])


def plain(annotation: object) -> str:
    """An annotation in plain words."""
    names: dict[object, str] = {
        str: "text",
        int: "whole number",
        float: "number",
        bool: "true or false",
        Path: "path",
        Any: "anything",
    }
    if annotation in names:
        return names[annotation]
    if annotation is type(None):
        return "null"
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in inner)
    if origin in {typing.Union, types.UnionType}:
        return " or ".join(dict.fromkeys(plain(entry) for entry in inner))
    if origin is typing.Annotated:
        return plain(inner[0])
    if origin is tuple:
        return f"one or a list: {plain(inner[0])}" if inner[-1] is Ellipsis else f"[{', '.join(map(plain, inner))}]"
    return "mapping" if origin is dict else "table"


def default_of(field: FieldInfo) -> str:
    """A field's default as it would stand in YAML."""
    if field.default is PydanticUndefined:
        return "*required*"
    if isinstance(field.default, BaseModel):
        return "its defaults"
    value = list(field.default) if isinstance(field.default, tuple) else field.default
    return f"`{json.dumps(value, default=str, ensure_ascii=False)}`"


def meaning_of(table: type[BaseModel], name: str) -> str:
    """A field's docstring, else what stands in `MEANINGS`."""
    return (
        docstrings().get((table.__name__, name))
        or MEANINGS.get(f"{table.__name__}.{name}")
        or MEANINGS.get(f"*.{name}", "")
    )


def docstrings() -> dict[tuple[str, str], str]:
    """(class, field) → the string under the field in the source."""
    found = {}
    for table in ast.walk(ast.parse(inspect.getsource(recipe_module))):
        if not isinstance(table, ast.ClassDef):
            continue
        for statement, after in zip(table.body, table.body[1:], strict=False):
            if isinstance(statement, ast.AnnAssign) and isinstance(after, ast.Expr):
                field, text = statement.target, after.value
                if isinstance(field, ast.Name) and isinstance(text, ast.Constant):
                    found[table.name, field.id] = inspect.cleandoc(str(text.value))
    return found


# --- docs/cli.md ------------------------------------------------------------------------------------------------------


def cli_page() -> str:
    """Every command with its arguments and options, from the typer app."""
    lines = ["# The command line", NOTICE, "", str(app.info.help), ""]
    lines += ["`python -m adage` is the same command; `adage --version` prints its version.", ""]
    lines += ["`--json` prints one JSON object and nothing else. Errors go to standard error.", ""]
    lines += ["Exit codes: 0 done, 1 done with failed rows, 2 bad input, 3 stopped by a limit."]
    commands = [("", command) for command in app.registered_commands]
    for group in app.registered_groups:
        assert group.typer_instance is not None
        commands += [(f"{group.name} ", command) for command in group.typer_instance.registered_commands]
    for prefix, command in commands:
        assert command.callback is not None
        name = prefix + (command.name or command.callback.__name__)
        parameters = list(parameters_of(command.callback))
        usage = " ".join(["adage", name, *(p.usage for p in parameters if p.usage), "[OPTIONS]"])
        lines += ["", f"## {name}", "", f"`{usage}`", "", inspect.getdoc(command.callback) or "", ""]
        lines += ["| argument or option | default | meaning |", "|---|---|---|"]
        lines += [f"| {p.shown} | {p.default} | {p.help} |" for p in parameters]
    return "\n".join(lines) + "\n"


class Parameter(NamedTuple):
    """An argument or option, as the page shows it."""

    shown: str
    usage: str
    default: str
    help: str


def parameters_of(command: Any) -> Iterator[Parameter]:
    """The parameters of a command, from its signature."""
    hints = typing.get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        hint = hints[name]
        if typing.get_origin(hint) is not typing.Annotated:
            hint = typing.get_args(hint)[0]
        bare, info = typing.get_args(hint)[:2]
        required = parameter.default is inspect.Parameter.empty
        default = (
            "*required*" if required else "" if parameter.default in {None, "", False} else f"`{parameter.default}`"
        )
        if isinstance(info, ArgumentInfo):
            metavar = (info.metavar or name.upper()).strip("[]")
            usage = metavar if required else f"[{metavar}]"
            yield Parameter(f"`{metavar}`", usage, default, str(info.help))
        else:
            assert isinstance(info, OptionInfo)
            # Typer takes the first name of an option for its default, where that stands in the signature.
            declared = [name for name in (info.default, *(info.param_decls or ())) if isinstance(name, str)]
            names = declared or [f"--{name.replace('_', '-')}"]
            value = "" if bare is bool else f" {info.metavar or name.upper()}"
            usage = f"{names[0]}{value}" if required else ""
            yield Parameter(", ".join(f"`{n}{value}`" for n in names), usage, default, str(info.help))


@pytest.mark.parametrize(("name", "page"), [("recipe.md", recipe_page), ("cli.md", cli_page)])
def test_generated_pages_are_fresh(name: str, page: Callable[[], str]):
    """The reference pages say what the code says; ADAGE_UPDATE_DOCS=1 writes them anew."""
    if os.environ.get("ADAGE_UPDATE_DOCS"):
        (DOCS / name).write_text(page(), "utf-8")
    assert (DOCS / name).read_text("utf-8") == page(), f"docs/{name} is stale: ADAGE_UPDATE_DOCS=1 pytest tests/docs"


def test_every_key_has_a_meaning():
    """No key of the recipe is left unexplained."""
    keys = {(table, name) for _, table in tables(Recipe, "") for name in table.model_fields}
    assert [f"{table.__name__}.{name}" for table, name in keys if not meaning_of(table, name)] == []
