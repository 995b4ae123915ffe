"""What the terminal shows: progress, tables, and text that cannot steer it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

import material
from adage import terminal
from adage.analysis import tables
from adage.analysis.controls import Control
from adage.analysis.judges import JudgeRates
from adage.evaluation.result import Benchmark, Condition, Result, Subject
from adage.evaluator import Evaluation, Score
from adage.showcase import DemoResult
from adage.stage import Dropped, Failed, Kept
from adage.store.recorded import Usage
from adage.store.run import Counts, StageState
from adage.story import Appearance


def console(*, tty: bool = False) -> Console:
    """A console that writes to memory, 100 columns wide."""
    return Console(file=io.StringIO(), width=100, force_terminal=tty, highlight=False, markup=False, emoji=False)


def printed(made: Console) -> str:
    """What a console was told."""
    assert isinstance(made.file, io.StringIO)
    return made.file.getvalue()


def state(**changes: object) -> StageState:
    """The state of a filter stage with one drop."""
    counts = Counts(rows_in=5, kept=3, dropped=1, failed=1, made=4, short=2, reasons={"keyword": 1})
    return StageState(
        stage="filter", fingerprint="f", parts={}, counts=counts, output="o", remarks=("mind the gap",), **changes
    )


class Stage:
    """As much of a stage as progress needs."""

    name = "filter"


@pytest.mark.parametrize("tty", [False, True])
def test_progress_tells_changes_calls_account_and_remarks(tty: bool) -> None:
    """A stage is announced with what changed and what it will call, and closed with its account."""
    made = console(tty=tty)
    reporter = terminal.Reporter(made)
    reporter.begins(lambda: Usage(calls=3, prompt_tokens=10, completion_tokens=4))
    reporter.prepares(Stage())
    reporter.starts(Stage(), 5, ["settings.k: 4 → 8"], 7)
    for outcome in (Kept(rows=()), Dropped(reason="keyword"), Failed(error="no")):
        reporter.row(Stage(), outcome)
    reporter.ends(state(), fresh=True)
    text = printed(made)
    for part in (
        "settings.k: 4 → 8",
        "7 model calls",
        "in 5 = kept 3 + dropped 1 + failed 1, made 4, short 2",
        "mind the gap",
    ):
        assert part in text
    assert ("\x1b" in text) is tty


def test_quiet_progress_prints_nothing() -> None:
    """With --json, progress is silent."""
    made = console()
    reporter = terminal.Reporter(made, quiet=True)
    reporter.prepares(Stage())
    reporter.starts(Stage(), 5, ["x"], 7)
    reporter.row(Stage(), Kept(rows=()))
    reporter.ends(state(), fresh=False)
    assert printed(made) == ""


def test_the_funnel_names_reasons_and_remarks() -> None:
    """`status` shows every stage's account, reasons and remarks."""
    made = console()
    terminal.print_status(made, [state()])
    assert "keyword 1" in printed(made)
    assert "filter: mind the gap" in printed(made)


def test_a_note_of_a_build_is_shown_unless_it_is_quiet() -> None:
    """Such as that a pool goes on without one of its members."""
    for quiet in (False, True):
        made = console()
        terminal.Reporter(made, quiet=quiet).notes("writer: node-b is left out from here on")
        assert ("node-b is left out" in printed(made)) is not quiet


OTHERS = [material.proverb(f"Other {i}") for i in range(3)]
HOSTILE = "صبر \x1b[31mred\x07 \x9b0m"


def test_text_from_corpora_and_models_cannot_steer_the_terminal() -> None:
    """Escape sequences in items, stories, evidence and prompts are shown as signs."""
    gold = material.proverb(HOSTILE)
    made = console()
    item = material.item(HOSTILE, gold, OTHERS)
    terminal.print_items(made, [item])
    row = {
        "id": "p1",
        "text": HOSTILE,
        "checks": [{"name": "keyword", "passed": False, "score": 1.0, "evidence": HOSTILE}],
    }
    terminal.print_story(
        made, [Appearance(folder="4-filter", outcome="dropped", why=HOSTILE, evidence=HOSTILE, row=row)]
    )
    assert "\x1b" not in printed(made)
    assert "\x9b" not in printed(made)
    assert "␛[31mred␇" in printed(made)
    assert "FAIL" in printed(made)


def test_right_to_left_text_is_isolated() -> None:
    """An Arabic option stands between isolates, so that the role after it stays where it is."""
    made = console()
    gold = material.proverb("الصبر مفتاح الفرج")
    terminal.print_items(made, [material.item("قصة", gold, OTHERS)])
    assert "\u2068الصبر مفتاح الفرج\u2069" in printed(made)


