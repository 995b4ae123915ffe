"""Every error ADAGE raises on purpose, as one tree that can be read at a glance.

An `AdageError` is a message for a person: what went wrong, the value, what was expected, and in `hint` the next
step. `exit_code` is what the command line returns: 2 for bad usage or input, 3 for a stop at a limit, 130 (as a shell
says it) for an interruption.
"""

from __future__ import annotations

from collections.abc import Sequence


class AdageError(Exception):
    """Base of all errors meant for the user; shown without a traceback."""

    exit_code = 2
    retryable = False
    """Whether the same call may succeed when it is simply tried again."""
    fatal = True
    """Whether the build stops. A row-level error (`fatal = False`) ends that row as Failed and nothing else."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class RecipeError(AdageError):
    """The recipe is wrong; `problems` holds every fault found, each with its place."""

    def __init__(self, message: str, *, problems: Sequence[str] = (), hint: str = "") -> None:
        super().__init__("\n".join([message, *(f"  {problem}" for problem in problems)]), hint=hint)
        self.problems = tuple(problems)


class CorpusError(AdageError):
    """A corpus file cannot be read as asked."""


class BenchmarkError(AdageError):
    """A benchmark, ours or a foreign one, cannot be read as asked."""


class LanguageError(AdageError):
    """A language code, or a language pack, is not usable."""


class HandFileError(AdageError):
    """A file of themes, scenarios or verdicts supplied by hand does not fit."""


class MissingExtra(AdageError):
    """An optional package is needed; the message names the extra that brings it."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the package {package!r}, which is not installed",
            hint=f"install it with: pip install 'adage[{extra}]'",
        )


class StoreError(AdageError):
    """A run folder, journal or vector store cannot be read or written."""


class JournalError(StoreError):
    """The call journal is damaged or cannot be written."""


class VerificationError(StoreError):
    """A record's content does not match its id or hash."""


class NotStored(StoreError):
    """`--replay` met a model call or a vector that the stores do not hold."""


class StageError(AdageError):
    """A stage cannot run on these rows (too few of them, for instance)."""


class ModelError(AdageError):
    """A model could not answer; subclasses say why."""

    fatal = False
    http_status: int | None = None
    """HTTP status that the endpoint answered with, where there was one."""
    status = "http_error"
    """How the question counts in a stage's account of its calls."""


class EndpointUnreachable(ModelError):
    """No connection to the endpoint could be made."""

    fatal = True


class MissingKey(ModelError):
    """The environment variable that should hold the key is not set."""

    fatal = True


class RequestRejected(ModelError):
    """The endpoint refused the key (401, 403) or does not know the model or path (404)."""

    fatal = True


class BadRequest(ModelError):
    """The endpoint refused this one request (400, 413, 422): a content filter or a context that is too long."""


class EndpointBusy(ModelError):
    """429, 5xx, a reset or a timeout that outlasted every retry."""

    retryable = True


class BadReply(ModelError):
    """The endpoint answered with something that is not a chat completion."""

    retryable = True


class UnparsableReply(ModelError):
    """A reply arrived, but what was asked for is not in it; `reply` is the raw text, kept as evidence."""

    def __init__(self, message: str, *, reply: str, status: str = "invalid", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reply = reply
        self.status = status


class Unscorable(ModelError):
    """The model, or the endpoint before it, gives none of the log-probabilities that a method needs."""

    fatal = True


class CallOwed(ModelError):
    """The call is left to an offline batch; its row waits for the answer."""


class LimitReached(AdageError):
    """The build stopped cleanly at a limit: a budget, or an audit that is still owed."""

    exit_code = 3


class TooManyFailures(AdageError):
    """More rows failed than `max_failed` allows; the build stopped before the next stage."""

    exit_code = 1


class Interrupted(AdageError):
    """Somebody pressed Ctrl-C; what models had answered by then is stored."""

    exit_code = 130
