"""The compiler's choice in a space's terms: values of its knobs, and parts that have no knob there.

It is completed to a member if it can be. That member, or one near it, is where a local search starts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu

from iree_tuner.compiler.context import stored_context
from iree_tuner.compiler.unbound import attribute_from, parameters_of, pipeline_of
from iree_tuner.errors import TunerError
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.space.configuration import Assignment, Configuration
from iree_tuner.space.constraints import COMPANIONS, integers
from iree_tuner.space.gpu.contraction import drop_idle_padding
from iree_tuner.space.joint import JointSpace
from iree_tuner.space.llvm_cpu.attributes import LEVELS, LOWERING_CONFIG, OPTIONS
from iree_tuner.space.space import Space
from iree_tuner.space.spirv.attributes import INTERCHANGE, spirv_entries

_CPU, _SPIRV = "iree_cpu.pipeline", "iree_gpu.spirv_pipeline"
_CONFIGS = {_CPU: "#iree_cpu.lowering_config", _SPIRV: "#iree_codegen.lowering_config"}
"""The form of lowering configs of a kind of pipeline; of others, the GPU dialect's."""

_UNTILED = "cache_"  # levels at which a loop of tile 0 is not tiled; elsewhere the tile is the whole loop
_DECOMPOSITION = "decomposition_config"
_PIPELINE_OPTIONS = "gpu_pipeline_options"
_OFF = ("0 : i64", "false", "#iree_gpu.reorder_workgroups_strategy<None>")


@dataclass(frozen=True)
class Chosen:
    """A compiler's choice as `values` of a space's knobs; `misfits` are the parts that no values stand for.

    `inherited` are likely values of the companions' own knobs: the choice does not show them, and the
    compiler gives other ops the root's tiles of the loops that they share. `places`: where in the attributes
    the knobs are, `workgroup[1]`.
    """

    values: dict[str, int] = field(default_factory=dict[str, int])
    misfits: list[str] = field(default_factory=list[str])
    inherited: dict[str, int] = field(default_factory=dict[str, int])
    places: dict[str, str] = field(default_factory=dict[str, str])

    def note(self, name: str, value: int, where: str) -> None:
        """A knob's value; a misfit if the choice has another value for it elsewhere."""
        self.places.setdefault(name, where)
        if self.values.setdefault(name, value) != value:
            self.misfits.append(f"{where} is {value}, but {name} is {self.values[name]}")

    def fixed(self, where: str, actual: object, template: object) -> None:
        """A misfit: something that the space does not leave open."""
        self.misfits.append(f"{where} is {actual}, but is always {template} in this space")


@dataclass(frozen=True)
class Written:
    """A configuration as a program, a spec or the compiler has it: printed attributes.

    Without `decomposition`, an attention's `decomposition_config`, the knobs of its two multiplications stay
    open. `companions` are the lowering configs of other ops, by their labels.
    """

    lowering: str
    translation: str
    decomposition: str = ""
    companions: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def by_compiler(cls, dispatch: Dispatch) -> Written:
        """The compiler's choice for a dispatch, without that for other ops than the root."""
        return cls(dispatch.default, dispatch.pipeline, dispatch.decomposition)

    @classmethod
    def of(cls, configuration: Configuration, context: ir.Context) -> Written:
        """A candidate's attributes. Raises ValueError if the root op has no `compilation_info`."""
        found = {(op.label, op.attribute): op.value for op in configuration.ops}
        info = attribute_from(found.pop(("root", "compilation_info"), "unit"), context)
        if not isinstance(info, iree_codegen.CompilationInfoAttr):
            raise ValueError("there is no compilation_info on the root op")
        decomposition = found.pop(("root", "decomposition_config"), "")
        companions = {label: value for (label, name), value in found.items() if name == "lowering_config"}
        return cls(str(info.lowering_config), str(info.translation_info), decomposition, companions)


def named_pipeline(translation: str) -> str:
    """The pipeline that a translation info names, or empty."""
    if not translation:
        return ""
    info = iree_codegen.TranslationInfoAttr(attribute_from(translation, stored_context()))
    return pipeline_of(info.pass_pipeline)[1]


