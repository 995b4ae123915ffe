"""Scores from endpoints: labels among the likeliest tokens, texts by echo, and nothing where nothing is said."""

from __future__ import annotations

import math
from typing import Any

import pytest

from adage.errors import BadRequest, EndpointUnreachable, Unscorable
from adage.models.base import Message
from adage.models.chat import EndpointModel
from adage.models.remote import EndpointScorer
from adage.models.score import RAW, ScoringChat, letters_request, scores_of, texts_request
from endpoint import FakeEndpoint, status, top_logprobs

PROMPT = (Message(role="user", content="Which? A. x B. y"),)
PLAIN = (Message(role=RAW, content="Which? A. x B. y\nAnswer:"),)


def scorer(url: str, **settings: Any) -> EndpointScorer:
    """A model at an endpoint, without retries."""
    return EndpointScorer(EndpointModel("m", base_url=url, model="fake", retries=0, **settings))


def legacy(tops: dict[str, float]) -> dict[str, Any]:
    """A completion as OpenAI and vLLM send it: a mapping of the likeliest tokens."""
    logprobs = {"tokens": [" A"], "token_logprobs": [-0.5], "top_logprobs": [tops]}
    return {"choices": [{"text": " A", "logprobs": logprobs}], "usage": {"prompt_tokens": 3}}


async def test_labels_are_read_from_the_likeliest_tokens_of_a_chat() -> None:
    """With and without a space they are the same label; what else the model would rather say is left out."""
    tops = {"The": -0.1, "A": -2.0, " A": -3.0, " B": -4.0, "Ab": -2.5}
    async with FakeEndpoint(lambda _: top_logprobs(tops)) as endpoint:
        model = scorer(endpoint.url, extra={"top_k": 5}, temperature=0.7, max_tokens=900)
        (row,) = await model.letters([PROMPT], ["A", "B"])
        a, b = math.exp(-2) + math.exp(-3), math.exp(-4)
        assert row == pytest.approx([math.log(a / (a + b)), math.log(b / (a + b))])
        body = endpoint.bodies[0]
        assert (body["logprobs"], body["top_logprobs"], body["max_tokens"], body["temperature"]) == (True, 20, 1, 0.0)
        assert body["top_k"] == 5
        await model.close()


async def test_a_label_that_is_not_among_them_has_no_score() -> None:
    """Missing is missing, never 0 and never the least of the others."""
    async with FakeEndpoint(lambda _: top_logprobs({"A": -0.1, "C": -3.0})) as endpoint:
        model = scorer(endpoint.url)
        assert await model.letters([PROMPT], ["A", "B", "C"]) == [[-0.1, None, -3.0]]
        await model.close()


async def test_a_base_model_is_asked_by_completions() -> None:
    """Raw text goes to /completions, whose two forms of log-probabilities are both read."""
    async with FakeEndpoint(lambda _: legacy({" A": -1.0, " B": -2.0})) as endpoint:
        model = scorer(endpoint.url)
        (row,) = await model.letters([PLAIN], [" A", " B"])
        total = math.log(math.exp(-1) + math.exp(-2))
        assert row == pytest.approx([-1 - total, -2 - total])
        assert endpoint.bodies[0]["prompt"] == PLAIN[0].content
        assert "messages" not in endpoint.bodies[0]
        endpoint.reply = lambda _: top_logprobs({" A": -1.0, " B": -2.0})
        assert await model.letters([PLAIN], [" A", " B"]) == [pytest.approx(row)]
        endpoint.reply = lambda _: {"choices": [{"text": " B", "finish_reason": "stop"}]}
        assert (await model.chat(model.request(PLAIN, None))).text == " B"
        endpoint.reply = lambda _: {"choices": [{"text": "", "finish_reason": "stop"}]}
        assert (await model.chat(model.request(PLAIN, None))).text == ""
        await model.close()


