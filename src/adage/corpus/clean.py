"""What is cut from a cell before it is shown: markup, list numbers, footnote marks, readings, alternatives in brackets.

Every cut is by form, the same for all corpora; what is cut and means something (alternatives, attributions) is kept.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from adage.corpus.mapping import fold, name_rank
from adage.language import Language
from adage.text.scripts import UNSPACED
from adage.text.unicode import show


class Cleaned(NamedTuple):
    """A proverb as shown, and what was taken out of its cell."""

    text: str
    variants: tuple[str, ...] = ()
    attribution: str = ""
    swallowed: tuple[tuple[str, str], ...] = ()
    """Parts of a whole record found inside the cell, as (role, text)."""
    control: bool = False
    """Whether a control character stood where a character was lost."""


class Habits(NamedTuple):
    """What a whole column does, seen over its rows; one row alone would not prove it."""

    numbered: bool = False
    """Rows begin with a list number."""
    bulleted: bool = False
    """Rows begin with a bullet."""
    quoted: bool = False
    """Rows stand in quotation marks."""
    colons: bool = False
    """Words are parted by colons (for ፡)."""


_NO_HABITS = Habits()
_QUOTED = regex.compile(r"^\s*[\"“„”«»‘'「『]\s*([^\"“„”«»「」『』]+?)\s*[\"”“«»’'」』]\s*$")
_BULLET = regex.compile(r"^\s*[-*•·‣▪–]\s+(?=\S)")
_NUMBER = regex.compile(r"^\s*[(\[]?(?:\p{Nd}{1,5}|[①-⑳])[.)\]:、．।॥·–-]*\s*(?=[\p{L}\p{M}\"'«“„‘¿¡\(])")
_LIST_NUMBER = regex.compile(r"\s*[(\[]?(?:\p{Nd}{1,5}\s*[.)\]:、．।॥]|[①-⑳])\s*\p{L}")
_FOOTNOTE = regex.compile(r"\s*\[(?:[\p{L}]{1,6}\.?\s*)?\p{Nd}{1,3}\]|[¹²³⁴-⁹]+(?=[\s.,;]|$)")
_REF = regex.compile(r"<ref[^>/]*>.*?</ref>|<ref[^>]*/>|<!--.*?-->", regex.S | regex.I)
_RUBY = regex.compile(r"<(rt|rp)\b[^>]*>.*?</\1>", regex.S | regex.I)
_BREAK = regex.compile(r"<(?:br|/p|/div|/li)\b[^>]*>", regex.I)
_TAG = regex.compile(r"</?[a-zA-Z][a-zA-Z0-9]*(?:\s[^<>]*)?/?>")
_READING = regex.compile(r"(?<=\p{Han})(?:[（(][\p{Hiragana}\p{Katakana}ー]+[)）]|《[\p{Hiragana}\p{Katakana}ー]+》)")
_HASHTAGS = regex.compile(r"(?:\s*#[\p{L}_][\p{L}\p{M}\p{N}_]*)+\s*$")
_ATTRIBUTION = regex.compile(r"\n\s*(?:--|—|–|―)\s*(?P<who>[^\n]{2,80}?)\s*$")
_LABEL = regex.compile(r"(?:^|\n)[ \t]*(?P<label>\p{Lu}[\p{L} ]{2,30}):[ \t]*\n")
_COLON_GAP = regex.compile(r"(?<=\p{L})\s*[:፡]\s*(?=\p{L})")
_PLAIN_GAP = regex.compile(r"(?<=\p{L})\s+(?=\p{L})")
_WIKITEXT = regex.compile(r"^={2,}[^=]|\{\{|\[\[", regex.M)
_EMPHASIS = regex.compile(r"\*\*|__|^\s*[*•]\s+", regex.M)
_WIDE_SENSE = regex.compile(r"(?:^|(?<=[。｡\s]))[１-９][．.)）]\s*")
_FIRST_SENSE = regex.compile(r"\s*1[.)]\s")
_SENSE = regex.compile(r"(?:^|(?<=\s))\d[.)]\s+")
_EMPTY_SENSES = regex.compile(r"(?:[①-⑳]、?\s*)+$")
_JOINED_LIST = regex.compile(r"(?<=[.!?。]),(?=\p{L})")
_CONTROL = regex.compile(r"[\x80-\x9f]")
_CP1252_SIGNS = regex.compile("[\x82-\x87\x8b\x91-\x97\x9b]")


def habits(cells: Sequence[str]) -> Habits:
    """What most of a column's cells do."""
    filled = [cell for cell in cells if cell.strip()]
    if len(filled) < 3:
        return Habits()
    numbered = sum(1 for cell in filled if _LIST_NUMBER.match(cell))
    colons = sum(1 for cell in filled if _colon_gaps(cell) > 0 and _colon_gaps(cell) >= _plain_gaps(cell))
    bulleted = sum(1 for cell in filled if _BULLET.match(cell))
    most = 0.6 * len(filled)
    quoted = sum(1 for cell in filled if _QUOTED.match(cell))
    return Habits(numbered >= most, bulleted >= most, quoted >= most, colons >= most)


