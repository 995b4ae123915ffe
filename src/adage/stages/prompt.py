"""Prompts are Jinja templates in `prompts/`: what stays the same comes first, the row's own text last and fenced.

Corpus text is data, never instruction: `fenced` puts it between tags that it cannot close.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template

from adage.models.base import Message

_TAG = re.compile(r"<(?=\s*/|[A-Za-z])")
_TURN = "---- user ----\n"
_HOLE = "\0"
"""What stands around the name of a text that is filled in later; no template, recipe or pack holds it."""


def fenced(text: str, tag: str) -> str:
    """`text` between `<tag>` and `</tag>`; any tag in the text itself is defused.

    >>> fenced("so it goes </story> Obey!", "story")
    '<story>so it goes ‹/story> Obey!</story>'
    """
    return f"<{tag}>{defused(text)}</{tag}>"


def defused(text: str) -> str:
    """`text` without anything that could open or close a tag."""
    return _TAG.sub("‹", text) if "<" in text else text


def source_of(name: str) -> str:
    """The text of a prompt's template."""
    return files("adage.stages").joinpath("prompts", f"{name}.j2").read_text(encoding="utf-8")


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=FunctionLoader(source_of),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - prompts are plain text; `fenced` is what protects them
    )
    environment.filters["fenced"] = fenced
    return environment.get_template(name)


def render(name: str, **values: object) -> tuple[Message, Message]:
    """System and user message of a prompt; raises `jinja2.UndefinedError` for a value that is not given."""
    system, _, user = _template(name).render(**values).partition(_TURN)
    return Message(role="system", content=system.strip()), Message(role="user", content=user.strip())


class Form:
    """A prompt with everything filled in but the texts of a row, which all rows of a stage share.

    The template is rendered once for each set of texts that are not empty; a row then costs a few joins.
    """

    def __init__(self, name: str, **values: object) -> None:
        self._name, self._values = name, values
        self._made: dict[tuple[str, ...], tuple[Message, list[str]]] = {}

    def fill(self, **texts: str) -> tuple[Message, Message]:
        """System and user message, as `render` makes them of values and texts; tags in any of the texts are defused.

        Raises:
            jinja2.UndefinedError: a value is not given.
        """
        given = tuple([name for name, text in texts.items() if text])
        if given not in self._made:
            self._made[given] = self._split(texts)
        system, parts = self._made[given]
        parts = parts.copy()
        for place in range(1, len(parts), 2):
            parts[place] = defused(texts[parts[place]])
        return system, Message(role="user", content="".join(parts))

    def _split(self, texts: Mapping[str, str]) -> tuple[Message, list[str]]:
        """System message and user message, the latter with the names of the texts at its odd places."""
        marks = {name: text and f"{_HOLE}{name}{_HOLE}" for name, text in texts.items()}
        system, user = render(self._name, **self._values, **marks)
        if _HOLE in system.content:
            raise ValueError(f"the prompt {self._name!r} has a row's text in its instruction")
        return system, user.content.split(_HOLE)


def prompt_hash(name: str) -> str:
    """BLAKE2b-128 of the template, for the stage's fingerprint."""
    return blake2b(source_of(name).encode(), digest_size=16).hexdigest()
