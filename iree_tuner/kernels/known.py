"""Scalars that bodies use and that constants decide, although the program computes them in tensors.

`jnp.var` divides by a count less `ddof`, and chooses NaN where that is not positive; `jnp.pad` converts zero
to the array's type. Both read an element of a tensor without dimensions that is computed of constants.
The compiler's folders and matchers do not see through it: a norm falls apart, and a padding joins no
convolution.
"""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir
from iree.compiler.dialects import arith, func
from iree.compiler.passmanager import PassManager

from iree_tuner.kernels.epilogue import producer
from iree_tuner.kernels.fused_op import FusedOps
from iree_tuner.kernels.moves import CONSTANT, EMPTY, EXTRACT, graph_of, is_elementwise, is_pure, is_source
from iree_tuner.kernels.site import Site, copy_ops
from iree_tuner.kernels.spec import put_into
from iree_tuner.kernels.split_sums import blocks_of, gathered, site_of_ops
from iree_tuner.ops.structure import shape_of

_FILL = "linalg.fill"
_MOST_OPS = 32
_FOLDING = "builtin.module(canonicalize)"


def fold_known(module: ir.Module) -> tuple[Site, ...]:
    """Replace such elements in a program by constants; returns each once, with what replaces it.

    The program is in the phase of preprocessing (after `abi`).
    """
    reads = (op for block in blocks_of(module) for op in block.ops if op.name == EXTRACT)
    found = tuple(dict.fromkeys(site for site in map(_site_of, reads) if site is not None))
    if found:
        put_into(module, [(site, FusedOps().make(site.problem)) for site in found])
    return found


def _site_of(read: ir.Operation) -> Site | None:
    """The site of an element that is read; None if constants do not decide it."""
    ops, arrays = graph_of(read.result, _makes_scalar, _MOST_OPS)
    value = None if arrays else _folded(ops)
    if value is None:
        return None

    def constant(_function: func.FuncOp) -> ir.Value:
        return arith.constant(read.result.type, value)

    _, every = gathered([op for op in ops if op.name != CONSTANT and not is_source(op)])
    return site_of_ops([], every, None, constant)


def _makes_scalar(op: ir.Operation) -> bool:
    """Whether an op computes scalars, or a tensor without dimensions."""
    return op.name == EXTRACT or is_pure(op) or (is_elementwise(op) and not shape_of(op.result.type))


def _folded(ops: Sequence[ir.Operation]) -> ir.Attribute | None:
    """The result of ops on constants, as the compiler folds them; None if it does not."""
    module = ir.Module.create(ir.Location.unknown(ops[0].context))
    scalars: dict[ir.Value, ir.Value] = {}
    with module.context, ir.Location.unknown(), ir.InsertionPoint(module.body):
        function = func.FuncOp("main", ([], [ops[-1].result.type]))
        with ir.InsertionPoint(function.add_entry_block()):
            if not all(_adds_scalar(op, scalars) for op in ops):
                return None
            end = func.ReturnOp([scalars[ops[-1].result]])
    PassManager.parse(_FOLDING, module.context).run(module.operation)
    made = producer(end.operation.operands[0])
    return made.attributes["value"] if made is not None and made.name == CONSTANT else None


def _adds_scalar(op: ir.Operation, scalars: dict[ir.Value, ir.Value]) -> bool:
    """Compute, at the current insertion point, the only element of an op's result, if that is possible."""
    if op.name == EMPTY:
        return True
    if op.name == CONSTANT:
        kind = op.result.type
        element = ir.ShapedType(kind).element_type if isinstance(kind, ir.ShapedType) else kind
        if not isinstance(element, ir.IntegerType | ir.IndexType | ir.FloatType):
            return False
        value = op.attributes["value"]
        splat = value.get_splat_value() if isinstance(value, ir.DenseElementsAttr) else value
        scalars[op.result] = arith.constant(element, splat)
        return True
    if op.name in (EXTRACT, _FILL) and op.operands[0] in scalars:
        scalars[op.result] = scalars[op.operands[0]]
        return True
    if is_pure(op):
        return _adds_copy(op, scalars)
    if op.name in (EXTRACT, _FILL):  # of nothing
        return False
    body = op.regions[0].blocks[0]
    given = zip(body.arguments, op.operands, strict=True)
    scalars |= {inner: scalars[outer] for inner, outer in given if outer in scalars}
    *inner_ops, end = (each.operation for each in body.operations)
    if not all(_adds_copy(each, scalars) for each in inner_ops) or end.operands[0] not in scalars:
        return False
    scalars[op.result] = scalars[end.operands[0]]
    return True


def _adds_copy(op: ir.Operation, scalars: dict[ir.Value, ir.Value]) -> bool:
    """Copy a scalar op, if all of its operands are known."""
    known = all(each in scalars for each in op.operands)
    if known:
        copy_ops([op], scalars)
    return known
