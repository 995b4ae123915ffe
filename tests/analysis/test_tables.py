"""Tables: numbers with their intervals, safe in a spreadsheet, on a page and on a terminal."""

import csv
import io

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.analysis.stats import Estimate, Gap, clustered_mean
from adage.analysis.tables import Measure, Table, bounded, column, measured, shown, table, to_csv, to_markdown
from adage.text.unicode import harmless

COLUMNS = [
    column("model", "model", "name"),
    column("accuracy", "accuracy", "share"),
    column("p", "p", "p"),
    column("n", "n", "count"),
]


def one(**cells):
    """A table of one row."""
    return table("t", "Title", "How to read it.", COLUMNS, [cells])


def test_an_interval_has_columns_of_its_own():
    """CSV holds the numbers, not text made of them; what is missing is empty."""
    written = to_csv(one(model="m", accuracy=Measure(value=0.5, low=0.25, high=0.75), n=12))
    assert written == "model,accuracy,accuracy_low,accuracy_high,p,n\nm,0.5,0.25,0.75,,12\n"
    assert to_csv(one(model="m", accuracy=None)).splitlines()[0] == "model,accuracy,p,n"


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1", "-1", "@sum(a)", "\t=1", "＝1+1", " =1"])
def test_names_are_no_formulas(name):
    """A spreadsheet takes no model's name for a formula, and negative numbers stay numbers."""
    written = to_csv(one(model=name, accuracy=-0.5))
    row = next(csv.DictReader(io.StringIO(written)))
    assert row["model"] == f"'{name}"
    assert row["accuracy"] == "-0.5"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_name_survives_csv(name):
    """Whatever a model is called, the file has one row with that name, controls made visible, in one cell."""
    rows = list(csv.reader(io.StringIO(to_csv(one(model=name, n=1)), newline="")))
    assert len(rows) == 2
    assert rows[1][0].removeprefix("'") == harmless(name).removeprefix("'")


@given(st.text(max_size=30))
def test_any_name_stays_in_its_cell_on_a_page(name):
    """No name ends a table, a cell or a line, or becomes a link or markup."""
    lines = to_markdown(one(model=name, n=1)).splitlines()
    assert len(lines) == 7
    unescaped = lines[4].replace("\\\\", "").replace("\\|", "")
    assert unescaped.count("|") == len(COLUMNS) + 1
    assert "](" not in lines[4].replace("\\]", "")


def test_names_are_isolated_where_people_read_them():
    """A right-to-left name does not shuffle the numbers beside it; text of ours and files stay plain."""
    assert shown("مثل", "name") == "\u2068مثل\u2069"
    assert shown("letter", "text") == "letter"
    assert "\u2068" not in to_csv(one(model="مثل"))
    assert "␛" in shown("a\x1b[31m", "name")


@pytest.mark.parametrize(
    ("cell", "kind", "expected"),
    [
        (0.5, "share", "0.500"),
        (Measure(value=-3.21, low=-5.0, high=1.0), "points", "-3.2 [-5.0, +1.0]"),
        (Measure(value=1.25), "ratio", "1.25"),
        (Measure(value=None, low=0.2, high=0.6), "share", "[0.200, 0.600]"),
        (0.0004, "p", "<.001"),
        (0.0312, "p", "0.031"),
        (7, "count", "7"),
        (0.27, "size", "0.27"),
        (0.0576, "number", "0.058"),
        (Measure(value=0.24, low=0.17, high=0.311), "number", "0.240 [0.170, 0.311]"),
        ("alder-1b", "name", "alder-1b"),
        (None, "share", ""),
    ],
)
def test_cells_for_people(cell, kind, expected):
    """Each kind of number has its form, the interval beside it."""
    assert shown(cell, kind) == expected


def test_what_is_not_known_is_left_out():
    """NaN never reaches a file: a mean of one cluster has no interval, and no answers no mean."""
    assert measured(clustered_mean([1, 0], [1, 1])) == Measure(value=0.5)
    assert measured(None) is None
    assert bounded(float("nan"), float("nan"), float("nan")) is None
    assert bounded(float("nan"), 0.1, 0.2) == Measure(value=None, low=0.1, high=0.2)
    assert measured(Gap(3.0, 1.0, 1.0, 5.0)) == Measure(value=3.0, low=1.0, high=5.0)
    assert measured(Estimate(0.5, 0.1, 0.3, 0.7, 9, 3)) == Measure(value=0.5, low=0.3, high=0.7)


def test_numbers_are_rounded_once():
    """Six decimals reach a file, so that the last bits of a sum do not; small p-values keep their size."""
    made = one(model="m", accuracy=0.1 + 0.2, p=1.23456789e-9)
    assert made.rows[0]["accuracy"] == 0.3
    assert made.rows[0]["p"] == 1.23457e-9
    assert str(one(accuracy=Measure(value=-1e-17)).rows[0]["accuracy"].value) == "0.0"


def test_a_table_survives_json():
    """What is written to analysis.json is read back as the same table."""
    made = one(model="m", accuracy=Measure(value=0.5, low=0.4, high=0.6), n=3)
    assert msgspec.json.decode(msgspec.json.encode(made), type=Table) == made


def test_a_row_shows_all_it_has():
    """A cell for which there is no column is a mistake, not a loss."""
    with pytest.raises(ValueError, match="no columns"):
        one(model="m", accurracy=0.5)


def test_whether_an_interval_holds_a_number():
    """Unknown ends hold nothing."""
    assert Measure(value=0.5, low=0.2, high=0.6).holds(0.25)
    assert not Measure(value=0.5, low=0.3, high=0.6).holds(0.25)
    assert not Measure(value=0.25).holds(0.25)
    assert Measure(value=0.3, low=0.3, high=0.3).holds(0.1 + 0.2), "rounding is no difference"
