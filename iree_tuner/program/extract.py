"""Find a program's dispatches: what each computes, how often it is called, and how to run it alone.

Which op of a dispatch is its root, and the compiler's choice for it, are found by letting the compiler
configure a copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from iree.compiler import ir

from iree_tuner.compiler.context import ops_in, symbol_of, to_bytecode, walk
from iree_tuner.compiler.session import CompileError, CompilerSession, Diagnostic
from iree_tuner.compiler.worker import Calls as Workers
from iree_tuner.compiler.worker import session_for
from iree_tuner.errors import TunerError
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.ops.family import are_dynamic, describe, dynamic_parts, family, why_refused
from iree_tuner.ops.scalar_body import bounds_sums
from iree_tuner.ops.structure import iterators
from iree_tuner.ops.workload import NO_LOOPS, Workload
from iree_tuner.program.bindings import OP_TAG, Harness
from iree_tuner.program.carried import CONFIGURATIONS, IN_MEMORY, NOTE, carried_in, take_off
from iree_tuner.program.dispatch import CallCount, Dispatch
from iree_tuner.program.dump_body import dumped_for, settle, take_mark, target_name
from iree_tuner.program.dynamic import (
    DimensionSize,
    is_open,
    pin,
    pin_scalars,
    sizes_of,
    suggestion,
    why_wrong,
    with_sizes,
)
from iree_tuner.program.harness import (
    RawHarness,
    dump_benchmarks,
    find_function,
    functions_in,
    run_passes,
    take_buffer,
)
from iree_tuner.program.phases import own_target_name, select_target
from iree_tuner.program.runtime_values import (
    STAND_INS,
    count_calls,
    dispatched_exports,
    pin_values,
    takes_open_sizes,
    with_values,
)
from iree_tuner.program.size_rules import size_rules
from iree_tuner.program.source import Program
from iree_tuner.targets import Target
from iree_tuner.targets.limits import limits_of

_COMPUTE = ("linalg.", "iree_linalg_ext.")
_NOT_COMPUTE = ("linalg.yield", "linalg.index", "iree_linalg_ext.yield", "iree_linalg_ext.index")
_RELAYOUT = ("linalg.pack", "linalg.unpack", "iree_linalg_ext.map_load", "iree_linalg_ext.map_store")
_NUMBER = "iree_tuner_number"


@dataclass(frozen=True)
class DefaultChoice:
    """The compiler's own choice. `root` is the root op's position among `compute_ops`."""

    root: int | None
    lowering_config: str
    translation_info: str
    decomposition_config: str = ""


def compute_ops(function: ir.Operation) -> list[ir.Operation]:
    """The ops of a dispatch's function that compute, in program order."""
    return [op for op in walk(function) if op.name.startswith(_COMPUTE) and op.name not in _NOT_COMPUTE]


def default_choice(module: ir.Module, export: str, session: CompilerSession) -> DefaultChoice:
    """Let the compiler configure a copy of the dispatch, and find the op that it made the root.

    Ops are numbered before and found again by number. If the compiler replaced the root by another op, and
    the number is gone, its rule is applied to the original ops. A dispatch that the compiler cannot configure
    has no root.
    """
    function = find_function(module, export)
    originals = compute_ops(function)
    number_type = ir.IntegerType.get_signless(64, module.context)
    for position, op in enumerate(originals):
        op.attributes[_NUMBER] = ir.IntegerAttr.get(number_type, position)
    copy = session.parse(to_bytecode(module))
    for op in originals:
        del op.attributes[_NUMBER]
    try:
        session.run(copy, start="executable-sources", stop="executable-configurations")
    except CompileError:
        return DefaultChoice(None, "", "")
    configured = find_function(copy, export)
    info = configured.attributes
    translation = str(info["translation_info"]) if "translation_info" in info else ""
    for op in compute_ops(configured):
        if "root_op" in op.attributes:
            config, decomposition = _printed(op, "lowering_config"), _printed(op, "decomposition_config")
            if _NUMBER in op.attributes:
                number = ir.IntegerAttr(op.attributes[_NUMBER]).value
                return DefaultChoice(number, config, translation, decomposition)
            return DefaultChoice(_root_by_rule(originals), config, translation, decomposition)
    return DefaultChoice(None, "", translation)


def _printed(op: ir.Operation, name: str) -> str:
    return str(op.attributes[name]) if name in op.attributes else ""


