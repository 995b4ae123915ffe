"""The command line as a user meets it: help, JSON, exit codes, and a clear word for every mistake."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from ruamel.yaml import YAML
from typer.testing import CliRunner

from adage.cli import app
from adage.errors import AdageError
from endpoint import FakeEndpoint, Fault
from quiz import write
from workspace import Workspace, workspace

COMMANDS = ("init", "inspect", "build", "status", "show", "demo")
KEY = "sk-very-secret-0815"


def adage(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    command = [sys.executable, "-c", "from adage.cli import main; main()", *map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "120", **environment},
        timeout=120,
        check=False,
    )


class Threaded:
    """The scripted endpoint in a thread, for builds in other processes."""

    def __init__(self, models: tuple[str, ...] = ("fake",)) -> None:
        import asyncio

        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.endpoint = FakeEndpoint(models=models)
        asyncio.run_coroutine_threadsafe(self.endpoint.start(), self._loop).result()

    def stop(self) -> None:
        """Stop endpoint and thread."""
        import asyncio

        asyncio.run_coroutine_threadsafe(self.endpoint.stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture(scope="module")
def served() -> Iterator[FakeEndpoint]:
    """A scripted endpoint that other processes can reach."""
    threaded = Threaded()
    yield threaded.endpoint
    threaded.stop()


@pytest.fixture
def space(tmp_path: Path, served: FakeEndpoint) -> Workspace:
    """A workspace whose models are the endpoint."""
    return workspace(tmp_path / "mine", served.url)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, served: FakeEndpoint) -> Workspace:
    """A workspace that has been built; not to be changed."""
    made = workspace(tmp_path_factory.mktemp("built") / "mine", served.url)
    done = adage("build", made.folder)
    assert done.returncode == 0, done.stderr
    return made


def refused(result: subprocess.CompletedProcess[str], *expected: str, code: int = 2) -> None:
    """Assert a clear message on standard error, the exit code, and no traceback."""
    assert result.returncode == code, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    flat = re.sub(r"\s+", " ", result.stderr)
    for part in expected:
        assert part in flat


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    """`--help` explains the command and shows a line to copy."""
    shown = adage(command, "--help")
    assert shown.returncode == 0
    assert f"adage {command}" in shown.stdout
    assert "Example" in shown.stdout


def test_the_package_is_a_command_and_tells_its_version() -> None:
    """`python -m adage` is `adage`; `--version` needs no command."""
    command = [sys.executable, "-m", "adage", "--version"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert shown.stdout == f"adage {version('adage')}\n"


def test_build_prints_plain_lines_and_an_account_of_every_stage(space: Workspace) -> None:
    """Without a terminal, progress is plain lines without control codes."""
    done = adage("build", space.folder)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert re.search(r"label\s+in 30 = kept 30 \+ dropped 0 \+ failed 0", done.stdout)
    assert "label: 30 model calls are new" in done.stdout
    assert "benchmark:" in done.stdout
    again = adage("build", space.folder)
    assert again.stdout.count("(up to date)") == 8


def test_build_json_is_one_object(built: Workspace) -> None:
    """`--json` prints what was built and nothing else."""
    done = adage("build", built.folder, "--json")
    content = json.loads(done.stdout)
    assert [state["stage"] for state in content["states"]][-1] == "curate"
    assert content["benchmark"].endswith("benchmark")


def test_dry_run_spends_and_writes_nothing(space: Workspace, served: FakeEndpoint) -> None:
    """A plan names calls by stage; an unknown price is unknown."""
    calls = served.calls
    shown = adage("build", space.folder, "--dry-run")
    assert shown.returncode == 0
    assert served.calls == calls
    assert not space.run.exists()
    assert "unknown" in shown.stdout
    plans = json.loads(adage("build", space.folder, "--dry-run", "--json").stdout)["stages"]
    assert {row["stage"]: row["calls"] for row in plans}["label"] == 30


def test_status_shows_the_funnel(built: Workspace) -> None:
    """The funnel is shown for a recipe's folder and for a run folder, and as JSON it adds up."""
    for target in (built.folder, built.run):
        assert re.search(r"curate\s+\d+\s+\d+", adage("status", target).stdout)
    for row in json.loads(adage("status", built.folder, "--json").stdout)["stages"]:
        assert row["rows_in"] == row["kept"] + row["dropped"] + row["failed"]


