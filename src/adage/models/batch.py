"""Offline batches in OpenAI's format: the requests that a build is missing go out as files, responses come in.

OpenAI's batch service and `vllm run-batch` take such files; a person with a script can answer them too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from adage.errors import BadReply, StoreError
from adage.models.base import ChatReply, ChatRequest
from adage.models.chat import reply_of
from adage.records import Record
from adage.store.files import read_lines, write_atomic
from adage.store.journal import Journal

_GROUP = 1000
"""Replies stored together."""
_MOST_REQUESTS = 50_000
_MOST_BYTES = 200_000_000
"""What OpenAI's batch service takes in one file."""
_TEXT = 200
"""Characters of a response that a message quotes."""


class Sent(Record, frozen=True, kw_only=True):
    """A line of the list of requests that are out: what the journal needs and a response does not tell."""

    key: str
    request: ChatRequest


class TakenIn(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What became of the responses."""

    stored: int
    known: int
    """Responses whose requests the journal held already."""
    problems: tuple[str, ...]
    """A line each: file, line, and why the response could not be used. What it should answer is still missing."""


class _Response(msgspec.Struct):
    status_code: int = 200
    body: Any = None


class _Line(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: Any = None


Body = Callable[[ChatRequest], dict[str, Any]]


def write_batch(
    target: Path,
    owed: Mapping[str, Mapping[str, ChatRequest]],
    bodies: Mapping[str, Body],
    sent: Path,
    journal: Journal,
) -> dict[Path, int]:
    """Write the requests that are owed, and note them as sent.

    Batch services take one model a file, so several models get files of their own: `target` with the model's name
    before its ending. What is more than they take in one file goes on in others, numbered from 2 (`ask-2.jsonl`).

    Args:
        target: The file to write.
        owed: By name of the model, its requests by journal key.
        bodies: By name of the model, what makes a request's body.
        sent: The list of all requests that are out; the new ones are added, those that have been answered leave.
        journal: Tells which have been answered.

    Returns:
        The files written and how many requests each holds.

    Raises:
        StoreError: a file cannot be written.
    """
    asked = {name: requests for name, requests in owed.items() if requests}
    out = {key: request for requests in asked.values() for key, request in requests.items()}
    out = _sent(sent) | out
    answered = journal.known(out)
    write_atomic(sent, _lines(Sent(key=key, request=out[key]) for key in sorted(out.keys() - answered)))
    written: dict[Path, int] = {}
    for name, requests in asked.items():
        stem = target.stem if len(asked) == 1 else f"{target.stem}-{name}"
        lines = (
            {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": bodies[name](request)}
            for key, request in sorted(requests.items())
        )
        for portion in _portions(msgspec.json.encode(line) + b"\n" for line in lines):
            names = (target.with_name(f"{stem}{f'-{part}' * (part > 1)}{target.suffix}") for part in count(1))
            file = next(name for name in names if name not in written)
            write_atomic(file, b"".join(portion))
            written[file] = len(portion)
    return written


async def take_in(files: Sequence[Path], sent: Path, journal: Journal) -> TakenIn:
    """Store the responses in `files`, in any order, for the requests that `sent` lists.

    Raises:
        StoreError: a file cannot be read.
        JournalError: the journal cannot be written.
    """
    out = _sent(sent)
    stored = known = 0
    problems: list[str] = []
    ready: list[tuple[str, ChatReply]] = []

    async def store() -> None:
        await asyncio.gather(*(journal.put(key, out[key], reply) for key, reply in ready))
        ready.clear()

    for place, line in _responses(files):
        try:
            key, reply = _reply(line)
        except BadReply as error:
            problems.append(f"{place}: {error.message}")
            continue
        if journal.get(key) is not None:
            known += 1
        elif key not in out:
            problems.append(f"{place}: no request with the custom_id {key!r} was ever written by this recipe")
        else:
            ready.append((key, reply))
            stored += 1
        if len(ready) >= _GROUP:
            await store()
    await store()
    return TakenIn(stored=stored, known=known, problems=tuple(problems))


def _reply(line: bytes) -> tuple[str, ChatReply]:
    """The custom_id and the reply on a line of responses; raises `BadReply` where there is none."""
    try:
        found = msgspec.json.decode(line, type=_Line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadReply(f"no response in the batch format: {error}") from error
    response = found.response
    if response is None or found.error or response.status_code != 200 or not isinstance(response.body, dict):
        said = found.error or (response and response.body) or "nothing"
        status = f"status {response.status_code}: " if response else ""
        raise BadReply(f"{found.custom_id!r} was not answered: {status}{str(said)[:_TEXT]}")
    try:
        return found.custom_id, reply_of(response.body)
    except BadReply as error:
        raise BadReply(f"{found.custom_id!r}: {error.message}") from error


def _responses(files: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    """Every line that is not blank, with its file and number."""
    for file in files:
        try:
            with file.open("rb") as handle:
                for number, line in enumerate(handle, 1):
                    if line.strip():
                        yield f"{file}:{number}", line
        except OSError as error:
            raise StoreError(
                f"the responses {str(file)!r} cannot be read: {error.strerror}",
                hint="expected a file of responses in OpenAI's batch format",
            ) from error


def _portions(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The lines, in groups that each fit into a file of a batch service."""
    portion: list[bytes] = []
    size = 0
    for line in lines:
        if portion and (len(portion) == _MOST_REQUESTS or size + len(line) > _MOST_BYTES):
            yield portion
            portion, size = [], 0
        portion.append(line)
        size += len(line)
    if portion:
        yield portion


def _sent(path: Path) -> dict[str, ChatRequest]:
    return {line.key: line.request for line in read_lines(path, Sent)} if path.exists() else {}


def _lines(records: Iterator[Any]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)