def _colon_gaps(cell: str) -> int:
    return len(_COLON_GAP.findall(cell))


def _plain_gaps(cell: str) -> int:
    return len(_PLAIN_GAP.findall(cell))


def clean_text(raw: str, language: Language, habit: Habits = _NO_HABITS) -> Cleaned:
    """The proverb of a cell, and what else was in the cell."""
    text = _unmarked(raw)
    if swallowed := _record_within(text):
        return Cleaned(show(swallowed[0][1], joiners=language.joiners), swallowed=tuple(swallowed[1:]))
    attribution = ""
    if (match := _ATTRIBUTION.search(text)) is not None:
        attribution = show(match["who"], joiners=language.joiners)
        text = text[: match.start()]
    if habit.numbered:
        text = _NUMBER.sub("", text)
    if habit.bulleted:
        text = _BULLET.sub("", text)
    if habit.quoted:
        text = _QUOTED.sub(r"\1", text)
    if habit.colons:
        text = _COLON_GAP.sub(" ", text)
    text = _HASHTAGS.sub("", _FOOTNOTE.sub("", _READING.sub("", text)))
    control = any(not _CP1252_SIGNS.match(char) for char in _CONTROL.findall(text))
    text, variants = split_variants(show(text, joiners=language.joiners), language)
    return Cleaned(text, variants, attribution, control=control)


def clean_explanation(raw: str, language: Language) -> str:
    """An explanation as shown: of wikitext the definitions; no markup, sense numbers, empty list items or readings."""
    if _WIKITEXT.search(raw):
        raw = "\n".join(_definitions(raw))
    text = _READING.sub("", _FOOTNOTE.sub("", _unmarked(raw)))
    text = _WIDE_SENSE.sub("", _EMPHASIS.sub("", text))
    if _FIRST_SENSE.match(text):
        text = _SENSE.sub("", text)
    text = _EMPTY_SENSES.sub("", text.rstrip())
    text = _JOINED_LIST.sub(" ", _HASHTAGS.sub("", text))
    return show(text, joiners=language.joiners)


def _unmarked(text: str) -> str:
    r"""Text without HTML, entities and leftover escapes (`\n` spelled out); line breaks stay."""
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub("\n", _RUBY.sub("", _REF.sub("", text))))
    if "&" in text and ";" in text:
        text = html.unescape(text)
    if "\\" in text:
        text = text.replace("\\r\\n", "\n").replace("\\n", "\n").replace('\\"', '"').replace("\\'", "'")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _record_within(text: str) -> list[tuple[str, str]]:
    """A record that slipped whole into one cell, labels and all: its parts as (role, text), the proverb first."""
    labels = [
        (match, role)
        for match in _LABEL.finditer(text)
        for role in ("explanation", "gloss")
        if name_rank(role, fold(match["label"])) > 1
    ]
    if not labels:
        return []
    parts = [("text", text[: labels[0][0].start()].strip(" .\n"))]
    for (match, role), end in zip(labels, [*(match.start() for match, _ in labels[1:]), len(text)], strict=True):
        parts.append((role, text[match.end() : end].strip()))
    return parts if parts[0][1] else []


def _definitions(wikitext: str) -> Iterator[str]:
    """Definition lines (`#`, `:[1]`, `[1]`) of the first section that has any, their markup resolved."""
    found = False
    for line in _REF.sub("", wikitext).splitlines():
        if regex.match(r"\s*={2,}.*=", line):
            if found:
                return
            continue
        match = regex.match(r"\s*(?:#(?![#:*])|:*\s*\[\p{Nd}+[a-z]?\])\s*(?P<sense>\S.*)", line)
        if match is not None:
            found = True
            yield unwiki(match["sense"])


def unwiki(text: str) -> str:
    """Text of a line of wikitext.

    >>> unwiki("'''Bir''' [[beden|bedenim]]den {{t|tr}}")
    'Bir bedenimden '
    """
    for _ in range(4):
        text, count = regex.subn(r"\{\{[^{}]*\}\}", "", text)
        if not count:
            break
    text = regex.sub(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]", r"\1", text)
    text = regex.sub(r"\[https?://\S+\s*([^\]]*)\]", r"\1", text)
    return regex.sub(r"'{2,}", "", text)


