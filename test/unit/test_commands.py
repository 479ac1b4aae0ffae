"""Commands are found without importing them; packages bring their own (`test/plugin` is one)."""

import subprocess
import sys
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

import pytest
from programs import ZERO_MATMUL

from iree_tuner import installed
from iree_tuner.cli import commands as table
from iree_tuner.cli.commands import CORE, Command, commands
from iree_tuner.cli.main import application, run

BROKEN = Command("no_such_package.command:run", "Never runs.")
SECOND = Command("iree_tuner.cli.docs:docs", "Is another command of the name.")
EXTENDED = Command("iree_tuner.cli.docs:docs", "Print a page.", extends=True)


@pytest.fixture
def brought(monkeypatch):
    """Replaces the entry points of installed commands."""

    def put(*pairs):
        found = [EntryPoint(name, value, table.GROUP) for name, value in pairs]
        others = {table.GROUP: found}
        monkeypatch.setattr(
            installed, "entry_points", lambda group: others.get(group) or entry_points(group=group)
        )

    return put


@pytest.mark.parametrize("name", commands())
def test_a_summary_is_the_first_line_of_the_commands_help(name):
    command = commands()[name]
    module, _, attribute = command.home.partition(":")
    found = getattr(import_module(module), attribute)
    told = found.__doc__ if attribute != "app" else found.help
    assert told.strip().splitlines()[0] == command.summary


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_no_command_and_no_compiler_is_imported_for(argument):
    code = (
        f"import sys; from iree_tuner.cli.main import run; run(['{argument}'])\n"
        "from iree_tuner.cli.commands import commands\n"
        "homes = {command.home.partition(':')[0] for command in commands().values()}\n"
        "heavy = ({'numpy', 'z3', 'iree.compiler'} | homes).intersection(sys.modules)\n"
        "sys.exit(f'{heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600, capture_output=True)


def test_libraries_for_charts_are_not_needed_to_list_operations():
    """They are an extra, and take a second to import."""
    code = (
        "import sys; sys.modules['altair'] = None\n"
        "from iree_tuner.cli.main import run; sys.exit(run(['suite', 'list', 'cpu']))"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=600, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_package_brings_a_command(tmp_path, capsys):
    program = tmp_path / "matmul.mlir"
    program.write_text(ZERO_MATMUL)
    assert run(["functions", str(program), "--json"]) == 0
    assert capsys.readouterr().out == '{"function": "mm"}\n'


def test_a_command_that_cannot_be_imported_says_so_and_breaks_no_other(brought, capsys):
    brought(
        ("broken", f"{__name__}:BROKEN"), ("absent", "no_such_package:ABSENT"), ("odd", f"{__name__}:CORE")
    )
    for name, told in (
        ("broken", "error: the command 'broken' (no_such_package.command:run) cannot be used: No module"),
        ("absent", "error: the command 'absent' (no_such_package:ABSENT) cannot be used: No module"),
        ("odd", f"error: the command 'odd' ({__name__}:CORE) is not a Command"),
    ):
        for arguments in ([name], [name, "x", "--y"], [name, "--help"]):
            assert run(arguments) == 1
            shown = capsys.readouterr().err
            assert shown.startswith(told)
            assert shown.count("\n") == 1
    assert run(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "broken Never runs." in shown
    assert "absent the command 'absent' (no_such_package:ABSENT) cannot be used" in shown
    assert run(["docs"]) == 0


def test_two_owners_of_a_name_are_an_error_of_this_command_alone(brought, capsys):
    brought(("two", f"{__name__}:BROKEN"), ("two", f"{__name__}:SECOND"), ("tune", f"{__name__}:SECOND"))
    assert run(["two"]) == 1
    assert f"two packages provide the command 'two': {__name__}:BROKEN and" in capsys.readouterr().err
    assert run(["tune"]) == 1
    assert "the core has the command 'tune', which" in capsys.readouterr().err
    assert run(["docs"]) == 0


def test_a_command_takes_the_place_of_the_cores_if_it_extends_it(brought, capsys):
    brought(("run", f"{__name__}:EXTENDED"))
    assert commands()["run"] == EXTENDED != CORE["run"]
    assert run(["run", "measuring"]) == 0


def test_a_command_of_a_group_is_called_in_it(brought, capsys):
    brought(("spec.pages", f"{__name__}:SECOND"), ("none.pages", f"{__name__}:SECOND"))
    assert run(["spec", "pages"]) == 0
    assert "measuring" in capsys.readouterr().out
    assert "none" not in application(["none", "pages"])
    del application(["spec"])["spec"]["pages"]  # the group is kept
