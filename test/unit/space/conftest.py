"""One context for all of this room's tests, and each compilation once."""

from __future__ import annotations

import pytest
from iree.compiler import ir
from once import each_once  # noqa: F401 (a fixture)

from iree_tuner.compiler.context import new_context


@pytest.fixture(scope="session")
def context() -> ir.Context:
    return new_context()
