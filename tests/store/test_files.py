"""Files and folders that are whole or absent, whatever happens in between."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.errors import HandFileError, StoreError
from adage.records import Record
from adage.store import files
from adage.store.files import Lines, atomic_folder, hash_file, read_hand_file, read_lines, recover, write_atomic


class Line(Record, frozen=True, kw_only=True):
    """A record of these tests."""

    text: str
    n: int = 0


def full(*_: object) -> None:
    """A disk without space."""
    raise OSError(errno.ENOSPC, "No space left on device")


def left_in(folder: Path) -> set[str]:
    """Names of everything in a folder, hidden files included."""
    return {entry.name for entry in folder.iterdir()}


def test_write_atomic_replaces_content_and_makes_folders(tmp_path):
    """The new content is there in full and no temporary file stays."""
    target = tmp_path / "deep" / "file.json"
    write_atomic(target, b"old")
    write_atomic(target, b"new")
    assert target.read_bytes() == b"new"
    assert left_in(target.parent) == {"file.json"}


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_content(tmp_path, monkeypatch, step):
    """Whether the disk fills up while writing or the rename fails: the old file stands, nothing lies about."""
    target = tmp_path / "file.json"
    write_atomic(target, b"old")
    monkeypatch.setattr(files.os, "fsync", full) if step == "fsync" else monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(StoreError, match="the disk is full") as caught:
        write_atomic(target, b"new")
    assert "free some space" in caught.value.hint
    assert target.read_bytes() == b"old"
    assert left_in(tmp_path) == {"file.json"}


def test_other_disk_errors_say_what_to_check(tmp_path):
    """A path that cannot be written is named with the system's reason."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"could not be written: (Not a directory|File exists)"):
        write_atomic(tmp_path / "file" / "below.json", b"")
    with pytest.raises(StoreError, match="could not be written"), atomic_folder(tmp_path / "file" / "below"):
        pass


def test_a_folder_appears_whole(tmp_path):
    """Inside the block readers see the old folder, afterwards the new one and nothing of the old."""
    target = tmp_path / "stage"
    with atomic_folder(target) as folder:
        (folder / "a").write_text("1")
        assert not target.exists()
    with atomic_folder(target) as folder:
        (folder / "b").write_text("2")
        assert left_in(target) == {"a"}
    assert left_in(target) == {"b"}
    assert left_in(tmp_path) == {"stage"}


def test_a_block_that_fails_leaves_the_old_folder(tmp_path):
    """An exception on the way takes the unfinished folder with it."""
    target = tmp_path / "stage"
    with atomic_folder(target) as folder:
        (folder / "a").write_text("1")
    with pytest.raises(FileNotFoundError), atomic_folder(target) as folder:
        (folder / "b" / "absent").write_text("2")
    assert left_in(target) == {"a"}
    assert left_in(tmp_path) == {"stage"}


@pytest.mark.parametrize("nth", [1, 2])
def test_a_rename_that_fails_leaves_the_old_folder(tmp_path, monkeypatch, nth):
    """Replacing takes two renames; whichever fails, what was there before is there again."""
    target = tmp_path / "stage"
    with atomic_folder(target) as folder:
        (folder / "a").write_text("1")
    rename, calls = Path.rename, []

    def failing(path: Path, to: Path) -> Path:
        calls.append(path)
        return full() if len(calls) == nth else rename(path, to)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(StoreError, match="the disk is full"), atomic_folder(target) as folder:
        (folder / "b").write_text("2")
    assert left_in(target) == {"a"}
    assert left_in(tmp_path) == {"stage"}


CRASH = """
import os, sys
from pathlib import Path
from adage.store.files import atomic_folder
target, nth = Path(sys.argv[1]), int(sys.argv[2])
rename, calls = Path.rename, []
def dying(path, to):
    calls.append(path)
    if len(calls) == nth:
        os._exit(9)
    done = rename(path, to)
    if len(calls) + 1 == nth and nth > 2:
        os._exit(9)
    return done
Path.rename = dying
with atomic_folder(target) as folder:
    (folder / "b").write_text("2")
    if nth == 0:
        os._exit(9)
"""


@pytest.mark.parametrize(("point", "content"), [(0, "a"), (1, "a"), (2, "a"), (3, "b")])
def test_recover_mends_a_crash_at_every_point(tmp_path, point, content):
    """A process that dies while writing, before, between or after the renames leaves the old folder or the new one."""
    target = tmp_path / "1-stage"
    with atomic_folder(target) as folder:
        (folder / "a").write_text("1")
    done = subprocess.run([sys.executable, "-c", CRASH, str(target), str(point)], check=False)
    assert done.returncode == 9
    recover(tmp_path)
    assert left_in(target) == {content}
    assert left_in(tmp_path) == {"1-stage"}


def test_recover_removes_temporary_files_only(tmp_path):
    """What a killed `write_atomic` left goes; files of the user, hidden ones too, stay."""
    for name in (".run.json.77.tmp", "run.json", ".lock", "notes.old", "x.tmp"):
        (tmp_path / name).write_text(name)
    recover(tmp_path)
    assert left_in(tmp_path) == {"run.json", ".lock", "notes.old", "x.tmp"}


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=6))
def test_lines_come_back_and_hash_as_the_file_does(tmp_path_factory, texts):
    """Any text, line separators of Unicode included, is one line; the running hash is that of the file."""
    path = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    lines = Lines(path)
    records = [Line(text=text, n=number) for number, text in enumerate(texts)]
    for record in records:
        lines.write(record)
    assert lines.close() == lines.close() == hash_file(path) == blake2b(path.read_bytes(), digest_size=16).hexdigest()
    assert lines.count == len(records) == path.read_bytes().count(b"\n")
    assert list(read_lines(path, Line)) == records


