"""Files written by hand: matched by text or id, in any spelling that has the same key."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.errors import HandFileError
from adage.language import load
from adage.records import proverb_id
from adage.stages.hand import (
    HandScenario,
    ItemVerdict,
    ScenarioVerdict,
    item_verdicts,
    rejected,
    scenario_verdicts,
    scenarios_by_hand,
    themes_by_hand,
)
from adage.text.unicode import key

ARABIC = load("ar")


def write(path, *lines):
    """A JSON Lines file."""
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_proverb_is_named_by_text_in_any_spelling_or_by_id(tmp_path):
    """With or without vowel signs, or by id: one proverb; the later theme stands."""
    name = proverb_id("ar", key("الصبر مفتاح الفرج", ARABIC))
    file = write(
        tmp_path / "themes.jsonl",
        {"proverb": "الصَّبْرُ مِفتاحُ الفَرَج", "theme": "patience", "by": "Huda"},
        {"proverb": name, "theme": "endurance"},
    )
    themes = themes_by_hand([file], ARABIC)
    assert list(themes) == [name]
    assert (themes[name].theme, themes[name].by) == ("endurance", "hand")


def test_scenarios_keep_the_files_order(tmp_path):
    """Several files add up, and each proverb's scenarios stand in the order they came."""
    first = write(tmp_path / "a.jsonl", {"proverb": "a", "text": "1"}, {"proverb": "b", "text": "2"})
    second = write(tmp_path / "b.jsonl", {"proverb": "A!", "text": "3", "domain": "farm", "by": "Ana"})
    found = scenarios_by_hand([first, second], load("en"))
    assert [[line.text for line in lines] for lines in found.values()] == [["1", "3"], ["2"]]
    assert found[proverb_id("en", "a")][1] == HandScenario(proverb="A!", text="3", domain="farm", by="Ana")


@pytest.mark.parametrize("text", ["", "  ", "\u200b\ufeff"])
def test_an_empty_scenario_is_refused(tmp_path, text):
    """What would show nothing is named by file and line."""
    file = write(tmp_path / "s.jsonl", {"proverb": "a", "text": "1"}, {"proverb": "a", "text": text})
    with pytest.raises(HandFileError, match=r"s\.jsonl:2: the scenario is empty"):
        scenarios_by_hand([file], load("en"))


def test_verdicts_gather_by_record(tmp_path):
    """Several annotators may judge one scenario or item."""
    one = {"scenario_id": "s1", "verdict": "accept", "annotator": "a"}
    file = write(tmp_path / "v.jsonl", one, one | {"annotator": "b", "verdict": "edit", "text": "new"})
    assert [verdict.verdict for verdict in scenario_verdicts([file])["s1"]] == ["accept", "edit"]
    file = write(tmp_path / "i.jsonl", {"item_id": "i1", "verdict": "reject", "annotator": "a", "choice": "p1"})
    assert item_verdicts([file]) == {"i1": [ItemVerdict(item_id="i1", verdict="reject", annotator="a", choice="p1")]}


def test_an_edit_needs_a_text_and_a_verdict_its_word(tmp_path):
    """Both are named by file and line."""
    line = {"scenario_id": "s1", "verdict": "edit", "annotator": "a", "text": " "}
    with pytest.raises(HandFileError, match=r"v\.jsonl:1: verdict 'edit' without a text"):
        scenario_verdicts([write(tmp_path / "v.jsonl", line)])
    with pytest.raises(HandFileError, match=r"v\.jsonl:1: Invalid enum value 'maybe'"):
        scenario_verdicts([write(tmp_path / "v.jsonl", line | {"verdict": "maybe"})])


def verdict(annotator, word):
    """A scenario verdict."""
    return ScenarioVerdict(scenario_id="s", verdict=word, annotator=annotator)


@pytest.mark.parametrize(
    ("words", "out"),
    [
        ([], False),
        ([("a", "accept")], False),
        ([("a", "edit")], False),
        ([("a", "reject")], True),
        ([("a", "reject"), ("b", "accept")], True),
        ([("a", "reject"), ("b", "accept"), ("c", "edit")], False),
        ([("a", "reject"), ("b", "reject"), ("c", "accept")], True),
        ([("a", "reject"), ("a", "accept")], False),
        ([("a", "accept"), ("a", "reject")], True),
    ],
)
def test_half_of_the_annotators_reject(words, out):
    """Each annotator's last word counts, once."""
    assert rejected(verdict(annotator, word) for annotator, word in words) is out


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=1), st.sampled_from(["accept", "reject", "edit"])))
def test_another_rejection_never_saves(words):
    """Rejecting is monotone: with one annotator more against it, what was rejected stays so."""
    before = [verdict(annotator, word) for annotator, word in words.items()]
    assert rejected([*before, verdict("z", "reject")]) >= rejected(before)
