"""Which column plays which part: by its name in many languages, by its content where names are silent."""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources
from statistics import median
from typing import Any

import regex
from babel import Locale

from adage.corpus.table import Table, first
from adage.errors import CorpusError
from adage.language import Language
from adage.records import Record
from adage.text.scripts import UNSPACED, script_share
from adage.text.unicode import letters

SAMPLE = 400
"""Rows of a table that are looked at to tell what its columns hold."""


class Mapping(Record, frozen=True, kw_only=True):
    """Which columns of which table hold what; every name may be empty."""

    table: str = ""
    text: str = ""
    parallel: tuple[str, ...] = ()
    """The same proverb in the language's other scripts."""
    explanations: tuple[str, ...] = ()
    """In order of preference."""
    gloss: tuple[str, ...] = ()
    reading: str = ""
    group: str = ""
    variants: str = ""
    kind: str = ""
    """Says of each row whether it is a proverb."""
    language: str = ""
    """Says in which language each row is."""
    origin: str = ""
    """Says from which people each row comes."""
    question: str = ""
    answer: str = ""
    """Where a row is a quiz: a text with a blank, or the first half of a saying, and what completes it."""
    by: str = "name"
    """How the text column was found: `name`, `content` or `user`."""

    @property
    def usable(self) -> bool:
        """Whether it says where the proverb is."""
        return bool(self.text or (self.question and self.answer))


@cache
def words() -> dict[str, Any]:
    """The tables of `columns.toml`."""
    return tomllib.loads(resources.files("adage.corpus").joinpath("columns.toml").read_text("utf-8"))


def fold(name: str) -> str:
    """A column name for comparison: words in lower case without marks, apart by one space.

    >>> fold("longMeaning"), fold("Açıklama (tr)")
    ('long meaning', 'aciklama tr')
    """
    name = regex.sub(r"(?<=\p{Ll})(?=\p{Lu})", " ", name.rsplit("/", 1)[-1])
    plain = "".join(char for char in unicodedata.normalize("NFKD", name.replace("ı", "i")) if not _latin_mark(char))
    plain = unicodedata.normalize("NFC", plain).casefold()
    return " ".join(regex.findall(r"[\p{L}\p{M}\p{N}]+", regex.sub(r"['’ʼ]", "", plain)))


def _latin_mark(char: str) -> bool:
    return "\u0300" <= char <= "\u036f"


@cache
def _names(role: str) -> tuple[str, ...]:
    return tuple(fold(name) for name in words()["roles"][role])


@cache
def _tongues() -> dict[str, frozenset[str]]:
    """Folded names of languages (English and own) and their codes → the codes they may stand for."""
    english = Locale("en").languages
    found: dict[str, set[str]] = {}
    for code, name in english.items():
        base = code.split("_")[0]
        names = {fold(name), base} if "_" not in code else {fold(name)}
        if base in _COMMON_OWN_NAMES:
            names |= {fold(Locale(base).languages.get(base, name))}
        for entry in names:
            found.setdefault(entry, set()).add(base)
    for entry, code in (("eng", "en"), ("ara", "ar"), ("fra", "fr"), ("jpn", "ja"), ("kor", "ko"), ("zho", "zh"), ("cn", "zh"), ("jp", "ja")):
        found.setdefault(entry, set()).add(code)
    return {entry: frozenset(codes) for entry, codes in found.items()}


_COMMON_OWN_NAMES = {"en", "fr", "es", "de", "pt", "it", "ru", "ar", "tr", "id", "ja", "ko", "zh", "hi", "vi", "th", "fa", "uk", "nl", "pl"}
_SCRIPT_NAMES = {
    "latn": "Latn", "latin": "Latn", "lotin": "Latn", "cyrl": "Cyrl", "cyrillic": "Cyrl", "kirill": "Cyrl", "arab": "Arab",
    "arabic script": "Arab", "hans": "Hans", "hant": "Hant", "simplified": "Hans", "traditional": "Hant", "kanji": "Jpan",
}
"""Words for scripts in column names."""  # fmt: skip


@dataclass(frozen=True, slots=True)
class Profile:
    """What a column is called and holds."""

    name: str
    folded: str
    tongue: str
    """`own`, `foreign`, or empty where the name names no language."""
    script: str
    """ISO 15924 code the name names, or empty."""
    filled: float
    share: float
    """Mean share of letters in the language's scripts, over the filled cells."""
    length: float
    """Median length in characters of filled cells."""
    distinct: float
    """Distinct / filled cells."""
    spaced: float
    """Share of filled cells with a space between words (1 for scripts that have none and cells of 4 letters or more)."""


