"""Words and sentences, by Unicode's rules and the language pack's facts.

Word boundaries are UAX #29's, as the `regex` module finds them: the same words as `uniseg`, some seventy times faster.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import regex

from adage.errors import MissingExtra
from adage.language import Language

_BOUNDARY = regex.compile(r"\b", regex.VERSION1 | regex.WORD)
_HAS_LETTER = regex.compile(r"[\p{L}\p{N}]")
_RUN = regex.compile(r"[\p{L}\p{M}\p{N}\u200C\u200D]+")
_VISIBLE = regex.compile(r"[^\s\p{Cc}\p{Cf}]")


class Token(NamedTuple):
    """A word as MeCab with UniDic sees it."""

    surface: str
    lemma: str
    """Dictionary form in its usual spelling, shared by all spellings of a word; the surface of an unknown word."""
    reading: str
    """Reading of the lemma in katakana; empty where it is not known."""
    part_of_speech: str
    """UniDic's `pos1-pos2-pos3`, without empty levels."""


class _Node(Protocol):
    """A token as fugashi returns it; the fields of `feature` depend on the dictionary."""

    surface: str
    feature: Any


def words(text: str, language: Language) -> list[str]:
    """The words of `text` as they stand in it, without punctuation.

    Raises:
        MissingExtra: The pack wants `fugashi` and it is not installed.
    """
    if language.segment.words == "fugashi":
        return [token.surface for token in lemmas(text, language) if _HAS_LETTER.search(token.surface)]
    if language.segment.words == "runs":
        return [run for run in _RUN.findall(text) if _HAS_LETTER.search(run)]
    if text.isascii() and text.isalnum():
        return [text]
    parts = _BOUNDARY.split(text, concurrent=False)  # short enough not to give way to other threads
    return [part for part in parts if part.isalnum() or (part != " " and _HAS_LETTER.search(part, concurrent=False))]


def lemmas(text: str, language: Language) -> list[Token]:
    """The tokens of `text`, punctuation included, with lemma, reading and part of speech.

    Raises:
        MissingExtra: `fugashi` or its dictionary is not installed.
    """
    tokens = []
    for node in _tagger(language.name)(text):
        feature = node.feature
        # UniDic appends the foreign original to a loan word's lemma: ビール-beer.
        lemma = (feature.lemma or node.surface).partition("-")[0] or node.surface
        levels = (feature.pos1, feature.pos2, feature.pos3)
        part_of_speech = "-".join(level for level in levels if level and level != "*")
        tokens.append(Token(node.surface, lemma, feature.lForm or "", part_of_speech))
    return tokens


def sentences(text: str, language: Language) -> list[str]:
    """The sentences of `text`, each with its closing marks, without outer space.

    A sentence ends at a line break and after a run of terminators with the quotes and brackets that close there. Not at
    a full stop without space behind it (3.14); not before a small letter ("Really?" he asked); not inside a quotation
    that the sentence goes on from without a space (「行こう。」と言った).

    >>> from adage.language import load
    >>> sentences('"Really?" he asked. It cost 3.14.', load("en"))
    ['"Really?" he asked.', 'It cost 3.14.']
    """
    parts = _sentence_end(language.segment.sentence_ends, language.segment.commas).split(text)
    return [part.strip() for part in parts if _HAS_LETTER.search(part)]


def length(text: str, language: Language) -> int:
    """Length of `text` in the unit of the pack: words, or characters that are not space or control."""
    if language.length.unit == "characters":
        return len(_VISIBLE.findall(text))
    return len(words(text, language))


@lru_cache
def _sentence_end(extra: tuple[str, ...], commas: str) -> regex.Pattern[str]:
    """The empty place after a sentence, or the line break between two."""
    more = "".join(f"|{regex.escape(end)}" for end in sorted(extra, key=len, reverse=True))
    terminal = rf"[\p{{Sentence_Terminal}}--[{regex.escape(commas)}]]" if commas else r"\p{Sentence_Terminal}"
    end = rf"(?:{terminal}{more})"
    closers = r"[\p{Pe}\p{Pf}\p{Pi}\"']"
    after_stop = rf"(?<=[.．]{closers}*)(?=\s)"
    after_other = rf"(?<={end}(?<!\.))(?!{end}|{closers})"
    after_wide = r"(?<=[。！？])(?=\p{Pi})"  # where quotation marks that open are never closing ones
    after_quote = rf"(?<={end}{closers}+)(?=\s)"
    not_inside = r"(?!\s*\p{Changes_When_Titlecased})"  # a small letter, where sentences begin with capitals at all
    return regex.compile(
        rf"\s*\n\s*|(?:{after_stop}|{after_other}|{after_wide}|{after_quote}){not_inside}", regex.VERSION1
    )


@lru_cache(maxsize=1)
def _tagger(language: str) -> Callable[[str], Iterable[_Node]]:
    """MeCab with UniDic; the dictionary takes a second to load, so it is loaded once."""
    try:
        fugashi = importlib.import_module("fugashi")
        importlib.import_module("unidic_lite")
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{language} segmentation", error.name or "fugashi", "ja") from error
    tagger: Callable[[str], Iterable[_Node]] = fugashi.Tagger()
    return tagger
