"""From a constraints op and an assignment to the attributes that a candidate sets."""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu

from iree_tuner.compiler.unbound import pipeline_of
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.space.constraints import COMPANIONS
from iree_tuner.space.llvm_cpu.attributes import cpu_configuration
from iree_tuner.space.spirv.attributes import spirv_configuration

_ROOT = "root"
_DECOMPOSITION = "decomposition_config"
_TRANSLATION_ENTRIES = ("iree_codegen.denormal_fp_math_f32", "llvm_func_attrs")
"""Entries of a flat knobs dictionary that the compiler would put into the lowering config, but belong to the
configuration of the translation info."""


def materialize(op: iree_codegen.ConstraintsOp, assignment: Mapping[str, int]) -> Configuration:
    """Substitute the knobs. The compiler does it for its own pipelines; llvm-cpu's has no support there."""
    with op.operation.context, ir.Location.unknown(op.operation.context):
        pipeline = op.pipeline  # reading it searches for modules each time (3.13)
        kind, _ = pipeline_of(pipeline)
        if kind == "iree_cpu.pipeline":
            return cpu_configuration(pipeline, substitute(ir.DictAttr(op.knobs), assignment))
        if kind == "iree_gpu.spirv_pipeline":
            return spirv_configuration(pipeline, substitute(ir.DictAttr(op.knobs), assignment))
        values = dict(assignment)
        info = _sort_entries(iree_codegen.materialize_compilation_info(op.operation, values), _optional(op))
        found = [OpConfiguration.of(_ROOT, "compilation_info", info)]
        if COMPANIONS in ir.DictAttr(op.knobs):
            told = iree_codegen.materialize_configuration_attr(op.operation, COMPANIONS, values)
            for each in ir.DictAttr(told):
                config = iree_gpu.LoweringConfigAttr.get(ir.DictAttr(each.attr))
                found.append(OpConfiguration.of(each.name, "lowering_config", config))
        if _DECOMPOSITION in ir.DictAttr(op.knobs):
            other = iree_codegen.materialize_configuration_attr(op.operation, _DECOMPOSITION, values)
            found.append(OpConfiguration.of(_ROOT, _DECOMPOSITION, other))
        return Configuration(tuple(found))


def _optional(op: iree_codegen.ConstraintsOp) -> set[str]:
    """Entries that may be left out: knobs with a unit attribute among their options."""
    found: set[str] = set()
    for named in ir.DictAttr(op.knobs):
        knob = named.attr
        if isinstance(knob, iree_codegen.OneOfKnobAttr) and ir.UnitAttr.get() in list(knob.options):
            found.add(named.name)
    return found


def _sort_entries(materialized: ir.Attribute, optional: set[str]) -> ir.Attribute:
    """Move what belongs to the translation info there, and leave out what a unit attribute stands for."""
    info = iree_codegen.CompilationInfoAttr(materialized)
    lowering = iree_gpu.LoweringConfigAttr(info.lowering_config)
    entries = {
        named.name: named.attr
        for named in ir.DictAttr(lowering.attributes)
        if named.name != COMPANIONS and not (named.name in optional and isinstance(named.attr, ir.UnitAttr))
    }
    kept = {name: entries.pop(name) for name in _TRANSLATION_ENTRIES if name in entries}
    translation = iree_codegen.TranslationInfoAttr(info.translation_info)
    if kept:
        configuration = translation.configuration
        options = {} if configuration is None else {n.name: n.attr for n in ir.DictAttr(configuration)}
        translation = iree_codegen.TranslationInfoAttr.get(
            translation.pass_pipeline,
            translation.codegen_spec,
            list(translation.workgroup_size),
            translation.subgroup_size,
            ir.DictAttr.get(options | kept),
        )
    config = iree_gpu.LoweringConfigAttr.get(ir.DictAttr.get(entries))
    return iree_codegen.CompilationInfoAttr.get(config, translation)


def substitute(attribute: ir.DictAttr, assignment: Mapping[str, int]) -> dict[str, object]:
    """A knobs dictionary as plain data, each knob replaced by its value."""
    return {named.name: _substitute(named.attr, assignment) for named in attribute}


def _substitute(attribute: ir.Attribute, assignment: Mapping[str, int]) -> object:
    if isinstance(attribute, iree_codegen.IntKnobAttr):
        return assignment[attribute.name]
    if isinstance(attribute, ir.DictAttr):
        return substitute(attribute, assignment)
    if isinstance(attribute, ir.ArrayAttr):
        return [_substitute(element, assignment) for element in attribute]
    return ir.IntegerAttr(attribute).value
