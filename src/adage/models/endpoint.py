"""One HTTP endpoint: limits that adapt, bounded retries in one place, every failure as a `ModelError`."""

from __future__ import annotations

import asyncio
import email.utils
import json
import os
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import nullcontext
from functools import lru_cache
from typing import Any, TypeVar
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from yarl import URL

from adage.errors import (
    BadReply,
    BadRequest,
    EndpointBusy,
    EndpointUnreachable,
    MissingKey,
    ModelError,
    RecipeError,
    RequestRejected,
)
from adage.keys import looks_like_key
from adage.models.limits import Deadlines, Limits
from adage.models.wire import Answer, Wire

T = TypeVar("T")

MAX_REPLY_BYTES = 16 << 20
_LONGEST_WAIT_S = 120.0
_DOWN_AFTER = 10
"""Calls in a row that exhausted their retries before the endpoint counts as down."""
_QUOTED = 500
"""Characters of an answer that a message shows."""
_LATER = "run the same command again later; stored calls are kept"
_FLAGGED = re.compile(r"flagged|moderat|content|policy|safety", re.IGNORECASE)
"""What a server says that refuses a text, not a key."""
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "adage"}
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}

_FAILURES: tuple[tuple[type[BaseException], type[ModelError]], ...] = (
    (aiohttp.ConnectionTimeoutError, EndpointUnreachable),
    (aiohttp.ClientConnectorError, EndpointUnreachable),
    (aiohttp.ServerFingerprintMismatch, EndpointUnreachable),
    (aiohttp.InvalidURL, EndpointUnreachable),
    (aiohttp.NonHttpUrlClientError, EndpointUnreachable),
    (aiohttp.ClientHttpProxyError, EndpointUnreachable),
    (aiohttp.ClientConnectionError, EndpointBusy),
    (aiohttp.ClientPayloadError, EndpointBusy),
    (TimeoutError, EndpointBusy),
    (OSError, EndpointBusy),
    (aiohttp.ClientError, BadReply),
)
"""What an exception of aiohttp means; the first class that fits counts."""


def failure_of(kind: type[BaseException]) -> type[ModelError]:
    """The error that an exception class of aiohttp stands for."""
    return next(error for caught, error in _FAILURES if issubclass(kind, caught))


def require_keys(named: Iterable[tuple[str, str]], *, when: str, file: str) -> None:
    """Raise `MissingKey` with every variable in `named` that is not set, and all models that need it.

    Args:
        named: Environment variables with keys, each with the model that needs it.
        when: When they should have been set, for the hint.
        file: What names them and must not hold the key itself, for the hint.
    """
    missing: dict[str, list[str]] = {}
    for variable, name in dict.fromkeys(named):
        if not os.environ.get(variable):
            missing.setdefault(variable, []).append(name)
    if missing:
        listed = ", ".join(f"{variable} (for {', '.join(names)})" for variable, names in sorted(missing.items()))
        raise MissingKey(
            f"the key of a model is missing: environment variable {listed} is not set",
            hint=f"set it {when}, e.g.: export {min(missing)}=…  (the key itself never goes into {file})",
        )


class _Refused(Exception):
    """An HTTP answer that is no success: what it means, and how long the server asks to wait."""

    def __init__(self, error: ModelError, status: int, retry_after_s: float | None = None) -> None:
        super().__init__(error.message)
        error.http_status = status
        self.error = error
        self.retry_after_s = retry_after_s


