"""Each kind of edits on a small module: what one does, and what all together leave."""

from __future__ import annotations

import pytest

from iree_tuner.program.source import Program
from iree_tuner.reduce.reducer import STEPS, Candidate, count, edited, printed

NUMBERS = {step.name: number for number, step in enumerate(STEPS)}


def all_of(step: str, text: str) -> str:
    """A module with all edits of a step made; as it is printed where they make it no smaller."""
    start = printed(Program("test.mlir", text.encode())).text
    edits = frozenset(range(count(start, NUMBERS[step])))
    found = edited(start, NUMBERS[step], edits)
    return start if found is None else found.text


def singles(step: str, text: str) -> list[Candidate | None]:
    """The candidates of single edits."""
    start = printed(Program("test.mlir", text.encode())).text
    edits = range(count(start, NUMBERS[step]))
    found = [edited(start, NUMBERS[step], frozenset({edit})) for edit in edits]
    return [None if each is not None and each.text == start else each for each in found]


CALLS = """
func.func private @used(%x: f32) -> f32 {
  return %x : f32
}
func.func @user(%x: f32) -> f32 {
  %0 = func.call @used(%x) : (f32) -> f32
  return %0 : f32
}
util.global private @unused = 1.0 : f32
"""


def test_symbols_go_with_their_users_and_never_before_them():
    assert "@" not in all_of("symbols", CALLS)
    left = ["@used" in each.text and "@user" in each.text for each in singles("symbols", CALLS) if each]
    assert left == [False, True]  # the user, the global; not what is used


NESTED = """
hal.executable private @one {
  hal.executable.variant public @cpu target(<"llvm-cpu", "embedded-elf-x86_64">) {
    builtin.module {
      func.func @helper() {
        return
      }
      func.func @main() {
        func.call @helper() : () -> ()
        return
      }
    }
  }
}
"""


def test_symbols_inside_modules_inside_modules():
    found = [each.text for each in singles("nested symbols", NESTED) if each]
    assert any("@one" in text and "@main" not in text and "@helper" in text for text in found)
    assert not any("@main" in text and "@helper()" not in text for text in found)
    assert all_of("symbols", NESTED).split() == ["module", "{", "}"]


