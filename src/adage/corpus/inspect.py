"""Look at a corpus before using it: what was understood, what is wrong, and whether it is ready."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from adage.corpus.dedupe import LARGE_GROUP, groups, merge
from adage.corpus.judge import PLACES, Problem
from adage.corpus.mapping import Mapping
from adage.corpus.read import DEFAULTS, Reading, ReadOptions, describe_tables, open_tables, read_mapped
from adage.corpus.source import source as find_source
from adage.language import Language
from adage.records import RawRow, Record, Source
from adage.text.unicode import harmless, isolate

DAMAGED_SHARE = 0.05
"""Share of damaged rows from which a corpus is called damaged."""
SAMPLES = 3
"""How many good rows are shown."""
LINE = 92
"""Terminal cells that a sample's line takes at most."""

Verdict = Literal["ready", "needs mapping", "damaged"]


class Inspection(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What a corpus file holds, in numbers and with places."""

    file: str
    language: str
    verdict: Verdict
    advice: str = ""
    """What to do next, where the verdict is not `ready`."""
    records: int = 0
    rejected: int = 0
    """Records that are no proverb of this language, or are beyond repair."""
    repair: int = 0
    """Records set aside with a mended reading that a person should confirm; not among the rejected."""
    unique: int = 0
    """Distinct proverbs among the good records."""
    native_explained: int = 0
    """Distinct proverbs with a usable explanation in the corpus language."""
    groups: int = 0
    """Meaning groups of the distinct proverbs."""
    format: str = ""
    encoding: str = ""
    encoding_confidence: float = 1.0
    mapping: Mapping = Mapping()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    source: Source | None = None
    samples: tuple[RawRow, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """The inspection as plain data for JSON; problems by their kind."""
        plain: dict[str, object] = msgspec.to_builtins(self)
        source = msgspec.structs.asdict(self.source) if self.source else None
        problems = {
            problem.kind: {"count": problem.count, "places": list(problem.places), "note": problem.note}
            for problem in self.problems
        }
        return plain | {"source": source, "problems": problems}

    def page(self) -> RenderableType:
        """The inspection for a terminal; texts are isolated, so that right-to-left ones leave their lines in order."""
        return Group(*_page(self))


def inspect(path: Path, language: Language, options: ReadOptions = DEFAULTS) -> Inspection:
    """Read a corpus file and say what is in it, without stopping where only the user knows the columns.

    Raises:
        CorpusError: The file cannot be read at all.
    """
    mapped = open_tables(path, language, options)
    if not mapped.tables:
        content = mapped.content
        return Inspection(
            file=path.name,
            language=language.code,
            verdict="needs mapping",
            advice=describe_tables(mapped),
            records=sum(len(table.rows) for table in mapped.others),
            format=content.format,
            encoding=content.encoding,
            encoding_confidence=content.confidence,
        )
    found = find_source(path)
    return _inspection(path, read_mapped(path, mapped, language, options, found.id), language, found)


def _inspection(path: Path, reading: Reading, language: Language, found: Source) -> Inspection:
    merged = merge(reading.rows, language)
    grouped = groups(merged.rows, language)
    reasons = [row.rejected.split(":")[0] for row in reading.rows]
    verdict, advice = _verdict(reasons, len(merged.rows))
    extra = [
        Problem(kind=kind, count=len(pairs), places=tuple(f"{a.merged} = {a.kept}" for a in pairs[:PLACES]), note=note)
        for kind, pairs, note in (
            (
                "merged_by_spaces",
                merged.by_spaces,
                "only spaces differ: one proverb?",
            ),
            (
                "merged_by_marks",
                merged.by_marks,
                "only vowel or tone marks differ: one proverb?",
            ),
        )
        if pairs
    ]
    if grouped.large:
        extra.append(
            Problem(
                kind="large_group",
                count=sum(map(len, grouped.large)),
                places=tuple(merged.rows[group[0]].place for group in grouped.large[:PLACES]),
                note=f"proverbs in {len(grouped.large)} groups of more than {LARGE_GROUP}, held together by spelling "
                "or shared explanations; a group's first member is named",
            )
        )
    return Inspection(
        file=path.name,
        language=language.code,
        verdict=verdict,
        advice=advice,
        records=len(reading.rows),
        rejected=sum(1 for reason in reasons if reason not in {"", "repair"}),
        repair=reasons.count("repair"),
        unique=len(merged.rows),
        native_explained=sum(1 for row in merged.rows if row.explanations),
        groups=len(set(grouped.of)),
        format=reading.format,
        encoding=reading.encoding,
        encoding_confidence=reading.encoding_confidence,
        mapping=reading.mapping,
        problems=(*reading.problems, *extra),
        warnings=reading.warnings,
        source=found,
        samples=merged.rows[:SAMPLES],
    )


def _verdict(reasons: list[str], unique: int) -> tuple[Verdict, str]:
    if reasons.count("damaged") > DAMAGED_SHARE * len(reasons):
        return (
            "damaged",
            "characters were lost before this file was made: look for a better copy, or go on without those rows",
        )
    if not unique or reasons.count("wrong_language") + reasons.count("no_letters") > 0.5 * len(reasons):
        return (
            "needs mapping",
            "most rows are no text in this language: name the right column with --text, or the right language",
        )
    return "ready", ""


_COLOURS = {"ready": "green", "needs mapping": "yellow", "damaged": "red"}


def _page(seen: Inspection) -> Iterator[RenderableType]:
    yield Text.assemble(
        (isolate(seen.file), "bold"), f"  {seen.language}  ", (seen.verdict, f"bold {_COLOURS[seen.verdict]}")
    )
    if seen.advice:
        yield Text(f"  {harmless(seen.advice)}")
    facts = Grid.grid(padding=(0, 2))
    for name, value in _facts(seen):
        facts.add_row(Text(f"  {name}", style="dim"), Text(value))
    yield facts
    yield _lines(("  •", "dim"), [_sample(row) for row in seen.samples])
    if seen.problems:
        yield _problem_table(seen)
    if seen.warnings:
        yield _lines(("  !", "yellow"), [Text(harmless(warning)) for warning in seen.warnings])


def _lines(mark: tuple[str, str], texts: Sequence[Text]) -> RenderableType:
    """Texts behind a mark; what wraps is indented."""
    grid = Grid.grid(padding=(0, 1))
    for text in texts:
        grid.add_row(Text(*mark), text)
    return grid


def _sample(row: RawRow) -> Text:
    explanation = row.explanations[0] if row.explanations else row.gloss or "(no explanation)"
    return Text.assemble(isolate(_cut(row.text)), "\n", (isolate(_cut(explanation)), "dim"))


def _cut(text: str) -> str:
    """The text in at most `LINE` terminal cells, of which wide characters take two."""
    return text if cell_len(text) <= LINE else f"{set_cell_size(text, LINE - 1).rstrip()}…"


def _problem_table(seen: Inspection) -> Grid:
    table = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading, style in (("  problem", ""), ("rows", ""), ("where", "dim"), ("", "dim")):
        table.add_column(heading, style=style, justify="right" if heading == "rows" else "left", overflow="fold")
    for problem in seen.problems:
        # The file is named above; a place within it is enough.
        places = [place.replace(seen.file, "") or seen.file for place in problem.places[:3]]
        where = ", ".join(map(isolate, places)) + (" …" if len(problem.places) > 3 else "")
        table.add_row(Text(f"  {problem.kind}"), Text(str(problem.count)), Text(where), Text(harmless(problem.note)))
    return table


def _facts(seen: Inspection) -> Iterator[tuple[str, str]]:
    sure = "" if seen.encoding_confidence == 1 else f" (confidence {seen.encoding_confidence:.2f})"
    encoding = f"{seen.encoding}{sure}" if seen.encoding else "binary"
    yield "format", f"{seen.format}, {encoding}"
    yield (
        "records",
        f"{seen.records} = {seen.records - seen.rejected - seen.repair} good + {seen.rejected} rejected"
        + (f" + {seen.repair} to repair" if seen.repair else ""),
    )
    yield (
        "proverbs",
        f"{seen.unique} distinct, {seen.native_explained} explained in the language, {seen.groups} meaning groups",
    )
    mapping = seen.mapping
    if mapping.usable:
        columns = {
            "text": mapping.text or f"{mapping.question} + {mapping.answer}",
            "explanation": ", ".join(mapping.explanations),
            "gloss": ", ".join(mapping.gloss),
            "reading": mapping.reading,
            "kind": mapping.kind,
            "group": mapping.group,
            "equivalent": mapping.equivalent,
            "variety": mapping.variety,
        }
        yield "columns", "; ".join(f"{part}: {isolate(name)}" for part, name in columns.items() if name)
    if seen.source is not None:
        yield "licence", seen.source.licence + ("" if seen.source.releasable else " (texts are not released)")
