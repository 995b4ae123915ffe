"""A pool of endpoints: shared load, failover, and one key whoever answers."""

import asyncio

import pytest

from adage.errors import BadRequest, EndpointBusy, EndpointUnreachable, RecipeError
from adage.models.base import Message
from adage.models.chat import EndpointModel
from adage.models.pool import PoolModel
from endpoint import FakeEndpoint, status

ASK = [Message(role="user", content="Hm?")]


@pytest.fixture
async def servers():
    """Three endpoints that say who they are, under model ids of their own."""
    made = [FakeEndpoint(lambda body: body["model"]) for _ in range(3)]
    for server in made:
        await server.start()
    yield made
    for server in made:
        await server.stop()


def pool_of(urls, **options):
    """A pool of models `m0`, `m1` … that never wait between tries."""

    async def no_wait(_):
        await asyncio.sleep(0)

    settings = {"sleep": no_wait, "retries": 1, "concurrency": 4, **options}
    return PoolModel("p", [EndpointModel(f"m{i}", base_url=u, model=f"id{i}", **settings) for i, u in enumerate(urls)])


def request_of(pool, number=0):
    """A request that differs by number."""
    return pool.request([Message(role="user", content=f"Hm {number}?")], None)


async def test_the_load_is_shared(servers):
    """All members work at once, each with its own model id and never beyond its own concurrency."""
    for server in servers:
        server.latency_s = 0.01
    pool = pool_of([server.url for server in servers])
    await asyncio.gather(*(pool.chat(request_of(pool, i)) for i in range(60)))
    await pool.close()
    assert [server.calls for server in servers] == [20, 20, 20]
    assert max(server.peak for server in servers) <= 4
    assert {body["model"] for body in servers[1].bodies} == {"id1"}


def test_the_key_does_not_tell_who_answers():
    """Members behind the first may change without any stored reply being asked for again; the first one's id counts."""
    urls = [f"http://localhost:{port}/v1" for port in (1, 2, 3)]
    keys = {request_of(pool_of(some)).key() for some in (urls, urls[:1], [urls[0], urls[2]], urls[1:])}
    assert len(keys) == 1
    assert request_of(pool_of(urls, temperature=0.5)).key() not in keys


@pytest.mark.parametrize("code", [401, 429, 500])
async def test_another_member_answers_for_one_that_fails(servers, code):
    """No row fails while one member works."""
    servers[0].always = status(code)
    pool = pool_of([server.url for server in servers])
    replies = await asyncio.gather(*(pool.chat(request_of(pool, i)) for i in range(30)))
    await pool.close()
    assert {reply.text for reply in replies} == {"id1", "id2"}


async def test_a_member_that_is_gone_is_asked_no_more(servers, unused_tcp_port):
    """After the first failure to connect, or a refused key, the others have all the work."""
    servers[0].always = status(401)
    pool = pool_of([servers[0].url, f"http://127.0.0.1:{unused_tcp_port}/v1", servers[1].url])
    told = []
    pool.tell = told.append
    for i in range(10):
        assert (await pool.chat(request_of(pool, i))).text == "id2"
    await pool.close()
    assert servers[0].calls == 1
    assert len(told) == 2, "each is named once"
    assert "left out from here on" in told[0]
    assert "401" in told[0]


async def test_a_request_that_is_refused_is_not_passed_on(servers):
    """What one member cannot work with, the others could not either."""
    servers[0].always = status(400, "too long")
    pool = pool_of([server.url for server in servers])
    with pytest.raises(BadRequest, match="too long"):
        await pool.chat(request_of(pool))
    await pool.close()
    assert servers[1].calls == 0


async def test_a_pool_that_fails_says_why(servers, unused_tcp_port):
    """With a member that is merely busy the row fails; with none that can be reached the build stops."""
    servers[0].always = status(503)
    nowhere = f"http://127.0.0.1:{unused_tcp_port}/v1"
    pool = pool_of([servers[0].url, nowhere])
    for _ in range(2):
        with pytest.raises(EndpointBusy):
            await pool.chat(request_of(pool))
    await pool.close()
    pool = pool_of([nowhere, nowhere])
    for _ in range(2):
        with pytest.raises(EndpointUnreachable):
            await pool.chat(request_of(pool))
    await pool.close()


def test_members_that_sample_differently_are_no_pool():
    """Replies that are stored as one must have been drawn in one way."""
    members = [EndpointModel(n, base_url="http://x/v1", model="id", temperature=t) for n, t in (("a", 0.0), ("b", 0.7))]
    with pytest.raises(RecipeError, match="'a' and 'b' of the pool 'p' do not sample alike"):
        PoolModel("p", members)