CHAIN = """
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %a, %b : tensor<4xf32>
  %1 = math.exp %0 : tensor<4xf32>
  %2 = math.tanh %1 : tensor<4xf32>
  %3 = arith.mulf %0, %0 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""


def test_unused_ops_go():
    assert "mulf" not in all_of("unused ops", CHAIN)
    assert "addf" in all_of("unused ops", CHAIN)


def test_chains_go_by_operands():
    assert "return %arg0" in all_of("ops by operands", CHAIN)


def test_ops_go_by_arguments():
    text = all_of("ops by arguments", CHAIN)
    assert text.count("tensor<4xf32>") == 5
    assert "return %arg2" in text


def test_constants_and_empty_tensors_stand_in():
    assert "return %cst" in all_of("ops by constants", CHAIN)
    assert "tensor.empty" in all_of("ops by tensor.empty", CHAIN)
    assert all_of("ops by constants", all_of("ops by constants", CHAIN)).count("arith.constant") == 1


def test_what_is_called_keeps_its_arguments():
    assert "func.func private @used(%arg0: f32) -> f32" in all_of("ops by arguments", CALLS)


CAST = """
func.func @main(%a: tensor<4xf32> {iree.x}, %n: index) -> (tensor<4xf16> {iree.y}, tensor<4xf32>) {
  %0 = math.exp %a : tensor<4xf32>
  %1 = arith.addf %0, %a : tensor<4xf32>
  %2 = arith.truncf %1 : tensor<4xf32> to tensor<4xf16>
  return %2, %0 : tensor<4xf16>, tensor<4xf32>
}
"""


def test_the_last_op_goes_whatever_its_type():
    (cast, add, first) = singles("last ops", CAST)
    assert cast is not None
    assert "return %0, %1 : tensor<4xf32>, tensor<4xf32>" in cast.text
    assert add is None  # a third op uses it
    assert first is None
    assert "return %0 : tensor<4xf32>" in all_of("last ops", CAST)


def test_results_and_arguments_go():
    assert "func.func @main(%arg0: tensor<4xf32> {iree.x}, %arg1: index) {" in all_of("results", CAST)
    assert "func.func @main(%arg0: tensor<4xf32> {iree.x}) -> (tensor<4xf16> {iree.y}," in all_of(
        "arguments", CAST
    )


CALLED = """
func.func private @called(%x: f32, %y: i32) -> (f32, i32) {
  %0 = math.exp %x : f32
  return %0, %y : f32, i32
}
func.func @main(%x: f32, %y: i32) -> f32 {
  %0:2 = func.call @called(%x, %y) : (f32, i32) -> (f32, i32)
  return %0#0 : f32
}
"""


def test_signatures_change_where_they_are_called():
    text = all_of("results", CALLED)
    assert "call @called(%arg0, %arg1) : (f32, i32) -> f32" in text
    assert "call @called(%arg0) : (f32) -> f32" in all_of("arguments", text)


SPEC = """
!op = !transform.any_op
!param = !transform.any_param
module attributes {transform.with_named_sequence} {
  transform.named_sequence @a(%op: !op {transform.readonly}) -> (!op, !param) {
    %0 = transform.param.constant 1 : i64 -> !param
    transform.yield %op, %0 : !op, !param
  }
  transform.named_sequence @b(%op: !op {transform.readonly}) -> (!op, !param) {
    %0 = transform.param.constant 2 : i64 -> !param
    transform.yield %op, %0 : !op, !param
  }
  transform.named_sequence @apply(%op: !op {transform.readonly}, %p: !param {transform.readonly}) {
    transform.yield
  }
  transform.named_sequence @__kernel_config(%op: !op {transform.consumed}) -> !op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %0 = transform.foreach_match in %op @a -> @apply, @b -> @apply : (!op) -> !op
    transform.yield %0 : !op
  }
}
"""


def test_entries_of_specs_go_one_by_one():
    first, second = (each.text for each in singles("entries of specs", SPEC) if each)
    assert "@b -> @apply" in first
    assert "@a ->" not in first
    assert "@a -> @apply" in second
    assert "foreach_match" not in all_of("entries of specs", SPEC)
    assert "@a(" not in all_of("symbols", first)


def test_what_matchers_hand_over_goes_on_both_sides():
    text = all_of("arguments of actions", SPEC)
    assert "@apply() {" in text or "@apply(%arg0" not in text
    assert text.count("transform.yield %arg0") == 0
    assert text.count("transform.any_param") == 2  # the constants, which nothing uses now


ATTRIBUTES = """
module @name attributes {x.top = {a = 1, b = {c = 2}}} {
  func.func private @main(%a: f32 {x.y = 1 : i32, x.z}) -> f32 attributes {more} {
    %0 = arith.addf %a, %a fastmath<fast> {note} : f32
    return %0 : f32
  }
}
"""


def test_attributes_go_where_the_op_verifies_without():
    text = all_of("attributes", ATTRIBUTES)
    assert text.split() == printed(Program("x", b"""
    func.func @main(%arg0: f32) -> f32 {
      %0 = arith.addf %arg0, %arg0 : f32
      return %0 : f32
    }""")).text.split()  # fmt: skip
    left = [each.text for each in singles("attributes", ATTRIBUTES) if each]
    assert any("x.top = {a = 1 : i64, b = {}}" in each for each in left)
    assert any("{x.y = 1 : i32}" in each for each in left)


CONFIGURATION = """
#config = #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 1], workgroup = [16, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1]
        subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 3>}>>