def test_many_lines_are_written_as_they_come(tmp_path):
    """Blocks that a thread writes stand in the file in order, before it is closed; the hash is that of the file."""
    lines = Lines(tmp_path / "rows.jsonl")
    records = [Line(text="x" * 500, n=number) for number in range(5000)]
    for start in range(0, 5000, 10):
        lines.write(*records[start : start + 10])
    assert (tmp_path / "rows.jsonl").stat().st_size > 1_000_000
    assert lines.close() == hash_file(tmp_path / "rows.jsonl")
    assert list(read_lines(tmp_path / "rows.jsonl", Line)) == records


def test_lines_on_a_full_disk(tmp_path, monkeypatch):
    """The fault is named, and the file is closed all the same."""
    lines = Lines(tmp_path / "rows.jsonl")
    lines.write(Line(text="x"))
    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(StoreError, match="the disk is full"):
        lines.close()
    with pytest.raises(StoreError, match="could not be written"):
        Lines(tmp_path / "absent" / "rows.jsonl")


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 64 kB."""
    place = tmp_path / "tiny"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], check=False, capture_output=True, text=True
    ) if os.geteuid() == 0 else None  # fmt: skip
    if mounted is None or mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted: {mounted.stderr.strip() if mounted else 'needs root'}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_really_full(tiny_disk):
    """On a real full disk the old folder stays and the message is the same."""
    target = tiny_disk / "stage"
    with atomic_folder(target) as folder:
        (folder / "a").write_text("1")

    def fill(folder: Path) -> None:
        lines = Lines(folder / "rows.jsonl")
        try:
            for number in range(10_000):
                lines.write(Line(text="x" * 100, n=number))
        finally:
            lines.close()

    with pytest.raises(StoreError, match="the disk is full"), atomic_folder(target) as folder:
        fill(folder)
    assert left_in(target) == {"a"}
    with pytest.raises(StoreError, match="the disk is full"):
        write_atomic(target / "a", b"x" * 100_000)
    assert (target / "a").read_text() == "1"
    assert left_in(tiny_disk) == {"stage"}


def test_read_lines_names_the_damaged_line(tmp_path):
    """A line that was edited into something else is named; columns that are not asked for are passed over."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"text":"a","n":1,"more":[]}\n{"text":3}\n')
    rows = read_lines(path, Line)
    assert next(rows) == Line(text="a", n=1)
    with pytest.raises(StoreError, match=r"rows\.jsonl:2: not a record of kind Line: Expected `str`"):
        next(rows)


def test_a_hand_file_may_have_bom_blank_lines_and_windows_ends(tmp_path):
    """Files as editors save them are read; each record comes with its place."""
    path = tmp_path / "themes.jsonl"
    path.write_bytes('\ufeff{"text":"ሰላም"}\r\n\r\n   \n{"text":"b","n":2}'.encode())
    assert list(read_hand_file(path, Line)) == [
        ("themes.jsonl:1", Line(text="ሰላም")),
        ("themes.jsonl:4", Line(text="b", n=2)),
    ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b'{"n": 1}', "Object missing required field `text`; found '{\"n\": 1}'"),
        (b'{"text": "a", "n": "two"}', r"Expected `int`, got `str` - at `$.n`"),
        (b"text: a", "malformed"),
        (b'{"text": "caf\xe9"}', "caf"),
        (b"[1]", "Expected `object`, got `array`"),
    ],
)
def test_a_bad_line_of_a_hand_file_is_named(tmp_path, line, complaint):
    """The message has file, line, what was found, and the keys that are expected."""
    path = tmp_path / "themes.jsonl"
    path.write_bytes(b'{"text":"fine"}\n' + line + b"\n")
    with pytest.raises(HandFileError) as caught:
        list(read_hand_file(path, Line))
    assert f"{path}:2: " in str(caught.value)
    assert complaint in str(caught.value)
    assert caught.value.hint.endswith("the keys: text, n")


def test_a_missing_hand_file_is_named(tmp_path):
    """The message says which path was tried and what paths are relative to."""
    with pytest.raises(HandFileError, match=r"absent\.jsonl' cannot be read: No such file") as caught:
        list(read_hand_file(tmp_path / "absent.jsonl", Line))
    assert "relative paths start at the recipe's folder" in caught.value.hint


def test_records_are_written_as_utf_8(tmp_path):
    """No text is escaped: people read these files."""
    lines = Lines(tmp_path / "rows.jsonl")
    lines.write(Line(text="ሰላም 平和 سلام"))
    lines.close()
    assert (tmp_path / "rows.jsonl").read_text(encoding="utf-8") == '{"text":"ሰላም 平和 سلام"}\n'
    assert msgspec.json.decode((tmp_path / "rows.jsonl").read_bytes(), type=Line).text == "ሰላም 平和 سلام"
