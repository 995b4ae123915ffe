"""Large files are read line by line: as small ones are, and in memory that follows the rows, not the bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.corpus import ReadOptions, formats, merge, read
from adage.language import load

EN, RU = load("en"), load("ru")
cells = st.text(st.sampled_from('abcd eж"\n,;\\'), min_size=1, max_size=12)
WRITERS: dict[str, Callable[[list[tuple[str, str]]], str]] = {
    "c.csv": lambda rows: "text,explanation\n" + "".join(f"{a},{b}\n" for a, b in rows),
    "c.jsonl": lambda rows: "".join(json.dumps({"text": a, "explanation": b}) + "\n" for a, b in rows),
    "c.txt": lambda rows: "".join(f"{a} {b}\n" for a, b in rows),
}


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=12), st.sampled_from(sorted(WRITERS)))
def test_streamed_as_whole(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], name: str) -> None:
    """A file above the bound gives the very reading that it gives below it, whatever quotes and line ends it holds."""
    file = tmp_path_factory.mktemp("c") / name
    file.write_bytes(WRITERS[name]([("Look before you leap", "Think first, and act then"), *rows]).encode())
    whole = read(file, EN, ReadOptions(text="text"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formats, "STREAMED", 0)
        assert read(file, EN, ReadOptions(text="text")) == whole


def test_late_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken byte beyond the beginning of a streamed file is found, and damages its row alone."""
    monkeypatch.setattr(formats, "STREAMED", 0)
    monkeypatch.setattr(formats, "HEAD", 200)
    lines = [f"пословица номер {word} говорит правду" for word in ["один", "два", "три", "пять", "семь"] * 5]
    content = "\n".join(lines).encode().replace("семь".encode(), b"\xd1\xff")
    file = tmp_path / "c.txt"
    file.write_bytes(content.replace(b"\xd1\xff", "семь".encode(), 4))
    rows = read(file, RU).rows
    assert [row.rejected[:7] for row in rows] == [""] * 24 + ["damaged"]


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_limit(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`limit` rows are the first ones of the whole reading, streamed or not."""
    file = tmp_path / name
    file.write_text(WRITERS[name]([(f"Saying number {n} is true", f"It means that {n} is enough") for n in range(60)]))
    whole = read(file, EN).rows
    for bound in (formats.STREAMED, 0):
        monkeypatch.setattr(formats, "STREAMED", bound)
        assert read(file, EN, ReadOptions(limit=7)).rows == whole[:7]


@given(st.lists(st.tuples(st.sampled_from(["Look  before", "look before!", "Still waters", "好好", "", "…"]), cells)))
def test_nothing_vanishes(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    """Every record is kept, merged into a named one that is kept, or rejected with a reason; each has its place."""
    file = tmp_path_factory.mktemp("c") / "c.jsonl"
    file.write_text(WRITERS["c.jsonl"]([("Look before you leap", "Think first"), *rows]), "utf-8")
    found = read(file, EN, ReadOptions(text="text")).rows
    merged = merge(found, EN)
    kept = {row.place for row in merged.rows}
    assert [row.place for row in found] == [f"c.jsonl:{number}" for number in range(1, len(rows) + 2)]
    for row, into in zip(found, merged.into, strict=True):
        assert (into == -1) == bool(row.rejected)
        assert row.rejected or found[into].place in kept


READ = """
import resource, sys
from pathlib import Path
from adage.corpus import ReadOptions, read
from adage.language import load
limit = int(sys.argv[2]) << 20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
print(len(read(Path(sys.argv[1]), load("en"), ReadOptions(limit=int(sys.argv[3]))).rows))
"""


def limited(file: Path, megabytes: int, rows: int = 0) -> str:
    """What reading a file in a process of so much memory prints."""
    command = [sys.executable, "-c", READ, str(file), str(megabytes), str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the memory limit is Linux's")
@pytest.mark.parametrize("name", sorted(WRITERS))
def test_two_hundred_megabytes(tmp_path: Path, name: str) -> None:
    """The first rows of 200 MB are had in memory that would not hold the file."""
    block = WRITERS[name]([("Saying number {n} is true", "It means that nothing else is enough " * 6)] * 1000)
    header, block = ("text,explanation\n", block.split("\n", 1)[1]) if name == "c.csv" else ("", block)
    file = tmp_path / name
    with file.open("w", encoding="utf-8") as out:
        out.write(header)
        while out.tell() < 200 << 20:
            out.write(block)
    assert limited(file, 190, rows=2000) == "2000"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the memory limit is Linux's")
def test_two_hundred_megabytes_in_full(tmp_path: Path) -> None:
    """A table of 200 MB is read to its end in memory of three times its size, and no record is lost."""
    file = tmp_path / "c.csv"
    note = "It is said of people who wait until the river has gone down before they cross it with their goods. " * 20
    with file.open("w", encoding="utf-8") as out:
        out.write("text,explanation\n")
        rows = 0
        while out.tell() < 200 << 20:
            rows += 1
            out.write(f"Saying number {rows} of the valley is true,{rows}: {note}\n")
    assert limited(file, 600) == str(rows)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the memory limit is Linux's")
def test_memory_follows_rows(tmp_path: Path) -> None:
    """Rows take at most 4 kB each, above what the program itself takes."""
    file = tmp_path / "c.jsonl"
    rows = [(f"Saying number {n} of the valley is true", f"It means that {n} is enough " * 4) for n in range(20_000)]
    file.write_text(WRITERS["c.jsonl"](rows))
    assert limited(file, 160 + 80) == "20000"
