"""The HTTP client: retries, limits, and the errors people see, against a real server on loopback."""

import asyncio
import time

import aiohttp
import pytest
from aiohttp import web

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
from adage.models.endpoint import Endpoint, failure_of
from adage.models.limits import Limiter, Limits
from endpoint import FakeEndpoint, answer, cut, reset, stall, status

BODY = {"model": "fake", "messages": [{"role": "user", "content": "Hm?"}]}
UNREACHABLE, BUSY, BAD = EndpointUnreachable, EndpointBusy, BadReply
MEANING = {
    "ClientConnectionError": BUSY,
    "ClientConnectionResetError": BUSY,
    "ClientConnectorCertificateError": UNREACHABLE,
    "ClientConnectorDNSError": UNREACHABLE,
    "ClientConnectorError": UNREACHABLE,
    "ClientConnectorSSLError": UNREACHABLE,
    "ClientError": BAD,
    "ClientHttpProxyError": UNREACHABLE,
    "ClientOSError": BUSY,
    "ClientPayloadError": BUSY,
    "ClientProxyConnectionError": UNREACHABLE,
    "ClientResponseError": BAD,
    "ClientSSLError": UNREACHABLE,
    "ConnectionTimeoutError": UNREACHABLE,
    "ContentTypeError": BAD,
    "InvalidURL": UNREACHABLE,
    "InvalidUrlClientError": UNREACHABLE,
    "InvalidUrlRedirectClientError": UNREACHABLE,
    "NonHttpUrlClientError": UNREACHABLE,
    "NonHttpUrlRedirectClientError": UNREACHABLE,
    "RedirectClientError": BAD,
    "ServerConnectionError": BUSY,
    "ServerDisconnectedError": BUSY,
    "ServerFingerprintMismatch": UNREACHABLE,
    "ServerTimeoutError": BUSY,
    "SocketTimeoutError": BUSY,
    "TooManyRedirects": BAD,
    "UploadAbortedError": BAD,
    "WSServerHandshakeError": BAD,
}


class Client:
    """An endpoint whose waits are noted instead of waited."""

    def __init__(self, url, **options):
        self.waits = []
        self.endpoint = Endpoint(url, sleep=self._sleep, jitter=lambda: 1.0, **options)

    async def _sleep(self, seconds):
        self.waits.append(seconds)
        await asyncio.sleep(0)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.endpoint.close()

    async def post(self, body=BODY):
        """The text of one reply."""
        return await self.endpoint.post("chat/completions", body, lambda got: got["choices"][0]["message"]["content"])


@pytest.fixture
async def server():
    """An endpoint that shouts back."""
    async with FakeEndpoint(lambda body: body["messages"][-1]["content"].upper()) as server:
        yield server


def test_every_exception_of_aiohttp_has_a_meaning():
    """A release of aiohttp with a new client exception must not reach users unexplained."""
    raised = {
        name: kind
        for name in aiohttp.__all__
        if isinstance(kind := getattr(aiohttp, name), type) and issubclass(kind, aiohttp.ClientError)
    }
    assert {name: failure_of(kind) for name, kind in raised.items()} == {
        name: meaning for name, meaning in MEANING.items() if name in raised
    }
    assert failure_of(TimeoutError) is failure_of(ConnectionResetError) is EndpointBusy


async def test_answer_comes_back_and_body_goes_out(server):
    """A plain call sends the body as JSON and returns what the reader makes of the answer."""
    async with Client(server.url) as client:
        assert await client.post() == "HM?"
    assert server.bodies == [BODY]
    assert "Authorization" not in server.headers[0]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (status(429), EndpointBusy),
        (status(500), EndpointBusy),
        (status(503), EndpointBusy),
        (reset, EndpointBusy),
        (cut, EndpointBusy),
        (answer(b"<html>502 Bad Gateway</html>", "text/html"), BadReply),
        (answer(b"[]"), BadReply),
        (answer(b"[" * 100_000), BadReply),
        (answer(b'{"error": {"message": "upstream", "code": 502}}'), EndpointBusy),
    ],
)
async def test_passing_faults_are_retried_and_then_named(server, fault, error):
    """One fault is survived; a lasting one ends, after bounded tries, in an error that may be retried later."""
    async with Client(server.url, retries=2) as client:
        server.faults.append(fault)
        assert await client.post() == "HM?"
        assert client.waits == [0.5]
        server.always = fault
        with pytest.raises(error) as caught:
            await client.post()
    assert caught.value.retryable
    assert not caught.value.fatal
    assert server.calls == 2 + 3


