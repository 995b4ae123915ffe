"""Models as a roster describes them, opened for an evaluation; nothing is loaded or connected before it is used."""

from __future__ import annotations

from collections.abc import Sequence

from adage.evaluation.ask import Candidate
from adage.evaluation.result import Benchmark, Subject
from adage.evaluation.roster import EndpointEntry, LocalEntry, ModelEntry, ScriptedEntry
from adage.evaluation.simulated import SimulatedModel
from adage.models.chat import EndpointModel
from adage.models.endpoint import require_keys
from adage.models.hf import TransformersModel
from adage.models.limits import Limits
from adage.models.local import LocalModel
from adage.models.remote import EndpointScorer
from adage.models.score import Scorer, ScoringChat
from adage.store.journal import Journal
from adage.store.meter import FREE, Meter
from adage.store.recorded import RecordedChat

_AT_ONCE = {"local": 2, "transformers": 2, "scripted": 256}
"""Requests in flight at a model inside the process: one runs, the next one is made ready; a script waits for nothing
but the disk."""


def open_candidate(
    entry: ModelEntry,
    journal: Journal,
    meter: Meter,
    benchmarks: Sequence[Benchmark],
    *,
    replay: bool = False,
) -> Candidate:
    """The model that an entry of a roster describes; a scripted one gets `benchmarks` as its key.

    Raises:
        MissingKey: an environment variable that should hold a key is not set.
        MissingExtra: a package is not installed.
        RecipeError: there is no such file of weights.
    """
    scorer = _open(entry, benchmarks, check=not replay)
    request = scorer.request((), None)
    subject = Subject(
        name=entry.name,
        identity=request.model if request.family in {"local", "transformers"} else f"{request.family}#{request.model}",
        family=entry.family,
        parameters=entry.parameters,
        thinking=entry.thinking,
    )
    price = entry.price if isinstance(entry, EndpointEntry) else FREE
    return Candidate(
        subject=subject,
        scorer=scorer,
        chat=RecordedChat(ScoringChat(scorer), journal, replay=replay, meter=meter, price=price),
        concurrency=entry.concurrency if isinstance(entry, EndpointEntry) else _AT_ONCE[entry.kind],
        template=entry.template == "auto",
        notes=("scripted: no model was asked",) if isinstance(entry, ScriptedEntry) else (),
    )


def check_keys(entries: Sequence[ModelEntry]) -> None:
    """Raise `MissingKey`, before anything is asked, for every key variable that is named and not set."""
    named = [(entry.key_env, entry.name) for entry in entries if isinstance(entry, EndpointEntry) and entry.key_env]
    require_keys(named, when="first", file="a roster")


def _open(entry: ModelEntry, benchmarks: Sequence[Benchmark], *, check: bool) -> Scorer:
    if isinstance(entry, EndpointEntry):
        return EndpointScorer(_endpoint(entry), template=entry.template == "auto", top_logprobs=entry.top_logprobs)
    if isinstance(entry, ScriptedEntry):
        return SimulatedModel(entry, benchmarks)
    model: LocalModel | TransformersModel
    if isinstance(entry, LocalEntry):
        model = LocalModel(
            entry.name,
            model=entry.model,
            context=entry.context,
            threads=entry.threads,
            slots=entry.slots,
            temperature=entry.temperature,
            max_tokens=entry.max_tokens,
        )
    else:
        model = TransformersModel(entry.name, model=entry.model, device=entry.device, max_tokens=entry.max_tokens)
    if check:
        model.check()
    return model


def _endpoint(entry: EndpointEntry) -> EndpointModel:
    return EndpointModel(
        entry.name,
        base_url=entry.base_url,
        model=entry.model,
        key_env=entry.key_env,
        temperature=entry.temperature,
        top_p=entry.top_p,
        max_tokens=entry.max_tokens,
        seed=entry.seed,
        extra=entry.extra,
        concurrency=entry.concurrency,
        timeout_s=entry.timeout_s,
        connect_timeout_s=entry.connect_timeout_s,
        read_timeout_s=entry.read_timeout_s,
        retries=entry.retries,
        limits=Limits(
            entry.concurrency,
            requests_per_minute=entry.requests_per_minute,
            tokens_per_minute=entry.tokens_per_minute,
        ),
    )
