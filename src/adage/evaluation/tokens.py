"""Replies to a multiple-choice question, folded and cut into tokens of one letter each."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import msgspec
import regex

from adage.language import Language
from adage.text.scripts import UNSPACED, script_class


class Wording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one language words answers; see `answers.toml` for the meaning of each list."""

    cue: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    no_before: tuple[str, ...] = ()
    no_after: tuple[str, ...] = ()
    either: tuple[str, ...] = msgspec.field(default=(), name="or")
    words: tuple[str, ...] = ()
    follow: tuple[str, ...] = ()
    letters: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()


class Lexicon(NamedTuple):
    """What replies in one language are cut up with."""

    token: regex.Pattern[str]
    """One token at a position; the name of its group is its code."""
    after: regex.Pattern[str]
    """What is written onto an option."""
    prose: regex.Pattern[str]
    """What follows a word such as "a" that is no option's letter."""
    refusal: regex.Pattern[str]
    """What is said instead of an answer."""
    native: dict[str, int]
    """Folded option letter → place of its option."""
    words: frozenset[str]
    """Option letters that are also words."""


class Tokens(NamedTuple):
    """A reply in tokens; `codes[i]` stands for the option `places[i]` where it is one of `LBDTX`.

    `L` an option's letter, `B` the same in brackets or bold, `D` its number, `T` its text, `X` any of these negated;
    `C` cue, `F` link, `N`, `P`, `M` negation of what follows, what precedes, and either, `O` "or", `w` any other word;
    `.` end of sentence, `?` of a question, `,` comma, `:` other punctuation, newline.
    A place of -1 is a letter that no option has.
    """

    codes: str
    places: list[int]


_ALNUM = r"\p{L}\p{M}\p{N}"
_RUN_ON = script_class(sorted({*UNSPACED, "Hira", "Kana", "Hang"} - {"Hanb", "Jpan", "Hans", "Hant"}))
_SPACED = rf"[[{_ALNUM}]--[{_RUN_ON}]]"
"""Letters of scripts that set words apart."""
_EDGE = rf"(?!(?<={_SPACED}){_SPACED})"
"""Any place but the inside of a word; where words are written together, any place at all."""
_UNSEEN = regex.compile(
    r"[[\p{Cf}\p{Co}\p{Cs}\p{Cc}\p{Variation_Selector}\u20E3\u0640]--[\n\t]]|[\p{Mn}&&[\p{scx=Arab}\p{scx=Hebr}]]",
    regex.VERSION1,
)
"""What a reader does not miss: bidi marks, controls, emoji keycaps, kashida, and optional vowel points."""
_EDGES = regex.compile(_EDGE, regex.VERSION1)
_GAP = regex.compile(rf"[^{_ALNUM}]{{0,8}}")
"""What may stand between the words of an option's text."""
_WORD = regex.compile(rf"[{_ALNUM}]+")
_SEVERAL = regex.compile(rf"[{_ALNUM}]{{2,}}")
_FIRST_TEXT, _OPENING = 0xE000, 0xF8FF
"""Private characters that stand for the options' texts, and for an option's opening that looks like a letter."""
_MARK = regex.compile(r"[\p{Ps}\p{Pe}\p{Pi}\p{Pf}*_`\"'$|#~^<>]")
_ALPHABET = 26
"""Places that a letter may name where the number of options does not matter."""
_CODES = {"E": ".", "K": ",", "Q": "\n", "U": "?", "Z": ":", "W": "w"}
"""Codes of the groups whose name is another, as a group is named by a letter."""
_DENIED_AFTER = re.compile(r"((?:[LBDT][O,][CF]?){0,9}[LBDT][:.]?T?F{0,3}w?)([PM?])")
"""Options that what follows negates: "A and C are wrong", "B?"."""
_DENIED_BEFORE = re.compile(
    r"(?:[NM](?:[Fw]{0,3}|[FwO]{0,4}C(?:w{0,6}(?=[F:]))?[CF:]{0,9})|P[CF:]{0,9})[LBDT][:.]?T?(?:O[LBDT])*"
)
"""Options that what precedes negates: "not A or C", "I doubt that the answer is A", "wrong answer: A"."""


def letter(text: str, pack: Language, lexicon: Lexicon) -> int | None:
    """The place that a text which is nothing but an option's letter or number names."""
    codes, places = tokenise(fold(text, pack), _ALPHABET, lexicon)
    letters = [i for i, code in enumerate(codes) if code in "LBD"]
    return places[letters[0]] if letters and not set(codes) & set("wTCF") else None


