"""Text tables with any delimiter: quotes, line breaks in cells, ragged rows, with or without a header."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable

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


def sniff_delimiter(text: str) -> tuple[str, float]:
    r"""The delimiter under which most records have the same number (two or more) of cells, and the share that has.

    >>> sniff_delimiter("a;b,c;d\n1;2;3\n4;5,5;6\n")
    (';', 1.0)
    """
    best = ("", 0.0)
    for delimiter in DELIMITERS:
        if delimiter not in text:
            continue
        sample = _records(text, delimiter, limit=SAMPLE_ROWS)
        widths = Counter(len(cells) for cells, _ in sample if any(cell.strip() for cell in cells))
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        share = count / sum(widths.values())
        if width > 1 and share > best[1] + 0.05:
            best = (delimiter, round(share, 3))
    return best


def read_delimited(text: str, delimiter: str, *, is_header: IsHeader) -> Table:
    """The table of a delimited text; cells beyond the header's go to columns `+1`, `+2`, ...

    Args:
        text: Decoded file.
        delimiter: One character.
        is_header: Told the first record and some that follow, says whether it holds column names.

    Raises:
        CorpusError: The delimiter is not one character.
    """
    if len(delimiter) != 1:
        raise CorpusError(f"a delimiter is one character, not {delimiter!r}", hint="for a tab give $'\\t'")
    records = [(cells, line) for cells, line in _records(text, delimiter) if cells]
    if not records:
        return Table("")
    return table_of_records(records, is_header=is_header)


def table_of_records(
    records: list[tuple[list[str], int]],
    *,
    is_header: IsHeader,
    name: str = "",
) -> Table:
    """A table of cell lists with their line numbers; the first record names the columns if `is_header` says so."""
    place = f"#{name}/" if name else ":"
    start = _header_at(records, is_header)
    heads = [cell.strip().lstrip("\ufeff") for cell in records[max(start, 0)][0]] if start >= 0 else []
    body = records[start + 1 :]
    width = max(Counter(len(cells) for cells, _ in records).most_common(1)[0][0], len(heads))
    columns = _unique(heads) if heads else [str(number) for number in range(1, width + 1)]
    columns += [f"+{number}" for number in range(1, width - len(columns) + 1)]
    preamble = [f"{place}{line}" for _, line in records[: max(start, 0)]]
    table = Table(name, columns, named=bool(heads), preamble=preamble)
    for cells, line in body:
        extra = [f"+{number}" for number in range(1, len(cells) - len(columns) + 1)]
        table.add(Row(dict(zip([*columns, *extra], cells, strict=False)), f"{place}{line}"))
    return table


def _header_at(records: list[tuple[list[str], int]], is_header: IsHeader) -> int:
    """Index of the header: the first record, or one of the next few below a title; -1 for none."""
    for start, (cells, _) in enumerate(records[:PREAMBLE]):
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


def _records(text: str, delimiter: str, *, limit: int = 0) -> list[tuple[list[str], int]]:
    """Cell lists with the line each begins at; blank lines give empty lists."""
    lines = _physical_lines(text)
    records: list[tuple[list[str], int]] = []
    start = 0
    while start < len(lines) and not (limit and len(records) >= limit):
        reader = csv.reader(iter(lines[start:]), delimiter=delimiter)
        used = 0
        stray = False
        try:
            for cells in reader:
                if any(cell.count("\n") > SWALLOWED for cell in cells):
                    stray = True
                    break
                records.append(
                    (cells if any(cell.strip() for cell in cells) or len(cells) > 1 else [], start + used + 1)
                )
                used = reader.line_num
                if limit and len(records) >= limit:
                    return records
        except csv.Error as error:
            raise CorpusError(f"line {start + used + 1}: {error}", hint="is this a text table?") from None
        if not stray:
            break
        # One line is taken as it stands, then quoting is trusted again.
        cells = next(csv.reader([lines[start + used].rstrip("\r\n")], delimiter=delimiter, quoting=csv.QUOTE_NONE))
        records.append((cells, start + used + 1))
        start += used + 1
    return records


def _physical_lines(text: str) -> list[str]:
    """Lines with their ends, split at CR, LF and CRLF only (not at the other Unicode separators)."""
    return list(io.StringIO(text, newline=""))
