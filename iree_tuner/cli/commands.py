"""The commands: where each is defined, and what it is for. A command is imported when it is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint

from iree_tuner.errors import TunerError
from iree_tuner.installed import loaded, named, only, owner

GROUP = "iree_tuner.commands"
"""Entry points that name a `Command`. Their names are the commands'; `db.record` is a command of `db`."""

_WHAT = "command"


@dataclass(frozen=True)
class Command:
    """A command, or a group of commands.

    Attributes:
        home: a function, or an application of cyclopts: "package.module:name".
        summary: the first line of its help.
        extends: it takes the place of the command of this name that the core has, and calls it.
        other_releases: it runs with other releases of IREE, too.
        problem: why it cannot be used.
    """

    home: str
    summary: str
    extends: bool = False
    other_releases: bool = False
    problem: TunerError | None = None

    def imported(self, name: str) -> Command:
        """The command, imported; it has a `problem` if that fails. `name` is for messages."""
        module, _, attribute = self.home.partition(":")
        try:
            getattr(import_module(module), attribute)
        except Exception as error:  # whatever another package's code does
            return _unusable(self.home, f"the command '{name}' ({self.home}) cannot be used: {error}")
        return self


CORE: Mapping[str, Command] = {
    "tune": Command("iree_tuner.cli.tune:tune",
        "Search for faster configurations of a program's dispatches and write them as a tuning spec."),
    "compile": Command("iree_tuner.cli.compile:compile_",
        "Compile a program with a tuning spec and with the compiler flags that the spec records."),
    "extract": Command("iree_tuner.cli.extract:extract",
        "List a program's dispatches: workload, number of calls, and the compiler's configuration."),
    "profile": Command("iree_tuner.cli.profile:profile",
        "Show how much time each dispatch takes, compared with the device's roofline."),
    "space": Command("iree_tuner.cli.space:space",
        "Print the search spaces of a program's workloads: size, knobs, constraints and samples."),
    "verify": Command("iree_tuner.cli.verify:verify",
        "Check the lowering configs in a program or a spec against constraints, without compiling."),
    "spec": Command("iree_tuner.cli.spec:app",
        "Build, link, check, embed and explain tuning specs. List the specs that ship."),
    "sanitize": Command("iree_tuner.cli.sanitize:sanitize_",
        "Run a program's dispatches under a memory checker and report out-of-bounds accesses."),
    "run": Command("iree_tuner.cli.run:run", "Run a program once, and print its results."),
    "bench": Command("iree_tuner.cli.bench:bench", "Measure a program's run time."),
    "db": Command("iree_tuner.cli.db:app",
        "List, export, merge and prune stored trials. Record search spaces and replay searches on them."),
    "db record": Command("iree_tuner.cli.record:record",
        "Measure a random sample of each workload's search space and write it as a recording."),
    "db replay": Command("iree_tuner.cli.replay:replay",
        "Run search strategies on recordings, without a device. Results depend only on the seed."),
    "report": Command("iree_tuner.cli.report_html:report",
        "Write a report of a tuning run: one HTML file with tables and charts."),
    "docs": Command("iree_tuner.cli.docs:docs",
        "Print a page of the documentation. Without a name, list the pages."),
    "doctor": Command("iree_tuner.cli.doctor:doctor",
        "Check the installation, and list the devices and targets that can be tuned on this machine."),
}  # fmt: skip
"""Commands of the core. Names of two words are commands of a group that are not imported with the group."""


def commands() -> dict[str, Command]:
    """All commands by name: those of the core and of entry points. Nothing is imported but their summaries.

    Commands that cannot be used have a `problem`: others can be called.
    """
    found = dict(CORE)
    for name, entries in named(GROUP).items():
        try:
            command = _command(entries)
        except TunerError as error:
            command = _unusable(entries[0].value, str(error))
        found[name.replace(".", " ")] = command
    return found


def _command(entries: Sequence[EntryPoint]) -> Command:
    """The command of an entry point. Raises TunerError if it is not one, or if others have its name."""
    entry = only(entries, _WHAT)
    command = loaded(entry, _WHAT)
    if not isinstance(command, Command):
        raise TunerError(f"the command '{entry.name}' ({entry.value}) is not a {Command.__name__}")
    if entry.name.replace(".", " ") in CORE and not command.extends:
        raise TunerError(
            f"the core has the command '{entry.name}', which {owner(entry)} provides, too",
            hint="uninstall it, or have it extend the command",
        )
    return command


def _unusable(home: str, problem: str) -> Command:
    return Command(home, problem, problem=TunerError(problem))
