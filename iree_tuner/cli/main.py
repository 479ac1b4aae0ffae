"""`iree-tuner`: the application, and how it reports errors."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from io import TextIOBase, TextIOWrapper
from types import FrameType
from typing import Self, get_args

from cyclopts import App, ArgumentCollection, CycloptsError, Parameter

from iree_tuner import __version__
from iree_tuner.cli.commands import CORE, commands
from iree_tuner.compiler.process import own_temporary_folder
from iree_tuner.compiler.versions import check_release, other_release
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import of_one_command

_INTERRUPTED, _DEFECT = 130, 70

_UNKNOWN_CPU = re.compile(
    r"Unknown CPU for target architecture (\w+)\.\s+List of accepted CPUs:\s+([\w ,.+-]+)"
)


_LONGEST = 1000
"""Characters of a message on one line."""

_HELP = """Autotuner for the IREE compiler: find faster configurations for a program and write a tuning spec.

Example: `iree-tuner tune model.mlir --device local-task -o model.spec.mlir`
"""

MOVED: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("record",): ("db", "record"),
    ("replay",): ("db", "replay"),
    ("specs", "list"): ("spec", "shipped"),
}
"""Names of commands before release 0.1. They keep working for one more release."""


def _renamed(arguments: Sequence[str]) -> Sequence[str]:
    """Replace a command's old name with the new one, and print a note."""
    for old, new in MOVED.items():
        if tuple(arguments[: len(old)]) == old:
            note = f"note: 'iree-tuner {' '.join(old)}' is now 'iree-tuner {' '.join(new)}'"
            print(note, file=sys.stderr)
            return [*new, *arguments[len(old) :]]
    return arguments


def _paths_after(arguments: Sequence[str]) -> Sequence[str]:
    """Write names of files behind `--` so that they are no options: `-x.mlir` is `./-x.mlir`."""
    if "--" not in arguments:
        return arguments
    end = list(arguments).index("--")
    return [
        f"./{each}" if place > end and each.startswith("-") and each != "-" else each
        for place, each in enumerate(arguments)
    ]


def application(arguments: Sequence[str]) -> App:
    """Build the command line.

    Only the command that is called supplies its own help; `commands` has the rest. Raises TunerError if that
    command cannot be used.
    """
    app = App(
        name="iree-tuner", help=_HELP, version=__version__, version_format="plaintext",
        default_parameter=Parameter(show_default=_shown_default), config=_only_whole_numbers,
        suppress_keyboard_interrupt=False,  # `run` reports it
    )  # fmt: skip
    app.register_install_completion_command(help="Install shell completion for bash, zsh or fish.")
    for name, command in commands().items():
        *group, leaf = name.split()
        if group != list(arguments[: len(group)]) or (group and group[0] not in app):
            continue
        called = name.split() == list(arguments[: len(group) + 1])
        if CORE.get(name) is not command and (called or arguments[:1] == ["--install-completion"]):
            command = command.imported(name)
        if called and command.problem is not None:
            raise command.problem
        parent = app[group[0]] if group else app
        if leaf in parent:  # a group is kept from one run in a process to the next
            del parent[leaf]
        home = _no_command if command.problem else command.home
        parent.command(home, name=leaf, help=None if called else command.summary)
    return app


def _no_command() -> None:
    """Stand for a command that cannot be used in lists of commands."""


