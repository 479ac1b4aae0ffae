"""The suite measures other releases of IREE, to compare releases."""

from __future__ import annotations

import pytest

from iree_tuner.cli.main import run
from iree_tuner.compiler import versions


def test_the_suite_runs_with_another_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "_version", dict.fromkeys(versions.PACKAGES, "3.12.0").get)
    assert run(["suite", "list"]) == 0
