"""The compiler's own choice as an assignment: read off its attributes, completed by the judge."""

from __future__ import annotations

import re
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu

from iree_tuner.errors import TunerError
from iree_tuner.space.configuration import Assignment
from iree_tuner.space.space import Space
from iree_tuner.space.starting_point import known_values

_PIPELINE = re.compile(r"pipeline = #\w+\.\w*pipeline<(\w+)>")
_UNREAD = ("decomposition_config",)
"""Entries that are no part of the two attributes."""

_PIPELINE_OPTIONS = "gpu_pipeline_options"


@dataclass(frozen=True)
class Default:
    """Where the compiler's choice lies.

    Attributes:
        assignment: the choice as a member of the space; None when it is outside.
        reasons: why it is outside: the constraints that it breaks, or what of it has no knob.
    """

    assignment: Assignment | None
    reasons: tuple[str, ...] = ()


def find_default(space: Space, lowering_config: str, translation_info: str) -> Default:
    """The compiler's choice in a space.

    Args:
        space: of the workload.
        lowering_config: the root op's, printed, as the compiler chose it.
        translation_info: the function's, printed.
    """
    chosen = _PIPELINE.search(translation_info)
    if chosen is None or chosen.group(1) != space.pipeline:
        other = chosen.group(1) if chosen else "no pipeline"
        return Default(None, (f"the compiler uses {other}, not {space.pipeline}",))
    if not lowering_config.startswith("#iree_gpu.lowering_config"):
        return _complete(space, known_values(space, lowering_config, translation_info), ())
    with space.op.operation.context:
        found: dict[str, int] = {}
        misfits: list[str] = []
        actual = _actual(lowering_config, translation_info)
        no_options = _options(None, ir.IntegerType.get_signless(64))
        template = {named.name: named.attr for named in ir.DictAttr(space.op.knobs)}
        for name in template.keys() | actual.keys():
            value = actual.get(name) or (_absent(template[name]) if name in template else None)
            if name in template and value is not None:
                _unify(template[name], value, name, found, misfits)
            elif name in template and name not in _UNREAD:
                misfits.append(f"{name} is not set, and always {template[name]} in this space")
            elif name in actual and name not in _UNREAD and actual[name] != no_options:
                misfits.append(f"{name} is {actual[name]}, and never set in this space")
        return _complete(space, found, tuple(misfits))


def _complete(space: Space, known: dict[str, int], misfits: tuple[str, ...]) -> Default:
    if misfits:
        return Default(None, misfits)
    full = space.complete(known)
    if full is not None:
        return Default(full)
    return Default(None, tuple(space.violations_of_part(known)) or ("no member has these values",))


def _actual(lowering_config: str, translation_info: str) -> dict[str, ir.Attribute]:
    """The entries of both attributes under the names that a knobs dictionary gives them."""
    config = iree_gpu.LoweringConfigAttr(ir.Attribute.parse(lowering_config))
    entries = {named.name: named.attr for named in ir.DictAttr(config.attributes)}
    info = iree_codegen.TranslationInfoAttr(ir.Attribute.parse(translation_info))
    i64 = ir.IntegerType.get_signless(64)
    entries["workgroup_size"] = ir.ArrayAttr.get([ir.IntegerAttr.get(i64, v) for v in info.workgroup_size])
    entries["subgroup_size"] = ir.IntegerAttr.get(i64, info.subgroup_size)
    configuration = info.configuration
    if configuration is not None:
        entries.update((named.name, named.attr) for named in ir.DictAttr(configuration))
    entries[_PIPELINE_OPTIONS] = _options(entries.get(_PIPELINE_OPTIONS), i64)
    return entries


def _options(given: ir.Attribute | None, i64: ir.Type) -> ir.Attribute:
    """Pipeline options as a dictionary; what is left out is what the compiler takes it for."""
    if given is None:
        given = iree_gpu.PipelineOptionsAttr.get()
    options = iree_gpu.PipelineOptionsAttr(given)
    return ir.DictAttr.get(
        {
            "prefetch_num_stages": ir.IntegerAttr.get(i64, options.prefetch_num_stages or 0),
            "no_reduce_shared_memory_bank_conflicts": ir.BoolAttr.get(
                bool(options.no_reduce_shared_memory_bank_conflicts)
            ),
            "use_igemm_convolution": ir.BoolAttr.get(bool(options.use_igemm_convolution)),
            "reorder_workgroups_strategy": options.reorder_workgroups_strategy
            or iree_gpu.ReorderWorkgroupsStrategyAttr.get(iree_gpu.ReorderWorkgroupsStrategy.None_),
        }
    )


def _absent(template: ir.Attribute) -> ir.Attribute | None:
    """What among a knob's options stands for an entry that is left out: a unit attribute, or an empty list."""
    if not isinstance(template, iree_codegen.OneOfKnobAttr):
        return None
    nothing = (ir.UnitAttr.get(), ir.ArrayAttr.get([]))
    return next((option for option in template.options if option in nothing), None)


def _unify(
    template: ir.Attribute, actual: ir.Attribute, where: str, found: dict[str, int], misfits: list[str]
) -> None:
    """Values that make a knobs entry equal to an attribute; what cannot be made equal is a misfit."""
    if isinstance(template, iree_codegen.IntKnobAttr):
        _note(template.name, ir.IntegerAttr(actual).value, where, found, misfits)
    elif isinstance(template, iree_codegen.OneOfKnobAttr):
        options = list(template.options)
        if actual in options:
            _note(template.name, options.index(actual), where, found, misfits)
        else:
            misfits.append(f"{where} is {actual}, which is not among the options of {template.name}")
    elif isinstance(template, ir.ArrayAttr) and isinstance(actual, ir.ArrayAttr):
        items = list(actual)
        for position, item in enumerate(template):
            if position < len(items):
                _unify(item, items[position], f"{where}[{position}]", found, misfits)
            else:
                _unify(item, _zero(), f"{where}[{position}]", found, misfits)
    elif isinstance(template, ir.DictAttr) and isinstance(actual, ir.DictAttr):
        for named in template:
            if named.name in actual:
                _unify(named.attr, actual[named.name], f"{where}.{named.name}", found, misfits)
    elif template != actual:
        misfits.append(f"{where} is {actual}, and always {template} in this space")


def _note(name: str, value: int, where: str, found: dict[str, int], misfits: list[str]) -> None:
    if found.setdefault(name, value) != value:
        misfits.append(f"{where} is {value}, but {name} is {found[name]}")


def _zero() -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)


def parse_assignment(text: str) -> Assignment:
    """Read `{"wg_0": 64}` or `wg_0=64 wg_1=64` (commas or spaces). Raises TunerError."""
    import json

    try:
        if text.lstrip().startswith("{"):
            return Assignment.of(json.loads(text))
        pairs = (item.partition("=") for item in re.split(r"[,\s]+", text.strip()) if item)
        return Assignment.of({name: int(value) for name, _, value in pairs})
    except (ValueError, TypeError, AttributeError):
        raise TunerError(
            f"not an assignment: {text!r}", hint='write it as wg_0=64,wg_1=128 or as {"wg_0": 64}'
        ) from None