def _root_by_rule(ops: list[ir.Operation]) -> int | None:
    """The last op with a reduction, else the last parallel one. Source: getRootOperation, CPUUtils.cpp."""
    candidates = [i for i, op in enumerate(ops) if op.name not in _RELAYOUT and op.name != "linalg.fill"]
    reductions = [
        i for i in candidates if ops[i].name != "linalg.generic" or "reduction" in iterators(ops[i])
    ]
    return max(reductions or candidates or range(len(ops)), default=None)


# The compiler's changes to a dispatch after the lookup of tuning specs and before it wrote a dump.
#
# A spec for the dispatch has to do the same first, or it meets another op in the program.


_MATRICES = ("mmt4d", "batch_mmt4d")
_PACKING = ("linalg.mmt4d", "linalg.batch_mmt4d", "linalg.pack", "linalg.unpack")
_EXTENSIONS = ("arith.extf", "arith.extsi", "arith.extui", "arith.sitofp", "arith.uitofp")

_Expression = tuple[object, ...]


def prologue_of(workload: Workload, ops: Sequence[ir.Operation], target: Target) -> tuple[str, ...]:
    """The passes whose effects show in a dispatch of a dump, in which `ops` compute."""
    if any(_has_run(name, workload, ops) for name in target.spec_prologue):
        return target.spec_prologue
    # A softmax is decomposed into ops that look so.
    generic = bool(workload.dag) and workload.op != "softmax"
    return target.merging if generic and _are_merged(ops) else ()


def _has_run(name: str, workload: Workload, ops: Sequence[ir.Operation]) -> bool:
    match name:
        case "iree-codegen-insert-batch-dim-for-batchless-conv":
            # Loops of one iteration are folded away in all programs: only that pass makes another one.
            batch = workload.role("batch") if is_convolution(workload) else ()
            return bool(batch) and all(workload.loops[loop] == 1 for loop in batch)
        case "iree-codegen-materialize-device-encoding":
            return any(op.name in _PACKING for op in ops)
        case _:
            return False


def _are_merged(ops: Sequence[ir.Operation]) -> bool:
    """Whether elementwise ops may have been moved into their users (RematerializeParallelOps).

    Then two ops compute the same, or a reduction extends what it reads. Both may also be so in the program:
    then the pass changes nothing there.
    """
    seen = set[_Expression]()
    for op in ops:
        if op.name != "linalg.generic":
            continue
        own = _expressions(op)
        extends = any(each[0] in _EXTENSIONS for each in own)
        if own & seen or (extends and "reduction" in iterators(op)):
            return True
        seen |= own
    return False


def _expressions(generic: ir.Operation) -> set[_Expression]:
    block = generic.regions[0].blocks[0]
    known: dict[ir.Value, object] = dict(zip(block.arguments, generic.operands, strict=True))
    found = set[_Expression]()
    for op in ops_in(block)[:-1]:
        expression = (op.name, *(known.get(operand, operand) for operand in op.operands))
        known |= dict.fromkeys(op.results, expression)
        found.add(expression)
    return found


_OWN = "the program has a configuration for it (compilation_info): remove it to tune the dispatch"
_OWN_SPEC = f"the program has a spec that configures it ({IN_MEMORY}): remove it to tune the dispatch"
_UNKNOWN = "it takes sizes or numbers that are known only at run time"
_STAND_IN = DimensionSize(64)  # to find out what a dispatch is, where no size was given


@dataclass(frozen=True)
class Extraction:
    """A program's dispatches in the order of their names, and the compiler's diagnostics."""

    dispatches: tuple[Dispatch, ...]
    diagnostics: tuple[Diagnostic, ...]


def extract(program: Program, target: Target, workers: Workers, entries: Sequence[str] = ()) -> Extraction:
    """Compile a program to `executable-sources` and describe its dispatches, in a worker.

    Dispatches with dynamic sizes have a workload if the program was given sizes (`program.dynamic.sized`).
    With `entries`, calls are counted from these functions only.

    Raises:
        CompileError: the program does not parse or compile; the message has the location.
        TunerError: the program has no functions, or lacks a named one, or a dynamic dimension that a size is
            given for.
        WorkerError: the compiler died or did not come back.
    """
    return workers.call(extract_here, program.data, program.name, target, sizes_of(program), tuple(entries))


