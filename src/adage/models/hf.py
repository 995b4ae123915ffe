"""Models of the `transformers` library inside the process (extra `[transformers]`): chat and scores by torch.

Nothing is downloaded: a model is a folder, or a name on the hub whose files are already in the cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from adage.errors import AdageError, BadReply, BadRequest, MissingExtra, RecipeError
from adage.models.base import ChatReply, ChatRequest, Message, Sampling
from adage.models.local import sha256_of
from adage.models.native import load_engine
from adage.models.score import RAW, Messages, Scores
from adage.records import digest

T = TypeVar("T")
_WEIGHTS = ("*.safetensors", "*.bin")


class TransformersModel:
    """A causal language model; a `Scorer`.

    Nothing is loaded before the first call. One thread computes; what the prompts of one call have in common is
    computed once. Replies are greedy, whatever temperature a request names.
    """

    batches = True

    def __init__(self, name: str, *, model: str, device: str = "cpu", max_tokens: int = 256) -> None:
        self.name = name
        self._model = model
        self._device = device
        self._sampling = Sampling(max_tokens=max_tokens)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="torch")

    def check(self) -> None:
        """Raise what the first call would raise: `MissingExtra` for a package, `RecipeError` for files that lack."""
        for package in ("torch", "transformers"):
            if find_spec(package) is None:
                raise MissingExtra(f"the model {self.name!r}", package, "transformers")
        self._folder  # noqa: B018 -- raises

    def request(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, *, sample: int = 0, attempt: int = 0
    ) -> ChatRequest:
        """The request that would be run; reads the hashes of the weights on first use.

        Raises:
            RecipeError: there is no such model.
        """
        return self._sampling.request(self._identity, "transformers", messages, schema, sample=sample, attempt=attempt)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Run one request, greedily; a JSON schema is not heeded.

        Raises:
            MissingExtra: a package is not installed.
            RecipeError: there is no such model, or it cannot be loaded.
            BadRequest: the prompt exceeds the model's context.
            BadReply: the model failed.
        """
        return await self._run(lambda: self._reply(request))

    async def has_template(self) -> bool:
        """Whether the tokenizer brings a chat template; raises as `chat` does."""
        return await self._run(lambda: bool(self._loaded[1].chat_template))

    async def are_tokens(self, messages: Messages, labels: Sequence[str]) -> bool:
        """Whether each label is one token after this prompt, and no two the same; raises as `chat` does."""

        def look() -> bool:
            try:
                self._label_tokens(self._written(messages), labels)
            except BadRequest:
                return False
            return True

        return await self._run(look)

    async def letters(self, prompts: Sequence[Messages], labels: Sequence[str]) -> list[Scores]:
        """For each prompt, the log-probability of each label as the next token, given that it is one of them.

        Raises:
            BadRequest: a label is not exactly one token, or the prompt exceeds the model's context.
            ModelError: as `chat` says.
        """
        return await self._run(lambda: self._letters([self._written(each) for each in prompts], labels))

    async def texts(self, messages: Messages, texts: Sequence[str]) -> Scores:
        """Natural logarithm of the probability of each text after this prompt, in the text's own tokenisation.

        Where a token spans both, it counts to the text.

        Raises:
            BadRequest: there is nothing to score, or the prompt exceeds the model's context.
            ModelError: as `chat` says.
        """
        return await self._run(lambda: self._texts(self._written(messages), texts))

    async def close(self) -> None:
        """Let go of the weights, once the call that runs has ended."""
        self._thread.submit(vars(self).pop, "_loaded", None)
        self._thread.shutdown(wait=False)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="torch")

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._guarded, work)

    def _guarded(self, work: Callable[[], T]) -> T:
        self.check()
        try:
            with load_engine("torch").inference_mode():
                return work()
        except AdageError:
            raise
        except Exception as error:
            raise BadReply(f"transformers failed: {type(error).__name__}: {error}") from error

    def _reply(self, request: ChatRequest) -> ChatReply:
        model, tokenizer = self._loaded
        tokens = self._fitting(self._tokens(self._written(request.messages)), request.max_tokens)
        marks = list(request.extra.get("stop") or ())

        def said(drawn: Any) -> str:  # noqa: ANN401 -- a tensor
            return str(tokenizer.decode(drawn[0, len(tokens) :], skip_special_tokens=True))

        def stops(drawn: Any, *_: object, **__: object) -> Any:  # noqa: ANN401 -- tensors
            return self._tensor([any(mark in said(drawn) for mark in marks)])[0].bool()

        whole = model.generate(
            self._tensor(tokens),
            attention_mask=self._tensor([1] * len(tokens)),
            max_new_tokens=request.max_tokens,
            do_sample=False,
            pad_token_id=model.config.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id,
            stopping_criteria=[stops] if marks else None,
        )
        text, drawn = said(whole), whole[0, len(tokens) :].tolist()
        stopped = min((at for mark in marks if (at := text.find(mark)) >= 0), default=None)
        ended = stopped is not None or len(drawn) < request.max_tokens or drawn[-1] in self._ends
        return ChatReply(
            text=text[:stopped],
            finish_reason="stop" if ended else "length",
            prompt_tokens=len(tokens),
            completion_tokens=len(drawn),
        )

    def _letters(self, prompts: Sequence[str], labels: Sequence[str]) -> list[Scores]:
        ids = [self._label_tokens(prompt, labels) for prompt in prompts]
        rows: list[Scores] = []
        for logits, labelled in zip(self._after([self._tokens(prompt) for prompt in prompts]), ids, strict=True):
            rows.append(logits[-1, labelled].log_softmax(dim=-1).tolist())
        return rows

    def _texts(self, prompt: str, texts: Sequence[str]) -> Scores:
        before = self._tokens(prompt)
        wholes = [self._tokens(prompt + text) for text in texts]
        scores: Scores = []
        for whole, text, logits in zip(wholes, texts, self._after(wholes), strict=True):
            shared = _common([before, whole])
            if not 0 < shared < len(whole):
                raise BadRequest(f"there is nothing to score in {text!r} after {prompt[-40:]!r}")
            known = logits[-(len(whole) - shared) - 1 : -1].log_softmax(dim=-1)
            picked = known.gather(-1, self._tensor(whole[shared:])[0].unsqueeze(-1))
            scores.append(float(picked.sum()))
        return scores

    def _after(self, sequences: Sequence[list[int]]) -> list[Any]:
        """For each sequence, float64 logits of shape (n, vocabulary) after its last n tokens.

        What all sequences begin with is computed once; n covers the rest of each and at least one more place.
        """
        torch, (model, _) = load_engine("torch"), self._loaded
        for sequence in sequences:
            self._fitting(sequence, 0)
        shared = min(_common(sequences), *(len(sequence) - 1 for sequence in sequences))
        if not shared:
            return [model(self._tensor(sequence)).logits[0].double() for sequence in sequences]
        first = model(self._tensor(sequences[0][:shared]), use_cache=True)
        found = []
        for sequence in sequences:
            rest = model(self._tensor(sequence[shared:]), past_key_values=first.past_key_values, use_cache=True)
            first.past_key_values.crop(shared)
            found.append(torch.cat([first.logits[0, -1:], rest.logits[0]]).double())
        return found

    def _label_tokens(self, prompt: str, labels: Sequence[str]) -> list[int]:
        before = self._tokens(prompt)
        ids = [whole[-1] for label in labels if (whole := self._tokens(prompt + label))[:-1] == before]
        if len(ids) < len(labels) or len(set(ids)) < len(ids) or not ids:
            raise BadRequest(f"the labels {list(labels)} are not distinct tokens", hint="expected e.g. A, B, C, D")
        return ids

    def _written(self, messages: Messages) -> str:
        """The text that the model goes on with: that of a raw message, else the conversation in its template."""
        if messages[0].role == RAW:
            return messages[0].content
        listed = [{"role": message.role, "content": message.content} for message in messages]
        return str(self._loaded[1].apply_chat_template(listed, tokenize=False, add_generation_prompt=True))

    def _tokens(self, text: str) -> list[int]:
        """Token ids of a text with the mark of the beginning once, even where a chat template wrote it too."""
        tokenizer = self._loaded[1]
        tokens = list(tokenizer(text).input_ids)
        return tokens[1:] if tokens[:2] == [tokenizer.bos_token_id] * 2 else tokens

    def _fitting(self, tokens: list[int], more: int) -> list[int]:
        most = getattr(self._loaded[0].config, "max_position_embeddings", None)
        if not tokens or (most and len(tokens) + more > most):
            raise BadRequest(f"the prompt has {len(tokens)} tokens, and {more} may follow; the model takes 1 to {most}")
        return tokens

    def _tensor(self, tokens: Sequence[int]) -> Any:  # noqa: ANN401 -- torch is not installed everywhere
        return load_engine("torch").tensor([list(tokens)], device=self._device)

    @cached_property
    def _ends(self) -> set[int]:
        ends = self._loaded[0].generation_config.eos_token_id
        return set(ends) if isinstance(ends, list) else {ends}

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """Model and tokenizer."""
        library = load_engine("transformers")
        library.utils.logging.disable_progress_bar()
        try:
            tokenizer = library.AutoTokenizer.from_pretrained(self._folder, local_files_only=True)
            model = library.AutoModelForCausalLM.from_pretrained(self._folder, local_files_only=True)
        except Exception as error:
            raise RecipeError(
                f"transformers cannot load {str(self._folder)!r}: {error}",
                hint="expected the folder of a causal language model with its tokenizer",
            ) from error
        return model.to(self._device).eval(), tokenizer

    @cached_property
    def _folder(self) -> Path:
        folder = Path(self._model).expanduser()
        if folder.is_dir():
            return folder
        try:
            hub = load_engine("huggingface_hub")
            return Path(hub.snapshot_download(self._model, local_files_only=True))
        except Exception as error:
            raise RecipeError(
                f"there is no model {self._model!r} on this machine",
                hint=f"expected a folder, or fetch it first: hf download {self._model}",
            ) from error

    @cached_property
    def _identity(self) -> str:
        files = sorted(file for pattern in _WEIGHTS for file in self._folder.glob(pattern))
        if not files:
            raise RecipeError(
                f"{str(self._folder)!r} holds no weights", hint=f"expected files like {', '.join(_WEIGHTS)}"
            )
        return f"{Path(self._model).name}@{digest([sha256_of(file) for file in files], size=8)}"


def _common(sequences: Sequence[Sequence[int]]) -> int:
    """How many tokens all sequences begin with."""
    shortest = min(map(len, sequences))
    first = sequences[0]
    return next((at for at in range(shortest) if any(sequence[at] != first[at] for sequence in sequences)), shortest)
