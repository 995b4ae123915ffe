"""The layouts that people give to multiple-choice questions are recognised, and their keys never read by chance."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.errors import BenchmarkError
from adage.evaluation.loaders.files import Entry
from adage.evaluation.loaders.question import Draft
from adage.evaluation.loaders.table import find_layout, read_table
from adage.language import load

TEXTS = ("Haste makes waste", "Still waters run deep", "Birds of a feather")


def drafts(*rows: dict[str, Any], first: int | None = None, code: str = "en") -> list[Draft]:
    """The questions of these records."""
    entries = [Entry(f"t.jsonl:{line}", row) for line, row in enumerate(rows, 1)]
    return read_table(entries, load(code), first=first, place="t.jsonl")


LAYOUTS: dict[str, dict[str, Any]] = {
    "list and index": {"question": "S.", "choices": list(TEXTS), "answer": 1},
    "label as text": {"context": "S.", "endings": list(TEXTS), "label": "1"},
    "letter": {"story": "S.", "options": list(TEXTS), "answerKey": "(B)"},
    "columns of letters": {"narrative": "S.", **dict(zip("ABC", TEXTS, strict=True)), "Answer": "b"},
    "columns from 0": {"scenario": "S.", **{f"option_{n}": text for n, text in enumerate(TEXTS)}, "gold": 1},
    "columns from 1": {"premise": "S.", **{f"choice{n}": text for n, text in enumerate(TEXTS, 1)}, "target": TEXTS[1]},
    "camel case": {"story": "S.", **{f"option{n}": text for n, text in zip("ABC", TEXTS, strict=True)}, "label": "B"},
    "structs": {"question": "S.", "choices": [{"label": n, "text": t} for n, t in zip("XYZ", TEXTS, strict=True)],
                "answerKey": "Y"},
    "struct of lists": {"question": "S.", "choices": {"text": list(TEXTS), "label": ["1", "2", "3"]}, "answerKey": "2"},
    "letter to text": {"question": "S.", "options": dict(zip("ABC", TEXTS, strict=True)), "answer": "B"},
    "JSON in a cell": {"question": "S.", "choices": f'["{TEXTS[0]}", "{TEXTS[1]}", "{TEXTS[2]}"]', "answer": "1"},
    "Python in a cell": {"question": "S.", "choices": repr(list(TEXTS)), "answer": "1"},
    "text, spelt freely": {"question": "S.", "choices": list(TEXTS), "answer": "still waters run deep."},
    "ones and zeros": {"question": "S.", "mc1_targets": {"choices": list(TEXTS), "labels": [0, 1, 0]}},
    "floats of a data frame": {"question": "S.", "choices": list(TEXTS), "label": 1.0},
    "question apart": {"context": "S.", "choices": list(TEXTS), "answer": 1, "question": "S."},
}  # fmt: skip

NUMBERED = {
    "list and index",
    "label as text",
    "JSON in a cell",
    "Python in a cell",
    "floats of a data frame",
    "question apart",
}
"""Those whose one answer is a number that could count from 0 or from 1."""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_are_recognised(layout: str) -> None:
    """Each way to write the same question gives the same question."""
    (found,) = drafts(LAYOUTS[layout], first=0 if layout in NUMBERED else None)
    assert (found.scenario, found.options, found.gold) == ("S.", TEXTS, (1,))


@pytest.mark.parametrize(
    "row",
    [
        {"scenario": "S.", "answer": TEXTS[1], "distractors": [TEXTS[0], TEXTS[2]]},
        {"scenario": "S.", "correct_answer": TEXTS[1], "incorrect_answers": [TEXTS[0], TEXTS[2]]},
        {"scenario": "S.", "proverb": TEXTS[1], "distractor_1": TEXTS[0], "distractor_2": TEXTS[2]},
    ],
)
def test_a_right_option_apart_joins_the_wrong_ones(row: dict[str, Any]) -> None:
    """Where wrong options stand by themselves, the right one comes first."""
    (found,) = drafts(row)
    assert (found.options, found.gold) == ((TEXTS[1], TEXTS[0], TEXTS[2]), (0,))


def test_a_question_that_varies_stands_under_its_story() -> None:
    """The same question throughout says nothing and is left out; different ones are part of what is asked."""
    rows = [{"story": f"S{n}.", "question": "Which fits?", "choices": list(TEXTS), "answer": n} for n in range(2)]
    assert [draft.scenario for draft in drafts(*rows)] == ["S0.", "S1."]
    rows[1]["question"] = "Which does not?"
    assert [draft.scenario for draft in drafts(*rows)] == ["S0.\nWhich fits?", "S1.\nWhich does not?"]


def row(answer: object, **fields: Any) -> dict[str, Any]:
    """A question with three options and this answer."""
    return {"scenario": "S.", "choices": list(TEXTS), "answer": answer, **fields}


def test_one_row_tells_from_which_number_all_count() -> None:
    """A 0 anywhere means from 0, a number as high as the options from 1; without either it is asked."""
    assert [draft.gold for draft in drafts(row(1), row(2), row(0))] == [(1,), (2,), (0,)]
    assert [draft.gold for draft in drafts(row(1), row(2), row(3))] == [(0,), (1,), (2,)]
    with pytest.raises(
        BenchmarkError, match=r"t\.jsonl:1: 'answer' is 1, and .* number from 0 or as number from 1"
    ) as told:
        drafts(row(1), row(2))
    assert "table0" in told.value.hint
    assert [draft.gold for draft in drafts(row(1), row(2), first=1)] == [(0,), (1,)]


def test_columns_from_1_do_not_say_how_answers_count() -> None:
    """`choice1` and `choice2` stand beside labels 0 and 1 in COPA: a sample whose labels are all 1 is asked about."""
    texts = {"premise": "S.", "choice1": TEXTS[0], "choice2": TEXTS[1]}
    with pytest.raises(BenchmarkError, match="can be read as number from 0 or as number from 1"):
        drafts({**texts, "label": 1})
    assert [draft.gold for draft in drafts({**texts, "label": 1}, {**texts, "label": 0})] == [(1,), (0,)]
    assert [draft.gold for draft in drafts({**texts, "label": 1}, {**texts, "label": 2})] == [(0,), (1,)]


def test_two_keys_that_differ_are_asked_about() -> None:
    """A label of the topic is not taken for the key, nor the key for it; columns that agree, or are no key, do."""
    with pytest.raises(BenchmarkError, match=r"t\.jsonl:1: the answer is 1, but 'gold' is 0"):
        drafts(row(1, gold=0), row(0, gold=2))
    assert drafts(row("B", label=1, gold=TEXTS[1]), row("A", label=0, gold=TEXTS[0]))[0].gold == (1,)
    assert drafts(row("B", label="animals"), row("A", label="work"))[0].gold == (1,)


def test_options_that_are_numbers_are_asked_about() -> None:
    """An answer may be the text of an option and the number of another."""
    numbers = {"question": "S.", "choices": ["1", "0", "2"], "answer": "1"}
    with pytest.raises(BenchmarkError, match="as text or as number from 0"):
        drafts(numbers)


def test_a_row_that_fits_no_reading_is_named() -> None:
    """The place, the value and what the other rows are; an answer is never taken for the nearest thing."""
    with pytest.raises(BenchmarkError, match=r"t\.jsonl:3: 'answer' is 'E', but the record has 3 options; 2 of 3"):
        drafts(row("A"), row("B"), row("E"))
    with pytest.raises(BenchmarkError, match=r"t\.jsonl:2: 'answer' is 7"):
        drafts(row(0), row(7))


@pytest.mark.parametrize("withheld", [None, "", -1, "-1", []])
def test_a_withheld_key_is_told(withheld: object) -> None:
    """The test split of many data sets has no answers."""
    with pytest.raises(BenchmarkError, match="there is no answer") as told:
        drafts(row(0), row(withheld))
    assert "--split" in told.value.hint


@pytest.mark.parametrize(
    ("answer", "gold"), [(["A", "C"], (0, 2)), ([TEXTS[2], TEXTS[0]], (0, 2)), ([1, 0, 1], (0, 2)), ("a", (0,))]
)
def test_several_right_options(answer: object, gold: tuple[int, ...]) -> None:
    """Lists of letters or texts, and ones and zeros, mark several."""
    (found,) = drafts(row(answer))
    assert found.gold == gold


@pytest.mark.parametrize(("code", "answer"), [("ar", "ب"), ("am", "ለ"), ("ja", "イ")])
def test_letters_of_the_language(code: str, answer: str) -> None:
    """A key in the language's own letters is read by the language pack."""
    letters = load(code).letters
    (found,) = drafts(row(letters[1]), code=code)
    assert found.gold == (1,)


