"""Every table of an analysis: there where it has something to say, honest where models guess."""

from functools import cache

import msgspec
import pytest
from msgspec.structs import replace

from adage.analysis.analyse import Analysis, analyse
from adage.analysis.controls import Control
from adage.analysis.tables import Measure, to_csv, to_markdown
from adage.evaluation.result import Answer, Benchmark, Evaluated, Question
from evaluated import Mind, benchmark, evaluate, roster

KEYS = [
    "accuracy", "outcomes", "gap", "pairs.CAPR-en.letter.native.latin", "pairs.CAPR-ja.letter.native.latin",
    "attraction", "logit", "gradient", "trend", "position", "spread", "calibration", "reliability", "difficulty",
    "items",
]  # fmt: skip


@cache
def whole():
    """The analysis of nine models in two languages."""
    return analyse(roster(n=80), draws=300)


def rows(analysis, key, **cells):
    """Rows of a table that have these cells."""
    return [row for row in analysis.table(key).rows if all(row[name] == cell for name, cell in cells.items())]


def test_every_table_is_there():
    """A roster in two languages gives every table but the controls, which nobody has stored."""
    assert [table.key for table in whole().tables] == KEYS
    assert "CAPR-en: no controls are stored beside the questions" in whole().notes


def test_the_order_of_the_runs_does_not_matter():
    """The same runs in any order give the same bytes."""
    backwards = analyse(roster(n=80)[::-1], draws=300)
    assert msgspec.json.encode(backwards) == msgspec.json.encode(whole())


def test_an_analysis_survives_json():
    """analysis.json holds all of it."""
    assert msgspec.json.decode(msgspec.json.encode(whole()), type=Analysis) == whole()


def test_each_table_says_how_to_read_it():
    """Every table has a note of a sentence at least, no number in it is NaN, and it is written in all forms."""
    for table in whole().tables:
        assert table.note.endswith((".", "?"))
        assert ",nan" not in to_csv(table)
        assert to_markdown(table)


def test_models_at_chance_are_called_so():
    """A guesser's interval includes chance, and the table says what that means."""
    analysis = analyse([evaluate(benchmark(n=100), Mind(guesses=1.0, misreads=0))], draws=50)
    (row,) = rows(analysis, "accuracy")
    assert row["remark"] == "within chance"
    assert "1 of 1 runs are not told from guessing" in analysis.table("accuracy").note
    able = analyse([evaluate(benchmark(n=100), Mind(guesses=0.1, misreads=0.1))], draws=50)
    assert rows(able, "accuracy")[0]["remark"] == ""
    assert "Every interval here excludes chance" in able.table("accuracy").note


def test_who_answers_nothing_has_no_accuracy():
    """A model that refuses everything is not wrong: it has no accuracy over answered, and 0 over all."""
    analysis = analyse([evaluate(benchmark(n=20), Mind(unanswered={"refused": 1.0}), method="generate")], draws=50)
    (row,) = rows(analysis, "accuracy")
    assert row["accuracy"] is None
    assert row["remark"] == "no answer, 80 unanswered"
    (outcome,) = rows(analysis, "outcomes")
    assert (outcome["refused"], outcome["answered"]) == (80, 0)
    assert outcome["over_answered"] is None
    assert outcome["over_all"].value == 0


def test_over_all_counts_what_was_not_answered():
    """Accuracy over all is accuracy over answered times the share answered, here where both fall on whole questions."""
    run = evaluate(benchmark(n=50), Mind(guesses=0, misreads=0))
    answers = [
        replace(answer, status="failed", choice=None, scores=()) if answer.item < "i0010" else answer
        for answer in run.answers
    ]
    (row,) = rows(analyse([Evaluated(run.result, run.benchmark, tuple(answers))], draws=50), "outcomes")
    assert row["over_answered"].value == 1
    assert row["over_all"].value == pytest.approx(0.8)
    assert row["failed"] == 40


