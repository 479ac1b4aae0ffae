"""`iree-tuner`: the application, and how its errors are told."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError
from rich.console import Console

from iree_tuner import __version__
from iree_tuner.cli.bench import bench
from iree_tuner.cli.compile import compile_
from iree_tuner.cli.db import app as db_app
from iree_tuner.cli.doctor import doctor
from iree_tuner.cli.extract import extract
from iree_tuner.cli.kernel import app as kernel_app
from iree_tuner.cli.profile import profile
from iree_tuner.cli.record import record
from iree_tuner.cli.replay import replay
from iree_tuner.cli.report_html import report
from iree_tuner.cli.run import run as run_command
from iree_tuner.cli.script import app as script_app
from iree_tuner.cli.space import space
from iree_tuner.cli.spec import app as spec_app
from iree_tuner.cli.specs import app as specs_app
from iree_tuner.cli.suite import app as suite_app
from iree_tuner.cli.tune import tune
from iree_tuner.compiler.versions import check_release
from iree_tuner.compiler.worker import WorkerCrashError, WorkerTimeoutError
from iree_tuner.errors import TunerError, UsageError

app = App(
    name="iree-tuner",
    help="""Find faster compiler configurations for a program, and return them as an IREE tuning spec.

    Example: `iree-tuner tune model.mlir --device local-task -o model.spec.mlir`
    """,
    version=__version__,
)
app.command(tune)
app.command(compile_, name="compile")
app.command(record)
app.command(replay)
app.command(extract)
app.command(profile)
app.command(space)
app.command(spec_app)
app.command(specs_app)
app.command(kernel_app)
app.command(run_command)
app.command(bench)
app.command(script_app)
app.command(suite_app)
app.command(db_app)
app.command(report)
app.command(doctor)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its status."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run a command; its status."""
    try:
        if "doctor" not in arguments[:1]:
            check_release()
        # Status and messages are decided here, not by the framework.
        result = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return _tell(str(error).strip().splitlines()[0], 2)
    except UsageError as error:
        return _tell(str(error), 2)
    except (TunerError, WorkerCrashError, WorkerTimeoutError) as error:
        return _tell(str(error), 1)
    except BrokenPipeError:
        return 1
    except OSError as error:
        return _tell(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "), 1)
    except KeyboardInterrupt:
        return _tell("interrupted", 130)
    return result if isinstance(result, int) else 0


def _tell(message: str, status: int) -> int:
    line = " ".join(message.split())
    Console(stderr=True, soft_wrap=True, highlight=False).print("[bold red]error:[/]", end=" ")
    print(line, file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
