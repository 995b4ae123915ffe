"""Language packs and what CLDR gives where there is none."""

from pathlib import Path

import msgspec
import pytest

from adage.errors import LanguageError
from adage.language import Key, Language, available, derive, fingerprint, load, load_file, variety
from adage.text.scripts import script_share
from adage.text.unicode import key

FULL = ("am", "ar", "en", "ja")
DOMAINS = {"family", "market", "school", "farm", "office", "neighbours", "sport", "travel", "health", "craft"}
HEAD = 'code = "x"\nname = "X"\nnative_name = "X"\nscripts = ["Latn"]\n'


@pytest.mark.parametrize("code", available())
def test_shipped_pack_is_complete(code: str) -> None:
    """Every shipped pack has what the stages ask of it, in its own script."""
    language = load(code)
    assert language.code == code
    assert language.sureness == ("full" if code in FULL else "draft")
    assert set(language.domains) == DOMAINS
    assert len(set(language.domains.values())) == 10
    assert len(set(language.letters)) == 8
    assert len(language.words.function) > 30
    assert len(set(language.words.function)) == len(language.words.function)
    assert language.words.unit
    assert script_share(" ".join(language.domains.values()), language.scripts) > 0.99
    assert script_share(" ".join(language.words.function), language.scripts) > 0.99
    assert language.length.min < language.length.max


@pytest.mark.parametrize("code", available())
def test_folds_of_shipped_pack_settle(code: str) -> None:
    """Keys of a pack's own words are stable: the pack's folds never undo each other."""
    language = load(code)
    for word in (*language.words.function, *language.words.placeholder, *language.domains.values()):
        assert key(key(word, language), language) == key(word, language) != ""


@pytest.mark.parametrize("code", FULL)
def test_full_pack_has_both_prompts(code: str) -> None:
    """A full pack instructs the generator and asks the evaluated model in its own language."""
    language = load(code)
    shown = language.prompts["generate"].format(n=10, min=30, max=90, unit=language.words.name)
    assert "10" in shown
    assert "90" in shown
    assert len(language.evaluate.questions) >= 3
    assert all(
        language.words.name in question.format(unit=language.words.name) for question in language.evaluate.questions
    )


def test_variety_uses_its_language_and_keeps_its_code() -> None:
    """A variety shares the pack of its language but not its code, so that its ids stay its own."""
    yemeni = load("ar-ye")
    assert (yemeni.code, yemeni.name, yemeni.key) == ("ar-YE", "Arabic", load("ar").key)
    assert load("prs").name == "Persian"
    assert load("iw").native_name == load("he").native_name


def test_load_is_cached() -> None:
    """The same code gives the same object, which makes the caches keyed on it fast."""
    assert load("am") is load("am")


def test_derive_takes_names_script_direction_and_digits_from_cldr() -> None:
    """A language without a pack works from CLDR's facts and says that it does."""
    kurdish = derive("ckb")
    assert (kurdish.name, kurdish.scripts, kurdish.direction, kurdish.joiners) == (
        "Central Kurdish",
        ("Arab",),
        "rtl",
        True,
    )
    assert kurdish.digits == "٠١٢٣٤٥٦٧٨٩"
    assert kurdish.sureness == "derived"
    burmese = derive("my")
    assert (burmese.segment.words, burmese.length.unit, burmese.digits) == ("runs", "characters", "၀၁၂၃၄၅၆၇၈၉")
    assert derive("uz-cyrl").scripts == ("Cyrl",)
    assert derive("cdo").scripts == ("Hans",)
    assert load("is").native_name == "íslenska"


def test_unknown_code_suggests_near_ones() -> None:
    """A name or a typo instead of a code is answered with the code that was meant."""
    with pytest.raises(LanguageError, match=r"'amharic'[\s\S]*am \(Amharic\)"):
        load("amharic")
    with pytest.raises(LanguageError, match="BCP 47"):
        load("qqx")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[key]\nspace_matters = true", "key: Object contains unknown field `space_matters`"),
        ("[length]\nmin = 'ten'", "length.min: Expected `int`, got `str`"),
        ("[key]\nstrip = '['", "key.strip: not a regular expression"),
        ("[key]\norder = ['a', '[']", "key.order[1]: not a regular expression"),
        ("[key]\norder = ['(a|b)']", "key.order[0]: expected (?:…) for (…)"),
        ("[key.letters]\n'ab' = 'c'", "key.letters: 'ab' has 2 letters"),
        ("[leak.weak]\n'ab' = 'c'", "leak.weak: 'ab' has 2 letters"),
        ("[prompts]\ngenerate = '{what}?'", "prompts.generate: expected a text"),
        ("[evaluate]\nletter = '{n}?'", "evaluate.letter: expected a text"),
        ("[evaluate]\nquestions = ['Which?']", "evaluate: questions, letter, text, generate and cue go together"),
        ("digits = '123'", "digits: expected ten digits"),
        ("[key\n", "is not valid TOML"),
    ],
)
def test_wrong_pack_is_refused_with_file_and_key(tmp_path: Path, line: str, message: str) -> None:
    """A mistake in a pack is named by file and key."""
    file = tmp_path / "mine.toml"
    file.write_text(HEAD + line, encoding="utf-8")
    with pytest.raises(LanguageError) as caught:
        load_file(file)
    assert "mine.toml" in str(caught.value)
    assert message in str(caught.value)


def test_wrong_script_is_refused(tmp_path: Path) -> None:
    """A script that Unicode does not know is a mistake in the pack, not a language of its own."""
    file = tmp_path / "mine.toml"
    file.write_text(HEAD.replace("Latn", "Lattin"), encoding="utf-8")
    with pytest.raises(LanguageError, match=r"mine.toml: scripts: 'Lattin'"):
        load_file(file)


def test_missing_pack_file_is_a_language_error(tmp_path: Path) -> None:
    """A pack that cannot be read is reported as such, not as a traceback."""
    with pytest.raises(LanguageError, match="cannot be read"):
        load_file(tmp_path / "none.toml")


def test_own_pack_loads(tmp_path: Path) -> None:
    """Five lines are a pack."""
    file = tmp_path / "mine.toml"
    file.write_text(HEAD, encoding="utf-8")
    assert load_file(file) == Language(code="x", name="X", native_name="X", scripts=("Latn",))


def test_fingerprint_follows_content_and_fold_order() -> None:
    """The fingerprint changes with every fact of a pack, also with the order of its folds."""
    base = load("en")
    one = msgspec.structs.replace(base, key=Key(fold={"a": "b", "b": "c"}))
    other = msgspec.structs.replace(base, key=Key(fold={"b": "c", "a": "b"}))
    assert len({fingerprint(base), fingerprint(one), fingerprint(other)}) == 3
    assert fingerprint(base) == fingerprint(load("en"))


@pytest.mark.parametrize(
    ("tag", "canonical"),
    [("ar_eg", "ar-EG"), ("arz", "arz"), ("ZH-hant-tw", "zh-Hant-TW"), ("en-x-valley", "en-x-valley"),
     ("ar-001", "ar-001"), ("Egyptian", ""), ("ar-QQ", ""), ("qqq-EG", ""), ("ar-EG; cairo", ""), ("", "")],
)  # fmt: skip
def test_varieties_are_tags_that_cldr_knows(tag: str, canonical: str) -> None:
    """A tag is given its canonical case; what is none, or names an unknown language or region, is refused."""
    assert variety(tag) == canonical