@pytest.mark.parametrize("answer", [{"a": 1}, [{"a": 1}, 0, 1], [[0], 1, 0], True, 10**30, "9" * 5000, float("nan")])
def test_hostile_answers_are_refused(answer: object) -> None:
    """Whatever stands in the column, the error is ours."""
    with pytest.raises(BenchmarkError):
        drafts(row(answer), row(0))


def test_what_else_the_record_says_is_kept() -> None:
    """Ids, groups, roles, clusters, lessons, languages and splits come from their columns."""
    (found,) = drafts(
        row(
            "A", id=7, group="g", roles=["gold", "near_match", "random"], proverb_ids=["p", "q", "r"],
            clusters=[1, 2, 3], equivalent="e1", language="en", split="dev",
        )
    )  # fmt: skip
    assert (found.id, found.group, found.roles) == ("7", "g", ("gold", "near_match", "random"))
    assert (found.names, found.clusters) == (("p", "q", "r"), (1, 2, 3))
    assert (found.equivalent, found.language, found.split) == ("e1", "en", "dev")


@given(
    golds=st.lists(st.integers(0, 3), min_size=1, max_size=12),
    style=st.sampled_from(["letter", "number from 0", "number from 1", "text"]),
)
def test_a_key_is_read_as_it_was_written_or_asked_about(golds: list[int], style: str) -> None:
    """Over any column: the true key, or an error that asks; never another key."""
    options = ["Look before you leap", "Time flies", "Many hands", "No pain"]
    written = {
        "letter": [chr(65 + gold) for gold in golds],
        "number from 0": golds,
        "number from 1": [gold + 1 for gold in golds],
        "text": [options[gold] for gold in golds],
    }[style]
    rows = [{"scenario": "S.", "choices": options, "answer": answer} for answer in written]
    if style.startswith("number") and not {0, 4} & set(map(int, written)):
        with pytest.raises(BenchmarkError, match="can be read as number from 0 or as number from 1"):
            drafts(*rows)
    else:
        assert [draft.gold for draft in drafts(*rows)] == [(gold,) for gold in golds]


def test_layouts_name_their_columns() -> None:
    """The longest unbroken run of option columns counts, in the order of its labels."""
    found = find_layout(["B", "A", "C", "E", "option_1", "id", "Answer"])
    assert (found.options, found.labels) == (("A", "B", "C"), ("a", "b", "c"))
    assert found.columns == {"answer": "Answer", "id": "id"}
