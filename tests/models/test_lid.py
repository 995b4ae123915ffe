"""Language identification: right on real sentences, and silent where it does not know."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.language import Identify, Language
from adage.models.base import Guess
from adage.models.lid import Cld2, LangId, agrees, identifier, primary

SENTENCES = {
    "en": "The farmer opened the channel every morning before anyone else woke up.",
    "ar": "كان المزارع يفتح القناة كل صباح قبل أن يستيقظ أحد من أهل القرية.",
    "am": "ገበሬው በየማለዳው ማንም ሳይነሳ ቦዩን ይከፍት ነበር።",
    "ja": "農夫は毎朝だれも起きないうちに水路を開けていた。",
    "ko": "농부는 매일 아침 아무도 일어나기 전에 물길을 열었다.",
    "hi": "किसान हर सुबह सबके जागने से पहले नहर खोल देता था।",
    "fa": "کشاورز هر روز صبح پیش از بیدار شدن دیگران راه آب را باز می‌کرد.",
    "sw": "Mkulima alifungua mfereji kila asubuhi kabla ya mtu yeyote kuamka.",
    "tr": "Çiftçi her sabah kimse uyanmadan önce kanalı açardı.",
    "he": "האיכר פתח את התעלה בכל בוקר לפני שמישהו התעורר.",
    "zh": "农夫每天早晨在别人醒来之前打开水渠。",
}
pytest.importorskip("pycld2", reason="pycld2 has no wheel for this platform")
CLD2, LANGID = Cld2(), LangId()


def language(code, **identify):
    """A language with nothing but its code and labels."""
    return Language(code=code, name=code, native_name=code, scripts=(), identify=Identify(**identify))


class Knows:
    """An identifier that knows some languages and always gives the same answer."""

    id = "knows"

    def __init__(self, known, answer, confidence=0.9):
        self.known, self.answer, self.confidence = known, answer, confidence

    def supports(self, language):
        """Whether the language is among those it knows."""
        return language in self.known

    def identify(self, text):
        """Always the same."""
        return Guess(language=self.answer, confidence=self.confidence)


@pytest.mark.parametrize("identify", [CLD2, LANGID], ids=lambda identify: identify.id)
def test_ordinary_sentences_are_recognised(identify):
    """Each identifier that may be in use names the language of plain sentences, and agrees with their packs."""
    for code, sentence in SENTENCES.items():
        assert identify.supports(code)
        assert identify.identify(sentence).language == code
        assert agrees(identify, sentence, language(code)) is True
        other = "ja" if code != "ja" else "ar"
        assert agrees(identify, sentence, language(other)) is False


def test_the_best_identifier_is_used():
    """pycld2 where there is a wheel; the identity goes into provenance."""
    assert identifier().id.startswith("pycld2-")
    assert LANGID.id.startswith("py3langid-")


def test_an_unknown_language_is_never_filtered():
    """Where the identifier cannot answer the language, another answer is no evidence; a sister's is agreement."""
    tigrinya = language("ti", sisters=("am",))
    assert agrees(Knows({"am", "en"}, "am"), "…", tigrinya) is True
    assert agrees(Knows({"am", "en"}, "en"), "…", tigrinya) is None
    assert agrees(Knows({"en"}, "en"), "…", language("xx")) is None


def test_a_sister_is_no_excuse_where_the_language_is_known():
    """An identifier that can tell the two apart is believed."""
    tigrinya = language("ti", sisters=("am",))
    assert agrees(Knows({"am", "ti"}, "am"), "…", tigrinya) is False
    assert agrees(Knows({"am", "ti"}, "am", 0.4), "…", tigrinya) is None
    assert agrees(Knows({"am", "ti"}, "ti", 0.1), "…", tigrinya) is True


def test_labels_and_old_codes_are_understood():
    """Packs may list an identifier's own labels; withdrawn codes and regions make no difference."""
    assert agrees(Knows({"no"}, "no"), "…", language("nb", labels=("nb", "no"))) is True
    assert [primary(code) for code in ("iw", "zh-Hant", "pt_BR", "EN")] == ["he", "zh", "pt", "en"]


@given(st.text())
def test_any_text_gets_an_answer(text):
    """Nothing that a model writes can stop the identifiers; without letters nothing is claimed."""
    for identify in (CLD2, LANGID):
        guess = identify.identify(text)
        assert 0 <= guess.confidence <= 1
    if not any(character.isalpha() for character in text):
        assert LANGID.identify(text).language == "und"
