"""Encodings: proved, clearly ahead, or asked for; never guessed into wrong text."""

from __future__ import annotations

import pytest

from adage.corpus.decode import decode
from adage.errors import CorpusError
from adage.language import load

TEXTS = {
    "ar": "الصبر مفتاح الفرج، ومن صبر نال\nيد واحدة لا تصفق\nمن جدّ وجد ومن زرع حصد\n",
    "ru": "Тише едешь — дальше будешь.\nБез труда не вытащишь и рыбку из пруда.\nСемь раз отмерь, один отрежь\n",
    "uk": "Без труда нема плода.\nВік живи — вік учись, їж і питай\nДе гарно, там і їжа\n",
    "ja": "猿も木から落ちる\n石の上にも三年と言うから頑張ろう\n七転び八起きのこころで\n",
    "zh": "塞翁失马，焉知非福\n一寸光阴一寸金，寸金难买寸光阴\n不到长城非好汉\n",
    "ko": "가는 말이 고와야 오는 말이 곱다\n낫 놓고 기역 자도 모른다\n세 살 버릇 여든까지 간다\n",
    "th": "น้ำขึ้นให้รีบตัก\nช้าเป็นการนานเป็นคุณ\nรักวัวให้ผูกรักลูกให้ตี\n",
    "he": "אין חכם כבעל ניסיון\nדרך ארץ קדמה לתורה\nסוף מעשה במחשבה תחילה\n",
    "el": "Κάλλιο πέντε και στο χέρι παρά δέκα και καρτέρει\nΤα πολλά λόγια είναι φτώχεια\n",
    "cs": "Bez práce nejsou koláče\nKdo jinému jámu kopá, sám do ní padá\nPříležitost dělá zloděje\n",
    "tr": "Damlaya damlaya göl olur\nAğaç yaşken eğilir\nİşleyen demir ışıldar\n",
    "es": "Más vale pájaro en mano que ciento volando\nA quien madruga, Dios le ayuda\nNo por mucho añadir sé más\n",
}
LEGACY = [
    (code, encoding)
    for code, encodings in {
        "ar": "cp1256 iso8859_6",
        "ru": "cp1251 koi8_r cp866 iso8859_5",
        "uk": "cp1251 koi8_u",
        "ja": "cp932 euc_jp",
        "zh": "gb18030",
        "ko": "cp949",
        "th": "tis_620",
        "he": "cp1255",
        "el": "cp1253",
        "cs": "cp1250",
        "tr": "cp1254",
        "es": "cp1252",
    }.items()
    for encoding in encodings.split()
]


@pytest.mark.parametrize(("code", "encoding"), LEGACY)
def test_legacy(code: str, encoding: str) -> None:
    """A legacy encoding of the language's script gives back the very text, or is asked for; never another text."""
    text = TEXTS[code].replace("—", "-") if encoding in {"cp866", "iso8859_5", "koi8_r", "koi8_u"} else TEXTS[code]
    text = text.replace("ّ", "")
    assert decode(text.encode(encoding), load(code)).text == text


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
)
@pytest.mark.parametrize("code", TEXTS)
def test_unicode(code: str, encoding: str) -> None:
    """Unicode forms, with and without a byte order mark, are proved and not guessed."""
    decoded = decode(TEXTS[code].encode(encoding), load(code))
    assert decoded.text == TEXTS[code]
    assert decoded.confidence >= 0.95


@pytest.mark.parametrize(
    ("code", "encoding", "language"),
    [("zh", "gb18030", "ja"), ("ru", "cp1251", "ar"), ("ko", "cp949", "ja"), ("he", "cp1255", "ar")],
)
def test_wrong_language_is_not_forced(code: str, encoding: str, language: str) -> None:
    """Bytes of another language are not bent into the expected one: the encoding is asked for."""
    with pytest.raises(CorpusError, match="is not UTF-8") as caught:
        decode(TEXTS[code].encode(encoding), load(language))
    assert "--encoding" in caught.value.hint


@pytest.mark.parametrize("code", ["ar", "ru", "ja", "es", "cs"])
@pytest.mark.parametrize("wrong", ["cp1252", "latin-1"])
def test_encoded_twice(code: str, wrong: str) -> None:
    """UTF-8 that went through cp1252 or Latin-1 once more is undone and said so."""
    mojibake = "".join(bytes([byte]).decode(wrong, errors="ignore") or chr(byte) for byte in TEXTS[code].encode())
    decoded = decode(mojibake.encode(), load(code))
    assert (decoded.text, decoded.twice) == (TEXTS[code], True)


def test_good_text_is_not_undone() -> None:
    """Sound text in Latin letters with accents is not taken for mojibake."""
    assert decode(TEXTS["es"].encode(), load("es")) == (TEXTS["es"], "utf-8", 1.0, False)


def test_cut_off_utf8() -> None:
    """A file cut within a character, or spliced, is damaged UTF-8, not another encoding."""
    data = (TEXTS["ar"] * 5).encode()[:-2]
    decoded = decode(data, load("ar"))
    assert decoded.encoding == "utf-8"
    assert decoded.confidence < 1
    assert decoded.text.count("\ufffd") == 1


def test_given_encoding_is_obeyed() -> None:
    """The user's encoding is used as it is; one that does not fit or exist is an error with the line."""
    data = TEXTS["ar"].encode("cp1256")
    assert decode(data, load("ar"), encoding="cp1256").text == TEXTS["ar"]
    with pytest.raises(CorpusError, match=r"c.csv:1: byte 0 .* is not valid utf-8"):
        decode(data, load("ar"), encoding="utf-8", name="c.csv")
    with pytest.raises(CorpusError, match="no encoding is called 'arabic-windows'"):
        decode(data, load("ar"), encoding="arabic-windows")
