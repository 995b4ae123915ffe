"""The event loop: the fastest one that is installed, and always one."""

from __future__ import annotations

import asyncio
import sys

import pytest

from adage.engine.loop import run_async


async def loop_module() -> str:
    """Where the running loop comes from."""
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]


def test_uvloop_is_used_where_it_is_installed():
    """Nobody has to ask for it."""
    pytest.importorskip("uvloop")
    assert run_async(loop_module()) == "uvloop"


def test_without_uvloop_pythons_own_loop_runs(monkeypatch):
    """It is an option, and nothing is said when it is missing."""
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert run_async(loop_module()) == "asyncio"


def test_errors_come_through():
    """As from `asyncio.run`."""

    async def fails() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        run_async(fails())
