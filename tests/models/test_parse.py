"""Reading answers out of replies: what is accepted, what is mended, what is refused, and that nothing else happens."""

import json
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.errors import UnparsableReply
from adage.models.base import ChatReply
from adage.models.parse import is_refusal, parse_json, split_thinking


class Stories(msgspec.Struct):
    """A generator's answer."""

    scenarios: list[str]


class Verdict(msgspec.Struct):
    """A judge's answer."""

    fits: list[str]
    plausible: bool
    fluent: bool
    reason: str = ""


class Label(msgspec.Struct):
    """A labeller's answer."""

    theme: str


def parsed(text, kind=Stories, **reply):
    """The answer in a text, and how it was had."""
    found = parse_json(ChatReply(text=text, **reply), kind)
    return found.value, found.status


def failure(text, kind=Stories, **reply):
    """The status of a text that holds no answer."""
    with pytest.raises(UnparsableReply) as caught:
        parse_json(ChatReply(text=text, **reply), kind)
    assert caught.value.reply == text
    return caught.value.status


@pytest.mark.parametrize(
    "text",
    [
        '{"scenarios": ["a", "b"]}',
        '  {"scenarios": ["a", "b"], "note": "more"}\n',
        'Here you are:\n```json\n{"scenarios": ["a", "b"]}\n```\nEnjoy!',
        'Sure {thing}! {"scenarios": ["a", "b"]} I hope [1] it helps.',
        '{"draft": 1} {"scenarios": ["a", "b"]}',
        '[{"scenarios": ["a", "b"]}]',
        '<think>{"scenarios": []}</think>{"scenarios": ["a", "b"]}',
        'I think {"scenarios": []}</think>{"scenarios": ["a", "b"]}',
        '<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{"scenarios": ["a", "b"]}',
    ],
)
def test_intact_json_is_found_wherever_it_stands(text):
    """Prose, fences and thinking around intact JSON do not make it a repaired answer."""
    assert parsed(text) == (Stories(["a", "b"]), "ok")


@pytest.mark.parametrize(
    "text",
    [
        '{"Scenarios": ["a", "b"]}',
        '["a", "b"]',
        '{"result": {"scenarios": ["a", "b"]}}',
        '{"scenarios": [{"text": "a"}, {"story": "b"}]}',
        "{'scenarios': ['a', 'b',]}",
        '{"scenarios": ["a" "b"]}',
        '{scenarios: ["a", "b"]}',
    ],
)
def test_common_slips_are_mended_and_marked(text):
    """Each answer is plain to a person, and says `repaired`."""
    assert parsed(text) == (Stories(["a", "b"]), "repaired")


def test_values_are_coerced_to_what_was_asked_for():
    """Booleans as words, a lone letter for a list, numbers for text, null for a reason that may be left out."""
    text = '{"Fits": "A", "PLAUSIBLE": "true", "fluent": "False", "reason": null}'
    assert parsed(text, Verdict) == (Verdict(["A"], True, False), "repaired")
    assert parsed('{"fits": [1, 2], "plausible": true, "fluent": true}', Verdict)[0].fits == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "reply", "status"),
    [
        ("", {}, "invalid"),
        ("Once upon a time.", {}, "invalid"),
        ('{"theme": "x"}', {}, "invalid"),
        ("As the saying goes [1], all is well.", {}, "invalid"),
        ('{"error": "no"}', {}, "invalid"),
        ('{"scenarios": ["a", "b', {}, "truncated"),
        ('{"scenarios": ["a"], ', {"finish_reason": "length"}, "truncated"),
        ("<think>Let me see", {}, "truncated"),
        ("", {"finish_reason": "length", "reasoning": "Let me see"}, "truncated"),
        ("", {"finish_reason": "content_filter"}, "refused"),
        ("I’m sorry, but I can’t help with that.", {}, "refused"),
        ("申し訳ありませんが、お手伝いできません。", {}, "refused"),
        ("عذراً، لا أستطيع المساعدة في هذا الطلب.", {}, "refused"),
        ("ይቅርታ፣ በዚህ ልረዳዎት አልችልም።", {}, "refused"),
    ],
)
def test_what_holds_no_answer_says_why(text, reply, status):
    """Refused, cut off and wrong are three things, and are counted apart."""
    assert failure(text, **reply) == status


def test_an_answer_that_was_cut_off_is_never_completed():
    """Half a story must not become a scenario; whole ones before the cut may stay where the server says nothing."""
    assert parsed('{"scenarios": [{"text": "a"}, {"text": "b')[0] == Stories(["a"])
    assert failure('{"scenarios": [{"text": "a"}, {"text": "b', finish_reason="length") == "truncated"
    assert parsed('{"scenarios": ["a"]}', finish_reason="length") == (Stories(["a"]), "ok")


