"""Scenarios that give their proverb away."""

import time

import msgspec
import pytest

from adage.language import Language, Words, derive, load
from adage.text.leakage import content_words, leak, unit_leak

MOSS = "A rolling stone gathers no moss."
PATIENCE = "الصَّبْرُ مفتاح الفرج"
COW = "ላም አለኝ በሰማይ ወተቷንም አላይ"
STONE = "石の上にも三年"


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("en", "All that glitters is not gold, all that!", ["glitters", "gold"]),
        ("ar", "من جدَّ وجد ومن زرع حصد", ["جدَّ", "وجد", "زرع", "حصد"]),
        ("am", COW, ["ላም", "በሰማይ", "ወተቷንም", "አላይ"]),
        ("zh", "一寸光阴一寸金", ["寸光阴", "寸金"]),
        ("en", "To be or not to be 7", []),
    ],
)
def test_content_words_leave_out_function_words(code: str, text: str, expected: list[str]) -> None:
    """What a scenario must not say is listed as it stands in the proverb, each word once."""
    assert content_words(text, load(code)) == expected


def test_japanese_content_words_are_nouns_verbs_and_adjectives() -> None:
    """Particles, numbers and counters are no leak in Japanese."""
    pytest.importorskip("fugashi")
    assert content_words(STONE, load("ja")) == ["石"]
    assert content_words("塵も積もれば山となる", load("ja")) == ["塵", "積もれ", "山"]


@pytest.mark.parametrize(
    ("code", "proverb", "scenario", "verdict", "kind"),
    [
        ("en", MOSS, "He threw the STONE away.", "drop", "form"),
        ("en", MOSS, "She gathered two stones.", "drop", "stem"),
        ("en", "A friend in need", "A friendship of many years ended.", "flag", "n-grams"),
        ("en", MOSS, "There is no way to do it at all.", "none", ""),
        ("en", "The other man", "Her mother came.", "none", ""),
        ("ar", PATIENCE, "أظهر الصبر طويلا", "drop", "form"),
        ("ar", PATIENCE, "تذرع بصبره", "drop", "stem"),
        ("ar", PATIENCE, "كان يصبر على التعب", "flag", "root"),
        ("ar", PATIENCE, "شرب القهوة في المقهى", "none", ""),
        ("am", COW, "ላሞች ከሰማይ በታች", "drop", "stem"),
        ("am", "የቸኮለ አፍሶ ለቀመ", "የቸኮለችው ልጅ ሄደች", "drop", "stem"),
        ("am", COW, "ወተታቸውን ጠጡ", "drop", "stem"),
        ("am", "ከበሮ በሰው እጅ ያምር", "ትልቅ ሰው ተከበረ", "flag", "skeleton"),
        ("am", COW, "ልጁ ትምህርት ቤት ሄደ", "none", ""),
        ("tr", "Abanın kadri yağmurda bilinir", "Yağmur IŞIL ışıl yağdı", "drop", "stem"),
        ("ko", "호랑이도 제 말 하면 온다", "호랑이가 숲에 산다", "drop", "stem"),
        ("ru", "Волка ноги кормят", "Он увидел волков", "drop", "stem"),
        ("zh", "一寸光阴一寸金", "他珍惜光阴。", "drop", "n-grams"),
        ("zh", "画蛇添足", "他走了很远的路。", "none", ""),
    ],
)
def test_leak_in_every_kind_of_language(code: str, proverb: str, scenario: str, verdict: str, kind: str) -> None:
    """Forms and stems drop, roots and skeletons flag, function words are free, in each writing system."""
    found = leak(scenario, proverb, load(code))
    assert found.verdict == verdict
    assert found.evidence.endswith(f"({kind})") if kind else found.evidence == ""
    assert 0 <= found.score <= 1
    assert found.score == 1.0 or found.verdict != "drop" or code == "zh"


