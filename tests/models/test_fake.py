"""Scripted models: rules, choices and failures, as the documentation promises them."""

import numpy as np
import pytest

from adage.errors import BadRequest, EndpointBusy, RecipeError
from adage.models.base import ChatReply, Message
from adage.models.fake import Rule, ScriptedEmbedder, ScriptedModel

SCRIPT = """
- when: "theme of (\\\\w+)"
  reply: {theme: "the {1} of {0}", score: 3}
- when: pick
  reply: [one, two, three]
- when: broken
  fail: EndpointBusy
"""


async def ask(model, text, **draw):
    """The text of a reply."""
    request = model.request([Message(role="system", content="pick"), Message(role="user", content=text)], None, **draw)
    return (await model.chat(request)).text


@pytest.fixture
def model(tmp_path):
    """A model whose rules stand in a file."""
    path = tmp_path / "script.yaml"
    path.write_text(SCRIPT, encoding="utf-8")
    return ScriptedModel.from_file("fake", path)


async def test_the_first_matching_rule_answers(model):
    """Groups are filled in, inside JSON safely; only the last user message counts."""
    assert await ask(model, "theme of ሰላም") == '{"theme":"the ሰላም of theme of ሰላም","score":3}'
    with pytest.raises(EndpointBusy):
        await ask(model, "broken")
    with pytest.raises(BadRequest, match="no rule of the script 'fake' matches 'nothing'"):
        await ask(model, "nothing")
    assert model.calls == 3


async def test_choices_are_made_by_the_request(model):
    """The same request always gets the same entry; other samples spread over the list."""
    drawn = [await ask(model, "pick", sample=sample) for sample in range(50)]
    assert set(drawn) == {"one", "two", "three"}
    assert drawn == [await ask(model, "pick", sample=sample) for sample in range(50)]


async def test_a_function_may_answer():
    """Tests may script in Python, and give token counts with the reply."""
    model = ScriptedModel("f", lambda request: ChatReply(text=request.messages[-1].content[::-1], prompt_tokens=2))
    assert await ask(model, "abc") == "cba"


def test_other_rules_are_another_model():
    """A journal never answers for rules that have changed."""
    one, two = (ScriptedModel("m", [Rule(reply=reply)]) for reply in "ab")
    message = [Message(role="user", content="x")]
    assert one.request(message, None).key() != two.request(message, None).key()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("- when: '('\n  reply: x", "regular expression"),
        ("- when: a", "either"),
        ("- when: a\n  reply: x\n  fail: EndpointBusy", "either"),
        ("- when: a\n  reply: []", "empty"),
        ("- when: a\n  fail: Boom", "Boom"),
        ("- wen: a\n  reply: x", "wen"),
        ("when: a", "array"),
        ("- [", "script.yaml"),
    ],
)
def test_a_wrong_script_is_refused_with_its_fault(tmp_path, script, said):
    """The message names what is wrong before anything runs."""
    path = tmp_path / "script.yaml"
    path.write_text(script, encoding="utf-8")
    with pytest.raises(RecipeError, match=said):
        ScriptedModel.from_file("m", path)


def test_a_missing_script_is_named(tmp_path):
    """So is a path that leads nowhere."""
    with pytest.raises(RecipeError, match=r"none\.yaml"):
        ScriptedModel.from_file("m", tmp_path / "none.yaml")


async def test_scripted_vectors_depend_on_the_text_alone():
    """Unit length, equal for equal texts, nearly orthogonal otherwise, whatever the batch."""
    embedder = ScriptedEmbedder(dim=256)
    vectors = await embedder.embed(["a", "b", "a"])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(vectors[0], vectors[2])
    np.testing.assert_array_equal(vectors[1], (await embedder.embed(["b"]))[0])
    assert abs(vectors[0] @ vectors[1]) < 0.3
    assert (await embedder.embed([])).shape == (0, 256)
