"""Chat completions: what is sent, what is read, and how the client adapts to what a server can do."""

import json

import pytest

from adage.errors import BadReply, BadRequest, RequestRejected
from adage.models.base import Message
from adage.models.chat import EndpointModel, reply_of
from endpoint import FakeEndpoint, answer, status

ASK = [Message(role="system", content="Be brief."), Message(role="user", content="ما معنى هذا؟")]
SCHEMA = {"type": "object", "properties": {"theme": {"type": "string"}}, "required": ["theme"]}


@pytest.fixture
async def server():
    """An endpoint with the scripted replies."""
    async with FakeEndpoint() as server:
        yield server


def model_of(server, **options):
    """A model at the server that never waits between tries."""

    async def no_wait(_):
        return None

    return EndpointModel("m", base_url=server.url, model="fake", **{"sleep": no_wait, **options})


def completion(**message):
    """A chat completion with one message."""
    reason = message.pop("finish_reason", "stop")
    return {"choices": [{"message": message, "finish_reason": reason}]}


async def test_the_whole_request_is_sent(server):
    """Messages, parameters and schema arrive as they stand in the request; text is never escaped to ASCII."""
    model = model_of(server, temperature=0.7, top_p=0.9, max_tokens=99, seed=5, extra={"top_k": 3, "top_p": None})
    reply = await model.chat(model.request(ASK, SCHEMA, sample=2, attempt=1))
    await model.close()
    sent = server.bodies[0]
    assert sent["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "ما معنى هذا؟"}]
    assert (sent["temperature"], sent["max_tokens"], sent["seed"], sent["top_k"]) == (0.7, 99, 1007, 3)
    assert "top_p" not in sent
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
    assert json.loads(reply.text)["theme"]
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens) == (10, 5, 4)


