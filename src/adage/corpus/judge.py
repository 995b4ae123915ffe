"""What is wrong with rows: the reasons to set one aside, and flags on explanations that cannot be relied on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import median
from typing import NamedTuple

import regex

from adage.corpus.dedupe import hash_of
from adage.corpus.mapping import words
from adage.language import Language
from adage.models.lid import identifier, primary
from adage.records import Record
from adage.text.scripts import UNSPACED, script_share
from adage.text.unicode import key, letters

SCRIPT_SHARE = 0.5
"""Share of letters in the language's scripts below which a text is in another language."""
GLOSS_SHARE = 0.12
"""Share of words from which a list of function words names a text's language."""
NATIVE_LETTERS = 30
"""Letters of the language that make an explanation native even where references in another script outweigh them."""
IDENTIFIED = 100
"""Letters from which the language identifier is asked."""
SURE = 0.9
"""Confidence from which it is believed."""
MIN_LEAK = {True: 4, False: 6}
"""Characters that a key must have for its repetition to count as a quotation, in scripts without and with spaces."""
TEMPLATE_ROWS = 3
"""Rows whose explanations must agree, their own words masked, to count as machine-made."""
CONTRADICTING = 0.2
"""Overlap coefficient of content words below which two notes on one proverb seem to contradict each other."""
PLACES = 10
"""How many places a problem lists."""


class Problem(Record, frozen=True, kw_only=True):
    """One kind of trouble and where it is."""

    kind: str
    count: int
    places: tuple[str, ...] = ()
    """The first `PLACES` of them."""
    note: str = ""


class Folded(NamedTuple):
    """What is kept of an explanation's key, which would take as much memory as the explanation."""

    key: int
    """A hash of it: explanations of equal keys are one (two of a million agree by chance with odds of 1e-7)."""
    quotes: bool
    """Whether it holds the proverb's key."""