def test_choices_only_is_set_beside_the_full_run():
    """What the scenario adds is paired by question, and a run without scenario is no row of its own."""
    found = rows(whole(), "accuracy", model="Gamma 0.3B", benchmark="CAPR-en")
    assert len(found) == 1
    assert found[0]["minus_choices_only"].value == pytest.approx(
        100 * (found[0]["accuracy"].value - found[0]["choices_only"].value), abs=1e-3
    )
    assert rows(whole(), "accuracy", model="Gamma 3.0B", benchmark="CAPR-en")[0]["choices_only"] is None
    assert rows(whole(), "attraction", condition="letter.native.latin.choices_only")
    assert not rows(whole(), "gradient", condition="letter.native.latin.choices_only")


def test_the_scenario_adds_nothing_to_a_guesser_by_text():
    """A model that follows the texts alone is as good without the scenario: accuracy minus choices-only is about 0."""
    asked = benchmark(n=300)
    mind = Mind(guesses=1.0, misreads=0, guesser="prior", prior=(0.5, 0.2, 0.2, 0.1))
    runs = [evaluate(asked, mind, seed=3), evaluate(asked, mind, seed=4, shown="choices_only")]
    (row,) = rows(analyse(runs, draws=50), "accuracy")
    assert row["accuracy"].low > 0.25, "it looks able"
    assert row["minus_choices_only"].holds(0), "and is not"


def test_one_family_is_one_table():
    """Holm's correction of the pairs counts the pairs of the table, 36 among nine models."""
    table = whole().table("pairs.CAPR-en.letter.native.latin")
    assert len(table.rows) == 36
    least = min(table.rows, key=lambda row: row["p"])
    assert least["p_holm"] == pytest.approx(min(1, 36 * least["p"]), rel=1e-3)


def test_position_bias_is_seen():
    """Who takes the first place whenever it guesses shows it; who does not, does not."""
    biased = rows(whole(), "position", model="Beta 0.3B", benchmark="CAPR-en")
    even = rows(whole(), "position", model="Alpha 30.0B", benchmark="CAPR-en")
    assert [row["place"] for row in biased] == [1, 2, 3, 4]
    assert biased[0]["chosen"].low > 0.3
    assert biased[0]["accuracy"].value > biased[1]["accuracy"].value
    assert biased[0]["p_holm"] < 0.001
    assert even[0]["p_holm"] > 0.05


def test_spread_over_phrasings_and_orders():
    """A model asked in two wordings has a range over them, and a misreader is steady."""
    two, one = (rows(whole(), "spread", model=f"Alpha {size}B", benchmark="CAPR-en")[0] for size in ("0.3", "30.0"))
    assert two["phrasings"] == 2
    assert two["phrasing_range"] == pytest.approx(100 * (two["phrasing_high"] - two["phrasing_low"]), abs=1e-3)
    assert one["phrasing_range"] is None
    assert one["steady"].value > two["steady"].value


def test_questions_with_a_wrong_key_are_flagged():
    """A question whose key is wrong is solved by nobody who is able, and asks to be looked at."""
    asked = benchmark(n=40)
    runs = []
    for seed, able in enumerate((0.0, 0.25, 0.5, 0.75, 0.95)):
        run = evaluate(asked, Mind(guesses=1 - able, misreads=0), name=f"m{seed}", seed=seed)
        wrong = replace(asked.questions[0], gold=((asked.questions[0].gold[0] + 1) % 4,))
        keyed = replace(asked, questions=(wrong, *asked.questions[1:]))
        runs.append(Evaluated(replace(run.result, benchmark=keyed.slug), keyed, run.answers))
    analysis = analyse(runs, draws=50)
    (row,) = rows(analysis, "items", item="i0000")
    assert row["correlation"] < 0
    assert row["flag"] == "r below 0, fools the able"


def test_difficulty_is_given_by_role():
    """Every answer falls on the right option or on a role."""
    summary = whole().table("difficulty").rows[0]
    assert summary["mean"] + summary["same_cluster"] + summary["near_match"] + summary["random"] == pytest.approx(1)


def test_a_question_that_all_solve_has_no_rival():
    """No wrong option is named as the most chosen one where none was chosen."""
    asked = benchmark(n=12)
    table = analyse([evaluate(asked, Mind(guesses=0, misreads=0))], draws=50).table("items")
    assert {(row["rival"], row["rival_share"]) for row in table.rows} == {(None, 0.0)}