def test_prompts_from_the_prefix_cache_are_counted_where_the_server_says_so():
    """OpenAI's field and that of llama.cpp."""
    openai = completion(content="x") | {"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 7}}}
    llama_cpp = completion(content="x") | {"timings": {"cache_n": 236, "prompt_n": 1, "prompt_ms": 30.9}}
    assert [reply_of(answer).cached_tokens for answer in (openai, llama_cpp, completion(content="x"))] == [7, 236, 0]


def test_the_key_covers_what_determines_the_reply():
    """Each parameter, sample and attempt has its own journal entry; the name in the recipe and the key have not."""

    def key(name="m", sample=0, attempt=0, **options):
        model = EndpointModel(name, base_url="http://localhost:1/v1/", **{"model": "fake", **options})
        return model.request(ASK, SCHEMA, sample=sample, attempt=attempt).key()

    base = key()
    assert key(name="other", key_env="K", concurrency=1, retries=0) == base
    different = [
        key(temperature=0.1),
        key(top_p=0.5),
        key(max_tokens=5),
        key(seed=1),
        key(model="x"),
        key(extra={"a": 1}),
        key(sample=1),
        key(attempt=1),
    ]
    assert len({base, *different}) == 9


@pytest.mark.parametrize(
    ("said", "way"),
    [
        ("response_format.type json_schema is not supported", None),
        ("response_format.type must be one of text, json_object", "json_object"),
    ],
)
async def test_a_server_without_schemas_is_asked_more_simply_from_then_on(server, said, way):
    """The first 400 costs one more call, in a way the server takes; later calls go there at once, with the same key."""

    def simpler(body):
        assert body.get("response_format", {}).get("type") == way
        return '{"theme": "x"}'

    model = model_of(server)
    server.reply = simpler
    server.faults.append(status(400, said))
    request = model.request(ASK, SCHEMA)
    assert (await model.chat(request)).text == '{"theme": "x"}'
    assert (await model.chat(model.request(ASK, SCHEMA))).text == '{"theme": "x"}'
    assert server.calls == 3
    assert model.request(ASK, SCHEMA).key() == request.key()
    await model.close()


async def test_a_bad_request_is_no_reason_to_give_up_schemas(server):
    """A prompt that the server refuses in every way stays a `BadRequest`, and the next prompt is sent with schema."""
    model = model_of(server)
    server.faults.extend([status(400, "content filter")] * 2)
    with pytest.raises(BadRequest, match="content filter"):
        await model.chat(model.request(ASK, SCHEMA))
    await model.chat(model.request(ASK, SCHEMA))
    assert server.bodies[-1]["response_format"]["type"] == "json_schema"
    server.faults.append(status(400, "content filter"))
    with pytest.raises(BadRequest):
        await model.chat(model.request(ASK, SCHEMA))
    assert server.calls == 4
    await model.close()


async def test_a_complaint_that_a_weaker_way_met_too_is_not_tried_again(server):
    """Twenty bad rows cost twenty-one requests, whatever counts they are told; a new complaint is still looked into."""
    model = model_of(server)
    for n in range(20):
        server.faults.extend([status(400, f"you asked for {5000 + n} tokens (request a{n}f)")] * (2 if n == 0 else 1))
        with pytest.raises(BadRequest, match=f"{5000 + n} tokens"):
            await model.chat(model.request(ASK, SCHEMA))
    assert server.calls == 21
    server.faults.append(status(400, "response_format is not supported"))
    await model.chat(model.request(ASK, SCHEMA))
    assert server.calls == 23
    assert "response_format" not in server.bodies[-1]
    await model.close()


@pytest.mark.parametrize("fault", [status(404, "no such model"), status(400, "fake is not a valid model ID")])
async def test_an_unknown_model_is_answered_with_those_there_are(server, fault):
    """Whoever mistypes a name sees the right ones."""
    server.models, server.always = ("llama", "qwen"), fault
    model = model_of(server)
    with pytest.raises(RequestRejected, match="llama, qwen") as caught:
        await model.chat(model.request(ASK, None))
    assert "'fake'" in caught.value.message
    await model.close()


async def test_an_empty_answer_is_asked_for_again(server):
    """No choices, no content and no tokens: the call is repeated, a few times, and then fails for this row alone."""
    model = model_of(server)
    server.faults.extend([answer(b'{"choices": []}'), answer(json.dumps(completion(content=None)).encode())])
    assert (await model.chat(model.request(ASK, None))).text == "This is a reply."
    server.always = answer(b'{"choices": []}')
    with pytest.raises(BadReply, match="no chat completion"):
        await model.chat(model.request(ASK, None))
    assert server.calls == 6
    await model.close()


@pytest.mark.parametrize(
    ("message", "text", "reasoning", "reason"),
    [
        ({"content": "a", "reasoning_content": "hm"}, "a", "hm", "stop"),
        ({"content": "a", "reasoning": "hm"}, "a", "hm", "stop"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", "", "stop"),
        ({"content": None, "reasoning": "long", "finish_reason": "length"}, "", "long", "length"),
        ({"content": None, "finish_reason": "content_filter"}, "", "", "content_filter"),
        ({"content": None, "refusal": "I can't."}, "I can't.", "", "content_filter"),
        ({"content": "", "refusal": "I can't."}, "I can't.", "", "content_filter"),
        ({"content": "a", "refusal": "I can't."}, "a", "", "stop"),
        ({"content": None, "reasoning": "hm"}, "", "hm", "stop"),
    ],
)
def test_replies_of_many_servers_are_read(message, text, reasoning, reason):
    """Thinking is kept apart from the answer; a reply cut off or filtered is a reply, not a fault of the endpoint."""
    reply = reply_of(completion(**message))
    assert (reply.text, reply.reasoning, reply.finish_reason) == (text, reasoning, reason)


def test_an_empty_reply_that_took_tokens_is_the_models_own():
    """It is counted, and left to the re-ask; with no tokens it is the endpoint that failed."""
    reply = reply_of(completion(content="") | {"usage": {"prompt_tokens": 9, "completion_tokens": 1}})
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("", 9, 1)
    with pytest.raises(BadReply, match="empty"):
        reply_of(completion(content="") | {"usage": {"prompt_tokens": 9, "completion_tokens": 0}})


@pytest.mark.parametrize("given", [{}, {"choices": None}, {"choices": [{}]}, completion(content=7), completion()])
def test_what_is_no_completion_is_a_bad_reply(given):
    """Nothing but `BadReply` is raised for an answer of another shape."""
    with pytest.raises(BadReply):
        reply_of(given)
