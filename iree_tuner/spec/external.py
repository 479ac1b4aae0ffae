"""Specs that put external code into a program, as kernels do: read, used, and what a program makes of them.

The compiler applies them in preprocessing (`--iree-preprocessing-transform-spec-filename`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import hal, util

from iree_tuner.compiler.context import walk
from iree_tuner.compiler.unbound import parameters_of
from iree_tuner.errors import TunerError
from iree_tuner.program.phases import compiled_to
from iree_tuner.targets import Target

SPEC_FLAG = "--iree-preprocessing-transform-spec-filename"
SEARCH_FLAG = "--iree-hal-executable-object-search-path"
"""The folder where iree-compile looks for the code that a spec names. The in-process compiler rejects it."""

EXECUTABLE = "kernel_"
"""Prefix of the names of external code's executables."""


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


def object_attribute(fields: Mapping[str, ir.Attribute]) -> ir.Attribute:
    """Make a `#hal.executable.object` by parsing; the attribute has no builder."""
    # IR as text: no builder (docs/upstream/bindings.md)
    return ir.Attribute.parse(f"#hal.executable.object<{ir.DictAttr.get(dict(fields))}>")


def problems_in(spec: ir.Module) -> dict[str, str]:
    """The name of the problem that each export of a spec computes."""
    with spec.context:
        return {
            export.sym_name.value: executable.sym_name.value.removeprefix(EXECUTABLE)
            for executable in ir.get_ops_of_type(spec, hal.ExecutableOp)
            for variant in ir.get_ops_of_type(executable, hal.ExecutableVariantOp)
            for export in ir.get_ops_of_type(variant, hal.ExecutableExportOp)
        }


@dataclass(frozen=True)
class KernelUse:
    """How a program uses the kernels of a spec."""

    dispatches: int  # that run kernels
    ops: int  # kernels whose code is IR (`fused_ops`) and that replace ops of the program


def count_calls_here(data: bytes, name: str, target: Target) -> KernelUse:
    """Count what uses kernels of the spec in the target's flags. Runs in workers."""
    session, module = compiled_to("preprocessing", data, name, target)
    with session.context, ir.Location.unknown():
        ops = sum(map(_replaces_ops, ir.get_ops_of_type(module, util.FuncOp)))
        session.run(module, start="preprocessing", stop="flow")
        return KernelUse(count_calls(module), ops)


def _replaces_ops(function: util.FuncOp) -> bool:
    """Whether a function was taken from a spec in place of ops, and dispatches no kernel."""
    own = ir.StringAttr(function.operation.attributes["sym_name"]).value.startswith(f"call_{EXECUTABLE}")
    return own and "flow.dispatch" not in {
        op.operation.name for op in function.operation.regions[0].blocks[0]
    }


def count_calls(module: ir.Module) -> int:
    """The number of a program's dispatches that run external code."""
    count = 0
    for op in walk(module.operation):
        if op.name == "flow.dispatch":
            entries = ir.ArrayAttr(op.attributes["entry_points"])
            count += any(ir.SymbolRefAttr(each).value[0].startswith(EXECUTABLE) for each in entries)
    return count
