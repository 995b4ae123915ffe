"""Plain text files: one proverb a line, verses between blank lines, `%` fortunes, EDICT entries, OpenITI mARkdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby, islice
from statistics import median
from typing import NamedTuple

import regex

from adage.corpus.table import Row, Table, first

_OPENITI = "######OpenITI#"
_EDICT = regex.compile(r"(?P<text>[^\s/\[]+)(?:\s+\[(?P<reading>[^\]]*)\])?\s+/(?P<gloss>.*)/\s*$")
_EDICT_TAG = regex.compile(r"^(?:\([a-zA-Z0-9,:;\- ]+\)\s*)+")
_BODY_MARKS = regex.compile(r"\s*\b(?:PageV\d+P\d+[AB]?|ms\d+|Milestone\d+)\b")


class PlainFile(NamedTuple):
    """What a plain text file held."""

    format: str
    table: Table
    orphans: tuple[str, ...] = ()
    """Places of pieces that belong to no record, such as an explanation whose proverb lies before the cut."""
    shifted: tuple[str, ...] = ()
    """Places of records whose marks were found one piece off and were put right."""


def read_plain(text: str) -> PlainFile:
    """The records of a plain text file, in the layout that its lines show."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if text.lstrip().startswith(_OPENITI):
        return _openiti(lines)
    filled = [line for line in lines if line.strip()]
    if any(line.rstrip() == "%" for line in filled):
        return PlainFile("fortunes", _blocks(lines, lambda line: line.rstrip() == "%"))
    if filled and sum(1 for line in filled if _EDICT.match(line)) >= 0.9 * len(filled):
        return PlainFile("edict", _edict(lines))
    if (table := _markdown_table(lines)) is not None:
        return PlainFile("markdown table", table)
    if (table := _glossary(lines)) is not None:
        return PlainFile("glossary", table)
    if _are_verses(lines):
        return PlainFile("verses", _blocks(_stanza_breaks(lines), lambda line: line == "%"))
    return PlainFile("lines", read_lines(lines))


def read_lines(lines: Iterable[str], limit: int = 0) -> Table:
    """A row for each line with text, up to `limit`; what stands above the first mark of a marked list is none."""
    filled = ((number, line.rstrip("\r\n")) for number, line in enumerate(lines, 1) if line.strip())
    head = list(islice(filled, SAMPLE_LINES))
    listed = [bool(_LISTED.match(line)) for _, line in head]
    start = listed.index(True) if sum(listed) >= 0.8 * max(3, len(listed)) else 0
    table = Table("", ["text"], named=False, preamble=[f":{number}" for number, _ in head[:start]])
    for number, line in islice(chain(head[start:], filled), limit or None):
        table.add(Row({"text": line}, f":{number}"))
    return table


SAMPLE_LINES = 200
"""Lines that show whether a text is a numbered or bulleted list."""


def _blocks(lines: list[str], separates: Callable[[str], bool]) -> Table:
    table = Table("", ["text"], named=False)
    start = 1
    for number, line in enumerate([*lines, "%"], 1):
        if separates(line):
            block = lines[start - 1 : number - 1]
            filled = [offset for offset, inner in enumerate(block) if inner.strip()]
            if filled:
                text = "\n".join(block[filled[0] : filled[-1] + 1])
                table.add(Row({"text": text}, f":{start + filled[0]}"))
            start = number + 1
    return table


def _stanza_breaks(lines: list[str]) -> list[str]:
    """The lines with `%` where blank lines part the stanzas (the longer run of blanks, when there are two kinds)."""
    runs = [len(list(run)) for blank, run in groupby(lines, key=lambda line: not line.strip()) if blank]
    shortest = min(runs, default=1)
    inner = 1 if shortest == 1 and sum(1 for run in runs if run > 1) > 0.3 * len(runs) else 0
    broken: list[str] = []
    for blank, run in groupby(lines, key=lambda line: not line.strip()):
        chunk = list(run)
        broken.extend(["%"] * len(chunk) if blank and len(chunk) > inner else chunk)
    return broken


def _are_verses(lines: list[str]) -> bool:
    """Whether blank lines part blocks of which most have several lines, which are neither numbered nor a long list."""
    blocks = [len(list(run)) for blank, run in groupby(lines, key=lambda line: not line.strip()) if not blank]
    listed = sum(1 for line in lines if _LISTED.match(line))
    several = [block for block in blocks if block > 1]
    if len(blocks) < 2 or len(several) < 0.5 * len(blocks) or listed > 0.5 * sum(blocks):
        return False
    return median(several) <= STANZA


STANZA = 8
"""Lines of a stanza; longer blocks are sections of a list."""
_LISTED = regex.compile(r"\s*(?:[(\[]?\p{Nd}{1,5}\s*[.)\]:、．।॥-]|[①-⑳]|[-*•·‣▪–]\s)")


_RULE = regex.compile(r"\s*\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?\s*)?")


def _markdown_table(lines: list[str]) -> Table | None:
    """The first table of a Markdown file: a line of names, a rule, and lines of cells."""
    rule = next((i for i, line in enumerate(lines) if i and _RULE.fullmatch(line) and "|" in lines[i - 1]), 0)
    if not rule:
        return None
    table = Table("", _md_cells(lines[rule - 1]))
    for number, line in enumerate(lines[rule + 1 :], rule + 2):
        if "|" not in line:
            break
        table.add(Row(dict(zip(table.columns, _md_cells(line), strict=False)), f":{number}"))
    return table


def _md_cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in regex.split(r"(?<!\\)\|", line.strip().strip("|"))]


