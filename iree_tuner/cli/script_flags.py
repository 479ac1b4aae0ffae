"""Flags that name a codegen script, for commands that compile with one."""

from __future__ import annotations

from dataclasses import dataclass

from cyclopts import Parameter

from iree_tuner.cli.knobs import Knobs, parse_knobs
from iree_tuner.errors import UsageError
from iree_tuner.transforms.script import Script, load_script


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScriptFlags:
    """Which script.

    Attributes
    ----------
    transform_script
        A codegen script, a file or the name of one that ships (iree-tuner script list).
    knob
        A value of one of the script's knobs, as rows=8. May be given several times.
    """

    transform_script: str | None = None
    knob: Knobs = ()

    def load(self) -> Script | None:
        """The script with its knobs set; None where none is named. Raises what `load_script` raises."""
        if self.transform_script is None:
            if self.knob:
                raise UsageError("--knob is of a script", hint="give --transform-script")
            return None
        return load_script(self.transform_script).chosen(parse_knobs(self.knob))
