"""A second opinion where the interpreter would take too long: a GPU's dispatch, compiled for the processor.

Its code comes out of another back end of the compiler. Where a candidate and the compiler's own choice differ
and one of them has this code's values, the other one is wrong.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from iree.compiler import ir
from iree.compiler.dialects import arith, func, hal, util

from iree_tuner.check.reference.scalars import Unsupported
from iree_tuner.compiler.linalg import elementwise
from iree_tuner.compiler.session import CompileError, CompilerSession
from iree_tuner.compiler.unbound import hal_type
from iree_tuner.compiler.worker import session_for
from iree_tuner.device.bench import Bench
from iree_tuner.device.data import values_in, written
from iree_tuner.device.memory import LoadedDispatch
from iree_tuner.program.bindings import Harness
from iree_tuner.targets.llvm_cpu import host_target
from iree_tuner.targets.registry import DEFAULT_DEVICE
from iree_tuner.targets.runtime import RUNTIME_ERRORS

_MOST_WORK = 1e11
"""Multiplications: more would take longer than measuring should wait."""

_TARGET, _INITIAL_VALUE = "target", "initial_value"


class OnHost:
    """The dispatch of a bench of another device on this machine's processor; compiled at the first use."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._loaded: LoadedDispatch | Unsupported | None = None

    def outputs(self, seed: int) -> list[npt.NDArray[np.generic]] | Unsupported:
        """Its results for a seed's inputs, in the order of `device.data.written`; or why there are none."""
        if self._loaded is None:
            self._loaded = self._load()
        if isinstance(self._loaded, Unsupported):
            return self._loaded
        harness = self._bench.harness
        try:
            self._loaded.fill(seed)
            self._loaded.run(1)
        except RUNTIME_ERRORS as error:
            self._loaded = Unsupported(f"it does not run on the CPU: {error}")
            return self._loaded
        got = self._loaded.read()
        return [values_in(got, binding, each).copy() for binding, each, _ in written(harness.bindings)]

    def _load(self) -> LoadedDispatch | Unsupported:
        harness = self._bench.harness
        results = sum(math.prod(each.shape) for _, each, _ in written(harness.bindings))
        if results * self._bench.tolerance.reduction_length > _MOST_WORK:
            return Unsupported("the dispatch is too large for the CPU")
        try:
            return LoadedDispatch(compile_for_host(harness), harness, DEFAULT_DEVICE)
        except CompileError as error:
            return Unsupported(f"the dispatch does not compile for the CPU: {error}")
        except RUNTIME_ERRORS as error:
            return Unsupported(f"the dispatch does not load on the CPU: {error}")


def compile_for_host(harness: Harness) -> bytes:
    """A harness for any target, as a VM module for this machine's processor. Raises CompileError."""
    session = session_for(host_target().flags)
    with session.context, ir.Location.unknown():
        module = session.parse(harness.module)
        _retarget(module, session)
        return session.to_vmfb(module, start="executable-sources")


def _retarget(module: ir.Module, session: CompilerSession) -> None:
    example = _example()
    session.run(example, stop="executable-sources")
    device = ir.get_ops_of_type(example, util.GlobalOp)[0].attributes[_INITIAL_VALUE]
    target = ir.get_ops_of_type(example, hal.ExecutableVariantOp)[0].attributes[_TARGET]
    for op in ir.get_ops_of_type(module, util.GlobalOp):
        if ir.TypeAttr(op.attributes["type"]).value == hal_type("device", module.context):
            op.attributes[_INITIAL_VALUE] = device
    for op in ir.get_ops_of_type(module, hal.ExecutableVariantOp):
        op.attributes[_TARGET] = target


def _example() -> ir.Module:
    real = ir.F32Type.get()
    vector = ir.RankedTensorType.get([4], real)
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("double", ir.FunctionType.get([vector], [vector]))
    with ir.InsertionPoint(function.add_entry_block()):
        (given,) = function.arguments
        maps = [ir.AffineMap.get_identity(1)]
        doubled = elementwise([given], maps, (4,), real, lambda *each: arith.addf(each[0], each[0]))
        func.ReturnOp([doubled])
    return module
