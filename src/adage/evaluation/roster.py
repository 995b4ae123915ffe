"""The roster: one YAML file that lists the models of an evaluation, and what `--model` may say instead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from adage.errors import RecipeError
from adage.evaluation.result import slug
from adage.models.local import PACKAGED
from adage.recipe import Endpoint, Local, Part, Share, plain, read_tree, validated
from adage.records import Role

ROSTER_VERSION = 1


class Entry(Part):
    """What is said of every model."""

    name: str = Field(min_length=1)
    """Name in tables, figures and the results folder."""
    family: str = ""
    """Models of one family differ in size; plots join them by a line."""
    parameters: float | None = Field(None, gt=0)
    """Billions of parameters."""
    thinking: bool = False
    """Whether it thinks before it answers."""
    template: Literal["auto", "none"] = "auto"
    """`auto`: the chat template that the model brings, if any (an endpoint is taken to have one); `none`: the model
    completes plain text, as base models do."""


class EndpointEntry(Endpoint, Entry):
    """A model behind an OpenAI-compatible endpoint."""

    kind: Literal["endpoint"] = "endpoint"
    top_logprobs: int = Field(20, ge=1)
    """How many of the likeliest tokens the endpoint is asked for (`letter`); some allow fewer."""


class LocalEntry(Local, Entry):
    """A GGUF model inside the process."""


class TransformersEntry(Entry):
    """A model of the `transformers` library (extra `[transformers]`), from a folder or from what is downloaded."""

    kind: Literal["transformers"]
    model: str
    """Folder, or name on the hub of a model that has been downloaded."""
    device: str = "cpu"
    """Where it runs, as torch names it, e.g. `cuda:0`."""
    max_tokens: int = Field(256, ge=1)


class ScriptedEntry(Entry):
    """No model, but a script that answers with known skill and biases: it proves tables and figures."""

    kind: Literal["scripted"]
    skill: Share | dict[str, Share]
    """Share of the questions that it understands, or that share by language; `default` stands for other languages."""
    misreading: Share = 0.0
    """Share of the others that it takes for a wrong option, the same in every order; it guesses at the rest."""
    attraction: dict[Role, Annotated[float, Field(ge=0)]] = {}
    """Weights of the roles among misreadings; 1 where it is not named."""
    position: tuple[float, ...] = ()
    """What stands at each place is favoured by so much (log-odds); 0 beyond the end."""
    prior: float = Field(0.0, ge=0)
    """How much it favours some texts over others whatever the question (standard deviation in log-odds)."""
    unclear: Share = 0.0
    """Share of the replies that name two options."""
    refusing: Share = 0.0
    """Share of the replies that decline."""


ModelEntry = Annotated[EndpointEntry | LocalEntry | TransformersEntry | ScriptedEntry, Field(discriminator="kind")]


class Roster(Part):
    """A whole roster; paths are absolute once it is loaded."""

    version: Literal[1]
    defaults: dict[str, Any] = {}
    """Keys that every model of the same kind takes over unless it says otherwise, e.g. `base_url`."""
    models: tuple[ModelEntry, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        check_names(self.models)
        return self


def load_roster(file: Path) -> Roster:
    """Read and validate a roster file.

    Raises:
        RecipeError: with every fault, its path in the roster and its line.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(
            f"the roster {str(file)!r} cannot be read: {getattr(error, 'strerror', None) or error}",
            hint="rosters to start from lie in recipes/rosters",
        ) from error
    tree = read_tree(text, file, "roster", ROSTER_VERSION)
    content = plain(tree)
    if isinstance(content, dict) and isinstance(content.get("models"), list):
        defaults = content.get("defaults") or {}
        content = {**content, "models": [_completed(entry, defaults) for entry in content["models"]]}
    roster = validated(Roster, content, tree, file, "roster")
    return roster.model_copy(update={"models": tuple(_absolute(entry, file.parent) for entry in roster.models)})


def pick(names: Sequence[str], roster: Roster | None) -> list[ModelEntry]:
    """The models that `--model` names, in its order; all of the roster where it names none.

    Raises:
        RecipeError: a name is neither in the roster nor a model by itself, or two models share one.
    """
    if not names:
        if roster is None:
            raise RecipeError("no model is named", hint=f"name one with --model: {_EXPECTED}")
        return list(roster.models)
    listed = {entry.name: entry for entry in roster.models} if roster else {}
    entries = [listed[name] if name in listed else _by_itself(name, listed) for name in dict.fromkeys(names)]
    try:
        check_names(entries)
    except ValueError as error:
        raise RecipeError(str(error)) from None
    return entries


def check_names(entries: Sequence[Entry]) -> None:
    """Raise `ValueError` where two models would share a folder of results."""
    folders: dict[str, str] = {}
    for entry in entries:
        folder = slug(entry.name)
        if folder in folders:
            raise ValueError(f"two models would share one folder of results: {folders[folder]!r} and {entry.name!r}")
        folders[folder] = entry.name


_EXPECTED = f"{', '.join(PACKAGED)}, the path of a GGUF file, BASE_URL#MODEL, or a name in --roster FILE"


def _by_itself(name: str, listed: dict[str, ModelEntry]) -> ModelEntry:
    address, mark, model = name.partition("#")
    if mark and address.startswith(("http://", "https://")) and model:
        return EndpointEntry(name=model, base_url=address, model=model)
    if packaged := PACKAGED.get(name):
        return LocalEntry(kind="local", name=name, model=name, family=packaged.family, parameters=packaged.parameters)
    if name.endswith(".gguf"):
        return LocalEntry(kind="local", name=Path(name).stem, model=name)
    known = f"; the roster has {', '.join(listed)}" if listed else ""
    raise RecipeError(f"there is no model {name!r}", hint=f"expected {_EXPECTED}{known}")


def _completed(entry: object, defaults: dict[str, Any]) -> object:
    """An entry with the roster's defaults, if they are for its kind."""
    if not isinstance(entry, dict):
        return entry
    usual = defaults.get("kind", "endpoint")
    kind = entry.get("kind", usual)
    return {**(defaults if kind == usual else {}), **entry, "kind": kind}


def _absolute(entry: ModelEntry, base: Path) -> ModelEntry:
    """The entry with a path of weights made absolute against the roster's folder."""
    if isinstance(entry, LocalEntry) and entry.model.endswith(".gguf"):
        return entry.model_copy(update={"model": str(base / entry.model)})
    if isinstance(entry, TransformersEntry) and (base / entry.model).is_dir():
        return entry.model_copy(update={"model": str(base / entry.model)})
    return entry
