"""Compile operations with IREE: as the compiler makes them, with a spec and flags, or in a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.pool import Builder
from iree_tuner.program.bindings import Harness
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.phases import Compiled, submit_program
from iree_tuner.program.source import Program
from iree_tuner.space.configuration import Configuration
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.embed import embed_bytes
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.suite.programs import save_programs
from iree_tuner.tuning.lab import Lab


@dataclass(frozen=True)
class Version:
    """A way to compile an operation.

    Attributes:
        name: behind the operation's name, of the files.
        flags: in addition to the target's own.
        spec: bytecode of a tuning spec; empty for none.
        configuration: of the dispatch named; `spec` has it too, for the whole program.
        dispatch: which dispatch it is of.
    """

    name: str
    flags: tuple[str, ...] = ()
    spec: bytes = b""
    configuration: Configuration | None = None
    dispatch: str = ""


class Compilation:
    """One version of one operation, on its way: begun when it is made, so that several can be.

    Args:
        program: the operation's.
        version: how it is compiled.
        lab: where.
        with_parts: whether device time will be asked for, which needs each dispatch alone.
    """

    def __init__(self, program: Program, version: Version, lab: Lab, *, with_parts: bool) -> None:
        self._program = program
        self._version = version
        self._lab = lab.on(replace(lab.target, flags=(*lab.target.flags, *version.flags)))
        self._with_parts = with_parts
        data = program.data
        if version.spec:
            data = embed_bytes(data, version.spec, name=program.name)
        whole = replace(program, data=data)
        self._whole: Future[Compiled] = submit_program(whole, self._lab.target, self._lab.slots)

    def save(self, folder: Path, stem: str) -> None:
        """Wait for it, and write it. Raises TunerError where it does not compile."""
        whole = self._lab.slots.wait(self._whole).data
        parts, note = self._parts() if self._with_parts else ([], "")
        save_programs(folder, stem, whole, parts, note)

    def _parts(self) -> tuple[list[tuple[Harness, bytes, int]], str]:
        """Each dispatch that is called, compiled alone; or none of them, and why."""
        dispatches = extract(self._program, self._lab.target, self._lab.slots).dispatches
        called = [each for each in dispatches if each.calls.count]
        for each in called:
            if each.harness is None or each.calls.in_loop:
                reason = each.reason or "it is called in a loop"
                return [], f"measured as a whole: {each.name} cannot run alone: {reason}"
        building = [self._submit(each) for each in called]
        parts: list[tuple[Harness, bytes, int]] = []
        for dispatch, begun in zip(called, building, strict=True):
            built = self._lab.builder.result(begun)
            if built.outcome != "ok" or dispatch.harness is None:
                return (
                    [],
                    f"measured as a whole: {dispatch.name} fails alone ({built.outcome}): {built.message}",
                )
            parts.append((dispatch.harness, built.vmfb, dispatch.calls.count))
        return parts, ""

    def _submit(self, dispatch: Dispatch) -> Future[Built]:
        harness, version = dispatch.harness, self._version
        assert harness is not None, "those without were told before"
        builder: Builder = self._lab.builder
        if version.configuration is not None and dispatch.name == version.dispatch:
            return builder.submit(harness, version.configuration)
        if version.spec and version.configuration is None:
            harness = replace(harness, module=embed_bytes(harness.module, version.spec, name=dispatch.name))
        return builder.submit(harness, None)


def spec_of(entries: Sequence[SpecEntry], lab: Lab, flags: Sequence[str] = ()) -> bytes:
    """A tuning spec with these entries, as bytecode."""
    return to_bytecode(build_spec(entries, lab.context, flags=flags))
