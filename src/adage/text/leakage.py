"""Whether a scenario gives its proverb away by sharing a content word with it, in whatever inflected form.

Each word leaves *traces*: hard ones (its form, its stem), which different words rarely share, and soft ones (its root,
its consonant skeleton, its reading), which related words share too. A shared hard trace drops the scenario, a shared
soft one flags it. Texts are compared as sets of traces, and the traces of a word are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

import regex

from adage.language import Language
from adage.text.scripts import letters
from adage.text.segment import Token, lemmas, words
from adage.text.stem import (
    RADICALS,
    irregular_stems,
    roots,
    skeleton,
    snowball,
    strip_affixes,
    suffix_paths,
    telling,
    without_vowel,
)
from adage.text.unicode import fresh_key, key, normal

_CONTAINED = 0.75
"""Share of the shorter word's n-grams that makes two long words look related."""
_MORAE = 3
"""Characters that a shared reading needs."""
_SOUGHT = {
    "reading in kana": "reading in kanji",
    "reading in kanji": "reading in kana",
    "stem alone": "stem within",
    "stem within": "stem alone",
    "stem elided": "stem stripped",
    "stem stripped": "stem elided",
}
"""Traces that match another kind than their own: a reading is evidence where one text spells the word out in kana;
two words in different kanji that sound alike (機会, 機械) are different words. And what is left of a word without its
prefixes is evidence where the other word has none; a vowel may be lost before a suffix (ውሻ, ውሾች)."""
_HAN = regex.compile(r"\p{Han}")
_INFLECTED = regex.compile(r"\p{Han}(?=\p{Hiragana})")


class Leakage(NamedTuple):
    """How far a scenario gives its proverb away."""

    verdict: Literal["drop", "flag", "none"]
    score: float
    """Highest share (0 to 1) of one content word of the proverb that a word of the scenario covers."""
    evidence: str
    """The words that met and how, such as `stone ~ stones (stem)`; empty where nothing met."""


class Trace(NamedTuple):
    """Something a word is recognised by, comparable within its kind."""

    kind: str
    value: str


class _Word(NamedTuple):
    surface: str
    form: str
    """Key of the word or of its lemma; function words and n-grams are taken from it."""
    content: bool
    hard: tuple[Trace, ...]
    soft: tuple[Trace, ...]
    grams: frozenset[str]
    """Character n-grams of the form; none for a word too short to judge by them."""


def content_words(text: str, language: Language) -> list[str]:
    """The words of a proverb that a scenario must not use, as they stand in it, each once.

    Function words, numbers and single letters are no content words. In a language without a list of function words
    every word of up to three letters counts as one: frequent words are short (Zipf 1935).

    Raises:
        MissingExtra: The pack needs an optional package.
    """
    return list(_content_words(text, language))


@lru_cache(maxsize=1 << 13)
def _content_words(text: str, language: Language) -> tuple[str, ...]:
    """`content_words`, without looking for traces where the form is enough."""
    if language.segment.words != "unicode":
        return tuple(word.surface for word in _content(text, language))
    within = _chunks(language)
    return tuple({form: word for chunk in text.split(" ") for form, word in within(chunk)}.values())


@lru_cache
def _chunks(language: Language) -> Callable[[str], tuple[tuple[str, str], ...]]:
    """A function that finds the content words (form, word) in what stands between two spaces, and remembers the last.

    No word has a space in it, so those of a text are those of its chunks, of which most are as frequent as words.
    """

    def within(chunk: str) -> tuple[tuple[str, str], ...]:
        formed = [(*_form(word, language), word) for word in words(chunk, language)]
        return tuple([(form, word) for form, content, word in formed if content])

    return lru_cache(maxsize=1 << 13)(within)


def leak(scenario: str, proverb: str, language: Language) -> Leakage:
    """Judge whether `scenario` uses a content word of `proverb`.

    Drop: the same form or the same stem (Snowball; stripped of affixes; the lemma in Japanese; a shared n-gram where
    words are not separated). Flag: the same root, a skeleton of at least three consonants, the same reading, or n-grams
    that cover most of a long word. Equal skeletons are no more than a flag even when the whole words are equal but for
    their vowels: ከበሮ (drum) and ከበረ (was honoured). Without a list of function words nothing is dropped, since what the
    two texts share may be one.

    Raises:
        MissingExtra: The pack needs an optional package.
    """
    wanted = _content(proverb, language)
    if language.segment.words == "runs":
        hit = _shared_runs(key(scenario, language), wanted, language.leak.ngram)
    else:
        found = [word for word in _analyse(scenario, language) if word.content]
        hit = _shared_hard(wanted, found) or _shared_soft(wanted, found, language)
    return hit._replace(verdict="flag") if hit.verdict == "drop" and not language.words.function else hit


