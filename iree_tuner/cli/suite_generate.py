"""`iree-tuner suite generate`: write operations as programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.output import people, print_json
from iree_tuner.cli.suite_operations import OperationFlags, chosen_operations
from iree_tuner.suite import folder, operation

_DEFAULTS = OperationFlags()


def generate(
    *suites: str,
    flags: OperationFlags = _DEFAULTS,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("generated"),
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Write operations as MLIR programs, together with their arguments, to a folder.

    Example: `iree-tuner suite generate --m 64:1024:128 --n 64:1024:128 --k 4096 -o generated`

    Parameters
    ----------
    suites
        Operations: names of suites (`iree-tuner suite list`), suite files (.toml), quoted commands of
        MIOpenDriver, BOO or Fusilli, or .txt files of such commands. Default: the suite profiler.
    output
        Write to this folder. Existing files of the same operations are overwritten.
    as_json
        Print JSON, one object per operation.
    """
    for each in chosen_operations(suites, flags):
        path = folder.write(output, each)
        people.print(f"[Generating]: {path}", markup=False, soft_wrap=True)
        if as_json:
            print_json({"operation": each.name, **operation.to_json(each), "path": str(path)})
    return 0
