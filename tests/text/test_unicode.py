"""Text as shown, and text as compared."""

import json
import unicodedata
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.errors import LanguageError
from adage.language import Key, available, load
from adage.text.unicode import isolate, key, letters, neutralise, normal, show

CORPORA = Path(__file__).parents[2].parent / "shared" / "corpora" / "small"
CODES = [*available(), "bn", "lo", "ckb"]
# Letters, marks, signs and traps of the scripts of the packs, and anything else now and then.
ANY_SCRIPT = st.text(
    st.one_of(
        st.sampled_from(
            "aAiIıİßſéñ'’‘ʼ -–—_.,;!?…\"“”«»()[]&%\u00a0\u3000\u200b\u200c\u200d\u200e\u00ad\ufeff\u0092\n\t"
            "اأإآةىيکكیہهۀلا\u0640\u064e\u0651\u0670ﷺﷲﱡﻻﹰ٠١٢۳"
            "ሀሃሐኀኸሠሰዐአኣፀጸ፡።፣፤\u135f"
            "あアｱｶﾞが\u3099゛ヶー～〜々漢（あお）、。・"
            "가각\u1100\u1161\uf9b3שלוםׁ״׳־"
            "हिन्दीँंक़ज़\u093c\u200dกำ็่ํၽ"
            "ក្ដត្រ៉៊ិីុាេំ់ះឲកြျွှေိုူါာံ့်းဝ၀ရ၇ဥဩသ፩፲፻፼௰ƴ"
            "ộòoaàuyúđðẹ́ёЁйґіє\u0301\u0308\u0345ΐς"
        ),
        st.characters(),
    ),
    max_size=30,
)


def _records(name: str) -> list[dict[str, str]]:
    file = CORPORA / name
    if not file.exists():
        pytest.skip("the shared corpora are not beside this checkout")
    records: list[dict[str, str]] = json.loads(file.read_text(encoding="utf-8"))
    return records


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\ufeff  So it is.\r\n", "So it is."),
        ("two\nlines\u2028three", "two lines three"),
        ("e\u0301te\u0301", "été"),
        ("soft\u00adhyphen\u200b and\u00a0\u3000space", "softhyphen and space"),
        ("Ali\x92nin \x93ev\x94i \x85", "Ali’nin “ev”i …"),
        ("na\x9cud", "naœud"),
        ("三\x8e個", "三個"),
        ("\u202bالصبر\u202c مفتاح\u200f", "الصبر مفتاح"),
        ("رسول الله ﷺ", "رسول الله ﷺ"),
        ("ﻻ ½ ㈱ ①", "ﻻ ½ ㈱ ①"),
        ("pamọ\u0301", "pamọ́"),
        ("a\ud800b\x00c\ufffe", "abc"),
    ],
)
def test_show_mends_what_cannot_be_seen_and_nothing_else(raw: str, shown: str) -> None:
    """Shown text is NFC without invisible damage; compatibility characters stay as they were written."""
    assert show(raw, joiners=False) == unicodedata.normalize("NFC", shown)


def test_show_keeps_joiners_only_where_they_are_spelling() -> None:
    """ZWNJ is a letter's business in Persian and a stray sign in Yoruba."""
    assert show("می\u200cگندد\u200c", joiners=True) == "می\u200cگندد"
    assert show("ọ\u200cba", joiners=False) == "ọba"


@given(ANY_SCRIPT, st.booleans())
def test_show_is_idempotent_and_clean(text: str, joiners: bool) -> None:
    """Showing twice changes nothing, and the result is one NFC line without outer space or controls."""
    shown = show(text, joiners=joiners)
    assert show(shown, joiners=joiners) == shown == shown.strip() == unicodedata.normalize("NFC", shown)
    assert not any(unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} for char in shown)
    shown.encode()


@given(ANY_SCRIPT, st.sampled_from(CODES))
def test_key_is_idempotent(text: str, code: str) -> None:
    """The key of a key is itself, in every language."""
    language = load(code)
    folded = key(text, language)
    assert key(folded, language) == folded


@given(ANY_SCRIPT, st.sampled_from(CODES))
def test_key_does_not_see_normal_forms_or_what_show_takes_away(text: str, code: str) -> None:
    """Canonically equal texts, and a text before and after `show`, have one key."""
    language = load(code)
    text = show(text, joiners=language.joiners)
    assert key(unicodedata.normalize("NFD", text), language) == key(text, language)


