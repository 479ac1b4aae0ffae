"""Programs for tests of whole programs: right ones, and ones that are wrong or die."""

_HEAD = """
module @program {
util.global private mutable @count = 0 : i64
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %one = arith.constant 1 : i64
  %before = util.global.load @count : i64
  %count = arith.addi %before, %one : i64
  util.global.store %count, @count : i64
"""

_TAIL = """
  %near = arith.constant 0 : index
  %far = arith.constant 1099511627776 : index
  %crash = arith.constant CRASH : i64
  %late = arith.cmpi sge, %count, %crash : i64
  %base = arith.select %late, %far, %near : index
  %factor = arith.constant FACTOR : f32
  %empty = tensor.empty() : tensor<64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%empty : tensor<64xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %place = arith.addi %i, %base : index
      %value = tensor.extract %x[%place] : tensor<64xf32>
      %scaled = arith.mulf %value, %factor : f32
      linalg.yield %scaled : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}
}
"""

_FAIL = """
  %last = arith.constant FAIL : i64
  %well = arith.cmpi slt, %count, %last : i64
  cf.assert %well, "planted"
"""


def scaling(factor="2.0", crash=1 << 62, fail=None):
    """Multiplies; from some invocation on it reads far beyond its input, or says that it failed."""
    middle = "" if fail is None else _FAIL.replace("FAIL", str(fail))
    return _HEAD + middle + _TAIL.replace("CRASH", str(crash)).replace("FACTOR", factor)


WITH_PARAMETERS = """
module @program {
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<16x8xf32>
util.global private @b = #flow.parameter.named<"model"::"b"> : tensor<8xf32>
util.global private mutable @sum = dense<0.0> : tensor<4x8xf32>
func.func @main(%x: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %w = util.global.load @w : tensor<16x8xf32>
  %b = util.global.load @b : tensor<8xf32>
  %empty = tensor.empty() : tensor<4x8xf32>
  %init = linalg.broadcast ins(%b : tensor<8xf32>) outs(%empty : tensor<4x8xf32>) dimensions = [0]
  %r = linalg.matmul ins(%x, %w : tensor<4x16xf32>, tensor<16x8xf32>)
       outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
func.func @accumulate(%x: tensor<4x8xf32>, %times: f32) -> tensor<4x8xf32> {
  %sum = util.global.load @sum : tensor<4x8xf32>
  %empty = tensor.empty() : tensor<4x8xf32>
  %splat = linalg.fill ins(%times : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %scaled = arith.mulf %x, %splat : tensor<4x8xf32>
  %r = arith.addf %sum, %scaled : tensor<4x8xf32>
  util.global.store %r, @sum : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
func.func @open(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %r = math.sqrt %x : tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
}
"""


ADDING = """
func.func @main(%a: tensor<512xf32>, %b: tensor<512xf32>) -> tensor<512xf32> {{
  %zero = arith.constant 0 : index
  %sum = arith.addf %a, %b : tensor<512xf32>
  %part = tensor.extract_slice %sum[0] [{size}] [1] : tensor<512xf32> to tensor<{size}xf32>
  %room = flow.tensor.empty : tensor<512xf32>
  %held = flow.tensor.update %part, %room[%zero] : tensor<{size}xf32> -> %room as tensor<512xf32>
  %again = arith.addf %held, %a : tensor<512xf32>
  return %again : tensor<512xf32>
}}
"""
"""A sum of which a part is handed on in a larger tensor; what is added to the rest is whatever was there."""
