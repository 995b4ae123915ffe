"""What is left of a word: affixes by position, vowels of a syllabary, skeletons, irregular forms."""

import msgspec
import pytest

from adage.language import Leak, load
from adage.text.stem import irregular_stems, roots, skeleton, strip_affixes, suffix_paths, without_vowel

AMHARIC = load("am")


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("ቤቶች", "ቤት"),
        ("ቤቱን", "ቤት"),
        ("ቤታቸውን", "ቤት"),
        ("ልጇ", "ልጅ"),
        ("ውሻዎች", "ውሻ"),
        ("መንገዶቹም", "መንገድ"),
        ("ሰበሩ", "ሰበር"),
    ],
)
def test_a_suffix_that_is_a_vowel_gives_the_consonant_back(word: str, stem: str) -> None:
    """Plural, article and possessives change the last character of an Amharic stem, and are taken off all the same."""
    assert stem in suffix_paths(word, AMHARIC)[0]


def test_affixes_by_position_are_taken_off_once_each() -> None:
    """A word has at most one affix of a position, so that a stem that ends like a suffix is not eaten up."""
    pack = msgspec.structs.replace(load("en"), leak=Leak(prefix_classes=(("re",),), suffix_classes=(("s",), ("er",))))
    assert list(strip_affixes("rereaders", pack)) == ["rereaders", "readers", "reader", "read"]
    assert list(strip_affixes("lesserer", pack))[-1] == "lesser"


def test_plain_affixes_are_taken_off_in_a_row() -> None:
    """Where a pack only lists affixes, any order will do, and `min_stem` characters remain."""
    pack = msgspec.structs.replace(load("en"), leak=Leak(suffixes=("a", "ba"), min_stem=2))
    assert list(strip_affixes("xybaa", pack)) == ["xybaa", "xyba", "xy"]
    assert list(strip_affixes("ba", pack)) == ["ba"]


def test_skeletons_are_consonants() -> None:
    """The vowels of a syllabary, and consonants that carry nothing else, are left out."""
    assert skeleton("ሰበረ", AMHARIC) == "ሰበረ"
    assert skeleton("አሰብር", AMHARIC) == "ሰበረ"
    assert skeleton("stone", load("en")) == ""
    assert without_vowel("ሰበሩ", AMHARIC) == "ሰበር"
    assert without_vowel("stone", load("en")) == "stone"


def test_irregular_forms_lead_to_the_stem_of_their_word() -> None:
    """Tables give what no rule finds."""
    assert irregular_stems(load("en"))["caught"] == "catch"
    assert irregular_stems(load("ar"))["جيران"] == "جار"
    assert irregular_stems(load("sw")) == {}


def test_roots_see_through_the_seat_of_a_hamza() -> None:
    """One root has one spelling, whatever carries its hamza; languages without an extractor have none."""
    arabic = load("ar")
    assert set(roots(["تأجيل"], arabic)) & set(roots(["تؤجل"], arabic))
    assert list(roots(["stone"], load("en"))) == []
