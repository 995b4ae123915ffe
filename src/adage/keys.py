"""Keys of endpoints stay in environment variables: what may stand where the name of one is expected."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PREFIX = re.compile(r"sk[-_]|pk[-_]|gsk_|hf_|AIza|xai-|r8_|ghp_|github_pat_|nvapi-|tgp_|fw_")
"""How the keys of well-known services begin."""
_DRAWN = re.compile(r"(?=.*[a-z])(?=.*[0-9])[A-Za-z0-9_-]{21,}")
"""Long names are words in capitals; what is as long and mixes small letters and digits was drawn by lot."""


def looks_like_key(text: str) -> bool:
    """Whether a text looks like a key itself, which no message may show."""
    return bool(_PREFIX.match(text) or _DRAWN.fullmatch(text))


def variable_name(text: str) -> str:
    """`text`, if it can name an environment variable and does not look like a key.

    Raises:
        ValueError: it is no such name. The message does not show it: it may be the key itself.
    """
    fault = ""
    if looks_like_key(text):
        fault = "what stands here looks like the key itself (it is not shown)"
    elif not _NAME.fullmatch(text):
        fault = "what stands here is no name (it is not shown)"
    if fault:
        raise ValueError(
            "expected the name of an environment variable: letters, digits and underscores, no digit at the beginning; "
            f"{fault}; put the key into a variable (export LLM_KEY=…) and name that one (LLM_KEY)"
        )
    return text
