"""Text as people see it (`show`) and text as it is compared (`key`); the second never reaches a reader.

Neither is NFKC of the other: compatibility folding would turn ﷺ into four words and ½ into 1⁄2 on the page.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import regex

from adage.errors import LanguageError
from adage.language import Language
from adage.text.scripts import letters

__all__ = ["isolate", "key", "letters", "neutralise", "normal", "show"]

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


@lru_cache(maxsize=1 << 18)
def key(text: str, language: Language) -> str:
    """Text for finding duplicates: two spellings of one proverb have the same key. Idempotent.

    In this order: NFKC; the pack's `key.case`, case folding, digits of any script as 0-9; `key.strip`; `key.letters`;
    `key.fold`; apostrophes inside words out; punctuation, symbols and controls → space; runs of spaces → one, or none
    where `spaces_matter` is false. It is repeated until nothing changes, as removing one sign can join two others.
    The last results are remembered: merging, grouping and judging ask for the same keys.

    Raises:
        LanguageError: The pack's folds never settle (`a` → `aa`).
    """
    for _ in range(8):
        folded = _key_once(text, language)
        if folded == text:
            return text
        text = folded
    raise LanguageError(
        f"the folds of {language.code!r} never settle: a key still changes after eight passes ({text[:40]!r}…)",
        hint="look in key.letters and key.fold for a replacement that contains what it replaces",
    )


def normal(text: str, language: Language) -> str:
    """The first half of `key`, up to `key.strip`: what stemmers expect, still with punctuation and all letters.

    NFKC writes the Arabic ligatures U+FC5E–U+FC63, and spacing diacritics in general, as a space and marks; the marks
    belong to the letter before, so that space goes.
    """
    text = _MARK_AFTER_SPACE.sub("", unicodedata.normalize("NFKC", text))
    for old, new in language.key.case.items():
        text = text.replace(old, new)
    text = unicodedata.normalize("NFKC", text.casefold())
    if not text.isascii():
        text = _DIGIT.sub(_ascii_digit, text)
    return _strip(language).sub("", text)


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


def _key_once(text: str, language: Language) -> str:
    text = normal(text, language)
    if language.key.letters:
        text = text.translate(_letters(language))
    for old, new in language.key.fold.items():
        text = text.replace(old, new)
    text = _NOT_COMPARED.sub(" ", _APOSTROPHE.sub("", text)).strip()
    return text if language.key.spaces_matter else text.replace(" ", "")


@lru_cache
def _strip(language: Language) -> regex.Pattern[str]:
    return regex.compile(language.key.strip or "(?!)", regex.VERSION1)


@lru_cache
def _letters(language: Language) -> dict[int, int]:
    """The pack's letter folds as a translation table."""
    table: dict[int, int] = {}
    for left, right in language.key.letters.items():
        table |= str.maketrans(left, right)
    return table


def _ascii_digit(match: re.Match[str]) -> str:
    return str(unicodedata.decimal(match.group()))


def _windows_1252(char: str, *, letters_too: bool) -> str:
    """What Windows-1252 has at the place of a C1 control; empty where it has nothing to offer."""
    try:
        meant = char.encode("latin-1").decode("cp1252")
    except UnicodeDecodeError:
        return ""
    return meant if letters_too or not meant.isalpha() else ""
