"""Entries to a tuning spec: one matcher an entry, one action for each set of attributes, one entry point."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from iree.compiler import ir
from iree.compiler.dialects import transform

from iree_tuner.errors import TunerError
from iree_tuner.ops.family import ROOT, family
from iree_tuner.space.configuration import OpConfiguration
from iree_tuner.spec.entry import FLAGS, SpecEntry, annotation
from iree_tuner.spec.grammar import (
    ANNOTATION,
    COMPILATION_INFO,
    DEFAULT_ENTRYPOINT,
    ENTRYPOINT,
    ENTRYPOINT_NAME,
    WITH_NAMED_SEQUENCE,
)

Shape = tuple[tuple[int, str], ...]
"""The effect of an action: for each attribute that it sets, the op that it goes on, and its name."""


def build_spec(
    entries: Sequence[SpecEntry],
    context: ir.Context,
    *,
    name: str = "tuning_spec",
    prologue: Sequence[str] | None = None,
    flags: Sequence[str] = (),
) -> ir.Module:
    """Build a verified spec; entries that come first win, and none gives a spec that changes nothing.

    The compiler needs the module's `name` to link it. `prologue` are passes to run on a dispatch's function
    before matching; by default, those that the workloads need. The grammar of
    `tuning_spec_with_default_entrypoint` has no place for them, so such a spec lacks that attribute. The
    compiler flags that the spec belongs to are written down in it (`spec.entry.read_flags`).

    Raises TunerError for entries that contradict each other, or a configuration that does not fit its
    workload.
    """
    passes = prologue_for(entries) if prologue is None else tuple(prologue)
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
        top = module.operation
        top.attributes["sym_name"] = ir.StringAttr.get(name)
        top.attributes[WITH_NAMED_SEQUENCE] = ir.UnitAttr.get()
        builder = _Builder(module)
        pairs = [builder.add(entry) for entry in _distinct(entries)]
        record_flags(entrypoint(module, pairs, passes), flags)
        if pairs and not passes:
            top.attributes[DEFAULT_ENTRYPOINT] = ir.UnitAttr.get()
        try:
            top.verify()
        except ir.MLIRError as error:
            raise TunerError(f"the built spec does not verify: {str(error).splitlines()[0]}") from error
    return module


def record_flags(entry: ir.Operation, flags: Sequence[str]) -> None:
    """Write down in a spec's entry point the compiler flags that the spec belongs to (`read_flags`)."""
    if flags:
        with entry.context:
            texts = ir.ArrayAttr.get([ir.StringAttr.get(flag) for flag in flags])
            entry.attributes[ANNOTATION] = ir.DictAttr.get({FLAGS: texts})


def prologue_for(entries: Iterable[SpecEntry]) -> tuple[str, ...]:
    """Passes that a spec with these entries must run before matching, each once.

    The compiler folds a batch of 1 away from a convolution and, on llvm-cpu, gives it back after specs ran,
    by a pass that drops the configuration. A spec that runs that pass itself matches the op that stays.
    Workloads have the passes that they need (`Workload.prologue`).
    """
    return tuple(dict.fromkeys(name for entry in entries for name in entry.workload.prologue))


def entrypoint(module: ir.Module, pairs: Sequence[tuple[str, str]], prologue: Sequence[str]) -> ir.Operation:
    """Append `__kernel_config` with one `foreach_match` over (matcher, action) pairs to a spec.

    Without pairs it returns its argument: `foreach_match` does not verify without any.
    """
    any_op = transform.AnyOpType.get()
    use = {"transform.consumed" if pairs else "transform.readonly": ir.UnitAttr.get()}
    with ir.InsertionPoint(module.body):
        sequence = transform.NamedSequenceOp(ENTRYPOINT_NAME, [any_op], [any_op], arg_attrs=[use])
    sequence.operation.attributes[ENTRYPOINT] = ir.UnitAttr.get()
    handle: ir.Value = sequence.body.arguments[0]
    with ir.InsertionPoint(sequence.body):
        if pairs:
            for pass_name in prologue:
                handle = transform.ApplyRegisteredPassOp(any_op, handle, pass_name).result
            matchers = ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(matcher) for matcher, _ in pairs])
            actions = ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(action) for _, action in pairs])
            handle = transform.ForeachMatchOp(any_op, [], handle, [], matchers, actions).results[0]
        transform.YieldOp([handle])
    return sequence.operation


