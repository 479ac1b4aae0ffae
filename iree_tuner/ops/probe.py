"""Try a family's matcher on a payload, in this process, with the transform interpreter."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir
from iree.compiler.dialects import transform
from iree.compiler.dialects.transform import interpreter

from iree_tuner.ops.family import OpFamily
from iree_tuner.ops.matching import any_op
from iree_tuner.ops.workload import Workload

_ENTRY = "__probe"
_MARK = "iree_tuner.probed."


def all_ops(module: ir.Module) -> list[ir.Operation]:
    """Every op of a module, in an order that equal modules share."""
    found: list[ir.Operation] = []

    def keep(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(keep, ir.WalkOrder.PRE_ORDER)
    return found


def copy_of(module: ir.Module) -> ir.Module:
    """A module of its own, equal to the given one."""
    # IR as text: checks of families ask for a module that has been text
    return ir.Module.parse(str(module), module.context)


def matches(family: OpFamily, workload: Workload, module: ir.Module) -> list[dict[str, int]]:
    """Where a workload's matcher succeeds: by label, indices into `all_ops(module)`.

    Raises ValueError for a matcher that does not verify, or fails other than by not matching.
    """
    payload = copy_of(module)
    with module.context, ir.Location.unknown():
        spec = _spec(family, workload)
        try:
            verified = spec.operation.verify()
            if verified:
                entry = spec.body.operations[len(spec.body.operations) - 1]
                interpreter.apply_named_sequence(payload.operation, entry.operation, spec.operation)
        except (ir.MLIRError, ValueError, RuntimeError) as error:
            raise ValueError(f"the matcher of {workload.name} fails: {error}") from error
        if not verified:
            raise ValueError(f"the matcher of {workload.name} does not verify")
    return _marked(payload)


def _spec(family: OpFamily, workload: Workload) -> ir.Module:
    labels = ["root", *(companion.label for companion in workload.companions)]
    module = ir.Module.create()
    module.operation.attributes["transform.with_named_sequence"] = ir.UnitAttr.get()
    handle, readonly = any_op(), {"transform.readonly": ir.UnitAttr.get()}
    with ir.InsertionPoint(module.body):
        action = transform.NamedSequenceOp(
            "mark", [handle] * len(labels), [], arg_attrs=[readonly] * len(labels)
        )
        with ir.InsertionPoint(action.body):
            for label, argument in zip(labels, action.body.arguments, strict=True):
                transform.AnnotateOp(argument, _MARK + label)
            transform.YieldOp([])
        match = transform.NamedSequenceOp("match", [handle], [handle] * len(labels), arg_attrs=[readonly])
        with ir.InsertionPoint(match.body):
            found = _checked(family.matcher(workload, match.body.arguments[0]), labels, workload)
            transform.YieldOp([found[label] for label in labels])
        entry = transform.NamedSequenceOp(
            _ENTRY, [handle], [], arg_attrs=[{"transform.consumed": ir.UnitAttr.get()}]
        )
        with ir.InsertionPoint(entry.body):
            names = [ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(name)]) for name in ("match", "mark")]
            transform.ForeachMatchOp(handle, [], entry.body.arguments[0], [], *names)
            transform.YieldOp([])
    return module


def _checked(found: Mapping[str, ir.Value], labels: list[str], workload: Workload) -> Mapping[str, ir.Value]:
    if sorted(found) != sorted(labels):
        raise ValueError(f"the matcher of {workload.name} returns {sorted(found)}, not {sorted(labels)}")
    return found


def _marked(payload: ir.Module) -> list[dict[str, int]]:
    by_label: dict[str, list[int]] = {}
    for index, op in enumerate(all_ops(payload)):
        for name in op.attributes:
            if name.startswith(_MARK):
                by_label.setdefault(name.removeprefix(_MARK), []).append(index)
    roots = by_label.get("root", [])
    return [
        {label: indices[place] for label, indices in by_label.items() if place < len(indices)}
        for place in range(len(roots))
    ]
