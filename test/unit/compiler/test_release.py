"""Another release of IREE: the suite measures it, to compare releases; everything else refuses it."""

from __future__ import annotations

import pytest

from iree_tuner.cli.main import run
from iree_tuner.compiler import versions


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """What is installed, as the tuner is told."""
    releases: dict[str, str | None] = dict.fromkeys(versions.PACKAGES, "3.12.0")
    monkeypatch.setattr(versions, "_version", releases.get)
    return releases


def test_only_the_suite_runs_with_another_release(found, capsys):
    del found
    assert run(["suite", "list"]) == 0
    assert run(["spec", "shipped"]) == 1
    assert "iree_tuner works with IREE 3.13.0, but iree-base-compiler is 3.12.0" in capsys.readouterr().err


@pytest.mark.parametrize(("compiler", "runtime"), [("3.12.0", "3.13.0"), (None, None), ("3.12.0", None)])
def test_the_pair_must_be_of_one_release(found, compiler, runtime):
    found |= dict(zip(versions.PACKAGES, (compiler, runtime), strict=True))
    assert versions.other_release() == ""
    assert run(["suite", "list"]) == 1
