"""GGUF headers: read far enough to know whether a chat template is in them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from adage.models.gguf import has_chat_template


def text(value: str) -> bytes:
    """A string as GGUF writes it."""
    return struct.pack("<Q", len(value.encode())) + value.encode()


def header(*entries: bytes) -> bytes:
    """A file without tensors."""
    return struct.pack("<4sIQQ", b"GGUF", 3, 0, len(entries)) + b"".join(entries)


NUMBER = text("llama.block_count") + struct.pack("<II", 4, 30)
WIDE = text("general.size") + struct.pack("<IQ", 10, 1)
FLAG = text("tokenizer.ggml.add_bos_token") + struct.pack("<I?", 7, True)
TOKENS = text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("Ġa") + text("</s>")
SCORES = text("tokenizer.ggml.scores") + struct.pack("<IIQ", 9, 6, 2) + struct.pack("<ff", 0.5, 1.5)
TEMPLATE = text("tokenizer.chat_template") + struct.pack("<I", 8) + text("{{ messages }}")


def test_a_template_is_found_behind_values_of_every_kind(tmp_path: Path) -> None:
    """Numbers, flags, arrays of strings and of numbers are stepped over by their sizes."""
    path = tmp_path / "m.gguf"
    path.write_bytes(header(NUMBER, TOKENS, WIDE, SCORES, FLAG, TEMPLATE))
    assert has_chat_template(path)
    path.write_bytes(header(NUMBER, TOKENS, WIDE, SCORES, FLAG))
    assert not has_chat_template(path)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"PK\3\4" + bytes(40), header(NUMBER)[:-6], b"GGUF" + b"\xff" * 40])
def test_what_is_no_such_file_has_none(tmp_path: Path, content: bytes) -> None:
    """Empty, cut off, or something else: nothing is raised here; loading it will say what is wrong."""
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    assert not has_chat_template(path)