@pytest.mark.parametrize(
    ("proverb", "scenario", "verdict", "kind"),
    [
        (STONE, "彼はいしを投げた。", "drop", "lemma"),
        ("塵も積もれば山となる", "少しずつ積もった。", "drop", "lemma"),
        ("機械は壊れる", "彼は機会を逃した。", "none", ""),
        (STONE, "三年の間、そこにいた。", "none", ""),
    ],
)
def test_leak_in_japanese(proverb: str, scenario: str, verdict: str, kind: str) -> None:
    """Lemmas see through spelling and inflection; homophones in other kanji are other words."""
    pytest.importorskip("fugashi")
    found = leak(scenario, proverb, load("ja"))
    assert found.verdict == verdict
    assert found.evidence.endswith(f"({kind})") if kind else found.evidence == ""


@pytest.mark.parametrize(
    ("proverb", "scenario", "evidence"),
    [
        ("瓢箪で鯰を押さえる", "古いなまずがいた。", "鯰 ~ なまず (reading)"),
        ("暖簾に腕押し", "店のノレンを見た。", "暖簾 ~ ノレン (reading)"),
    ],
)
def test_reading_is_evidence_between_kana_and_kanji(proverb: str, scenario: str, evidence: str) -> None:
    """A word spelled out in kana that MeCab takes for another lemma, or does not know, is flagged by its reading."""
    pytest.importorskip("fugashi")
    assert leak(scenario, proverb, load("ja"))[::2] == ("flag", evidence)


def test_evidence_names_both_words_as_written() -> None:
    """A person sees which word of the proverb met which word of the scenario, and how."""
    assert leak("Two Stones fell.", MOSS, load("en")).evidence == "stone ~ Stones (stem)"


def test_without_function_words_nothing_is_dropped() -> None:
    """In a language whose function words nobody listed, a shared word may be one, so it is flagged."""
    icelandic = derive("is")
    found = leak("Betra er að bíða.", "Betra er seint en aldrei.", icelandic)
    assert (found.verdict, found.score) == ("flag", 1.0)
    assert "er" not in content_words("Betra er seint en aldrei.", icelandic)


def test_score_of_an_innocent_scenario_says_how_close_it_came() -> None:
    """The score is published for every scenario, so it also grades those that pass."""
    near = leak("The underground station", "After the thunderstorm", load("en"))
    far = leak("He smiled.", "After the thunderstorm", load("en"))
    assert (near.verdict, far.verdict, far.score) == ("none", "none", 0.0)
    assert 0 < near.score < 0.75


@pytest.mark.parametrize(
    ("code", "text", "found"),
    [
        ("en", "As the proverbs say, wait.", "proverbs"),
        ("en", "There is an Old Saying: wait!", "old saying"),
        ("en", "He kept saying that.", ""),
        ("ar", "وكما يقول المثل، انتظر", "المثل"),
        ("ar", "كان مثل أخيه", ""),
        ("am", "በምሳሌያዊው አነጋገር", "በምሳሌያዊው"),
        ("ja", "昔からのことわざにある。", "ことわざ"),
        ("zh", "俗話說得好", "俗话"),
        ("ko", "옛 속담에 따르면", "속담에"),
        ("tr", "Atasözünde dendiği gibi", "atasözünde"),
    ],
)
def test_unit_leak_finds_the_word_for_proverb(code: str, text: str, found: str) -> None:
    """A scenario that calls itself a proverb's is caught; everyday words that look alike are not."""
    language = load(code)
    assert unit_leak(text, language, language.words.unit) == found


def test_unit_leak_takes_the_recipes_own_words() -> None:
    """Other material (fables, idioms) brings its own words; empty entries match nothing."""
    assert unit_leak("Two fables.", load("en"), ["fable*"]) == "fables"
    assert unit_leak("Two fables.", load("en"), ["fable"]) == ""
    assert unit_leak("Two fables.", load("en"), ["", "*"]) == ""
    assert unit_leak("Two fables.", load("en"), []) == ""


def test_leak_is_fast_enough_for_large_builds() -> None:
    """A thousand scenarios take well under a second, so that a hundred thousand take less than two minutes."""
    language: Language = msgspec.structs.replace(load("sw"), words=Words(function=("na", "ya")))
    texts = [" ".join(f"neno{i % 37}{j}" for j in range(70)) for i in range(1000)]
    start = time.perf_counter()
    for text in texts:
        leak(text, "haba na haba hujaza kibaba", language)
    assert time.perf_counter() - start < 1.2
