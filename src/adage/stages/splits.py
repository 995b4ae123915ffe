"""Which split a meaning group belongs to: a pure function of the group, so that adding proverbs moves nothing."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import msgspec

from adage.errors import HandFileError
from adage.recipe import Shares
from adage.records import Split, digest

SPLITS: tuple[Split, ...] = ("train", "dev", "test")


def split_of(group: str, shares: Shares) -> Split:
    """The split that a group's hash falls into: the unit interval is cut into train, dev and test, in this order.

    >>> split_of("p00", Shares(train=0, dev=0, test=1))
    'test'
    """
    point = int(digest("split", group, size=8), 16) / 2**64
    if point < shares.train:
        return "train"
    return "dev" if point < shares.train + shares.dev else "test"


def splits(
    members: Mapping[str, Collection[str]], shares: Shares, min_groups: int, lock: Mapping[str, Split]
) -> dict[str, Split]:
    """Group → split; a split that would get fewer than `min_groups` groups is not made, its groups go to test.

    Args:
        members: Group → ids of its proverbs.
        shares: Sizes of the splits.
        min_groups: Least number of groups in train or dev.
        lock: Proverb id → split in a released version. A group with a released member keeps that member's split,
            whatever the shares say; see `conflicts` for groups whose members were released in several.
    """
    wanted = {group: _released(members[group], lock) or split_of(group, shares) for group in sorted(members)}
    sizes = collections.Counter(wanted.values())
    locked = {split for group in members if (split := _released(members[group], lock))}
    small = {split for split in SPLITS if sizes[split] < min_groups and split != "test" and split not in locked}
    return {group: "test" if split in small else split for group, split in wanted.items()}


def conflicts(members: Mapping[str, Collection[str]], lock: Mapping[str, Split]) -> dict[str, tuple[str, ...]]:
    """Groups whose members were released in more than one split, with those splits."""
    found = {group: tuple(sorted({lock[name] for name in members[group] if name in lock})) for group in sorted(members)}
    return {group: released for group, released in found.items() if len(released) > 1}


def _released(names: Iterable[str], lock: Mapping[str, Split]) -> Split | None:
    """The split of a group's released members; where they are in several, the one that models may know best."""
    found = {lock[name] for name in names if name in lock}
    return next((split for split in SPLITS if split in found), None)


def read_lock(path: Path | None) -> dict[str, Split]:
    """The proverb id → split table of a released benchmark (`splits.lock`, JSON)."""
    if path is None:
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Split])
    except (OSError, msgspec.MsgspecError) as error:
        raise HandFileError(
            f"curate.lock: {str(path)!r} is no table of splits: {error}",
            hint="point it at the splits.lock file in the benchmark folder of the released version",
        ) from error
