"""The shape of the code: one import direction, modules of a readable size, facts about languages in data files."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest
from babel import Locale

from adage.language import available

SRC = Path(__file__).parents[1] / "src" / "adage"
FILES = sorted(SRC.rglob("*.py"))
ORDER = (
    "errors", "records", "text.scripts", "language", "text", "keys", "recipe", "models.base", "models.parse",
    "models.ask", "store", "models", "corpus", "stage", "stages", "evaluation", "analysis", "cast", "engine",
    "pipeline", "export", "forecast", "accounts", "builder", "evaluator", "analyser", "planner", "story", "showcase",
    "scaffold", "packs", "skeleton", "api", "bill", "terminal", "cli", "__main__",
)  # fmt: skip
"""Parts of the package, each of which imports earlier ones only; the longest name that fits a module counts."""


def name_of(file: Path) -> str:
    """Dotted name below the package; a package's `__init__` has the package's name."""
    return ".".join(file.relative_to(SRC).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


TREES = {name_of(file): ast.parse(file.read_text(encoding="utf-8")) for file in FILES}


def imports_of(tree: ast.AST) -> set[str]:
    """Modules of the package that a module imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "adage":
            base = node.module.removeprefix("adage").removeprefix(".")
            inner = {f"{base}.{alias.name}".strip(".") for alias in node.names}
            found |= (inner & TREES.keys()) or {base}
    return found


def part_of(module: str) -> str:
    """The part of the package that a module belongs to."""
    fits = [part for part in ORDER if module == part or module.startswith(f"{part}.")]
    return max(fits, key=len) if fits else ""


MODULES = sorted(name for name in TREES if name)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module):
    """A module imports its own part and earlier ones, so that each can be read without those that build on it."""
    own = part_of(module)
    assert own, f"{module} has no place in the order of this test: give it one"
    later = {name for name in imports_of(TREES[module]) if name and ORDER.index(part_of(name)) > ORDER.index(own)}
    assert not later, f"{module} imports what comes after it: {sorted(later)}"


def test_no_module_imports_itself_in_a_circle():
    """Modules form no cycle, inside a part either."""
    graph = {name: imports_of(tree) & TREES.keys() - {name} for name, tree in TREES.items() if name}
    while leaves := [name for name, needs in graph.items() if not needs & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert not graph, f"these import one another in a circle: {sorted(graph)}"


def test_stages_and_engine_do_not_know_each_other():
    """A stage never learns where it runs, and the engine runs any stage."""
    for module in MODULES:
        used = {name.partition(".")[0] for name in imports_of(TREES[module])}
        assert not (module.startswith("stages") and "engine" in used), module
        assert not (module.startswith("engine") and "stages" in used), module


def test_stages_see_no_model_but_its_contract():
    """A stage is given its models; which ones they are is the cast's business."""
    for module in MODULES:
        if module.startswith("stages"):
            models = {name for name in imports_of(TREES[module]) if name.startswith("models")}
            assert models <= {"models.base", "models.ask", "models.parse"}, module


@pytest.mark.parametrize("module", MODULES)
def test_imports_stand_at_the_top(module):
    """No import statement hides in a function; optional heavy packages go through `importlib`."""
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            hidden = [ast.unparse(part) for part in ast.walk(node) if isinstance(part, ast.Import | ast.ImportFrom)]
            assert not hidden, f"{module}.{node.name}: {hidden}"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_modules_are_short_and_say_what_they_are(file):
    """Every module has a docstring, at most 600 lines, and no function over 80."""
    tree = TREES[name_of(file)]
    assert ast.get_docstring(tree), "no docstring"
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 600
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < 80, node.name


def docstrings(tree: ast.AST) -> set[int]:
    """First lines of all strings that stand as statements of their own."""
    return {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }


ORDINARY = {"as", "en", "id", "is", "it", "no", "or", "to", "english"}
"""English is the language of prompts, labels and messages; the others are ordinary words."""
ALLOWED = {
    ("showcase", "ja"), ("showcase", "ar"), ("showcase", "am"),  # the samples that the demo builds
    ("text.segment", "ja"),  # the name of an extra
    ("text.scripts", "thai"),  # a script
}  # fmt: skip


def strings_of(file: Path) -> list[str]:
    """Contents of the string literals in a file's code, docstrings apart."""
    tree = TREES[name_of(file)]
    skipped = docstrings(tree)
    inside = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [node.value for node in inside if node.lineno not in skipped]


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_no_language_is_written_into_the_code(file):
    """Facts about languages are data: no code and no name of a language that has a pack stands in a module."""
    codes = set(available()) - ORDINARY
    names = {Locale("en").languages[code].casefold() for code in available()} - ORDINARY
    for text in strings_of(file):
        words = {text} & codes | set(re.findall(r"\w+", text.casefold())) & names
        words = {word for word in words if (name_of(file), word) not in ALLOWED}
        assert not words, f"{name_of(file)} speaks of {sorted(words)} in {text!r}"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_identifiers_name_no_language(file):
    """No function, class or variable is about one language."""
    names = {Locale("en").languages[code].casefold() for code in available()} - ORDINARY
    tokens = tokenize.generate_tokens(io.StringIO(file.read_text(encoding="utf-8")).readline)
    found = {
        token.string
        for token in tokens
        if token.type == tokenize.NAME and set(re.split(r"_|(?<=[a-z])(?=[A-Z])", token.string.casefold())) & names
    }
    assert not found