@pytest.mark.parametrize(
    ("code", "error"),
    [(code, BadRequest) for code in (400, 413, 422)] + [(code, RequestRejected) for code in (401, 402, 403, 404)],
)
async def test_a_refusal_is_not_repeated(server, code, error):
    """Asking again would only cost money: 4xx ends the call at once, with the server's own words."""
    server.always = status(code, "this is why")
    async with Client(server.url) as client:
        with pytest.raises(error, match="this is why") as caught:
            await client.post()
    assert (server.calls, caught.value.http_status) == (1, code)


async def test_used_up_quota_is_not_waited_for(server):
    """A 429 that means "no credit" is final, unlike one that means "slow down"."""
    server.always = status(429, "You exceeded your current quota")
    async with Client(server.url) as client:
        with pytest.raises(RequestRejected, match="quota"):
            await client.post()
    assert server.calls == 1


async def test_retry_after_is_respected(server):
    """The server's own wait replaces the back-off; one that is too long ends the call."""
    server.faults.extend([status(429, Retry_After="7"), status(503, Retry_After="Thu, 01 Jan 1970 00:00:00 GMT")])
    async with Client(server.url) as client:
        assert await client.post() == "HM?"
        assert client.waits == [7.0, 0.0]
        server.always = status(429, Retry_After="3600")
        for _ in range(3):
            with pytest.raises(EndpointUnreachable, match="asks to wait 3600 s"):
                await client.post()
        assert len(client.waits) == 2
        assert server.calls == 4


async def test_back_off_grows_and_is_capped(server):
    """Waits double from half a second to thirty seconds."""
    server.always = status(500)
    async with Client(server.url, retries=8) as client:
        with pytest.raises(EndpointBusy, match="500"):
            await client.post()
    assert client.waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


async def test_an_unreachable_endpoint_fails_once_and_for_all(unused_tcp_port):
    """A hundred rows must not each try, wait and complain: after the first failure nothing is tried any more."""
    async with Client(f"http://127.0.0.1:{unused_tcp_port}/v1") as client:
        errors = await asyncio.gather(*(client.post() for _ in range(100)), return_exceptions=True)
        assert {type(error) for error in errors} == {EndpointUnreachable}
        assert all(error.fatal for error in errors)
        assert len(client.waits) <= 3 * 16
        waits = len(client.waits)
        with pytest.raises(EndpointUnreachable, match="no connection"):
            await client.post()
        assert len(client.waits) == waits


async def test_an_endpoint_that_keeps_failing_counts_as_down(server):
    """Ten calls in a row without a success open the circuit; one success in between does not let it open."""
    async with Client(server.url, retries=0) as client:
        for failures in (9, 10):
            server.faults.extend([status(500)] * failures)
            for _ in range(failures):
                with pytest.raises(EndpointBusy):
                    await client.post()
            if failures == 9:
                await client.post()
        calls = server.calls
        with pytest.raises(EndpointUnreachable, match="10 calls in a row"):
            await client.post()
        assert server.calls == calls


async def test_time_limit_counts_from_sending_not_from_queueing(server):
    """Ten calls of 0.1 s behind one slot take a second, and none hits a limit of 0.5 s; a stalled one does."""
    server.latency_s = 0.1
    async with Client(server.url, concurrency=1, timeout_s=0.5, retries=0) as client:
        began = time.monotonic()
        assert await asyncio.gather(*(client.post() for _ in range(10))) == ["HM?"] * 10
        assert time.monotonic() - began > 0.9
        server.always = stall(5)
        with pytest.raises(EndpointBusy, match=r"within 0\.5 s"):
            await client.post()


async def test_silence_is_told_from_slowness(server):
    """A server that sends nothing is given up after `read_timeout_s`, long before the whole call's time is over."""
    server.latency_s = 0.5
    async with Client(server.url, timeout_s=20, read_timeout_s=0.1, retries=0) as client:
        began = time.monotonic()
        with pytest.raises(EndpointBusy, match=r"sent nothing for 0\.1 s"):
            await client.post()
        assert time.monotonic() - began < 10
        server.latency_s = 0.0
        assert await client.post() == "HM?"


