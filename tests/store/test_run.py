"""Run folders: one build at a time, states that are whole, a history that grows."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from adage.errors import StoreError
from adage.records import Record
from adage.store.files import write_atomic
from adage.store.run import KEPT, Counts, Run, StageState


class Row(Record, frozen=True, kw_only=True):
    """A row of these tests."""

    id: str


def state(name: str, **fields: object) -> StageState:
    """A stage's state."""
    counts = Counts(rows_in=1, kept=1, dropped=0, failed=0, made=1)
    return StageState(stage=name, fingerprint="f", parts={"version": 1}, counts=counts, output="o", **fields)


def finish(run: Run, folder: str, name: str) -> None:
    """Write a finished stage."""
    write_atomic(run.root / folder / "stage.json", msgspec.json.encode(state(name)))


@pytest.fixture
def run(tmp_path):
    """A run that nobody has built."""
    return Run(tmp_path / "run")


HOLD = """
import sys
from pathlib import Path
from adage.store.run import Run
with Run(Path(sys.argv[1])).locked():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused(run):
    """While one build holds the folder, another one is turned away; afterwards it may come in."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match="another build is at work in") as caught, run.locked():
            pass
        assert "--out" in caught.value.hint
        holder.stdin.close()
        assert holder.wait(timeout=10) == 0
    with run.locked():
        pass


def test_taking_the_lock_mends_what_a_killed_build_left(run):
    """The next build starts from whole folders."""
    finish(run, ".1-acquire.old", "acquire")
    (run.root / ".2a-label.tmp").mkdir()
    with run.locked():
        assert [state.stage for state in run.states()] == ["acquire"]
    assert not (run.root / ".2a-label.tmp").exists()


def test_states_come_in_the_pipelines_order(run):
    """By the numbers of the paper, unfinished and foreign folders left out."""
    assert run.states() == []
    for folder in ("3-generate", "2b-cluster", "1-acquire", "2a-label"):
        finish(run, folder, folder[2:].strip("-"))
    (run.root / "4-filter").mkdir()
    (run.root / "benchmark").mkdir()
    assert [state.stage for state in run.states()] == ["acquire", "label", "cluster", "generate"]
    assert run.state("4-filter") is None
    assert run.state("1-acquire") == state("acquire")


@pytest.mark.parametrize("content", [b"", b"{", b'{"stage":"acquire"}'])
def test_a_damaged_state_is_no_absent_one(run, content):
    """A stage whose state cannot be read is named; it is not silently computed again."""
    write_atomic(run.root / "1-acquire" / "stage.json", content)
    with pytest.raises(StoreError, match=r"stage\.json' is damaged") as caught:
        run.state("1-acquire")
    assert "model calls are kept" in caught.value.hint


@pytest.mark.parametrize(
    ("counts", "complaint"),
    [
        ({"rows_in": 3, "kept": 1, "dropped": 1, "failed": 0, "made": 1, "reasons": {"x": 1}}, "rows do not add up"),
        ({"rows_in": 2, "kept": 1, "dropped": 1, "failed": 0, "made": 1}, "reasons do not add up"),
    ],
)
def test_counts_that_do_not_add_up_cannot_exist(counts, complaint):
    """rows_in = kept + dropped + failed, and every drop has a reason."""
    with pytest.raises(AssertionError, match=complaint):
        Counts(**counts)


def test_rows_of_an_absent_file_are_none(run):
    """A stage without probes has no probes file."""
    assert list(run.rows("1-acquire", KEPT, Row)) == []
    write_atomic(run.root / "1-acquire" / KEPT, b'{"id":"a","text":"more"}\n')
    assert list(run.rows("1-acquire", KEPT, Row)) == [Row(id="a")]


def test_a_context_of_an_earlier_shape_counts_as_absent(run):
    """A calibration that no longer fits is made anew."""
    assert run.context("4-filter", Row) is None
    write_atomic(run.root / "4-filter" / "context.json", b'{"id":3}')
    assert run.context("4-filter", Row) is None
    write_atomic(run.root / "4-filter" / "context.json", b'{"id":"a"}')
    assert run.context("4-filter", Row) == Row(id="a")


def test_the_history_grows_and_names_the_recipe(run, tmp_path):
    """Each build adds an entry; the last one that names a recipe says which it was."""
    assert run.history() == []
    with pytest.raises(StoreError, match="does not say which recipe"):
        run.recipe()
    run.note({"recipe": "..", "seconds": 1.5})
    run.note({"recipe": "", "seconds": 2})
    assert [entry["seconds"] for entry in run.history()] == [1.5, 2]
    assert run.recipe() == tmp_path
    assert (run.root / "run.json").read_bytes().endswith(b"\n")


def test_a_damaged_history_is_begun_anew(run):
    """Volatile facts never stand in the way of a build."""
    write_atomic(run.root / "run.json", b"{")
    assert run.history() == []
    run.note({"seconds": 1})
    assert run.history() == [{"seconds": 1}]
