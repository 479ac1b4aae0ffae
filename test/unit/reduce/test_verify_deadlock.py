"""The deadlock that docs/upstream/verify_deadlock.md reports: that it is still there."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "upstream" / "verify_deadlock.md"
LIMIT_S = 120.0


def script() -> str:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.exhaustive
@pytest.mark.skipif(not version("iree-base-compiler").startswith("3.13."), reason="the report is about 3.13")
def test_it_hangs() -> None:
    """reduce.reducer does without threads"""
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", script()], timeout=LIMIT_S, check=True)


def test_it_ends_without_threads() -> None:
    single = script().replace(
        "with ir.Context(), ir.Location.unknown():\n",
        "with ir.Context() as context, ir.Location.unknown():\n    context.enable_multithreading(False)\n",
    )
    assert "enable_multithreading" in single
    ended = subprocess.run(
        [sys.executable, "-c", single], capture_output=True, text=True, timeout=600, check=True
    )
    assert ended.stdout == "no deadlock\n"
