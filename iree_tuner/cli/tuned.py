"""A program with the specs that `iree-tuner tune` wrote for it."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cyclopts import Parameter

from iree_tuner.cli.spec import with_own_flags
from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.errors import TunerError
from iree_tuner.files import note_input
from iree_tuner.program.source import Program
from iree_tuner.spec.external import SPEC_FLAG, located
from iree_tuner.spec.io import load_spec
from iree_tuner.targets import Target, with_flags
from iree_tuner.tuning.versions import with_spec


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TunedFlags:
    """The specs to apply.

    Attributes
    ----------
    spec
        Apply this spec, written by `iree-tuner tune`, with the compiler flags that it records, and compare
        with the program without it.
    kernels
        Also use the external kernels of this spec, written by `iree-tuner kernel` or `tune --kernels`.
    """

    spec: Path | None = None
    kernels: Path | None = None

    @property
    def given(self) -> bool:
        """Whether there is anything to apply."""
        return self.spec is not None or self.kernels is not None

    @contextmanager
    def applied(self, program: Program, target: Target) -> Generator[tuple[Program, Target]]:
        """The program and the target with them. Raises TunerError for a file that is not such a spec."""
        if self.spec is not None:
            module = load_spec(self.spec, new_context())
            program, target = with_spec(program, to_bytecode(module)), with_own_flags(target, module)
        with with_kernels(target, self.kernels) as flagged:
            yield program, flagged


AS_IT_IS = TunedFlags()


@contextmanager
def with_kernels(target: Target, spec: Path | None) -> Generator[Target]:
    """Add the flag that puts external kernels into a program to a target."""
    if spec is None:
        yield target
        return
    if not spec.is_file():
        raise TunerError("no such file", location=str(spec))
    note_input(spec)
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        found = Path(folder) / spec.name
        found.write_text(str(located(spec, new_context())))
        yield with_flags(target, (f"{SPEC_FLAG}={found}",))
