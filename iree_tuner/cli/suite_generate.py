"""`iree-tuner suite generate`: operations as programs in a folder."""

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
    """Write operations as programs, each with its arguments beside it.

    Example: `iree-tuner suite generate --m 64:1024:128 --n 64:1024:128 --k 4096 -o generated`

    Parameters
    ----------
    suites
        Suites by name (`iree-tuner suite list`), .toml files, commands of MIOpenDriver, BOO or Fusilli in
        quotes, or .txt files of these; profiler where nothing is asked for.
    output
        The folder to write to; what it has already of an operation is written over.
    as_json
        One JSON object an operation on standard output.
    """
    for each in chosen_operations(suites, flags):
        path = folder.write(output, each)
        people.print(f"[Generating]: {path}", markup=False, soft_wrap=True)
        if as_json:
            print_json({"operation": each.name, **operation.to_json(each), "path": str(path)})
    return 0