def profile(table: Table, column: str, language: Language) -> Profile:
    """What the first `SAMPLE` rows hold in a column."""
    cells = [first(row.cells.get(column, "")).strip() for row in table.rows[:SAMPLE]]
    filled = [cell for cell in cells if cell]
    lettered = [cell for cell in filled if letters(cell)]
    unspaced = any(script in UNSPACED for script in language.scripts)
    tongue, script, rest = _split_name(column, language)
    return Profile(
        name=column,
        folded=rest,
        tongue=tongue,
        script=script,
        filled=len(filled) / len(cells) if cells else 0.0,
        share=sum(script_share(cell, language.scripts) for cell in lettered) / len(filled) if filled else 0.0,
        length=median(map(len, filled)) if filled else 0.0,
        distinct=len(set(filled)) / len(filled) if filled else 0.0,
        spaced=sum(1 for cell in lettered if regex.search(r"\p{L}\S*\s+\S*\p{L}", cell) or (unspaced and len(letters(cell)) >= 4))
        / len(filled)
        if filled
        else 0.0,
    )


def _split_name(column: str, language: Language) -> tuple[str, str, str]:
    """Whether a name speaks of this language or another, of which script, and what is left of it."""
    own = {fold(language.name), fold(language.native_name), language.code.split("-")[0].casefold()}
    own |= {entry for entry, codes in _tongues().items() if language.code.split("-")[0] in codes}
    tongue, script, rest = "", "", list[str]()
    folded = fold(column)
    if folded in own:
        return "own", "", ""
    for word in folded.split():
        if word in own:
            tongue = tongue or "own"
        elif word in _SCRIPT_NAMES and len(folded.split()) > 1:
            script = _SCRIPT_NAMES[word]
        elif (word in _tongues() or word in {"dari"}) and word not in _NO_TONGUES:
            tongue = "foreign"
        else:
            rest.append(word)
    return tongue, script, " ".join(rest)


# Codes and names of languages that are also ordinary words in column names.
_NO_TONGUES = {"no", "is", "to", "id", "or", "as", "so", "am", "in", "be", "he", "it", "an", "my", "ha", "ki", "na", "se", "si", "ho", "ie", "io", "os", "oc", "wa", "ii", "mean", "key", "lag", "pos", "tag", "alt", "sur", "fil", "nan", "kok", "men", "mad", "gay", "bin", "din", "den", "car", "fan", "war", "day"}  # fmt: skip


def name_rank(role: str, folded: str) -> float:
    """How well a folded name fits a role: 2 down to above 1 for a whole match, below 1 for one word of it, 0 for none."""
    names = _names(role)
    squeezed = folded.replace(" ", "")
    for place, name in enumerate(names):
        if folded == name or squeezed == name.replace(" ", ""):
            return 2 - place / (len(names) + 1)
    parts = folded.split()
    for place, name in enumerate(names):
        if name in parts:
            return 1 - place / (len(names) + 1)
    return 0.0


def map_columns(table: Table, language: Language) -> Mapping:
    """The best mapping that a table's names and content suggest; not `usable` where they say too little."""
    profiles = [profile(table, column, language) for column in table.columns]
    roles = {role: _best(role, profiles) for role in ("kind", "language", "group", "reading", "variants", "origin")}
    question, answer = _best("question", profiles), _best("answer", profiles)
    by = "name"
    text = _text_by_name(profiles) if table.named else None
    if text is None and question and answer and table.named:
        return Mapping(
            table=table.name,
            question=question,
            answer=answer,
            explanations=_explanations(profiles, None, language, by_content=False),
            **_known(roles),
        )
    if text is None:
        by = "content"
        text = _text_by_content(profiles, language)
    if text is None:
        return Mapping(table=table.name)
    parallel = _parallel(profiles, text, language)
    if parallel and parallel[0] is not text:
        text = parallel[0]
    used = {text.name, *(other.name for other in parallel)}
    explanations = tuple(
        name
        for name in _explanations(
            [p for p in profiles if p.name not in used], text, language, by_content=by == "content" and not table.named
        )
    )
    gloss = tuple(
        p.name
        for p in profiles
        if p.name not in used and p.name not in explanations
        and (name_rank("gloss", p.folded) > 0 or (p.tongue == "foreign" and p.filled > 0 and not name_rank("ignored", p.folded) > 1))
    )
    known = {role: name for role, name in _known(roles).items() if name not in used and name not in explanations}
    return Mapping(
        table=table.name,
        text=text.name,
        parallel=tuple(other.name for other in parallel if other.name != text.name),
        explanations=explanations,
        gloss=gloss,
        by=by,
        **known,
    )