class Endpoint:
    """The address of an OpenAI-compatible server, and everything about talking to it that is not chat or embedding.

    Timeouts count from the moment a request is sent, not while it waits for its turn: `connect_timeout_s` for a new
    connection, `read_timeout_s` for a server's silence, `timeout_s` for all of it. After ten calls in a row
    that outlasted their retries, or one that could not connect, the endpoint counts as down and every later call
    fails at once. `limits` may be shared with others who talk to the same server; `concurrency` bounds this one alone.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key_env: str | None = None,
        concurrency: int = 16,
        timeout_s: float = 120.0,
        connect_timeout_s: float = 10.0,
        read_timeout_s: float | None = None,
        retries: int = 5,
        limits: Limits | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.url = _checked(base_url)
        self.address = f"{self.url.authority}{self.url.path}".rstrip("/")
        """Host, port and path: what identifies the endpoint to people and in keys."""
        self.key_env = key_env
        self.limits = limits or Limits(concurrency)
        self._slots = asyncio.Semaphore(concurrency) if concurrency < self.limits.gate.most else nullcontext()
        self._deadlines = Deadlines(timeout_s)
        self._connect_timeout_s = connect_timeout_s
        self._read_timeout_s = read_timeout_s
        self._tries: dict[type[ModelError], int] = {
            EndpointBusy: retries + 1,
            EndpointUnreachable: min(retries, 2) + 1,
            BadReply: min(retries, 2) + 1,
        }
        self._sleep = sleep
        self._jitter = jitter
        self._wire: Wire | None = None
        self._exhausted = 0
        self._has_answered = False
        self._down: EndpointUnreachable | None = None

    async def post(self, path: str, body: dict[str, Any], read: Callable[[dict[str, Any]], T]) -> T:
        """Send `body` as JSON and return what `read` makes of the answer, trying again where that may help.

        `read` raises `BadReply` when the answer is not what it should be.

        Raises:
            MissingKey: the key's variable is not set; nothing was sent.
            EndpointUnreachable: no connection, or the endpoint has failed too often in a row.
            RequestRejected: 401, 402, 403, 404, a redirect, or a quota that is used up.
            BadRequest: any other 4xx.
            EndpointBusy: 429, 5xx, a reset or a timeout on every try.
            BadReply: the answer is no JSON object, is too large, or `read` does not take it.
        """
        headers = self._headers()
        data = msgspec.json.encode(body)
        most_tokens = len(data) + int(body.get("max_tokens") or 0)
        tried = 0
        while True:
            async with self._slots, self.limits.gate:
                while True:
                    if self._down:
                        raise EndpointUnreachable(self._down.message, hint=self._down.hint)
                    tried += 1
                    taken = await self.limits.admit(most_tokens) if self.limits.by_minute else None
                    sent_at = time.monotonic()
                    try:
                        answer = await self._deadlines.within(self._send("POST", path, headers, data))
                        tokens = _tokens_of(answer, most_tokens)
                        self.limits.settle(taken, tokens)
                        value = read(answer)
                    except (_Refused, BadReply, aiohttp.ClientError, OSError) as caught:
                        others_may_go = _is_overload(caught) and not self.limits.gate.overloaded(sent_at)
                        if isinstance(caught, _Refused):
                            self.limits.settle(taken, 0)
                        pause_s = self._pause_after(caught, tried)
                        if others_may_go:
                            break
                        await self._sleep(pause_s)
                    else:
                        self.limits.gate.succeeded(time.monotonic() - sent_at, tokens)
                        self._exhausted = 0
                        self._has_answered = True
                        return value
            await self._sleep(pause_s)  # without a slot: the next in turn may be luckier

    async def models(self) -> tuple[str, ...]:
        """Names of the models that the endpoint serves; empty when it does not say."""
        try:
            answer = await self._deadlines.within(self._send("GET", "models", self._headers()))
            return tuple(sorted(str(entry["id"]) for entry in answer["data"]))
        except (_Refused, aiohttp.ClientError, OSError, KeyError, TypeError):
            return ()

    async def close(self) -> None:
        """Close the connections."""
        if self._wire is not None:
            self._deadlines.close()
            await self._wire.close()
            self._wire = None

    def _headers(self) -> dict[str, str]:
        if self.key_env is None:
            return _HEADERS
        key = os.environ.get(self.key_env, "").strip()
        if not key or not key.isascii() or not key.isprintable():
            raise MissingKey(
                f"the environment variable {self.key_env!r} should hold the key for {self.address}, but it is "
                + ("not usable as one" if key else "not set"),
                hint=f"export {self.key_env}=… and run the same command again",
            )
        return {**_HEADERS, "Authorization": f"Bearer {key}"}

    async def _send(self, method: str, path: str, headers: dict[str, str], data: bytes = b"") -> dict[str, Any]:
        if self._wire is None:  # not before: it belongs to the loop that runs
            self._wire = Wire(
                connect_timeout_s=self._connect_timeout_s,
                read_timeout_s=self._read_timeout_s,
                proxy=_proxy_for(self.url),
                most_bytes=MAX_REPLY_BYTES,
            )
        answer = await self._wire.exchange(method, _joined(self.url, path), headers, data)
        return self._read(answer, headers.get("Authorization", ""))

    def _read(self, answer: Answer, secret: str) -> dict[str, Any]:
        content = _decoded(answer.content)
        status = answer.status
        if status == 200 and isinstance(content, dict):
            if not content.get("error"):
                return content
            status = _status_within(content["error"])
        said, location = _said(content, answer.content), answer.headers.get("Location", "")
        if key := secret.removeprefix("Bearer "):
            said, location = said.replace(key, "***"), location.replace(key, "***")
        error = self._refusal(status, said[:_QUOTED] or "(nothing)", location[:_QUOTED])
        raise _Refused(error, status, _retry_after(answer.headers.get("Retry-After")))

    def _refusal(self, status: int, said: str, location: str) -> ModelError:
        where = f"{self.address} answered {status}: {said}"
        if status == 200:
            return BadReply(f"{self.address} sent something that is no JSON object: {said}")
        is_about_text = status == 403 and (self._has_answered or _FLAGGED.search(said))
        if status in {401, 403} and not is_about_text:
            hint = f"check the key in {self.key_env}" if self.key_env else "name the key's variable in the recipe"
            return RequestRejected(where, hint=hint)
        if 300 <= status < 400:
            return RequestRejected(
                f"{self.address} redirects to {location!r}, which is not followed",
                hint="put the final address into the recipe",
            )
        if status == 402 or (status == 429 and "quota" in said.casefold()):
            return RequestRejected(where, hint="the account has no credit left; stored calls are kept")
        if status in {404, 405, 501}:
            return RequestRejected(where, hint="check base_url (it usually ends in /v1) and the model's name")
        if status in {408, 409, 425, 429} or status >= 500:
            by_minute = "; if it counts calls by the minute, set requests_per_minute" if status == 429 else ""
            return EndpointBusy(where, hint=_LATER + by_minute)
        return BadRequest(where)

    def _error_of(self, caught: Exception) -> ModelError:
        if isinstance(caught, _Refused):
            return caught.error
        if isinstance(caught, ModelError):
            return caught
        kind = failure_of(type(caught))
        reason = " ".join(str(getattr(caught, "os_error", caught)).split()) or type(caught).__name__
        if kind is EndpointUnreachable:
            return kind(
                f"no connection to {self.address}: {reason}",
                hint="check that the server runs and that base_url is right",
            )
        if isinstance(caught, aiohttp.SocketTimeoutError):
            return kind(f"{self.address} sent nothing for {self._read_timeout_s:g} s", hint="raise read_timeout_s")
        if isinstance(caught, TimeoutError):
            return kind(f"{self.address} did not answer within {self._deadlines.seconds:g} s", hint="raise timeout_s")
        return kind(f"{self.address} broke off: {reason}")

    def _pause_after(self, caught: Exception, tried: int) -> float:
        """Seconds to wait before the next try; raises what the failure means where there is none."""
        error = self._error_of(caught)
        asked_s = caught.retry_after_s if isinstance(caught, _Refused) else None
        too_long = asked_s is not None and asked_s > _LONGEST_WAIT_S
        if too_long:
            error = EndpointUnreachable(
                f"{error.message} (it asks to wait {asked_s:.0f} s; more than {_LONGEST_WAIT_S:.0f} s is not waited)",
                hint="run the same command again after that; stored calls are kept",
            )
        if too_long or tried >= self._tries.get(type(error), 1):
            self._note(error)
            raise error from caught
        return self._pause(tried) if asked_s is None else asked_s

    def _note(self, error: ModelError) -> None:
        """Count a call that has failed for good; too many in a row, or no connection, and the endpoint is down."""
        if error.retryable:
            self._exhausted += 1
        if isinstance(error, EndpointUnreachable):
            self._down = error
        elif self._exhausted >= _DOWN_AFTER:
            self._down = EndpointUnreachable(
                f"{self.address} failed {self._exhausted} calls in a row; the last one: {error.message}",
                hint=error.hint or _LATER,
            )

    def _pause(self, tried: int) -> float:
        """Exponential back-off with jitter: between half and all of 0.5, 1, 2, … at most 30 seconds."""
        return float(min(30.0, 0.5 * 2.0 ** (tried - 1)) * (0.5 + 0.5 * self._jitter()))


@lru_cache
def _joined(url: URL, path: str) -> URL:
    return url / path


def _is_overload(caught: Exception) -> bool:
    """Whether a failure says that the server has more to do than it can: it says so, or answers too late."""
    if isinstance(caught, _Refused):
        return caught.error.http_status in {429, 503}
    return isinstance(caught, TimeoutError) and not isinstance(caught, aiohttp.ConnectionTimeoutError)


def _tokens_of(answer: dict[str, Any], unknown: int) -> int:
    """Tokens that an answer says it has needed."""
    usage = answer.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    if total is None and isinstance(usage, dict):
        total = sum(usage.get(part) or 0 for part in ("prompt_tokens", "completion_tokens"))
    return total if isinstance(total, int) else unknown


def _checked(base_url: str) -> URL:
    try:
        url = URL(base_url.rstrip("/"))
    except ValueError:
        url = URL()
    if url.scheme not in {"http", "https"} or not url.host or url.user or url.password or url.query_string:
        shown = str(url.with_user(None).with_query(None)) if url.host else base_url
        named = "base_url" if looks_like_key(shown) else f"base_url {shown!r}"
        raise RecipeError(
            f"{named} is not usable: expected http(s)://host[:port]/path, without user, password or query",
            hint="a key belongs into an environment variable, named by key_env",
        )
    return url


def _proxy_for(url: URL) -> URL | None:
    """Proxy that the environment sets for this address; never for the machine itself.

    Raises:
        EndpointUnreachable: it is no address of a proxy.
    """
    host = url.host or ""
    named = None if host in _LOOPBACK or proxy_bypass(host) else getproxies().get(url.scheme)
    if not named:
        return None
    try:
        proxy = URL(named if "://" in named else f"http://{named}")
    except ValueError:
        proxy = URL()
    if proxy.scheme not in {"http", "https"} or not proxy.host:
        raise EndpointUnreachable(
            f"the proxy that the environment names for {url.scheme} is not usable: {re.sub('//.*@', '//', named)!r}",
            hint=f"expected host:port or http://host:port; correct or unset the variable {url.scheme}_proxy",
        )
    return proxy


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait by a Retry-After header (RFC 9110, 10.2.3): a number or a date."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _decoded(content: bytes) -> object:
    """The JSON in `content`, or None; half characters (lone surrogates, broken UTF-8) become question marks."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        lenient = json.dumps(json.loads(content.decode(errors="replace")), ensure_ascii=False)
        return msgspec.json.decode(lenient.encode(errors="replace"))
    except (ValueError, RecursionError):
        return None


def _said(answer: object, content: bytes) -> str:
    """What the server says went wrong, on one line."""
    found: object = answer
    for field in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(field):
            found = found[field]
    text = content.decode(errors="replace") if found is None else str(found)
    return " ".join(text.split())


def _status_within(error: object) -> int:
    """Status of an error that came with HTTP 200, as gateways send it."""
    code = error.get("code") if isinstance(error, dict) else None
    return int(code) if isinstance(code, int) and 400 <= code < 600 else 502
