r"""Data written as source code: JavaScript, TypeScript, Kotlin, Python, Dart, Swift, PHP; and SQL INSERT statements.

Only literals are read (strings, numbers, lists, objects, constructor calls with literal arguments); nothing is run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import regex

from adage.corpus.table import DEPTH, Fields, Row, Table, tables_of
from adage.errors import CorpusError


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


_TOKEN = regex.compile(
    r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|(?<=^|\n)\s*\#[^\n]*)
  | (?P<string>\"\"\"(?:.*?)\"\"\"|'''(?:.*?)'''|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)
  | (?P<number>[-+]?\d[\w.]*)
  | (?P<word>[\p{L}_$@][\p{L}\p{M}\p{N}_$.?!]*)
  | (?P<arrow>=>|->)
  | (?P<mark>.)
    """,
    regex.X | regex.S,
)
_ESCAPE = regex.compile(r"\\(u\{[0-9A-Fa-f]+\}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|\r?\n|.)", regex.S)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_OPEN = {"[": "]", "{": "}", "(": ")"}
_NOTHING = {"null", "undefined", "None", "nil", "nullptr"}


def read_literals(source: str, *, strict: bool = False) -> list[Table]:
    """Tables of all list, object and call literals of a source file, named by the variable they are bound to.

    Raises:
        CorpusError: Nested too deeply; or, where `strict`, a bracket is not closed.
    """
    tokens = [token for token in _tokens(source) if token.kind != "skip"]
    found: list[Table] = []
    added: dict[str, list[object]] = {}
    name, at = "", 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind == "word":
            following = tokens[at + 1].text if at + 1 < len(tokens) else ""
            if following in {"=", ":"} or (at and tokens[at - 1].text in _DECLARE):
                name = token.text
        if token.text in _OPEN and token.kind == "mark":
            before = tokens[at - 1].text if at and tokens[at - 1].kind == "word" else ""
            parser = _Parser(tokens, at)
            value = parser.value()
            if strict and parser.open:
                raise CorpusError("a bracket is not closed", hint="was the file cut off?")
            if token.text == "(" and before.rpartition(".")[2] in _ADDERS and value:
                added.setdefault(before, []).append(value[0] if isinstance(value, list) and len(value) == 1 else value)
            else:
                found.extend(table for table in tables_of(value, name=name) if table.rows)
            at = parser.at
        else:
            at += 1
    for receiver, values in added.items():
        found.extend(tables_of(values, name=receiver.rpartition(".")[0]))
    return found


_ADDERS = {"add", "put", "append", "push", "insert"}
"""Methods whose calls, one a line, build a collection."""
_MODIFIERS = {"new", "const", "final"}
_DECLARE = {"const", "let", "var", "val", "final"}