def _known(roles: dict[str, str]) -> dict[str, str]:
    return {role: name for role, name in roles.items() if name}


def _best(role: str, profiles: Sequence[Profile]) -> str:
    """The column whose name fits a role best; a whole match only, as these words are common inside other names."""
    ranked = sorted(((name_rank(role, p.folded), -i, p.name) for i, p in enumerate(profiles)), reverse=True)
    return ranked[0][2] if ranked and ranked[0][0] > 1 else ""


def _text_by_name(profiles: Sequence[Profile]) -> Profile | None:
    """The column named like a proverb, or like the language, that does hold its script (rows of others may be mixed in)."""
    scored: list[tuple[float, int, Profile]] = []
    for place, p in enumerate(profiles):
        if p.tongue == "foreign" or p.share < 0.15 or not p.filled:
            continue
        rank = name_rank("text", p.folded)
        if p.tongue == "own" and not name_rank("explanation", p.folded):
            rank = max(rank, 0.9) + 0.5
        other = max(name_rank(role, p.folded) for role in ("explanation", "gloss", "ignored", "reading"))
        if rank > 0 and other <= rank:
            scored.append((rank, -place, p))
    return max(scored, key=lambda entry: entry[:2])[2] if scored else None


def _text_by_content(profiles: Sequence[Profile], language: Language) -> Profile | None:
    """The column of short sentences in the language: distinct, of several words, and shorter than its rivals."""
    able = [
        p
        for p in profiles
        if p.share >= 0.5
        and p.filled >= 0.5
        and p.distinct >= 0.3
        and p.spaced >= 0.4
        and 4 <= p.length <= 300
        and p.tongue != "foreign"
        and not max(name_rank(role, p.folded) for role in ("explanation", "gloss", "reading", "kind", "origin")) > 1
        and not name_rank("ignored", p.folded) > 1
    ]
    del language
    return min(able, key=lambda p: p.length, default=None)


def _parallel(profiles: Sequence[Profile], text: Profile, language: Language) -> list[Profile]:
    """The text column and those that differ from it by a script in the name, in the order of the language's scripts."""
    if not text.script:
        return []
    same = [p for p in profiles if p.script and p.folded == text.folded and p.tongue == text.tongue and p.filled]
    order = {script: place for place, script in enumerate(language.scripts)}
    return sorted(same, key=lambda p: order.get(p.script, len(order)))


def _explanations(
    profiles: Sequence[Profile], text: Profile | None, language: Language, *, by_content: bool
) -> tuple[str, ...]:
    ranked: list[tuple[int, float, int, str]] = []
    for place, p in enumerate(profiles):
        rank = name_rank("explanation", p.folded)
        if rank > 0 and p.filled and rank > name_rank("ignored", p.folded) and rank >= name_rank("gloss", p.folded):
            if p.tongue == "foreign":
                continue
            # What names the language, and whole names, go before what merely holds the word.
            ranked.append((-int(p.tongue == "own"), -rank, place, p.name))
    if ranked or not by_content or text is None:
        return tuple(name for *_, name in sorted(ranked))
    able = [p for p in profiles if p.share >= 0.6 and p.filled >= 0.2 and p.spaced >= 0.5 and p.length > text.length]
    del language
    return tuple(p.name for p in sorted(able, key=lambda p: -p.length)[:1])


def check_named(table: Table, column: str, part: str) -> str:
    """The column's exact name in the table.

    Raises:
        CorpusError: The table has no such column.
    """
    if column in table.columns:
        return column
    folded = {fold(name): name for name in table.columns}
    if fold(column) in folded:
        return folded[fold(column)]
    close = get_close_matches(column, table.columns, 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise CorpusError(
        f"no column {column!r} for the {part}", hint=f"{hint}the file has: {', '.join(map(repr, table.columns[:30]))}"
    )


def looks_like_header(language: Language, heads: list[str], body: list[list[str]]) -> bool:
    """Whether a first record names columns: known names, or short names in another script than what stands below."""
    filled = [head for head in heads if head]
    if not filled or len(set(filled)) < len(filled) or any(len(head) > 60 or "\n" in head for head in filled):
        return False
    folded = [_split_name(head, language) for head in filled]
    if any(name_rank(role, rest) > 1 for _, _, rest in folded for role in ("text", "explanation", "gloss", "kind", "ignored")):
        return len(heads) > 1 or len(heads[0]) < 40
    if any(tongue for tongue, _, rest in folded if not rest):
        return True
    for column, head in enumerate(heads):
        below = " ".join(row[column] for row in body if column < len(row))
        if script_share(below, language.scripts) > 0.6 and letters(head) and script_share(head, language.scripts) < 0.3:
            return True
    return False
