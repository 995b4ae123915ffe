"""The call journal: every successful reply, stored under the hash of its request before anybody uses it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple, Self

import msgspec

from adage.errors import JournalError, StoreError, VerificationError
from adage.models.base import ChatReply, ChatRequest
from adage.records import Record
from adage.store.database import Format, database_errors, open_database

_FORMAT = Format(
    application=int.from_bytes(b"AdCJ"),
    version=1,
    tables="CREATE TABLE calls (key TEXT PRIMARY KEY, request TEXT NOT NULL, reply TEXT NOT NULL) STRICT",
    durable=True,
    error=JournalError,
)
_GROUP = 1000
"""Most calls in one commit."""
_GATHER_S = 0.005
"""How long a commit waits for company: a hundredth of the fastest model's answer, and a tenth of the commits."""

_reply_decoder = msgspec.json.Decoder(ChatReply)


class JournalStats(Record, frozen=True, kw_only=True):
    """What a journal holds."""

    calls: int
    bytes: int
    """Size of the database."""
    models: dict[str, int]
    """Calls by model id."""
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    """Prompt tokens that servers took from their prefix caches."""


class StoredCall(Record, frozen=True, kw_only=True):
    """One call as the journal holds it."""

    key: str
    request: ChatRequest
    reply: ChatReply


Tell = Callable[[ChatReply | StoreError], None]
"""Told, in the event loop that asked, what the journal holds after a commit, or why it could not store."""


class _Put(NamedTuple):
    """A call waiting to be written, and who is told when it is."""

    row: tuple[str, str, str]
    """Key, request and reply as they are stored."""
    reply: ChatReply
    loop: asyncio.AbstractEventLoop
    tell: Tell