_GLOSSARY = (
    *(regex.compile(rf"(?P<text>.+?){sign}(?P<explanation>.+)") for sign in (" – ", " — ", " - ", ": ", " = ", "：")),
    regex.compile(r"(?P<text>.+?)\s*[(（](?P<explanation>[^()（）]+)[)）][.。]?"),
)
"""Forms of a line that explains its proverb: a sign between the two, or the explanation in brackets at the end."""


def _glossary(lines: list[str]) -> Table | None:
    """Lines of `proverb – explanation`: nearly all have the sign, and what follows it is mostly the longer part."""
    filled = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    for form in _GLOSSARY:
        pairs = [match for _, line in filled if (match := form.fullmatch(line))]
        if len(pairs) < max(3, 0.95 * len(filled)):
            continue
        lengths = [(len(match["text"]), len(match["explanation"])) for match in pairs]
        longer = sum(1 for match in pairs if len(match["text"]) > 3 and len(match["explanation"]) > len(match["text"]))
        left, right = map(sum, zip(*lengths, strict=True))
        if longer < 0.7 * len(pairs) or right < 1.25 * left:
            continue
        table = Table("", ["text", "explanation"])
        for number, line in filled:
            match = form.fullmatch(line)
            table.add(Row(match.groupdict() if match else {"text": line, "explanation": ""}, f":{number}"))
        return table
    return None


def _edict(lines: list[str]) -> Table:
    table = Table("", ["text", "reading", "gloss"])
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        match = _EDICT.match(line)
        if match is None:
            table.add(Row({"text": line}, f":{number}", damage="line is not an EDICT entry"))
            continue
        senses = [_EDICT_TAG.sub("", sense) for sense in match["gloss"].split("/") if not sense.startswith("EntL")]
        table.add(
            Row({"text": match["text"], "reading": match["reading"] or "", "gloss": "; ".join(senses)}, f":{number}")
        )
    return table


class _Piece(NamedTuple):
    kind: str
    text: str
    line: int


def _pieces(lines: list[str]) -> Iterator[_Piece]:
    """Headings (`# |`) and paragraphs (`#`) of mARkdown with their continuation lines, page and milestone marks cut."""
    body = next((i for i, line in enumerate(lines) if line.startswith("#META#Header#End#")), -1) + 1
    kind, parts, start = "", list[str](), 0
    for number, line in enumerate([*lines[body:], "#"], body + 1):
        if line.startswith("~~"):
            parts.append(line[2:])
        elif line.startswith("#"):
            if kind and (text := _BODY_MARKS.sub("", " ".join(part.strip() for part in parts)).strip()):
                yield _Piece(kind, text, start)
            heading = regex.match(r"#+ \|+\s*", line)
            kind = "head" if heading else "body"
            parts, start = [line[heading.end() :] if heading else line.lstrip("# ")], number
        elif line.strip():
            parts.append(line)


def _openiti(lines: list[str]) -> PlainFile:
    """Entries of an OpenITI book: a heading with the paragraphs up to the next one.

    In real books the marks can slip by one piece over long stretches, so that a `# |` heading holds the explanation of
    the paragraph before it. As headings that name a proverb are shorter than what explains them, the cheapest
    sequence of the two states (regular, slipped) is found by dynamic programming, with a price on each change.
    """
    pieces = list(_pieces(lines))
    heads = [index for index, piece in enumerate(pieces) if piece.kind == "head"]
    slipped = _slipped(pieces, heads)
    table = Table("", ["heading", "body"])
    orphans, shifted = list[str](), list[str]()
    for order, index in enumerate(heads):
        end = heads[order + 1] if order + 1 < len(heads) else len(pieces)
        following = pieces[index + 1 : end]
        if not slipped[order]:
            body = "\n".join(piece.text for piece in following)
            table.add(Row({"heading": pieces[index].text, "body": body}, f":{pieces[index].line}"))
            continue
        if order == 0 or not slipped[order - 1]:
            orphans.append(f":{pieces[index].line}")
        for piece in following[:-1]:
            if len(piece.text) > _PROVERB_LENGTH and table.rows:
                table.rows[-1].cells["body"] = f"{first(table.rows[-1].cells['body'])}\n{piece.text}"
            else:
                table.add(Row({"heading": piece.text, "body": ""}, f":{piece.line}"))
        if following:
            explained = order + 1 < len(heads) and slipped[order + 1]
            body = pieces[end].text if explained else ""
            shifted.append(f":{following[-1].line}")
            table.add(Row({"heading": following[-1].text, "body": body}, shifted[-1]))
    return PlainFile("openiti", table, tuple(orphans), tuple(shifted))


_CHANGE_PRICE = 4.0
_PROVERB_LENGTH = 120
"""Characters above which a paragraph among others is more of an explanation, not a proverb without one."""


def _slipped(pieces: list[_Piece], heads: list[int]) -> list[bool]:
    """For each heading whether it stands in a slipped stretch (Viterbi over two states)."""
    costs: list[tuple[float, float]] = [(0.0, 0.0)]
    paths: list[tuple[int, int]] = []
    for order, index in enumerate(heads):
        end = heads[order + 1] if order + 1 < len(heads) else len(pieces)
        body = sum(len(piece.text) for piece in pieces[index + 1 : end])
        head = len(pieces[index].text)
        local = (float(0 < body < head), float(body > head))
        before = costs[-1]
        came = (0 if before[0] <= before[1] + _CHANGE_PRICE else 1, 1 if before[1] <= before[0] + _CHANGE_PRICE else 0)
        costs.append(
            (
                local[0] + before[came[0]] + _CHANGE_PRICE * (came[0] != 0),
                local[1] + before[came[1]] + _CHANGE_PRICE * (came[1] != 1),
            )
        )
        paths.append(came)
    state = 0 if costs[-1][0] <= costs[-1][1] else 1
    states: list[bool] = []
    for came in reversed(paths):
        states.append(bool(state))
        state = came[state]
    return states[::-1]
