"""The list of commands, which imports none of them, says what they say of themselves."""

import subprocess
import sys
from importlib import import_module

import pytest

from iree_tuner.cli.main import COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_a_summary_is_the_first_line_of_the_commands_help(name):
    home, summary = COMMANDS[name]
    module, _, attribute = home.partition(":")
    command = getattr(import_module(f"iree_tuner.cli.{module}"), attribute)
    told = command.__doc__ if attribute != "app" else command.help
    assert told.strip().splitlines()[0] == summary


def test_the_version_imports_no_command_and_no_compiler():
    code = (
        "import sys; from iree_tuner.cli.main import run; run(['--version'])\n"
        "heavy = {'numpy', 'z3', 'iree.compiler'}.intersection(sys.modules)\n"
        "commands = [name for name in sys.modules if name.startswith('iree_tuner.cli.')]\n"
        "sys.exit(f'{heavy} {commands}' if heavy or commands != ['iree_tuner.cli.main'] else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600, capture_output=True)
