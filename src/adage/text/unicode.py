"""Text as people see it (`show`) and text as it is compared (`key`); the second never reaches a reader.

Neither is NFKC of the other: compatibility folding would turn ﷺ into four words and ½ into 1⁄2 on the page.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

import regex

from adage.errors import LanguageError
from adage.language import Language
from adage.text.scripts import letters

__all__ = ["fresh_key", "isolate", "key", "letters", "neutralise", "normal", "show"]

# Every run of white space but a single plain space, which is most of them and needs no replacing.
_SPACE = regex.compile(r"[^\S ]\s*| \s+")
_JOINERS = regex.compile(r"[\u200C\u200D]")
# What has no business in running text: controls, lone surrogates, noncharacters, BOM, soft hyphen, zero-width space,
# word joiners, bidi marks, embeddings and isolates, interlinear annotation. (Format characters that show, such as the
# Arabic number signs, and the Mongolian vowel separator stay.)
_STRAY = regex.compile(
    r"[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}"
    r"\u00AD\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]"
)
_C1 = regex.compile(r"[\x80-\x9F]")
_LATIN_ONLY = regex.compile(r"[\p{Latin}\P{L}]*")
_APOSTROPHE = regex.compile(r"(?<=[\p{L}\p{M}])['’‘ʼʻ`´׳՚＇](?=\p{L})")
_MARK_AFTER_SPACE = regex.compile(r" +(?=\p{M})")
_NOT_COMPARED = regex.compile(r"[^\p{L}\p{M}\p{N}]+")
_DIGIT = re.compile(r"\d")
# Numerals with values of their own, such as the Ethiopic ones; the Chinese zero is a digit among letters.
_NUMERAL = regex.compile(r"[[\p{No}\p{Nl}]--\p{Han}]+", regex.VERSION1)
_MULTIPLIES = 100
_FORMULA = regex.compile(r"\s*[=+\-@＝＋－＠|%]|[\t\r\n]")
_CONTROLS = regex.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def show(text: str, *, joiners: bool) -> str:
    r"""Text for people: NFC, one line, without what cannot be seen; every visible sign stays as it was written.

    Args:
        text: Text as read from a file.
        joiners: Whether ZWNJ and ZWJ are part of the orthography (`Language.joiners`).

    Left-over C1 controls become the character that Windows-1252 has there; its letters only in Latin text, because
    elsewhere they mark a lost character, not a Latin one. Line breaks and exotic spaces become one space.

    >>> show(" Ali\x92nin\u00a0evi\n", joiners=False)
    'Ali’nin evi'
    """
    if text.isprintable() and "  " not in text:  # most texts: nothing below would change them
        return unicodedata.normalize("NFC", text.strip())
    if _C1.search(text):
        latin = _LATIN_ONLY.fullmatch(text) is not None
        text = _C1.sub(lambda char: _windows_1252(char.group(), letters_too=latin), text)
    text = _STRAY.sub("", _SPACE.sub(" ", text))
    if not joiners:
        text = _JOINERS.sub("", text)
    return unicodedata.normalize("NFC", _SPACE.sub(" ", text).strip(" \u200c"))


def key(text: str, language: Language) -> str:
    """Text for finding duplicates: two spellings of one proverb have the same key. Idempotent.

    In this order: NFKC; the pack's `key.case`, case folding, digits and numerals of any script as 0-9; `key.strip`;
    joiners and all else that is not seen out; `key.order`, `key.letters`, `key.fold`; apostrophes inside words out;
    punctuation and symbols → space; runs of spaces → one, or none where `spaces_matter` is false. It is repeated until
    nothing changes, as removing one sign can join two others.
    The last results are remembered, as merging, grouping and judging ask for the same keys: many short ones, a few
    long ones, so that they take bounded memory.

    Raises:
        LanguageError: The pack's folds never settle (`a` → `aa`).
    """
    return _short_key(text, language) if len(text) <= _SHORT else _long_key(text, language)


def fresh_key(text: str, language: Language) -> str:
    """`key`, computed and not remembered: for callers that remember what they make of it."""
    once = _folds(language).once
    for _ in range(8):
        folded = once(text)
        if folded == text:
            return text
        text = folded
    raise LanguageError(
        f"the folds of {language.code!r} never settle: a key still changes after eight passes ({text[:40]!r}…)",
        hint="look in key.letters and key.fold for a replacement that contains what it replaces",
    )


_SHORT = 300
"""Characters up to which a text is short."""
_short_key = lru_cache(maxsize=1 << 18)(fresh_key)
_long_key = lru_cache(maxsize=1 << 12)(fresh_key)


def normal(text: str, language: Language) -> str:
    """The first half of `key`, up to `key.strip`: what stemmers expect, still with punctuation and all letters.

    NFKC writes the Arabic ligatures U+FC5E–U+FC63, and spacing diacritics in general, as a space and marks; the marks
    belong to the letter before, so that space goes.
    """
    return _folds(language).normal(text)


def isolate(text: str) -> str:
    """The text, harmless, between first-strong isolate and pop: its direction does not shuffle the rest of a line."""
    return f"\u2068{harmless(text)}\u2069"


def harmless(text: str) -> str:
    r"""Text whose control characters are shown, not obeyed: corpora and models are not to steer a terminal.

    >>> harmless("red \x1b[31m alert")
    'red ␛[31m alert'
    """
    return _CONTROLS.sub(lambda found: chr(0x2400 + ord(found[0])) if found[0] < " " else "\ufffd", text)


def neutralise(text: str) -> str:
    """The text with `'` before it where a spreadsheet would take it for a formula.

    >>> neutralise("=1+1"), neutralise("1+1")
    ("'=1+1", '1+1')
    """
    return f"'{text}" if _FORMULA.match(text) else text


class _Folds:
    """What a language pack says about keys, ready for use."""

    def __init__(self, language: Language) -> None:
        facts = language.key
        self._case = tuple(facts.case.items())
        self._strip = regex.compile(facts.strip, regex.VERSION1) if facts.strip else None
        signs = [f"({part})" for part in facts.order]
        self._runs = regex.compile(f"(?:{'|'.join(signs)}){{2,}}", regex.VERSION1) if signs else None
        """Runs of at least two of the signs that have an order."""
        self._sign = regex.compile("|".join(signs), regex.VERSION1)
        """One of them, in the group of its place."""
        self._letters = letter_table(facts.letters)
        self._fold = tuple(facts.fold.items())
        self._spaces_matter = facts.spaces_matter

    def normal(self, text: str) -> str:
        """The first half of a pass."""
        if not text.isascii():
            text = _MARK_AFTER_SPACE.sub("", unicodedata.normalize("NFKC", text))
        for old, new in self._case:
            text = text.replace(old, new)
        text = text.casefold()
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text)
            text = _NUMERAL.sub(_ascii_number, _DIGIT.sub(_ascii_digit, text))
        return text if self._strip is None else self._strip.sub("", text)

    def once(self, text: str) -> str:
        """One pass."""
        text = self.normal(text)
        if not text.isprintable():
            text = _JOINERS.sub("", _STRAY.sub("", _SPACE.sub(" ", text)))
        if self._runs is not None:
            text = self._runs.sub(lambda run: _arranged(self._sign.finditer(run[0])), text)
        if self._letters:
            text = text.translate(self._letters)
        for old, new in self._fold:
            text = text.replace(old, new)
        if not (text.isascii() and text.isalnum()):
            text = _APOSTROPHE.sub("", text)
            text = _NOT_COMPARED.sub(" ", text).strip()
        return text if self._spaces_matter else text.replace(" ", "")


_folds = lru_cache(_Folds)


def _arranged(signs: Iterable[regex.Match[str]]) -> str:
    """The signs by place; of one place, as they stood."""
    return "".join(sign[0] for sign in sorted(signs, key=lambda sign: sign.lastindex or 0))


def letter_table(folds: Mapping[str, str]) -> dict[int, int]:
    """A translation table of letters → as many letters."""
    table: dict[int, int] = {}
    for left, right in folds.items():
        table |= str.maketrans(left, right)
    return table


def _ascii_digit(match: re.Match[str]) -> str:
    return str(unicodedata.decimal(match.group()))


def _ascii_number(match: regex.Match[str]) -> str:
    """The value of a run of numerals that are no digits: they add up, and a hundred or more multiplies what is less.

    >>> import regex
    >>> _ascii_number(regex.match(".+", "፲፱፻፷፮"))
    '1966'
    """
    parts: list[int] = []
    for char in match.group():
        value = unicodedata.numeric(char)
        if not value.is_integer():
            return match.group()
        lower = 0
        while value >= _MULTIPLIES and parts and parts[-1] < value:
            lower += parts.pop()
        parts.append(int(value) * (lower or 1))
    return str(sum(parts))


def _windows_1252(char: str, *, letters_too: bool) -> str:
    """What Windows-1252 has at the place of a C1 control; empty where it has nothing to offer."""
    try:
        meant = char.encode("latin-1").decode("cp1252")
    except UnicodeDecodeError:
        return ""
    return meant if letters_too or not meant.isalpha() else ""
