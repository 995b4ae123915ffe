"""Read a structured answer out of a reply: pure, tolerant, and honest about what it had to mend."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Generic, Literal, TypeVar

import msgspec
from json_repair import repair_json
from msgspec import inspect

from adage.errors import UnparsableReply
from adage.models.base import ChatReply

T = TypeVar("T")
Status = Literal["ok", "repaired", "refused", "truncated", "invalid"]

_THOUGHT = r"(?:\w+[:_])?(?:think|thinking|thought|reasoning|reflection|analysis)"
_OPEN = (
    rf"<{_THOUGHT}>|\[THINK\]|◁think▷|<\|START_THINKING\|>|<\|begin_of_thought\|>|<unused94>(?:thought)?"
    r"|<\|channel>thought|<\|channel\|>\s*analysis(?:\s*<\|message\|>)?"
)
_CLOSE = rf"</{_THOUGHT}>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|end_of_thought\|>|<unused95>|<channel\|>"
_MARK = (
    r"<\|start\|>(?:assistant)?|<\|channel\|>\s*final|<\|(?:message|end|return|channel)\|>"
    r"|<\|(?:START|END)_RESPONSE\|>|<\|(?:begin|end)_of_solution\|>"
)
_TAG = re.compile(rf"(?P<open>{_OPEN})|(?P<close>{_CLOSE})|(?P<mark>{_MARK})", re.IGNORECASE)
"""Marks of thinking as the open models write them; `mark` is what remains of a chat template."""
_SIGNS = ("<", "K]", "k]", "◁")
"""One of these stands in every pair of tags; `k]` is in the end of [THINK]."""
_FENCE = re.compile(r"```[\w-]*+[ \t]*+\n?+(.*?)```", re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]]', re.DOTALL)
_MAX_STARTS = 32
_MAX_MENDED = 100_000
_MAX_BRACKETS = 1000
"""Characters and brackets above which broken JSON is not mended: no answer asked for here is so long or deep."""
_REFUSAL_WINDOW = 300


class Parsed(msgspec.Struct, Generic[T], frozen=True):
    """An answer and how it was had."""

    value: T
    status: Literal["ok", "repaired"]
    """`ok`: the JSON that was asked for stood in the reply; `repaired`: it had to be mended."""
    thinking: str = ""
    """Thinking that stood in the text or came apart from it."""


def parse_json(reply: ChatReply, kind: type[T]) -> Parsed[T]:
    """The answer in `reply` as a `kind`.

    Tried in this order: the whole text; without the thinking, the whole text, fenced blocks, each outermost balanced
    object; then the same with mending: keys in another case, numbers for text and text for numbers, one level of
    wrapping too many or too few, broken JSON. What was cut off is never completed.

    Raises:
        UnparsableReply: with `status` `refused`, `truncated` or `invalid`; nothing else is ever raised.
    """
    whole = reply.text.encode(errors="replace").decode()
    try:
        return Parsed(msgspec.json.decode(whole, type=kind), "ok", reply.reasoning)
    except (msgspec.DecodeError, RecursionError):
        inside, text = split_thinking(whole)
    thinking = "\n".join(part for part in (reply.reasoning, inside) if part)
    misfit = ""
    for candidate in _candidates(text):
        try:
            return Parsed(msgspec.json.decode(candidate, type=kind), "ok", thinking)
        except msgspec.ValidationError as error:
            misfit = misfit or str(error)
        except (msgspec.DecodeError, RecursionError):
            continue
    for found in _loaded(_candidates(text), "" if reply.finish_reason == "length" else text):
        for shaped in _shapes(found, kind):
            try:
                return Parsed(msgspec.convert(shaped, kind, strict=False), "repaired", thinking)
            except (msgspec.ValidationError, RecursionError) as error:
                misfit = misfit or str(error)
    status = _failure(reply, text, misfit)
    raise UnparsableReply(_complaint(status, misfit), reply=reply.text, status=status)


def split_thinking(text: str) -> tuple[str, str]:
    """(thinking, answer) of a text: thinking that never ends leaves no answer; one without a beginning started first.

    A tag inside JSON that is the whole text, or in the one fence that is, belongs to the answer.

    >>> split_thinking("<think>Hm.</think>{}")
    ('Hm.', '{}')
    """
    if not any(sign in text for sign in _SIGNS) or _is_json(text):
        return "", text.strip()
    thinking: list[str] = []
    answer: list[str] = []
    inside = False
    at = 0
    for tag in _TAG.finditer(text):
        (thinking if inside else answer).append(text[at : tag.start()])
        at = tag.end()
        if tag["close"] and not inside:
            thinking += answer
            answer.clear()
        inside = bool(tag["open"])
    (thinking if inside else answer).append(text[at:])
    return "".join(thinking).strip(), "".join(answer).strip()


def is_refusal(text: str) -> bool:
    """Whether a reply without an answer opens by saying no, in one of the languages of `refusals.toml`."""
    opening = text[:_REFUSAL_WINDOW].lower().replace("’", "'")
    return any(pattern.search(opening) for pattern in _refusals())


@cache
def _refusals() -> tuple[re.Pattern[str], ...]:
    content = files("adage.models").joinpath("refusals.toml").read_text(encoding="utf-8")
    return tuple(re.compile(phrase) for phrases in tomllib.loads(content).values() for phrase in phrases)


def _failure(reply: ChatReply, text: str, misfit: str) -> Status:
    """Why a reply holds no answer."""
    if reply.finish_reason == "content_filter":
        return "refused"
    if reply.finish_reason == "length":
        return "truncated"
    if not misfit and is_refusal(text):
        return "refused"
    opening, closing = _first(text), _last(text)
    only_thinking = not text and bool(reply.text)
    return "truncated" if only_thinking or (opening >= 0 and closing < opening) else "invalid"


def _complaint(status: Status, misfit: str) -> str:
    if status == "refused":
        return "the model refused to answer"
    if status == "truncated":
        return "the reply ends before the answer does"
    return f"the JSON in the reply does not fit: {misfit}" if misfit else "the reply holds no JSON"


def _is_json(text: str) -> bool:
    """Whether a text, or the fenced block that it consists of, is a JSON object or list."""
    fenced = _FENCE.fullmatch(text.strip())
    try:
        msgspec.json.decode(fenced[1] if fenced else text, type=dict | list)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True


def _candidates(text: str) -> Iterator[str]:
    """Parts of the text that may be the JSON, the likeliest first."""
    yield text
    for fenced in _FENCE.finditer(text):
        yield fenced[1].strip()
    yield from _balanced(text)


def _balanced(text: str) -> Iterator[str]:
    """Outermost balanced {…} from left to right; brackets inside JSON strings do not count.

    A list amid prose is no candidate: `[1]` is rather a citation.
    """
    at = 0
    for _ in range(_MAX_STARTS):
        opening = text.find("{", at)
        if opening < 0:
            return
        end = _end_of(text, opening)
        if end < 0:
            at = opening + 1
        else:
            yield text[opening:end]
            at = end


def _end_of(text: str, opening: int) -> int:
    """Index after the bracket that closes the one at `opening`, or -1."""
    depth = 0
    for token in _TOKEN.finditer(text, opening):
        if token[0] in ("{", "["):
            depth += 1
        elif token[0] in ("}", "]"):
            depth -= 1
            if depth == 0:
                return token.end()
    return -1


def _first(text: str) -> int:
    """Index of the bracket that opens the answer, or -1."""
    return 0 if text.startswith("[") else text.find("{")


def _last(text: str) -> int:
    """Index of the last closing bracket, or -1."""
    return max(text.rfind("}"), text.rfind("]"))


def _loaded(candidates: Iterator[str], broken: str) -> Iterator[object]:
    """What the candidates hold as JSON, then what can be made of `broken` up to its last closing bracket."""
    for candidate in candidates:
        try:
            yield msgspec.json.decode(candidate)
        except (msgspec.DecodeError, RecursionError):
            continue
    opening, closing = _first(broken), _last(broken)
    part = broken[opening : closing + 1] if 0 <= opening < closing else ""
    if part and len(part) <= _MAX_MENDED and part.count("{") + part.count("[") <= _MAX_BRACKETS:
        try:
            mended = repair_json(part, return_objects=True, skip_json_loads=True)
            # through JSON again: half characters that the text had escaped must not come out as such
            yield msgspec.json.decode(json.dumps(mended, ensure_ascii=False).encode(errors="replace"))
        except (RecursionError, ValueError, msgspec.DecodeError):
            return


def _shapes(found: object, kind: type[T]) -> Iterator[object]:
    """`found` made more like a `kind`: as it stands, with one wrapping less, with one wrapping more."""
    target = inspect.type_info(kind)
    try:
        yield _coerced(found, target)
        if isinstance(found, dict | list) and len(found) == 1:
            yield _coerced(next(iter(found.values() if isinstance(found, dict) else found)), target)
        if isinstance(target, inspect.StructType) and isinstance(found, list):
            required = [field for field in target.fields if field.required]
            if len(required) == 1:
                yield {required[0].encode_name: _coerced(found, required[0].type)}
    except RecursionError:
        return


def _coerced(value: object, target: inspect.Type) -> object:
    """`value` with keys spelt as declared, numbers as text and lone values as lists, where `target` wants them so."""
    if isinstance(target, inspect.StructType) and isinstance(value, dict):
        fields = {_plain(field.encode_name): field for field in target.fields}
        known = [(fields[_plain(key)], entry) for key, entry in value.items() if _plain(key) in fields]
        return {
            field.encode_name: _coerced(entry, field.type)
            for field, entry in known
            if entry is not None or field.required
        }
    if isinstance(target, inspect.ListType | inspect.VarTupleType | inspect.SetType):
        entries = value if isinstance(value, list) else [value]
        return [_coerced(entry, target.item_type) for entry in entries]
    if isinstance(target, inspect.StrType):
        if isinstance(value, dict | list) and len(value) == 1:
            value = next(iter(value.values() if isinstance(value, dict) else value))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
    return value


def _plain(key: object) -> str:
    """A key without its case and its joints: `Theme_Label` and `theme label` are the same."""
    return re.sub(r"[\W_]+", "", str(key)).lower()
