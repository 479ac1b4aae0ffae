"""Where `suite run` and `suite compare` write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.groups import OUTPUT


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True, kw_only=True)
class SuiteOutputs:
    """What comes out.

    Attributes
    ----------
    output
        Folder for the results: rows, compiled code, specs. A run that was ended goes on where it was.
    csv
        Also write the rows as a table.
    as_json
        One JSON object a line on standard output.
    """

    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("results")
    csv: Path | None = None
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False
