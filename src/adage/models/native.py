"""Compiled engines that compute with OpenMP threads."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any


def load_engine(module: str) -> Any:  # noqa: ANN401 -- these packages have no types
    """Import a compiled engine so that its idle threads sleep.

    By default OpenMP's threads spin while they wait for one another. Where other work runs on the same cores, that
    slows an engine down to a tenth and less; sleeping costs nothing measurable. What the user has set stays.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    return import_module(module)
