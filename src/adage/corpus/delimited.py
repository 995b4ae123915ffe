"""Text tables with any delimiter: quotes, line breaks in cells, ragged rows, with or without a header."""

from __future__ import annotations

import csv
import io
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from statistics import median

from adage.corpus.table import Row, Table
from adage.errors import CorpusError

DELIMITERS = (",", "\t", ";", "|", "¦", "^", "~", "\x1f")
IsHeader = Callable[[list[str], list[list[str]]], bool]
"""Told a record's cells and those of the records below it: does the first hold column names?"""
SAMPLE_ROWS = 200
PREAMBLE = 6
"""Records among which the header is looked for."""
SWALLOWED = 20
"""Line breaks in one cell beyond which its opening quote is taken for a stray one."""
LONGEST = 200
"""Lines that one record may take, so that a stray quote does not pull the rest of the file into memory."""


def sniff_delimiter(text: str) -> tuple[str, float]:
    r"""The delimiter under which most records have the same number (two or more) of cells, and the share that has.

    >>> sniff_delimiter("a;b,c;d\n1;2;3\n4;5,5;6\n")
    (';', 1.0)
    """
    best = ("", 0.0)
    for delimiter in DELIMITERS:
        if delimiter not in text:
            continue
        sample = islice(_records(io.StringIO(text, newline=""), delimiter), SAMPLE_ROWS)
        widths = Counter(len(cells) for cells, _ in sample if any(cell.strip() for cell in cells))
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        share = count / sum(widths.values())
        if width > 1 and share > best[1] + 0.05:
            best = (delimiter, round(share, 3))
    return best


def read_delimited(lines: Iterable[str], delimiter: str, *, is_header: IsHeader, limit: int = 0) -> Table:
    """The table of a delimited text; cells beyond the header's go to columns `+1`, `+2`, ...

    Args:
        lines: Lines of the decoded file with their ends, split at CR, LF and CRLF only.
        delimiter: One character.
        is_header: Told the first record and some that follow, says whether it holds column names.
        limit: Records to stop after; 0 reads all.

    Raises:
        CorpusError: The delimiter is not one character.
    """
    if len(delimiter) != 1:
        raise CorpusError(f"a delimiter is one character, not {delimiter!r}", hint="for a tab give $'\\t'")
    records = ((cells, line) for cells, line in _records(iter(lines), delimiter) if cells)
    return table_of_records(records, is_header=is_header, limit=limit)


def table_of_records(
    records: Iterable[tuple[list[str], int]], *, is_header: IsHeader, name: str = "", limit: int = 0
) -> Table:
    """A table of cell lists with their line numbers; the first record names the columns if `is_header` says so."""
    place = f"#{name}/" if name else ":"
    rest = iter(records)
    sample = list(islice(rest, SAMPLE_ROWS))
    if not sample:
        return Table(name)
    start = _header_at(sample, is_header)
    heads = [cell.strip().lstrip("\ufeff") for cell in sample[start][0]] if start >= 0 else []
    width = max(Counter(len(cells) for cells, _ in sample).most_common(1)[0][0], len(heads))
    columns = _unique(heads) if heads else [str(number) for number in range(1, width + 1)]
    columns += [f"+{number}" for number in range(1, width - len(columns) + 1)]
    table = Table(name, columns.copy(), named=bool(heads))
    table.preamble = [f"{place}{line}" for _, line in sample[: max(start, 0)]]
    for cells, line in islice(chain(sample[start + 1 :], rest), limit or None):
        extra = [f"+{number}" for number in range(1, len(cells) - len(columns) + 1)]
        table.add(Row(dict(zip([*columns, *extra] if extra else columns, cells, strict=False)), f"{place}{line}"))
    return table


def _header_at(records: list[tuple[list[str], int]], is_header: IsHeader) -> int:
    """Index of the header: the first record, or one of the next few below a title; -1 for none."""
    usual = median(sum(1 for cell in cells if cell.strip()) for cells, _ in records[:SAMPLE_ROWS])
    for start, (cells, _) in enumerate(records[:PREAMBLE]):
        if usual > 1 and sum(1 for cell in cells if cell.strip()) <= 1:
            continue
        heads = [cell.strip().lstrip("\ufeff") for cell in cells]
        below = [row for row, _ in records[start + 1 : SAMPLE_ROWS]]
        # A title fills fewer cells than the table has.
        titles = all(sum(1 for cell in row if cell.strip()) < len(heads) for row, _ in records[:start])
        if is_header(heads, below) and (start == 0 or (titles and sum(1 for head in heads if head) > 1)):
            return start
    return -1


def _unique(heads: list[str]) -> list[str]:
    seen: Counter[str] = Counter()
    names: list[str] = []
    for number, head in enumerate(heads, 1):
        name = head or f"column {number}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _records(lines: Iterator[str], delimiter: str) -> Iterator[tuple[list[str], int]]:
    """Cell lists with the line each begins at; blank lines give empty lists.

    A quote that opens a cell of very many lines is taken for a stray one: that line is read as it stands, the next
    ones again.
    """
    again, taken = deque[str](), list[str]()

    def feed() -> Iterator[str]:
        while len(taken) <= LONGEST and (line := again.popleft() if again else next(lines, None)) is not None:
            taken.append(line)
            yield line

    reader = csv.reader(feed(), delimiter=delimiter)
    number = 1
    while True:
        taken.clear()
        try:
            cells = next(reader, None)
            if cells is None:
                return
            if len(taken) > LONGEST or any(cell.count("\n") > SWALLOWED for cell in cells):
                again.extendleft(reversed(taken[1:]))
                del taken[1:]
                cells = next(csv.reader([taken[0].rstrip("\r\n")], delimiter=delimiter, quoting=csv.QUOTE_NONE))
                reader = csv.reader(feed(), delimiter=delimiter)
        except csv.Error as error:
            raise CorpusError(f"line {number}: {error}", hint="is this a text table?") from None
        yield (cells if len(cells) > 1 or any(cell.strip() for cell in cells) else []), number
        number += len(taken)
