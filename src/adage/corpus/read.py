"""Read a corpus file: every record becomes exactly one row, good or set aside with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import regex

from adage.corpus.clean import Habits, clean_explanation, clean_text, fill, habits
from adage.corpus.formats import Content, Request, load
from adage.corpus.judge import (
    Draft,
    Problem,
    explanation_fault,
    in_another_language,
    in_gloss_language,
    judge,
    length_warning,
    problems_of,
    rejection,
)
from adage.corpus.mapping import (
    Mapping,
    check_named,
    fold,
    is_own,
    kind_verdicts,
    looks_like_header,
    map_columns,
    name_rank,
)
from adage.corpus.relate import explain, spread
from adage.corpus.source import source as find_source
from adage.corpus.table import Row, Table, first, texts
from adage.errors import CorpusError
from adage.language import Language, variety
from adage.records import RawRow, Record
from adage.text.unicode import key, show


class ReadOptions(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the user says about a file; anything left empty is found out."""

    encoding: str = ""
    delimiter: str = ""
    table: str = ""
    text: str = ""
    explanation: str | tuple[str, ...] = ()
    gloss: str = ""
    reading: str = ""
    group: str = ""
    equivalent: str = ""
    """Column with the id of the lesson that is shared with other languages."""
    variety: str = ""
    """Column with the BCP 47 tag of each row's variety."""
    variants: str = ""
    kind: str = ""
    language: str = ""
    """Column that says in which language each row is."""
    limit: int = 0
    """Read this many records only; 0 reads all."""


DEFAULTS = ReadOptions()
"""Nothing said: everything is found out."""


class Reading(Record, frozen=True, kw_only=True):
    """What a file says, with everything that is wrong with it."""

    rows: tuple[RawRow, ...]
    """One for each record of the file, in file order."""
    format: str
    encoding: str = ""
    encoding_confidence: float = 1.0
    mapping: Mapping
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()


class Mapped(NamedTuple):
    """The tables of a file that hold proverbs, with the part of each column."""

    content: Content
    tables: list[tuple[Table, Mapping]]
    others: list[Table]
    """Tables left aside."""


def open_tables(path: Path, language: Language, options: ReadOptions) -> Mapped:
    """Load a file and find its proverbs' tables; `tables` is empty where only the user can say.

    Raises:
        CorpusError: The file cannot be read, or has no table or column as the options name.
    """
    columns = [options.text, options.gloss, options.reading, options.group, options.variants, options.kind]
    columns += [options.equivalent, options.variety]
    columns += [
        options.language,
        *([options.explanation] if isinstance(options.explanation, str) else options.explanation),
    ]
    told = set(filter(None, columns))

    def is_header(heads: list[str], body: list[list[str]]) -> bool:
        return not told.isdisjoint(heads) or looks_like_header(language, heads, body)

    content = load(path, Request(language, is_header, options.encoding, options.delimiter, options.limit))
    tables = [table for table in content.tables if table.rows]
    if options.table:
        named = [table for table in tables if options.table in {table.name, table.name.rsplit("/", 1)[-1]}]
        if not named:
            names = ", ".join(repr(table.name) for table in tables[:20])
            raise CorpusError(f"{path.name} has no table {options.table!r}", hint=f"it has: {names}")
        tables = named
    if options.text:
        given = [table for table in tables if options.text in table.columns] or tables[:1]
        chosen = [(table, _as_told(table, options, map_columns(table, language))) for table in given]
    else:
        guessed = [(table, map_columns(table, language)) for table in tables]
        usable = [(table, found) for table, found in guessed if found.usable]
        chosen = [(table, found) for table, found in usable if found.by == "name"] or _alike(usable)
        chosen = [(table, _as_told(table, options, found)) for table, found in chosen]
    taken = {id(table) for table, _ in chosen}
    others = [table for table in content.tables if id(table) not in taken and table.rows]
    related = [_related(table, found, others, language) for table, found in chosen]
    used = {name for *_, name in related if name}
    return Mapped(
        content, [(table, found) for table, found, _ in related], [table for table in others if table.name not in used]
    )


def _related(table: Table, found: Mapping, others: list[Table], language: Language) -> tuple[Table, Mapping, str]:
    """A table with one proverb a row and, where it has no explanations, those of the table named third."""
    table = spread(table, found)
    return (table, found, "") if found.explanations else explain(table, found, others, language)


def _alike(usable: list[tuple[Table, Mapping]]) -> list[tuple[Table, Mapping]]:
    """Of tables that only their content speaks for, the largest and those of the same columns (one per topic, say)."""
    if not usable:
        return []
    largest, found = max(usable, key=lambda pair: len(pair[0].rows))
    return [pair for pair in usable if pair[0].columns == largest.columns and pair[1].text == found.text]


