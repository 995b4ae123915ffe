"""ADAGE: proverbs of any language into a hard multiple-choice benchmark of analogical reasoning.

The names below are all that is public; they load when first used, so that `import adage` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adage.api import analyse, build, demo, evaluate, init, inspect, plan, prompt, show, status
    from adage.errors import AdageError
    from adage.recipe import Recipe, load_recipe
    from adage.records import Check, Item, Option, Proverb, Scenario, Source, Theme, verify

__all__ = [
    "AdageError",
    "Check",
    "Item",
    "Option",
    "Proverb",
    "Recipe",
    "Scenario",
    "Source",
    "Theme",
    "analyse",
    "build",
    "demo",
    "evaluate",
    "init",
    "inspect",
    "load_recipe",
    "plan",
    "prompt",
    "show",
    "status",
    "verify",
]

_HOME = {"AdageError": "errors", "Recipe": "recipe", "load_recipe": "recipe"} | dict.fromkeys(
    ("Check", "Item", "Option", "Proverb", "Scenario", "Source", "Theme", "verify"), "records"
)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the public names are of many types
    if name not in __all__:
        raise AttributeError(f"module 'adage' has no attribute {name!r}")
    return getattr(import_module(f"adage.{_HOME.get(name, 'api')}"), name)
