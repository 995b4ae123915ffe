"""Words, sentences and lengths."""

import importlib
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uniseg.wordbreak import words as uniseg_words

from adage.errors import MissingExtra
from adage.language import derive, load
from adage.text import segment
from adage.text.segment import lemmas, length, sentences, words


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("en", "It's a dog's life: re-do 3.14!", ["It's", "a", "dog's", "life", "re", "do", "3.14"]),
        ("am", "ሰላም፡ለዓለም ነው።", ["ሰላም", "ለዓለም", "ነው"]),
        ("fa", "آب یک\u200cجا", ["آب", "یک\u200cجا"]),
        ("ar", "الصَّبْرُ، مفتاح", ["الصَّبْرُ", "مفتاح"]),
        ("hi", "हिन्दी भाषा।", ["हिन्दी", "भाषा"]),
        ("zh", "画蛇添足，多此一举。", ["画蛇添足", "多此一举"]),
        ("th", "น้ำขึ้นให้รีบตัก สวัสดี", ["น้ำขึ้นให้รีบตัก", "สวัสดี"]),
        ("ja", "石の上にも三年。", ["石", "の", "上", "に", "も", "三", "年"]),
        ("en", " ... ", []),
    ],
)
def test_words_leave_out_punctuation(code: str, text: str, expected: list[str]) -> None:
    """Words are what a reader of the language would count, or runs where nobody separates words."""
    if code == "ja":
        pytest.importorskip("fugashi")
    assert words(text, load(code)) == expected


@given(st.text(st.sampled_from("ab'’.,:3 -éøשל\"אبتـ\u064eሰላ፡한글カｶーあ漢\u200d\u0301_\n"), max_size=25))
def test_words_agree_with_uniseg(text: str) -> None:
    """The default words are those of UAX #29, with uniseg's independent implementation as oracle."""
    expected = [part for part in uniseg_words(text) if any(char.isalnum() for char in part)]
    assert words(text, load("en")) == expected


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("en", "He left. She stayed! Why? So.", ["He left.", "She stayed!", "Why?", "So."]),
        ("en", '"Really?" he asked. It cost 3.14.', ['"Really?" he asked.', "It cost 3.14."]),
        ("en", "Wait... what?! No… Yes…", ["Wait... what?!", "No…", "Yes…"]),
        ("en", "(Good.) “Fine.” And so on", ["(Good.)", "“Fine.”", "And so on"]),
        ("en", "one\ntwo", ["one", "two"]),
        ("am", "እሱ መጣ። እሷ ሄደች፡፡ ማን ነው? እኔ።", ["እሱ መጣ።", "እሷ ሄደች፡፡", "ማን ነው?", "እኔ።"]),
        ("ar", "جاء. لماذا؟ «نعم.» قال!", ["جاء.", "لماذا؟", "«نعم.»", "قال!"]),
        (
            "ja",
            "彼は来た。「行こう。」と言った。本当？はい！",
            ["彼は来た。", "「行こう。」と言った。", "本当？", "はい！"],
        ),
        ("hi", "वह आया। वह गया॥ क्यों?", ["वह आया।", "वह गया॥", "क्यों?"]),
        ("ur", "وہ آیا۔ کیوں؟", ["وہ آیا۔", "کیوں؟"]),
        ("ka", "ის მოვიდა. რატომ?", ["ის მოვიდა.", "რატომ?"]),
        ("zh", "他来了。“走吧！”他说。", ["他来了。", "“走吧！”他说。"]),
        ("my", "သူ လာ၊ ထိုင်။ သွား။", ["သူ လာ၊ ထိုင်။", "သွား။"]),
        ("en", "", []),
        ("en", "!!!", []),
    ],
)
def test_sentences_end_where_readers_end_them(code: str, text: str, expected: list[str]) -> None:
    """Terminators of every script end sentences; decimals, ellipses and quotations inside one do not."""
    assert sentences(text, load(code)) == expected


@given(
    st.text(
        st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("a1'’.-_  \u0301\u200d\u202fあ漢ሰ🇦")),
        max_size=25,
    )
)
def test_no_word_reaches_over_a_space(text: str) -> None:
    """So the words of a text are those of what stands between its spaces."""
    language = load("en")
    assert words(text, language) == [word for chunk in text.split(" ") for word in words(chunk, language)]


@given(st.text(st.sampled_from('aB.!?…。።»"\n 3'), max_size=40))
def test_sentences_lose_no_letter(text: str) -> None:
    """Cutting into sentences keeps every letter, in order."""
    kept = "".join(sentences(text, load("en")))
    assert [char for char in kept if char.isalnum()] == [char for char in text if char.isalnum()]


def test_length_is_in_the_unit_of_the_pack() -> None:
    """Words where words are written apart, visible characters elsewhere."""
    assert length("Two words, three.", load("en")) == 3
    assert length(" 石の 上にも\u200b三年。\n", load("ja")) == 8
    assert length("ရေ ၊", derive("my")) == 3


def test_lemmas_unite_spellings() -> None:
    """Kana and kanji spellings and inflected forms of a word share lemma and reading; loan words are only the word."""
    pytest.importorskip("fugashi")
    tokens = lemmas("いしを積もればビール", load("ja"))
    found = {token.surface: (token.lemma, token.reading, token.part_of_speech) for token in tokens}
    assert found["いし"] == ("石", "イシ", "名詞-普通名詞-一般")
    assert found["積もれ"][:2] == ("積もる", "ツモル")
    assert found["ビール"][0] == "ビール"


def test_missing_japanese_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without fugashi the error names the extra that brings it."""
    monkeypatch.setitem(sys.modules, "fugashi", None)
    fresh = importlib.util.module_from_spec(segment.__spec__)
    segment.__spec__.loader.exec_module(fresh)
    with pytest.raises(MissingExtra, match=r"Japanese segmentation[\s\S]*adage\[ja\]"):
        fresh.words("石", load("ja"))
