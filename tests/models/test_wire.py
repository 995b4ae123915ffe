"""HTTP exchanges against raw sockets: what aiohttp's connections do for us must still be done without its requests."""

import asyncio
import gzip
import socket
from contextlib import asynccontextmanager

import aiohttp
import pytest
from yarl import URL

from adage.models.wire import TooLarge, Wire

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n'
HEADERS = {"Accept": "application/json", "User-Agent": "adage"}


class Server:
    """Answers each request on a connection with the next of `answers` (the last one for ever), and notes all it got."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.connections = 0
        self.requests = []
        self.asked = asyncio.Event()

    async def serve(self, reader, writer):
        """One connection."""
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
                self.requests.append((head.decode(), await reader.readexactly(length)))
                self.asked.set()
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                writer.write(answer)
                await writer.drain()
                if b"Connection: close" in answer:
                    return
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def talking(*answers, most_bytes=1 << 20, through=False):
    """A wire, the address of a server with these answers, and the server; `through` makes it a proxy."""
    server = Server(*answers)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    address = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    wire = Wire(
        connect_timeout_s=2,
        proxy=URL(f"http://amina:s%C3%A9same@{address}") if through else None,
        most_bytes=most_bytes,
    )
    try:
        yield wire, URL(f"http://{address}/v1/x y?ü=1"), server
    finally:
        await wire.close()
        listener.close()
        await asyncio.sleep(0.01)  # older versions of aiohttp do not wait for the last connection to be gone


async def test_a_connection_serves_many_exchanges_and_is_asked_in_plain_http():
    """Byte for byte what the server gets: one length, one host, each header once."""
    async with talking(OK, CHUNKED) as (wire, url, server):
        first = await wire.exchange("POST", url, HEADERS, b"[1]")
        second = await wire.exchange("POST", url, HEADERS, '["ü"]'.encode())
        third = await wire.exchange("GET", url, HEADERS)
    assert (first.status, first.content) == (200, b"{}")
    assert second.content == third.content == b'{"a":1}'
    assert server.connections == 1
    assert [body for _, body in server.requests] == [b"[1]", '["ü"]'.encode(), b""]
    line, *headers, _, _ = server.requests[0][0].split("\r\n")
    assert line == "POST /v1/x%20y?%C3%BC=1 HTTP/1.1"
    assert sorted(header.partition(":")[0] for header in headers) == [
        "Accept", "Accept-Encoding", "Content-Length", "Host", "User-Agent",
    ]  # fmt: skip
    assert headers[-1] == "Content-Length: 3"
    assert "Content-Length" not in server.requests[2][0]


async def test_at_the_same_time_each_exchange_has_a_connection_of_its_own():
    """Nothing is pipelined; connections that are free again are used again."""
    async with talking(OK) as (wire, url, server):
        for _ in range(3):
            await asyncio.gather(*(wire.exchange("POST", url, HEADERS, b"[]") for _ in range(20)))
    assert 20 <= server.connections < 40
    assert len(server.requests) == 60


async def test_what_comes_before_an_answer_is_passed_over():
    """RFC 9110, 15.2: any number of informational responses may precede the final one."""
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    async with talking(early + OK) as (wire, url, _):
        assert (await wire.exchange("POST", url, HEADERS, b"[]")).content == b"{}"


async def test_a_connection_that_is_over_is_not_used_again():
    """Said by the server, left unsaid, or after an answer with more in it than it had announced."""
    closing = OK.replace(b"Content-Length", b"Connection: close\r\nContent-Length")
    old = b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nuntil the end"
    for answer, content in ((closing, b"{}"), (old, b"until the end"), (OK + b"HTTP/1.1 500 Stray\r\n\r\n", b"{}")):
        async with talking(answer) as (wire, url, server):
            for _ in range(3):
                assert (await wire.exchange("POST", url, HEADERS, b"[]")).content == content
            assert server.connections == 3


async def test_what_a_server_says_unasked_is_no_answer():
    """Bytes that come while a connection is idle must not be read as the answer to the next request."""

    async def serve(reader, writer):
        async with asyncio.timeout(5):
            await reader.readuntil(b"[]")
            writer.write(OK)
            await writer.drain()
            await asyncio.sleep(0.02)
            writer.write(OK.replace(b"{}", b"[]"))
            await reader.read()
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    wire = Wire(connect_timeout_s=2, proxy=None, most_bytes=100)
    url = URL(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/")
    for _ in range(3):
        assert (await wire.exchange("POST", url, HEADERS, b"[]")).content == b"{}"
        await asyncio.sleep(0.05)
    await wire.close()
    listener.close()
    await asyncio.sleep(0.01)


async def test_a_server_that_changes_the_protocol_is_not_waited_for():
    """After 101 nothing else comes."""
    async with talking(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n") as (
        wire,
        url,
        _,
    ):
        assert (await wire.exchange("POST", url, HEADERS, b"[]")).status == 101


async def test_a_connection_that_is_not_made_in_time_is_told_from_a_late_answer():
    """The queue of a listener that accepts nobody fills up; who comes then gets no answer at all."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        queued = [socket.socket() for _ in range(4)]
        for each in queued:
            each.setblocking(False)
            each.connect_ex(listener.getsockname())
        wire = Wire(connect_timeout_s=0.1, proxy=None, most_bytes=100)
        with pytest.raises(aiohttp.ConnectionTimeoutError):
            await wire.exchange("POST", URL(f"http://127.0.0.1:{listener.getsockname()[1]}/"), HEADERS, b"[]")
        await wire.close()
        for each in queued:
            each.close()


