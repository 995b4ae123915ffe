"""SQLite files that know whose they are: opened safely, shared by processes, with errors a person can act on."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from adage.errors import StoreError

_BUSY_TIMEOUT_S = 60.0


class Format(NamedTuple):
    """What kind of file a database is, as its header says, and how its errors are called."""

    application: int
    """SQLite's `application_id`."""
    version: int
    tables: str
    """The statement that makes its table."""
    durable: bool
    """Whether a commit returns only when it is on the disk."""
    error: type[StoreError]


def open_database(path: Path, form: Format, *, statements: int = 128) -> sqlite3.Connection:
    """The database at `path`, made when it is new; in WAL mode, usable from any thread (one at a time).

    Of its last `statements` SQL statements the connection remembers plan and values.

    Raises:
        StoreError: as `form.error`: the file is of another program or version, is damaged, or cannot be opened.
    """
    with database_errors(path, form.error):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise form.error(
                f"the folder {str(path.parent)!r} cannot be made: {error.strerror}", hint="name another folder"
            ) from error
        connection = sqlite3.connect(
            path,
            timeout=_BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=statements,
        )
        try:
            _prepare(connection, path, form)
            connection.execute(f"PRAGMA synchronous={'FULL' if form.durable else 'NORMAL'}")
        except BaseException:
            connection.close()
            raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, form: Format) -> None:
    """Make the table in an empty file; check the header of any other."""
    if _header(connection) == (0, 0) and not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        _switch_to_wal(connection)
        connection.execute("BEGIN IMMEDIATE")
        if _header(connection) == (0, 0):
            connection.execute(form.tables)
            connection.execute(f"PRAGMA application_id={form.application}")
            connection.execute(f"PRAGMA user_version={form.version}")
        connection.execute("COMMIT")
    found = _header(connection)  # only now: another process may have made the table in between
    if found[0] != form.application:
        raise form.error(f"{str(path)!r} is a database of another program", hint="name another file, or move it away")
    if found[1] != form.version:
        raise form.error(
            f"{str(path)!r} has format {found[1]}, but this version of adage reads format {form.version}",
            hint="use the version of adage that wrote it, or move the file away to start a new one",
        )


def _header(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return application, version


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Turn on WAL, which SQLite refuses at once, without waiting, while another process does the same."""
    give_up = time.monotonic() + _BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.02)
        else:
            return


@contextmanager
def database_errors(path: Path, kind: type[StoreError]) -> Iterator[None]:
    """Turn errors of the SQLite file at `path` into a `kind` that says what to do; a full disk is a `StoreError`."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        message, hint = _meaning(code)
        named = StoreError if code == sqlite3.SQLITE_FULL else kind
        raise named(f"{str(path)!r} {message} ({error})", hint=hint) from error


def _meaning(code: int) -> tuple[str, str]:
    """What one of SQLite's primary result codes means for the user, and the next step."""
    if code == sqlite3.SQLITE_FULL:
        return (
            "could not be written: the disk is full",
            "free some space and run the same command again; what was stored is kept",
        )
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return (
            "is damaged, or is no database",
            "restore a copy, rescue it with `sqlite3 FILE .recover`, or move it away to start a new one",
        )
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return (
            f"has been locked by another process for {_BUSY_TIMEOUT_S:g} s",
            "end the other process, or wait for it, and run the same command again",
        )
    return "cannot be read or written", "check that the folder exists, is on a local disk, and that you may write there"