def test_show_samples_stories_and_prompts(built: Workspace) -> None:
    """`show` prints items, one record's whole way, and the exact prompt of a stage."""
    items = json.loads(adage("show", built.folder, "--json", "-n", "2").stdout)["items"]
    assert len(items) == 2
    assert "→" in adage("show", built.folder).stdout
    proverb = items[0]["proverb_id"]
    story = adage("show", built.run, proverb).stdout
    for folder in ("1-acquire", "2b-cluster", "4-filter", "7-curate"):
        assert folder in story
    prompt = json.loads(adage("show", built.run, "--prompt", "generate", proverb, "--json").stdout)["messages"]
    text = json.loads(adage("show", built.run, proverb, "--json").stdout)["found"][0]["row"]["text"]
    assert f"<text>{text}</text>" in prompt[1]["content"]
    refused(adage("show", built.run, "nothing"), "'nothing'", "ids start with")
    refused(adage("show", built.run, "--prompt", "filter"), "sends no prompt")


def test_init_writes_a_recipe_that_loads(tmp_path: Path) -> None:
    """`init` gives a commented recipe with a corpus, or with the mapping of the user's file."""
    assert adage("init", tmp_path / "new", "--language", "ja").returncode == 0
    assert adage("build", tmp_path / "new", "--dry-run").returncode == 0
    own = tmp_path / "mine.csv"
    own.write_text(
        "المثل,الشرح\nالصبر مفتاح الفرج,من ينتظر ينل ما يريد\nمن جد وجد,المجتهد يصل إلى غايته\n", encoding="utf-8"
    )
    assert adage("init", tmp_path / "arabic", "--language", "ar", "--corpus", own).returncode == 0
    recipe = YAML(typ="safe").load((tmp_path / "arabic" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["corpus"]["text"] == "المثل"
    assert recipe["corpus"]["explanation"] == ["الشرح"]
    refused(adage("init", tmp_path / "new", "--language", "ja"), "is there already")
    refused(adage("init", tmp_path / "x", "--language", "klingonish"), "klingonish")


def test_inspect_prints_a_page_and_json(space: Workspace) -> None:
    """`inspect` counts what is in a corpus and changes nothing."""
    corpus = space.folder / "proverbs.jsonl"
    before = corpus.read_bytes()
    found = json.loads(adage("inspect", corpus, "--language", "en", "--json").stdout)
    assert (found["records"], found["rejected"], found["unique"], found["native_explained"]) == (30, 0, 30, 30)
    assert found["verdict"] == "ready"
    assert "proverbs.jsonl" in adage("inspect", corpus, "--language", "en").stdout
    assert corpus.read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"version": 7}, ("recipe.yaml:1:", "version 7", "reads up to 1", "update ADAGE")),
        ({"lable": "none"}, ("lable", "unknown key")),
        ({"roles": {"labeller": "nobody"}}, ("nobody", "writer")),
        ({"cluster": {"k": [9, 4]}}, ("cluster", "2 <= low <= high")),
        ({"language": "klingonish"}, ("klingonish",)),
        ({"corpus": {"file": "absent.csv"}}, ("absent.csv",)),
        ({"generate": {"scenarios": "absent.jsonl"}}, ("absent.jsonl", "relative paths start at the recipe's folder")),
        ({"roles": {}}, ("roles.labeller", "cluster.label: none", "roles.generator")),
        ({"validate": {"accept": 4}}, ("accept is 4", "3 judges")),
    ],
)
def test_a_bad_recipe_is_refused_and_writes_nothing(
    space: Workspace, changes: dict[str, object], expected: tuple[str, ...]
) -> None:
    """Every fault in a recipe is named with its place; nothing is written and nothing is called."""
    space.edit(**changes)
    before = sorted(space.folder.rglob("*"))
    refused(adage("build", space.folder), *expected)
    assert sorted(space.folder.rglob("*")) == before


