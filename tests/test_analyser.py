"""`adage analyse`: from results folders to files, and what it refuses."""

import json
import shlex

import msgspec
import pytest
from msgspec.structs import replace

import adage
from adage.analysis.controls import Control
from adage.cli import main
from adage.errors import StoreError
from adage.evaluation.result import write_questions, write_result
from evaluated import Mind, benchmark, evaluate, roster


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A results folder of nine models in two languages."""
    return written(tmp_path_factory.mktemp("analysed") / "results", roster(n=40))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A results folder of one model in two languages."""
    runs = [evaluate(benchmark(language, 20), Mind(), name="m", parameters=1.0) for language in ("en", "ja")]
    return written(tmp_path_factory.mktemp("small") / "results", runs)


def written(folder, runs):
    """The runs in a results folder."""
    for run in runs:
        write_questions(folder, run.benchmark)
        write_result(folder, run.result, run.answers)
    return folder


def run(command, monkeypatch):
    """Run a command line in this process; returns its exit code."""
    monkeypatch.setattr("sys.argv", shlex.split(command))
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def files(folder):
    """Every file of a folder with its bytes."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def test_the_same_results_give_the_same_bytes(small, tmp_path):
    """Tables, figures and analysis.json, twice, and again into the same folder."""
    done = adage.analyse([small], out=tmp_path / "first")
    assert {file.relative_to(tmp_path / "first").as_posix() for file in done.files} == set(files(tmp_path / "first"))
    adage.analyse([small], out=tmp_path / "second")
    assert files(tmp_path / "first") == files(tmp_path / "second")
    adage.analyse([small], out=tmp_path / "second")
    assert files(tmp_path / "first") == files(tmp_path / "second")


def test_an_earlier_analysis_leaves_nothing_behind(results, tmp_path):
    """Tables of fewer runs are not mixed with those of more."""
    adage.analyse([results], out=tmp_path / "out", figures="none")
    assert (tmp_path / "out/tables/gap.csv").exists()
    model = next(folder for folder in sorted(results.iterdir()) if folder.name.startswith("Alpha"))
    adage.analyse([next(model.glob("CAPR-en*.json"))], out=tmp_path / "out", figures="none")
    assert not (tmp_path / "out/tables/gap.csv").exists()
    assert not (tmp_path / "out/figures").exists()


def test_folders_of_others_are_not_touched(results, tmp_path):
    """A folder that holds something else, or lies within the results, is refused before anything is read."""
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="holds something else"):
        adage.analyse([results], out=tmp_path)
    with pytest.raises(StoreError, match="within the results"):
        adage.analyse([results], out=results / "analysis")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_without_results_the_next_step_is_named(tmp_path):
    """An empty folder is not an empty analysis."""
    with pytest.raises(StoreError, match="adage evaluate"):
        adage.analyse([tmp_path])


def test_controls_are_read_from_beside_the_questions(tmp_path):
    """Whether a results folder, a model's folder or one run is named."""
    asked = benchmark(n=20)
    folder = written(tmp_path / "results", [evaluate(asked, Mind(), name="m")])
    stored = folder / "benchmarks" / f"{asked.slug}.controls.json"
    stored.write_bytes(
        msgspec.json.encode([Control("medoid", "text", 0.5, float("nan"), float("nan"), 20, 1, 0.25, circular=False)])
    )
    header = next((folder / "m").glob("*.json"))
    for path in (folder, folder / "m", header):
        (row,) = adage.analyse([path]).analysis.table("controls").rows
        assert row["guesser"] == "medoid"
        assert row["accuracy"].low is None
    stored.write_text("[]]")
    with pytest.raises(StoreError, match="holds no controls"):
        adage.analyse([folder])


def test_the_command_prints_every_table(results, monkeypatch, capsys):
    """Each table comes with how to read it; what is the same in every row is said once."""
    assert run(f"adage analyse {results}", monkeypatch) == 0
    printed = capsys.readouterr().out
    for title in (
        "Accuracy",
        "Gap to English",
        "Attraction of the wrong options",
        "Capability gradient",
        "Calibration",
    ):
        assert f"\n{title}\n" in f"\n{printed}"
    assert "condition: letter.native.latin" in printed
    assert "95 % interval (clustered by meaning group)" in printed
    assert "more rows: write them to files with --out" in printed


def test_the_command_writes_files(small, tmp_path, monkeypatch, capsys):
    """--out names what was written; --json prints the same analysis as the file holds."""
    assert run(f"adage analyse {small} --out {tmp_path / 'out'} --figures png --json", monkeypatch) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "out/analysis.json").read_text("utf-8"))
    assert (tmp_path / "out/figures/accuracy.letter.native.latin.png").exists()
    assert run(f"adage analyse {small} --out {tmp_path / 'out'} --figures none", monkeypatch) == 0
    assert f"md to {tmp_path / 'out'}" in capsys.readouterr().out


@pytest.mark.parametrize(("layout", "sign"), [("csv", "# accuracy\nmodel,benchmark,"), ("markdown", "## Accuracy\n")])
def test_the_command_prints_for_other_programs(results, monkeypatch, capsys, layout, sign):
    """CSV and Markdown hold every row."""
    assert run(f"adage analyse {results} --format {layout}", monkeypatch) == 0
    printed = capsys.readouterr().out
    assert sign in printed
    assert "more rows" not in printed


def test_results_that_were_cut_or_edited_are_refused(tmp_path):
    """Answers that are fewer than the header counts, and questions that are not those asked, are never analysed."""
    folder = written(tmp_path / "results", [evaluate(benchmark(n=8), Mind(), name="m")])
    (answers,) = folder.glob("m/*.jsonl")
    whole = answers.read_bytes()
    answers.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    with pytest.raises(StoreError, match="header counts"):
        adage.analyse([folder])
    answers.write_bytes(whole)
    (questions,) = folder.glob("benchmarks/*.json")
    key = json.loads(questions.read_bytes())
    key["questions"][0]["gold"] = [(key["questions"][0]["gold"][0] + 1) % 4]
    questions.write_text(json.dumps(key))
    with pytest.raises(StoreError, match="it was edited"):
        adage.analyse([folder])


def test_hostile_names_steer_nothing(tmp_path, monkeypatch, capsys):
    """A model named like an escape sequence or a formula does no harm on a terminal or in a spreadsheet."""
    hostile = evaluate(benchmark(n=12), Mind(), name="=x\x1b[31m[bold]")
    condition = replace(hostile.result.condition, prompt="../../../evil")
    result = replace(hostile.result, notes=("\x1b]0;title\x07",), condition=condition)
    folder = written(tmp_path / "results", [hostile._replace(result=result)])
    assert run(f"adage analyse {folder} --out {tmp_path / 'out'}", monkeypatch) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "[bold]" in printed
    assert "'=x" in (tmp_path / "out/tables/accuracy.csv").read_text("utf-8")
    assert {path.name for path in tmp_path.iterdir()} == {"results", "out"}
