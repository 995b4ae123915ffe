"""Everything a server can do wrong, done on a real socket: a passing fault is survived, a lasting one is named."""

import asyncio
import gzip
import json
from contextlib import asynccontextmanager

import pytest

from adage.errors import BadReply, EndpointBusy, EndpointUnreachable, RequestRejected, UnparsableReply
from adage.models.ask import ask, object_schema
from adage.models.base import Message
from adage.models.chat import EndpointModel
from adage.stages.label import ThemeAnswer
from adage.store.journal import Journal
from adage.store.recorded import RecordedChat
from endpoint import FakeEndpoint

ASK = [Message(role="user", content="A theme?")]
SCHEMA = object_schema(theme={"type": "string"})


def completion(content='{"theme": "patience"}', reason="stop"):
    """A chat completion."""
    return json.dumps({"choices": [{"message": {"content": content}, "finish_reason": reason}]}).encode()


def http(body, *headers, status="200 OK", length=None):
    """A whole HTTP answer, byte for byte."""
    head = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {length or len(body)}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


GOOD = http(completion())


@asynccontextmanager
async def serving(*answers):
    """A server that gives these raw answers, one a connection, the last one for ever; None stalls, b"" resets."""
    left, asked = list(answers), []

    async def serve(reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
                asked.append(await reader.readexactly(length))
                answer = left.pop(0) if len(left) > 1 else left[0]
                if answer is None:
                    await asyncio.sleep(30)
                elif not answer:
                    writer.transport.abort()
                    return
                writer.write(answer)
                await writer.drain()
                if answer is not GOOD:
                    return
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 25)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", asked
    finally:
        server.close()


async def theme(url, journal=None, **options):
    """The theme that a model at `url` names, through everything a stage uses."""

    async def no_wait(_):
        await asyncio.sleep(0)

    client = EndpointModel("m", base_url=url, model="fake", **{"sleep": no_wait, "timeout_s": 0.3, **options})
    try:
        answer, status = await ask(RecordedChat(client, journal) if journal else client, ASK, SCHEMA, ThemeAnswer)
        return answer.theme, status
    finally:
        await client.close()


FAULTS = {
    "reset": (b"", EndpointBusy),
    "stall": (None, EndpointBusy),
    "half body": (GOOD[:-20], EndpointBusy),
    "length too large": (http(completion(), length=4000), EndpointBusy),
    "length too small": (http(completion(), length=30), BadReply),
    "no gzip": (http(completion(), "Content-Encoding: gzip"), EndpointBusy),
    "broken gzip": (http(gzip.compress(completion())[:-12] + bytes(12), "Content-Encoding: gzip"), BadReply),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", BadReply),
    "500": (http(b'{"error": {"message": "boom"}}', status="500 Oops"), EndpointBusy),
    "HTML error page": (http(b"<html><h1>Bad Gateway</h1></html>", status="502 Bad Gateway"), EndpointBusy),
    "HTML with 200": (http(b"<html><h1>Please log in</h1></html>"), BadReply),
    "empty choices": (http(b'{"choices": []}'), BadReply),
    "null content": (http(completion(None)), BadReply),
    "empty content": (http(completion("")), BadReply),
    "an array": (http(b"[1]"), BadReply),
    "nothing": (http(b"", status="200 OK"), BadReply),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_passing_fault_is_survived_and_a_lasting_one_named(name):
    """Tried again within bounds; after that the row fails with an error that a later build retries."""
    fault, error = FAULTS[name]
    async with serving(fault, GOOD) as (url, asked):
        assert await theme(url) == ("patience", "ok")
        assert len(asked) == 2
    async with serving(fault) as (url, asked):
        with pytest.raises(error) as caught:
            await theme(url, retries=1)
        assert len(asked) == 2
    assert caught.value.retryable
    assert not caught.value.fatal


async def test_a_storm_of_500_is_outlasted():
    """Five in a row do not cost the row."""
    async with serving(*[FAULTS["500"][0]] * 5, GOOD) as (url, _):
        assert await theme(url) == ("patience", "ok")


async def test_compressed_answers_are_read():
    """Servers behind proxies compress."""
    async with serving(http(gzip.compress(completion()), "Content-Encoding: gzip")) as (url, _):
        assert await theme(url) == ("patience", "ok")


async def test_a_redirect_is_not_followed():
    """The key must not travel elsewhere; the new address is named."""
    async with serving(http(b"", "Location: https://elsewhere.example/v1", status="308 Moved")) as (url, asked):
        with pytest.raises(RequestRejected, match=r"elsewhere\.example"):
            await theme(url)
        assert len(asked) == 1


async def test_a_server_without_tls_is_unreachable_by_https():
    """The message names TLS, and the build stops instead of failing every row."""
    async with FakeEndpoint() as server:
        with pytest.raises(EndpointUnreachable, match=r"(?i)ssl"):
            await theme(server.url.replace("http:", "https:"))


async def test_a_host_without_an_address_is_unreachable():
    """A mistyped name stops the build."""
    with pytest.raises(EndpointUnreachable, match=r"nowhere\.invalid"):
        await theme("http://nowhere.invalid/v1")


async def test_a_reply_that_was_cut_off_is_asked_again_once():
    """`finish_reason: length` is a reply, not a fault; the second one may fit, else the row fails as truncated."""
    cut = http(completion('{"theme": "pat', reason="length"))
    async with serving(cut, GOOD) as (url, asked):
        assert await theme(url) == ("patience", "asked_again")
        assert len(asked) == 2
    async with serving(cut) as (url, asked):
        with pytest.raises(UnparsableReply) as caught:
            await theme(url)
        assert (caught.value.status, caught.value.reply, len(asked)) == ("truncated", '{"theme": "pat', 2)


@pytest.mark.parametrize(
    "content",
    [
        rb'{"choices": [{"message": {"content": "{\"theme\": \"patience \ud83d\"}"}}]}',
        b'{"choices": [{"message": {"content": "{\\"theme\\": \\"patience \xed\xa0\xbd\\"}"}}]}',
        b'{"choices": [{"message": {"content": "{\\"theme\\": \\"patience \xff\\"}"}}]}',
        rb'{"choices": [{"message": {"content": "{\"theme\": \"patience \\ud83d\"}"}}]}',
    ],
    ids=["escaped", "as bytes", "broken UTF-8", "escaped in the answer"],
)
async def test_half_characters_do_no_harm(content, tmp_path):
    """A token cut through a character is common; the answer is read, stored and given out as valid text."""
    async with serving(http(content)) as (url, asked):
        with Journal(tmp_path / "calls.sqlite") as journal:
            found, _ = await theme(url, journal)
            assert journal.verify() == 1
    assert found.startswith("patience")
    found.encode()
    assert len(asked) == 1


async def test_an_answer_of_10_mb_is_read_and_judged_in_time(tmp_path):
    """A model that cannot stop neither fills the memory nor holds up the build, and the answer in front is found."""
    rambling = '{"theme": "patience"} ' + "and so on " * 1_000_000
    async with serving(http(completion(rambling))) as (url, _):
        with Journal(tmp_path / "calls.sqlite") as journal:
            assert await asyncio.wait_for(theme(url, journal, timeout_s=20), 4) == ("patience", "ok")
