"""`adage init`: a commented recipe, with a sample corpus or with what was recognised in the user's own file."""

from __future__ import annotations

import json
import os
import uuid
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from adage.corpus.read import Reading, read
from adage.errors import RecipeError
from adage.language import load
from adage.showcase import shared_folder
from adage.store.files import write_atomic

_EXAMPLE = """\
{"text": "Write one proverb a line here", "explanation": "and, in the same language, what it means to those who use it"}
"""


def scaffold(folder: Path, language: str, corpus: Path | None = None) -> list[Path]:
    """Write `recipe.yaml` (and, without a corpus, a sample one) into `folder`; returns what was written.

    Raises:
        RecipeError: there is a recipe already.
        LanguageError: the language is unknown.
        CorpusError: the corpus cannot be read.
    """
    if folder.is_file():
        raise RecipeError(f"{str(folder)!r} is a file", hint="name a folder; it is made if it is not there")
    recipe = folder / "recipe.yaml"
    if recipe.exists():
        raise RecipeError(
            f"{str(recipe)!r} is there already", hint="choose another folder, or edit the recipe that is there"
        )
    pack = load(language)
    reading = None if corpus is None else read(corpus, pack)
    written = []
    if corpus is None:
        target = folder / "proverbs.jsonl"
        sample = _sample(language)
        write_atomic(target, sample.read_bytes() if sample else _EXAMPLE.encode())
        written.append(target)
        name = target.name
    else:
        name = os.path.relpath(corpus, folder)
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - YAML, not HTML
    )
    environment.filters["yaml"] = lambda value: json.dumps(value, ensure_ascii=False)
    template = environment.from_string(files("adage").joinpath("recipe.yaml.j2").read_text("utf-8"))
    text = template.render(language=pack, corpus=name, reading=reading, k=_k_range(reading), canary=uuid.uuid4())
    write_atomic(recipe, text.encode())
    return [recipe, *written]


def _k_range(reading: Reading | None) -> tuple[int, int]:
    """The paper's range of k, or a narrower one for a corpus of fewer proverbs."""
    n = sum(not row.rejected for row in reading.rows) if reading else 250
    return min(10, max(2, n // 8)), min(25, max(3, n // 3))


def _sample(language: str) -> Path | None:
    path = shared_folder("samples") / f"capr-{language}" / "proverbs.jsonl"
    return path if path.is_file() else None
