"""Splits: a pure function of the meaning group, so that a benchmark grows without moving."""

import collections

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.errors import HandFileError
from adage.recipe import Shares
from adage.records import digest
from adage.stages.splits import SPLITS, conflicts, read_lock, split_of
from adage.stages.splits import splits as splits_of

SHARES = Shares(train=0.6, dev=0.1, test=0.3)


def splits(groups, shares, min_groups, lock):
    """Splits of groups of one proverb each, which has the group's name."""
    return splits_of({group: [group] for group in groups}, shares, min_groups, lock)


names = st.sets(st.text("0123456789abcdef", min_size=4, max_size=8), max_size=40)


@given(names, names)
def test_adding_groups_moves_none(first, more):
    """A group's split does not depend on the other groups."""
    before = splits(first, SHARES, 1, {})
    after = splits(first | more, SHARES, 1, {})
    assert {group: after[group] for group in first} == before
    assert all(after[group] == split_of(group, SHARES) for group in after)


@given(names, st.integers(1, 15))
def test_a_split_that_is_too_small_goes_to_test(groups, min_groups):
    """No train or dev with fewer groups than asked; the other splits stay as they are."""
    made = splits(groups, SHARES, min_groups, {})
    sizes = collections.Counter(made.values())
    assert all(sizes[split] >= min_groups for split in ("train", "dev") if sizes[split])
    assert all(made[group] in {split_of(group, SHARES), "test"} for group in groups)


@given(names, st.dictionaries(st.sampled_from([f"l{n}" for n in range(9)]), st.sampled_from(SPLITS)))
def test_a_released_group_keeps_its_split(groups, lock):
    """The lock wins over the shares and over the least size; groups that it does not know are not touched by it."""
    made = splits(groups | set(lock), SHARES, 5, lock)
    assert {group: made[group] for group in lock} == lock
    assert all(made[group] in {split_of(group, SHARES), "test"} for group in groups)


def test_a_group_that_a_new_member_renames_stays_where_it_was_released():
    """A newcomer with a smaller id gives its group a new name, but not a new split."""
    lock = {"p5": "dev", "p7": "test"}
    for group in (f"p{n:02x}" for n in range(40)):
        assert splits_of({group: [group, "p5"]}, SHARES, 1, lock) == {group: "dev"}


def test_members_released_in_two_splits_are_reported():
    """What was released apart and now means the same goes to one split, and is named."""
    members = {"p1": ["p1", "p5", "p7"], "p2": ["p2"]}
    lock = {"p5": "dev", "p7": "test"}
    assert splits_of(members, SHARES, 1, lock)["p1"] == "dev"
    assert conflicts(members, lock) == {"p1": ("dev", "test")}


def test_the_shares_are_met():
    """Of many groups each split gets about its share."""
    made = collections.Counter(split_of(digest(number, size=8), SHARES) for number in range(4000))
    assert all(abs(made[split] / 4000 - SHARES.of(split)) < 0.03 for split in SPLITS)


def test_a_lock_file_is_read(tmp_path):
    """No file is an empty lock; what is no table of splits is named."""
    assert read_lock(None) == {}
    file = tmp_path / "splits.lock"
    file.write_text('{"p1":"dev"}')
    assert read_lock(file) == {"p1": "dev"}
    for content in ('{"p1":"validation"}', "[]", "{"):
        file.write_text(content)
        with pytest.raises(HandFileError, match=r"splits\.lock' is no table of splits"):
            read_lock(file)
    with pytest.raises(HandFileError, match="no table of splits"):
        read_lock(tmp_path / "absent.lock")
