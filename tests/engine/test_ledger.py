"""The ledger: every outcome lands in its file, and the counts follow from what was written."""

from __future__ import annotations

import errno

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.engine.ledger import Ledger
from adage.errors import StoreError
from adage.records import Proverb
from adage.stage import Dropped, Failed, Kept
from adage.store import files
from adage.store.files import hash_file, read_lines
from adage.store.run import DROPPED, FAILED, KEPT, PROBES, Broken, Gone
from material import proverb

ROW = proverb()
outcomes = st.lists(
    st.one_of(
        st.builds(
            lambda children, short, probes: Kept(rows=(ROW,) * children, short=short, probes=(ROW,) * probes),
            st.integers(0, 4),
            st.integers(0, 3),
            st.integers(0, 2),
        ),
        st.builds(Dropped, reason=st.sampled_from(["keyword", "merged_into:p1", "merged_into:p2"])),
        st.builds(Failed, error=st.just("EndpointBusy: 429")),
    ),
    max_size=20,
)


@given(outcomes)
def test_the_account_always_adds_up(tmp_path_factory, given_outcomes):
    """Any mix of outcomes: parents are kept, dropped or failed; children, shortfall and probes are counted apart."""
    folder = tmp_path_factory.mktemp("stage")
    with Ledger(folder) as ledger:
        for number, outcome in enumerate(given_outcomes):
            ledger.enter(f"row{number}", ROW, outcome, 0)
    counts = ledger.counts()
    kept = [outcome for outcome in given_outcomes if isinstance(outcome, Kept)]
    assert counts.rows_in == len(given_outcomes) == counts.kept + counts.dropped + counts.failed
    assert counts.kept == len(kept)
    assert counts.made == sum(len(outcome.rows) for outcome in kept) == len(list(read_lines(folder / KEPT, Proverb)))
    assert counts.short == sum(outcome.short for outcome in kept)
    assert counts.dropped == sum(counts.reasons.values()) == len(list(read_lines(folder / DROPPED, Gone)))
    assert set(counts.reasons) <= {"keyword", "merged_into"}
    assert counts.failed == len(list(read_lines(folder / FAILED, Broken)))
    assert (folder / PROBES).exists() == bool(counts.probes)
    assert ledger.output == hash_file(folder / KEPT)


def test_what_ended_is_kept_whole(tmp_path):
    """A dropped or failed row is written with its content, its reason and its evidence."""
    checked = msgspec.structs.replace(ROW, gloss="with checks")
    with Ledger(tmp_path) as ledger:
        ledger.enter("a", ROW, Dropped(reason="keyword", evidence="jar", row=checked, probes=(ROW,)), 0)
        ledger.enter("b", ROW, Failed(error="BadReply: no", evidence="<html>"), 2)
    (gone,), (broken,) = read_lines(tmp_path / DROPPED, Gone), read_lines(tmp_path / FAILED, Broken)
    assert (gone.id, gone.reason, gone.evidence, gone.row["gloss"]) == ("a", "keyword", "jar", "with checks")
    assert (broken.id, broken.error, broken.evidence, broken.attempt) == ("b", "BadReply: no", "<html>", 2)
    assert msgspec.convert(broken.row, Proverb) == ROW
    assert ledger.counts().probes == 1


def test_all_files_are_closed_when_one_cannot_be(tmp_path, monkeypatch):
    """On a full disk the fault is named and no handle stays open (an open one is a warning, hence an error here)."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(StoreError, match="the disk is full"), Ledger(tmp_path) as ledger:
        ledger.enter("a", ROW, Kept(rows=(ROW,), probes=(ROW,)), 0)
