"""What the header of a GGUF file says of its model, read without loading the model.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

_STRING, _ARRAY = 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value of each other type."""
_TEMPLATE = b"tokenizer.chat_template"


def has_chat_template(path: Path) -> bool:
    """Whether a GGUF file brings a chat template; False for what is no such file, which llama.cpp will refuse."""
    try:
        with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _TEMPLATE in _keys(content)
    except (ValueError, OverflowError, KeyError, struct.error):
        return False


def _keys(content: mmap.mmap) -> set[bytes]:
    magic, _, _, entries = struct.unpack_from("<4sIQQ", content)
    if magic != b"GGUF":
        return set()
    keys, at = set(), 24
    for _ in range(entries):
        (length,) = struct.unpack_from("<Q", content, at)
        keys.add(content[at + 8 : at + 8 + length])
        at = _after(content, at + 8 + length)
    return keys


def _after(content: mmap.mmap, at: int) -> int:
    """Where the value ends whose type stands at `at`."""
    (kind,) = struct.unpack_from("<I", content, at)
    at += 4
    count = 1
    if kind == _ARRAY:
        kind, count = struct.unpack_from("<IQ", content, at)
        at += 12
    if kind != _STRING:
        return at + count * _SIZES[kind]
    for _ in range(count):
        at += 8 + struct.unpack_from("<Q", content, at)[0]
    return at