def read_written(space: Space, written: Written) -> Chosen:
    """A configuration read against a space's knobs, also the knobs of ops other than the root."""
    chosen = _read_root(space, written)
    knobs = ir.DictAttr(space.op.knobs)
    if chosen.misfits or COMPANIONS not in knobs:
        return chosen
    template = ir.DictAttr(knobs[COMPANIONS])
    cpu = pipeline_of(space.op.pipeline)[0] == _CPU
    with space.op.operation.context:
        for companion in space.workload.companions:
            text = written.companions.get(companion.label, "")
            if not text or companion.label not in template:
                continue
            own = ir.DictAttr(template[companion.label])
            # Attributes without knobs here leave this op's knobs open, and do not affect the root's.
            other = Chosen(values=dict(chosen.values), places=chosen.places)
            if cpu:
                _read_levels(_entries(own), _tiles(text), companion.loops, f"{companion.label}.", other)
            else:
                config = iree_gpu.LoweringConfigAttr(attribute_from(text))
                _unify(own, config.attributes, companion.label, other)
            chosen.values.update(chosen.values if other.misfits else other.values)
    return chosen


def _read_root(space: Space, written: Written) -> Chosen:
    other = named_pipeline(written.translation)
    if other != space.pipeline:
        return Chosen(misfits=[f"the compiler uses {other or 'no pipeline'}, not {space.pipeline}"])
    kind, _ = pipeline_of(space.op.pipeline)
    config = _CONFIGS.get(kind, "#iree_gpu.lowering_config")
    if (found := written.lowering.partition("<")[0]) != config:
        difference = f"the lowering config is {found or 'missing'}, and {config} for {space.pipeline}"
        return Chosen(misfits=[difference])
    chosen = Chosen()
    with space.op.operation.context:
        {_CPU: _read_cpu, _SPIRV: _read_spirv}.get(kind, _read_gpu)(space, written, chosen)
    return chosen


def _read_cpu(space: Space, written: Written, chosen: Chosen) -> None:
    """A tile of 0 leaves a loop whole, as a tile of its size does."""
    knobs, actual = _entries(space.op.knobs), _tiles(written.lowering)
    scalable = [name for name, sizes in actual.items() if any(isinstance(s, ir.ArrayAttr) for s in sizes)]
    chosen.misfits.extend(f"{level} has scalable tiles" for level in scalable)
    _read_levels(_entries(knobs[LOWERING_CONFIG]), actual, space.workload.loops, "", chosen)
    _inherit(space, actual, chosen)
    info = iree_codegen.TranslationInfoAttr(attribute_from(written.translation))
    enabled = _entries(info.configuration) if info.configuration is not None else {}
    options = _entries(knobs[OPTIONS]) if OPTIONS in knobs else {}
    for name, option in options.items():
        if isinstance(option, iree_codegen.IntKnobAttr):
            chosen.note(option.name, int(name in enabled), name)
    chosen.misfits.extend(
        f"{name} is set, but is never set in this space" for name in enabled if name not in options
    )


_Levels = dict[str, list[ir.Attribute]]


def _tiles(lowering: str) -> _Levels:
    """The tiles of each level of `#iree_cpu.lowering_config`; scalable ones are arrays."""
    return {name: list(ir.ArrayAttr(each)) for name, each in parameters_of(attribute_from(lowering)).items()}


def _size(sizes: Sequence[ir.Attribute], loop: int) -> int:
    """The tile of a loop in a level; 0 if it has none, or a scalable one."""
    found = sizes[loop] if loop < len(sizes) else None
    return found.value if isinstance(found, ir.IntegerAttr) else 0


def _read_levels(
    template: Mapping[str, ir.Attribute], actual: _Levels, loops: Sequence[int], prefix: str, chosen: Chosen
) -> None:
    for level in LEVELS:
        items = list(ir.ArrayAttr(template[level])) if level in template else []
        for loop, extent in enumerate(loops):
            size, where = _size(actual.get(level, []), loop), f"{prefix}{level}[{loop}]"
            whole = 0 if level.startswith(_UNTILED) else extent
            item = items[loop] if loop < len(items) else None
            if isinstance(item, iree_codegen.IntKnobAttr):
                chosen.note(item.name, size or whole, where)
            elif (size or whole) != ((fixed := _size(items, loop)) or whole):
                chosen.fixed(where, size, fixed)


def _inherit(space: Space, actual: _Levels, chosen: Chosen) -> None:
    knobs = ir.DictAttr(space.op.knobs)
    template = ir.DictAttr(knobs[COMPANIONS]) if COMPANIONS in knobs else ir.DictAttr.get({})
    vectors = [sizes for level, sizes in actual.items() if level.startswith("vector_")]
    for companion in space.workload.companions:
        if companion.label not in template:
            continue
        for level in ir.DictAttr(template[companion.label]):
            for item, shared in zip(ir.ArrayAttr(level.attr), companion.shared, strict=False):
                if shared is None or not isinstance(item, iree_codegen.IntKnobAttr):
                    continue
                if item.name not in chosen.values:
                    tiles = [_size(sizes, shared) for sizes in vectors]
                    chosen.inherited[item.name] = max(tiles, default=0) or space.workload.loops[shared]