def test_an_excuse_in_json_is_no_label():
    """One wrapping too many is mended only where what is inside has the right shape."""
    assert failure('{"error": "I cannot do that"}', Label) == "invalid"
    assert parsed('{"answer": {"theme": "hope"}}', Label)[0] == Label("hope")


def test_an_answer_that_speaks_of_refusal_is_an_answer():
    """A story whose people apologise is not a refusal: phrases count only where no JSON was found."""
    assert parsed('{"scenarios": ["I\'m sorry, I cannot help, he said."]}')[1] == "ok"
    assert not is_refusal("The clerk was sorry that he could not help her.")


def test_thinking_is_kept_apart():
    """Both kinds of thinking end up in one place, in order."""
    reply = ChatReply(text='<think>Then this.</think>{"theme": "hope"}', reasoning="First that.")
    assert parse_json(reply, Label).thinking == "First that.\nThen this."
    assert split_thinking("[THINK]a[/THINK]b<think>c</think>d") == ("ac", "bd")
    assert split_thinking("[THink]a[/THink]b") == ("a", "b")
    assert split_thinking("no thinking") == ("", "no thinking")


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<think>", "</think>"),
        ("<THINKING>", "</THINKING>"),
        ("<thought>", "</thought>"),
        ("<reasoning>", "</reasoning>"),
        ("<analysis>", "</analysis>"),
        ("<reflection>", "</reflection>"),
        ("<seed:think>", "</seed:think>"),
        ("<longcat_think>", "</longcat_think>"),
        ("[THINK]", "[/THINK]"),
        ("◁think▷", "◁/think▷"),
        ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>\n<|begin_of_solution|>"),
        ("<unused94>thought\n", "<unused95>"),
        ("<|channel>thought\n", "<channel|>"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ],
)
def test_thinking_of_every_kind_of_model_is_split_off(opening, closing):
    """JSON amid thinking is no answer, whether the thinking ends, never ends, or began before the text."""
    draft, answer = '{"theme": "draft"}', '{"theme": "hope"}'
    found = parse_json(ChatReply(text=f"{opening}{draft}{closing}{answer}"), Label)
    assert (found.value, found.status, found.thinking) == (Label("hope"), "ok", draft)
    assert failure(f"{opening}{draft}", Label) == "truncated"
    if "/" in closing or closing.startswith(("<unused", "<channel", "<|END", "<|end_")):
        assert split_thinking(f"{draft}{closing}{answer}") == (draft, answer)


def test_thinking_in_steps_is_all_thinking():
    """A block inside a block, as models write that reflect on what they thought."""
    assert split_thinking("<thinking>a<reflection>b</reflection>c</thinking>{}") == ("abc", "{}")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"scenarios": ["She typed <think> and [THINK]."]}', "ok"),
        ('```json\n{"scenarios": ["She typed <think> and [THINK]."]}\n```', "ok"),
        ('{"Scenarios": ["She typed <think> and [THINK]."]}', "repaired"),
    ],
)
def test_a_tag_inside_a_json_string_is_text(text, status):
    """JSON that is the whole reply is not cut where a story speaks of tags."""
    assert parsed(text) == (Stories(["She typed <think> and [THINK]."]), status)


def test_hostile_replies_are_read_in_time():
    """Deep nesting, endless openings, and quotes without end cost neither the stack nor minutes."""
    for text in ("[" * 100_000, '{"a":' * 50_000, "<think>" * 50_000, '{"' * 50_000, "{" * 50_000 + "}" * 50_000):
        assert failure(text) in {"invalid", "truncated"}
    for text in ("```" + "a" * 50_000, "<a" * 50_000, "<" + "a_" * 50_000, "<think>" + "```\n" * 50_000):
        assert failure(text) in {"invalid", "truncated"}


@given(st.text() | st.text(alphabet='{}[]":,\\ab1truefals`<>/think\n\ud800\0'))
def test_any_text_is_an_answer_or_unparsable(text):
    """No reply of a model can raise anything but `UnparsableReply`."""
    for kind in (Stories, Verdict, Label):
        with suppress(UnparsableReply):
            assert isinstance(parse_json(ChatReply(text=text), kind).value, kind)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))), st.text(alphabet="abc .,!\n"), st.booleans())
def test_what_was_written_is_read_back(stories, prose, ascii_only):
    """Valid JSON with any text inside comes back exactly, also amid prose."""
    text = json.dumps({"scenarios": stories}, ensure_ascii=ascii_only)
    if "<" not in text:
        assert parsed(f"{prose}{text}{prose}") == (Stories(stories), "ok")
