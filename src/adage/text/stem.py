"""What is left of a word without its endings: affixes, stems, consonant skeletons and roots, by the pack's facts."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import snowballstemmer

from adage.language import Language
from adage.text.unicode import key, letter_table

RADICALS = 3
"""Consonants of a skeleton or root, and characters of a stem, from which sharing one is no chance."""
_IN_A_ROW = 5
"""Affixes of one list that a word may carry in a row."""
_Cut = Callable[[str], str]
"""Takes an affix off, if it is there."""


def strip_affixes(form: str, language: Language) -> Iterator[str]:
    """The form, then what is left after each affix: prefixes first, the longest that leaves `min_stem` characters."""
    prefixes, suffixes = _affixes(language)
    *others, start = _stripped(form, prefixes, language)
    yield from (*others, *_stripped(start, suffixes, language))


def suffix_paths(form: str, language: Language) -> list[list[str]]:
    """What is left as suffixes go, from the form itself and from what each prefix leaves of it."""
    prefixes, suffixes = _affixes(language)
    return [list(_stripped(start, suffixes, language)) for start in _stripped(form, prefixes, language)]


def telling(paths: list[list[str]]) -> list[str]:
    """The stems that tell a word of a syllabary: without suffixes, and without prefixes too where enough is left.

    Two characters are left of many words once prefixes are off: ቢያብር, "if they unite", would be ብር, "silver".
    """
    return [*paths[0], *(end for end in paths[-1][-1:] if len(end) >= RADICALS)]


def skeleton(form: str, language: Language) -> str:
    """The consonants of a word in a syllabary, each as the character that has the first vowel."""
    bases = [chr(ord(char) - place) for char in form if (place := _place(char, language)) is not None]
    return "".join(base for base in bases if base not in language.leak.skeleton_skip)


def without_vowel(form: str, language: Language) -> str:
    """The form with its last character in the order that has no vowel."""
    place = _place(form[-1], language) if form else None
    return form if place is None else form[:-1] + chr(ord(form[-1]) - place + language.leak.bare)


def roots(spellings: Iterable[str], language: Language) -> Iterator[str]:
    """The roots that the extractor finds in spellings of a word, weak letters alike."""
    if language.leak.root:
        weak = letter_table(language.leak.weak)
        for root in map(_isri(), spellings):
            if len(root) >= RADICALS:
                yield root.translate(weak)


@lru_cache
def irregular_stems(language: Language) -> dict[str, str]:
    """Stem of an irregular form → stem of its word."""
    stem_of = snowball(language.leak.stemmer)
    found: dict[str, str] = {}
    for word, forms in language.leak.forms.items():
        base = key(word, language)
        for form in (key(form, language) for form in forms):
            stem = stem_of(form)
            found |= dict.fromkeys((form, stem if len(stem) >= RADICALS else form), stem_of(base) or base)
    return found


@lru_cache
def snowball(algorithm: str) -> Callable[[str], str]:
    """The stemming function of a Snowball algorithm; without one, a function that finds nothing."""
    if not algorithm:
        return lambda _: ""
    stem: Callable[[str], str] = snowballstemmer.stemmer(algorithm).stemWord
    return stem


def _stripped(form: str, cuts: Iterable[list[_Cut]], language: Language) -> Iterator[str]:
    """The form, then what is left after the first cut of each list that can be made, in turn."""
    yield form
    least, tried = language.leak.min_stem, None
    for choice in cuts:
        if choice is tried:  # in vain
            continue
        for cut in choice:
            rest = cut(form)
            if rest != form and len(rest) >= least:
                form = rest
                yield form
                break
        else:
            tried = choice


@lru_cache
def _affixes(language: Language) -> tuple[list[list[_Cut]], list[list[_Cut]]]:
    """Functions that take a prefix, or a suffix, off a key: the lists to choose from, one after the other."""
    facts = language.leak
    prefixes, suffixes = (
        [[cut(affix, language) for affix in sorted(choice, key=len, reverse=True)] for choice in classes or [plain]]
        * (1 if classes else _IN_A_ROW if plain else 0)
        for cut, plain, classes in (
            (_prefix_cut, facts.prefixes, facts.prefix_classes),
            (_suffix_cut, facts.suffixes, facts.suffix_classes),
        )
    )
    return prefixes, suffixes


def _prefix_cut(prefix: str, language: Language) -> _Cut:
    """Takes a prefix off."""
    whole = key(prefix, language)
    return lambda form: form.removeprefix(whole)


def _suffix_cut(suffix: str, language: Language) -> _Cut:
    """Takes a suffix off; one that begins with a vowel of a syllabary leaves the character before it bare."""
    at = _place(suffix[0], language)
    if at is None or chr(ord(suffix[0]) - at) not in language.leak.skeleton_skip:
        whole = key(suffix, language)
        return lambda form: form.removesuffix(whole)
    rest = key(suffix[1:], language)

    def cut(form: str) -> str:
        head = form.removesuffix(rest)
        place = _place(head[-1], language) if head and form.endswith(rest) else None
        if place is None or key(chr(ord(head[-1]) - place + at), language) != head[-1]:
            return form
        return without_vowel(head, language)

    return cut


def _place(char: str, language: Language) -> int | None:
    """Which vowel of its row a character of the syllabary has, from 0; None where it is no part of one."""
    if language.leak.syllabary is None:
        return None
    first, last, row = language.leak.syllabary
    return (ord(char) - first) % row if first <= ord(char) <= last else None


@lru_cache
def _isri() -> Callable[[str], str]:
    """The extractor of Arabic roots; importing `nltk` takes a second, so only where it is needed."""
    stem: Callable[[str], str] = importlib.import_module("nltk.stem.isri").ISRIStemmer().stem
    return stem