def unit_leak(text: str, language: Language, units: Iterable[str]) -> str:
    """The first word or phrase in `text` that names what is asked for ("proverb"), as key text; else empty.

    Args:
        text: A scenario.
        language: Its language.
        units: Words and phrases: `Language.words.unit` or the recipe's own; `*` stands for any letters.

    >>> from adage.language import load
    >>> unit_leak("There is an Old Saying: wait!", load("en"), ["proverb*", "old saying*"])
    'old saying'
    """
    hit = _units(tuple(units), language).search(_words_as_keys(text, language))
    return hit.group() if hit else ""


def _shared_hard(wanted: Iterable[_Word], found: list[_Word]) -> Leakage | None:
    seen = {trace: word for word in reversed(found) for trace in word.hard}
    for word in wanted:
        for trace in word.hard:
            if trace in seen:
                return Leakage("drop", 1.0, _evidence(word, seen[trace].surface, trace.kind))
    return None


def _shared_soft(wanted: Iterable[_Word], found: list[_Word], language: Language) -> Leakage:
    """The strongest soft hit, or how close the n-grams of any two words came."""
    size = language.leak.ngram
    seen = {trace: word for word in reversed(found) for trace in word.soft}
    best = Leakage("none", 0.0, "")
    for word in wanted:
        for kind, value in word.soft:
            other = seen.get(Trace(_SOUGHT.get(kind, kind), value))
            if other is not None:
                share = min(1.0, len(value) / len(word.form))
                best = _stronger(best, Leakage("flag", share, _evidence(word, other.surface, kind)))
        for other in found:
            if not word.grams.isdisjoint(other.grams):
                common = len(word.grams & other.grams)
                share = common / len(word.grams)
                alike = not language.leak.anchored or word.form[:size] == other.form[:size]
                if alike and common >= _CONTAINED * min(len(word.grams), len(other.grams)):
                    best = _stronger(best, Leakage("flag", share, _evidence(word, other.surface, "n-grams")))
                else:
                    best = _stronger(best, Leakage("none", share, ""))
    return best


def _shared_runs(scenario: str, wanted: Iterable[_Word], size: int) -> Leakage:
    """Where words are not separated, any n-gram of a run that the scenario (as key) contains is a shared word."""
    best = Leakage("none", 0.0, "")
    for word in wanted:
        grams = _ngrams(word.form, size) or [word.form]
        shared = [gram for gram in grams if gram in scenario]
        if shared:
            best = _stronger(best, Leakage("drop", len(shared) / len(grams), _evidence(word, shared[0], "n-grams")))
    return best


def _stronger(a: Leakage, b: Leakage) -> Leakage:
    """The worse of two findings; the first of equals."""
    return max(a, b, key=lambda found: (found.verdict != "none", found.score))


def _evidence(word: _Word, other: str, kind: str) -> str:
    return f"{word.surface} ~ {other} ({kind.partition(' ')[0]})"


@lru_cache(maxsize=1 << 16)
def _content(text: str, language: Language) -> tuple[_Word, ...]:
    """The content words of a proverb; all its scenarios ask for them."""
    if language.segment.words == "runs":
        found = _pieces(text, language)
    else:
        found = (word for word in _analyse(text, language) if word.content)
    return tuple({word.form: word for word in found}.values())


def _analyse(text: str, language: Language) -> list[_Word]:
    if language.segment.words == "fugashi":
        return [_from_token(token, language) for token in lemmas(text, language)]
    return [_from_surface(word, language) for word in words(text, language)]


def _pieces(text: str, language: Language) -> Iterator[_Word]:
    """The pieces of at least two characters that are left of each run when function words are cut out."""
    listed = sorted(_function_words(language), key=len, reverse=True)
    cut = regex.compile("|".join(map(regex.escape, listed)) or "(?!)")
    for run in words(text, language):
        for piece in cut.split(key(run, language)):
            if len(letters(piece)) > 1:
                yield _Word(piece, piece, True, (), (), frozenset())


