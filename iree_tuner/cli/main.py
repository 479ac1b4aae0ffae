"""`iree-tuner`: the application, and how its errors are told."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from cyclopts import App, CycloptsError

from iree_tuner import __version__
from iree_tuner.compiler.versions import check_release
from iree_tuner.errors import TunerError, UsageError

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
    "record": (
        "record:record",
        "Measure a random sample of the search space of each workload of a program, into recordings.",
    ),
    "replay": (
        "replay:replay",
        "Run search strategies against recordings, at no cost; the same seed gives the same decisions.",
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
    "spec": ("spec:app", "Build, link, check, embed and explain tuning specs."),
    "specs": ("specs:app", "The specs that ship: tried first where a program has the same workloads."),
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
    "db": ("db:app", "Look at, share and clean up the trials of earlier runs."),
    "report": (
        "report_html:report",
        "Write what a run found as one HTML file, with charts; it opens without a network.",
    ),
    "doctor": (
        "doctor:doctor",
        "Say what is installed and what can be tuned here. Status 1 when the IREE packages do not fit.",
    ),
}
"""Where each command is, and the first line of its help: none is imported before it is called."""


def application(arguments: Sequence[str]) -> App:
    """The command line; what is told of each command comes from itself where it is called, else from here."""
    app = App(name="iree-tuner", help=_HELP, version=__version__, version_format="plaintext")
    called = arguments[0] if arguments else ""
    for name, (home, summary) in COMMANDS.items():
        app.command(f"iree_tuner.cli.{home}", name=name, help=None if name == called else summary)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run a command; its status."""
    try:
        if "doctor" not in arguments[:1]:
            check_release()
        # Status and messages are decided here, not by the framework.
        result = application(arguments)(
            arguments, exit_on_error=False, print_error=False, result_action="return_value"
        )
    except CycloptsError as error:
        return _tell(str(error).strip().splitlines()[0], 2)
    except UsageError as error:
        return _tell(str(error), 2)
    except TunerError as error:
        return _tell(str(error), 1)
    except BrokenPipeError:
        return 1
    except OSError as error:
        return _tell(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "), 1)
    except KeyboardInterrupt:
        return _tell("interrupted", 130)
    return result if isinstance(result, int) else 0


def _tell(message: str, status: int) -> int:
    from rich.console import Console  # not in the way of commands that succeed

    line = " ".join(message.split())
    Console(stderr=True, soft_wrap=True, highlight=False).print("[bold red]error:[/]", end=" ")
    print(line, file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
