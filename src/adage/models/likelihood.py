"""Log-likelihoods from llama.cpp: of answer letters, and of whole texts, token by token.

llama.cpp has no call that scores a given text (`echo` is silently ignored). So a token is forced by a bias on its
logit, and its probability under the unbiased model is read off; the prefix before it is computed once and reused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from adage.errors import BadReply, BadRequest

_PREFER = 100.0
"""Added to the labels' logits: any other token then has a share below e^-60."""
_FORCE = 1000.0
"""Added to a token's logit so that it is drawn for certain."""


class Llama(Protocol):
    """What of llama.cpp's server is needed here; all of it blocks."""

    def tokens(self, text: str) -> list[int]:
        """Token ids of a text, with what the model wants at the beginning of one."""
        ...

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Run one completion."""
        ...


def letter_logprobs(llama: Llama, prompt: str, labels: Sequence[str]) -> list[float]:
    """Log-probability of each label as the next token, given that it is one of them: they add up to 1.

    Raises:
        BadRequest: a label is not exactly one token after this prompt, or two are the same.
        BadReply: llama.cpp did not answer for every label.
    """
    before = start_once(llama, prompt)
    ids = [_only_token(llama, prompt, before, label) for label in labels]
    if len(set(ids)) < len(ids) or not ids:
        raise BadRequest(f"the labels {list(labels)} are not distinct tokens", hint="expected e.g. A, B, C, D")
    answer = llama.complete(
        {
            "prompt": before,
            "n_predict": 1,
            "temperature": 1.0,
            "samplers": ["temperature"],
            "n_probs": len(ids),
            "post_sampling_probs": True,
            "logit_bias": [[token, _PREFER] for token in ids],
            "cache_prompt": False,
        }
    )
    entries = _entries(answer)
    found = {entry["id"]: entry["prob"] for entry in (entries[0].get("top_probs", ()) if entries else ())}
    if found.keys() != set(ids):
        raise BadReply(f"llama.cpp gave probabilities for {len(found.keys() & set(ids))} of {len(ids)} labels")
    total = sum(found.values())
    return [math.log(found[token] / total) if found[token] > 0 else -math.inf for token in ids]


def text_logprob(llama: Llama, prompt: str, continuation: str) -> float:
    """Natural logarithm of the probability of `continuation` after `prompt`, in the text's own tokenisation.

    Where a token spans both, it counts to the continuation.

    Raises:
        BadRequest: the model cannot score this text: one of its tokens is a part of a character, for which llama.cpp
            gives no probability. Letters can be scored all the same.
        BadReply: llama.cpp did not follow.
    """
    before, whole = start_once(llama, prompt), start_once(llama, prompt + continuation)
    shared = next(
        (i for i, (a, b) in enumerate(zip(before, whole, strict=False)) if a != b), min(len(before), len(whole))
    )
    if not 0 < shared < len(whole):
        raise BadRequest(f"there is nothing to score in {continuation!r} after {prompt[-40:]!r}")
    total = 0.0
    for at in range(shared, len(whole)):
        answer = llama.complete(
            {
                "prompt": whole[:at],
                "n_predict": 1,
                "temperature": 1.0,
                "n_probs": 1,
                "logit_bias": [[whole[at], _FORCE]],
                "cache_prompt": at > shared,  # the first call computes the prefix afresh: nothing earlier may matter
            }
        )
        entries = _entries(answer)
        if not entries:
            raise BadRequest(
                f"token {at - shared + 1} of {continuation[:60]!r} is part of a character: this model cannot score it",
                hint="score the letters of the options instead",
            )
        if len(entries) != 1 or entries[0]["id"] != whole[at]:
            raise BadReply(f"llama.cpp did not draw the token {whole[at]} that was forced")
        total += entries[0]["logprob"]
    return total


def start_once(llama: Llama, text: str) -> list[int]:
    """Token ids of a text with the model's mark of the beginning once, even where a chat template wrote it too."""
    tokens, mark = llama.tokens(text), llama.tokens("")
    while mark and tokens[: 2 * len(mark)] == mark * 2:
        tokens = tokens[len(mark) :]
    return tokens


def _only_token(llama: Llama, prompt: str, before: list[int], label: str) -> int:
    whole = start_once(llama, prompt + label)
    if whole[:-1] != before:
        raise BadRequest(
            f"the label {label!r} is not one token after {prompt[-20:]!r}", hint="expected e.g. 'A' after a line's end"
        )
    return whole[-1]


def _entries(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry a token that was drawn; none for a token that is a part of a character."""
    choice = answer["choices"][0]
    return list((choice.get("logprobs") or {}).get("content") or ())
