"""Columns are recognised by names in many languages and by content, and never against the evidence."""

from __future__ import annotations

import pytest

from adage.corpus.mapping import fold, is_own, looks_like_header, map_columns, name_rank
from adage.corpus.table import Row, Table
from adage.language import load


def table(*records: dict[str, str], named: bool = True) -> Table:
    """A table of these records."""
    made = Table("", named=named)
    for number, record in enumerate(records, 1):
        made.add(Row(record, f":{number}"))
    return made


NAMES = {
    "text": ["Proverbs", "المثل", "ことわざ", "속담", "Atasözü", "peribahasa", "Прислів'я", "refrán", "proverb_text"],
    "explanation": [
        "Explanation",
        "meaningAmharic",
        "意味",
        "뜻",
        "anlamı",
        "artinya",
        "شرح",
        "значення",
        "Bedeutung",
        "अर्थ",
    ],
    "gloss": ["translation", "Literal Translation"],
    "reading": ["よみがな", "pinyin"],
}


@pytest.mark.parametrize(("name", "role"), [(name, role) for role, names in NAMES.items() for name in names])
def test_names(name: str, role: str) -> None:
    """A name fits its role better than any other."""
    folded = fold(name)
    best = max(
        ("text", "explanation", "gloss", "reading", "kind", "ignored"), key=lambda other: name_rank(other, folded)
    )
    assert best == role


def test_language_in_names() -> None:
    """Names that speak of the language, in English or its own words or by code, are its; others are glosses."""
    record = {
        "id": "1",
        "amharic_text": "አንድ እጅ አያጨበጭብም",
        "english_text": "One hand cannot clap",
        "meaning_amharic": "ትብብር ያስፈልጋል ማለት ነው",
        "meaning_english": "Cooperation is essential",
    }
    found = map_columns(table(record, record | {"amharic_text": "ድር ቢያብር አንበሳ ያስር"}), load("am"))
    assert (found.text, found.explanations) == ("amharic_text", ("meaning_amharic",))
    assert set(found.gloss) == {"english_text", "meaning_english"}


def test_scripts_in_names() -> None:
    """Columns that differ by script hold one proverb; the language's first script is shown."""
    record = {"text_cyrl": "Оз сўз — ором сўз", "text_latn": "Oz so‘z — orom so‘z"}
    found = map_columns(table(record, record), load("uz"))
    assert (found.text, found.parallel) == ("text_latn", ("text_cyrl",))


def test_content_alone() -> None:
    """Without names, short sentences in the language are the proverb and longer ones the explanation."""
    rows = [
        {"1": str(n), "2": text, "3": f"يضرب هذا المثل في {text} وما يشبه ذلك من أحوال الناس", "4": "https://x.org/a"}
        for n, text in enumerate(["الصبر مفتاح الفرج", "يد واحدة لا تصفق", "من جد وجد"], 1)
    ]
    found = map_columns(table(*rows, named=False), load("ar"))
    assert (found.text, found.explanations, found.by) == ("2", ("3",), "content")


def test_names_do_not_beat_content() -> None:
    """A column called `proverb` that holds another script is not the proverb."""
    rows = [
        {"proverb": "One hand cannot clap", "x": "يد واحدة لا تصفق"},
        {"proverb": "Patience is key", "x": "الصبر مفتاح الفرج"},
    ]
    assert map_columns(table(*rows), load("ar")).text == "x"


def test_description_may_be_the_proverb() -> None:
    """Of two columns named like explanations, the much shorter one is the proverb."""
    rows = [
        {
            "Description": "가까운 남이 먼 일가보다 낫다",
            "Meaning": "이웃끼리 서로 친하게 지내다 보면 먼 곳에 있는 일가보다 더 친하게 된다는 말.",
        },
        {"Description": "개 보름 쇠듯", "Meaning": "명절 같은 날에 제대로 먹지도 못하고 지냄을 이르는 말."},
    ]
    found = map_columns(table(*rows), load("ko"))
    assert (found.text, found.explanations) == ("Description", ("Meaning",))


def test_nothing_to_map() -> None:
    """Numbers and addresses are no proverbs."""
    assert not map_columns(table({"a": "1", "b": "http://x"}, {"a": "2", "b": "http://y"}), load("en")).usable


@pytest.mark.parametrize(
    ("code", "heads", "body", "header"),
    [
        ("en", ["text", "explanation"], [["Look before you leap", "Think"]], True),
        ("ar", ["a", "b"], [["الصبر مفتاح الفرج", "اصبر"]], True),
        ("tr", ["Metin", "Yorum"], [["aba altında er yatar", "giyim kuşam ölçü olamaz"]], True),
        ("ar", ["الصبر مفتاح الفرج", "اصبر"], [["من جد وجد", "اعمل"]], False),
        ("en", ["1", "Look before you leap"], [["2", "Still waters run deep"]], False),
        ("en", ["Look before you leap", "Think"], [["Still waters run deep", "Quiet"]], False),
    ],
)
def test_header(code: str, heads: list[str], body: list[list[str]], header: bool) -> None:
    """A first record is a header by its names, its script, or one word over columns of sentences."""
    assert looks_like_header(load(code), heads, body) is header


def test_own_language() -> None:
    """Codes and names say whether a row is in the corpus language; unknown words say nothing."""
    arabic = load("ar")
    assert [is_own(name, arabic) for name in ("ar", "Arabic", "العربية", "en", "Japanese", "ar-YE", "wisdom")] == [
        True, True, True, False, False, True, None,
    ]  # fmt: skip
    assert is_own("dari", load("prs"))


def test_lessons_are_ids_and_sentences_are_glosses() -> None:
    """A column `equivalent` is the id of a shared lesson; one that holds proverbs of another language is a gloss."""
    rows = [{"text": "الصبر مفتاح الفرج", "equivalent": "e01"}, {"text": "يد واحدة لا تصفق", "equivalent": "e02"}]
    found = map_columns(table(*rows), load("ar"))
    assert (found.equivalent, found.gloss) == ("equivalent", ())
    told = [row | {"equivalent": text} for row, text in zip(rows, ("Patience pays off", "It takes two"), strict=True)]
    found = map_columns(table(*told), load("ar"))
    assert (found.equivalent, found.gloss) == ("", ("equivalent",))


def test_varieties_are_tags() -> None:
    """A column of varieties is one only where most of its entries are tags of BCP 47."""
    rows = [{"text": "الصبر مفتاح الفرج", "dialect": "ar-EG"}, {"text": "يد واحدة لا تصفق", "dialect": ""}]
    assert map_columns(table(*rows), load("ar")).variety == "dialect"
    assert map_columns(table(*(row | {"dialect": "Cairo"} for row in rows)), load("ar")).variety == ""