def _as_told(table: Table, options: ReadOptions, found: Mapping) -> Mapping:
    """The mapping with the columns that the user names."""
    told: dict[str, object] = {}
    if options.text:
        told |= {
            "text": check_named(table, options.text, "text"),
            "parallel": (),
            "question": "",
            "answer": "",
            "by": "user",
        }
    if options.explanation:
        names = (options.explanation,) if isinstance(options.explanation, str) else options.explanation
        told["explanations"] = tuple(check_named(table, name, "explanation") for name in names)
    if options.gloss:
        told["gloss"] = (check_named(table, options.gloss, "gloss"),)
    for part in ("reading", "group", "equivalent", "variety", "variants", "kind", "language"):
        if name := getattr(options, part):
            told[part] = check_named(table, name, part)
    mapping = msgspec.structs.replace(found, **told)
    used = {mapping.text, *mapping.explanations}
    return msgspec.structs.replace(
        mapping,
        explanations=tuple(name for name in mapping.explanations if name != mapping.text),
        gloss=tuple(name for name in mapping.gloss if name not in used),
    )


def read(path: Path, language: Language, options: ReadOptions = DEFAULTS, *, source_id: str = "") -> Reading:
    """Read a corpus file of any known format and encoding.

    Args:
        path: The file; archives of several files are read as one.
        language: Language of the corpus.
        options: What the user knows better.
        source_id: Id of the source; by default that of `corpus.yaml` beside the file, or the file's stem.

    Raises:
        CorpusError: The file cannot be read, or it does not show which column holds the proverbs.
    """
    mapped = open_tables(path, language, options)
    if not mapped.tables:
        raise CorpusError(
            f"{path.name}: no column clearly holds proverbs in {language.name}", hint=describe_tables(mapped)
        )
    return read_mapped(path, mapped, language, options, source_id or find_source(path).id)


def describe_tables(mapped: Mapped) -> str:
    """What a file's tables and columns are called, for a person who has to name the right ones."""
    shown = [f"{table.name or 'the file'}: {', '.join(map(repr, table.columns[:12]))}" for table in mapped.others[:8]]
    return "name the columns with --text and --explanation (and --table); found " + ("; ".join(shown) or "no rows")


def read_mapped(path: Path, mapped: Mapped, language: Language, options: ReadOptions, source_id: str) -> Reading:
    """The rows of tables whose columns are known; the tables are emptied on the way, so that no row is held twice."""
    largest = max(mapped.tables, key=lambda pair: len(pair[0].rows))[1]
    problems = list(_file_problems(path.name, mapped))
    drafts: list[Draft] = []
    for table, mapping in mapped.tables:
        drafts.extend(_drafts(table, mapping, language, path.name))
        if options.limit and len(drafts) >= options.limit:
            drafts = drafts[: options.limit]
            break
    _tell_apart(drafts)
    judge(drafts, language)
    content = mapped.content
    problems = [*problems_of(drafts), *problems]
    warnings = tuple(_warnings(mapped, drafts, language))
    return Reading(
        rows=tuple(_row(draft, number, source_id) for number, draft in enumerate(_released(drafts), 1)),
        format=content.format,
        encoding=content.encoding,
        encoding_confidence=content.confidence,
        mapping=largest,
        problems=tuple(problems),
        warnings=warnings,
    )


T = TypeVar("T")


def _released(items: list[T]) -> Iterator[T]:
    """The items in order; the list lets each go as it is given."""
    items.reverse()
    while items:
        yield items.pop()


def _tell_apart(drafts: Sequence[Draft]) -> None:
    """Number records that stand on one line, so that a place names one record: `c.sql:7`, `c.sql:7.2`."""
    seen: Counter[str] = Counter()
    for draft in drafts:
        seen[draft.place] += 1
        if seen[draft.place] > 1:
            draft.place = f"{draft.place}.{seen[draft.place]}"


def _row(draft: Draft, number: int, source_id: str) -> RawRow:
    return RawRow(
        text=draft.text,
        explanations=tuple(draft.explanations),
        gloss="; ".join(draft.gloss),
        reading=draft.reading,
        variants=draft.variants,
        group=draft.group,
        equivalent=draft.equivalent,
        variety=draft.variety,
        place=draft.place,
        number=number,
        rejected=draft.rejected,
        flags=tuple(draft.flags),
        source_id=source_id,
    )