def _only_whole_numbers(_: App, __: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Reject `1.5` for an integer, which cyclopts would round. Raises UsageError."""
    for argument in arguments:
        kinds = get_args(argument.hint) or (argument.hint,)
        for token in argument.tokens if int in kinds and float not in kinds else ():
            if "." in token.value:
                raise UsageError(f"{argument.name} must be a whole number, but is {token.value}")


def _shown_default(value: object) -> str | None:
    """Format a default as a user would write it. None for an unset flag and for an empty value."""
    if value is None or value is False or value in ((), ""):
        return None
    if value is True:
        return "on"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run a command. Returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":  # a name may hold anything
            stream.reconfigure(errors="backslashreplace")
    with _Signals() as signals, redirect_stdout(sys.stdout or _ClosedOutput()):
        try:
            arguments = _paths_after(_renamed(arguments))
            with own_temporary_folder(), of_one_command(arguments):
                first = arguments[0] if arguments else ""
                command = commands().get(first) if other_release() else None
                if first != "doctor" and not (command is not None and command.other_releases):
                    check_release()
                # Status and messages are decided here, not by the framework.
                with _held_back():
                    app = application(arguments)
                result = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
                sys.stdout.flush()
        except KeyboardInterrupt:
            return _tell(signals.name, signals.status or _INTERRUPTED)
        except BaseException as error:
            status = _failed(error, arguments)
            return signals.status or status
        return signals.status or (result if isinstance(result, int) else 0)


@contextmanager
def _held_back() -> Generator[None]:
    """Hold signals back while a command is imported: nanobind ends the process where one raises in that."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _failed(error: BaseException, arguments: Sequence[str]) -> int:
    """Print the error that ended a command, in one line. Returns the exit status."""
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
            return _tell("not enough memory", 1)
        case UnicodeEncodeError() if odd := [each for each in arguments if not each.isprintable()]:
            return _tell(f"{odd[0]!r} is not valid UTF-8", 2)
        case _:
            return _tell(_defect(error), _DEFECT)


def _unknown_cpu(message: str, arguments: Sequence[str]) -> str:
    """Shorten LLVM's message for an unknown CPU, which lists all CPUs: name it, and suggest similar names."""
    found = _UNKNOWN_CPU.search(message)
    if found is None:
        return message
    import difflib  # hardly ever needed

    words = [word for each in arguments for word in re.split(f"[:+=]|{found[1]}-", each) if word]
    like = {word: difflib.get_close_matches(word, found[2].split(", "), n=4) for word in words}
    name, near = max(like.items(), key=lambda pair: len(pair[1]))
    if not near:
        return f"the compiler does not know this CPU of {found[1]}"
    return f"the compiler does not know the {found[1]} CPU {name!r} (similar: {', '.join(near)})"


def _drop_output() -> None:
    """Discard unwritten output. Otherwise Python writes it again at exit and prints a traceback."""
    if sys.stdout is sys.__stdout__ and isinstance(sys.stdout, TextIOWrapper):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _defect(error: BaseException) -> str:
    shown = "".join(traceback.format_exception(error))
    what = f"{type(error).__name__}: {error}"[:_LONGEST]
    where = _kept(f"{' '.join(sys.argv)}\n\n{shown}")
    return f"internal error in iree-tuner {__version__}, please report it: {what}, {where}"


def _kept(message: str) -> str:
    """Save a long message to a file. Returns a note that names the file."""
    try:
        handle, name = tempfile.mkstemp(prefix="iree_tuner_", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(message)
    except OSError as error:
        return f"the full message could not be saved: {error.strerror}"
    return f"full message in {name}"


class _ClosedOutput(TextIOBase):
    """Standard output that was closed before the start, for which Python has None."""

    def write(self, _: str) -> int:
        """Raises TunerError."""
        raise TunerError("standard output is closed")


class _Signals:
    """A context in which SIGTERM and SIGHUP act like Ctrl-C."""

    def __init__(self) -> None:
        self.status = 0  # the exit status after such a signal; 0 if none arrived
        self.name = "interrupted"  # what the error message says about it
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
    from iree_tuner.cli.output import printable  # not in the way of commands that succeed

    line = " ".join(printable(message).split())
    if len(line) > _LONGEST:
        line = f"{line[:_LONGEST]}..., {_kept(message)}"
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]  # closed before the start
        from rich.console import Console

        Console(stderr=True, soft_wrap=True, highlight=False).print("[bold red]error:[/]", end=" ")
        print(line, file=sys.stderr)
    return status
