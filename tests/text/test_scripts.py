"""Which script a text is in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.errors import LanguageError
from adage.text.scripts import COMPOUND, main_script, script_class, script_share


@pytest.mark.parametrize(
    ("text", "scripts", "share"),
    [
        ("የሴት ክፉ", ["Ethi"], 1.0),
        ("ቆንጆI ok", ["Ethi"], 0.5),
        ("石の上にもコーヒー、3年", ["Jpan"], 1.0),
        ("石の上にも", ["Hani"], 0.4),
        ("画蛇添足 畫蛇", ["Hans", "Hant"], 1.0),
        ("가나 漢字", ["Kore"], 1.0),
        ("صلى ﷺ!", ["Arab"], 1.0),
        ("Hello", ["Arab"], 0.0),
        ("12 !?", ["Latn"], 0.0),
        ("", ["Latn"], 0.0),
        ("bo‘l o\u02bczbek", ["Latn"], 1.0),
        ("pamọ\u0301", ["Latn"], 1.0),
        ("ok", ["Grek", "Latn"], 1.0),
        ("ok", ["Jpan"], 0.0),
    ],
)
def test_share_counts_letters_of_the_scripts(text: str, scripts: list[str], share: float) -> None:
    """Only letters count, of all the scripts that a language is written in."""
    assert script_share(text, scripts) == pytest.approx(share)


@given(st.text())
def test_share_is_a_share(text: str) -> None:
    """Whatever the text, the share lies in 0..1."""
    assert 0 <= script_share(text, ["Jpan", "Latn"]) <= 1


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("ሰላም ok", "Ethi"),
        ("Аби ok", "Cyrl"),
        ("好好", "Hani"),
        ("123 ?", "Zyyy"),
        ("", "Zyyy"),
        ("می\u200cشود", "Arab"),
    ],
)
def test_main_script_is_that_of_most_letters(text: str, script: str) -> None:
    """The script that most letters are in is named, so that a reason can say what a row is written in."""
    assert main_script(text) == script


def test_every_compound_script_resolves() -> None:
    """Each ISO 15924 code without a Unicode script of its own is made of codes that have one."""
    for code in COMPOUND:
        assert script_class([code])


def test_unknown_script_is_refused() -> None:
    """A mistyped script never silently matches nothing."""
    with pytest.raises(LanguageError, match="'Lattin'"):
        script_share("a", ["Lattin"])
