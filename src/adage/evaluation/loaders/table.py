"""Tables of multiple-choice questions whose layout is guessed from the names of their columns."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from adage.corpus.mapping import fold
from adage.errors import BenchmarkError
from adage.evaluation.loaders.answers import Candidate, Gold, decide, ones_and_zeros
from adage.evaluation.loaders.files import Entry
from adage.evaluation.loaders.question import Draft, check_options, tidy
from adage.language import Language

NAMES = {
    "scenario": (
        "scenario", "story", "narrative", "context", "passage", "article", "paragraph", "document", "situation",
        "premise", "ctx", "input", "sentence", "text",
    ),
    "question": ("question", "query", "prompt", "ask"),
    "options": (
        "choices", "options", "endings", "candidates", "alternatives", "proverbs", "answers", "mc1 targets",
        "candidate answers",
    ),
    "wrong": ("distractors", "incorrect answers", "wrong answers", "wrong options", "foils"),
    "answer": (
        "answer", "label", "gold", "target", "answer key", "answerkey", "correct", "correct answer", "answer index",
        "answer idx", "answer id", "correct option", "gold index", "gold label", "correct index", "cop", "labels",
        "key", "gold proverb", "correct proverb", "proverb",
    ),
    "id": ("id", "item id", "question id", "qid", "uid", "guid", "idx"),
    "group": ("group", "meaning group", "group id", "cluster id"),
    "roles": ("roles", "option roles", "distractor types"),
    "names": ("proverb ids", "option ids", "names"),
    "clusters": ("clusters", "option clusters"),
    "equivalent": ("equivalent", "lesson", "lesson id"),
    "language": ("language", "lang", "language code", "locale"),
    "split": ("split", "subset"),
}  # fmt: skip
"""Parts of a question → folded names of the columns that hold them, the likeliest first."""
_WRONG = ("distractor", "wrong", "incorrect", "foil")
"""Stems of columns that hold wrong options, so that the right one stands apart."""
_STEMS = ("option", "opt", "choice", "ending", "candidate", "alternative", "answer", "proverb", "sol", "text", *_WRONG)
_COLUMN = re.compile(rf"(?:(?P<stem>{'|'.join(_STEMS)})s? ?(?:answer|option|proverb)? ?)?(?P<label>[a-j]|\d{{1,2}})")
"""A folded column name that holds one option: `a`, `option 0`, `choice1`, `answer b`, `distractor 2`."""
MAX_OPTIONS = 200


class Layout(NamedTuple):
    """Which column plays which part."""

    columns: dict[str, str]
    """Part → column."""
    options: tuple[str, ...]
    """Columns of one option each, in their order; empty where one column lists them."""
    labels: tuple[str, ...]
    """What those columns call the options."""
    rivals: tuple[str, ...] = ()
    """Further columns whose names are those of answers."""
    apart: bool = False
    """Whether the columns, or the one list, hold wrong options only and the answer's text is one more."""


def find_layout(columns: Sequence[str]) -> Layout:
    """The layout that column names suggest; parts that no column fits are left out."""
    folded = {fold(column): column for column in reversed(columns)}
    found = {
        part: folded[next(name for name in names if name in folded)]
        for part, names in NAMES.items()
        if any(name in folded for name in names)
    }
    stems: dict[str, dict[str, str]] = {}
    for name, column in folded.items():
        if match := _COLUMN.fullmatch(name):
            stems.setdefault(match["stem"] or "", {})[match["label"]] = column
    runs = [(*_run(labelled), stem in _WRONG) for stem, labelled in stems.items()]
    runs = [run for run in runs if len(run[0]) > (0 if run[2] else 1)]
    labels, options, apart = max(runs, key=lambda run: len(run[0]), default=((), (), False))
    parts = {part: column for part, column in found.items() if column not in options}
    taken = {*parts.values(), *options}
    rivals = tuple(folded[name] for name in NAMES["answer"] if name in folded and folded[name] not in taken)
    return Layout(parts, options, labels, rivals, apart or not (options or "options" in parts))


