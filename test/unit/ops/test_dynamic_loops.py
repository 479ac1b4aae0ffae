"""Loops whose sizes are known only at run time: described with their bounds, matched within them."""

import json
from dataclasses import replace

import pytest
from iree.compiler import ir
from op_samples import ATTENTION, generic, matmul, named, prepare, sample, workloads

from iree_tuner.ops.attention import Attention
from iree_tuner.ops.check import all_ops, check_op_family, matches
from iree_tuner.ops.contraction import Contraction
from iree_tuner.ops.convolution import Convolution
from iree_tuner.ops.family import are_dynamic, dynamic_parts, family, why_refused
from iree_tuner.ops.generic import Generic
from iree_tuner.ops.workload import DynamicLoop, from_json, to_json

BOUNDED = """
func.func @f(%a: tensor<?x14xf32>, %b: tensor<14x10xf32>) -> tensor<?x10xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %a, %c0 : tensor<?x14xf32>
  %m = util.assume.int %d<umin = 16, umax = 4096, udiv = 16> : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?x10xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<?x10xf32>) -> tensor<?x10xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x14xf32>, tensor<14x10xf32>)
    outs(%c : tensor<?x10xf32>) -> tensor<?x10xf32>
  return %r : tensor<?x10xf32>
}
"""
TWICE = BOUNDED.replace(
    "%d<umin = 16, umax = 4096, udiv = 16>", "%d[<umin = 16, umax = 64, udiv = 16>, <umin = 24, udiv = 24>]"
)
BLOCKED = (
    BOUNDED.replace("?x1", "?x16x1")
    .replace("%e = tensor.empty(%m)", "%n = affine.apply affine_map<()[s] -> (s floordiv 16)>()[%m]\n"
             "  %e = tensor.empty(%n)")
    .replace("linalg.matmul ins", "linalg.generic {indexing_maps = [affine_map<(h, w, n, k) -> (h, w, k)>, "
             "affine_map<(h, w, n, k) -> (k, n)>, affine_map<(h, w, n, k) -> (h, w, n)>], "
             'iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins')
    .replace("outs(%c : tensor<?x16x10xf32>) ->", "outs(%c : tensor<?x16x10xf32>) {\n  ^bb0(%x: f32, "
             "%y: f32, %o: f32):\n    %p = arith.mulf %x, %y : f32\n    %s = arith.addf %o, %p : f32\n"
             "    linalg.yield %s : f32\n  } ->")
)  # fmt: skip
BATCH = named("batch_matmul", ["tensor<?x?x14xf32>", "tensor<?x14x10xf32>", "tensor<?x?x10xf32>"])
CONV = named("conv_2d_nhwc_hwcf", ["tensor<?x?x13x5xf32>", "tensor<3x3x5x7xf32>", "tensor<?x?x11x7xf32>"])
WEIGHTS = named("conv_2d_nhwc_hwcf", ["tensor<2x11x13x5xf32>", "tensor<3x3x5x?xf32>", "tensor<2x9x11x?xf32>"])
POOLING = named("pooling_nhwc_sum", ["tensor<?x11x13x5xf32>", "tensor<3x3xf32>", "tensor<?x9x11x5xf32>"])
ROW = generic("m, n", ["m, n", "m"], "pr", ["tensor<?x10xf32>", "tensor<?xf32>"],
              "%s = arith.addf %o, %x : f32 linalg.yield %s : f32")  # fmt: skip
CENTERED = """
func.func @f(%a: tensor<?x14xf32>) -> tensor<?x14xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %a, %c0 : tensor<?x14xf32>
  %m = util.assume.int %d<umin = 16, umax = 4096> : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m) : tensor<?xf32>
  %c = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>],
    iterator_types = ["parallel", "reduction"]} ins(%a : tensor<?x14xf32>) outs(%c : tensor<?xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %x, %o : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %w = tensor.empty(%m) : tensor<?x14xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>,
    affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
    ins(%a, %s : tensor<?x14xf32>, tensor<?xf32>) outs(%w : tensor<?x14xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.subf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<?x14xf32>
  return %r : tensor<?x14xf32>
}
"""
"""Rows whose sums are taken off: the first op that is described is the reduction, with a companion."""
FIXED = (
    CENTERED.replace("?", "48").replace("(%m)", "()")
    .replace("  %d = tensor.dim %a, %c0 : tensor<48x14xf32>\n", "")
    .replace("  %m = util.assume.int %d<umin = 16, umax = 4096> : index\n", "")
)  # fmt: skip


def attention() -> str:
    """Dynamic in batch and m: dimensions of 2 and of 6 (f16 keeps its digits)."""
    text = ATTENTION.replace("tensor<2x6x", "tensor<?x?x").replace("tensor<2x14x", "tensor<?x14x")
    return str(prepare(text, "iree-linalg-ext-convert-attention-to-online-attention"))


