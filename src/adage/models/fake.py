"""Scripted models: they answer by rule, for tests, recipes that need no model, and dry runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from adage.errors import BadReply, BadRequest, EndpointBusy, EndpointUnreachable, ModelError, RecipeError
from adage.models.base import ChatReply, ChatRequest, Message, Sampling
from adage.records import Record, digest

Script = Callable[[ChatRequest], str | ChatReply]
_FAILURES: dict[str, type[ModelError]] = {
    kind.__name__: kind for kind in (BadReply, BadRequest, EndpointBusy, EndpointUnreachable)
}
_GROUP = re.compile(r"\{(\d+)\}")


class Rule(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule of a script: what it answers to, and how."""

    when: str = ""
    """Regular expression searched in the last user message; `.` matches line ends too."""
    reply: Any = None
    """The reply: text, or an object that is sent as JSON. A list is a choice, made by the request's hash. `{0}`
    stands for what matched, `{1}` for its first group."""
    fail: str = ""
    """Name of the error to raise instead, e.g. `EndpointBusy`."""


class ScriptedModel:
    """A chat model that answers by rules (the first that matches) or by a function; counts its `calls`."""

    def __init__(self, name: str, script: Sequence[Rule] | Script, *, seed: int = 0) -> None:
        self.name = name
        self.calls = 0
        self._sampling = Sampling(seed=seed)
        self._family = "scripted"
        if callable(script):
            self._script = script
        else:
            rules = tuple(script)
            self._family = f"scripted:{digest(rules, size=8)}"
            self._script = _by_rules(name, rules)

    @classmethod
    def from_file(cls, name: str, path: Path, *, seed: int = 0) -> ScriptedModel:
        """The model whose rules stand in a YAML file, as a list of {when, reply} or {when, fail}.

        Raises:
            RecipeError: the file is missing or its rules do not fit; the message names the rule.
        """
        try:
            content = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
            rules = msgspec.convert(content, list[Rule])
        except (OSError, UnicodeDecodeError, YAMLError, msgspec.ValidationError) as error:
            raise RecipeError(
                f"the script {str(path)!r} cannot be used: {error}",
                hint="expected a list of rules, each with `when` and either `reply` or `fail`",
            ) from error
        return cls(name, rules, seed=seed)

    def request(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, *, sample: int = 0, attempt: int = 0
    ) -> ChatRequest:
        """The request that the script is shown; its key changes with the rules."""
        return self._sampling.request(self.name, self._family, messages, schema, sample=sample, attempt=attempt)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """What the script answers.

        Raises:
            BadRequest: no rule matches.
            ModelError: the rule says so.
        """
        self.calls += 1
        reply = self._script(request)
        return ChatReply(text=reply) if isinstance(reply, str) else reply

    async def close(self) -> None:
        """Nothing to free."""


def _by_rules(name: str, rules: tuple[Rule, ...]) -> Script:
    """The function that the rules of the script `name` describe.

    Raises:
        RecipeError: a rule has no valid pattern, no answer, or names an unknown error.
    """
    compiled = []
    for number, rule in enumerate(rules, 1):
        place = f"rule {number} of the script {name!r}"
        try:
            compiled.append((re.compile(rule.when, re.DOTALL), rule))
        except re.error as error:
            raise RecipeError(f"{place}: {rule.when!r} is no regular expression: {error}") from error
        if rule.fail and rule.fail not in _FAILURES:
            raise RecipeError(f"{place}: unknown error {rule.fail!r}", hint=f"expected one of {', '.join(_FAILURES)}")
        if bool(rule.fail) == (rule.reply is not None) or rule.reply == []:
            raise RecipeError(f"{place} must have either `reply` or `fail`, and a reply must not be an empty list")

    def script(request: ChatRequest) -> str:
        asked = next((message.content for message in reversed(request.messages) if message.role == "user"), "")
        for pattern, rule in compiled:
            if found := pattern.search(asked):
                if rule.fail:
                    raise _FAILURES[rule.fail](f"the script {name!r} says so (rule {rule.when!r})")
                return _filled(_chosen(rule.reply, request), found)
        raise BadRequest(
            f"no rule of the script {name!r} matches {asked[:200]!r}",
            hint="add a rule with `when: ''` at the end, which matches everything",
        )

    return script


def _chosen(reply: object, request: ChatRequest) -> object:
    return reply[int(request.key(), 16) % len(reply)] if isinstance(reply, list) else reply


def _filled(reply: object, found: re.Match[str]) -> str:
    """The reply as text, with `{n}` replaced by what the n-th group matched."""

    def fill(value: object) -> object:
        if isinstance(value, str):
            return _GROUP.sub(lambda group: _group(found, int(group[1])), value)
        if isinstance(value, dict):
            return {name: fill(entry) for name, entry in value.items()}
        return [fill(entry) for entry in value] if isinstance(value, list) else value

    filled = fill(reply)
    return filled if isinstance(filled, str) else msgspec.json.encode(filled).decode()


def _group(found: re.Match[str], number: int) -> str:
    return (found[number] or "") if number <= len(found.groups()) else f"{{{number}}}"


class ScriptedEmbedder:
    """An encoder whose vectors mean nothing: unit vectors of `dim` numbers drawn with the text's hash as seed."""

    def __init__(self, dim: int = 64) -> None:
        self.dim = dim
        self.id = f"scripted:{dim}"
        self.calls = 0

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (n_texts, dim), rows of unit length; equal texts get equal vectors."""
        self.calls += 1
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            seed = int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=8).digest())
            vectors[row] = np.random.default_rng(seed).standard_normal(self.dim)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    async def close(self) -> None:
        """Nothing to free."""