def _read_spirv(space: Space, written: Written, chosen: Chosen) -> None:
    actual = spirv_entries(written.lowering, written.translation)
    template = _entries(space.op.knobs)
    template.pop(COMPANIONS, None)
    swaps = not _is_off(ir.DictAttr(actual[INTERCHANGE])["swap"])
    if INTERCHANGE in template and not swaps:  # which loops would change places does not matter then
        actual[INTERCHANGE] = ir.DictAttr.get(_entries(template[INTERCHANGE]) | _entries(actual[INTERCHANGE]))
    _unify_entries(template, actual, "", chosen)


def _read_gpu(space: Space, written: Written, chosen: Chosen) -> None:
    config = iree_gpu.LoweringConfigAttr(attribute_from(written.lowering))
    # The entries of both attributes under the names that they have in a knobs dictionary.
    actual = _entries(config.attributes)
    info = iree_codegen.TranslationInfoAttr(attribute_from(written.translation))
    actual["workgroup_size"] = integers(list(info.workgroup_size))
    actual["subgroup_size"] = integers([info.subgroup_size])[0]
    if info.configuration is not None:
        actual |= _entries(info.configuration)
    actual[_PIPELINE_OPTIONS] = _gpu_options(
        actual.get(_PIPELINE_OPTIONS, iree_gpu.PipelineOptionsAttr.get())
    )
    template = _entries(space.op.knobs)
    template.pop(COMPANIONS, None)  # they follow the root's
    two = template.pop(_DECOMPOSITION, None)
    if two is not None and written.decomposition:
        _unify(two, attribute_from(written.decomposition), _DECOMPOSITION, chosen)
    drop_idle_padding(space.workload, template, actual)
    _unify_entries(template, actual, "", chosen)


def _gpu_options(given: ir.Attribute) -> ir.Attribute:
    """Pipeline options as a dictionary; any other attribute as it is."""
    if not isinstance(given, iree_gpu.PipelineOptionsAttr):
        return given
    options = iree_gpu.PipelineOptionsAttr(given)
    flags = ("no_reduce_shared_memory_bank_conflicts", "use_igemm_convolution")
    none = iree_gpu.ReorderWorkgroupsStrategyAttr.get(iree_gpu.ReorderWorkgroupsStrategy.None_)
    return ir.DictAttr.get(
        {
            "prefetch_num_stages": integers([options.prefetch_num_stages or 0])[0],
            **{name: ir.BoolAttr.get(bool(getattr(options, name))) for name in flags},
            "reorder_workgroups_strategy": options.reorder_workgroups_strategy or none,
        }
    )


def _absent(template: ir.Attribute) -> ir.Attribute | None:
    """The option of a knob that stands for an entry that is left out: a unit attribute, or an empty list."""
    if not isinstance(template, iree_codegen.OneOfKnobAttr):
        return None
    nothing = (ir.UnitAttr.get(), ir.ArrayAttr.get([]))
    return next((option for option in template.options if option in nothing), None)


def _unify(template: ir.Attribute, actual: ir.Attribute, where: str, chosen: Chosen) -> None:
    """Notes values that make a knobs entry equal to an attribute; a misfit if there are none."""
    if isinstance(template, iree_codegen.IntKnobAttr):
        if isinstance(actual, ir.IntegerAttr):
            chosen.note(template.name, actual.value, where)
        else:
            chosen.misfits.append(f"{where} is {actual}, but must be an integer in this space")
    elif isinstance(template, iree_codegen.OneOfKnobAttr):
        fitting = [place for place, option in enumerate(template.options) if option == actual]
        if not fitting:
            chosen.misfits.append(f"{where} is {actual}, which is not among the options of {template.name}")
        # Several options may be equal here; then the knob keeps a value that another entry gave it.
        elif chosen.values.get(template.name) not in fitting:
            chosen.note(template.name, fitting[0], where)
    elif isinstance(template, ir.ArrayAttr) and isinstance(actual, ir.ArrayAttr):
        items = list(actual)
        for position, item in enumerate(template):
            nothing = ir.ArrayAttr.get([]) if isinstance(item, ir.ArrayAttr) else integers([0])[0]
            found = items[position] if position < len(items) else nothing
            _unify(item, found, f"{where}[{position}]", chosen)
        if not all(map(_is_off, items[len(template) :])):
            chosen.fixed(where, actual, template)
    elif isinstance(template, ir.DictAttr) and isinstance(actual, ir.DictAttr):
        _unify_entries(_entries(template), _entries(actual), f"{where}.", chosen)
    elif isinstance(template, iree_gpu.LoweringConfigAttr) and isinstance(
        actual, iree_gpu.LoweringConfigAttr
    ):
        _unify(ir.DictAttr(template.attributes), ir.DictAttr(actual.attributes), where, chosen)
    elif template != actual:
        chosen.fixed(where, actual, template)