@pytest.mark.parametrize(
    ("said", "first", "kind"),
    [
        ("Your input was flagged", True, BadRequest),
        ("Forbidden", True, RequestRejected),
        ("Forbidden", False, BadRequest),
    ],
)
async def test_a_text_that_is_refused_is_told_from_a_key_that_is(server, said, first, kind):
    """403 ends the row alone where it is about the text: it says so, or the key has been good before."""
    async with Client(server.url) as client:
        if not first:
            await client.post()
        server.always = status(403, said)
        with pytest.raises(kind):
            await client.post()


async def test_concurrency_is_bounded_and_backs_off(server):
    """No more calls than allowed are in flight; refusals lower the limit, successes raise it again."""
    server.latency_s = 0.01
    async with Client(server.url, concurrency=8) as client:
        await asyncio.gather(*(client.post() for _ in range(40)))
        assert server.peak == 8
        server.faults.extend([status(429)] * 5)
        await asyncio.gather(*(client.post() for _ in range(8)))
        assert client.endpoint.limits.gate.limit < 6.0
        await asyncio.gather(*(client.post() for _ in range(60)))
        assert client.endpoint.limits.gate.limit == 8.0


async def test_endpoints_that_share_limits_share_them_all(server):
    """Two models at one server: together no more at once than the server's limit, each no more than its own."""
    server.latency_s = 0.01
    limits = Limits(6)
    async with Client(server.url, concurrency=2, limits=limits) as one, Client(server.url, limits=limits) as two:
        await asyncio.gather(*(one.post() for _ in range(20)))
        assert server.peak == 2
        await asyncio.gather(*(client.post() for client in (one, two) for _ in range(20)))
        assert server.peak == 6


async def test_a_call_that_is_turned_away_leaves_its_place_to_others(server):
    """While one call of several waits as long as the server asked, the others go on."""
    server.latency_s = 0.05
    server.faults.append(status(429, Retry_After="60"))
    async with Client(server.url, concurrency=2) as client:
        back = asyncio.Event()

        async def wait(_):
            await back.wait()

        client.endpoint._sleep = wait
        turned_away = asyncio.create_task(client.post())
        await asyncio.gather(*(client.post() for _ in range(3)))
        back.set()
        assert await turned_away == "HM?"


async def test_a_server_that_counts_by_time_is_left_alone_until_it_counts_anew(server):
    """Refused with nothing else in flight, everybody waits as long as was asked, and nothing is given up."""
    window_s, most, answered, began = 0.25, 10, [], time.monotonic()

    async def counting(request):
        past_s = (time.monotonic() - began) % window_s
        window = round((time.monotonic() - began - past_s) / window_s)
        if answered.count(window) == most:
            return await status(429, Retry_After=f"{window_s - past_s:.3f}")(request)
        answered.append(window)
        return web.json_response(server.completion(await request.json()))

    server.always = counting
    server.latency_s = 0.005
    endpoint = Endpoint(server.url, concurrency=8, retries=3)
    answers = await asyncio.gather(*(endpoint.post("chat/completions", BODY, lambda _: "yes") for _ in range(60)))
    await endpoint.close()
    assert answers == ["yes"] * 60
    assert server.calls <= 60 + 2 * 8 * len(set(answered)), "it was asked again and again before it counted anew"


async def test_requests_by_the_minute_are_those_that_were_sent(server):
    """Retries count, and the tokens that the server reports replace those that were set aside."""
    limits = Limits(8, requests_per_minute=3, tokens_per_minute=5000)
    server.faults.append(status(500))
    async with Client(server.url, limits=limits) as client:
        await client.post({**BODY, "max_tokens": 4000})
        await client.post({**BODY, "max_tokens": 4000})
        waiting = asyncio.create_task(client.post())
        await asyncio.sleep(0.05)
        assert server.calls == 3
        waiting.cancel()


async def test_the_limiter_never_loses_a_slot():
    """Calls that are cancelled while waiting, or just when their turn comes, leave the count right and order fair."""
    limiter = Limiter(2)
    order = []

    async def use(number):
        async with limiter:
            order.append(number)
            assert limiter.in_flight <= 2
            await asyncio.sleep(0.001)

    tasks = [asyncio.create_task(use(number)) for number in range(50)]
    for number in range(0, 50, 3):
        await asyncio.sleep(0.0005)
        tasks[number].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert limiter.in_flight == 0
    assert order == sorted(order)


