"""Write a kernel spec to a file, and the code that it links to a folder next to it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import hal

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.session import CompileError
from iree_tuner.compiler.unbound import attribute_from, parameters_of
from iree_tuner.compiler.versions import installed
from iree_tuner.compiler.worker import session_for
from iree_tuner.device.outcome import Outcome
from iree_tuner.errors import TunerError
from iree_tuner.files import planned_folder, write
from iree_tuner.kernels.executable import object_attribute
from iree_tuner.kernels.harness import substituted
from iree_tuner.kernels.kernel import Code, Kernel, Knobs
from iree_tuner.kernels.problem import KernelError, Problem
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.spec import EXECUTABLE, Placement, build_kernel_spec
from iree_tuner.program.bindings import Harness
from iree_tuner.store.reproducer import FailedCandidate, write_reproducer
from iree_tuner.targets import Target

_SUFFIXES = {"object": ".o", "ptx": ".ptx"}
_OBJECT = "kernel.o"


def save_kernel_spec(
    chosen: Sequence[tuple[Site, Code]], target: str, context: ir.Context, output: Path,
    *, movable: bool = False,
) -> tuple[Path, ...]:  # fmt: skip
    """Write a spec to `output`, and the code that it names to the folder `NAME.kernels`; returns the code's
    paths.

    Args:
        chosen: sites with the kernel's code for each; see `build_kernel_spec` for sites that overlap.
        target: the executable target, as text (`find.Places.target`).
        context: for the IR.
        output: the spec's file, `.mlir`.
        movable: name the code by paths relative to the spec's folder, so that both can be moved together
            (`located`); otherwise by absolute paths.

    Raises:
        TunerError: the files cannot be written.
    """
    folder = output.resolve().parent / f"{output.name.removesuffix('.mlir')}.kernels"
    planned_folder(folder)
    paths: list[Path] = []
    placements: list[Placement] = []
    for site, code in chosen:
        own: list[str] = []
        files = (code, *([code.packed.code] if code.packed else [])) if code.kind in _SUFFIXES else ()
        for each in files:
            digest = hashlib.sha256(each.data).hexdigest()[:16]
            path = folder / f"{each.entry}_{digest}{_SUFFIXES[each.kind]}"
            write(path, each.data)
            paths.append(path)
            own.append((path.relative_to(folder.parent) if movable else path).as_posix())
        placements.append(Placement(site, code, *own))
    write(output, str(build_kernel_spec(placements, attribute_from(target, context), context)))
    return tuple(paths)


def located(spec: Path, context: ir.Context) -> ir.Module:
    """Read a spec, and make the paths of its code absolute, which the in-process compiler needs.

    Raises TunerError if the spec cannot be read, or the code is missing.
    """
    try:
        # IR as text: a file
        module = ir.Module.parseFile(str(spec), context)
    except (ir.MLIRError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise TunerError(f"not a kernel spec: {first}", location=str(spec)) from None
    with context:
        for executable in ir.get_ops_of_type(module, hal.ExecutableOp):
            for variant in ir.get_ops_of_type(executable, hal.ExecutableVariantOp):
                variant.attributes["objects"] = ir.ArrayAttr.get(
                    [_located(each, spec) for each in variant.attributes["objects"]]
                )
    return module


def _located(code: ir.Attribute, spec: Path) -> ir.Attribute:
    fields = parameters_of(code)
    if set(fields) != {"path"}:  # the code is embedded
        return code
    path = spec.resolve().parent / ir.StringAttr(fields["path"]).value
    if not path.is_file():
        hint = f"move it to the folder of {spec.name}"
        raise TunerError("the spec's kernel file is missing", location=str(path), hint=hint)
    return object_attribute({"path": ir.StringAttr.get(str(path))})


def problems_in(spec: ir.Module) -> dict[str, str]:
    """The name of the problem that each export of a kernel spec computes."""
    with spec.context:
        return {
            export.sym_name.value: executable.sym_name.value.removeprefix(EXECUTABLE)
            for executable in ir.get_ops_of_type(spec, hal.ExecutableOp)
            for variant in ir.get_ops_of_type(executable, hal.ExecutableVariantOp)
            for export in ir.get_ops_of_type(variant, hal.ExecutableExportOp)
        }


def write_reproducer_here(
    folder: Path, kernel: Kernel, problem: Problem, target: Target, knobs: Knobs, harness: Harness,
    outcome: Outcome, message: str,
) -> str:  # fmt: skip
    """Write the dispatch with the kernel in it, and a script, for IREE's own tools (docs/failures.md).

    Returns the folder's path; empty if no code can be made, so that they cannot reproduce it. Runs in
    workers.
    """
    session = session_for(target.flags)
    try:
        code = kernel.make(problem, target, knobs)
        with session.context, ir.Location.unknown():
            module = to_bytecode(substituted(harness, session, problem, code, _OBJECT))
    except (KernelError, CompileError):
        return ""
    failure = FailedCandidate(
        workload=f"{problem.name}-{kernel.name}",
        harness=replace(harness, module=module),
        configuration=None,
        flags=target.flags,
        outcome=outcome,
        message=message,
        device=target.device or "",
        versions=installed(),
        default=harness,
        files={_OBJECT: code.data},
    )
    return write_reproducer(folder, failure)[0]
