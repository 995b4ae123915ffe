"""What the answer column of a foreign table means, decided over the whole column so that no row is read by chance.

A column is read in the one way that fits all of its rows: as the file's own labels, the option's text, letters,
numbers from 0 or from 1, or a list of ones and zeros. Where two ways fit and differ, it is asked, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from adage.errors import BenchmarkError
from adage.evaluation.loaders.question import tidy
from adage.language import Language
from adage.text.unicode import key


class Candidate(NamedTuple):
    """A record's options and its answer as it stands in the file."""

    place: str
    options: tuple[str, ...]
    labels: tuple[str, ...]
    """What the file calls the options; empty where it does not say."""
    answer: object


Gold = tuple[int, ...]
Reading = Callable[[Candidate], Gold | None]
"""Positions of the right options under one way to read an answer; None where it cannot be read that way."""


def decide(rows: Sequence[Candidate], language: Language, *, first: int | None, column: str) -> list[Gold]:
    """Positions of the right options of every row.

    Raises:
        BenchmarkError: A row has no answer, no reading fits all rows, or two do and differ.
    """
    for row in rows:
        if row.answer is None or row.answer == "" or row.answer in ([], -1, "-1"):
            raise BenchmarkError(
                f"{row.place}: there is no answer in {column!r} (found {row.answer!r})",
                hint="the key of this split seems to be withheld: take another split with --split",
            )
    readings = _readings(language, first)
    found = {name: [reading(row) for row in rows] for name, reading in readings.items()}
    fitting = {name: golds for name, golds in found.items() if None not in golds}
    if not fitting:
        raise _misfit(rows, found, column)
    distinct = {tuple(golds) for golds in fitting.values()}
    if len(distinct) > 1:
        # Labels are the file's own words; letters and numbers are conventions, and texts may look like either.
        if "label" not in fitting or fitting.get("text", fitting["label"]) != fitting["label"]:
            raise _ambiguous(rows[0], fitting, column)
        distinct = {tuple(fitting["label"])}
    return [gold for gold in distinct.pop() if gold is not None]


def _readings(language: Language, first: int | None) -> dict[str, Reading]:
    if first is not None:
        return {f"number from {first}": _each(partial(_number, first))}
    letters = [tuple("abcdefghijklmnopqrstuvwxyz"), tuple(letter.casefold() for letter in language.letters)]
    numbers = {f"number from {start}": _each(partial(_number, start)) for start in (0, 1)}
    return {
        "label": _each(_label),
        "text": _each(partial(_text, language)),
        "letter": _each(partial(_letter, letters)),
        **numbers,
        "ones and zeros": _flags,
    }


def _each(read: Callable[[Candidate, object], Gold | None]) -> Reading:
    """The reading of one answer or of a list of different ones; a key that calls every option right is none."""

    def reading(row: Candidate) -> Gold | None:
        values = row.answer if isinstance(row.answer, list) else [row.answer]
        golds = [read(row, value) for value in values]
        places = {place for gold in golds if gold for place in gold}
        distinct = None not in golds and len(places) >= len(golds) and len(places) < len(row.options)
        return tuple(sorted(places)) if distinct else None

    return reading


def _plain(value: object) -> str:
    return "" if isinstance(value, bool) else str(value).strip().strip("().:").casefold()


def _label(row: Candidate, value: object) -> Gold | None:
    labels = [_plain(label) for label in row.labels]
    return (labels.index(_plain(value)),) if _plain(value) in labels else None


def _text(language: Language, row: Candidate, value: object) -> Gold | None:
    if not isinstance(value, str):
        return None
    same = tuple(place for place, option in enumerate(row.options) if option == tidy(value))
    if not same:
        wanted = key(value, language)
        same = tuple(place for place, option in enumerate(row.options) if wanted and key(option, language) == wanted)
    return same or None


def _letter(alphabets: Sequence[Sequence[str]], row: Candidate, value: object) -> Gold | None:
    for alphabet in alphabets:
        if (letter := _plain(value)) in alphabet[: len(row.options)]:
            return (list(alphabet).index(letter),)
    return None


def _number(start: int, row: Candidate, value: object) -> Gold | None:
    text = _plain(value).removesuffix(".0")
    place = int(text) - start if text.isdecimal() and len(text) < 4 else -1
    return (place,) if 0 <= place < len(row.options) else None


def _flags(row: Candidate) -> Gold | None:
    flags = ones_and_zeros(row.answer)
    return tuple(place for place, flag in enumerate(flags) if flag) if len(flags) == len(row.options) else None


def ones_and_zeros(value: object) -> list[int]:
    """The value, where it is a list of ones and zeros and has both; else nothing."""
    flags = [flag for flag in value if isinstance(flag, int)] if isinstance(value, list) else []
    return flags if set(flags) == {0, 1} and isinstance(value, list) and len(flags) == len(value) else []


def _misfit(rows: Sequence[Candidate], found: dict[str, list[Gold | None]], column: str) -> BenchmarkError:
    """The first row that the best reading cannot read."""
    name, golds = max(found.items(), key=lambda entry: sum(gold is not None for gold in entry[1]))
    bad = rows[golds.index(None)]
    read = len(golds) - golds.count(None)
    how = f"; {read} of {len(rows)} rows can be read as {name}" if read else ""
    return BenchmarkError(
        f"{bad.place}: {column!r} is {bad.answer!r}, but the record has {len(bad.options)} options{how}",
        hint="expected throughout: a label, a letter, a number from 0 or from 1, or the text of the option",
    )


def _ambiguous(row: Candidate, fitting: dict[str, list[Gold | None]], column: str) -> BenchmarkError:
    return BenchmarkError(
        f"{row.place}: {column!r} is {row.answer!r}, and all of the column can be read as {' or as '.join(fitting)}",
        hint="say from which number the options are counted: --format table0 or --format table1",
    )
