"""Which column plays which part: by its name in many languages, by its content where names are silent."""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib import resources
from statistics import median
from typing import Any

import msgspec
import regex
from babel import Locale
from babel.core import get_global

from adage.corpus.table import Table, first
from adage.errors import CorpusError
from adage.language import Language, variety
from adage.records import Record
from adage.text.scripts import UNSPACED, script_share
from adage.text.unicode import letters

FEW_KINDS = 8
"""Distinct values that a column of kinds may have."""
SENTENCES = 0.4
"""Share of cells of several words from which a column may hold proverbs that its name does not promise."""
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
    equivalent: str = ""
    """Id of the lesson that is shared with other languages."""
    variety: str = ""
    """BCP 47 tag of each row's variety."""
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
    """Folded names of languages (English and own) and their codes → the primary codes they may stand for."""
    found: dict[str, set[str]] = {}
    for code, name in Locale("en").languages.items():
        primary = code.split("_")[0]
        entries = {fold(name)} | ({primary} if "_" not in code else set())
        if primary in words()["tongues"]["own_names"]:
            entries.add(fold(Locale(primary).languages.get(primary, name)))
        for entry in entries:
            found.setdefault(entry, set()).add(primary)
    for entry, primary in words()["tongues"]["codes"].items():
        found.setdefault(entry, set()).add(primary)
    return {entry: frozenset(codes) for entry, codes in found.items()}


def tongues_of(folded: str) -> frozenset[str]:
    """Codes of the languages that a folded name or code may stand for; empty for an unknown one.

    >>> tongues_of("japanese")
    frozenset({'ja'})
    """
    return _tongues().get(folded, frozenset())


@cache
def _own_names(language: Language) -> frozenset[str]:
    """Folded names and codes by which a column may call the corpus language."""
    primary = language.code.split("-")[0]
    codes = {primary, get_global("language_aliases").get(primary, primary).split("_")[0]}
    named = {entry for entry, found in _tongues().items() if codes & found}
    return frozenset(named | {fold(language.name), fold(language.native_name), fold(language.code)})


@lru_cache(maxsize=4096)
def is_own(name: str, language: Language) -> bool | None:
    """Whether a name or code of a language means the corpus language; None where it is no known language."""
    folded = fold(name)
    if folded in _own_names(language) or folded.split(" ")[0] in _own_names(language):
        return True
    return False if tongues_of(folded) or tongues_of(folded.split(" ")[0]) else None


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
    """Share of filled cells of several words; in scripts without word spaces, of 4 letters or more."""


def profile(table: Table, column: str, language: Language) -> Profile:
    """What the first `SAMPLE` rows hold in a column."""
    cells = [first(row.cells.get(column, "")).strip() for row in table.rows[:SAMPLE]]
    filled = [cell for cell in cells if cell]
    lettered = [cell for cell in filled if letters(cell)]
    count = max(1, len(filled))
    unspaced = any(script in UNSPACED for script in language.scripts)
    tongue, script, rest = _split_name(column, language)
    return Profile(
        name=column,
        folded=rest,
        tongue=tongue,
        script=script,
        filled=len(filled) / len(cells) if cells else 0.0,
        share=sum(script_share(cell, language.scripts) for cell in lettered) / count,
        length=median(map(len, filled)) if filled else 0.0,
        distinct=len(set(filled)) / count,
        spaced=sum(1 for cell in lettered if _SEVERAL.search(cell) or (unspaced and len(letters(cell)) >= 4)) / count,
    )


_SEVERAL = regex.compile(r"\p{L}\P{L}*\s\P{L}*\p{L}")


