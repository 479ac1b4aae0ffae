"""`iree-tuner`: the application, and how its errors are told."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from types import FrameType
from typing import Self, get_args

from cyclopts import App, ArgumentCollection, CycloptsError, Parameter

from iree_tuner import __version__
from iree_tuner.compiler.versions import check_release
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import of_one_command

_INTERRUPTED, _DEFECT = 130, 70

_UNKNOWN_CPU = re.compile(
    r"Unknown CPU for target architecture (\w+)\.\s+List of accepted CPUs:\s+([\w ,.+-]+)"
)

_LONGEST = 1000
"""Characters of a message on one line."""

_HELP = """Find faster compiler configurations for a program, and return them as an IREE tuning spec.

Example: `iree-tuner tune model.mlir --device local-task -o model.spec.mlir`
"""

COMMANDS: Mapping[str, tuple[str, str]] = {
    "tune": (
        "tune:tune",
        "Tune a program on a device: compiler flags, and a tuning spec for its dispatches.",
    ),
    "compile": (
        "compile:compile_",
        "Compile a program with a tuning spec, and with the compiler flags that the spec was made with.",
    ),
    "extract": (
        "extract:extract",
        "Print a program's dispatches: what each computes and how often it is called.",
    ),
    "profile": (
        "profile:profile",
        "Show where a program's time goes: by dispatch, against what the device could do.",
    ),
    "space": (
        "space:space",
        "Print the search spaces of each workload: sizes, knobs and samples; or try samples in the compiler.",
    ),
    "verify": (
        "verify:verify",
        "Judge the lowering configs of a program or a spec by constraints, without compiling them.",
    ),
    "spec": ("spec:app", "Build, link, check, embed and explain tuning specs; list those that ship."),
    "sanitize": (
        "sanitize:sanitize_",
        "Run a program's dispatches under a memory checker; status 1 where one reads or writes too far.",
    ),
    "kernel": ("kernel:app", "Put kernels that the compiler did not make in the place of what it makes."),
    "run": (
        "run:run",
        "Run a program and show its results, compiled as the compiler does or with a codegen script.",
    ),
    "bench": (
        "bench:bench",
        "Time a program; with a codegen script, in turns with what the compiler makes of it.",
    ),
    "script": ("script:app", "Codegen scripts in the transform dialect (docs/transforms.md)."),
    "suite": (
        "suite:app",
        "Generate operations, verify and time them, and compare IREE with other libraries (docs/suite.md).",
    ),
    "db": (
        "db:app",
        "Look at, share and clean up the trials of earlier runs; record whole samples, and replay searches.",
    ),
    "db record": (
        "record:record",
        "Measure a random sample of the search space of each workload of a program, into recordings.",
    ),
    "db replay": (
        "replay:replay",
        "Run search strategies against recordings, at no cost; the same seed gives the same decisions.",
    ),
    "spec reduce": (
        "spec_reduce:reduce",
        "Shrink a program or a spec that shows a defect, with a command as the judge.",
    ),
    "spec shipped": (
        "spec_shipped:shipped",
        "List the specs that ship: workloads, what they were measured on, and what they gained there.",
    ),
    "report": (
        "report_html:report",
        "Write what a run found as one HTML file, with charts; it opens without a network.",
    ),
    "worker": (
        "cluster:worker",
        "Compile and measure on this machine for runs of `tune --scheduler`; ends with Ctrl-C.",
    ),
    "cluster": (
        "cluster:cluster",
        "Show a cluster's workers: compile slots, devices, and what each is doing.",
    ),
    "docs": ("docs:docs", "Print a page of the documentation; without a name, list the pages."),
    "doctor": (
        "doctor:doctor",
        "Say what is installed and what can be tuned here. Status 1 when the IREE packages do not fit.",
    ),
}
"""Where each command is, and the first line of its help: none is imported before it is called.

Those of groups that are of two words are not imported with their group either."""


MOVED: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("record",): ("db", "record"),
    ("replay",): ("db", "replay"),
    ("specs", "list"): ("spec", "shipped"),
}
"""Commands by the names that they had before 0.1: they answer for one release more."""


def _renamed(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments with the command's new name, which is told."""
    for old, new in MOVED.items():
        if tuple(arguments[: len(old)]) == old:
            told = f"note: 'iree-tuner {' '.join(old)}' is now 'iree-tuner {' '.join(new)}'"
            print(told, file=sys.stderr)
            return [*new, *arguments[len(old) :]]
    return arguments


def application(arguments: Sequence[str]) -> App:
    """The command line; what is told of each command comes from itself where it is called, else from here."""
    app = App(
        name="iree-tuner", help=_HELP, version=__version__, version_format="plaintext",
        default_parameter=Parameter(show_default=_shown_default), config=_only_whole_numbers,
        suppress_keyboard_interrupt=False,  # `run` tells of it
    )  # fmt: skip
    app.register_install_completion_command(help="Have the shell complete commands: bash, zsh, fish.")
    for name, (home, summary) in COMMANDS.items():
        *group, leaf = name.split()
        if group == list(arguments[: len(group)]):
            told = None if name.split() == list(arguments[: len(group) + 1]) else summary
            parent = app[group[0]] if group else app
            if leaf in parent:  # a group is kept from one run in a process to the next
                del parent[leaf]
            parent.command(f"iree_tuner.cli.{home}", name=leaf, help=told)
    return app


