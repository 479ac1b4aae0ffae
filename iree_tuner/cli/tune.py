"""`iree-tuner tune`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.durations import parse_duration
from iree_tuner.cli.output import people
from iree_tuner.cli.progress import Progress
from iree_tuner.cli.report import report_result, result_to_json
from iree_tuner.cli.output import print_json
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.store.journal import Journal
from iree_tuner.tune import tune_module

_SPEC_SUFFIXES = (".mlir", ".mlirbc")


def tune(
    program: str,
    /,
    *,
    device: str = "local-task",
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    effort: str = "default",
    budget: str | None = None,
    strategy: str = "local",
    seed: int = 0,
    jobs: int | None = None,
    journal: Path | None = None,
    vmfb: Path | None = None,
    self_test: Annotated[bool, Parameter(negative="")] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Tune a program's dispatches on a device and write the tuning spec.

    Ctrl-C ends the search; what was found until then is judged and written.

    Example: `iree-tuner tune examples/mlp_batch1.mlir --effort quick -o mlp.spec.mlir`

    Parameters
    ----------
    program
        MLIR text or bytecode in any input dialect of the compiler, or an ONNX model.
    device
        Device URI: local-task, local-sync.
    output
        The spec to write, .mlir or .mlirbc; the program's name with .spec.mlir by default.
    effort
        How much is tried: quick, default or full.
    budget
        Time for the search, over all workloads: 90s, 5m, 1h30m.
    strategy
        In what order candidates are tried: local, shuffle.
    seed
        Seed of everything random.
    jobs
        Compile workers; one a core by default.
    journal
        Append every trial to this file, one JSON object a line.
    vmfb
        Also write the program compiled with the spec.
    self_test
        Try nothing but the default itself, to see that the measurements call it a tie.
    as_json
        Print the results as JSON, one object a line.
    """
    budget_s = parse_duration(budget) if budget else None
    if jobs is not None and jobs < 1:
        raise UsageError("--jobs must be at least 1")
    path = _writable(output or _beside(program))
    with Journal(journal) as trials, Progress(people, trials) as progress:
        result = tune_module(
            program, device=device, effort=effort, budget_s=budget_s, strategy=strategy, seed=seed,
            jobs=jobs, self_test=self_test, observer=progress,
        )  # fmt: skip
    result.save(path)
    if vmfb is not None:
        _writable(vmfb).write_bytes(result.vmfb())
    if as_json:
        for record in result_to_json(result, path):
            print_json(record)
    report_result(people, result, path)
    return 0


def _beside(program: str) -> Path:
    name = Path(program).name
    return Path(f"{name.rsplit('.', 1)[0]}.spec.mlir")


def _writable(path: Path) -> Path:
    """Find out that a file cannot be written before, not after, the work."""
    if path.suffix not in _SPEC_SUFFIXES and path.suffix != ".vmfb":
        raise UsageError(f"{path}: a spec is written as .mlir or .mlirbc")
    if not path.parent.is_dir():
        raise TunerError("there is no such folder", location=str(path.parent))
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise TunerError(f"cannot write: {error.strerror}", location=str(path)) from None
    if path.stat().st_size == 0:
        path.unlink()
    return path
