"""What `--help` of each command says at 80 columns: goldens in `help/`, for people to read in a change.

python test/unit/test_help.py    # writes them anew
"""

import contextlib
import importlib.util
import io
import os
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from unittest import mock

import pytest

from iree_tuner import installed
from iree_tuner.cli.commands import GROUP
from iree_tuner.cli.main import application, run
from iree_tuner.installed import entry_points

GOLDENS = Path(__file__).parent / "help"


@cache
def own_entry_points(group: str) -> list[EntryPoint]:
    """Without the commands of other packages, as of `test/plugin`."""
    found = entry_points(group)
    return [each for each in found if group != GROUP or each.dist is None or each.dist.name == "iree-tuner"]


def commands(path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All commands, each after the group that it is in."""
    yield path
    with mock.patch.object(installed, "entry_points", own_entry_points):
        app = application(path)
    for name in path:
        app = app[name]
    for name in app:
        if not name.startswith("-"):
            yield from commands((*path, name))


def shown(path: tuple[str, ...]) -> str:
    """The help of a command."""
    out = io.StringIO()
    own = mock.patch.object(installed, "entry_points", own_entry_points)
    with own, mock.patch.dict(os.environ, {"COLUMNS": "80"}), contextlib.redirect_stdout(out):
        assert run([*path, "--help"]) == 0
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def golden(path: tuple[str, ...]) -> Path:
    return GOLDENS / f"{' '.join(('iree-tuner', *path)).replace(' ', '_')}.txt"


COMMANDS = tuple(commands())


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_is_what_people_have_read(path):
    if path == ("tune",) and importlib.util.find_spec("iree_tuner_strategies"):
        pytest.skip("the help of tune names the strategies of benchmarks/strategies too")
    told = shown(path)
    assert told == golden(path).read_text(), "python test/unit/test_help.py writes it anew"
    assert max(map(len, told.splitlines())) <= 80


def test_every_argument_is_described():
    for path in COMMANDS:
        told = golden(path).read_text()  # which is what is shown: see above
        assert "Usage: iree-tuner" in told
        for line in told.splitlines():
            cells = line.strip("│ ").removeprefix("*").split()
            assert len(cells) != 1 or not cells[0].isupper(), f"{' '.join(path)}: {line}"


def test_every_golden_is_of_a_command():
    assert set(GOLDENS.iterdir()) == set(map(golden, COMMANDS))


if __name__ == "__main__":
    GOLDENS.mkdir(exist_ok=True)
    for old in GOLDENS.iterdir():
        old.unlink()
    for each in commands():
        golden(each).write_text(shown(each))