func.func @main() attributes {compilation_info = #config} {
  return
}
"""


def test_entries_of_configurations_go_one_by_one():
    texts = [each.text for each in singles("attributes", CONFIGURATION) if each]
    assert any("{reduction = [0, 0, 1]}" in text and "prefetch_num_stages" in text for text in texts)
    assert any("workgroup = [16, 128, 0]" in text and "prefetch_num_stages" not in text for text in texts)
    assert any("compilation_info" not in text for text in texts)


@pytest.mark.parametrize(
    ("constant", "splat"),
    [
        ("dense<[2.0, 3.0]> : tensor<2xf32>", "dense<2.000000e+00> : tensor<2xf32>"),
        ("dense<[5, 3]> : vector<2xi8>", "dense<5> : vector<2xi8>"),
        ("dense<[true, false]> : tensor<2xi1>", "dense<true> : tensor<2xi1>"),
        ("dense<[2.0, 3.0]> : tensor<2xbf16>", "dense<1.000000e+00> : tensor<2xbf16>"),
    ],
)
def test_constants_become_splats(constant, splat):
    assert splat in all_of("constants", f"util.global private @c = {constant}")


def test_resources_become_splats():
    text = """util.global private @c = dense_resource<blob> : tensor<2xf32>
    {-# dialect_resources: {builtin: {blob: "0x080000000000803F00000040"}} #-}"""
    assert "dense<1.000000e+00>" in all_of("constants", text)
    assert "blob" not in all_of("constants", text)


def test_constants_that_the_bindings_cannot_read_stay():
    text = "util.global private @c = dense<[(1.0, 2.0), (2.0, 3.0)]> : tensor<2xcomplex<f32>>"
    assert "(2.000000e+00,3.000000e+00)" in all_of("constants", text)
    assert "@c" not in all_of("symbols", text)


SIZES = """
func.func @main(%a: tensor<8x6xf32>, %b: tensor<6x8xf32>) -> tensor<8x8xf32> {
  %z = arith.constant dense<0.0> : tensor<8x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<8x6xf32>, tensor<6x8xf32>)
    outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = tensor.extract_slice %r[0, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  return %r : tensor<8x8xf32>
}
"""


def test_sizes_change_everywhere_at_once():
    texts = [each.text for each in singles("sizes", SIZES) if each]
    assert any("tensor<4x6xf32>, %arg1: tensor<6x4xf32>" in text for text in texts)
    assert any("tensor<8x1xf32>, %arg1: tensor<1x8xf32>" in text for text in texts)
    assert any("[2, 8] [1, 1] : tensor<8x8xf32> to tensor<2x8xf32>" in text for text in texts)


GENERIC = """
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf16>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (3 - i)>, affine_map<(i) -> (i)>,
                       affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf16>) outs(%e : tensor<4xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f16, %o: f32):
      %0 = math.exp %y : f32
      linalg.yield %0 : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
"""


def test_inputs_of_fused_ops_go():
    text = all_of("inputs of linalg.generic", GENERIC)
    assert "ins(%arg1 : tensor<4xf32>) outs(%0 : tensor<4xf32>)" in text
    assert "(d0) -> (-d0 + 3)" in text
    assert [each is None for each in singles("inputs of linalg.generic", GENERIC)] == [False, True, False]


def test_edits_that_change_nothing_leave_the_text():
    text = printed(Program("x", b"func.func @main() { return }")).text
    edits = frozenset(range(count(text, NUMBERS["attributes"])))
    assert edits  # the name, without which it does not verify
    found = edited(text, NUMBERS["attributes"], edits)
    assert found is not None
    assert found.text == text


def test_calls_nested_as_deep_as_there_are_functions():
    function = "func.func private @f{}() {{ call @f{}() : () -> () return }}"
    calling = [function.format(number, number + 1) for number in range(3000)]
    text = "\n".join([*calling, "func.func private @f3000() { return }"])
    assert all_of("symbols", text).split() == ["module", "{", "}"]


def test_recursive_functions_go():
    text = "func.func private @f() { call @f() : () -> () return }"
    assert "@f" not in all_of("symbols", text)
