"""The `transformers` back-end on a tiny random model made here: scores against its whole distribution, greedy replies.

Runs where torch and transformers are installed: `make test-transformers`.
"""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest

from adage.errors import BadRequest, MissingExtra, RecipeError
from adage.models.base import Message
from adage.models.hf import TransformersModel
from adage.models.score import RAW

TEXT = "The baker sold bread. Which proverb fits? A. Haste makes waste B. Look before you leap Answer: A B"
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything runs, and without the package."""
    monkeypatch.setattr("adage.models.hf.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"adage\[transformers\]"):
        TransformersModel("m", model="x").check()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with random weights and a tokenizer of single characters; `<s>` marks the beginning."""
    torch = pytest.importorskip("torch", reason="needs torch: make test-transformers")
    library = pytest.importorskip("transformers", reason="needs transformers: make test-transformers")
    tokenizers = pytest.importorskip("tokenizers")
    torch.manual_seed(0)
    letters = sorted(set(TEXT + "<>assistnuer\n:.ABCD"))
    vocabulary = {token: place for place, token in enumerate(["<s>", "</s>", "<unk>", *letters])}
    inner = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [], unk_token="<unk>"))
    inner.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer = library.PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token="</s>", unk_token="<unk>", chat_template=TEMPLATE
    )
    config = library.LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=160,
        bos_token_id=0,
        eos_token_id=1,
        initializer_range=0.3,
    )
    root = tmp_path_factory.mktemp("tiny")
    library.LlamaForCausalLM(config).save_pretrained(root)
    tokenizer.save_pretrained(root)
    return root


@pytest.fixture
def model(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TransformersModel:
    """The tiny model, not yet loaded."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return TransformersModel("tiny", model=str(folder), max_tokens=5)


def raw(text: str) -> tuple[Message, ...]:
    """Text to be continued."""
    return (Message(role=RAW, content=text),)


def logprobs(model: TransformersModel, tokens: list[int]) -> list[list[float]]:
    """Log-probabilities after each of the tokens, computed in one pass without any cache."""
    return list(model._loaded[0](model._tensor(tokens)).logits[0].double().log_softmax(-1).tolist())


async def test_letters_are_those_of_the_whole_distribution(model: TransformersModel) -> None:
    """Shares of the labels alone, for every prompt, whatever the prompts share; one prompt alone scores the same."""
    prompts = [raw(f"Which? A. {first} B. {second}\n") for first, second in [("waste", "leap"), ("leap", "waste")]]
    rows = await model.letters(prompts, ["A", "B"])
    for prompt, row in zip(prompts, rows, strict=True):
        tokens = model._tokens(prompt[0].content)
        after = logprobs(model, tokens)[-1]
        both = [after[model._tokens(label)[-1]] for label in "AB"]
        total = math.log(sum(map(math.exp, both)))
        assert row == pytest.approx([each - total for each in both], abs=1e-5)
        assert (await model.letters([prompt], ["A", "B"]))[0] == pytest.approx(row, abs=1e-5)
    await model.close()


async def test_texts_obey_the_chain_rule(model: TransformersModel) -> None:
    """A text's score is the sum over its tokens after the true text before them; longer and shorter ones together."""
    texts = ["Haste makes waste", "Look", "H"]
    scores = await model.texts(raw("Answer: "), texts)
    before = model._tokens("Answer: ")
    for text, score in zip(texts, scores, strict=True):
        whole = model._tokens("Answer: " + text)
        after = logprobs(model, whole)
        expected = sum(after[at - 1][whole[at]] for at in range(len(before), len(whole)))
        assert score == pytest.approx(expected, abs=1e-4)
    assert await model.texts(raw("Answer: "), ["H"]) == pytest.approx(scores[2:], abs=1e-5)
    with pytest.raises(BadRequest, match="nothing to score"):
        await model.texts(raw("Answer: "), [""])
    await model.close()


async def test_the_beginning_is_marked_once(model: TransformersModel) -> None:
    """The template writes the mark, and the tokenizer would add another."""
    assert await model.has_template()
    tokens = await model._run(lambda: model._tokens(model._written((Message(role="user", content="A B"),))))
    assert tokens.count(0) == 1
    assert tokens[0] == 0
    await model.close()


async def test_labels_are_looked_at_before_they_are_used(model: TransformersModel) -> None:
    """Labels of several tokens, or the same twice, are said to be unusable, and never scored."""
    assert await model.are_tokens(raw("Answer: "), ["A", "B"])
    assert not await model.are_tokens(raw("Answer: "), ["A", "AB"])
    assert not await model.are_tokens(raw("Answer: "), ["A", "A"])
    with pytest.raises(BadRequest, match="not distinct tokens"):
        await model.letters([raw("Answer: ")], ["A", "AB"])
    await model.close()


async def test_replies_are_greedy_and_end_where_they_should(model: TransformersModel) -> None:
    """Token by token the likeliest; `length` where the limit ended it; what follows a stop mark is cut off."""
    request = model.request(raw("Which proverb fits?"), None)
    assert request.model.startswith(f"{Path(model._model).name}@")
    reply = await model.chat(request)
    tokens = model._tokens("Which proverb fits?")
    drawn: list[int] = []
    for _ in range(5):
        after = logprobs(model, tokens + drawn)[-1]
        drawn.append(max(range(len(after)), key=after.__getitem__))
        if drawn[-1] == 1:
            break
    assert reply.text == model._loaded[1].decode(drawn, skip_special_tokens=True)
    assert reply.completion_tokens == len(drawn)
    assert reply.finish_reason == ("length" if drawn[-1] != 1 else "stop")
    mark = reply.text[2]
    stopping = msgspec.structs.replace(request, extra={"stop": [mark]})
    stopped = await model.chat(stopping)
    assert (stopped.text, stopped.finish_reason) == (reply.text[: reply.text.index(mark)], "stop")
    await model.close()


async def test_what_cannot_be_run_is_said_plainly(model: TransformersModel, tmp_path: Path) -> None:
    """A prompt beyond the context fails alone; a folder that is no model, and a name that is not there."""
    with pytest.raises(BadRequest, match="the model takes 1 to 160"):
        await model.letters([raw("A B" * 100)], ["A", "B"])
    assert await model.letters([raw("Answer: ")], ["A", "B"])
    await model.close()
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecipeError, match="holds no weights"):
        TransformersModel("m", model=str(tmp_path / "empty")).request((), None)
    with pytest.raises(RecipeError, match="there is no model 'nobody/nothing'"):
        TransformersModel("m", model="nobody/nothing").check()