def extract_here(
    data: bytes,
    name: str,
    target: Target,
    sizes: tuple[DimensionSize, ...] = (),
    entries: tuple[str, ...] = (),
) -> Extraction:
    """The part of `extract` that runs in a worker."""
    # The tuner's attributes name the root op; the flag is global to the process, so every session
    # here sets it.
    session = session_for((*target.flags, "--iree-codegen-add-tuner-attributes=true"))
    with session.context, ir.Location.unknown():
        module = session.parse(data, name)
        if not list(module.body.operations):
            raise TunerError("the program has no functions", location=name)
        named = dumped_for(module) or own_target_name(module)
        select_target(module, target)
        advice = suggestion(size_rules(module), sizes)
        diagnostics = session.run(module, stop="executable-sources")
        diagnostics += _for_another_chip(module, named)
        if NOTE.encode() in data:
            take_off(module)
        calls = count_calls(module, entries)
        dispatches = _dispatches(module, calls, target, session, sizes, advice)
        return Extraction(dispatches, tuple(diagnostics))


def _for_another_chip(module: ir.Module, named: str) -> list[Diagnostic]:
    """The message if dispatches are compiled for another chip than the program names."""
    now = {target_name(each) for each in _target_attributes(module)} if named else set[str]()
    other = ", ".join(sorted(now - {named}))
    message = f"the program names the target {named}, but is compiled for {other} here"
    return [Diagnostic("warning", message)] if other else []


def _dispatches(
    module: ir.Module, calls: dict[str, CallCount], target: Target, session: CompilerSession,
    sizes: tuple[DimensionSize, ...], advice: str,
) -> tuple[Dispatch, ...]:  # fmt: skip
    exports = [symbol_of(op) for op in walk(module.operation) if op.name == "hal.executable.export"]
    own_spec = module.operation.attributes.get(IN_MEMORY, None)
    code = set(map(symbol_of, functions_in(module)))
    found: dict[str, Dispatch] = {}
    settle(module, session)
    pin_scalars(module, session)
    pin(module, sizes, session)

    def describe_as(raw: RawHarness) -> Dispatch:
        found = _describe(raw, calls.get(raw.export, CallCount(0)), target, session)
        own = (
            own_spec is not None and found.workload is not None and _configures(own_spec, raw, found, session)
        )
        return replace(found, workload=None, reason=_OWN_SPEC) if own else found

    for raw in _harnesses(module, session):
        found[raw.export] = _sized(describe_as(raw))
    dispatched = dispatched_exports(module)
    for export, raws in with_values(module, dispatched - found.keys(), session).items():
        found[export] = _sized(_with_value([describe_as(raw) for raw in raws], advice))
    if dispatched - found.keys() and is_open(module):
        pin_values(module, STAND_INS[-1], session)
        pin(module, (_STAND_IN,), session)
        for raw in _harnesses(module, session):
            if raw.export not in found:
                takes_sizes = takes_open_sizes(raw)
                found[raw.export] = _without_size(describe_as(raw), advice, takes_sizes=takes_sizes)
    for export in exports:
        if export not in found:
            reason = _UNKNOWN if export in dispatched else "the program never dispatches it"
            reason = reason if export in code else "the program has its code as an object, not as IR"
            found[export] = Dispatch(export, calls.get(export, CallCount(0)), None, reason)
    return tuple(found[export] for export in exports)


def _harnesses(module: ir.Module, session: CompilerSession) -> Iterator[RawHarness]:
    for benchmark in dump_benchmarks(module, session):
        yield from take_buffer(benchmark)


def _sized(dispatch: Dispatch) -> Dispatch:
    """A dispatch, without its workload if the sizes that were given are not possible."""
    wrong = why_wrong(dispatch.workload) if dispatch.workload else ""
    return replace(dispatch, workload=None, reason=wrong) if wrong else dispatch


def _with_value(dispatches: Sequence[Dispatch], advice: str) -> Dispatch:
    """The first of one dispatch's forms, with different values for what is known only at run time.

    It has no workload if its sizes depend on these values, because no size that was chosen here stands for
    those of the program.
    """
    first = dispatches[0]
    if first.workload is None or not first.workload.dynamic:
        return first
    sizes = {each.workload.loops for each in dispatches if each.workload is not None}
    if len(sizes) == 1 and len(dispatches) > 1:
        return first
    known = f": set it with {advice}" if advice else ", computed while the program runs"
    reason = f"{are_dynamic(dynamic_parts(first.workload))}{known}"
    return replace(first, workload=None, harness=None, reason=reason)


