"""One context for all of this room's tests, and each compilation once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from iree.compiler import ir
from once import each_once  # noqa: F401 (a fixture)

from iree_tuner.compiler.context import new_context
from iree_tuner.spec.entry import SpecEntry, entry_from_json

INPUTS = Path(__file__).resolve().parents[2] / "spec" / "Inputs"


@pytest.fixture(scope="session")
def context() -> ir.Context:
    return new_context()


@pytest.fixture
def entry() -> Callable[[str], SpecEntry]:
    """An entry of the lit tests, by the name of its file."""
    return lambda name: entry_from_json(json.loads((INPUTS / f"{name}.jsonl").read_text()))


@pytest.fixture
def program() -> Callable[[str], str]:
    """A program of the lit tests, by the name of its file."""
    return lambda name: (INPUTS / f"{name}.mlir").read_text()
