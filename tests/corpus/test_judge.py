"""Rejections and flags hold for kinds of trouble, and spare what only looks like it."""

from __future__ import annotations

import pytest

from adage.corpus.judge import (
    Draft,
    explanation_fault,
    in_gloss_language,
    judge,
    length_warning,
    rejection,
)
from adage.corpus.mapping import kind_verdicts
from adage.language import Language, load
from adage.text.unicode import key

AR, EN, ES, ID, NL, YO, ZH = (load(code) for code in ("ar", "en", "es", "id", "nl", "yo", "zh"))


def draft(text: str, *explanations: str, language: Language = EN, **more: object) -> Draft:
    """A row on its way."""
    row = Draft(text=text, key=key(text, language), place=text[:8], **more)  # type: ignore[arg-type]
    for explanation in explanations:
        row.explain(explanation, language)
    return row


@pytest.mark.parametrize(
    ("language", "text", "reason"),
    [
        (AR, "", "empty"),
        (AR, "من ج\ufffd وجد", "damaged"),
        (AR, "١٢٣", "no_letters"),
        (AR, "One hand cannot clap", "wrong_language"),
        (AR, "٤.١ قصيدة عن الخير", "heading"),
        (AR, "الباب الأول", "heading"),
        (AR, "باب النجار مخلع", ""),
        (AR, "الباب اللي يجيك منه الريح سده واستريح", ""),
        (EN, "# Proverbs", "heading"),
        (EN, "2 heads are better than one", ""),
    ],
)
def test_rejection(language: Language, text: str, reason: str) -> None:
    """Each kind of row that is no proverb has its reason, and proverbs that resemble one have none."""
    assert rejection(text, language, explained=False).partition(":")[0] == reason


def test_explained_rows_are_no_headings() -> None:
    """What the file explains is no heading, whatever it looks like."""
    assert rejection("الباب الأول", AR, explained=True) == ""


@pytest.mark.parametrize(
    ("explanation", "fault"),
    [
        ("", "explanation_empty"),
        ("-", "explanation_placeholder"),
        ("199", "explanation_placeholder"),
        ("N/A", "explanation_placeholder"),
        ("مَن جدّ وجد.", "explanation_equals_text"),
        ("Who tries will find", "explanation_wrong_language"),
        ("من \ufffdلب", "explanation_damaged"),
        ("من طلب شيئا ناله ﷺ", ""),
        (
            "من طلب الشيء بجد واجتهاد وصل إليه في النهاية (see Wander, Deutsches Sprichwörter-Lexikon, Band II, 1870)",
            "",
        ),
    ],
)
def test_explanation_faults(explanation: str, fault: str) -> None:
    """An explanation is usable unless a named fault says otherwise."""
    assert explanation_fault(explanation, key("من جد وجد", AR), AR) == fault


@pytest.mark.parametrize(
    ("language", "text", "gloss"),
    [
        (YO, "Draw the line and be modest, for the proud are brought low", True),
        (YO, "Ohun tó yẹ ni kí á ṣe, kì í ṣe ohun tí ó wù wá", False),
        (NL, "Het is beter in de natuur te zijn dan in een huis dat niet warm is", False),
        (ES, "Quien madruga encuentra lo que busca y no pierde el tiempo", False),
        (EN, "The early bird is the one that catches the worm", False),
    ],
)
def test_gloss_language(language: Language, text: str, gloss: bool) -> None:
    """English among Latin-script texts is seen by its function words; relatives and the language itself are not."""
    assert in_gloss_language(text, language) is gloss


def test_kinds() -> None:
    """A kind column tells idioms from proverbs only where both occur; else the corpus is of that kind."""
    assert kind_verdicts(["속담", "관용구", "속담"]) == {"속담": False, "관용구": True}
    assert kind_verdicts(["Deyim", "Deyim"]) == {}
    assert kind_verdicts(["wisdom", "advice"]) == {}


def test_templated() -> None:
    """An explanation that is one frame around the proverb's own words in three rows or more is no explanation."""
    rows = [
        draft(f"雨后{w}——{w}一举", f"比喻{w}一举。也指相关的情况或状态。", language=ZH, answers=(f"{w}一举",))
        for w in ("多此", "白费", "空头")
    ]
    rows.append(draft("做贼盗黄连——自讨苦吃", "比喻自己给自己找麻烦，自寻苦恼。", language=ZH, answers=("自讨苦吃",)))
    judge(rows, ZH)
    assert [row.flags for row in rows] == [["explanation_templated"]] * 3 + [[]]
    assert [len(row.explanations) for row in rows] == [0, 0, 0, 1]


def test_shared_and_copied() -> None:
    """A shared explanation is flagged for all; if it quotes one of them, it is taken from the others."""
    shared = [
        draft("as you sow so shall you reap", "Deeds come back"),
        draft("what goes around comes around", "Deeds come back"),
    ]
    told = "Still waters run deep: calm people may be profound"
    copied = [draft("Still waters run deep", told), draft("More haste less speed", told)]
    judge([*shared, *copied], EN)
    assert [row.flags for row in shared] == [["explanation_shared"]] * 2
    assert list(copied[0].explanations) == [told]
    assert (copied[1].explanations, copied[1].flags) == ({}, ["explanation_of_another"])


def test_run_on() -> None:
    """A long explanation with a stray entry number is flagged, a numbered list is not."""
    short = [draft(f"saying number {n} of many", "It means a plain and simple thing.") for n in range(6)]
    ran = draft("left behind", "It means this. " * 10 + "Said often. 37. Another entry begins here and goes on.")
    listed = draft("in two senses", "First. 1. Some long sense. 2. Other long sense, told at length. " * 3)
    judge([*short, ran, listed], EN)
    assert "explanation_run_on" in ran.flags
    assert "explanation_run_on" not in listed.flags


def test_swapped_columns_warn() -> None:
    """Proverbs that are mostly longer than what explains them raise a doubt."""
    rows = [draft("a long text that was meant to explain things", f"short {n}") for n in range(6)]
    assert "swapped" in length_warning(rows)
    assert length_warning([draft("short", "a longer text that explains it")] * 6) == ""