def _split_name(column: str, language: Language) -> tuple[str, str, str]:
    """Whether a name speaks of this language or another, of which script, and what is left of it."""
    own, scripts, common = _own_names(language), words()["tongues"]["scripts"], words()["tongues"]["ordinary"]
    folded = fold(column)
    if folded in own:
        return "own", "", ""
    tongue, script, rest = "", "", list[str]()
    for word in folded.split():
        if word in scripts and (" " in folded or word not in own):
            script = scripts[word]
        elif word in own:
            tongue = tongue or "own"
        elif tongues_of(word) and word not in common:
            tongue = "foreign"
        else:
            rest.append(word)
    return tongue, script, " ".join(rest)


@lru_cache(maxsize=4096)
def name_rank(role: str, folded: str) -> float:
    """How well a folded name fits a role: above 1 if all of it does, up to 1 if one word does, else 0."""
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
    roles["kind"] = roles["kind"] or _kind_by_content(table)
    roles["equivalent"] = _best("equivalent", [p for p in profiles if not p.tongue and p.spaced < SENTENCES])
    roles["variety"] = _best(
        "variety", [p for p in profiles if name_rank("variety", p.folded) > 1 and _holds_tags(table, p.name)]
    )
    question, answer = _best("question", profiles), _best("answer", profiles)
    by = "name"
    text = _text_by_name(profiles) if table.named else None
    if text is None and question and answer and table.named:
        quiz = Mapping(table=table.name, question=question, answer=answer)
        return msgspec.structs.replace(quiz, explanations=_explanations(profiles, None, by_content=False), **roles)
    if text is None:
        by = "content"
        text = _text_by_content(profiles)
    if text is None:
        return Mapping(table=table.name)
    parallel = _parallel(profiles, text, language)
    if parallel and parallel[0] is not text:
        text = parallel[0]
    used = {text.name, *(other.name for other in parallel)}
    others = [p for p in profiles if p.name not in used]
    explanations = _explanations(others, text, by_content=by == "content")
    taken = {*explanations, roles["equivalent"], roles["variety"]}
    gloss = tuple(p.name for p in others if p.name not in taken and _is_gloss(p))
    free = {role: name for role, name in roles.items() if name not in used and name not in explanations}
    mapping = Mapping(
        table=table.name,
        text=text.name,
        parallel=tuple(other.name for other in parallel if other.name != text.name),
        explanations=explanations,
        gloss=gloss,
        by=by,
    )
    return msgspec.structs.replace(mapping, **free)


def _kind_by_content(table: Table) -> str:
    """The first column of few values among which are names of proverbs and of other things."""
    for column in table.columns:
        values = set[str]()
        for row in table.rows:
            values.add(first(row.cells.get(column, "")).strip())
            if len(values) > FEW_KINDS:
                break
        else:
            if True in kind_verdicts(values).values():
                return column
    return ""


def _holds_tags(table: Table, column: str) -> bool:
    """Whether most filled cells of a column are tags of language varieties."""
    cells = [cell for row in table.rows[:SAMPLE] if (cell := first(row.cells.get(column, "")).strip())]
    return 2 * sum(bool(variety(cell)) for cell in cells) > len(cells)


def _is_gloss(p: Profile) -> bool:
    """Whether a name speaks of a translation, or of another language."""
    if max(name_rank("gloss", p.folded), name_rank("equivalent", p.folded)) > 0:
        return True
    return p.tongue == "foreign" and name_rank("ignored", p.folded) <= 1


def _best(role: str, profiles: Sequence[Profile]) -> str:
    """The column whose name fits a role best; a whole match only, as these words are common inside other names."""
    ranked = sorted(((name_rank(role, p.folded), -i, p.name) for i, p in enumerate(profiles)), reverse=True)
    return ranked[0][2] if ranked and ranked[0][0] > 1 else ""


