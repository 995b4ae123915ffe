"""What is cut from cells, and what must not be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.corpus.clean import Habits, clean_explanation, clean_text, fill, habits, split_variants
from adage.language import load

EN, AR, AM, JA, KO, TR, ID, CS = (load(code) for code in ("en", "ar", "am", "ja", "ko", "tr", "id", "cs"))


@pytest.mark.parametrize(
    ("code", "raw", "shown"),
    [
        ("cs", "Bez práce nejsou koláče.[2][3]", "Bez práce nejsou koláče."),
        ("cs", "Co tě nezabije, to tě posílí.[pozn. 1]", "Co tě nezabije, to tě posílí."),
        ("en", "Time &amp; tide <b>wait</b> for<br>no man", "Time & tide wait for no man"),
        ("en", "Look before you leap #proverb #Wisdom", "Look before you leap"),
        ("ja", "塵（ちり）も積もれば山となる", "塵も積もれば山となる"),
        ("ja", "<ruby>猿<rt>さる</rt></ruby>も木から落ちる", "猿も木から落ちる"),
        ("tr", "Allah\u0092ın hikmeti", "Allah’ın hikmeti"),
        ("en", "a < b and c > d", "a < b and c > d"),
        ("en", "Three is #1 in luck", "Three is #1 in luck"),
        ("zh", "打牙祭（偶尔吃顿好饭）", "打牙祭（偶尔吃顿好饭）"),
    ],
)
def test_text(code: str, raw: str, shown: str) -> None:
    """Markup, notes and readings go; signs that look like them stay."""
    assert clean_text(raw, load(code)).text == shown


@pytest.mark.parametrize(
    ("code", "text", "base", "variants"),
    [
        ("ko", "가난 구제는 나라〔나라님/임금〕도 못 한다〔어렵다〕", "가난 구제는 나라도 못 한다", 3),
        ("ko", "꿩 먹고 알 먹는다(먹기)", "꿩 먹고 알 먹는다", ("꿩 먹고 알 먹기",)),
        ("ko", "가난은 나라(님)도 못 당한다", "가난은 나라도 못 당한다", ("가난은 나라님도 못 당한다",)),
        ("id", "Air di daun keladi (= talas).", "Air di daun keladi.", ("Air di daun talas.",)),
        ("id", "Bagai ayam disambar [helang/elang].", "Bagai ayam disambar helang.", ("Bagai ayam disambar elang.",)),
        ("am", "የሴት ወበራ /ቀበጥ/ ትታጠቃለች ካራ", "የሴት ወበራ ትታጠቃለች ካራ", ("የሴት ቀበጥ ትታጠቃለች ካራ",)),
        (
            "cs",
            "Co oči nevidí, to srdce nebolí (a ruce neukradnou).",
            "Co oči nevidí, to srdce nebolí (a ruce neukradnou).",
            (),
        ),
        ("ja", "早起きは三文の徳(得)", "早起きは三文の徳(得)", ()),
    ],
)
def test_variants(code: str, text: str, base: str, variants: tuple[str, ...] | int) -> None:
    """Alternatives in brackets become variants of the whole proverb; optional words stay where they are."""
    found = split_variants(text, load(code))
    assert found[0] == base
    assert (len(found[1]) if isinstance(variants, int) else found[1]) == variants


@given(st.text(max_size=60))
def test_variants_never_crash(text: str) -> None:
    """Any text has a base wording, and a text without brackets is its own."""
    base, variants = split_variants(text, EN)
    if not set(text) & set("()[]（）〔〕/"):
        assert (base, variants) == (text, ())


def test_attribution() -> None:
    """A line that names the origin leaves the text and is kept."""
    cleaned = clean_text("No hay sustituto\npara la experiencia.\n\t\t-- Proverbio árabe. ", load("es"))
    assert cleaned.text == "No hay sustituto para la experiencia."
    assert cleaned.attribution == "Proverbio árabe."


def test_swallowed_record() -> None:
    """A record that slipped into a cell with its labels is taken apart."""
    cleaned = clean_text(
        ".\n\nẸni tó ńlé nǹkan.\n\nTranslation:\nWho pursues.\n\nMeaning:\nThere is a price.", load("yo")
    )
    assert cleaned.text == "Ẹni tó ńlé nǹkan"
    assert cleaned.swallowed == (("gloss", "Who pursues."), ("explanation", "There is a price."))


def test_habits() -> None:
    """List numbers and colons between words are a column's habit or none at all."""
    assert habits(["1. a b", "2. c d", "3. e f"]) == Habits(numbered=True)
    assert habits(["2 heads are better", "one", "two"]) == Habits()
    assert habits(["ክፉ : ቀን : እና", "ካለ : መናገር", "ሀ:ለ"]).colons
    assert clean_text("ስዕል: እና :ዘመድን ። ", AM, Habits(colons=True)).text.startswith("ስዕል እና ዘመድን")


@pytest.mark.parametrize(
    ("code", "raw", "shown"),
    [
        ("ja", "１．詩文｡　２． 一番優れた部分｡", "詩文｡ 一番優れた部分｡"),
        ("zh", "①、寒死：冻死。\n\n②、", "①、寒死：冻死。"),
        ("ko", "이르는 말.,사리에 어두운 말.", "이르는 말. 사리에 어두운 말."),
        ("en", '**Haste**: \\n\\n*   makes \\"waste\\"', 'Haste: makes "waste"'),
        ("en", "1) the first; 2) the second", "the first; the second"),
        (
            "tr",
            "==Tr==\n{{b|tr}}\nX\n\n:[1] [[beden|bedenim]]de.<ref>{{k}}</ref>\n# iki\n==Eş==\n:[1] son",
            "bedenimde. iki",
        ),
    ],
)
def test_explanation(code: str, raw: str, shown: str) -> None:
    """Sense numbers, empty items, Markdown and wikitext around definitions go."""
    assert clean_explanation(raw, load(code)) == shown


@pytest.mark.parametrize(
    ("question", "answers", "filled"),
    [
        ("___も木から落ちる", ["猿"], "猿も木から落ちる"),
        ("Look before you ____", ["leap"], "Look before you leap"),
        ("「失敗する」という意味は？", ["猿も木から落ちる"], "猿も木から落ちる"),
        ("雨后送伞", ["空头人情"], "雨后送伞——空头人情"),
        ("a \\1 ___", ["\\g<0>"], "a \\1 \\g<0>"),
        ("What is ___?", [], ""),
    ],
)
def test_fill(question: str, answers: list[str], filled: str) -> None:
    """Quiz records give the whole proverb; answers are text, whatever signs they hold."""
    assert fill(question, answers)[0] == filled
