"""JSON, JSON Lines, YAML and XML to tables; duplicate keys are kept, aliases and runaway nesting are refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from xml.parsers import expat

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from adage.corpus.literals import read_literals
from adage.corpus.table import DEPTH, Fields, Row, Table, tables_of
from adage.errors import CorpusError

_DECODER = json.JSONDecoder(object_pairs_hook=Fields)


def read_json(text: str, name: str) -> list[Table]:
    """Tables of a JSON document; one with comments, trailing commas or bare keys is read as a source literal.

    Raises:
        CorpusError: It is neither, with the line of the first fault.
    """
    try:
        value = _DECODER.decode(text.strip().lstrip("\ufeff"))
    except json.JSONDecodeError as error:
        try:
            tables = read_literals(text, strict=True)
        except CorpusError:
            tables = []
        if tables:
            return tables
        raise CorpusError(f"{name}:{error.lineno}:{error.colno}: not JSON: {error.msg}", hint=_MEND) from None
    except RecursionError:
        raise CorpusError(f"{name}: JSON nested too deeply to read", hint="is this a corpus?") from None
    return tables_of(value)


_MEND = "mend that place, or save the file as JSON again"


def read_jsonl(lines: Iterable[str], limit: int = 0) -> list[Table]:
    """One table of the first `limit` (or all) lines of JSON; a line that is not JSON is kept as a damaged row."""
    table = Table("")
    filled = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    for number, line in islice(filled, limit or None):
        try:
            value: object = _DECODER.decode(line.strip().lstrip("\ufeff"))
            inner = tables_of([value])
        except (json.JSONDecodeError, RecursionError, CorpusError) as error:
            table.add(Row({}, f":{number}", damage=f"line is not JSON ({type(error).__name__})"))
            continue
        rows = inner[0].rows if inner else [Row({}, "")]
        table.add(Row(rows[0].cells, f":{number}"))
    return [table]


def read_yaml(text: str, name: str) -> list[Table]:
    """Tables of a YAML document; only plain data are made, tags are ignored and aliases refused.

    Raises:
        CorpusError: Not YAML, or it uses aliases (a few of which can stand for billions of values).
    """
    yaml = YAML(typ="safe", pure=True)
    try:
        for token in yaml.scan(text):
            if type(token).__name__ == "AliasToken":
                line = token.start_mark.line + 1
                raise CorpusError(
                    f"{name}:{line}: YAML aliases (*name) are not read", hint="write the repeated value out"
                )
        node = yaml.compose(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise CorpusError(f"{name}:{line}: not YAML: {error.problem}", hint=_MEND) from None
    except (YAMLError, RecursionError) as error:
        raise CorpusError(f"{name}: not YAML: {type(error).__name__}", hint=_MEND) from None
    return tables_of(_plain(node, 0))


def _plain(node: Node | None, depth: int) -> object:
    """The data of a YAML node as texts, so that nothing (dates, `no`, 010) is reinterpreted."""
    if depth > DEPTH:
        raise CorpusError(f"YAML nested more than {DEPTH} levels deep", hint="is this a corpus?")
    if isinstance(node, MappingNode):
        return Fields((str(key.value), _plain(value, depth + 1)) for key, value in node.value)
    if isinstance(node, SequenceNode):
        return [_plain(value, depth + 1) for value in node.value]
    if isinstance(node, ScalarNode):
        return "" if node.tag == "tag:yaml.org,2002:null" else str(node.value)
    return ""


def read_xml(text: str, name: str) -> list[Table]:
    """Tables of an XML document: children of one tag are a list, attributes are fields.

    Raises:
        CorpusError: Not XML, or it declares a document type (the door to entity expansion).
    """
    builder = _XmlBuilder(name)
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.CharacterDataHandler = builder.text
    parser.StartDoctypeDeclHandler = builder.doctype
    try:
        parser.Parse(text.encode("utf-8", errors="replace"), True)
    except expat.ExpatError as error:
        raise CorpusError(f"{name}:{error.lineno}: not XML: {expat.ErrorString(error.code)}", hint=_MEND) from None
    return tables_of(builder.open[0].value())


class _Element:
    """An XML element that is being read."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.fields: list[tuple[str, object]] = list(attributes.items())
        self.parts: list[str] = []

    def value(self) -> object:
        """Its text, or its fields; those whose tag comes several times as one list."""
        text = "".join(self.parts).strip()
        if not self.fields:
            return text
        times = Counter(tag for tag, _ in self.fields)
        fields = Fields((tag, value) for tag, value in self.fields if times[tag] == 1)
        fields.extend((tag, [value for own, value in self.fields if own == tag]) for tag in times if times[tag] > 1)
        if text:
            fields.append(("text", text))
        return fields


_INLINE = {"a", "b", "em", "emphasis", "font", "i", "mark", "small", "span", "strong", "style", "u"}
"""Elements of XHTML and FictionBook within running text."""


class _XmlBuilder:
    """Builds nested data from expat's events."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.open = [_Element("", {})]

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element opens; what only changes the look of words is passed over."""
        if tag in _INLINE:
            return
        if len(self.open) > DEPTH:
            raise CorpusError(f"{self.name}: XML nested more than {DEPTH} levels deep", hint="is this a corpus?")
        self.open.append(_Element(tag, attributes))

    def end(self, tag: str) -> None:
        """An element closes, and becomes a field of the one around it."""
        if tag in _INLINE:
            return
        self.open[-2].fields.append((tag, self.open.pop().value()))

    def text(self, text: str) -> None:
        """Characters between tags."""
        self.open[-1].parts.append(text)

    def doctype(self, *_: object) -> None:
        """A document type is refused."""
        raise CorpusError(f"{self.name} declares a document type", hint="take the <!DOCTYPE ...> out")
