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
_LEAST = 2.0**-149
"""Smallest number of the precision that llama.cpp computes in: what it gives as 0 is at most that."""


class Llama(Protocol):
    """What of llama.cpp's server is needed here; all of it blocks."""

    def tokens(self, text: str) -> list[int]:
        """Token ids of a text, with what the model wants at the beginning of one."""
        ...

    def partial(self, text: str) -> list[bool]:
        """Of each token of a text, as `tokens` gives them, whether it is only a part of a character."""
        ...

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Run one completion."""
        ...


def letter_logprobs(llama: Llama, prompts: Sequence[str], labels: Sequence[str]) -> list[list[float]]:
    """For each prompt, the log-probability of each label as the next token, given that it is one: they add up to 1.

    What the prompts begin with is computed once, afresh and by itself. So each score depends on its prompt and on that
    beginning alone, not on what was asked earlier: batches of other sizes move scores of quantised models by up to .1.

    Raises:
        BadRequest: a label is not exactly one token after a prompt, or two are the same.
        BadReply: llama.cpp did not answer for every label.
    """
    tokens = [start_once(llama, prompt) for prompt in prompts]
    ids = [label_tokens(llama, prompt, before, labels) for prompt, before in zip(prompts, tokens, strict=True)]
    shared = tokens[0][: _common(tokens)]
    _compute(llama, shared)
    rows = []
    for before, after in zip(tokens, ids, strict=True):
        _compute(llama, shared, afresh=False)  # forgets what the prompt before had beyond
        rows.append(_shares(llama, before, after))
    return rows


def label_tokens(llama: Llama, prompt: str, before: list[int], labels: Sequence[str]) -> list[int]:
    """The token of each label after a prompt whose own tokens are `before`.

    Raises:
        BadRequest: a label is not exactly one token, or two are the same.
    """
    ids = [_only_token(llama, prompt, before, label) for label in labels]
    if len(set(ids)) < len(ids) or not ids:
        raise BadRequest(f"the labels {list(labels)} are not distinct tokens", hint="expected e.g. A, B, C, D")
    return ids


def text_logprobs(llama: Llama, prompt: str, texts: Sequence[str]) -> list[float]:
    """Natural logarithm of the probability of each text after the prompt, in the text's own tokenisation.

    Where a token spans both, it counts to the text. The prompt is computed once, as in `letter_logprobs`.

    Raises:
        BadRequest: the model cannot score a text: one of its tokens is a part of a character, for which llama.cpp
            gives no probability. Letters can be scored all the same.
        BadReply: llama.cpp did not follow.
    """
    before = start_once(llama, prompt)
    wholes = [start_once(llama, prompt + text) for text in texts]
    for whole, text in zip(wholes, texts, strict=True):
        scored = len(whole) - _common([before, whole])
        if not 0 < scored < len(whole):
            raise BadRequest(f"there is nothing to score in {text!r} after {prompt[-40:]!r}")
        if any(llama.partial(prompt + text)[-scored:]):
            raise _unscorable(text)
    _compute(llama, before)
    return [_forced(llama, whole, _common([before, whole]), text) for whole, text in zip(wholes, texts, strict=True)]


def _unscorable(text: str) -> BadRequest:
    return BadRequest(
        f"a token of {text[:60]!r} is only a part of a character: this model cannot score it",
        hint="score the letters of the options instead",
    )


def _forced(llama: Llama, whole: list[int], start: int, text: str) -> float:
    """Log-probability of the tokens of `whole` from `start` on, each after those before it."""
    total = 0.0
    for at in range(start, len(whole)):
        answer = llama.complete(
            {
                "prompt": whole[:at],
                "n_predict": 1,
                "temperature": 1.0,
                "n_probs": 1,
                "logit_bias": [[whole[at], _FORCE]],
                "cache_prompt": True,
            }
        )
        entries = _entries(answer)
        if not entries:
            raise _unscorable(text)
        if len(entries) != 1 or entries[0]["id"] != whole[at]:
            raise BadReply(f"llama.cpp did not draw the token {whole[at]} that was forced")
        total += entries[0]["logprob"]
    return total


def _compute(llama: Llama, tokens: list[int], *, afresh: bool = True) -> None:
    """Compute the tokens, and keep them and no others, for calls that go on from there."""
    llama.complete({"prompt": tokens, "n_predict": 0, "cache_prompt": not afresh})


def _common(sequences: Sequence[Sequence[int]]) -> int:
    """How many tokens all sequences begin with."""
    pairs = enumerate(zip(*sequences, strict=False))
    return next((at for at, tokens in pairs if len(set(tokens)) > 1), min(map(len, sequences)))


def _shares(llama: Llama, before: list[int], ids: Sequence[int]) -> list[float]:
    """Log-probabilities of tokens as the next one, given that it is one of them."""
    answer = llama.complete(
        {
            "prompt": before,
            "n_predict": 1,
            "temperature": 1.0,
            "samplers": ["temperature"],
            "n_probs": len(ids),
            "post_sampling_probs": True,
            "logit_bias": [[token, _PREFER] for token in ids],
            "cache_prompt": True,
        }
    )
    entries = _entries(answer)
    found = {entry["id"]: entry["prob"] for entry in (entries[0].get("top_probs", ()) if entries else ())}
    if found.keys() != set(ids):
        raise BadReply(f"llama.cpp gave probabilities for {len(found.keys() & set(ids))} of {len(ids)} labels")
    total = sum(found.values())
    return [math.log(max(found[token] / total, _LEAST)) for token in ids]


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