def fold(text: str, pack: Language) -> str:
    """Compatibility forms, case, unseen characters and the pack's letter folds out of the way; lines stay.

    Letters that stand alone are not folded with others: they may be options, and Ethiopic has options that sound alike.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", "\n".join(text.splitlines())).casefold())
    folded = _UNSEEN.sub("", folded).replace("’", "'")
    table = _folds(pack)
    return _SEVERAL.sub(lambda run: run[0].translate(table), folded) if table else folded


@lru_cache
def _folds(pack: Language) -> dict[int, int]:
    """The pack's letter folds as a translation table."""
    return {
        ord(old): ord(new) for left, right in pack.key.letters.items() for old, new in zip(left, right, strict=True)
    }


def with_texts(text: str, options: Sequence[str], pack: Language, lexicon: Lexicon) -> str:
    """Folded text with each option's text, the longest first, as one private character."""
    signs: dict[tuple[str, ...], int] = {}
    for place, option in enumerate(options):
        words = tuple(_WORD.findall(fold(option, pack)))
        if words and all(word in text for word in words) and letter(option, pack, lexicon) is None:
            signs[words] = -1 if words in signs else _FIRST_TEXT + place
        if len(words) > 1 and len(words[0]) == 1 and (opening := f"{words[0]} {words[1]}") in text:
            signs.setdefault((opening,), _OPENING)
    known = {words: sign for words, sign in signs.items() if sign > 0}
    pieces, done = [], 0
    for start in sorted({at for words in known for at in _places_of(words[0], text)}):
        if start < done:
            continue
        end, sign = max((_end_of(words, text, start), -sign) for words, sign in known.items())
        if end > 0:
            pieces += [text[done:start], chr(-sign)]
            done = end
    return "".join([*pieces, text[done:]])


def _places_of(word: str, text: str) -> Iterator[int]:
    """Where a word occurs in a text, but for the inside of other words."""
    at = text.find(word)
    while at >= 0:
        if _EDGES.match(text, at):
            yield at
        at = text.find(word, at + 1)


def _end_of(words: Sequence[str], text: str, start: int) -> int:
    """Where these words, with no more than a gap between them, end if they start at `start`; -1 where they do not."""
    end = start
    for number, word in enumerate(words):
        if number and (gap := _GAP.match(text, end)):
            end = gap.end()
        if not text.startswith(word, end):
            return -1
        end += len(word)
    return end if _EDGES.match(text, end) else -1


def tokenise(text: str, count: int, lexicon: Lexicon) -> Tokens:
    """Folded text in tokens, negated options marked."""
    codes: list[str] = []
    places: list[int] = []
    at, joined = 0, False
    while match := lexicon.token.match(text, at):
        code, start, at = _CODES.get(match.lastgroup or "", match.lastgroup or ""), match.start(), match.end()
        if code == "S":
            joined = False
            continue
        place = -1
        if code == "T":
            place = ord(match[0]) - _FIRST_TEXT
            code, place = ("w", -1) if ord(match[0]) == _OPENING else (code, place)
        elif code in {"L", "D", "V"}:
            code, place = _named(match, lexicon, free=joined or not text[start - 1 : start].isalnum() or start == 0)
            place = place if place < count else -1
        if code in {"L", "B", "D", "T"} and (ending := lexicon.after.match(text, at)):
            at = ending.end()
        joined = code in {"C", "F"}
        codes.append(code)
        places.append(place)
    return Tokens(_denied("".join(codes)), places)


def _denied(codes: str) -> str:
    """Codes with options that are negated or asked about as `X`; a `P` that is about what precedes becomes `p`."""
    codes = _DENIED_AFTER.sub(lambda match: re.sub("[LBDT]", "X", match[1]) + match[2].replace("P", "p"), codes)
    return _DENIED_BEFORE.sub(lambda match: re.sub("[LBDT]", "X", match[0]), codes)


def _named(match: regex.Match[str], lexicon: Lexicon, *, free: bool) -> tuple[str, int]:
    """Code and place of what looks like an option's letter (`L` Latin, `V` native) or number (`D`)."""
    sign, text = match[0], match.string
    if match.lastgroup == "D":
        value = int(sign) if sign.isdecimal() and len(sign) < 4 else int(unicodedata.numeric(sign[0], 0))
        code, place = "D", value - 1
    else:
        code, place = "L", lexicon.native[sign] if match.lastgroup == "V" else ord(sign) - ord("a")
    if match.lastgroup == "V" and not free:
        return "w", -1
    bracketed = _MARK.match(text[match.start() - 1 : match.start()]) and _MARK.match(
        text[match.end() : match.end() + 1]
    )
    if bracketed:
        return ("B" if code == "L" else code), place
    if (code == "D" or sign in lexicon.words) and lexicon.prose.match(text, match.end()):
        return "w", -1
    return code, place


