"""A build that is killed and started again ends like one that was never killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from workspace import Workspace, workspace

pytestmark = pytest.mark.slow
ROUNDS = 20


class Served:
    """The scripted endpoint as a process of its own, which outlives the builds."""

    def __init__(self) -> None:
        script = Path(__file__).parents[1] / "endpoint.py"
        self.process = subprocess.Popen(
            [sys.executable, str(script), "--port", "0", "--latency", "0.02"], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    @property
    def url(self) -> str:
        """Base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def stats(self) -> dict[str, int]:
        """Calls so far."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats") as reply:
            return dict(json.load(reply))

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def served() -> Iterator[Served]:
    """A running endpoint."""
    endpoint = Served()
    yield endpoint
    endpoint.stop()


def _start(space: Workspace) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from adage.cli import main; main()", "build", str(space.folder)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def test_killed_at_twenty_random_moments_a_build_ends_with_the_same_bytes(tmp_path: Path, served: Served) -> None:
    """Kill -9 at random moments loses no row, repeats at most the calls in flight, and changes no byte."""
    whole = workspace(tmp_path / "whole" / "mine", served.url, n=60, scenarios=3)
    assert _start(whole).wait() == 0
    expected, needed = whole.content(), served.stats()["calls"]

    cut = workspace(tmp_path / "cut" / "mine", served.url, n=60, scenarios=3)
    draw = random.Random(20260730)
    moments = sorted(draw.uniform(0, needed) for _ in range(ROUNDS))
    for moment in moments:
        process = _start(cut)
        while process.poll() is None and served.stats()["calls"] - needed < moment:
            time.sleep(0.002)
        time.sleep(draw.uniform(0, 0.05))
        assert process.poll() is None, "the build ended before it could be killed"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert _start(cut).wait() == 0
    assert cut.content() == expected
    in_flight = 8  # the concurrency at the one address that the four models share
    repeated = served.stats()["calls"] - 2 * needed
    assert repeated <= ROUNDS * in_flight
