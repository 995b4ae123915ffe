"""An inspection adds up, is plain data, and can be read in a terminal."""

from __future__ import annotations

import json
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console

from adage.corpus import ReadOptions, inspect, read
from adage.language import load

AR = load("ar")
CONTENT = """text,explanation
الصبر مفتاح الفرج,من صبر نال ما يريده
الصَّبر مفتاح الفرج.,التأني يوصل إلى المراد
يد واحدة لا تصفق,-
One hand cannot clap,التعاون
"""


def test_numbers_add_up(tmp_path: Path) -> None:
    """Records are good, rejected or to repair; distinct and explained proverbs are counted after merging."""
    file = tmp_path / "c.csv"
    file.write_text(CONTENT, "utf-8")
    seen = inspect(file, AR)
    assert (seen.records, seen.rejected, seen.repair, seen.unique, seen.native_explained) == (4, 1, 0, 2, 1)
    assert (seen.verdict, seen.mapping.text, seen.mapping.explanations) == ("ready", "text", ("explanation",))
    assert {problem.kind for problem in seen.problems} == {
        "wrong_language",
        "explanation_placeholder",
        "merged_by_marks",
    }


def test_plain_data(tmp_path: Path) -> None:
    """The inspection goes to JSON and says every field."""
    file = tmp_path / "c.csv"
    file.write_text(CONTENT, "utf-8")
    plain = json.loads(json.dumps(inspect(file, AR).as_dict()))
    assert plain["records"] == 4
    assert plain["rejected"] == 1
    assert plain["source"]["licence"] == "unknown"
    assert plain["problems"]["wrong_language"] == {"count": 1, "places": ["c.csv:5"], "note": ""}


def test_page_isolates_text(tmp_path: Path) -> None:
    """Right-to-left texts stand between isolates on the page, and the verdict is on it."""
    file = tmp_path / "c.csv"
    file.write_text(CONTENT, "utf-8")
    console = Console(width=100, record=True, file=(tmp_path / "out").open("w", encoding="utf-8"))
    console.print(inspect(file, AR).page())
    console.file.close()
    page = console.export_text()
    assert "ready" in page
    assert "\u2068يد واحدة لا تصفق\u2069" in page
    assert "\u2068:5\u2069" in page


def test_page_keeps_its_width(tmp_path: Path) -> None:
    """Long texts are cut by the cells they take, so that a sample stays on its line also in wide characters."""
    file = tmp_path / "c.csv"
    file.write_text(f"text,explanation\n猿も木から落ちる,{'どんな名人でも失敗することがあるという' * 9}\n", "utf-8")
    console = Console(width=100, record=True, file=(tmp_path / "out").open("w", encoding="utf-8"))
    console.print(inspect(file, load("ja")).page())
    console.file.close()
    [line] = [line for line in console.export_text().splitlines() if "名人" in line]
    assert "…" in line
    assert cell_len(line) <= 100


def test_needs_mapping(tmp_path: Path) -> None:
    """A file whose columns say nothing is not an error here: the verdict names the columns to choose from."""
    file = tmp_path / "c.csv"
    file.write_text("a1,b1\n1,x\n2,y\n", "utf-8")
    seen = inspect(file, AR)
    assert seen.verdict == "needs mapping"
    assert "'a1', 'b1'" in seen.advice or "'1', '2'" in seen.advice
    told = inspect(file, AR, ReadOptions(text="b1"))
    assert (told.verdict, told.records, told.rejected) == ("needs mapping", 2, 2)


def test_damaged(tmp_path: Path) -> None:
    """A corpus with lost characters is called damaged."""
    file = tmp_path / "c.txt"
    file.write_text("يد واحدة لا تصفق\nمن ج\ufffd وجد\nالصبر مفتاح الفرج\n", "utf-8")
    assert inspect(file, AR).verdict == "damaged"


def test_a_variety_that_is_no_tag_is_flagged(tmp_path: Path) -> None:
    """Rows keep tags in canonical case; other entries of the column are told, with the rows they stand in."""
    file = tmp_path / "c.csv"
    lines = ["الصبر مفتاح الفرج,ar_eg,e1", "يد واحدة لا تصفق,ar-YE,e2", "من جد وجد,Cairo,", "اتق شر من أحسنت إليه,,"]
    file.write_text("\n".join(["text,variety,equivalent", *lines]) + "\n", "utf-8")
    assert [(row.variety, row.equivalent) for row in read(file, AR).rows] == [
        ("ar-EG", "e1"),
        ("ar-YE", "e2"),
        ("", ""),
        ("", ""),
    ]
    told = {problem.kind: problem.places for problem in inspect(file, AR).problems}
    assert told["variety_unknown"] == ("c.csv:4",)
