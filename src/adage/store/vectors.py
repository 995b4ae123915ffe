"""Sentence vectors by encoder and text, in one SQLite file."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from adage.errors import StoreError
from adage.store.database import Format, database_errors, open_database

_FORMAT = Format(
    application=int.from_bytes(b"AdVe"),
    version=1,
    tables="CREATE TABLE vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL) STRICT",
    durable=False,  # vectors can be computed again
    error=StoreError,
)


class Vectors:
    """float32 vectors keyed by the hash of (encoder id, text); threads and processes may share the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection = open_database(path, _FORMAT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get_many(self, encoder: str, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """The stored vector of each text, shape (dim,), or None where there is none."""
        keys = [_key(encoder, text) for text in texts]
        wanted = msgspec.json.encode(keys).decode()
        query = "SELECT key, vector FROM vectors WHERE key IN (SELECT value FROM json_each(?))"
        with database_errors(self.path, StoreError), self._lock:
            found: dict[str, bytes] = dict(self._connection.execute(query, (wanted,)))
        return [None if (vector := found.get(key)) is None else np.frombuffer(vector, np.float32) for key in keys]

    def put_many(self, encoder: str, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Store the rows of `vectors`, shape (n_texts, dim), in one transaction; what is already stored stays."""
        rows = zip((_key(encoder, text) for text in texts), _blobs(vectors), strict=True)
        with database_errors(self.path, StoreError), self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def __len__(self) -> int:
        with database_errors(self.path, StoreError), self._lock:
            (count,) = self._connection.execute("SELECT count(*) FROM vectors").fetchone()
            return int(count)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _key(encoder: str, text: str) -> str:
    """BLAKE2b-128 of the encoder's id and the text, which a zero byte keeps apart."""
    return blake2b(f"{encoder}\0{text}".encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _blobs(vectors: NDArray[np.float32]) -> Iterable[bytes]:
    return (row.tobytes() for row in np.ascontiguousarray(vectors, dtype="<f4"))