class _Builder:
    """Adds matchers and the actions they need to a module."""

    def __init__(self, module: ir.Module) -> None:
        self._module = module
        self._names: set[str] = {ENTRYPOINT_NAME}
        self._actions: dict[Shape, str] = {}

    def add(self, entry: SpecEntry) -> tuple[str, str]:
        labels = _labels(entry)
        position = {label: index for index, label in enumerate(labels)}
        shape: Shape = tuple((position[op.label], op.attribute) for op in entry.configuration.ops)
        action = self._actions.get(shape) or self._add_action(shape, len(labels))
        return self._add_matcher(entry, labels), action

    def _add_action(self, shape: Shape, op_count: int) -> str:
        plain = shape == ((0, COMPILATION_INFO),)
        name = self._unique("apply_op_config" if plain else f"apply_config_to_{op_count}_ops")
        readonly = {"transform.readonly": ir.UnitAttr.get()}
        types = [transform.AnyOpType.get()] * op_count + [transform.AnyParamType.get()] * len(shape)
        with ir.InsertionPoint(self._module.body):
            sequence = transform.NamedSequenceOp(name, types, [], arg_attrs=[readonly] * len(types))
        arguments = list(sequence.body.arguments)
        with ir.InsertionPoint(sequence.body):
            for (op, attribute), value in zip(shape, arguments[op_count:], strict=True):
                transform.AnnotateOp(arguments[op], attribute, param=value)
            transform.YieldOp([])
        self._actions[shape] = name
        return name

    def _add_matcher(self, entry: SpecEntry, labels: Sequence[str]) -> str:
        name = self._unique("match_" + re.sub(r"[^A-Za-z0-9_]", "_", entry.workload.name))
        any_op, any_param = transform.AnyOpType.get(), transform.AnyParamType.get()
        operations = entry.configuration.ops
        results = [any_op] * len(labels) + [any_param] * len(operations)
        readonly = {"transform.readonly": ir.UnitAttr.get()}
        with ir.InsertionPoint(self._module.body):
            sequence = transform.NamedSequenceOp(name, [any_op], results, arg_attrs=[readonly])
        sequence.operation.attributes[ANNOTATION] = annotation(entry)
        with ir.InsertionPoint(sequence.body):
            handles = family(entry.workload.family).matcher(entry.workload, sequence.body.arguments[0])
            missing = next((label for label in labels if label not in handles), None)
            if missing is not None:
                raise TunerError(f"{entry.workload.name} has no op labelled '{missing}' to configure")
            values = [transform.ParamConstantOp(any_param, _attribute(entry, op)) for op in operations]
            transform.YieldOp([handles[label] for label in labels] + [value.param for value in values])
        return name

    def _unique(self, name: str) -> str:
        found, count = name, 0
        while found in self._names:
            count += 1
            found = f"{name}_{count}"
        self._names.add(found)
        return found


def _labels(entry: SpecEntry) -> tuple[str, ...]:
    """The ops that an entry configures, root first."""
    operations = entry.configuration.ops
    roots = [op for op in operations if op.label == ROOT and op.attribute == COMPILATION_INFO]
    if len(roots) != 1:
        raise TunerError(
            f"the configuration of {entry.workload.name} must have one {COMPILATION_INFO} on '{ROOT}'"
        )
    return tuple(dict.fromkeys((ROOT, *(op.label for op in operations))))


def _distinct(entries: Sequence[SpecEntry]) -> list[SpecEntry]:
    """Drop repeated entries. Two configurations for one workload are an error, never a silent pick."""
    found: dict[str, SpecEntry] = {}
    for entry in entries:
        earlier = found.setdefault(entry.workload.key, entry)
        if earlier.configuration != entry.configuration:
            raise TunerError(f"two entries give {entry.workload.name} different configurations")
    return list(found.values())


def _attribute(entry: SpecEntry, op: OpConfiguration) -> ir.Attribute:
    try:
        return op.to_ir()
    except ir.MLIRError as error:
        reason = error.error_diagnostics[0].message if error.error_diagnostics else "not an attribute"
        raise TunerError(f"the configuration of {entry.workload.name} does not parse: {reason}") from None