@pytest.mark.parametrize(
    "answer", [{"choices": [{"message": {"content": "A"}}]}, {"choices": [{"logprobs": None}]}, {"choices": []}]
)
async def test_an_endpoint_without_log_probabilities_is_found_out(answer: dict[str, Any]) -> None:
    """It is an error that ends the method for this model, and says what to do."""
    async with FakeEndpoint(lambda _: answer) as endpoint:
        model = scorer(endpoint.url)
        with pytest.raises(Unscorable, match="no log-probabilities"):
            await model.letters([PROMPT], ["A", "B"])
        await model.close()


def echoing(body: dict[str, Any]) -> dict[str, Any]:
    """A server that scores what it is sent: a token a character, whose log-probability is minus its place."""
    text, n = body["prompt"], len(body["prompt"])
    scores = [None, *(-float(place) for place in range(1, n)), -99.0]
    return {
        "choices": [{"text": text + "!", "logprobs": {"token_logprobs": scores}}],
        "usage": {"prompt_tokens": n, "completion_tokens": 1},
    }


async def test_texts_are_scored_where_the_server_echoes() -> None:
    """The score of prompt and text less that of the prompt; the token that the server adds does not count."""
    async with FakeEndpoint(echoing) as endpoint:
        model = scorer(endpoint.url)
        prompt = (Message(role=RAW, content="abc"),)
        assert await model.texts(prompt, ["de", "f"]) == [-7.0, -3.0]
        assert endpoint.bodies[0]["echo"] is True
        await model.close()


@pytest.mark.parametrize("change", [{"text": "!"}, {"logprobs": None}, {"logprobs": {"token_logprobs": [None, -1.0]}}])
async def test_a_server_that_ignores_echo_is_found_out(change: dict[str, Any]) -> None:
    """llama.cpp's server answers as if nothing had been asked: no number is made of that."""

    def silent(body: dict[str, Any]) -> dict[str, Any]:
        answer = echoing(body)
        answer["choices"][0].update(change)
        return answer

    async with FakeEndpoint(silent) as endpoint:
        model = scorer(endpoint.url)
        with pytest.raises(Unscorable, match="does not score a given text"):
            await model.texts((Message(role=RAW, content="abc"),), ["de"])
        with pytest.raises(Unscorable, match="behind the chat template"):
            await model.texts(PROMPT, ["de"])
        await model.close()


async def test_scores_travel_as_replies() -> None:
    """A request for scores has a key of its own, which how the model samples has no part in."""
    async with FakeEndpoint(lambda _: top_logprobs({"A": -1.0})) as endpoint:
        model = ScoringChat(scorer(endpoint.url, temperature=0.7))
        request = letters_request(model, PROMPT, ["\nA. x", "\nB. x"], ["A", "B"])
        assert request == letters_request(ScoringChat(scorer(endpoint.url)), PROMPT, ["\nA. x", "\nB. x"], ["A", "B"])
        assert request.key() != letters_request(model, PROMPT, ["\nA. x"], ["A", "B"]).key()
        assert request.key() != texts_request(model, PROMPT, ["\nA. x"]).key()
        rows = scores_of(await model.chat(request))
        assert rows == [[-1.0, None], [-1.0, None]]
        asked = sorted(body["messages"][0]["content"] for body in endpoint.bodies)
        assert asked == [PROMPT[0].content + "\nA. x", PROMPT[0].content + "\nB. x"]
        assert "score" not in endpoint.bodies[0]
        await model.close()


async def test_faults_of_the_endpoint_keep_their_kind() -> None:
    """What the client makes of a fault is what the evaluation sees."""
    async with FakeEndpoint() as endpoint:
        model = scorer(endpoint.url)
        endpoint.always = status(400, "too many logprobs")
        with pytest.raises(BadRequest, match="too many logprobs"):
            await model.letters([PROMPT], ["A", "B"])
        await model.close()
    model = scorer(endpoint.url)
    with pytest.raises(EndpointUnreachable):
        await model.letters([PROMPT], ["A", "B"])
    await model.close()
