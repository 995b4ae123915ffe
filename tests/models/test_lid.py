"""Language identification: right on real sentences, and silent where it does not know."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.language import Identify, Language, available, load, shipped
from adage.models.base import Guess
from adage.models.lid import Cld2, LangId, agrees, identifier, primary, slip_check

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


def language(code, *, scripts=(), **identify):
    """A language with nothing but its code, scripts and labels."""
    return Language(code=code, name=code, native_name=code, scripts=scripts, identify=Identify(**identify))


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


@pytest.mark.parametrize("identify", [CLD2, LANGID], ids=lambda identify: identify.id)
def test_a_slip_into_english_is_seen_and_nothing_else_is(identify):
    """English is told from each language of its script, and no sentence of such a language's pack is called English."""
    checked = {code: check for code in available() if (check := slip_check(identify, load(code)))}
    assert checked.keys() >= {"ha", "id", "sw", "tr", "vi", "yo"}
    for code, slipped in checked.items():
        assert slipped(SENTENCES["en"])
        assert not any(map(slipped, shipped(code).examples.identify))
        assert not any(slipped(sentence) for other, sentence in SENTENCES.items() if other != "en")


def test_a_text_that_is_partly_english_has_not_slipped():
    """Speakers of Filipino put English words and half sentences into good stories."""
    story = "Pumunta si Ana sa mall para bumili ng bagong cellphone. Pero yung price sobrang mahal so she decided na "
    story += "mag-save muna. After three months, nakabili na rin siya and super happy ang family niya."
    for identify in (CLD2, LANGID):
        assert not slip_check(identify, load("fil"))(story)


@pytest.mark.parametrize(
    "target",
    [
        language("en-GB", scripts=("Latn",)),
        language("ja", scripts=("Jpan",)),
        language("pcm", scripts=("Latn",)),
        language("sco", scripts=("Latn",), sisters=("en",)),
        language("jam", scripts=("Latn",), labels=("en",)),
    ],
    ids=lambda target: target.code,
)
def test_where_a_slip_cannot_be_told_nothing_is_checked(target):
    """English itself, other scripts, and creoles of English that the identifier would take for English."""
    assert slip_check(CLD2, target) is None


@given(st.text())
def test_any_text_gets_an_answer(text):
    """Nothing that a model writes can stop the identifiers; without letters nothing is claimed."""
    for identify in (CLD2, LANGID):
        guess = identify.identify(text)
        assert 0 <= guess.confidence <= 1
    if not any(character.isalpha() for character in text):
        assert LANGID.identify(text).language == "und"
