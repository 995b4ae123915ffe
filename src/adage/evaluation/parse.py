"""Read the chosen option out of a free-text reply: a wrong letter is never guessed, an unclear reply is `unparsed`.

The reply is cut into tokens of one letter each (`adage.evaluation.tokens`), so that what counts as an answer is a
handful of short patterns over that string; the words of the languages stay in `answers.toml`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from adage.evaluation.tokens import Lexicon, Tokens, fold, letter, lexicon_of, tokenise, with_texts
from adage.language import Language, load
from adage.models.parse import is_refusal, split_thinking
from adage.text.unicode import key

Status = Literal["answered", "unparsed", "refused", "truncated"]


class Parsed(msgspec.Struct, frozen=True):
    """What a reply chose."""

    status: Status
    """`answered`; `refused`: it declines to choose; `truncated`: it ends before the answer; else `unparsed`."""
    index: int | None = None
    """Place of the chosen option, from 0; None unless answered."""


_WINDOW = 32
"""Tokens of a sentence that are looked at before its cue; JSON objects of a reply that are looked at."""
_STATED = re.compile(
    r"C(?:w{0,6}(?=[F:]))?[CF:]{0,9}"
    r"(?:[F:]{0,9}|\n{1,2}[F:]{1,9}|\n{1,2}(?!D[.:]{0,2}w)|[NM]?F{0,3}XF{0,3}[pM]?[FO,:]{0,3})"
    r"(?P<choice>[LBDT])"
)
"""A cue, then an option: "the answer is B", also on a line below (not "1. Read …"), also after "not A but"."""
_REVERSED = re.compile(r"(?<!O)(?<![LBDT],)(?P<choice>[LBDT])(?:[:.,]?T)?[F:]{0,9}C(?=[FC]{0,9}(?:[.,\n]|$))")
"""An option, then a cue: "B is the answer"."""
_PURE = re.compile(r"[F:,.]*(?P<choice>[LBDT])[:.,]*T?[F:.,]*")
"""A line that is an option: "B. Haste makes waste", "So it is B."."""
_LED = re.compile(r"(?:^|[.?\n])[F,:]*$")
"""What stands before a cue that opens its sentence."""
_ENDED = re.compile(r"(?:[:.,]{0,3}T)?[FC]{0,9}(?=[.,:\n]|$)")
"""What stands after an option that closes its clause."""
_RIVAL = re.compile(r"[O,:F]{0,9}[LBDT]|[.:,]{0,3}T|[.:,\n]{0,4}M,F{0,3}[LBDT]|[.:,]{0,3}O[F,:]{0,3}[LBDT]")
"""What takes a choice back if it is another option: "or C", ". Patience is a virtue", "… no, C"."""
_MENTION = re.compile(
    r"(?:(?<=[FC])D|(?<=[FCp:])L|[LD](?=[:.,]{0,3}T)|[BT])(?=[:.,]{0,3}T|[F:]{0,3}(?:[.,\n]|$))|(?<![^.\n])L(?=[:.])"
)
"""An option singled out: "… it is B.", "(B).", a quoted text at the end of a clause, "B. The story …"."""
_CUT_OFF = re.compile(r"C[F:]+$")
"""A cue with nothing after it."""


def parse_answer(reply: str, options: Sequence[str], language: Language | str) -> Parsed:
    r"""The option that a reply chooses. Never raises for any text; linear in the reply's length.

    Thinking is left out. Then the first of these that the reply has decides: nothing but one option's text; the last
    line or sentence that states an answer ("Answer: B", JSON, `\boxed{B}`); lines that are an option and nothing else,
    a repeated list of all options left out; answers stated amid a sentence; a refusal; options singled out in prose.
    Except for the last statement, all must agree.

    Args:
        reply: What the model wrote, unedited.
        options: Texts of the options in the order shown.
        language: Pack or code of the language of the options; replies may be worded in any language.

    >>> parse_answer("**Answer:** (B)", ["Patience is a virtue", "Haste makes waste"], "en")
    Parsed(status='answered', index=1)
    """
    pack = load(language) if isinstance(language, str) else language
    thinking, answer = split_thinking(reply)
    cut_off = split_thinking(f"{reply}\0")[0].endswith("\0")
    if cut_off or not answer:
        return Parsed("truncated" if cut_off or thinking else "unparsed")
    lexicon = lexicon_of(pack)
    echoed = _echoed(answer, options, pack, lexicon)
    if echoed is not None:
        return _parsed(echoed)
    text = fold(_json_as_lines(answer, pack, lexicon), pack)
    tokens = tokenise(with_texts(text, options, pack, lexicon), len(options), lexicon)
    for evidence in (_last_stated(tokens), _pure_lines(tokens, len(options)), _stated_inside(tokens)):
        if evidence is not None:
            return _parsed(evidence)
    if lexicon.refusal.search(text) or is_refusal(answer):
        return Parsed("refused")
    mentioned = _mentioned(tokens)
    if mentioned is None and (_CUT_OFF.search(tokens.codes) or answer.count("{") > answer.count("}")):
        return Parsed("truncated")
    return _parsed(-1 if mentioned is None else mentioned)


def _parsed(place: int) -> Parsed:
    return Parsed("answered", place) if place >= 0 else Parsed("unparsed")


def _one(places: Sequence[int]) -> int | None:
    """The place that all evidence agrees on, -1 where it does not, None where there is no evidence."""
    return None if not places else places[0] if len(set(places)) == 1 else -1


def _last_stated(tokens: Tokens) -> int | None:
    """What the last sentence that is a statement of the answer, from its start to its end, chooses."""
    return next((place for _, place, explicit in reversed(_statements(tokens)) if explicit), None)


def _stated_inside(tokens: Tokens) -> int | None:
    return _one([place for _, place, _ in _statements(tokens)])


def _statements(tokens: Tokens) -> list[tuple[int, int, bool]]:
    """(position, place or -1 where several are named, whether it is all that its sentence says) of cue and choice."""
    codes, places = tokens
    found = []
    for match in (*_STATED.finditer(codes), *_REVERSED.finditer(codes)):
        start, at = match.start(), match.start("choice")
        place = places[at]
        rival = _RIVAL.match(codes, at + 1)
        if rival and places[rival.end() - 1] != place:
            place = -1
        ended = place < 0 or at < match.end() - 1 or _ENDED.match(codes, at + 1) is not None
        if not ended:
            rest = re.match(r"[^.\n]*", codes[at : at + 8 * _WINDOW])
            named = {places[at + i] for i, code in enumerate(rest[0] if rest else "") if code in "LBDT"}
            place = place if named == {place} else -1
        explicit = ended and _LED.search(codes, max(0, start - _WINDOW), start) is not None
        found.append((start, place, explicit))
    return sorted(found)


def _pure_lines(tokens: Tokens, count: int) -> int | None:
    """What the lines that consist of an option choose, besides a list of all options in order.

    Lines of a letter alone outdo lines with an option's text, which may be headings.
    """
    bare: list[int] = []
    lines: list[int] = []
    start = 0
    for line in tokens.codes.split("\n"):
        if match := _PURE.fullmatch(line):
            at = start + match.start("choice")
            rival = _RIVAL.match(tokens.codes, at + 1, start + len(line))
            agreed = not rival or tokens.places[rival.end() - 1] == tokens.places[at]
            kind = lines if "T" in line else bare
            kind.append(tokens.places[at] if agreed else -1)
            if count > 1 and kind[-count:] == list(range(count)):
                del kind[-count:]
        start += len(line) + 1
    return _one(bare or lines)


def _mentioned(tokens: Tokens) -> int | None:
    """The one option that is singled out, if no other is so much as named."""
    singled = [tokens.places[match.start()] for match in _MENTION.finditer(tokens.codes)]
    named = [place for code, place in zip(*tokens, strict=True) if code in "LBT" and place >= 0]
    return _one(singled + named) if singled else None


def _echoed(answer: str, options: Sequence[str], pack: Language, lexicon: Lexicon) -> int | None:
    """The option whose text is the whole reply; -1 if several are, or if it is also the letter of another."""
    if len(answer) > 2 * max(map(len, options), default=0) + _WINDOW:
        return None
    wanted = key(answer, pack)
    same = [i for i, option in enumerate(options) if (key(option, pack) == wanted if wanted else option == answer)]
    if not same:
        return None
    named = letter(answer, pack, lexicon)
    return same[0] if len(same) == 1 and named in {None, same[0]} else -1


def _json_as_lines(answer: str, pack: Language, lexicon: Lexicon) -> str:
    """The reply with each JSON object replaced by lines "key: value" of those keys that announce an answer."""
    decoder = json.JSONDecoder()
    parts: list[str] = []
    done = at = 0
    for _ in range(_WINDOW):
        at = answer.find("{", at)
        if at < 0:
            break
        try:
            found, end = decoder.raw_decode(answer, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        lines = [f"\n{name}: {value}\n" for name, value in _entries(found) if _announces(name, pack, lexicon)]
        parts += [answer[done:at], "\n", *lines]
        done = at = end
    return "".join([*parts, answer[done:]])


def _entries(found: object) -> Iterator[tuple[str, str]]:
    """Keys and values of an object and those inside it; several values of one key are alternatives."""
    waiting = [found]
    while waiting:
        entry = waiting.pop()
        for name, value in entry.items() if isinstance(entry, dict) else ():
            if isinstance(value, dict):
                waiting.append(value)
            values = value if isinstance(value, list) else [value]
            if all(isinstance(one, str | int) and not isinstance(one, bool) for one in values):
                yield name, " / ".join(" ".join(str(one).split()) for one in values)


def _announces(name: str, pack: Language, lexicon: Lexicon) -> bool:
    codes, _ = tokenise(fold(name, pack), 0, lexicon)
    return bool(codes) and set(codes) <= {"C", "F"}
