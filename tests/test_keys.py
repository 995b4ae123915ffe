"""Names of variables that hold keys: what cannot be one, or is a key itself, is refused and never shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.keys import looks_like_key, variable_name

DRAWN = "x7Gh2kQ9vLm4Rt8Zw1Bc6Nd3"
KEYS = ["sk-abc", "sk_live_abc", "gsk_abc", "hf_" + "x" * 34, "AIzaSy", "xai-abc", "nvapi-abc", DRAWN]


@pytest.mark.parametrize(
    "name", ["LLM_KEY", "K", "_x", "my_key", "openai_key2", "OPENAI_API_KEY_OF_PROJECT_2_IN_EUROPE", "HF_TOKEN", "k1"]
)
def test_names_are_taken_as_they_are(name):
    """Letters, digits and underscores, in capitals or not."""
    assert variable_name(name) == name


@pytest.mark.parametrize("text", ["", "1A", "MY KEY", "MY-KEY", "a.b", "КЛЮЧ", "A\n", "$LLM_KEY", *KEYS])
def test_anything_else_is_refused_without_being_shown(text):
    """The message says what is expected and how to do it, and does not hold what was given."""
    with pytest.raises(ValueError, match="name of an environment variable") as caught:
        variable_name(text)
    assert "export" in str(caught.value)
    assert len(text) < 4 or text not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["http://localhost:8000/v1", "org/Model-7b-instruct-v0.3", "a long sentence of 2026", "m"]
)
def test_addresses_models_and_sentences_are_no_keys(text):
    """They may be shown in messages."""
    assert not looks_like_key(text)


@given(st.text())
def test_the_message_is_the_same_whatever_is_refused(text):
    """It depends on the kind of fault alone, so that it can give nothing away."""
    try:
        assert variable_name(text) == text
    except ValueError as error:
        told = str(error)
        with pytest.raises(ValueError, match="environment variable") as caught:
            variable_name("sk-" if looks_like_key(text) else "")
        assert str(caught.value) == told