def _run(labelled: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The labels that follow one another without a gap from the first (a, 0 or 1), and their columns."""
    first = next((label for label in ("a", "0", "1") if label in labelled), "")
    labels: list[str] = []
    while first in labelled and len(labels) < MAX_OPTIONS:
        labels.append(first)
        first = str(int(first) + 1) if first.isdigit() else chr(ord(first) + 1)
    return tuple(labels), tuple(labelled[label] for label in labels)


def is_table(entries: Sequence[Entry]) -> bool:
    """Whether the records look like questions with options."""
    layout = find_layout(_columns(entries))
    return bool(layout.options) or "options" in layout.columns or {"wrong", "answer"} <= layout.columns.keys()


def read_table(entries: Sequence[Entry], language: Language, *, first: int | None, place: str) -> list[Draft]:
    """The questions of a table.

    Args:
        entries: Its records.
        language: The language whose own letters may stand for options.
        first: Number of the first option where answers are numbers; None finds it out from the whole column.
        place: The file, for messages.

    Raises:
        BenchmarkError: A part is missing, a record is not sound, or it is not clear what the answers mean.
    """
    layout = find_layout(_columns(entries))
    _require(layout, entries, place)
    rows = [_options(entry, layout) for entry in entries]
    for entry, (options, _) in zip(entries, rows, strict=True):
        check_options(entry.place, options)
    candidates = [
        Candidate(entry.place, options, labels, _answer(entry, layout))
        for entry, (options, labels) in zip(entries, rows, strict=True)
    ]
    golds = decide(candidates, language, first=first, column=layout.columns.get("answer", ""))
    if not layout.apart:
        _check_rivals(entries, layout.rivals, candidates, golds, partial(decide, language=language, first=first))
    scenarios = _scenarios(entries, layout)
    return [
        Draft(
            place=entry.place,
            scenario=scenario,
            options=options,
            gold=gold,
            id=_text(entry, layout, "id"),
            group=_text(entry, layout, "group"),
            roles=tuple(map(str, _list(entry, layout, "roles"))),
            names=tuple(map(str, _list(entry, layout, "names"))),
            clusters=_numbers(_list(entry, layout, "clusters")),
            equivalent=_text(entry, layout, "equivalent"),
            language=_text(entry, layout, "language"),
            split=_text(entry, layout, "split"),
        )
        for entry, (options, _), gold, scenario in zip(entries, rows, golds, scenarios, strict=True)
    ]


def _check_rivals(
    entries: Sequence[Entry],
    rivals: Sequence[str],
    candidates: Sequence[Candidate],
    golds: Sequence[Gold],
    decided: Callable[..., list[Gold]],
) -> None:
    """Raise `BenchmarkError` where a second column can be read as the key too and says something else."""
    for rival in rivals:
        answers = [_literal(entry.fields.get(rival)) for entry in entries]
        rows = [row._replace(answer=answer) for row, answer in zip(candidates, answers, strict=True)]
        try:
            found = decided(rows, column=rival)
        except BenchmarkError:
            continue  # what cannot be read as a key is none
        if found != golds:
            at = next(at for at, (gold, other) in enumerate(zip(golds, found, strict=True)) if gold != other)
            raise BenchmarkError(
                f"{rows[at].place}: the answer is {candidates[at].answer!r}, but {rival!r} is {answers[at]!r}: each "
                "could be the key, and they differ",
                hint="rename or take out the column that is not the key",
            )


def _columns(entries: Sequence[Entry]) -> list[str]:
    return list(dict.fromkeys(name for entry in entries for name in entry.fields))


def _require(layout: Layout, entries: Sequence[Entry], place: str) -> None:
    parts = layout.columns
    options = bool(layout.options) or "options" in parts or "wrong" in parts
    lacking = [
        f"{what} ({', '.join(NAMES[part])})"
        for part, what, there in (
            ("scenario", "the scenario", "scenario" in parts or "question" in parts),
            ("options", "the options", options),
            ("answer", "the right answer", "answer" in parts or _nested_answer(entries[0], layout) is not None),
        )
        if not there
    ]
    if lacking:
        raise BenchmarkError(
            f"{place}: no column for {'; '.join(lacking)}; found: {', '.join(_columns(entries)) or 'nothing'}",
            hint="rename the columns; options may also stand in columns of their own, such as A, B, C, D or option_0",
        )


def _scenarios(entries: Sequence[Entry], layout: Layout) -> list[str]:
    """What is asked: the scenario, with the question under it where that is not the same one throughout."""
    scenarios = [_text(entry, layout, "scenario") for entry in entries]
    questions = [_text(entry, layout, "question") for entry in entries]
    if "scenario" in layout.columns and len(set(questions)) == 1 and len(entries) > 1:
        questions = [""] * len(entries)
    return [
        tidy("\n".join(filter(None, (scenario, question if question != scenario else ""))))
        for scenario, question in zip(scenarios, questions, strict=True)
    ]


def _options(entry: Entry, layout: Layout) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options of a record and what the file calls them, if it does; the right one first where it stands apart."""
    if layout.options:
        cells = [entry.fields.get(column) for column in layout.options]
        texts = ["" if cell is None else str(cell) for cell in cells]
        while texts and not texts[-1].strip():
            texts.pop()
        # Where columns count from 1 (`choice1`, `sol1`), the answers beside them may count from 0 all the same.
        options, labels = tuple(map(tidy, texts)), layout.labels[: len(texts)] if layout.labels[0] != "1" else ()
    else:
        column = layout.columns["wrong" if layout.apart else "options"]
        options, labels = listed_options(entry.fields.get(column), entry.place)
    if layout.apart:
        return (tidy(str(_answer(entry, layout))), *options), ()
    return options, labels


def listed_options(value: object, place: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Texts and labels of a cell that lists options: a list, a list of objects, or an object of lists or of texts.

    Raises:
        BenchmarkError: It lists nothing, or something else.
    """
    value = _literal(value)
    texts: Sequence[object] = ()
    labels: Sequence[object] = ()
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        parts = [_object(item) for item in value if isinstance(item, dict)]
        texts = [text for text, _ in parts]
        labels = [label for _, label in parts]
    elif isinstance(value, list):
        texts = value
    elif isinstance(value, dict):
        text, label = _object(value)
        if isinstance(text, list):
            texts, labels = text, label if isinstance(label, list) else ()
        else:
            there = {name: item for name, item in value.items() if item is not None}
            texts, labels = list(there.values()), list(there)
    if not texts or len(texts) > MAX_OPTIONS or not all(isinstance(text, str | int | float) for text in texts):
        raise BenchmarkError(
            f"{place}: expected a list of options, found {str(value)[:80]!r}",
            hint='write them as a JSON list of texts, or of objects such as {"label": "A", "text": "…"}',
        )
    given = len(labels) == len(texts) and all(isinstance(label, str | int) for label in labels)
    return tuple(tidy(str(text)) for text in texts), tuple(map(str, labels)) if given else ()


def _object(value: Mapping[str, object]) -> tuple[object, object]:
    """Text and label of an option that is an object (or the lists of both)."""
    fields = {fold(str(name)): item for name, item in value.items()}
    text = next((fields[name] for name in ("text", "choices", "option", "choice", "proverb") if name in fields), None)
    return text, next((fields[name] for name in ("label", "labels", "key", "id", "letter") if name in fields), None)


def _literal(value: object) -> object:
    """A cell that holds a list or an object as text, as JSON or as Python writes it; anything else as it is."""
    if not isinstance(value, str) or value.strip()[:1] not in {"[", "{"} or len(value) > 1 << 16:
        return value
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return value


def _answer(entry: Entry, layout: Layout) -> object:
    if "answer" in layout.columns:
        return _literal(entry.fields.get(layout.columns["answer"]))
    return _nested_answer(entry, layout)


def _nested_answer(entry: Entry, layout: Layout) -> object:
    """The ones and zeros that stand beside the options in one object."""
    value = _literal(entry.fields.get(layout.columns.get("options", "")))
    labels = value.get("labels") if isinstance(value, dict) else None
    return labels if ones_and_zeros(labels) else None


def _text(entry: Entry, layout: Layout, part: str) -> str:
    value = entry.fields.get(layout.columns.get(part, ""))
    return "" if value is None else str(value).strip()


def _list(entry: Entry, layout: Layout, part: str) -> list[object]:
    value = _literal(entry.fields.get(layout.columns.get(part, "")))
    return value if isinstance(value, list) and None not in value else []


def _numbers(values: Sequence[object]) -> tuple[int, ...]:
    whole = tuple(value for value in values if isinstance(value, int))
    return whole if len(whole) == len(values) else ()
