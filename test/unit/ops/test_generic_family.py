import pytest
from op_samples import LAYERNORM, generic, named, only, sample, softmax, workloads

from iree_tuner.ops.check import check_op_family
from iree_tuner.ops.generic import Generic

SUM = "%s = arith.addf %x, %o : f32 linalg.yield %s : f32"
REDUCTION = generic("m, k", ["m, k", "m"], "pr", ["tensor<6x14xf32>", "tensor<6xf32>"], SUM)
COPY = "linalg.yield %x : f32"
SQUARE = ["tensor<6x10xf32>", "tensor<6x10xf32>"]
KINDS = {
    "reduction": REDUCTION,
    "elementwise": generic(
        "m, n", ["m, n", "n", "m, n"], "pp", ["tensor<6x10xf32>", "tensor<10xf32>", "tensor<6x10xf32>"],
        "%s = arith.addf %x, %y : f32 linalg.yield %s : f32",
    ),
    "transpose": generic("m, n", ["n, m", "m, n"], "pp", ["tensor<10x6xf32>", "tensor<6x10xf32>"], COPY),
    "broadcast": generic("m, n", ["m", "m, n"], "pp", ["tensor<6xf32>", "tensor<6x10xf32>"], COPY),
    "copy": generic("m, n", ["m, n", "m, n"], "pp", SQUARE, COPY),
    "pooling": named(
        "pooling_nhwc_sum", ["tensor<2x11x13x5xf32>", "tensor<3x3xf32>", "tensor<2x9x11x5xf32>"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_describe(kind):
    workload = only(KINDS[kind])
    assert (workload.family, workload.op, workload.companions) == ("generic", kind, ())


def test_softmax_is_matched_as_a_whole():
    found = workloads(softmax())
    assert [each.op for each in found] == ["softmax"] * 3
    root = found[1]  # the sum, as the compiler chooses
    assert [(each.label, each.op) for each in root.companions] == [
        ("companion_0", "reduction"),
        ("companion_1", "elementwise"),
    ]
    assert all(each.shared == (0, 1) for each in root.companions)
    assert len({each.key for each in found}) == 3, "the root is part of the workload"


def test_a_loop_over_other_data_is_shared_with_none():
    two = KINDS["broadcast"].replace(
        "  return",
        """  %i = tensor.empty() : tensor<6xf32>
  return""",
    )
    assert only(two).companions == ()
    consumer = REDUCTION.replace("-> tensor<6xf32> {", "-> tensor<6x4xf32> {", 1).replace(
        "  return %r : tensor<6xf32>",
        """  %e = tensor.empty() : tensor<6x4xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel"]}
    ins(%r : tensor<6xf32>) outs(%e : tensor<6x4xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<6x4xf32>
  return %w : tensor<6x4xf32>""",
    )
    reduction = workloads(consumer)[0]
    assert [each.shared for each in reduction.companions] == [(0, None)]


def test_the_text_is_canonical():
    other = softmax().replace("%cst", "%zero").replace("linalg.generic {", "linalg.generic {noted, ")
    assert "noted" in other
    assert workloads(other) == workloads(softmax())
    assert "loc(" not in workloads(softmax())[0].dag


def test_users_that_capture_a_constant_are_companions():
    """The compiler's DAG match op fails on those; they are matched by signature."""
    reduction, scaling = workloads(LAYERNORM)
    assert (reduction.op, [each.op for each in reduction.companions]) == ("reduction", ["elementwise"])
    assert (scaling.op, [each.op for each in scaling.companions]) == ("elementwise", ["reduction"])


def test_a_part_of_another_dispatch_is_not_matched():
    """The last op and its inputs are alike; but in the one they are loaded, in the other computed."""
    loaded = """
!stored = !iree_tensor_ext.dispatch.tensor<readonly:tensor<6x14xf32>>
func.func @f(%stored: !stored, %b: tensor<6xf32>) -> tensor<6xf32> {
  %a = iree_tensor_ext.dispatch.tensor.load %stored, offsets = [0, 0], sizes = [6, 14], strides = [1, 1]
    : !stored -> tensor<6x14xf32>
  %r = linalg.reduce ins(%a : tensor<6x14xf32>) outs(%b : tensor<6xf32>) dimensions = [1]
    (%x: f32, %o: f32) {
      %s = arith.addf %x, %o : f32
      linalg.yield %s : f32
    }
  return %r : tensor<6xf32>
}
"""
    more = "%c = math.exp %a : tensor<6x14xf32>\n  %r = linalg.reduce ins(%c"
    computed = loaded.replace("%r = linalg.reduce ins(%a", more)
    assert check_op_family(Generic(), [sample(loaded, computed)], ignores_attributes=False) == []


GATHER = """
#map = affine_map<(m, n) -> (m, n)>
func.func @f(%table: tensor<100x10xf32>, %rows: tensor<6x10xi32>, %out: tensor<6x10xf32>)
    -> tensor<6x10xf32> {
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
    ins(%rows : tensor<6x10xi32>) outs(%out : tensor<6x10xf32>) {
  ^bb0(%row: i32, %o: f32):
    %m = arith.index_cast %row : i32 to index
    %n = linalg.index 1 : index
    %x = tensor.extract %table[%m, %n] : tensor<100x10xf32>
    linalg.yield %x : f32
  } -> tensor<6x10xf32>
  return %r : tensor<6x10xf32>
}
"""


def test_a_region_that_reads_a_tensor():
    assert only(GATHER).op == "elementwise"
    near = GATHER.replace("linalg.index 1", "linalg.index 0"), GATHER.replace("index_cast", "index_castui")
    assert check_op_family(Generic(), [sample(GATHER, *near)]) == []


CUSTOM = """
func.func @f(%a: tensor<6x10xf32>, %e: tensor<6x10xf32>) -> tensor<6x10xf32> {
  %r = iree_linalg_ext.custom_op {
    indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
    iterator_types = [#iree_linalg_ext.iterator_type<parallel>, #iree_linalg_ext.iterator_type<parallel>]}
    ins(%a : tensor<6x10xf32>) outs(%e : tensor<6x10xf32>) {
  ^bb0(%x: tensor<?x?xf32>, %o: tensor<?x?xf32>):
    %s = linalg.copy ins(%x : tensor<?x?xf32>) outs(%o : tensor<?x?xf32>) -> tensor<?x?xf32>
    iree_linalg_ext.yield %s : tensor<?x?xf32>
  } -> tensor<6x10xf32>
  return %r : tensor<6x10xf32>
}
"""


def test_an_op_that_holds_ops_is_not_described():
    """No pipeline lowers it with a configuration of its own; what it holds may be described."""
    assert [workload.loops for workload in workloads(CUSTOM)] == [(0, 0)]


def test_contract():
    samples = [sample(payload) for payload in KINDS.values()]
    samples += [
        sample(REDUCTION, REDUCTION.replace("addf", "mulf")),
        sample(LAYERNORM, LAYERNORM.replace("math.rsqrt", "math.sqrt"), REDUCTION),
        sample(softmax(), REDUCTION),
    ]
    assert check_op_family(Generic(), samples, ignores_attributes=False) == []
