"""Options that name a codegen script, for commands that compile with one."""

from __future__ import annotations

from dataclasses import dataclass

from cyclopts import Parameter

from iree_tuner.cli.knobs import Knobs, parse_knobs
from iree_tuner.errors import UsageError
from iree_tuner.script.script import Script, load_script


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScriptFlags:
    """The codegen script to use.

    Attributes
    ----------
    transform_script
        Use this codegen script: a file, or the name of one that ships (iree-tuner script list).
    knob
        Set a knob of the script: rows=8. Repeatable.
    """

    transform_script: str | None = None
    knob: Knobs = ()

    def load(self) -> Script | None:
        """Load the script and set its knobs. None without a script. Raises what `load_script` raises."""
        if self.transform_script is None:
            if self.knob:
                raise UsageError("--knob requires --transform-script")
            return None
        return load_script(self.transform_script).chosen(parse_knobs(self.knob))
