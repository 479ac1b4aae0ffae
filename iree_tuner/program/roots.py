"""Which op of a dispatch the compiler configures first, and what it chooses for it. Runs in workers."""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.session import CompileError, CompilerSession
from iree_tuner.ops.structure import iterators
from iree_tuner.program.harness import find_function

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
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith(_COMPUTE) and op.name not in _NOT_COMPUTE:
            found.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def default_choice(module: ir.Module, export: str, session: CompilerSession) -> DefaultChoice:
    """Let the compiler configure a copy of the dispatch, and see which op it made the root.

    Ops are numbered before and found again by number. Where the compiler replaced the root by another
    op, and the number is gone, its rule is applied to the ops as they were. A dispatch that the compiler
    cannot configure has no root.
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
    """The last op that is not all-parallel, else the last that is. Source: getRootOperation, CPUUtils.cpp."""
    candidates = [i for i, op in enumerate(ops) if op.name not in _RELAYOUT and op.name != "linalg.fill"]
    reductions = [i for i in candidates if _reduces(ops[i])]
    return max(reductions or candidates or range(len(ops)), default=None)


def _reduces(op: ir.Operation) -> bool:
    return op.name != "linalg.generic" or "reduction" in iterators(op)