async def test_a_cancelled_exchange_takes_its_connection_with_it():
    """The answer to a request that nobody waits for must not be read as that to the next."""
    async with talking(b"HTTP/1.1 200 OK\r\n", OK) as (wire, url, server):
        slow = asyncio.create_task(wire.exchange("POST", url, HEADERS, b"[1]"))
        await server.asked.wait()
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert (await wire.exchange("POST", url, HEADERS, b"[2]")).content == b"{}"
        assert server.connections == 2


async def test_the_size_is_bounded_whether_or_not_it_is_announced():
    """In one piece, in many, and compressed."""
    length = b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + bytes(200_000)
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"186a0\r\n%b\r\n" % bytes(100_000) * 2
    small = b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + bytes(101)
    packed = gzip.compress(bytes(200_000))
    bomb = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(packed), packed)
    for answer, most in ((length, 100_000), (chunks, 100_000), (small, 100), (bomb, 100_000)):
        async with talking(answer, most_bytes=most) as (wire, url, _):
            with pytest.raises(TooLarge):
                await wire.exchange("POST", url, HEADERS, b"[]")
    async with talking(length, most_bytes=200_000) as (wire, url, _):
        assert (await wire.exchange("POST", url, HEADERS, b"[]")).content == bytes(200_000)


async def test_what_is_no_http_is_an_error_of_aiohttp():
    """The caller knows what each of them means."""
    async with talking(b"SSH-2.0-OpenSSH_9.2\r\n\r\n") as (wire, url, _):
        with pytest.raises(aiohttp.ClientError):
            await wire.exchange("POST", url, HEADERS, b"[]")


async def test_a_proxy_is_asked_for_the_whole_address():
    """With its own name and password, and never with them in the address."""
    async with talking(OK, through=True) as (wire, _, server):
        for _ in range(2):
            answer = await wire.exchange("POST", URL("http://models.example/v1/chat"), HEADERS, b"[]")
            assert answer.content == b"{}"
    assert server.connections == 1
    for head, _ in server.requests:
        assert head.startswith("POST http://models.example/v1/chat HTTP/1.1\r\n")
        assert "\r\nHost: models.example\r\n" in head
        assert head.count("Proxy-Authorization: Basic ") == 1


async def test_a_proxy_tunnels_what_is_encrypted():
    """CONNECT comes first, and a tunnel that is refused is a failure to connect."""
    async with talking(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", through=True) as (wire, _, server):
        with pytest.raises(aiohttp.ClientHttpProxyError):
            await wire.exchange("POST", URL("https://models.example/v1/chat"), HEADERS, b"[]")
    assert server.requests[0][0].startswith("CONNECT models.example:443 HTTP/1.1\r\n")