SEEN = 5000
"""Rows that show the habits of a column."""
TELLING = 200_000
"""Characters of a column that tell its language."""


class _Columns(NamedTuple):
    """What is known of a table's columns when its rows are read."""

    mapping: Mapping
    language: Language
    habit: Habits
    foreign: frozenset[str]
    """Explanation columns that are in a gloss language as a whole."""
    other_kinds: dict[str, bool]
    """Values of the kind column → whether they name something else than proverbs."""


def _drafts(table: Table, mapping: Mapping, language: Language, name: str) -> Iterator[Draft]:
    """One draft a record, judged by itself."""
    columns = _Columns(
        mapping,
        language,
        habits([first(row.cells.get(mapping.text, "")) for row in table.rows[:SEEN]]),
        frozenset(column for column in mapping.explanations if _is_gloss(table, column, language)),
        kind_verdicts({first(row.cells.get(mapping.kind, "")).strip() for row in table.rows}),
    )
    for row in _released(table.rows):
        draft = _draft(row, columns)
        draft.place = f"{name}{row.place}"
        draft.rejected = _set_aside(row, draft.rejected, columns)
        yield draft


def _set_aside(row: Row, reason: str, columns: _Columns) -> str:
    """The reason to reject a row, given the one that its text alone gives."""
    kind = first(row.cells.get(columns.mapping.kind, "")).strip()
    tongue = first(row.cells.get(columns.mapping.language, "")).strip()
    if row.damage:
        return f"damaged: {row.damage}"
    if len(row.cells) > 1 and any(row.cells.values()) and _is_header(row, columns.mapping):
        return "heading: the header again"
    if columns.other_kinds.get(kind) and reason in {"", "heading"}:
        return f"not_a_proverb: {kind}"
    if not reason and tongue and is_own(tongue, columns.language) is False:
        return f"wrong_language: {tongue}"
    return reason


def _is_header(row: Row, mapping: Mapping) -> bool:
    """Whether a row repeats the names of the columns, or names the proverb and its explanation in another language."""
    if all(cell == column for column, cell in row.cells.items() if cell):
        return True
    named = [("text", mapping.text), *(("explanation", column) for column in mapping.explanations)]
    cells = [(role, first(row.cells.get(name, ""))) for role, name in named]
    short = len(cells) > 1 and all(0 < len(cell) <= LONGEST_NAME for _, cell in cells)
    return short and all(name_rank(role, fold(cell)) > 1 for role, cell in cells)


LONGEST_NAME = 24
"""Characters of the longest cell that may be a column's name again."""


def _is_gloss(table: Table, column: str, language: Language) -> bool:
    """Whether an explanation column as a whole is in another language, which its short cells alone do not show."""
    text, cells = "", (cell for row in table.rows[:SEEN] for cell in texts(row.cells.get(column, "")))
    while len(text) < TELLING and (cell := next(cells, None)) is not None:
        text += f" {cell}"
    return in_gloss_language(text, language) or in_another_language(text, language)


def _draft(row: Row, columns: _Columns) -> Draft:
    mapping, language = columns.mapping, columns.language
    raw, answers, extra = _raw_text(row, mapping)
    cleaned = clean_text(raw, language, columns.habit)
    draft = Draft(text=cleaned.text, key=key(cleaned.text, language), place=row.place, answers=answers)
    others = [clean_text(text, language).text for text in (*extra, *texts(row.cells.get(mapping.variants, "")))]
    draft.variants = tuple(
        dict.fromkeys(text for text in (*cleaned.variants, *others) if text and text != cleaned.text)
    )
    draft.reading = show(first(row.cells.get(mapping.reading, "")), joiners=language.joiners)
    draft.group = first(row.cells.get(mapping.group, "")).strip()
    draft.equivalent = show(first(row.cells.get(mapping.equivalent, "")), joiners=False)
    _tag(draft, first(row.cells.get(mapping.variety, "")).strip())
    draft.origin = first(row.cells.get(mapping.origin, "")).strip() or cleaned.attribution
    glosses = [cell for column in mapping.gloss for cell in texts(row.cells.get(column, ""))]
    draft.gloss = [text for cell in glosses if (text := clean_explanation(cell, language))]
    for column in mapping.explanations:
        _explain(draft, texts(row.cells.get(column, "")), language, foreign=column in columns.foreign)
    if not draft.explanations and not draft.flags:
        draft.flag("explanation_empty")
    draft.rejected = rejection(draft.text, language, explained=bool(draft.explanations))
    if cleaned.swallowed and not draft.rejected:
        draft.rejected = "repair: a whole record stands in this cell; what is shown is our reading of it"
        draft.gloss.extend(text for _, text in cleaned.swallowed)
    if cleaned.attribution:
        draft.flag("attribution")
        draft.gloss.append(cleaned.attribution)
    if cleaned.control:
        draft.flag("control_character")
    if not draft.rejected and _LATIN.search(draft.text) and "Latn" not in language.scripts:
        draft.flag("foreign_letters")
    return draft


