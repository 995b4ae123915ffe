"""Benchmarks of any kind as questions: our own folders, BIG-bench tasks, ePiC, and tables of multiple choice."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from adage import language as languages
from adage.corpus.mapping import fold, tongues_of
from adage.errors import BenchmarkError, LanguageError
from adage.evaluation.loaders.bigbench import find_tasks, read_task, task_name
from adage.evaluation.loaders.epic import is_epic, read_epic
from adage.evaluation.loaders.files import SUFFIXES, Entry, read_entries
from adage.evaluation.loaders.published import ALL, choose, find_published, folder_of, load_published
from adage.evaluation.loaders.question import Draft, finish
from adage.evaluation.loaders.table import is_table, read_table
from adage.evaluation.result import Benchmark

FORMATS = ("adage", "bigbench", "epic", "table", "table0", "table1")
"""`table0` and `table1` say from which number the answers of a table count, where that cannot be told."""
_SPLITS = {"train": "train", "dev": "dev", "validation": "dev", "valid": "dev", "val": "dev", "test": "test"}
_FOREIGN = "en"
"""Language of the tasks that are read without being told."""


class Ask(NamedTuple):
    """What is wanted of a path that may hold more; empty means the usual."""

    assembly: str = ""
    split: str = ""
    code: str = ""
    """Language, as a BCP 47 code."""
    layout: str = ""
    """One of `FORMATS`."""


def load_benchmark(
    path: Path,
    *,
    assembly: str = "",
    split: str = "",
    language: str = "",
    format: str = "",  # noqa: A002
) -> Benchmark:
    """The one benchmark at a path; arguments as in `load_benchmarks`.

    Raises:
        BenchmarkError: There is none, there are several, or it is not sound.
        VerificationError: A file is not what its manifest says.
    """
    found = load_benchmarks(path, assembly=assembly, split=split, language=language, format=format)
    if len(found) > 1:
        listed = "; ".join(" ".join(filter(None, (one.name, one.language, one.assembly))) for one in found)
        raise BenchmarkError(
            f"{str(path)!r} holds {len(found)} benchmarks: {listed}",
            hint="name the folder or file of one, or choose with --language and --assembly",
        )
    return found[0]


def load_benchmarks(
    path: Path,
    *,
    assembly: str = "",
    split: str = "",
    language: str = "",
    format: str = "",  # noqa: A002
) -> list[Benchmark]:
    """Every benchmark at a path: more than one where it holds several languages, tasks or assemblies.

    Args:
        path: A file or folder: our benchmark folder (or the run, recipe or parent folder around it), a BIG-bench task,
            ePiC, or tables of multiple-choice questions (Parquet, JSON, JSON Lines, CSV, also in folders by split).
        assembly: How options were put together; `balanced` by default, `all` for every one. Of tables, the folder.
        split: `test` by default, or the only one there is; `all` for every one.
        language: BCP 47 code: chooses among several, and says what a foreign file does not.
        format: One of `FORMATS`; found out from the content by default.

    Raises:
        BenchmarkError: There is none, or it is not sound; the message has the place and the value.
        VerificationError: A file is not what its manifest says.
        LanguageError: The code of the language is not known.
    """
    if format not in {"", *FORMATS}:
        raise BenchmarkError(f"unknown format {format!r}", hint=f"formats are: {', '.join(FORMATS)}")
    if not path.exists():
        raise BenchmarkError(f"there is no benchmark at {str(path)!r}: no such file or folder", hint="check the path")
    code = languages.load(language).code if language else ""
    if folder := folder_of(path):
        path, assembly, split = folder, path.resolve().parent.name, path.stem
    if format in {"", "adage"} and (published := find_published(path)):
        found = [
            benchmark
            for folder, manifest in published
            if not code or manifest.language == code
            for benchmark in load_published(folder, manifest, assembly=assembly, split=split)
        ]
        there = ", ".join(sorted({manifest.language for _, manifest in published}))
    elif format in {"", "bigbench"} and (tasks := find_tasks(path)):
        found, there = [_task(file, code or _FOREIGN) for file in tasks], ""
    elif format in {"adage", "bigbench"}:
        raise BenchmarkError(f"{str(path)!r} holds no benchmark of the format {format!r}", hint="name its folder")
    else:
        read = _tables(path, Ask(assembly, _SPLITS.get(split, split), code, format))
        found = [benchmark for benchmark in read if code in {"", benchmark.language}]
        there = ", ".join(sorted({benchmark.language for benchmark in read}))
    if not found:
        raise BenchmarkError(f"{str(path)!r} holds no benchmark in {language!r}", hint=f"it has: {there or 'none'}")
    return found


def remarks(benchmark: Benchmark) -> list[str]:
    """What a reader of numbers on this benchmark should know of its questions."""
    questions = benchmark.questions
    found = []
    asked = collections.Counter((question.scenario, question.options) for question in questions)
    if repeated := sum(count - 1 for count in asked.values()):
        found.append(f"{repeated} of {len(questions)} questions repeat an earlier one word for word")
    if several := sum(len(question.gold) > 1 for question in questions):
        found.append(f"{several} of {len(questions)} questions have more than one right option; any of them counts")
    if len(sizes := sorted({len(question.options) for question in questions})) > 1:
        found.append(f"questions have from {sizes[0]} to {sizes[-1]} options")
    places = {question.gold for question in questions}
    if len(places) == 1 and len(questions) > 1:
        where = "first" if places == {(0,)} else f"at place {places.pop()[0] + 1}"
        found.append(
            f"the right option stands {where} in every question of the file: only rotated or shuffled orders count"
        )
    if twice := sum(len(set(question.options)) < len(question.options) for question in questions):
        found.append(f"{twice} of {len(questions)} questions show the same option twice")
    return found


def _task(file: Path, code: str) -> Benchmark:
    drafts = list(read_task(file))
    return _benchmark(task_name(file), code, drafts, str(file))


def _benchmark(name: str, code: str, drafts: Sequence[Draft], place: str, assembly: str = "") -> Benchmark:
    if not drafts:
        raise BenchmarkError(f"{place!r} holds no question", hint="was it fetched whole?")
    questions = finish(drafts, languages.load(code))
    return Benchmark(name=name, language=code, assembly=assembly, questions=questions)


def _tables(path: Path, ask: Ask) -> list[Benchmark]:
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if _is_data(file, path))
    if not files:
        raise BenchmarkError(
            f"{str(path)!r} holds no benchmark: neither a manifest, nor a task.json, nor a table",
            hint=f"tables are files ending in {', '.join(SUFFIXES)}",
        )
    tongues = {file: _language_of(file, path) for file in files}
    if ask.code and len(set(tongues.values()) - {""}) > 1:
        files = [file for file in files if tongues[file] in {"", ask.code, ask.code.partition("-")[0]}]
    configs: dict[str, list[Path]] = {}
    for file in files:
        configs.setdefault(_config(file, path), []).append(file)
    if not files:
        return []
    # Other benchmarks asked beside this one may have assemblies, and splits, where it has none.
    asked = (ask.assembly or ALL) if len(configs) > 1 else ""
    names = choose(asked, configs, "", what="assembly", place=path)
    return [benchmark for name in names for benchmark in _config_tables(path, name, configs[name], ask)]


def _is_data(file: Path, root: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(root).parts)
    return file.is_file() and file.suffix.lower() in SUFFIXES and not hidden


def _config(file: Path, root: Path) -> str:
    """The configuration (Hugging Face layout) of a file: its folders, but those named `data` or like a split."""
    parts = file.relative_to(root).parts[:-1] if root.is_dir() else ()
    return "/".join(part for part in parts if part != "data" and part not in _SPLITS)


def _config_tables(root: Path, config: str, files: Sequence[Path], ask: Ask) -> Iterator[Benchmark]:
    """The benchmark of each language in the files of one configuration."""
    by_split: dict[str, list[Path]] = {}
    for file in files:
        by_split.setdefault(_split_of(file, root), []).append(file)
    # Files that name no split may have a column that does.
    chosen = list(by_split) if set(by_split) == {""} else choose(ask.split, by_split, "test", what="split", place=root)
    drafts: dict[str, list[Draft]] = {}
    for part in chosen:
        for file in by_split[part]:
            for draft in _drafts(file, root, ask):
                own = part or _SPLITS.get(draft.split.casefold(), draft.split)
                drafts.setdefault(draft.language, []).append(msgspec.structs.replace(draft, split=own))
    name = "/".join(filter(None, (root.resolve().stem if root.is_file() else root.resolve().name, config)))
    for code, rows in sorted(drafts.items()):
        there = dict.fromkeys(draft.split for draft in rows)
        kept = choose(ask.split, there, "test", what="split", place=root) if set(there) != {""} else [""]
        yield _benchmark(name, code, [draft for draft in rows if draft.split in kept], str(root), config)


def _drafts(file: Path, root: Path, ask: Ask) -> list[Draft]:
    """The questions of a file, each with its language's code."""
    entries: list[Entry] = read_entries(file)
    code = ask.code or _language_of(file, root)
    if not entries:
        return []
    if ask.layout == "epic" or (not ask.layout and not is_table(entries) and is_epic(entries[0])):
        code = code or _FOREIGN
        return [msgspec.structs.replace(draft, language=code) for draft in read_epic(entries, languages.load(code))]
    first = int(ask.layout[-1]) if ask.layout in {"table0", "table1"} else None
    drafts = read_table(entries, languages.load(code or _FOREIGN), first=first, place=str(file))
    return [msgspec.structs.replace(draft, language=_code(draft, code)) for draft in drafts]


def _code(draft: Draft, told: str) -> str:
    """Code of a question's language: what its column says, by code or by name, else what was told."""
    if not (draft.language or told):
        raise BenchmarkError(
            f"{draft.place}: it is not said which language this is in",
            hint="say it with --language CODE, or in a column 'language'",
        )
    named = tongues_of(fold(draft.language))
    try:
        return languages.load(min(named) if len(named) == 1 else draft.language or told).code
    except LanguageError as error:
        raise BenchmarkError(f"{draft.place}: {error.message}", hint=error.hint) from error


def _tokens(file: Path, root: Path) -> list[str]:
    """Words of a file's name and of its folders below the root."""
    parts = file.relative_to(root).with_suffix("").parts if root.is_dir() else (file.stem,)
    return [word.casefold() for part in parts for word in re.split(r"[-_. ]+", part)]


def _split_of(file: Path, root: Path) -> str:
    return next((_SPLITS[word] for word in reversed(_tokens(file, root)) if word in _SPLITS), "")


def _language_of(file: Path, root: Path) -> str:
    """The language that a file's name or folder names by its code; empty where none or several do."""
    known = set(languages.available())
    named = {word for word in _tokens(file, root) if word in known}
    return named.pop() if len(named) == 1 else ""