def _tokens(source: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(source):
        yield _Token(match.lastgroup or "mark", match.group(), match.start())


def unescape(literal: str) -> str:
    """Content of a quoted literal with its escapes resolved once."""
    triple = literal[:3] in {'"""', "'''"} and len(literal) >= 6
    body = literal[3:-3] if triple else literal[1:-1]
    return _ESCAPE.sub(_unescape_one, body)


def _unescape_one(match: regex.Match[str]) -> str:
    code = match.group(1)
    if code[0] in "ux" and len(code) > 1:
        number = int(code[1:].strip("{}"), 16)
        return chr(number) if number <= 0x10FFFF else "\ufffd"
    return _ESCAPES.get(code, code)


@dataclass(slots=True)
class _Parser:
    """Recursive descent over literals; whatever is no literal is passed over."""

    tokens: list[_Token]
    at: int
    depth: int = 0
    open: bool = False
    """Whether the tokens ended within a bracket."""

    def value(self) -> object:
        """The literal at the cursor, which moves past it."""
        token = self.tokens[self.at]
        self.at += 1
        if token.kind == "string":
            parts = [unescape(token.text)]
            while self._peek() == "+" and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].kind == "string":
                parts.append(unescape(self.tokens[self.at + 1].text))
                self.at += 2
            return "".join(parts)
        if token.kind == "word":
            if token.text in _MODIFIERS and self.at < len(self.tokens) and self.tokens[self.at].kind == "word":
                return self.value()
            return self._call(token)
        if token.kind == "mark" and token.text in _OPEN:
            return self._group(_OPEN[token.text])
        return token.text

    def _peek(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def _call(self, word: _Token) -> object:
        """A name: nothing, a bare word, or a call whose arguments are the value."""
        if self._peek() == "<":
            end = next(
                (i for i in range(self.at, min(self.at + 40, len(self.tokens))) if self.tokens[i].text == ">"), -1
            )
            if end > 0 and end + 1 < len(self.tokens) and self.tokens[end + 1].text == "(":
                self.at = end + 1
        if (self._peek() in {"(", "["} and self.tokens[self.at].at == word.at + len(word.text)) or self._after_generic(
            word
        ):
            return self.value()
        return "" if word.text in _NOTHING else word.text

    def _after_generic(self, word: _Token) -> bool:
        return self._peek() == "(" and self.tokens[self.at - 1].text == ">" and self.tokens[self.at - 1].at > word.at

    def _group(self, close: str) -> object:
        """Everything up to the closing bracket: fields when keys are given, else a list."""
        self.depth += 1
        if self.depth > DEPTH:
            raise CorpusError(f"source literals are nested more than {DEPTH} levels deep", hint="is this a corpus?")
        fields, items = Fields(), list[object]()
        while self.at < len(self.tokens) and self._peek() != close:
            if self._peek() in {",", ";"}:
                self.at += 1
                continue
            if self._peek() in _OPEN.values():
                break
            value = self.value()
            if self._peek() in {":", "=", "=>", "to", "->"} and isinstance(value, str):
                self.at += 1
                if self.at < len(self.tokens) and self._peek() not in {close, ","}:
                    fields.append((value, self.value()))
            else:
                items.append(value)
        self.open = self.open or self._peek() != close
        self.at += 1
        self.depth -= 1
        return fields or items


_SQL_TOKEN = regex.compile(
    r"""
    (?P<skip>\s+|--[^\n]*|/\*.*?\*/|\#[^\n]*)
  | (?P<string>[EeNn]?'(?:[^'\\]|''|\\.)*')
  | (?P<name>"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\])
  | (?P<word>[\p{L}_][\p{L}\p{N}_$.]*)
  | (?P<number>[-+]?\d[\d.eE+-]*)
  | (?P<mark>.)
    """,
    regex.X | regex.S,
)


def read_sql(text: str) -> list[Table]:
    """Tables of the INSERT statements of an SQL script; columns as the statement or CREATE TABLE names them."""
    tokens = [token for token in _sql_tokens(text) if token.kind != "skip"]
    line_starts = [match.start() for match in regex.finditer(r"\n", text)]
    created: dict[str, list[str]] = {}
    tables: dict[str, Table] = {}
    at = 0
    while at < len(tokens):
        word = tokens[at].text.upper()
        if (
            word == "CREATE"
            and at + 2 < len(tokens)
            and "TABLE" in {token.text.upper() for token in tokens[at + 1 : at + 3]}
        ):
            at = _create(tokens, at, created)
        elif word == "INTO" and at and at + 1 < len(tokens):
            at = _insert(tokens, at + 1, created, tables, line_starts)
        else:
            at += 1
    return list(tables.values())


def _sql_tokens(text: str) -> Iterator[_Token]:
    for match in _SQL_TOKEN.finditer(text):
        yield _Token(match.lastgroup or "mark", match.group(), match.start())


def _name(tokens: list[_Token], at: int) -> tuple[str, int]:
    """A possibly qualified, possibly quoted name and the position after it."""
    name = tokens[at].text
    while at + 2 < len(tokens) and tokens[at + 1].text == ".":
        at += 2
        name = tokens[at].text
    return name.strip('"`[]').rsplit(".", 1)[-1], at + 1


def _create(tokens: list[_Token], at: int, created: dict[str, list[str]]) -> int:
    while at < len(tokens) and tokens[at].text.upper() != "TABLE":
        at += 1
    at += 1
    while at < len(tokens) and tokens[at].text.upper() in {"IF", "NOT", "EXISTS"}:
        at += 1
    if at >= len(tokens):
        return at
    name, at = _name(tokens, at)
    columns, depth, fresh = list[str](), 0, False
    while at < len(tokens):
        token = tokens[at]
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            break
        if ((fresh or (token.text == "(" and depth == 1)) and token.text == "(") or (token.text == "," and depth == 1):
            fresh = True
        elif fresh:
            if token.text.upper() not in _CONSTRAINTS:
                columns.append(token.text.strip('"`[]'))
            fresh = False
        at += 1
    created[name] = columns
    return at + 1


_CONSTRAINTS = {"PRIMARY", "FOREIGN", "UNIQUE", "CHECK", "CONSTRAINT", "KEY", "INDEX"}


def _insert(
    tokens: list[_Token], at: int, created: dict[str, list[str]], tables: dict[str, Table], line_starts: list[int]
) -> int:
    name, at = _name(tokens, at)
    columns: list[str] = []
    if at < len(tokens) and tokens[at].text == "(":
        at += 1
        while at < len(tokens) and tokens[at].text != ")":
            if tokens[at].text != ",":
                columns.append(tokens[at].text.strip('"`[]'))
            at += 1
        at += 1
    columns = columns or created.get(name, [])
    if at >= len(tokens) or tokens[at].text.upper() != "VALUES":
        return at
    table = tables.setdefault(name, Table(name, named=bool(columns)))
    at += 1
    while at < len(tokens) and tokens[at].text == "(":
        line = _line(line_starts, tokens[at].at)
        values, at = _values(tokens, at + 1)
        cells = {(columns[i] if i < len(columns) else str(i + 1)): value for i, value in enumerate(values)}
        table.add(Row({**cells}, f":{line}"))
        if at < len(tokens) and tokens[at].text == ",":
            at += 1
    return at


def _values(tokens: list[_Token], at: int) -> tuple[list[str], int]:
    values, current, depth = list[str](), "", 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.text == ")" and depth == 0 and token.kind == "mark":
            break
        if token.text == "," and depth == 0 and token.kind == "mark":
            values.append(current)
            current = ""
            continue
        depth += ((token.text == "(") - (token.text == ")")) if token.kind == "mark" else 0
        if token.kind == "string":
            body = token.text.lstrip("EeNn")[1:-1].replace("''", "'")
            current += _ESCAPE.sub(_unescape_one, body)
        elif token.text.upper() != "NULL":
            current += token.text
    return [*values, current], at


def _line(line_starts: list[int], position: int) -> int:
    return bisect_left(line_starts, position) + 1