def _only_whole_numbers(_: App, __: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Cyclopts rounds `1.5` where a whole number is wanted. Raises UsageError."""
    for argument in arguments:
        kinds = get_args(argument.hint) or (argument.hint,)
        for token in argument.tokens if int in kinds and float not in kinds else ():
            if "." in token.value:
                raise UsageError(f"{argument.name} must be a whole number, and is {token.value}")


def _shown_default(value: object) -> str | None:
    """A default as a user would write it; nothing for a flag that is not set, or for what is empty."""
    if value is None or value is False or value in ((), ""):
        return None
    if value is True:
        return "on"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run a command; its status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":  # a name may hold anything
            stream.reconfigure(errors="backslashreplace")
    with _Signals() as signals, of_one_command():
        try:
            arguments = _renamed(arguments)
            if "doctor" not in arguments[:1]:
                check_release()
            # Status and messages are decided here, not by the framework.
            result = application(arguments)(
                arguments, exit_on_error=False, print_error=False, result_action="return_value"
            )
            if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]  # closed
                sys.stdout.flush()
        except KeyboardInterrupt:
            return _tell(signals.name, signals.status or _INTERRUPTED)
        except BaseException as error:
            status = _failed(error, arguments)
            return signals.status or status
        return signals.status or (result if isinstance(result, int) else 0)


def _failed(error: BaseException, arguments: Sequence[str]) -> int:
    """Tell what ended a command in one line; the status."""
    match error:
        case SystemExit():
            raise error
        case CycloptsError():
            return _tell(str(error).strip().splitlines()[0], 2)
        case UsageError():
            return _tell(str(error), 2)
        case TunerError():
            return _tell(_unknown_cpu(str(error), arguments), 1)
        case BrokenPipeError():  # who reads has had enough
            _drop_output()
            return 1
        case OSError():
            _drop_output()
            return _tell(f"{error.filename or 'standard output'}: {error.strerror or error}", 1)
        case MemoryError():
            return _tell("there is not enough memory", 1)
        case UnicodeEncodeError() if odd := [each for each in arguments if not each.isprintable()]:
            return _tell(f"{odd[0]!r} is no name: it is not UTF-8", 2)
        case _:
            return _tell(_defect(error), _DEFECT)


def _unknown_cpu(message: str, arguments: Sequence[str]) -> str:
    """LLVM lists all CPUs where one is not known, and does not name it: name it, and those like it."""
    found = _UNKNOWN_CPU.search(message)
    if found is None:
        return message
    import difflib  # hardly ever needed

    words = [word for each in arguments for word in re.split("[:+=]", each) if word]
    like = {word: difflib.get_close_matches(word, found[2].split(", "), n=4) for word in words}
    name, near = max(like.items(), key=lambda pair: len(pair[1]))
    hint = f" (near: {', '.join(near)})" if near else ""
    return f"the compiler knows no CPU {repr(name) if near else 'of that name'} for {found[1]}{hint}"


def _drop_output() -> None:
    """Forget what standard output did not take: else it is tried again at exit, and told as a traceback."""
    if sys.stdout is sys.__stdout__ and isinstance(sys.stdout, TextIOWrapper):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _defect(error: BaseException) -> str:
    """A line on a mistake of this program's own. What is needed to mend it is kept in a file."""
    shown = "".join(traceback.format_exception(error))
    what = f"{type(error).__name__}: {error}"[:_LONGEST]
    where = _kept(f"{' '.join(sys.argv)}\n\n{shown}")
    return f"this is a defect of iree-tuner {__version__}, please report it: {what}, {where}"


def _kept(message: str) -> str:
    """Where all of a long message is."""
    try:
        handle, name = tempfile.mkstemp(prefix="iree_tuner_", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(message)
    except OSError as error:
        return f"the rest of it could not be written: {error.strerror}"
    return f"all of it is in {name}"


class _Signals:
    """While this is entered, SIGTERM and SIGHUP do what Ctrl-C does, and it is known that one came.

    Attributes:
        status: what the process ends with where one came; 0 where none did.
        name: what is told of it.
    """

    def __init__(self) -> None:
        self.status = 0
        self.name = "interrupted"
        self._before: dict[int, object] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is signal.SIG_DFL:  # who ignores one (nohup) goes on doing so
                    self._before[number] = signal.signal(number, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._before:
            signal.signal(number, signal.SIG_DFL)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        self.status, self.name = 128 + number, f"ended by {signal.Signals(number).name}"
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)


def _tell(message: str, status: int) -> int:
    from iree_tuner.cli.printable import printable  # not in the way of commands that succeed

    line = " ".join(printable(message).split())
    if len(line) > _LONGEST:
        line = f"{line[:_LONGEST]}..., {_kept(message)}"
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]  # closed before the start
        from rich.console import Console

        Console(stderr=True, soft_wrap=True, highlight=False).print("[bold red]error:[/]", end=" ")
        print(line, file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
