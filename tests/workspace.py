"""A folder with a corpus and a recipe, as a user would have it, for tests that build."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from adage.builder import Built, build
from adage.recipe import Recipe, load_recipe

_THINGS = (
    "river", "lantern", "donkey", "mill", "bridge", "kettle", "orchard", "anchor", "shepherd", "candle", "ladder",
    "fox", "harvest", "tailor", "well", "saddle", "thorn", "beehive", "ferry", "plough", "sparrow", "hammer",
    "cellar", "goat",
)  # fmt: skip
_VERBS = ("follows", "outlives", "answers", "betrays", "carries", "forgets", "teaches", "mocks")
_MEANINGS = (
    "a small effort kept up", "a boast without means", "help that comes too late", "trust given to a stranger",
    "anger that hurts its owner", "a plan made with care", "a gift that binds", "work shared by many",
)  # fmt: skip


def proverbs(n: int) -> list[dict[str, str]]:
    """`n` made-up English proverbs with explanations: no two alike, none of anybody's."""
    draw = random.Random(7)
    pairs = [(first, verb, second) for first in _THINGS for verb in _VERBS for second in _THINGS if first != second]
    draw.shuffle(pairs)
    return [
        {
            "text": f"The {first} {verb} the {second}",
            "explanation": f"Said of {draw.choice(_MEANINGS)}, as when number {i} of {second}s meets its {first}.",
        }
        for i, (first, verb, second) in enumerate(pairs[:n])
    ]


@dataclass
class Workspace:
    """A recipe's folder."""

    folder: Path

    @property
    def recipe_file(self) -> Path:
        """Where the recipe lies."""
        return self.folder / "recipe.yaml"

    @property
    def run(self) -> Path:
        """The run folder."""
        return self.folder / "run"

    def write_corpus(self, rows: list[dict[str, str]]) -> None:
        """Write the corpus anew."""
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (self.folder / "proverbs.jsonl").write_text(text, encoding="utf-8")

    def write_recipe(self, recipe: dict[str, Any]) -> None:
        """Write the recipe anew."""
        with self.recipe_file.open("w", encoding="utf-8") as handle:
            YAML().dump(recipe, handle)

    def edit(self, **changes: object) -> None:
        """Change top-level keys of the recipe."""
        recipe = YAML().load(self.recipe_file.read_text(encoding="utf-8"))
        recipe.update(changes)
        self.write_recipe(recipe)

    def recipe(self) -> Recipe:
        """The recipe as loaded."""
        return load_recipe(self.folder)

    def build(self, **options: Any) -> Built:
        """Build in this process."""
        return asyncio.run(self.abuild(**options))

    async def abuild(self, **options: Any) -> Built:
        """Build inside a running loop."""
        return await build(self.folder, **options)

    def content(self) -> dict[str, bytes]:
        """Every file of the run but the volatile ones, by relative path."""
        return {
            str(path.relative_to(self.run)): path.read_bytes()
            for path in sorted(self.run.rglob("*"))
            if path.is_file() and path.name not in {"run.json", ".lock"}
        }

    def rows(self, folder: str, name: str = "kept") -> list[dict[str, Any]]:
        """The rows of one of a stage's files."""
        path = self.run / folder / f"{name}.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def counts(self, folder: str) -> dict[str, Any]:
        """A stage's account."""
        state: dict[str, Any] = json.loads((self.run / folder / "stage.json").read_text(encoding="utf-8"))
        return dict(state["counts"])


def workspace(folder: Path, url: str, *, n: int = 30, scenarios: int = 2, judges: int = 3) -> Workspace:
    """A workspace with `n` proverbs whose models all answer at `url`."""
    folder.mkdir(parents=True, exist_ok=True)
    space = Workspace(folder)
    space.write_corpus(proverbs(n))
    names = ["writer", *(f"judge-{i}" for i in range(judges))]
    space.write_recipe(
        {
            "version": 1,
            "name": "CAPR-test",
            "language": "en",
            "canary": "00000000-0000-4000-8000-000000000000",
            "corpus": {"file": "proverbs.jsonl"},
            "models": {
                name: {"kind": "endpoint", "base_url": url, "model": "fake", "seed": i, "retries": 1, "concurrency": 8}
                for i, name in enumerate(names)
            },
            "roles": {"labeller": "writer", "namer": "writer", "generator": "writer", "judges": names[1:]},
            "encoder": {"kind": "scripted"},
            "cluster": {"k": [3, 6]},
            "generate": {"n": scenarios, "per_call": scenarios},
            "filter": {"identify": False, "min_length": 5, "rouge": 0.95, "leak_percentile": 99.99},
            "curate": {"shares": {"train": 0.5, "dev": 0.2, "test": 0.3}, "min_groups": 4},
        }
    )
    return space
