"""Another release of IREE is refused, but by commands that say that they run with it."""

from __future__ import annotations

import pytest

from iree_tuner.cli import commands
from iree_tuner.cli.commands import Command
from iree_tuner.cli.main import run
from iree_tuner.compiler import versions


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """What is installed, as the tuner is told; `docs` runs with other releases, too."""
    releases: dict[str, str | None] = dict.fromkeys(versions.PACKAGES, "3.12.0")
    monkeypatch.setattr(versions, "_version", releases.get)
    docs = Command("iree_tuner.cli.docs:docs", commands.CORE["docs"].summary, other_releases=True)
    monkeypatch.setattr(commands, "CORE", {**commands.CORE, "docs": docs})
    return releases


def test_commands_are_refused_another_release_unless_they_take_it(found, capsys):
    del found
    assert run(["docs"]) == 0
    assert run(["spec", "shipped"]) == 1
    assert "iree_tuner works with IREE 3.13.0, but iree-base-compiler is 3.12.0" in capsys.readouterr().err


@pytest.mark.parametrize(("compiler", "runtime"), [("3.12.0", "3.13.0"), (None, None), ("3.12.0", None)])
def test_the_pair_must_be_of_one_release(found, compiler, runtime):
    found |= dict(zip(versions.PACKAGES, (compiler, runtime), strict=True))
    assert versions.other_release() == ""
    assert run(["docs"]) == 1
