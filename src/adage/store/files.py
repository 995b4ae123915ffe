"""Files that are either whole or absent, and JSON Lines of records."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from adage.errors import HandFileError, StoreError
from adage.records import Record

R = TypeVar("R")
S = TypeVar("S", bound=msgspec.Struct)

_encoder = msgspec.json.Encoder()
_HASH_BLOCK = 1 << 20
_BLOCK = 1 << 20
"""Bytes of lines that are hashed and written at once."""


@contextmanager
def disk_errors(target: Path) -> Iterator[None]:
    """Turn an `OSError` while writing `target` into a `StoreError` that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StoreError(
                f"the disk is full: {str(target)!r} could not be written",
                hint="free some space and run the same command again; finished stages and model calls are kept",
            ) from error
        raise StoreError(
            f"{str(target)!r} could not be written: {error.strerror or error}",
            hint="check that the folder exists and that you may write there",
        ) from error


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a crash, sees the old or the new content and nothing between."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("wb") as handle:
                handle.write(content)
                flush(handle)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def pretty(content: object) -> bytes:
    """Content as indented JSON for people, with a line end."""
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def flush(handle: IO[bytes]) -> None:
    """Push a file's content to the disk."""
    handle.flush()
    os.fsync(handle.fileno())


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that takes the place of `folder` when the block ends well, and vanishes otherwise.

    A half-written folder is never seen under the final name; `recover` mends a crash between the two renames.
    """
    temporary = folder.with_name(f".{folder.name}.tmp")
    old = folder.with_name(f".{folder.name}.old")
    with disk_errors(folder):
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
    try:
        yield temporary
        with disk_errors(folder):
            if folder.exists():
                folder.rename(old)
            temporary.rename(folder)
            _sync_folder(folder.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        _settle(old, folder)


def recover(root: Path) -> None:
    """Put back every folder whose replacement was cut short, and remove what a crash left behind."""
    for old in root.glob(".*.old"):
        _settle(old, old.with_name(old.name[1 : -len(".old")]))
    for temporary in root.glob(".*.tmp"):
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def _settle(old: Path, folder: Path) -> None:
    """Remove `old` where something has taken the place of `folder`; put it back otherwise."""
    if old.exists() and not folder.exists():
        old.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Lines:
    """A JSON Lines file being written: one record a line, UTF-8, hashed as it grows.

    Lines are collected; a full block is hashed and written by a thread, so that whoever writes need not wait for the
    disk. What goes wrong there is raised by the next block or by `close`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hash = blake2b(digest_size=16)
        self._pending = bytearray()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=path.name)  # started with the first full block
        self._block: Future[None] | None = None
        self.count = 0
        with disk_errors(path):
            self._handle = path.open("wb")

    def write(self, *records: Record) -> None:
        """Append records."""
        self._pending += _encoder.encode_lines(records)
        self.count += len(records)
        if len(self._pending) >= _BLOCK:
            self._settle()
            block, self._pending = self._pending, bytearray()
            self._block = self._thread.submit(self._write, block)

    def close(self) -> str:
        """Push the file to the disk; returns the BLAKE2b-128 of its bytes in hex."""
        if not self._handle.closed:
            with disk_errors(self._path), self._handle, self._thread:
                self._settle()
                if self.count:
                    self._write(self._pending)
                    flush(self._handle)
        return self._hash.hexdigest()

    def _settle(self) -> None:
        """Wait for the block that the thread has in hand."""
        if self._block is not None:
            self._block.result()

    def _write(self, block: bytearray) -> None:
        with disk_errors(self._path):
            self._handle.write(block)
        self._hash.update(block)


def read_lines(path: Path, kind: type[R]) -> Iterator[R]:
    """The records of a file that ADAGE wrote; fields that `kind` lacks are passed over.

    Raises:
        StoreError: a line does not hold such a record.
    """
    decoder = msgspec.json.Decoder(kind)
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            try:
                yield decoder.decode(line)
            except msgspec.MsgspecError as error:
                raise StoreError(
                    f"{path}:{number}: not a record of kind {getattr(kind, '__name__', kind)}: {error}",
                    hint="the file was damaged or edited: delete its folder and build again (model calls are kept)",
                ) from error


def read_hand_file(path: Path, kind: type[S]) -> Iterator[tuple[str, S]]:
    """(place, record) of a JSON Lines file written by hand; blank lines are passed over.

    Raises:
        HandFileError: the file is missing or a line does not fit; the message gives file, line and what was expected.
    """
    expected = ", ".join(field.encode_name for field in msgspec.structs.fields(kind))
    decoder = msgspec.json.Decoder(kind)
    try:
        with path.open("rb") as handle:
            for number, raw in enumerate(handle, 1):
                line = raw.removeprefix(b"\xef\xbb\xbf").strip()
                if not line:
                    continue
                place = f"{path.name}:{number}"
                try:
                    yield place, decoder.decode(line)
                except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                    raise HandFileError(
                        f"{path}:{number}: {error}; found {line[:80].decode(errors='replace')!r}",
                        hint=f"each line is one JSON object with the keys: {expected}",
                    ) from error
    except OSError as error:
        raise HandFileError(
            f"the hand file {str(path)!r} cannot be read: {error.strerror or error}",
            hint="check the path in the recipe; relative paths start at the recipe's folder",
        ) from error


def hash_file(path: Path) -> str:
    """BLAKE2b-128 of a file's bytes in hex."""
    digest = blake2b(digest_size=16)
    with path.open("rb") as handle:
        while block := handle.read(_HASH_BLOCK):
            digest.update(block)
    return digest.hexdigest()