@dataclass(slots=True)
class Draft:
    """A row on its way to a `RawRow`, with what judging needs beside it."""

    text: str
    key: str
    place: str
    answers: tuple[str, ...] = ()
    explanations: dict[str, Folded] = field(default_factory=dict)
    """Usable ones, best first."""
    gloss: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Those of the gloss that explain, in another language."""
    reading: str = ""
    variants: tuple[str, ...] = ()
    group: str = ""
    equivalent: str = ""
    variety: str = ""
    rejected: str = ""
    flags: list[str] = field(default_factory=list)
    origin: str = ""

    def explain(self, explanation: str, language: Language) -> None:
        """Add an explanation once."""
        if explanation not in self.explanations:
            folded = key(explanation, language)
            shortest = MIN_LEAK[not UNSPACED.isdisjoint(language.scripts)]
            quotes = len(self.key) >= shortest and self.key in folded
            self.explanations[explanation] = Folded(hash_of(folded), quotes)

    def flag(self, kind: str) -> None:
        """Add a flag once."""
        if kind not in self.flags:
            self.flags.append(kind)


def rejection(text: str, language: Language, *, explained: bool) -> str:
    """Why a text is no proverb of the language, or an empty string.

    >>> from adage.language import Language
    >>> rejection("好好", Language(code="am", name="Amharic", native_name="አማርኛ", scripts=("Ethi",)), explained=False)
    'wrong_language: 0 % of the letters are Ethi'
    """
    if not text:
        return "empty"
    if "\ufffd" in text:
        return "damaged: U+FFFD"
    share = script_share(text, language.scripts)
    if not share and not letters(text):
        return f"no_letters: {text[:20]}"
    if share < SCRIPT_SHARE:
        return f"wrong_language: {round(100 * share)} % of the letters are {'/'.join(language.scripts)}"
    if not explained and _is_heading(text, language):
        return "heading"
    return ""


@cache
def _headings(code: str) -> regex.Pattern[str]:
    patterns = words()["headings"].get(code.split("-", maxsplit=1)[0], [])
    return regex.compile("|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)", regex.I)


_OUTLINE = regex.compile(r"\p{Nd}+(?:\.\p{Nd}+)+\.?\s+\p{L}")
_MARKDOWN = regex.compile(r"#{1,6}\s")
_NUMBERED = regex.compile(r"^\p{Nd}+[.)]?\s+")


def _is_heading(text: str, language: Language) -> bool:
    """Whether a text has a section number (4.1), or the form of a heading in this language."""
    bare = _NUMBERED.sub("", text)
    if _MARKDOWN.match(text):
        return True
    return _OUTLINE.match(text) is not None or _headings(language.code).fullmatch(bare) is not None


def explanation_fault(explanation: str, text_key: str, language: Language) -> str:
    """Why an explanation cannot be used, or an empty string."""
    if not explanation:
        return "explanation_empty"
    if "\ufffd" in explanation:
        return "explanation_damaged"
    folded = key(explanation, language)
    share = script_share(explanation, language.scripts)
    if (not share and not letters(explanation)) or folded in _placeholders(language) or len(folded) < 2:
        return "explanation_placeholder"
    if folded == text_key:
        return "explanation_equals_text"
    few = share < SCRIPT_SHARE and share * len(letters(explanation)) < NATIVE_LETTERS
    if few or in_gloss_language(explanation, language):
        return "explanation_wrong_language"
    return ""


@cache
def _placeholders(language: Language) -> frozenset[str]:
    return frozenset(key(word, language) for word in (*language.words.placeholder, *_UNIVERSAL))


_UNIVERSAL = ("n/a", "none", "null", "nan", "unknown", "todo", "tbd", "undefined")


def in_gloss_language(text: str, language: Language) -> bool:
    """Whether an eighth of a text's words are function words of English or French, and fewer are the language's own.

    Script tells other languages apart; this is for languages in Latin script, whose glosses are in it too.
    """
    if "Latn" not in language.scripts:
        return False
    found = regex.findall(r"[\p{L}\p{M}]+(?:['’]\p{L}+)?", text.casefold().replace("’", "'"))
    own_words = _function_words(language)
    own = sum(1 for word in found if word in own_words)
    for gloss in words()["glosses"].values():
        if language.code.split("-")[0] not in gloss["kin"]:
            theirs = gloss["words"]
            hits = sum(1 for word in found if word in theirs)
            if hits >= max(2, GLOSS_SHARE * len(found)) and hits > own:
                return True
    return False


def in_another_language(text: str, language: Language) -> bool:
    """Whether the language identifier is sure that a long text is in another language, where it knows this one.

    For whole columns: on single sentences, identifiers take dialects and kin for one another.
    """
    labels = {primary(label) for label in language.identify.labels or (language.code,)}
    kin = labels | {primary(sister) for sister in language.identify.sisters}
    if len(letters(text)) < IDENTIFIED or not any(identifier().supports(label) for label in labels):
        return False
    guess = identifier().identify(text)
    return guess.language not in kin and guess.confidence >= SURE


@cache
def _function_words(language: Language) -> frozenset[str]:
    return frozenset(word.casefold() for word in language.words.function)


def judge(drafts: Sequence[Draft], language: Language) -> None:
    """Flag what only shows across rows: templated, copied, shared and quoting explanations; contradicting notes."""
    good = [draft for draft in drafts if not draft.rejected]
    _flag_templated(good, language)
    _flag_shared(good, language)
    _flag_run_on(good)
    _flag_contradictions(good)
    for draft in good:
        for explanation, folded in draft.explanations.items():
            if folded.quotes:
                draft.flag("leak")
            if _INSTRUCTION.search(explanation):
                draft.flag("instructions")


_INSTRUCTION = regex.compile(
    r"<\|\w+\|>|\[/?INST\]|\b(?:ignore|disregard|forget)\b.{0,30}\b(?:instructions?|prompts?)\b"
    r"|\byou are (?:now )?an? (?:AI|assistant)\b",
    regex.I,
)


def _flag_templated(drafts: Sequence[Draft], language: Language) -> None:
    """Drop explanations that say nothing beyond a frame around the proverb's own words."""
    frames: dict[str, list[tuple[Draft, str]]] = defaultdict(list)
    for draft in drafts:
        own = sorted({draft.text, *draft.answers}, key=len, reverse=True)
        for explanation in draft.explanations:
            frame = explanation
            for words_ in own:
                frame = frame.replace(words_, "\0") if len(words_) > 1 else frame
            if "\0" in frame:
                frames[key(frame.replace("\0", " x "), language)].append((draft, explanation))
    for members in frames.values():
        if len({draft.place for draft, _ in members}) >= TEMPLATE_ROWS:
            for draft, explanation in members:
                draft.explanations.pop(explanation, None)
                draft.flag("explanation_templated")


