"""Read a structured answer out of a reply: pure, tolerant, and honest about what it had to mend."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Generic, Literal, TypeVar

import msgspec
from json_repair import repair_json
from msgspec import inspect

from adage.errors import UnparsableReply
from adage.models.base import ChatReply

T = TypeVar("T")
Status = Literal["ok", "repaired", "refused", "truncated", "invalid"]

_MAX_REPAIR = 100_000
"""Characters above which a broken reply is not mended: no answer asked for here is that long."""
_MAX_STARTS = 32
_THINKING = re.compile(
    r"<(think|thinking|thought|reasoning|analysis)>.*?</\1>"
    r"|\[THINK\].*?\[/THINK\]"
    r"|<\|channel\|>\s*analysis.*?<\|end\|>",
    re.DOTALL | re.IGNORECASE,
)
_OPEN_THINKING = re.compile(
    r"(?:<(?:think|thinking|thought|reasoning|analysis)>|\[THINK\]|<\|channel\|>\s*analysis)", re.IGNORECASE
)
_END_OF_THINKING = re.compile(r".*(?:</(?:think|thinking|thought|reasoning|analysis)>|\[/THINK\])", re.DOTALL)
_CHANNEL = re.compile(r"<\|(?:start|end|return|message|channel)\|>(?:assistant|final)?")
_FENCE = re.compile(r"```[\w-]*[ \t]*\n?(.*?)```", re.DOTALL)
_REFUSAL_WINDOW = 300


class Parsed(msgspec.Struct, Generic[T], frozen=True):
    """An answer and how it was had."""

    value: T
    status: Literal["ok", "repaired"]
    """`ok`: JSON as asked for stood in the reply; `repaired`: it had to be mended."""
    thinking: str = ""
    """Thinking that stood in the text or came apart from it."""


def parse_json(reply: ChatReply, kind: type[T]) -> Parsed[T]:
    """The answer in `reply` as a `kind`.

    In this order: the whole text, fenced blocks, the first balanced object that fits; then the same after mending: keys
    in another case, numbers as text or text as numbers, one level of wrapping too many or too few, broken JSON. A reply
    that was cut off is never completed.

    Raises:
        UnparsableReply: with `status` `refused`, `truncated` or `invalid`; nothing else is ever raised.
    """
    inside, text = split_thinking(reply.text.encode(errors="replace").decode())
    thinking = "\n".join(part for part in (reply.reasoning, inside) if part)
    candidates = list(_candidates(text))
    fault = ""
    for candidate in candidates:
        try:
            return Parsed(msgspec.json.decode(candidate, type=kind), "ok", thinking)
        except msgspec.ValidationError as error:
            fault = fault or str(error)
        except (msgspec.DecodeError, RecursionError):
            continue
    cut_off = reply.finish_reason == "length"
    for found in _loaded(candidates, text, mend=not cut_off):
        for shaped in _shapes(found, kind):
            try:
                return Parsed(msgspec.convert(shaped, kind, strict=False), "repaired", thinking)
            except (msgspec.ValidationError, RecursionError):
                continue
    status = _status(reply, text, has_json=bool(fault))
    raise UnparsableReply(_explained(status, fault, text), reply=reply.text, status=status)


def split_thinking(text: str) -> tuple[str, str]:
    """(thinking, answer): blocks of thinking are taken out; one that never ends leaves no answer.

    >>> split_thinking("<think>Hm.</think>{}")
    ('<think>Hm.</think>', '{}')
    """
    thinking = [found[0] for found in _THINKING.finditer(text)]
    rest = _THINKING.sub("", text)
    if ended := _END_OF_THINKING.match(rest):
        thinking.append(ended[0])
        rest = rest[ended.end() :]
    if opened := _OPEN_THINKING.search(rest):
        thinking.append(rest[opened.start() :])
        rest = rest[: opened.start()]
    return "\n".join(thinking).strip(), _CHANNEL.sub("", rest).strip()


def is_refusal(text: str) -> bool:
    """Whether a reply without an answer opens by saying no, in one of the languages of `refusals.toml`."""
    opening = text[:_REFUSAL_WINDOW].casefold().replace("’", "'")
    return any(pattern.search(opening) for pattern in _refusals())


@cache
def _refusals() -> tuple[re.Pattern[str], ...]:
    content = files("adage.models").joinpath("refusals.toml").read_text(encoding="utf-8")
    return tuple(re.compile(phrase) for phrases in tomllib.loads(content).values() for phrase in phrases)


def _candidates(text: str) -> Iterator[str]:
    """Parts of the text that may be the JSON, the most likely first."""
    yield text
    for fenced in _FENCE.finditer(text):
        yield fenced[1].strip()
    yield from _balanced(text)


def _balanced(text: str) -> Iterator[str]:
    """Outermost balanced {…} and […], from left to right; brackets inside JSON strings do not count."""
    start = 0
    for _ in range(_MAX_STARTS):
        opening = min((at for at in (text.find("{", start), text.find("[", start)) if at >= 0), default=-1)
        if opening < 0:
            return
        end = _closing(text, opening)
        if end < 0:
            start = opening + 1
        else:
            yield text[opening:end]
            start = end


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)


def _closing(text: str, opening: int) -> int:
    """Index after the bracket that closes the one at `opening`, or -1."""
    depth = 0
    for token in _TOKEN.finditer(text, opening):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return -1


def _loaded(candidates: list[str], text: str, *, mend: bool) -> Iterator[Any]:
    """What the candidates hold as JSON, then (`mend`) what can be made of the text as broken JSON."""
    for candidate in candidates:
        try:
            yield msgspec.json.decode(candidate)
        except (msgspec.DecodeError, RecursionError):
            continue
    first = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if mend and first >= 0 and len(text) - first <= _MAX_REPAIR:
        try:
            yield repair_json(text[first:], return_objects=True, skip_json_loads=True)
        except (RecursionError, ValueError):
            return


def _shapes(found: Any, kind: type) -> Iterator[Any]:  # noqa: ANN401 -- JSON of any shape
    """`found` coerced towards `kind`: as it is, with one wrapping less, with one wrapping more."""
    target = inspect.type_info(kind)
    try:
        yield _coerced(found, target)
        for inner in _unwrapped(found):
            yield _coerced(inner, target)
        if isinstance(target, inspect.StructType):
            required = [field for field in target.fields if field.required]
            if len(required) == 1 and not (isinstance(found, dict) and _name(required[0].encode_name) in map(_name, found)):
                yield {required[0].encode_name: _coerced(found, required[0].type)}
    except RecursionError:
        return