def test_all_faults_of_a_recipe_are_told_at_once(space: Workspace) -> None:
    """Two faults give two lines, each with the line of the file."""
    space.edit(seed="many", nonsense=1)
    result = adage("build", space.folder)
    refused(result, "2 fault(s)", "seed", "'many'", "nonsense")
    assert len(re.findall(r"recipe\.yaml:\d+:", result.stderr)) == 2


def test_a_line_of_a_hand_file_that_does_not_fit_is_named(space: Workspace) -> None:
    """File, line, value and what was expected."""
    (space.folder / "themes.jsonl").write_text(
        '{"proverb": "The fox", "theme": "guile"}\n{"proverb": 3}\n', encoding="utf-8"
    )
    space.edit(cluster={"themes": "themes.jsonl"})
    refused(adage("build", space.folder), "themes.jsonl:2", "proverb, theme, by", '{"proverb": 3}')


def test_a_missing_key_variable_is_named_before_anything_runs(space: Workspace) -> None:
    """The variable's name is told, nothing is written."""
    recipe = YAML(typ="safe").load(space.recipe_file.read_text(encoding="utf-8"))
    recipe["models"]["writer"]["key_env"] = "ADAGE_TEST_KEY"
    space.write_recipe(recipe)
    before = sorted(space.folder.rglob("*"))
    refused(adage("build", space.folder), "ADAGE_TEST_KEY", "writer", "export ADAGE_TEST_KEY")
    assert sorted(space.folder.rglob("*")) == before


def test_a_key_reaches_no_file_and_no_output(space: Workspace) -> None:
    """The key is sent to the endpoint and is in no file of the workspace and in no output."""
    recipe = YAML(typ="safe").load(space.recipe_file.read_text(encoding="utf-8"))
    recipe["models"]["writer"]["key_env"] = "ADAGE_TEST_KEY"
    space.write_recipe(recipe)
    done = adage("build", space.folder, ADAGE_TEST_KEY=KEY)
    assert done.returncode == 0
    assert KEY not in done.stdout + done.stderr
    for path in space.folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()


