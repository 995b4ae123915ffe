"""Which split a meaning group belongs to: a pure function of the group, so that adding proverbs moves nothing."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
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


def splits(groups: Iterable[str], shares: Shares, min_groups: int, lock: Mapping[str, Split]) -> dict[str, Split]:
    """Group → split; a split that would get fewer than `min_groups` groups is not made, its groups go to test.

    Groups in `lock` (of a released version) keep their split, whatever the shares say.
    """
    wanted = {group: lock.get(group) or split_of(group, shares) for group in sorted(set(groups))}
    sizes = collections.Counter(wanted.values())
    locked = set(lock.values())
    small = {split for split in SPLITS if sizes[split] < min_groups and split != "test" and split not in locked}
    return {group: "test" if split in small else split for group, split in wanted.items()}


def read_lock(path: Path | None) -> dict[str, Split]:
    """The group → split table of a released benchmark (`splits.lock`, JSON)."""
    if path is None:
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Split])
    except (OSError, msgspec.MsgspecError) as error:
        raise HandFileError(
            f"curate.lock: {str(path)!r} is no table of splits: {error}",
            hint="point it at the splits.lock file in the benchmark folder of the released version",
        ) from error