def test_two_models_flag_nothing():
    """Item-rest correlations of two models are noise, so that no question is named."""
    asked = benchmark(n=40)
    analysis = analyse([evaluate(asked, Mind(), name=name, seed=seed) for seed, name in enumerate("ab")], draws=50)
    items = analysis.table("items").rows
    assert len(items) == 40
    assert all(row["flag"] == "" and row["correlation"] is None for row in items)
    assert analysis.table("difficulty").rows[0]["negative"] is None


def test_controls_stand_beside_the_models():
    """Guessers' accuracy is read against chance, and a circular one is marked."""
    asked = benchmark(n=20)
    found = [
        Control("medoid", "text", 0.42, 0.35, 0.49, 20, 5, 0.25),
        Control("longest", "lengths", 0.2, 0.1, 0.3, 20, 5, 0.25),
        Control("outlier", "text", 0.06, 0.0, 0.1, 20, 5, 0.25),
        Control("nearest_embedding", "text", 0.8, 0.7, 0.9, 20, 5, 0.25, circular=True),
        Control("theme_pair", "clusters", 0.5, float("nan"), float("nan"), 20, 1, 0.25),
    ]
    analysis = analyse([evaluate(asked, Mind())], {asked.slug: found, "elsewhere": found}, draws=50)
    readings = [row["reading"] for row in analysis.table("controls").rows]
    assert readings[:4] == ["above chance", "within chance", "below chance", "circular"]
    assert readings[4] == "one meaning group: chance not excluded"
    assert not [note for note in analysis.notes if "controls" in note]


def test_texts_and_single_orders_have_what_applies_to_them():
    """Methods without an order have no position bias, one order has an interval for π instead of an estimate."""
    asked = benchmark(n=80)
    runs = [
        evaluate(asked, Mind(), name="text", method="text"),
        evaluate(asked, Mind(), name="once", method="generate", rotations=1),
    ]
    analysis = analyse(runs, draws=50)
    assert {row["model"] for row in analysis.table("position").rows} == {"once"}
    for row in analysis.table("gradient").rows:
        assert row["pi_near_match"].value is None
        assert row["pi_near_match"].low <= row["raw_near_match"] <= row["pi_near_match"].high
    assert analysis.table("calibration") is None
    assert analysis.table("spread") is None


def test_foreign_benchmarks_have_no_roles():
    """Questions of several sizes with several keys, without roles or groups, are analysed as far as they go."""
    questions = tuple(
        Question(
            id=f"q{n}", scenario="s", options=tuple("abcde"[: 4 + n % 2]), gold=(0, 1) if n % 3 else (2,), group=""
        )
        for n in range(30)
    )
    asked = Benchmark(name="foreign", language="en", questions=questions)
    answers = [Answer(item=f"q{n}", rotation=n % 4, status="answered", choice=n % 4) for n in range(30)]
    base = evaluate(benchmark(n=2), Mind(), method="generate", rotations=1)
    analysis = analyse([Evaluated(replace(base.result, benchmark=asked.slug), asked, tuple(answers))], draws=50)
    assert [table.key for table in analysis.tables] == ["accuracy", "outcomes", "position", "difficulty", "items"]
    assert analysis.table("accuracy").rows[0]["chance"] == pytest.approx(asked.chance, abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_tiny_runs_are_analysed(n):
    """One question, one meaning group: numbers without intervals, and no crash."""
    runs = [evaluate(benchmark(language, n), Mind(), name=m) for language in ("en", "ja") for m in ("a", "b", "c")]
    analysis = analyse(runs, draws=50)
    accuracy = analysis.table("accuracy").rows[0]["accuracy"]
    assert isinstance(accuracy, Measure)
    assert (accuracy.low is None) == (n < 5)


def test_a_judge_and_a_thinker_are_marked():
    """A model that judged the benchmark, or thinks before it answers, is not compared unawares."""
    run = evaluate(benchmark(n=40), Mind(guesses=0, misreads=0))
    subject = replace(run.result.subject, judge=True, thinking=True)
    result = replace(run.result, subject=subject, notes=("the labels were Latin",))
    analysis = analyse([Evaluated(result, run.benchmark, run.answers)], draws=50)
    assert analysis.table("accuracy").rows[0]["remark"] == "judged this benchmark, thinks"
    assert "model on CAPR-en (letter.native.latin): the labels were Latin" in analysis.notes