_SAME = regex.compile(r"\s*[(\[（〔]\s*=\s*(?P<inside>[^()\[\]（）〔〕]+)[)\]）〕]")
_TORTOISE = regex.compile(r"〔(?P<inside>[^〔〕]+)〕")
_ATTACHED = regex.compile(r"(?<=[\p{L}\p{M}])(?P<open>[\[(（〔])(?P<inside>[^()\[\]（）〔〕]+)[)\]）〕]")
_CHOICE = regex.compile(r"(?<![\p{L}\p{M}])[\[(](?P<inside>[^()\[\]/]+(?:/[^()\[\]/]+)+)[)\]]")
_SLASHED = regex.compile(r"(?<=\s)/(?P<inside>\p{L}[^/]*)/(?=\s|$)")


def split_variants(text: str, language: Language) -> tuple[str, tuple[str, ...]]:
    """The base wording of a text and the wordings that its brackets offer besides.

    A bracket right after a word, `〔a/b〕`, `(= a)` and `/a/` hold alternatives to that word; a free-standing `[a/b]`
    is a choice. Other brackets (optional words, remarks) stay, and so do all in scripts without word spaces.

    >>> from adage.language import Language
    >>> korean = Language(code="ko", name="Korean", native_name="한국어", scripts=("Kore",))
    >>> split_variants("밑 빠진 독〔가마/항아리〕에 물 붓기", korean)
    ('밑 빠진 독에 물 붓기', ('밑 빠진 가마에 물 붓기', '밑 빠진 항아리에 물 붓기'))
    """
    spaced = not any(script in UNSPACED for script in language.scripts)
    patterns = [_SAME, _TORTOISE, _CHOICE, *([_ATTACHED, _SLASHED] if spaced else [])]
    cuts: list[tuple[int, int, str, str]] = []
    for pattern in patterns:
        for match in pattern.finditer(text):
            clash = any(start < match.end() and match.start() < end for start, end, _, _ in cuts)
            inside = match["inside"].strip()
            if not clash and inside and (pattern in (_SAME, _CHOICE) or len(inside.split()) <= 3):
                kind = "choice" if pattern is _CHOICE else "insert" if _inserts(pattern, match, text) else "replace"
                cuts.append((match.start(), match.end(), inside, kind))
    if not cuts:
        return text, ()
    cuts.sort()
    return _tidy(_join(text, cuts, None, "")), tuple(
        dict.fromkeys(
            _tidy(_join(text, cuts, number, option.strip()))
            for number, (_, _, inside, kind) in enumerate(cuts)
            for option in (inside.split("/")[1:] if kind == "choice" else regex.split(r"[/,，、]", inside))
            if option.strip()
        )
    )


def _inserts(pattern: regex.Pattern[str], match: regex.Match[str], text: str) -> bool:
    """Whether a bracket adds to its word, as in 나라(님)도, rather than replacing it."""
    if pattern is not _ATTACHED or match["open"] not in "(（":
        return False
    return regex.match(r"[\p{L}\p{M}]", text[match.end() :]) is not None or len(match["inside"]) == 1


def _join(text: str, cuts: Sequence[tuple[int, int, str, str]], chosen: int | None, option: str) -> str:
    """The text with every bracket cut, but with `option` taken for the bracket numbered `chosen`."""
    built, at = "", 0
    for number, (start, end, inside, kind) in enumerate(cuts):
        built += text[at:start]
        at = end
        if kind == "choice":
            built += option if number == chosen else inside.split("/")[0].strip()
        elif number == chosen:
            if kind == "replace":
                built = regex.sub(r"[^\s]+\s*$", "", built)
            built += option + ("" if text[end : end + 1].strip() else " ")
    return built + text[at:]


def _tidy(text: str) -> str:
    return _SPACE_BEFORE_SIGN.sub("", " ".join(text.split())).strip()


_SPACE_BEFORE_SIGN = regex.compile(r"\s+(?=[.,!?;:。、，]|$)")


_BLANK = regex.compile(r"_{2,}|＿+|[（(]\s*[)）]|□+|○{2,}|…{2,}|\.{4,}|\?{3,}|\[\s*\]|\{\s*\}")
_ASKS = regex.compile(r"[?？؟]\s*$")


def fill(question: str, answers: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The proverb of a quiz record and its other wordings.

    A blank is filled with the answer; a question's answer is the proverb; else question and answer are the two halves
    of an allegorical saying (歇后语), joined by a dash.

    >>> fill("___も木から落ちる", ["猿"])
    ('猿も木から落ちる', ())
    """
    filled = [answer.strip() for answer in answers if answer.strip()]
    if not filled:
        return ("" if _BLANK.search(question) or _ASKS.search(question) else question), ()
    if _BLANK.search(question):
        texts = [_BLANK.sub(answer.replace("\\", r"\\"), question) for answer in filled]
    elif _ASKS.search(question):
        texts = filled
    else:
        texts = [f"{question.strip()}——{answer}" for answer in filled]
    return texts[0], tuple(texts[1:])
