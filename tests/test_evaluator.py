"""From files of questions to a folder of results, by function and by command line."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import adage
from adage.analysis.tables import to_csv
from adage.cli import app
from adage.errors import LimitReached, RecipeError
from adage.evaluation.ask import Plan
from adage.evaluation.result import read_results
from adage.evaluator import evaluate, judges_of
from adage.language import load_file
from adage.models.local import identity_of
from endpoint import FakeEndpoint, status, top_logprobs
from quiz import write

ROSTER = """
version: 1
models:
  - {name: weak, kind: scripted, family: F, parameters: 1, skill: 0.1, position: [2.0]}
  - {name: strong, kind: scripted, family: F, parameters: 8, skill: 0.9}
"""

PACK = """
code = "ka"
name = "Georgian"
native_name = "ქართული"
scripts = ["Geor"]

[words]
name = "ანდაზა"

[evaluate]
questions = ["რომელი {unit} უხდება ამბავს?"]
letter = "უპასუხე მხოლოდ ასოთი."
text = "დაწერე მხოლოდ {unit}."
generate = "დაასრულე სტრიქონით: პასუხი და ასო."
cue = "პასუხი: "
"""


@pytest.fixture
def quiz(tmp_path: Path) -> Path:
    """Twelve questions in a file."""
    return write(tmp_path / "quiz.jsonl", 12)


@pytest.fixture
def roster(tmp_path: Path) -> Path:
    """Two scripted models."""
    path = tmp_path / "roster.yaml"
    path.write_text(ROSTER, encoding="utf-8")
    return path


def run(*arguments: object) -> tuple[int, str]:
    """Exit code and output of the command line."""
    done = CliRunner().invoke(app, ["evaluate", *map(str, arguments)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def content(folder: Path) -> dict[str, bytes]:
    """Every file of the results, without the journal."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".adage" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_roster_is_asked_and_results_can_be_read_back(quiz: Path, roster: Path, tmp_path: Path) -> None:
    """Every model, by every method; the folder is complete in itself."""
    done = adage.evaluate([quiz], roster=roster, methods=["letter", "text", "generate"], out=tmp_path / "out")
    assert not done.failed
    assert len(done.scores) == 2 * 5
    quiz.unlink()
    found = read_results([tmp_path / "out"])
    assert len(found) == 10
    for one in found:
        assert one.result.notes == ("scripted: no model was asked",)
        assert one.result.subject.identity.startswith("scripted#")
        assert len(one.benchmark.questions) == 12
        assert {each.item for each in one.answers} == {each.id for each in one.benchmark.questions}
    accuracy = {(one.result.subject.name, one.result.condition.method): one.accuracy for one in done.scores}
    assert accuracy["strong", "letter"] > 0.7 > accuracy["weak", "letter"]


def test_controls_stand_beside_every_accuracy(quiz: Path, roster: Path, tmp_path: Path) -> None:
    """An evaluation measures what guessers without understanding reach, and the analysis shows it unasked."""
    done = adage.evaluate([quiz], roster=roster, models=["weak"], out=tmp_path / "out")
    analysis = adage.analyse([tmp_path / "out"]).analysis
    assert not done.failed
    shown = to_csv(analysis.table("controls"))
    assert all(name in shown for name in ("longest", "medoid", "nearest_embedding"))


def test_a_second_run_asks_nothing_and_writes_the_same_bytes(quiz: Path, roster: Path, tmp_path: Path) -> None:
    """Replies come from the journal; `--replay` needs nothing else."""
    out = tmp_path / "out"
    first = adage.evaluate([quiz], roster=roster, out=out)
    before = content(out)
    again = adage.evaluate([quiz], roster=roster, out=out, replay=True)
    assert content(out) == before
    assert [usage.calls for usage in first.calls.values()] == [12, 12]
    assert [(usage.calls, usage.stored) for usage in again.calls.values()] == [(0, 12), (0, 12)]


