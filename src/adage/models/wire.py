"""HTTP/1.1 exchanges over connections that are kept alive.

aiohttp makes the connections (names, TLS, proxies, the pool) and reads the answers. Its request and response objects,
which are made anew for every call, are left out: they take more of the processor than everything else about a call
(docs/design/003).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

import aiohttp
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

_DRAWN = 4
"""Connections that are looked at for one exchange."""
_SWITCHING = 101
"""Status of a server that goes on in another protocol: no HTTP follows."""


class Answer(NamedTuple):
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    """Names in any case."""
    content: bytes
    """The body, decompressed."""


class TooLarge(aiohttp.ClientError):
    """An answer has more bytes than are read."""


class Wire:
    """Connections to servers, of which each carries one exchange at a time; made within a running event loop.

    Args:
        connect_timeout_s: Seconds that a new connection may take.
        read_timeout_s: Seconds that a server may be silent. An exchange as a whole has no limit of its own.
        proxy: The proxy to go through, if any; with name and password where it wants them.
        most_bytes: Size of the largest answer that is read.
    """

    def __init__(
        self, *, connect_timeout_s: float, read_timeout_s: float | None = None, proxy: URL | None, most_bytes: int
    ) -> None:
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout_s)
        self._read_timeout_s = read_timeout_s
        self._proxy = proxy
        self._most_bytes = most_bytes
        self._connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=300)
        self._requests: dict[tuple[object, ...], aiohttp.ClientRequest] = {}
        """A request for each method, address and set of headers: it finds the connection and knows the headers."""
        self._heads: dict[aiohttp.ClientRequest, bytes] = {}
        """What is sent of each before its body; known once there is a connection, for a proxy may add to it."""

    async def exchange(self, method: str, url: URL, headers: Mapping[str, str], data: bytes = b"") -> Answer:
        """Send a request and read the answer; redirects are not followed, and nothing is sent twice.

        Raises:
            TooLarge: the answer is larger than allowed.
            aiohttp.ClientError: no connection, one that broke off, or an answer that is no HTTP.
        """
        request = self._request(method, url, headers)
        connection = await self._connected(request)
        try:
            answer = await self._carried(connection, self._message(request, data))
        except BaseException as error:
            connection.close()
            if isinstance(error, HttpProcessingError):
                raise aiohttp.ClientError(error.message) from error
            raise
        connection.release()
        return answer

    async def close(self) -> None:
        """Close the connections."""
        await self._connector.close()

    async def _connected(self, request: aiohttp.ClientRequest) -> Connection:
        """A connection on which nothing has been left or said since it was last used."""
        for _ in range(_DRAWN):
            try:
                connection = await self._connector.connect(request, traces=[], timeout=self._timeout)
            except TimeoutError as error:
                raise aiohttp.ConnectionTimeoutError(f"none within {self._timeout.sock_connect:g} s") from error
            if connection.protocol is not None and not connection.protocol.should_close:
                return connection
            connection.close()
        raise aiohttp.ServerDisconnectedError

    async def _carried(self, connection: Connection, message: bytes) -> Answer:
        """The answer to a message on a connection that is used for nothing else meanwhile."""
        protocol = connection.protocol
        if protocol is None or protocol.transport is None:
            raise aiohttp.ServerDisconnectedError
        protocol.set_response_params(read_until_eof=True, read_timeout=self._read_timeout_s)
        protocol.transport.write(message)
        if self._read_timeout_s:
            protocol.start_timeout()
        head, payload = await protocol.read()
        while 100 <= head.code < 200 and head.code != _SWITCHING:  # informational; the answer follows
            head, payload = await protocol.read()
        return Answer(head.code, head.headers, await self._content(payload))

    def _request(self, method: str, url: URL, headers: Mapping[str, str]) -> aiohttp.ClientRequest:
        key = (method, url, *headers.items())
        if key not in self._requests:
            loop = asyncio.get_running_loop()
            request = aiohttp.ClientRequest(method, url, headers=headers, loop=loop, proxy=self._proxy)
            request.headers.pop("Content-Length", None)  # that of this request, which has no body
            self._requests[key] = request
        return self._requests[key]

    def _message(self, request: aiohttp.ClientRequest, data: bytes) -> bytes:
        """The request as it is sent; a proxy that does not tunnel is asked for the whole address."""
        if request not in self._heads:
            target = str(request.url) if request.proxy and not request.is_ssl() else request.url.raw_path_qs
            headers = [f"{name}: {value}\r\n" for name, value in request.headers.items()]
            self._heads[request] = f"{request.method} {target} HTTP/1.1\r\n{''.join(headers)}".encode()
        length = b"Content-Length: %d\r\n" % len(data) if data else b""
        return b"%b%b\r\n%b" % (self._heads[request], length, data)

    async def _content(self, payload: aiohttp.StreamReader) -> bytes:
        """The body of an answer, as far as it is not too large."""
        content = bytearray()
        while not payload.at_eof():
            content += await payload.readany()
            if len(content) > self._most_bytes:
                raise TooLarge(f"it sent more than {self._most_bytes >> 20} MB")
        return bytes(content)