def _form(surface: str, language: Language) -> tuple[str, bool]:
    """Key of a word, and whether it is a content word."""
    form = fresh_key(surface, language)
    spelled = letters(form)
    if len(spelled) <= 1:
        return form, False
    function = _function_words(language)
    if not function:
        return form, len(spelled) > 3
    *_, stem = strip_affixes(form, language)
    return form, form not in function and stem not in function


@lru_cache(maxsize=1 << 18)
def _from_surface(surface: str, language: Language) -> _Word:
    """A word recognised by its form, stems, root, skeletons and n-grams, as far as the pack has them."""
    form, content = _form(surface, language)
    bare = normal(surface, language)
    paths = suffix_paths(form, language)
    ends = list(dict.fromkeys(path[-1] for path in paths))
    stemmed = [snowball(language.leak.stemmer)(spelling) for spelling in (form, bare)]
    irregular = irregular_stems(language)
    stems = [*(ends if language.leak.syllabary is None else telling(paths)), *stemmed]
    stems += [irregular[stem] for stem in (form, *stemmed, *ends) if stem in irregular]
    hard = [Trace("form", form), *(Trace("stem", stem) for stem in stems if len(stem) > 1)]
    soft = [Trace("root", root) for root in roots(dict.fromkeys((bare, *stemmed, *ends)), language)]
    if language.leak.syllabary is not None:
        soft += [Trace("stem alone", stem) for stem in paths[0]]
        soft += [Trace("stem within", stem) for path in paths[1:] for stem in path]
        elided = without_vowel(ends[0], language)
        soft += [Trace("stem elided", elided)] if elided != ends[0] else []
        soft += [] if form.startswith(ends[0]) else [Trace("stem stripped", ends[0])]  # of a suffix with a vowel
        consonants = (skeleton(stem, language) for path in paths for stem in path)
        soft += [Trace("skeleton", shared) for shared in consonants if len(shared) >= RADICALS]
    grams = _ngrams(form, language.leak.ngram)
    return _Word(
        surface,
        form,
        content,
        tuple(dict.fromkeys(hard)),
        tuple(dict.fromkeys(soft)),
        frozenset(grams if len(grams) > 1 else ()),
    )


@lru_cache(maxsize=1 << 18)
def _from_token(token: Token, language: Language) -> _Word:
    """A word recognised by its lemma and, between kana and kanji spelling, by its reading."""
    form = key(token.lemma, language)
    content = token.part_of_speech.startswith(language.segment.content) and form not in _function_words(language)
    script = "kanji" if _HAN.search(token.surface) else "kana"
    # A word that the dictionary lacks has no reading; one in kana is its own.
    reading = token.reading or (token.surface if script == "kana" else "")
    soft = [Trace(f"reading in {script}", reading)] if len(reading) >= _MORAE else []
    # Related verbs share the character that their endings follow (積む, 積もる); one of one character may head others.
    heads = _INFLECTED.findall(token.lemma) or _HAN.findall(token.lemma if len(token.lemma) == 1 else "")
    heads = heads if script == "kanji" else []
    soft += [Trace("character", head) for head in heads if head not in _function_heads(language)]
    return _Word(token.surface, form, content and bool(form), (Trace("lemma", form),), tuple(soft), frozenset())


@lru_cache
def _function_heads(language: Language) -> frozenset[str]:
    """The characters that function words are written with."""
    return frozenset(char for word in language.words.function for char in _HAN.findall(word))


@lru_cache
def _function_words(language: Language) -> frozenset[str]:
    return frozenset(key(word, language) for word in language.words.function) - {""}


def _ngrams(form: str, size: int) -> list[str]:
    return [form[start : start + size] for start in range(len(form) - size + 1)]


def _words_as_keys(text: str, language: Language) -> str:
    """The text as keys of its words with one space between; one key where words are not separated."""
    if language.segment.words != "unicode":
        return key(text, language)
    return " ".join(_from_surface(word, language).form for word in words(text, language))


@lru_cache
def _units(units: tuple[str, ...], language: Language) -> regex.Pattern[str]:
    """Any of the units, as whole words where words are separated."""
    globs = [r"\S*?".join(regex.escape(_words_as_keys(part, language)) for part in unit.split("*")) for unit in units]
    either = "|".join(glob for glob in globs if glob.strip(r"\S*?"))
    if language.segment.words == "unicode":
        return regex.compile(rf"(?<!\S)(?:{either})(?!\S)" if either else "(?!)")
    return regex.compile(either or "(?!)")