def _without_size(dispatch: Dispatch, advice: str, *, takes_sizes: bool) -> Dispatch:
    """The facts about a dispatch of a program with an open size, for which a stand-in was used.

    A dispatch without open sizes is as it would be in any such program: it can be tuned.
    """
    if dispatch.workload is None:
        return replace(dispatch, harness=None)
    if not takes_sizes and not dispatch.workload.dynamic:
        return dispatch
    parts = dynamic_parts(dispatch.workload) if dispatch.workload.dynamic else ""
    what = are_dynamic(parts) if parts else "an input's size is dynamic"
    reason = f"{what}: set it with {advice or '--dim'}"
    return replace(dispatch, workload=None, harness=None, reason=reason)


def _describe(raw: RawHarness, calls: CallCount, target: Target, session: CompilerSession) -> Dispatch:
    limits = limits_of(_target_attributes(raw.module)[0])
    configured = take_mark(find_function(raw.module, raw.export))
    prepare(raw.module, target.preparation, session)
    before = str(find_function(raw.module, raw.export))
    prepare(raw.module, target.spec_prologue, session)
    function = find_function(raw.module, raw.export)
    prologue = target.spec_prologue if str(function) != before else ()
    choice = default_choice(raw.module, raw.export, session)
    workload, reason = _tag_root(function, choice.root, prologue, raw.constants)
    if configured and workload is not None:
        own = prologue_of(workload, compute_ops(function), target)
        if workload.op in _MATRICES and not own:  # no spec matches it in its program
            reason = "data tiling packed its matrices: pass --target llvm-cpu:host+data-tiling or --chip"
        workload = None if reason else replace(workload, prologue=prologue or own)
    carried = carried_in(function)
    harness = Harness(
        to_bytecode(raw.module), raw.function, raw.buffer_bytes, raw.bindings,
        bounded=bounds_sums(function), unclear=raw.unclear,
    )  # fmt: skip
    return Dispatch(
        raw.export, calls, workload, reason, harness, choice.lowering_config, choice.translation_info, limits,
        choice.decomposition_config, carried,
    )  # fmt: skip


def _configures(spec: ir.Attribute, raw: RawHarness, found: Dispatch, session: CompilerSession) -> bool:
    """Whether a spec that the program carries makes another choice for a dispatch than the compiler."""
    raw.module.operation.attributes[IN_MEMORY] = spec
    choice = default_choice(raw.module, raw.export, session)
    del raw.module.operation.attributes[IN_MEMORY]
    return (choice.lowering_config, choice.translation_info) != (found.default, found.pipeline)


def _tag_root(
    function: ir.Operation, root: int | None, prologue: tuple[str, ...], constants: Sequence[int]
) -> tuple[Workload | None, str]:
    """Describe the root op and tag it and its companions with their labels."""
    if root is None:
        configured = any(name in op.attributes for op in compute_ops(function) for name in CONFIGURATIONS)
        return None, _OWN if configured else "the compiler finds no root op in the dispatch"
    op = compute_ops(function)[root]
    workload = describe(op)
    if workload is not None and not workload.loops:
        return None, NO_LOOPS
    if workload is None:
        return None, why_refused(op) or f"no op family describes the root op {op.name}"
    workload = with_sizes(workload, op, constants)
    for label, located in family(workload.family).locate(op, workload).items():
        located.attributes[OP_TAG] = ir.StringAttr.get(label, function.context)
    return replace(workload, prologue=prologue), ""


def prepare(module: ir.Module, passes: tuple[str, ...], session: CompilerSession) -> None:
    """Run passes on the functions of a program's executables, in place. Raises CompileError."""
    if not passes:
        return
    # IR as text: a pipeline of passes is text for the pass manager too
    nested = f"func.func({','.join(passes)})"
    # IR as text: a pipeline of passes is text for the pass manager too
    pipeline = f"builtin.module(hal.executable(hal.executable.variant(builtin.module({nested}))))"
    run_passes(module, session, pipeline)


def _target_attributes(module: ir.Module) -> list[ir.Attribute]:
    return [op.attributes["target"] for op in walk(module.operation) if op.name == "hal.executable.variant"]