def _unify_entries(
    template: Mapping[str, ir.Attribute], actual: Mapping[str, ir.Attribute], prefix: str, chosen: Chosen
) -> None:
    """The same for the entries of dictionaries; `prefix` is in front of their names in misfits."""
    for name in sorted(template.keys() | actual.keys()):
        place = f"{prefix}{name}"
        if name not in template:
            if not _is_off(actual[name]):
                chosen.misfits.append(f"{place} is {actual[name]}, but is never set in this space")
            continue
        set_ = name in actual and actual[name] != ir.ArrayAttr.get([])
        value = actual[name] if set_ else _absent(template[name])
        if value is not None:
            _unify(template[name], value, place, chosen)
        else:
            chosen.misfits.append(f"{place} is not set, but is always {template[name]} in this space")


def _entries(dictionary: ir.Attribute) -> dict[str, ir.Attribute]:
    return {named.name: named.attr for named in ir.DictAttr(dictionary)}


def _is_off(attribute: ir.Attribute) -> bool:
    """Whether leaving the entry out means the same."""
    if isinstance(attribute, ir.ArrayAttr):
        return all(map(_is_off, attribute))
    if isinstance(attribute, ir.DictAttr):
        return all(_is_off(named.attr) for named in attribute)
    return str(attribute) in _OFF


# The compiler's own choice as an assignment: read off its attributes, completed by the judge.


@dataclass(frozen=True)
class Default:
    """The compiler's choice as a member of the space, or None with the reasons why it is outside.

    Reasons are the constraints that it breaks, or parts of it that have no knob.
    """

    assignment: Assignment | None
    reasons: tuple[str, ...] = ()


def find_default(space: Space, written: Written) -> Default:
    """The compiler's choice as a member of the space."""
    chosen = read_written(space, written)
    if chosen.misfits:
        return Default(None, tuple(chosen.misfits))
    full = space.complete(chosen.inherited | chosen.values) or space.complete(chosen.values)
    return Default(full, () if full is not None else tuple(space.violations_of_part(chosen.values)))


def parse_assignment(text: str) -> Assignment:
    """Read `{"wg_0": 64}` or `wg_0=64 wg_1=64` (commas or spaces). Raises TunerError."""
    try:
        if text.lstrip().startswith("{"):
            return Assignment.of(json.loads(text))
        pairs = (item.partition("=") for item in re.split(r"[,\s]+", text.strip()) if item)
        return Assignment.of({name: int(value) for name, _, value in pairs})
    except (ValueError, TypeError, AttributeError):
        raise TunerError(
            f"not an assignment: {text!r}", hint='write it as wg_0=64,wg_1=128 or as {"wg_0": 64}'
        ) from None


_CANDIDATES = 512
_STEPS = 100


def starting_point(space: Space, written: Written) -> Assignment | None:
    """The compiler's choice, or a legal assignment near it.

    Enumerates nothing. None for an empty space, and for a choice that has another pipeline or no knob's
    value.
    """
    known = read_written(space, written).values
    return (find_default(space, written).assignment or _nearest(space, known)) if known else None


def starting_point_of(joint: JointSpace, written: Written) -> Assignment | None:
    """`starting_point` in the one of several spaces whose pipeline the choice has."""
    for place, space in enumerate(joint.spaces):
        found = starting_point(space, written)
        if found is not None:
            return joint.join(place, found)
    return None


def nearest_member(joint: JointSpace, wanted: Assignment) -> Assignment | None:
    """The assignment itself if it is a member, else one near it, if any.

    For assignments of another workload's space, whose tiles need not divide here.
    """
    if joint.contains(wanted):
        return wanted
    place, knobs = joint.split(wanted)
    if not 0 <= place < len(joint.spaces):
        return None
    found = _nearest(joint.spaces[place], dict(knobs))
    return None if found is None else joint.join(place, found)


def _nearest(space: Space, known: Mapping[str, int]) -> Assignment | None:
    """The nearest of a sample, then from neighbor to neighbor while that gets nearer to `known`."""
    members = space.sample(_CANDIDATES, seed=0)
    if not members:
        return None
    weights = np.array([name in known for name in space.names], float)
    there = space.encode({name: known.get(name, 0) for name in space.names})

    def distance(member: Assignment) -> float:
        return float((np.abs(space.encode(member) - there) * weights).sum())

    near = min(members, key=distance)
    for _ in range(_STEPS):
        nearer = min(space.neighbors(near), key=distance, default=near)
        if distance(nearer) >= distance(near):
            break
        near = nearer
    return near
