"""One context for all of this room's tests."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from iree_tuner.compiler.context import new_context


@pytest.fixture(scope="session")
def context() -> ir.Context:
    return new_context()