@pytest.mark.parametrize("codes", [(400, 500), (401,)], ids=str)
def test_a_key_that_a_server_repeats_reaches_no_file_and_no_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codes: tuple[int, ...]
) -> None:
    """A server that quotes the key in its refusals: no command prints it, and no file holds it, databases included."""
    monkeypatch.setenv("ADAGE_TEST_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    threaded = Threaded()
    threaded.endpoint.always = quoting(threaded.endpoint, codes)
    model = {"base_url": threaded.endpoint.url, "model": "fake", "key_env": "ADAGE_TEST_KEY", "retries": 0}
    space = workspace(tmp_path / "mine", threaded.endpoint.url)
    recipe = YAML(typ="safe").load(space.recipe_file.read_text(encoding="utf-8"))
    recipe["models"] = {name: {**old, **model} for name, old in recipe["models"].items()}
    space.write_recipe(recipe | {"max_failed": 1000})
    with (tmp_path / "roster.yaml").open("w", encoding="utf-8") as handle:
        YAML().dump({"version": 1, "models": [{"name": "m", **model}]}, handle)
    write(tmp_path / "quiz.jsonl", 12)
    try:
        shown = told("build", space.folder)
        shown += told("evaluate", "quiz.jsonl", "--roster", "roster.yaml", "--method", "generate")
    finally:
        threaded.stop()
    refused_one = next(row["id"] for row in space.rows("1-acquire") if "donkey" in row["text"])
    for command in (["status"], ["status", "--json"], ["show"], ["journal", "export"], ["journal", "stats"]):
        shown += told(*command, space.folder)
    shown += told("show", space.folder, refused_one) + told("analyse", "results", "--out", "analysis")
    content = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for code in codes:
        assert f"answered {code}: no: Bearer ***" in shown + str(content)
    assert KEY not in shown
    assert {"calls.sqlite", "vectors.sqlite", "run.json"} <= {path.name for path in content}
    assert not [path for path, held in content.items() if KEY.encode() in held]


def told(*arguments: str | Path) -> str:
    """What a command prints, run in this process, with the message of its error."""
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert isinstance(result.exception, AdageError | SystemExit | None)
    return f"{result.output}{result.exception}"


def quoting(endpoint: FakeEndpoint, codes: tuple[int, ...]) -> Fault:
    """A fault: some requests (all, where there is but one code) are refused with the header that holds the key."""
    waiting = cycle(codes)

    async def fault(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if len(codes) > 1 and not re.search("donkey|house [123],", str(body)):
            return web.json_response(endpoint.completion(body))
        message = f"no: {request.headers['Authorization']}"
        return web.json_response({"error": {"message": message}}, status=next(waiting))

    return fault


def test_a_key_typed_in_place_of_its_variable_is_not_repeated(space: Workspace) -> None:
    """Recipe and command line: the place and the way to do it are told, nothing is written, the key is not shown."""
    recipe = YAML(typ="safe").load(space.recipe_file.read_text(encoding="utf-8"))
    recipe["models"]["writer"]["key_env"] = KEY
    space.write_recipe(recipe)
    before = sorted(space.folder.rglob("*"))
    done = adage("build", space.folder)
    refused(done, "recipe.yaml:", "models.writer.endpoint.key_env", "name of an environment variable", "export LLM_KEY")
    assert KEY not in done.stdout + done.stderr
    assert sorted(space.folder.rglob("*")) == before
    served = told("serve-model", "gemma3-270m", "--token-env", KEY)
    assert "--token-env: expected the name of an environment variable" in served
    assert KEY not in served


def test_an_unreachable_endpoint_is_told_once(space: Workspace) -> None:
    """Nobody listens: one message with the address, exit code 2, no stage half done."""
    recipe = YAML(typ="safe").load(space.recipe_file.read_text(encoding="utf-8"))
    recipe["models"]["writer"] |= {"base_url": "http://127.0.0.1:9/v1", "retries": 0}
    space.write_recipe(recipe)
    result = adage("build", space.folder)
    refused(result, "127.0.0.1:9")
    assert result.stderr.count("127.0.0.1:9") <= 3
    assert not (space.run / "2a-label").exists()


def test_a_wrong_model_name_lists_what_is_served(tmp_path: Path) -> None:
    """The endpoint's own models are listed."""
    threaded = Threaded(models=("qwen", "llama"))
    try:
        from endpoint import status

        threaded.endpoint.always = status(404, "model not found")
        space = workspace(tmp_path / "mine", threaded.endpoint.url)
        refused(adage("build", space.folder), "'fake'", "llama", "qwen")
    finally:
        threaded.stop()


def test_a_corrupt_journal_is_told_with_the_way_out(space: Workspace) -> None:
    """A damaged journal is never used or overwritten."""
    stores = space.folder / ".adage"
    stores.mkdir()
    (stores / "calls.sqlite").write_bytes(b"this is no database, and long enough to be looked at" * 40)
    refused(adage("build", space.folder), "calls.sqlite")
    assert (stores / "calls.sqlite").read_bytes().startswith(b"this is no database")


def test_a_full_disk_stops_the_build_and_keeps_what_is_done(tmp_path: Path, served: FakeEndpoint) -> None:
    """On a disk that fills up the message says so, and a second build on a larger one goes on."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this machine does not let us mount a small disk")
    try:
        space = workspace(disk / "mine", served.url)
        refused(adage("build", space.folder), "disk is full")
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        assert adage("build", space.folder).returncode == 0
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_no_recipe_and_no_run_are_told(tmp_path: Path) -> None:
    """Empty folders give a next step."""
    refused(adage("build", tmp_path), "no recipe", "adage init")
    refused(adage("status", tmp_path), "no stage has finished", "adage build")
    refused(adage("build", "--nonsense"), "--nonsense")


def test_a_missing_extra_is_named(space: Workspace) -> None:
    """Without the optional package, the message names the extra that brings it."""
    recipe = YAML(typ="safe").load(space.recipe_file.read_text(encoding="utf-8"))
    recipe["models"]["writer"] = {"kind": "local", "model": "gemma3-270m"}
    space.write_recipe(recipe)
    hide = (
        "import importlib.util as u; f = u.find_spec; "
        "u.find_spec = lambda name, *rest: None if name == 'xllamacpp' else f(name, *rest)"
    )
    command = [sys.executable, "-c", f"{hide}\nfrom adage.cli import main; main()", "build", str(space.folder)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    refused(result, "xllamacpp", "adage[local]")


def test_failed_rows_give_exit_code_1(space: Workspace, served: FakeEndpoint) -> None:
    """A build with failed rows ends with 1 and says how to go on."""
    usual = served.reply
    served.reply = lambda body: "no" if "donkey" in body["messages"][1]["content"] else usual(body)
    try:
        refused(adage("build", space.folder), "rows failed", "failed.jsonl", "max_failed", code=1)
    finally:
        served.reply = usual


def test_an_interrupted_build_says_how_to_go_on(space: Workspace, served: FakeEndpoint) -> None:
    """Ctrl-C ends a build without a traceback, and what was answered by then is not asked again."""
    usual, before = served.reply, served.calls
    # As from a terminal: whoever runs the tests in the background has them, and so their children, ignore the signal.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{heed}; from adage.cli import main; main()", "build", str(space.folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:

        def interrupting(body: dict[str, Any]) -> object:
            if served.calls - before >= 40:
                served.reply = usual
                process.send_signal(signal.SIGINT)
            return usual(body)

        served.reply = interrupting
        try:
            shown, told = process.communicate(timeout=60)
        finally:
            served.reply = usual
    done = subprocess.CompletedProcess(command, process.returncode, shown, told)
    refused(done, "interrupted", "run the same command again to go on", code=130)
    asked = served.calls - before
    assert adage("build", space.folder).returncode == 0
    whole = workspace(space.folder.parent / "whole", served.url)
    middle = served.calls - before
    assert adage("build", whole.folder).returncode == 0
    assert middle - (served.calls - before - middle) <= 16, "more than the calls in flight were made again"
    assert 40 <= asked < middle


def test_a_budget_ends_with_its_figures_and_exit_code_3(space: Workspace) -> None:
    """Whoever reads the last line knows what was spent and how to go on."""
    space.edit(budget={"calls": 10})
    refused(adage("build", space.folder), "10 of 10 calls", "run the same command again", code=3)


def test_what_was_spent_is_told_however_a_build_ends(space: Workspace) -> None:
    """The account stands before the error, and `--json` prints its object beside it; the next plan knows the time."""
    space.edit(budget={"calls": 10})
    stopped = adage("build", space.folder)
    assert re.search(r"label +planned +30 .*\n +true +10 ", stopped.stdout)
    refused(stopped, "10 of 10 calls", code=3)
    again = adage("build", space.folder, "--json")
    refused(again, "10 of 10 calls", code=3)
    told = json.loads(again.stdout)
    assert told["error"].startswith("LimitReached")
    assert [(part["stage"], part["announced"], part["calls"]) for part in told["spent"]][-1] == ("label", 20, 10)
    plans = json.loads(adage("build", space.folder, "--dry-run", "--json").stdout)["stages"]
    seconds = {row["stage"]: (row["calls"], row["known"], row["seconds"]) for row in plans}
    assert seconds["label"][:2] == (10, 20)
    assert seconds["label"][2] > 0
    assert seconds["generate"][2] is None


def test_a_round_of_an_offline_batch(space: Workspace, tmp_path: Path) -> None:
    """Requests go out with exit code 3; responses come in with a count; what is wrong is told by line, with code 1."""
    ask, answers = tmp_path / "ask.jsonl", tmp_path / "answers.jsonl"
    refused(adage("build", space.folder, "--batch-out", ask), "30 requests", "--batch-in", code=3)
    key = json.loads(ask.read_text().splitlines()[0])["custom_id"]
    body = {"choices": [{"message": {"content": '{"theme": "thrift"}'}}]}
    lines = [{"custom_id": key, "response": {"status_code": 200, "body": body}}, {"custom_id": "who?"}]
    answers.write_text("\n".join(json.dumps(line) for line in lines))
    taken = adage("build", space.folder, "--batch-in", answers)
    assert taken.returncode == 1
    assert "1 responses stored, 0 were known, 1 could not be used" in taken.stdout
    assert f"{answers}:2: 'who?' was not answered" in taken.stderr
    refused(adage("build", space.folder, "--batch-in", answers, "--batch-out", ask), "29 requests", code=3)
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({**lines[0], "custom_id": json.loads(ask.read_text().splitlines()[0])["custom_id"]}))
    answers.write_text(json.dumps(lines[0]))
    both = told("build", space.folder, "--batch-in", answers, "--batch-in", more)
    assert "1 responses stored, 1 were known, 0 could not be used" in both


def test_status_and_journal_account_for_the_calls(built: Workspace) -> None:
    """What became of the questions, what the journal holds, and that it is whole."""
    found = json.loads(adage("status", built.folder, "--json").stdout)["stages"]
    assert found[1]["calls"] == {"writer": {"ok": 30}}
    assert re.search(r"label +writer +30 +0", adage("status", built.folder).stdout)
    calls = json.loads(adage("journal", "stats", built.folder, "--json").stdout)["calls"]
    assert f"{calls} calls, all whole" in adage("journal", "verify", built.folder).stdout
    lines = adage("journal", "export", built.folder).stdout.splitlines()
    assert len(lines) == calls
    assert set(json.loads(lines[0])) == {"key", "request", "reply"}
    assert "0 calls would" in adage("journal", "prune", built.folder, "--keep", built.run).stdout
    refused(adage("journal", "prune", built.folder), "every stored call would go")


def test_a_model_is_served_to_this_machine_alone(tmp_path: Path) -> None:
    """Beyond loopback a token is needed, and its variable must be set."""
    (tmp_path / "tiny.gguf").touch()
    refused(adage("serve-model", tmp_path / "tiny.gguf", "--host", "0.0.0.0"), "a token is needed")
    refused(adage("serve-model", tmp_path / "tiny.gguf", "--token-env", "ADAGE_NO_TOKEN"), "ADAGE_NO_TOKEN")


def test_a_file_that_is_no_model_is_not_served(tmp_path: Path) -> None:
    """It is tried before any address is told."""
    pytest.importorskip("xllamacpp", reason="needs the extra [local]")
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + bytes(100))
    done = adage("serve-model", tmp_path / "bad.gguf", "--port", "0")
    refused(done, "cannot load", "bad.gguf", "expected a GGUF file")
    assert "base_url" not in done.stdout


def test_languages_are_listed_shown_and_checked(tmp_path: Path) -> None:
    """The packs for people and for scripts; a derived language says that it is; right-to-left names are isolated."""
    listed = json.loads(adage("languages", "list", "--json").stdout)["languages"]
    assert {"am", "km", "my", "ha"} <= {pack["code"] for pack in listed}
    shown = adage("languages", "show", "ar")
    assert "native name: \u2068العربية\u2069" in shown.stdout
    derived = adage("languages", "show", "ka")
    assert "derived from CLDR alone" in derived.stdout
    assert json.loads(adage("languages", "show", "ka", "--json").stdout)["sureness"] == "derived"
    assert adage("languages", "show", "klingon").returncode == 2
    checked = adage("languages", "check", "am", "--json")
    assert checked.returncode == 0
    assert json.loads(checked.stdout)["packs"][0]["faults"] == []


def test_a_new_pack_is_written_checked_and_never_overwritten(tmp_path: Path) -> None:
    """What `languages new` writes holds; what a speaker then gets wrong is named, with exit code 2."""
    file = tmp_path / "ka.toml"
    assert adage("languages", "new", "ka", "--out", file).returncode == 0
    assert adage("languages", "new", "ka", "--out", file).returncode == 2
    assert "ka: holds" in adage("languages", "check", file).stdout
    text = file.read_text(encoding="utf-8").replace("[examples]\n", '[examples]\nsame = [["ან", "და"]]\n')
    file.write_text(text, encoding="utf-8")
    wrong = adage("languages", "check", file)
    assert wrong.returncode == 2
    assert "examples.same[0]" in wrong.stdout