@pytest.mark.parametrize(
    ("code", "one", "other"),
    [
        ("en", "Don’t count your chickens!", "dont count  your chickens"),
        ("en", "All's well—that ends well.", "Alls well that ends well"),
        ("ar", "بـا ورد السِّلِى", "با ورد السلي"),
        ("ar", "إسأل مُجرّبة", "اسأل مجربه"),
        ("ar", "ﻻ تقل", "لا تقل"),
        ("am", "ዐይኑ ኃይል ሥራ ፀሐይ፡፡", "አይኑ ሃይል ስራ ጸሀይ።"),
        ("am", "ቃል፡ለሰው", "ቃል ለ ሰው"),
        ("ja", "青菜（あおな）に塩。", "青菜に塩"),
        ("ja", "ｶｴﾙ～の子", "カエル〜の子"),
        ("fa", "مي\u200cشود كرد", "میشود کرد"),
        ("ur", "كيا ہے", "کیا ہے"),
        ("he", "שָׁלוֹם", "שלום"),
        ("hi", "हिन्दी ज़रा पाँच", "हिंदी जरा पांच"),
        ("ko", "가는날이 장날", "가는 날이 장날"),
        ("tr", "IĞDIR İLE hikâye", "ığdır ile hikaye"),
        ("vi", "Hoà, khoẻ, thuý", "hòa khỏe thúy"),
        ("ru", "Всё пройдёт, сло́во", "все пройдет слово"),
        ("uk", "п'ять", "пʼять"),
        ("yo", "pamọ́", "PAMO\u0323\u0301"),
        ("en", "٣ cats", "3 cats"),
        ("am", "፫ ድመቶች", "3 ድመቶች"),
        ("km", "ស្ត្រី\u200bល្អ", "ស្រ្តីល្អ"),
        ("my", "ကိုု", "ကုို"),
        ("th", "นํ้า", "น้ำ"),
        ("zh", "塞翁失馬", "塞翁失马"),
        ("vi", "lý do", "lí do"),
        ("ha", "'Yan uwa", "ƴan uwa"),
        ("uk", "ґедзь", "гедзь"),
        ("ur", "اس لئے", "اس لیے"),
        ("bn", "র\u200dযাব", "রযাব"),
    ],
)
def test_spellings_of_one_text_share_a_key(code: str, one: str, other: str) -> None:
    """The variants that writers of a language use freely do not make two proverbs."""
    assert key(one, load(code)) == key(other, load(code)) != ""


@pytest.mark.parametrize(
    ("code", "one", "other"),
    [
        ("tr", "sınır", "sinir"),
        ("my", "ကကောင်း ခ", "ကကောင်းခ"),
        ("yo", "ọkọ", "ọkọ̀"),
        ("ti", "ሓለፈ", "ሃለፈ"),
        ("hi", "सड़क", "सडक"),
        ("ja", "一石二鳥", "一石三鳥"),
    ],
)
def test_different_words_keep_different_keys(code: str, one: str, other: str) -> None:
    """Folding stops where a language tells words apart."""
    assert key(one, load(code)) != key(other, load(code))


def test_presentation_forms_leave_no_space() -> None:
    """U+FC61 and its like decompose to a space and marks under NFKC; no word may fall apart there."""
    plain = load("ar")
    assert normal("حبﱡ", plain) == "حب"
    assert key("مرﱠة", plain) == key("مرّة", plain) == "مره"


def test_keys_count_the_proverbs_of_real_collections() -> None:
    """Folding merges exactly the variants that people merged by hand (18 of 32 Arabic, 23 of 32 more)."""
    arabic = load("ar")
    rows = [row["proverb"] for row in _records("01_ar_yemeni_variants.json") if row["explanation"]]
    assert len({key(row, arabic) for row in rows}) == 18
    listed = _records("08_ar_string_array.json")
    assert len({key(str(row), arabic) for row in listed}) == 23


def test_keys_count_the_proverbs_of_an_amharic_collection() -> None:
    """Homophones, word separators and spaces do not make two proverbs in Amharic (27 of 35)."""
    file = CORPORA / "11_am_lines.txt"
    if not file.exists():
        pytest.skip("the shared corpora are not beside this checkout")
    lines = [line for line in file.read_text(encoding="utf-8").split("\n") if line.strip() and "好" not in line]
    assert len({key(line, load("am")) for line in lines}) == 27


def test_folds_that_never_settle_are_reported() -> None:
    """A pack whose fold feeds itself is refused instead of looping."""
    endless = msgspec.structs.replace(load("en"), key=Key(fold={"a": "aa"}))
    with pytest.raises(LanguageError, match="never settle"):
        key("a", endless)


def test_letters_leave_out_phrases_in_one_sign() -> None:
    """ﷺ is a letter to Unicode but not to the count of a text's letters."""
    assert letters("قال ﷺ 3!") == "قال"


def test_isolate_wraps_in_bidi_isolates() -> None:
    """Right-to-left text in a terminal line is isolated from what surrounds it."""
    assert isolate("مثل") == "\u2068مثل\u2069"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "＝1", "|calc"])
def test_neutralise_disarms_formulas(text: str) -> None:
    """No cell of an export can be taken for a formula."""
    assert neutralise(text) == "'" + text


@pytest.mark.parametrize("text", ["", "plain", "1-1", "الصبر", "it's = fine"])
def test_neutralise_leaves_ordinary_text_alone(text: str) -> None:
    """A cell that is no formula is not changed."""
    assert neutralise(text) == text
