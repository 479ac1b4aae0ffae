"""The core without its plug-ins has its own commands, and no other (`test/core.py` runs its tests)."""

import subprocess
import sys

from core import PLUG_INS, core_alone

from iree_tuner.cli.commands import CORE, commands

LIST = """
from importlib import import_module
from iree_tuner.cli.commands import commands
for name, command in commands().items():
    import_module(command.home.partition(":")[0])
    print(f"{name}: {command.home}")
"""


def test_the_core_alone_has_its_commands():
    with core_alone() as (folder, environment):
        command, how = [sys.executable, "-c", LIST], {"capture_output": True, "text": True, "timeout": 600}
        done = subprocess.run(command, cwd=folder, env=environment, **how)
        assert done.stderr == ""
        listed = dict(line.split(": ") for line in done.stdout.splitlines())
        assert not any((folder / "iree_tuner" / room).exists() for room in PLUG_INS)
    gone = tuple(f"iree_tuner.{room}." for room in PLUG_INS)
    left = {name: each.home for name, each in commands().items() if not each.home.startswith(gone)}
    assert listed == {name: each.home for name, each in CORE.items()} | left