def test_the_demo_page_has_funnel_items_controls_and_places() -> None:
    """The demo's page shows what was built, what the options give away, and where the files are."""
    gold = material.proverb("Slow drops fill the jar")
    item = material.item("A story.", gold, OTHERS)
    control = Control("theme_pair", "clusters", 0.48, 0.46, 0.5, 82, 26, 0.25)
    rates = JudgeRates(
        judge="embedded",
        judged=20,
        passed={"fits": 1, "plausible": 2, "fluent": 3},
        probes=2,
        caught=1,
        false_alarms=19,
    )
    made = console()
    result = DemoResult(
        language="en", benchmark="some/where", states=(state(),), items=(item,), controls={"paper": (control,)},
        judges=(rates,), seconds=31.4,
    )  # fmt: skip
    terminal.print_demo(made, [result])
    text = printed(made)
    for part in (
        "CAPR-en",
        "keyword 1",
        "A story.",
        "0.480",
        "0.460 – 0.500",
        "outside",
        "1 of 2",
        "some/where",
        "31 s",
    ):
        assert part in text


def result(**changes: object) -> Result:
    """Two answers, one of which failed."""
    fields = {
        "subject": Subject(name="m\x1b[31m", identity="m@1"),
        "benchmark": "quiz-0123456789abcdef",
        "condition": Condition(method="text_pmi", prompt="en", labels="native", shown="choices_only"),
        "asked": 2,
        "phrasings": ("Which?",),
        "rotations": 1,
        "statuses": {"answered": 1, "failed": 1},
        "notes": ("asked in English",),
    }
    return Result(**{**fields, **changes})


@pytest.mark.parametrize("tty", [False, True])
def test_an_evaluation_tells_its_results_and_notes(tty: bool) -> None:
    """Each result is closed with its statuses and what a reader should know; nothing can steer the terminal."""
    made = console(tty=tty)
    reporter = terminal.EvaluationReporter(made)
    bench = Benchmark(name="quiz", language="en", questions=())
    reporter.starts(Subject(name="m\x1b[31m", identity="m@1"), bench, "text", 2)
    reporter._said -= 60
    reporter.answered(["answered"])
    reporter.answered(["failed"])
    reporter.ends(result())
    reporter.stops()
    assert "quiz  text, PMI, en prompt, native labels, choices only: 1 answered, 1 failed" in printed(made)
    assert "asked in English" in printed(made)
    assert "m\x1b[31m" not in printed(made)
    quiet = console(tty=tty)
    reporter = terminal.EvaluationReporter(quiet, quiet=True)
    reporter.starts(Subject(name="m", identity="m@1"), bench, "text", 2)
    reporter.answered(["answered"])
    reporter.ends(result())
    assert not printed(quiet)


def test_an_evaluation_ends_with_a_table_problems_and_costs(tmp_path: Path) -> None:
    """Who could not be asked is said beside the numbers; no number stands where nobody chose."""
    made = console()
    score = Score(result=result(), file=tmp_path / "x.json", chance=0.25, accuracy=None, accuracy_all=0.0)
    usage = Usage(calls=3, prompt_tokens=10, completion_tokens=4)
    done = Evaluation(folder=tmp_path, scores=[score], problems=["n, quiz, text: no"], calls={"m": usage})
    terminal.print_evaluation(made, done)
    assert done.failed
    assert "1/2" in printed(made)
    assert "–" in printed(made)
    assert "not asked: n, quiz, text: no" in printed(made)
    assert "m: 3 calls made, 0 taken from the journal, 10 + 4 tokens" in printed(made)


def test_an_analysis_says_once_what_is_the_same_and_nothing_of_what_is_not_there() -> None:
    """Constant columns stand below the table, empty ones nowhere, and a number keeps its interval beside it."""
    columns = [
        tables.column("model", "model", "name"),
        tables.column("chance", "chance", "share"),
        tables.column("minus", "minus choices only", "points"),
        *(tables.column(f"n{i}", f"accuracy over all number {i}", "share") for i in range(3)),
    ]
    rows = [
        {"model": f"a-model-{n}", "chance": 0.25}
        | {f"n{i}": tables.Measure(value=0.1 * n + i / 100, low=0.0, high=0.5) for i in range(3)}
        for n in range(3)
    ]
    made = Console(file=io.StringIO(), width=100)
    made.print(terminal.analysis_table(tables.table("t", "T", "", columns, rows), 2, 100))
    assert "chance: 0.250" in printed(made)
    assert "minus choices" not in printed(made)
    assert printed(made).count("[0.000, 0.500]") == 6
    narrow = Console(file=io.StringIO(), width=40)
    narrow.print(terminal.analysis_table(tables.table("t", "T", "", columns, rows), 2, 40))
    assert max(map(len, printed(narrow).splitlines())) <= 40


def test_an_evaluation_says_what_takes_long_and_nothing_of_results_that_are_not_there(tmp_path: Path) -> None:
    """The controls of a large benchmark take a minute; where nobody answered there is nothing to analyse."""
    made = console()
    terminal.EvaluationReporter(made).measures(Benchmark(name="quiz", language="en", questions=()))
    assert "quiz  measuring, once, what the options alone give away" in printed(made)
    terminal.print_evaluation(made, Evaluation(folder=tmp_path, problems=["n: no"]))
    assert "adage analyse" not in printed(made)