OPEN = (DynamicLoop(0), DynamicLoop(1))
KINDS = {
    "matmul": (Contraction(), matmul(m="?"), "m", (DynamicLoop(0),)),
    "bounded matmul": (Contraction(), BOUNDED, "m", (DynamicLoop(0, 16, 4096, 16),)),
    "assumed twice": (Contraction(), TWICE, "m", (DynamicLoop(0, 16, None, 8),)),
    "blocks of 16": (Contraction(), BLOCKED, "m", (DynamicLoop(0, 1, 256),)),
    "batch_matmul": (Contraction(), BATCH, "batch and m", OPEN),
    "conv": (Convolution(), CONV, "batch and output image", OPEN),
    "attention": (Attention(), attention(), "batch and m", OPEN),
    "row reduction": (Generic(), ROW, "loop 0", (DynamicLoop(0),)),
    "centered rows": (Generic(), CENTERED, "loop 0", (DynamicLoop(0, 16, 4096),)),
    "product": (Generic(), matmul(m="?", k="?"), "loop 0 and loop 2", (DynamicLoop(0), DynamicLoop(2))),
}


@pytest.mark.parametrize("kind", KINDS)
def test_dynamic_loops_are_described_with_their_bounds(kind):
    _, payload, parts, loops = KINDS[kind]
    workload = workloads(payload)[0]
    assert workload.dynamic == loops
    assert dynamic_parts(workload) == parts
    verb = "are" if len(workload.dynamic) > 1 else "is"
    assert are_dynamic(parts).endswith(f"{parts} {verb} dynamic")
    assert all(workload.loops[each.loop] == 0 for each in loops)
    again = from_json(json.loads(json.dumps(to_json(workload))))
    assert (again, again.key, hash(again)) == (workload, workload.key, hash(workload))


@pytest.mark.parametrize("kind", KINDS)
def test_contract(kind):
    owner, payload, _, _ = KINDS[kind]
    exact = isinstance(owner, Generic)  # the DAG matcher compares attributes
    assert check_op_family(owner, [sample(payload)], ignores_attributes=not exact) == []


@pytest.mark.parametrize(("m", "fires"), [(16, True), (48, True), (4096, True), (8, False), (24, False)])
def test_a_bounded_matcher_takes_the_static_sizes_within_its_bounds(m, fires):
    assert bool(fired(BOUNDED, matmul(m=m))) is fires


def test_a_bounded_matcher_takes_no_size_that_may_be_out_of_bounds():
    assert not fired(BOUNDED, matmul(m=8192))
    assert not fired(BOUNDED, matmul(m="?"))
    assert fired(BOUNDED, BOUNDED.replace("umax = 4096, udiv = 16", "umax = 128, udiv = 64"))


def test_an_unbounded_matcher_takes_dynamic_sizes_alone():
    assert not fired(matmul(m="?"), matmul(m=48))
    assert fired(matmul(m="?"), BOUNDED)
    assert not fired(matmul(m="?"), matmul(m="?", n=11))
    assert not fired(matmul(m=48), matmul(m="?"))


@pytest.mark.parametrize(
    ("payload", "what"),
    [
        (WEIGHTS, "dimension output channel is dynamic in linalg.conv_2d_nhwc_hwcf"),
        (POOLING, "dimension batch is dynamic in linalg.pooling_nhwc_sum"),
    ],
)
def test_other_dynamic_loops_are_refused_by_name(payload, what):
    assert workloads(payload) == []
    module = prepare(payload)
    (reason,) = {why_refused(op) for op in all_ops(module)} - {""}
    assert reason.startswith(f"{what}; supported are batch and m of contractions")


def test_static_sizes_are_no_reason():
    module = prepare(matmul())
    assert {why_refused(op) for op in all_ops(module)} == {""}


def test_rows_with_companions_are_matched_by_bounds():
    sums = workloads(CENTERED)[0]
    assert [(each.loops, each.shared) for each in sums.companions] == [((0, 14), (0, 1))]
    assert [each.loops for each in replace(sums, loops=(40, 14)).with_companions_sized().companions] == [
        (40, 14)
    ]
    assert fired(CENTERED, FIXED)
    assert fired(CENTERED, CENTERED.replace("4096", "64"))
    assert not fired(CENTERED, CENTERED.replace("4096", "8192"))
    assert not fired(CENTERED, FIXED.replace("48", "8"))
    unknown = CENTERED.replace("umin = 16, umax = 4096", "umin = 16")
    assert fired(unknown, CENTERED)
    assert not fired(unknown, FIXED)


def fired(described: str, payload: str) -> list[dict[str, int]]:
    """Where the matcher of the one op that is described succeeds in a payload."""
    workload = workloads(described)[0]
    context = prepare(described).context
    return matches(family(workload.family), workload, ir.Module.parse(payload, context))