async def test_a_missing_key_stops_before_anything_is_sent(server, monkeypatch):
    """The variable is named, the server sees nothing."""
    monkeypatch.delenv("ADAGE_TEST_KEY", raising=False)
    async with Client(server.url, key_env="ADAGE_TEST_KEY") as client:
        with pytest.raises(MissingKey, match="ADAGE_TEST_KEY"):
            await client.post()
        monkeypatch.setenv("ADAGE_TEST_KEY", "two\nlines")
        with pytest.raises(MissingKey, match="not usable"):
            await client.post()
    assert server.calls == 0


async def test_the_key_never_shows(server, monkeypatch):
    """A server that repeats the key in its message does not bring it into ours; it travels in the header alone."""
    monkeypatch.setenv("ADAGE_TEST_KEY", "sk-very-secret")
    server.always = status(401, "bad key sk-very-secret")
    async with Client(server.url, key_env="ADAGE_TEST_KEY") as client:
        with pytest.raises(RequestRejected) as caught:
            await client.post()
    error: BaseException | None = caught.value
    while error is not None:
        assert "secret" not in f"{error} {error!r} {vars(error)}"
        error = error.__cause__ or error.__context__
    assert server.headers[0]["Authorization"] == "Bearer sk-very-secret"


@pytest.mark.parametrize("before", [0, 480, 495])
async def test_a_key_that_comes_back_is_never_shown_in_part(server, monkeypatch, before):
    """In a long message, cut anywhere, and in the address of a redirect."""
    monkeypatch.setenv("LLM_KEY", "sk-very-secret-indeed")
    async with Client(server.url, key_env="LLM_KEY") as client:
        for fault in (
            status(400, "x" * before + " sk-very-secret-indeed is no key"),
            status(307, "elsewhere", Location="http://x.example/?key=sk-very-secret-indeed"),
        ):
            server.always = fault
            with pytest.raises(ModelError) as caught:
                await client.post()
            assert "sk-" not in str(caught.value)


async def test_redirects_are_reported_not_followed(server):
    """The key must not travel to an address that nobody wrote into the recipe."""
    server.always = status(307, Location="http://elsewhere.example/v1")
    async with Client(server.url) as client:
        with pytest.raises(RequestRejected, match=r"elsewhere\.example"):
            await client.post()
    assert server.calls == 1


async def test_the_size_of_an_answer_is_bounded(server, monkeypatch):
    """A server cannot fill the memory."""
    monkeypatch.setattr("adage.models.endpoint.MAX_REPLY_BYTES", 1 << 20)
    server.always = answer(b" " * (2 << 20))
    async with Client(server.url, retries=0) as client:
        with pytest.raises(BadReply, match="more than"):
            await client.post()


@pytest.mark.parametrize(
    "url",
    ["", "localhost:8000/v1", "ftp://x/v1", "http://", "http://user:pw@x/v1", "http://x/v1?key=1", "http://[::1/v1"],
)
def test_an_address_that_cannot_work_is_refused_at_once(url):
    """Also one that carries a key, which would end up in keys and logs; it is not repeated in the message."""
    with pytest.raises(RecipeError, match="base_url") as caught:
        Endpoint(url)
    assert "pw" not in str(caught.value)
    assert "key=1" not in str(caught.value)


async def test_a_bug_in_the_reader_is_not_a_model_error(server):
    """Only `BadReply` means a bad reply; any other exception of the reader is a defect and surfaces as it is."""
    async with Client(server.url) as client:
        with pytest.raises(ZeroDivisionError):
            await client.endpoint.post("chat/completions", BODY, lambda _: 1 // 0)
    assert client.endpoint.limits.gate.in_flight == 0
    assert not issubclass(ZeroDivisionError, ModelError)


@pytest.mark.parametrize("named", ["http://[bad", "http://h:99999", "//x", "socks5://amina:sesame@127.0.0.1:9"])
async def test_a_proxy_that_is_no_address_is_named(monkeypatch, named):
    """The variable to correct is said, without the password in it."""
    monkeypatch.setenv("http_proxy", named)
    monkeypatch.setenv("no_proxy", "")
    async with Client("http://models.example/v1") as client:
        with pytest.raises(EndpointUnreachable, match="http_proxy") as caught:
            await client.post()
    assert "sesame" not in str(caught.value)