def _flag_shared(drafts: Sequence[Draft], language: Language) -> None:
    """Flag an explanation that different proverbs share; where it quotes just one of them, take it from the others."""
    usage = Counter(folded.key for draft in drafts for folded in draft.explanations.values())
    sharing: dict[int, list[tuple[Draft, str]]] = defaultdict(list)
    for draft in drafts:
        for explanation, name in draft.explanations.items():
            if usage[name.key] > 1:
                sharing[name.key].append((draft, explanation))
    for members in sharing.values():
        if len({draft.key for draft, _ in members}) < 2:
            continue
        folded = key(members[0][1], language)
        quoted = {draft.key: _coverage(draft.key, folded, language) for draft, _ in members}
        owners = {text_key for text_key, share in quoted.items() if share >= 0.9}
        for draft, explanation in members:
            if len(owners) == 1 and draft.key not in owners and quoted[draft.key] < 0.3:
                del draft.explanations[explanation]
                draft.flag("explanation_of_another")
            else:
                draft.flag("explanation_shared")


def _coverage(text_key: str, folded: str, language: Language) -> float:
    """Share of a key's character n-grams (3; 2 in scripts without word spaces) that occur in another text."""
    size = 2 if any(script in UNSPACED for script in language.scripts) else 3
    grams = [text_key[i : i + size] for i in range(max(1, len(text_key) - size + 1))]
    return sum(1 for gram in grams if gram in folded) / len(grams)


_ENTRY_NUMBER = regex.compile(r"[.!?]\s(?P<number>\d{1,4})\.\s\p{Lu}")
_OPENER = regex.compile(r"(?<![\p{L}\p{M}])\p{Lu}\p{Ll}{5,}(?![\p{L}\p{M}])")
RUN_ON_LENGTH = 4
"""How many times longer than the file's median an explanation must be to be suspected of holding two entries."""


def _flag_run_on(drafts: Sequence[Draft]) -> None:
    """Flag long explanations that the next dictionary entry ran into: a stray entry number, a formula said twice."""
    lengths = [len(explanation) for draft in drafts for explanation in draft.explanations]
    bound = RUN_ON_LENGTH * median(lengths) if lengths else 0
    for draft in drafts:
        for explanation in draft.explanations:
            if len(explanation) <= bound:
                continue
            numbers = {int(match["number"]) for match in _ENTRY_NUMBER.finditer(explanation)}
            openers = Counter(_OPENER.findall(explanation))
            if (numbers and 1 not in numbers and 2 not in numbers) or max(openers.values(), default=0) > 1:
                draft.flag("explanation_run_on")


def _flag_contradictions(drafts: Sequence[Draft]) -> None:
    """Flag rows of one proverb whose notes in another language have next to no content word in common.

    Words that a fifth of all notes use ("this proverb is used when ...") are the collector's, and do not count.
    """
    noted: dict[str, list[tuple[Draft, set[str]]]] = defaultdict(list)
    usage: Counter[str] = Counter()
    for draft in drafts:
        if draft.notes:
            stems = set(_stems(" ".join(draft.notes)))
            usage.update(stems)
            noted[draft.key].append((draft, stems))
    rows = sum(len(members) for members in noted.values())
    common = {stem for stem, count in usage.items() if count > max(2, rows / 5)}
    for members in noted.values():
        for draft, own in members:
            rivals = [theirs - common for other, theirs in members if other is not draft]
            if any(_overlap(own - common, theirs) < CONTRADICTING for theirs in rivals):
                draft.flag("notes_contradict")


def _overlap(a: set[str], b: set[str]) -> float:
    """Overlap coefficient |a ∩ b| / min(|a|, |b|); 1 where one is empty and so contradicts nothing."""
    smaller = min(len(a), len(b))
    return len(a & b) / smaller if smaller else 1.0


def _stems(text: str) -> Iterator[str]:
    stop = words()["glosses"]["en"]["words"]
    for word in regex.findall(r"\p{L}{4,}", text.casefold()):
        if word not in stop:
            yield word[:5]


def problems_of(drafts: Iterable[Draft]) -> list[Problem]:
    """Rejections (by reason) and flags of rows as problems, the most frequent first."""
    places: dict[str, list[str]] = defaultdict(list)
    for draft in drafts:
        for kind in [draft.rejected] if draft.rejected else draft.flags:
            places[kind.partition(":")[0]].append(draft.place)
    ranked = sorted(places.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return [Problem(kind=kind, count=len(where), places=tuple(where[:PLACES])) for kind, where in ranked]


def length_warning(drafts: Sequence[Draft]) -> str:
    """A word of doubt when the proverbs are longer than what explains them, as in swapped or shifted columns."""
    pairs = [(len(d.text), len(next(iter(d.explanations)))) for d in drafts if d.explanations and not d.rejected]
    if len(pairs) < 5:
        return ""
    longer = sum(1 for text, explanation in pairs if text > explanation)
    if longer <= 0.5 * len(pairs):
        return ""
    return (
        f"{longer} of {len(pairs)} proverbs are longer than their explanation: "
        "are the columns swapped, or shifted by one row?"
    )
