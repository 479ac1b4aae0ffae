"""Matchers succeed where they must: in a tuning spec, while the compiler configures a program."""

import numpy as np
import pytest
from iree.compiler import ir, passmanager
from iree.compiler.dialects import transform
from op_samples import ATTENTION, LAYERNORM, SOFTMAX, matmul, named

from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.session import CompilerSession
from iree_tuner.ops.family import describe, family
from iree_tuner.ops.matching import any_op
from iree_tuner.targets.llvm_cpu import host_target

TARGET = host_target()
NESTED = "builtin.module(hal.executable(hal.executable.variant(builtin.module(func.func({})))))"
CONV = named("conv_2d_nhwc_hwcf", ["tensor<1x16x16x8xf32>", "tensor<3x3x8x4xf32>", "tensor<1x14x14x4xf32>"])
DEPTHWISE = named(
    "depthwise_conv_2d_nhwc_hwc", ["tensor<1x16x16x8xf32>", "tensor<3x3x8xf32>", "tensor<1x14x14x8xf32>"]
)
POOLING = named("pooling_nhwc_max", ["tensor<1x16x16x8xf32>", "tensor<3x3xf32>", "tensor<1x14x14x8xf32>"])
VECMAT = named("vecmat", ["tensor<64xf32>", "tensor<64x96xf32>", "tensor<96xf32>"])
BATCH = named("batch_matmul", ["tensor<2x16x32xf32>", "tensor<2x32x48xf32>", "tensor<2x16x48xf32>"])
PROGRAMS = {
    "matmul": (matmul(32, 48, 64), "matmul", 1),
    "vecmat": (VECMAT, "vecmat", 1),
    "batch_matmul": (BATCH, "batch_matmul", 1),
    "conv": (CONV, "conv", 1),
    "depthwise": (DEPTHWISE, "depthwise_conv", 1),
    "attention": (ATTENTION, "attention", 1),
    "softmax": (SOFTMAX, "softmax", 3),
    "layernorm": (LAYERNORM, "reduction", 2),
    "pooling": (POOLING, "pooling", 1),
}


@pytest.fixture(scope="module")
def session():
    return CompilerSession(TARGET.flags)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_described_op_is_matched(session, program):
    payload, expected, labels = PROGRAMS[program]
    module = session.parse(payload)
    session.run(module, stop="executable-sources")
    text = str(module)
    found = [each for each in roots(session, text) if each.op == expected]
    assert found, f"no {expected} is described"
    workload = found[-1]
    fired = marks(session, text, workload)
    assert len(fired) >= labels == 1 + len(workload.companions)
    assert {f"fired.{index}" for index in range(labels)} == set(fired)


def roots(session, text):
    module = session.parse(text)
    pipeline = NESTED.format(",".join(TARGET.preparation + TARGET.spec_prologue))
    passmanager.PassManager.parse(pipeline, context=session.context).run(module.operation)
    found = []

    def look(op):
        workload = describe(op)
        if workload is not None:
            found.append(workload)
        return ir.WalkResult.ADVANCE

    module.operation.walk(look)
    return found


def marks(session, text, workload):
    module = session.parse(text)
    with session.context, ir.Location.unknown():
        data = np.frombuffer(to_bytecode(spec(workload)), dtype=np.int8)
        kind = ir.VectorType.get([len(data)], ir.IntegerType.get_signless(8))
        attribute = ir.DenseElementsAttr.get(data, type=kind)
        module.operation.attributes["iree_codegen.tuning_spec_mlirbc"] = attribute
    session.run(module, start="executable-sources", stop="executable-configurations")
    found = []

    def look(op):
        found.extend(name for name in op.attributes if name.startswith("fired."))
        return ir.WalkResult.ADVANCE

    module.operation.walk(look)
    return found


def spec(workload):
    """A tuning spec that only leaves a mark on each op that the matcher returns."""
    readonly, consumed = ({f"transform.{name}": ir.UnitAttr.get()} for name in ("readonly", "consumed"))
    count, handle = 1 + len(workload.companions), any_op()
    module = ir.Module.create()
    module.operation.attributes["transform.with_named_sequence"] = ir.UnitAttr.get()
    with ir.InsertionPoint(module.body):
        mark = transform.NamedSequenceOp("mark", [handle] * count, [], arg_attrs=[readonly] * count)
        match = transform.NamedSequenceOp("match", [handle], [handle] * count, arg_attrs=[readonly])
        entry = transform.NamedSequenceOp("__kernel_config", [handle], [handle], arg_attrs=[consumed])
    entry.operation.attributes["iree_codegen.tuning_spec_entrypoint"] = ir.UnitAttr.get()
    with ir.InsertionPoint(mark.body):
        for index, argument in enumerate(mark.body.arguments):
            transform.AnnotateOp(argument, f"fired.{index}")
        transform.YieldOp([])
    with ir.InsertionPoint(match.body):
        found = family(workload.family).matcher(workload, match.body.arguments[0])
        labels = ["root", *(companion.label for companion in workload.companions)]
        transform.YieldOp([found[label] for label in labels])
    with ir.InsertionPoint(entry.body):
        variant = entry.body.arguments[0]
        for name in TARGET.spec_prologue:
            variant = transform.ApplyRegisteredPassOp(handle, variant, name).result
        pair = [ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(name)]) for name in ("match", "mark")]
        transform.YieldOp([transform.ForeachMatchOp(handle, [], variant, [], *pair).results[0]])
    assert module.operation.verify()
    return module