class Journal:
    """Replies by request key in one SQLite file, which several processes may share (on a local disk).

    One thread writes; whatever has queued up while it was committing goes into its next commit. `put` returns when the
    reply is on the disk.

    Raises:
        JournalError: the file is damaged, locked, of another program or version.
        StoreError: the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._queue: SimpleQueue[_Put | None] = SimpleQueue()
        self._lock = threading.Lock()
        """Guards `_reader`, which any thread may use."""
        self._closed = False
        self._reader = open_database(path, _FORMAT)
        self._writer = open_database(path, _FORMAT, statements=0)  # they are as long as groups, and hold their calls
        self._thread = threading.Thread(target=self._write, name="journal", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, key: str) -> ChatReply | None:
        """The reply stored under `key`, or None."""
        with _journal_errors(self.path), self._lock:
            row = self._reader.execute("SELECT reply FROM calls WHERE key = ?", (key,)).fetchone()
            return None if row is None else _reply_decoder.decode(row[0])

    def get_many(self, keys: Iterable[str]) -> dict[str, ChatReply]:
        """The replies stored under those of `keys` that are known."""
        query = "SELECT key, reply FROM calls WHERE key IN (SELECT value FROM json_each(?))"
        wanted = msgspec.json.encode(list(keys)).decode()
        with _journal_errors(self.path), self._lock:
            return {key: _reply_decoder.decode(reply) for key, reply in self._reader.execute(query, (wanted,))}

    def known(self, keys: Iterable[str]) -> set[str]:
        """Those of `keys` under which a reply is stored."""
        wanted = msgspec.json.encode(list(keys)).decode()
        with _journal_errors(self.path), self._lock:
            rows = self._reader.execute(
                "SELECT key FROM calls WHERE key IN (SELECT value FROM json_each(?))", (wanted,)
            )
            return {key for (key,) in rows}

    async def put(self, key: str, request: ChatRequest, reply: ChatReply) -> ChatReply:
        """Store a reply durably; gives back what the journal now holds, which is an earlier reply if there was one."""
        done: asyncio.Future[ChatReply] = asyncio.get_running_loop().create_future()
        self.store(key, request, reply, partial(_settle, done))
        return await done

    def store(self, key: str, request: ChatRequest, reply: ChatReply, tell: Tell) -> None:
        """`put` for who wants to be told instead of to wait; a call that is told must not raise.

        Raises:
            UnicodeEncodeError: the reply holds half a character (a lone surrogate).
        """
        if self._closed:
            raise JournalError(f"the journal {str(self.path)!r} is closed")
        row = (key, request.canonical().decode(), msgspec.json.encode(reply).decode())
        self._queue.put(_Put(row, reply, asyncio.get_running_loop(), tell))

    def stats(self) -> JournalStats:
        """Counts over all stored calls."""
        with _journal_errors(self.path), self._lock:
            (size,) = self._reader.execute(
                "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            ).fetchone()
            calls, *tokens = self._reader.execute(
                "SELECT count(*), total(reply ->> 'prompt_tokens'), total(reply ->> 'completion_tokens'), "
                "total(reply ->> 'cached_tokens') FROM calls"
            ).fetchone()
            prompt, completion, cached = (int(number) for number in tokens)
            models = self._reader.execute("SELECT request ->> 'model' AS m, count(*) FROM calls GROUP BY m ORDER BY m")
            return JournalStats(
                calls=calls,
                bytes=size,
                models=dict(models),
                prompt_tokens=prompt,
                completion_tokens=completion,
                cached_tokens=cached,
            )

    def calls(self, *, model: str = "") -> Iterator[StoredCall]:
        """The stored calls in the order of their keys; those of one model id, where it is named."""
        after, decode = "", msgspec.json.Decoder(ChatRequest).decode
        query = "SELECT key, request, reply FROM calls WHERE key > ? ORDER BY key LIMIT ?"
        while True:
            with _journal_errors(self.path), self._lock:
                rows = self._reader.execute(query, (after, _GROUP)).fetchall()
                calls = [StoredCall(key=k, request=decode(q), reply=_reply_decoder.decode(r)) for k, q, r in rows]
            yield from (call for call in calls if not model or call.request.model == model)
            if len(rows) < _GROUP:
                return
            after = calls[-1].key

    def prune(self, *, model: str = "", keep: Container[str] = ()) -> int:
        """Delete the calls of one model id (of all, where none is named) but for the keys in `keep`; how many went.

        The file shrinks to what is left.
        """
        gone = self._prunable(model, keep)
        with _journal_errors(self.path), self._lock:
            doomed = "DELETE FROM calls WHERE key IN (SELECT value FROM json_each(?))"
            self._reader.execute(doomed, (msgspec.json.encode(gone).decode(),))
            self._reader.execute("VACUUM")
            self._reader.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return len(gone)

    def count(self, *, model: str = "", keep: Container[str] = ()) -> int:
        """How many calls `prune` would delete."""
        return len(self._prunable(model, keep))

    def _prunable(self, model: str, keep: Container[str]) -> list[str]:
        return [call.key for call in self.calls(model=model) if call.key not in keep]

    def verify(self) -> int:
        """Check the file's structure, hash every request again and read every reply; the number of calls.

        Raises:
            VerificationError: a request does not hash to its key, or a row holds something else than request and reply.
        """
        with _journal_errors(self.path), self._lock:
            (found,) = self._reader.execute("PRAGMA integrity_check(1)").fetchone()
            if found != "ok":
                raise sqlite3.DatabaseError(found)
            count = 0
            for key, request, reply in self._reader.execute("SELECT key, request, reply FROM calls ORDER BY key"):
                if fault := _fault_in(key, request, reply):
                    raise VerificationError(
                        f"{self.path}: the call stored under {key!r} has {fault}",
                        hint="the journal was edited: restore a copy, or delete that row to make the call again",
                    )
                count += 1
            return count

    def close(self) -> None:
        """Write what is queued and close the file."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            self._thread.join()
            self._writer.close()
            self._reader.close()

    def _write(self) -> None:
        """Commit queued calls group by group until the journal is closed."""
        while (first := self._queue.get()) is not None:
            time.sleep(_GATHER_S)
            group = [first]
            while len(group) < _GROUP and not self._queue.empty():
                more = self._queue.get()
                if more is None:
                    self._queue.put(None)
                    break
                group.append(more)
            self._commit(group)

    def _commit(self, group: list[_Put]) -> None:
        """Write a group and tell everybody who waits for it."""
        try:
            with _journal_errors(self.path):
                outcomes: Sequence[ChatReply | StoreError] = self._insert(group)
        except StoreError as error:
            outcomes = [error] * len(group)
        for loop in {put.loop for put in group}:
            mine = [(put.tell, outcome) for put, outcome in zip(group, outcomes, strict=True) if put.loop is loop]
            with suppress(RuntimeError):  # the loop has ended: nobody waits any more
                loop.call_soon_threadsafe(_tell, mine)

    def _insert(self, group: list[_Put]) -> list[ChatReply]:
        """Insert a group in one transaction; what the journal then holds for each of its keys.

        One statement for all rows: each statement gives the interpreter to the event loop and must wait to get it back.
        """
        values = [value for put in group for value in put.row]
        insert = f"INSERT OR IGNORE INTO calls VALUES {', '.join(['(?, ?, ?)'] * len(group))}"  # noqa: S608 - no values
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            all_new = self._writer.execute(insert, values).rowcount == len(group)
            held = [put.reply if all_new else self._held(put.row[0]) for put in group]
            self._writer.execute("COMMIT")
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            raise
        return held

    def _held(self, key: str) -> ChatReply:
        """The reply stored under a key, as the writing connection sees it."""
        (stored,) = self._writer.execute("SELECT reply FROM calls WHERE key = ?", (key,)).fetchone()
        return _reply_decoder.decode(stored)


class _OnlyReply(ChatReply, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reply, and nothing that is more or other than one."""


_request_decoder = msgspec.json.Decoder(ChatRequest)
_strict_decoder = msgspec.json.Decoder(_OnlyReply)


def _fault_in(key: str, request: str, reply: str) -> str:
    """What the call stored under `key` has that it should not have; empty where it is whole."""
    try:
        hashed = _request_decoder.decode(request).key()
    except msgspec.MsgspecError as error:
        return f"a request that is none: {error}"
    try:
        _strict_decoder.decode(reply)
    except msgspec.MsgspecError as error:
        return f"a reply that is none: {error}"
    return "" if hashed == key else f"a request that hashes to {hashed!r}"


def _tell(outcomes: list[tuple[Tell, ChatReply | StoreError]]) -> None:
    for tell, outcome in outcomes:
        tell(outcome)


def _settle(done: asyncio.Future[ChatReply], outcome: ChatReply | StoreError) -> None:
    """Wake who waits for a commit; one who no longer waits is passed over."""
    if done.done():
        return
    if isinstance(outcome, StoreError):
        done.set_exception(outcome)
    else:
        done.set_result(outcome)


@contextmanager
def _journal_errors(path: Path) -> Iterator[None]:
    """Turn errors of the file or of its rows into a `JournalError`; a full disk is a `StoreError`."""
    with database_errors(path, JournalError):
        try:
            yield
        except msgspec.MsgspecError as error:
            raise JournalError(
                f"{str(path)!r} holds a row that is no call: {error}", hint="restore the journal from a copy"
            ) from error
