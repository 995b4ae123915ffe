"""BIG-bench tasks in JSON, from the user's own copy: `target_scores` of each option, one or several of them right.

Only `input` and `target_scores` are taken: the task's canary stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adage.errors import BenchmarkError
from adage.evaluation.loaders.files import MAX_BYTES, Entry, read_entries
from adage.evaluation.loaders.question import Draft, tidy

FILE = "task.json"


def find_tasks(path: Path) -> list[Path]:
    """Task files at a path: the file itself, that of a folder, or those of its subtasks."""
    if path.is_file():
        return [path] if _is_task(path) else []
    below = (file for depth in ("", "*/", "*/*/") for file in path.glob(depth + FILE))
    return sorted(file for file in below if _is_task(file))


def _is_task(file: Path) -> bool:
    if file.suffix != ".json" or file.stat().st_size > MAX_BYTES:
        return False
    with file.open("rb") as stream:
        head = stream.read(1 << 20)
    return b'"examples"' in head and b'"target_scores"' in head


def task_name(file: Path) -> str:
    """Name of a task: its folder, after that of the task it is part of."""
    folder = file.resolve().parent
    return f"{folder.parent.name}/{folder.name}" if (folder.parent / FILE).exists() else folder.name


def read_task(file: Path) -> Iterator[Draft]:
    """The questions of a task.

    Raises:
        BenchmarkError: It is no task of multiple choice, or an example is not sound.
    """
    for entry in read_entries(file):
        text, scores = entry.fields.get("input"), entry.fields.get("target_scores")
        if not isinstance(text, str) or not isinstance(scores, dict):
            raise BenchmarkError(
                f"{entry.place}: expected 'input' and 'target_scores', found {', '.join(entry.fields)}",
                hint="only BIG-bench tasks of multiple choice can be asked",
            )
        yield Draft(
            place=entry.place,
            scenario=tidy(text),
            options=tuple(tidy(option) for option in scores),
            gold=_best(entry, list(scores.values())),
        )


def _best(entry: Entry, scores: list[object]) -> tuple[int, ...]:
    numbers = [score for score in scores if isinstance(score, int | float)]
    best = max(numbers, default=0)
    if len(numbers) < len(scores) or best <= 0:
        raise BenchmarkError(
            f"{entry.place}: 'target_scores' are {scores!r}; expected numbers, above 0 for the right options"
        )
    return tuple(place for place, score in enumerate(numbers) if score == best)
