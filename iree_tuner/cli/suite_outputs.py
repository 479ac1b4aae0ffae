"""The output files of `suite run` and `suite compare`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.groups import OUTPUT


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class SuiteOutputs:
    """The files to write.

    Attributes
    ----------
    output
        Write the results to this folder: rows, compiled code, specs. To resume an interrupted run, name its
        folder.
    csv
        Also write the rows as a table, .csv.
    as_json
        Print JSON, one object per line.
    """

    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("results")
    csv: Path | None = None
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False