def _letters(pack: Language, rows: Sequence[str]) -> dict[str, int]:
    """The pack's option letters and those of `rows`, with the letters that the pack folds with one of them."""
    folds = _folds(pack)
    native: dict[str, int] = {}
    for row in (pack.letters, *map(str.split, rows)):
        for place, written in enumerate(row):
            sign = fold(written, pack)
            native[sign] = place if native.get(sign, place) == place else -1
    alike: dict[int, set[int]] = {}
    for sign, place in native.items():
        if len(sign) == 1:
            alike.setdefault(folds.get(ord(sign), ord(sign)), set()).add(place)
    for old, new in folds.items():
        if len(places := alike.get(new, set())) == 1:
            native = dict.fromkeys((chr(old), chr(new)), *places) | native
    return native


@lru_cache
def lexicon_of(pack: Language) -> Lexicon:
    """What replies about options in the language of `pack` are cut up with."""
    content = files("adage.evaluation").joinpath("answers.toml").read_text(encoding="utf-8")
    wordings = msgspec.convert(tomllib.loads(content), dict[str, Wording])

    def any_of(field: str) -> str:
        entries = [entry for wording in wordings.values() for entry in getattr(wording, field)]
        entries = [fold(entry, pack).translate(_folds(pack)) for entry in entries]
        return "|".join(sorted(dict.fromkeys(entries), key=len, reverse=True))

    def whole(field: str) -> str:
        return rf"{_EDGE}(?:{any_of(field)}){_EDGE}(?!'\p{{L}})"

    native = _letters(pack, wordings.get(pack.code.partition("-")[0], Wording()).letters)
    signs = [regex.escape(sign) for sign in native if not re.fullmatch("[a-z]", sign)]
    letters = "|".join(sorted(signs, key=len, reverse=True)) or "(?!)"
    latin = r"\p{Latin}\p{M}\p{N}"
    after = rf"{_MARK.pattern}{{0,2}}(?!{any_of('no_after')}|{any_of('no')})(?:{any_of('after')}){_EDGE}"
    kinds = {
        "T": r"\p{Co}",
        "S": rf"[ \t]+|</\w+>|<(?!(?:{any_of('cue')})>)\w+ ?/?>|\\(?!boxed)\p{{Latin}}+|{_MARK.pattern}",
        "Q": r"\n",
        "P": whole("no_after"),
        "M": whole("no"),
        "N": whole("no_before"),
        "O": rf"[/&+]|{whole('either')}",
        "C": whole("cue"),
        "W": r"(?:\p{Latin}\.){2,}|\p{Nd}+(?:[.,:]\p{Nd}+)+",
        "F": whole("link"),
        "V": rf"(?:{letters})(?:(?={after})|(?![{_ALNUM}]))",
        "L": rf"(?<![{latin}]|\p{{L}}')[a-h](?:(?={after})|(?![{latin}+]|'\p{{L}}))",
        "D": r"(?<![\p{Latin}\p{N}]|(?<!\w)[-−+])(?:\p{Nd}+|\p{No}|\p{Nl})(?![\p{Latin}\p{M}\p{N}])",
        "w": rf"[{latin}]+(?:'\p{{L}}+)*|[{_SPACED}--\p{{Latin}}]+|[{_ALNUM}]",
        "U": r"[?؟]",
        "E": r"[\p{Sentence_Terminal}…]",
        "K": r"[,;،、؛]",
        "Z": r"(?s:.)",
    }
    token = "|".join(f"(?P<{code}>{pattern})" for code, pattern in kinds.items())
    goes_on = "|".join(map(any_of, ("follow", "either", "no", "no_after")))
    return Lexicon(
        token=regex.compile(token, regex.VERSION1),
        after=regex.compile(after, regex.VERSION1),
        prose=regex.compile(rf"[ \t]+[^{_ALNUM}\p{{Co}}\n]{{0,3}}(?!(?:{goes_on}){_EDGE})\p{{L}}", regex.VERSION1),
        refusal=regex.compile(any_of("refusal"), regex.VERSION1 | regex.MULTILINE),
        native=native,
        words=frozenset(fold(word, pack) for wording in wordings.values() for word in wording.words),
    )