def _tag(draft: Draft, tag: str) -> None:
    """Keep the tag of a row's variety, or flag one that is none."""
    draft.variety = variety(tag)
    if tag and not draft.variety:
        draft.flag(f"variety_unknown: {tag[:40]}")


_LATIN = regex.compile(r"\p{Latin}")
_ANSWERS = regex.compile(r"[；;]\s*")


def _raw_text(row: Row, mapping: Mapping) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The proverb's cell, the answers it was filled with, and its other wordings."""
    if mapping.text:
        offered = [first(row.cells.get(column, "")) for column in (mapping.text, *mapping.parallel)]
        filled = [text for text in offered if text.strip()]
        return (filled[0] if filled else ""), (), tuple(filled[1:])
    answers = tuple(_ANSWERS.split(first(row.cells.get(mapping.answer, "")).strip(" ；;")))
    text, others = fill(first(row.cells.get(mapping.question, "")), answers)
    return text, answers, others


def _explain(draft: Draft, cells: Sequence[str], language: Language, *, foreign: bool) -> None:
    """Put each explanation where it belongs: usable ones in order, those in another language to the gloss."""
    for cell in cells:
        explanation = clean_explanation(cell, language)
        fault = explanation_fault(explanation, draft.key, language)
        if not fault and foreign:
            fault = "explanation_wrong_language"
        if fault == "explanation_wrong_language":
            draft.gloss.append(explanation)
            draft.notes.append(explanation)
        if fault:
            draft.flag(fault)
        else:
            draft.explain(explanation, language)


def _file_problems(name: str, mapped: Mapped) -> Iterator[Problem]:
    content = mapped.content
    if content.twice:
        yield Problem(
            kind="encoded_twice", count=1, places=(name,), note="the text had been encoded to UTF-8 twice; undone"
        )
    for kind, places, note in (
        ("orphan", content.orphans, "belongs to a proverb before the beginning of the file, or of its stretch"),
        ("shifted", content.shifted, "heading marks were one piece off and were put right"),
        ("unread", content.unread, "members of the archive that could not be read"),
    ):
        if places:
            shown = tuple(place if kind == "unread" else f"{name}{place}" for place in places[:10])
            yield Problem(kind=kind, count=len(places), places=shown, note=note)
    texts_elsewhere = [table for table in mapped.others if table.rows]
    if texts_elsewhere:
        yield Problem(
            kind="other_table",
            count=sum(len(table.rows) for table in texts_elsewhere),
            places=tuple(f"{name}#{table.name}" for table in texts_elsewhere[:10]),
            note="rows of tables that hold no proverbs; name one with --table if it does",
        )
    preamble = [place for table, _ in mapped.tables for place in table.preamble]
    if preamble:
        shown = tuple(f"{name}{place}" for place in preamble[:10])
        yield Problem(
            kind="preamble", count=len(preamble), places=shown, note="lines before the header, which are no rows"
        )
    ragged = [
        row.place for table, _ in mapped.tables for row in table.rows if any(cell.startswith("+") for cell in row.cells)
    ]
    if ragged:
        yield Problem(
            kind="ragged",
            count=len(ragged),
            places=tuple(f"{name}{place}" for place in ragged[:10]),
            note="more cells than columns",
        )


def _warnings(mapped: Mapped, drafts: Sequence[Draft], language: Language) -> Iterator[str]:
    if warning := length_warning(drafts):
        yield warning
    if mapped.content.shifted:
        yield (
            f"{len(mapped.content.shifted)} headings hold the explanation of the proverb before them "
            "(longer than it): read as shifted by one; check a few"
        )
    origins = Counter(
        draft.origin for draft in drafts if draft.origin and not draft.rejected and not is_own(draft.origin, language)
    )
    if origins:
        named = ", ".join(f"{origin} {count}" for origin, count in origins.most_common(5))
        total = sum(origins.values())
        yield f"{total} rows come from elsewhere ({named}): translated proverbs are not native ones"
    if mapped.content.confidence < 0.9:
        sure = f"{mapped.content.confidence:.2f}"
        yield f"encoding {mapped.content.encoding} is only likely ({sure}); confirm it with --encoding"
