"""Packs are proved by the examples in them, and their facts are shown as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from adage.errors import LanguageError
from adage.language import available, load, shipped
from adage.packs import check, facts, summaries
from adage.text.unicode import key

HEAD = 'code = "en"\nname = "X"\nnative_name = "X"\nscripts = ["Latn"]\n'


def faults(tmp_path: Path, body: str) -> list[str]:
    """What the check finds in a pack of five lines and this."""
    file = tmp_path / "mine.toml"
    file.write_text(HEAD + body, encoding="utf-8")
    [found] = check(str(file))
    return found.faults


@pytest.mark.parametrize("code", available())
def test_shipped_pack_holds(code: str) -> None:
    """Every pack that comes with ADAGE has examples of each kind, and all of them hold."""
    if load(code).segment.words == "fugashi":
        pytest.importorskip("fugashi")
    [found] = check(code)
    assert found.faults == []
    examples = shipped(code).examples
    assert min(len(examples.same), len(examples.different)) >= 3
    assert min(len(examples.words), len(examples.sentences), len(examples.leaks), len(examples.clean)) >= 1
    assert len(set(examples.identify)) >= (40 if code in {"am", "ti"} else 20)
    assert found.identified.right + found.identified.wrong + found.identified.unsure == len(examples.identify)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('[examples]\nsame = [["cat", "dog"]]', "examples.same[0]: 'cat' and 'dog' have the keys 'cat' and 'dog'"),
        ('[examples]\ndifferent = [["Cat", "cat!"]]', "examples.different[0]: 'Cat' and 'cat!' have one key, 'cat'"),
        ('[examples]\nwords = { "a b" = ["a"] }', "examples.words: 'a b' is cut into ['a', 'b'], expected ['a']"),
        ('[examples]\nsentences = { "A. B." = 3 }', "examples.sentences: 'A. B.' has 2 sentences"),
        ('[examples]\nleaks = [["a dog", "the cat"]]', "examples.leaks[0]: no word of 'the cat'"),
        ('[examples]\nclean = [["tiger", "tiger"]]', "examples.clean[0]: 'tiger' is taken to give 'tiger' away"),
        ('[examples]\nidentify = ["слово дня"]', "examples.identify[0]: 'слово дня' is not in Latn"),
        ('[words]\nfunction = ["a", "a"]', "words.function: 'a' stands there 2 times"),
        ('[words]\nfunction = ["…"]', "words.function: nothing is left of '…' in a key"),
        ('[domains]\nfarm = "ферма"', "domains: 'ферма' is not in Latn"),
        ('[prompts]\ngenerate = "Write {n} with {min} to {max}."', "prompts.generate: the word for what is asked for"),
        ('[prompts]\ngenerate = "Write {n} for the {unit}."', "prompts.generate: expected the fields"),
    ],
)
def test_what_does_not_hold_is_named_by_file_and_key(tmp_path: Path, body: str, fault: str) -> None:
    """Each kind of example, list and prompt has its fault."""
    found = faults(tmp_path, body)
    assert any(line.startswith(str(tmp_path / "mine.toml")) and fault in line for line in found), found


def test_wrong_labels_are_a_fault(tmp_path: Path) -> None:
    """Sentences that the identifier takes for another language show that the labels are wrong."""
    sentences = ", ".join(f'"{text}"' for text in shipped("tr").examples.identify)
    assert any("taken for another" in line for line in faults(tmp_path, f"[examples]\nidentify = [{sentences}]"))


def test_a_wrong_type_in_the_examples_is_named(tmp_path: Path) -> None:
    """A mistake in the table of examples is found where the pack is read."""
    with pytest.raises(LanguageError, match=r"mine\.toml: examples\.same"):
        faults(tmp_path, '[examples]\nsame = ["one"]')


def test_a_pack_without_examples_holds(tmp_path: Path) -> None:
    """Five lines are a pack that claims nothing."""
    assert faults(tmp_path, "") == []


def test_check_needs_a_pack() -> None:
    """There is nothing to check where everything is derived; varieties share a pack."""
    with pytest.raises(LanguageError, match="languages new ka"):
        check("ka")
    assert check("ar-YE")[0].file == "languages/ar.toml"
    assert [pack.code for pack in summaries()] == available()


def test_examples_are_no_part_of_the_language() -> None:
    """A build's stages depend on what a pack says, not on what proves it."""
    assert not hasattr(load("am"), "examples")


def test_facts_of_languages_with_and_without_a_pack() -> None:
    """What is shown is what the pipeline uses."""
    amharic, georgian = facts("am"), facts("ka")
    assert (amharic.sureness, amharic.evaluate, amharic.identified) == ("full", 3, True)
    assert (georgian.name, georgian.sureness, georgian.proverb) == ("Georgian", "derived", "proverb")
    assert facts("zgh").identified is False


def test_keys_of_languages_without_a_pack_ignore_joiners() -> None:
    """ZWNJ and ZWJ never split a word, whether a pack says so or not."""
    for code, one, other in (
        ("bn", "র\u200dযাব, ক্\u200cষমা", "রযাব ক্ষমা"),
        ("ckb", "ده\u200cچێت", "دهچێت"),
        ("ml", "അവന്\u200d", "അവന്"),
    ):
        assert code not in available()
        assert key(one, load(code)) == key(other, load(code))


@pytest.mark.parametrize(
    ("number", "value"), [("፩", "1"), ("፲", "10"), ("፳፭", "25"), ("፻", "100"), ("፲፱፻፷፮", "1966"), ("፻፼", "1000000")]
)
def test_ethiopic_numbers_are_numbers(number: str, value: str) -> None:
    """Numerals that are no digits count by their value, in keys of every language."""
    assert key(f"{number} ብር", load("am")) == key(f"{value} ብር", load("am"))
    assert key(number, load("en")) == value