def test_the_command_prints_a_table_or_json(quiz: Path, roster: Path, tmp_path: Path) -> None:
    """For people with notes and costs; for scripts one object."""
    code, output = run(quiz, "--roster", roster, "--model", "strong", "--choices-only", "--out", tmp_path / "out")
    assert code == 0
    assert "strong" in output
    assert "weak" not in output
    assert "strong  quiz  letter, choices only: 48 answered" in output
    assert "12 calls made" in output
    assert "scripted: no model was asked" in output
    code, output = run(quiz, "--roster", roster, "--json", "--limit", "2", "--out", tmp_path / "out")
    parsed = json.loads(output)
    assert code == 0
    assert [score["result"]["asked"] for score in parsed["scores"]] == [2, 2]
    assert parsed["scores"][0]["chance"] == 0.25


def test_a_limit_on_calls_ends_with_exit_code_3(quiz: Path, roster: Path, tmp_path: Path) -> None:
    """What was answered is kept, and the next run goes on."""
    out = tmp_path / "out"
    with pytest.raises(LimitReached, match="5 of 5 calls"):
        run(quiz, "--roster", roster, "--out", out, "--max-calls", "5")
    assert LimitReached.exit_code == 3
    done = adage.evaluate([quiz], roster=roster, out=out)
    assert sum(usage.calls for usage in done.calls.values()) == 24 - 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--model", "nobody"), "there is no model 'nobody'"),
        ((), "no model is named"),
        (("--model", "gemma3-270m", "--method", "guess"), "there is no method 'guess'"),
        (("--model", "gemma3-270m", "--prompt", "ig"), "no instructions for evaluated models in Igbo"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is(
    quiz: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    """Nothing is written either."""
    with pytest.raises(RecipeError, match=message):
        run(quiz, *arguments, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


async def test_a_model_that_cannot_be_asked_does_not_stop_the_others(quiz: Path, tmp_path: Path) -> None:
    """A dead endpoint is a problem with its address; answers of the living one are there."""
    async with FakeEndpoint() as endpoint:
        dead = endpoint.url
    async with FakeEndpoint(lambda _: "Answer: B") as endpoint:
        done = await evaluate(
            [quiz],
            models=[f"{dead}#gone", f"{endpoint.url}#fake"],
            plan=Plan(methods=("generate", "text", "letter")),
            folder=tmp_path / "out",
        )
    assert [score.result.condition.method for score in done.scores] == ["generate"]
    assert done.scores[0].result.statuses == {"answered": 12}
    assert done.failed
    gone, texts, letters = done.problems[:3], done.problems[3], done.problems[4]
    assert all("gone" in problem for problem in gone)
    assert f"no connection to {dead.removeprefix('http://')}" in gone[0]
    assert "cannot be scored behind the chat template" in texts
    assert "gives no log-probabilities" in letters


async def test_models_can_be_asked_by_a_language_pack_of_ones_own(tmp_path: Path) -> None:
    """The pack's words stand in the prompt, and the result says whose they are."""
    quiz = write(tmp_path / "quiz.jsonl", 12, language="ka")
    pack = tmp_path / "ka.toml"
    pack.write_text(PACK, encoding="utf-8")
    asked: list[str] = []

    def reply(body: dict[str, Any]) -> str:
        asked.append(body["messages"][-1]["content"])
        return "პასუხი: B"

    async with FakeEndpoint(reply) as endpoint:
        plan = Plan(methods=("generate",), packs=(load_file(pack),))
        done = await evaluate([quiz], models=[f"{endpoint.url}#fake"], plan=plan, folder=tmp_path / "out")
    assert all("რომელი ანდაზა უხდება ამბავს?" in prompt for prompt in asked)
    assert done.scores[0].result.condition.prompt == "native"
    assert done.scores[0].result.statuses == {"answered": 12}
    assert any("pack of the user's own" in note for note in done.scores[0].result.notes)


def test_a_pack_that_no_benchmark_speaks_is_refused(quiz: Path, roster: Path, tmp_path: Path) -> None:
    """It was meant for something: the languages that there are, are named."""
    pack = tmp_path / "ka.toml"
    pack.write_text(PACK, encoding="utf-8")
    with pytest.raises(RecipeError, match="'ka'") as caught:
        run(quiz, "--roster", roster, "--pack", pack, "--out", tmp_path / "out")
    assert "en" in caught.value.hint


async def test_failed_answers_are_counted_apart(quiz: Path, tmp_path: Path) -> None:
    """The rest is written, and the evaluation says that something is missing (exit code 1)."""
    async with FakeEndpoint(lambda _: top_logprobs(dict.fromkeys("ABCD", -1.0) | {"B": -0.5})) as endpoint:
        endpoint.faults.extend([status(400, "no")] * 2)
        done = await evaluate([quiz], models=[f"{endpoint.url}#fake"], folder=tmp_path / "out")
    (score,) = done.scores
    assert score.result.statuses == {"answered": 46, "failed": 2}
    assert score.accuracy_all < (score.accuracy or 0)
    assert done.failed


def test_judges_of_a_run_are_found_in_its_recipe(tmp_path: Path) -> None:
    """By the hash of the weights, or by the endpoint's name for the model."""
    recipe = (
        "version: 1\nname: X\nlanguage: en\ncorpus: {file: x.csv}\nmodels:\n"
        "  j: {kind: endpoint, base_url: 'http://x/v1', model: org/judge}\n"
        "  g: {kind: local, model: gemma3-270m}\n"
        "roles: {judges: [j, g]}\nvalidate: {accept: 1}\n"
    )
    (tmp_path / "recipe.yaml").write_text(recipe, encoding="utf-8")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text('[{"recipe": "../recipe.yaml"}]', encoding="utf-8")
    expected = {"org/judge", identity_of("gemma3-270m")}
    assert judges_of(tmp_path / "run") == judges_of(tmp_path / "run" / "benchmark") == expected
    assert judges_of(tmp_path) == expected
    assert judges_of(tmp_path / "elsewhere" / "file.jsonl") == frozenset()


ROUNDS = 8
AT_ONCE = 32


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    """Kill -9 loses no answer, changes no byte, and repeats at most the calls in flight."""
    quiz = write(tmp_path / "quiz.jsonl", 100)
    script = Path(__file__).parent / "endpoint.py"
    with subprocess.Popen(
        [sys.executable, str(script), "--port", "0", "--latency", "0.05"], stdout=subprocess.PIPE, text=True
    ) as served:
        assert served.stdout is not None
        url = f"http://127.0.0.1:{int(served.stdout.readline())}"

        def calls() -> int:
            with urllib.request.urlopen(f"{url}/stats") as reply:
                return int(json.load(reply)["calls"])

        def start(out: Path) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-c", "from adage.cli import main; main()", "evaluate", str(quiz)]
            command += ["--model", f"{url}/v1#fake", "--method", "letter", "--method", "generate", "--out", str(out)]
            return subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )

        try:
            assert start(tmp_path / "whole").wait() == 0
            needed = calls()
            assert needed == 100 * 5
            draw = random.Random(7)
            for moment in sorted(draw.uniform(0, needed * 0.9) for _ in range(ROUNDS)):
                process = start(tmp_path / "cut")
                while process.poll() is None and calls() - needed < moment:
                    time.sleep(0.002)
                time.sleep(draw.uniform(0, 0.03))
                assert process.poll() is None, "it ended before it could be killed"
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            assert start(tmp_path / "cut").wait() == 0
            repeated = calls() - 2 * needed
        finally:
            served.kill()
    assert content(tmp_path / "cut") == content(tmp_path / "whole")
    assert repeated <= ROUNDS * AT_ONCE