def _text_by_name(profiles: Sequence[Profile]) -> Profile | None:
    """The column named like a proverb, or like the language, that does hold its script (perhaps among others)."""
    scored: list[tuple[float, int, Profile]] = []
    for place, p in enumerate(profiles):
        if p.tongue == "foreign" or p.share < 0.15 or p.length < 3:
            continue
        rank = name_rank("text", p.folded)
        if rank < 1 and p.spaced < SENTENCES:
            # One word of a longer name ("title" of a chapter) says little against a column of single words.
            rank = 0
        if p.tongue == "own" and not name_rank("explanation", p.folded):
            rank = max(rank, 0.9) + 0.5
        other = max(name_rank(role, p.folded) for role in ("explanation", "gloss", "ignored", "reading"))
        if rank > 0 and other <= rank:
            scored.append((rank, -place, p))
    return max(scored, key=lambda entry: entry[:2])[2] if scored else None


def _text_by_content(profiles: Sequence[Profile]) -> Profile | None:
    """The column of short sentences in the language: distinct, of several words, and shorter than its rivals.

    Where all such columns are named like explanations ("Description", "Meaning"), the much shorter one is the proverb.
    """
    able = [
        p
        for p in profiles
        if p.share >= 0.5
        and p.filled >= 0.5
        and (p.distinct >= 0.3 or len(profiles) == 1)
        and p.spaced >= SENTENCES
        and 4 <= p.length <= 300
        and p.tongue != "foreign"
        and not max(name_rank(role, p.folded) for role in ("gloss", "reading", "kind", "origin", "ignored")) > 1
    ]
    free = [p for p in able if not name_rank("explanation", p.folded) > 1]
    if free:
        return min(free, key=lambda p: p.length)
    able.sort(key=lambda p: p.length)
    return able[0] if len(able) > 1 and able[0].length < 0.6 * able[1].length else None


def _parallel(profiles: Sequence[Profile], text: Profile, language: Language) -> list[Profile]:
    """The text column and those that differ from it by a script in the name, in the order of the language's scripts."""
    if not text.script:
        return []
    same = [p for p in profiles if p.script and p.folded == text.folded and p.tongue == text.tongue and p.filled]
    order = {script: place for place, script in enumerate(language.scripts)}
    return sorted(same, key=lambda p: order.get(p.script, len(order)))


def _explanations(profiles: Sequence[Profile], text: Profile | None, *, by_content: bool) -> tuple[str, ...]:
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
    able = [
        p
        for p in profiles
        if p.share >= 0.6
        and p.filled >= 0.2
        and p.spaced >= 0.5
        and p.length > text.length
        and p.tongue != "foreign"
        and not max(name_rank(role, p.folded) for role in ("gloss", "kind", "origin", "ignored")) > 1
    ]
    return tuple(p.name for p in sorted(able, key=lambda p: -p.length)[:1])


def kind_verdicts(values: Collection[str]) -> dict[str, bool]:
    """Of a kind column's values, which name something else than proverbs (True); none do if all rows say the same."""
    known = {kind: {fold(word) for word in words()["kinds"][kind]} for kind in ("proverb", "other")}
    verdicts: dict[str, bool] = {}
    for value in set(values):
        parts = {fold(value), *fold(value).split()}
        if parts & known["proverb"]:
            verdicts[value] = False
        elif parts & known["other"]:
            verdicts[value] = True
    return verdicts if False in verdicts.values() else {}


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
    if any(
        name_rank(role, rest) > 1
        for _, _, rest in folded
        for role in ("text", "explanation", "gloss", "kind", "ignored")
    ):
        return len(heads) > 1 or len(heads[0]) < 40
    if any(tongue for tongue, _, rest in folded if not rest):
        return True
    if len(heads) > 1 and all(regex.fullmatch(r"\p{L}[\p{L}\p{M}\p{N}_.-]*", head) for head in filled):
        # One word in every column, above a column of sentences.
        columns = [[row[i] for row in body if i < len(row)] for i in range(len(heads))]
        if any(cells and median(len(cell.split()) for cell in cells) >= 3 for cells in columns):
            return True
    for column, head in enumerate(heads):
        below = " ".join(row[column] for row in body if column < len(row))
        if script_share(below, language.scripts) > 0.6 and letters(head) and script_share(head, language.scripts) < 0.3:
            return True
    return False
