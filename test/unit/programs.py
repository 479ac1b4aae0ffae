"""Small programs that several tests use."""

MATMUL = """
func.func @mm(%a: tensor<96x128xf32>, %b: tensor<128x64xf32>) -> tensor<96x64xf32> {
  %init = arith.constant INIT : f32
  %empty = tensor.empty() : tensor<96x64xf32>
  %fill = linalg.fill ins(%init : f32) outs(%empty : tensor<96x64xf32>) -> tensor<96x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<96x128xf32>, tensor<128x64xf32>)
       outs(%fill : tensor<96x64xf32>) -> tensor<96x64xf32>
  return %r : tensor<96x64xf32>
}
"""

MASKED = """
func.func @masked(%q: tensor<2x32x16xf32>, %k: tensor<2x48x16xf32>, %v: tensor<2x48x24xf32>,
                  %m: tensor<2x32x48xf32>) -> tensor<2x32x24xf32> {
  %s = arith.constant 0.25 : f32
  %e = tensor.empty() : tensor<2x32x24xf32>
  %r = iree_linalg_ext.attention <indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, k2)>, affine_map<(b, m, n, k1, k2) -> (b, m, n)>]>
      ins(%q, %k, %v, %s, %m : tensor<2x32x16xf32>, tensor<2x48x16xf32>, tensor<2x48x24xf32>, f32,
          tensor<2x32x48xf32>) outs(%e : tensor<2x32x24xf32>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<2x32x24xf32>
  return %r : tensor<2x32x24xf32>
}
"""

ZERO_MATMUL = MATMUL.replace("INIT", "0.0")
ONE_MATMUL = MATMUL.replace("INIT", "1.0")

BATCH_OF_ONE_CONVOLUTION = """
func.func @conv(%a: tensor<1x16x16x8xf32>, %b: tensor<3x3x8x16xf32>) -> tensor<1x14x14x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x14x14x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  %r = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
       ins(%a, %b : tensor<1x16x16x8xf32>, tensor<3x3x8x16xf32>)
       outs(%fill : tensor<1x14x14x16xf32>) -> tensor<1x14x14x16xf32>
  return %r : tensor<1x14x14x16xf32>
}
"""

TWO_EPILOGUES = """
func.func @two(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %m = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>)
       outs(%fill : tensor<64x64xf32>) -> tensor<64x64xf32>
  %relu = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<64x64xf32>) outs(%empty : tensor<64x64xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = arith.maximumf %x, %zero : f32
      linalg.yield %y : f32
  } -> tensor<64x64xf32>
  %n = linalg.matmul ins(%relu, %b : tensor<64x64xf32>, tensor<64x64xf32>)
       outs(%fill : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %relu, %n : tensor<64x64xf32>, tensor<64x64xf32>
}
"""


def attention(batch: int, rows: int, heads: int, width: int, keys: int) -> str:
    """As JAX exports it: of arrays of batch, rows, heads and width, f16 with f32 scores, scaled by 1/4."""
    given, other = (
        f"tensor<{batch}x{rows}x{heads}x{width}xf16>",
        f"tensor<{batch}x{keys}x{heads}x{width}xf16>",
    )
    query, key = f"tensor<{batch}x{heads}x{rows}x{width}xf16>", f"tensor<{batch}x{heads}x{keys}x{width}xf16>"
    scores, row = f"tensor<{batch}x{heads}x{rows}x{keys}xf32>", f"tensor<{batch}x{heads}x{rows}xf32>"
    half, sums = scores.replace("f32", "f16"), query.replace("f16", "f32")
    product = "batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x"
    return f"""
    module @model {{
      func.func @main(%q: {given}, %k: {other}, %v: {other}) -> {given} {{
        %0 = stablehlo.transpose %q, dims = [0, 2, 1, 3] : ({given}) -> {query}
        %1 = stablehlo.transpose %k, dims = [0, 2, 1, 3] : ({other}) -> {key}
        %2 = stablehlo.transpose %v, dims = [0, 2, 1, 3] : ({other}) -> {key}
        %products = stablehlo.dot_general %0, %1, {product} [3] : ({query}, {key}) -> {scores}
        %scale = stablehlo.constant dense<0.25> : tensor<f32>
        %scales = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> {scores}
        %scaled = stablehlo.multiply %products, %scales : {scores}
        %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %largest = stablehlo.reduce(%scaled init: %lowest) applies stablehlo.maximum across dimensions = [3]
            : ({scores}, tensor<f32>) -> {row}
        %most = stablehlo.broadcast_in_dim %largest, dims = [0, 1, 2] : ({row}) -> {scores}
        %apart = stablehlo.subtract %scaled, %most : {scores}
        %powers = stablehlo.exponential %apart : {scores}
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %total = stablehlo.reduce(%powers init: %zero) applies stablehlo.add across dimensions = [3]
            : ({scores}, tensor<f32>) -> {row}
        %spread = stablehlo.broadcast_in_dim %total, dims = [0, 1, 2] : ({row}) -> {scores}
        %weights = stablehlo.divide %powers, %spread : {scores}
        %narrow = stablehlo.convert %weights : ({scores}) -> {half}
        %sums = stablehlo.dot_general %narrow, %2, {product} [2] : ({half}, {key}) -> {sums}
        %result = stablehlo.convert %sums : ({sums}) -> {query}
        %r = stablehlo.transpose %result, dims = [0, 2, 1, 3] : ({query}) -> {given}
        return %r : {given}
      }}
    }}"""


def causal_attention(heads: int, shared: int, places: int, width: int) -> str:
    """As JAX exports it: heads by places by width, several heads of queries to one of keys; f16."""
    query, key = f"tensor<{heads}x{places}x{width}xf16>", f"tensor<{shared}x{places}x{width}xf16>"
    apart = f"tensor<{shared}x{heads // shared}x{places}x{width}xf16>"
    scores, row = f"tensor<{heads}x{places}x{places}xf32>", f"tensor<{heads}x{places}xf32>"
    half, sums, truths = (
        scores.replace("f32", "f16"),
        query.replace("f16", "f32"),
        scores.replace("f32", "i1"),
    )
    counted, square = f"tensor<{places}xi32>", f"tensor<1x{places}x{places}xi1>"
    down, across = f"tensor<1x{places}x1xi32>", f"tensor<1x1x{places}xi32>"
    plane = f"tensor<1x{places}x{places}xi32>"
    product = "batching_dims = [0] x [0], contracting_dims = [2] x"
    return f"""
    module @model {{
      func.func @main(%q: {query}, %k: {key}, %v: {key}) -> {query} {{
        %k1 = stablehlo.broadcast_in_dim %k, dims = [0, 2, 3] : ({key}) -> {apart}
        %k2 = stablehlo.reshape %k1 : ({apart}) -> {query}
        %v1 = stablehlo.broadcast_in_dim %v, dims = [0, 2, 3] : ({key}) -> {apart}
        %v2 = stablehlo.reshape %v1 : ({apart}) -> {query}
        %products = stablehlo.dot_general %q, %k2, {product} [2] : ({query}, {query}) -> {scores}
        %scale = stablehlo.constant dense<0.25> : tensor<f32>
        %scales = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> {scores}
        %scaled = stablehlo.multiply %products, %scales : {scores}
        %places = stablehlo.iota dim = 0 : {counted}
        %apart = stablehlo.constant dense<0> : tensor<i32>
        %later = stablehlo.broadcast_in_dim %apart, dims = [] : (tensor<i32>) -> {counted}
        %lasts = stablehlo.add %places, %later : {counted}
        %down = stablehlo.broadcast_in_dim %lasts, dims = [1] : ({counted}) -> {down}
        %across = stablehlo.broadcast_in_dim %places, dims = [2] : ({counted}) -> {across}
        %left = stablehlo.broadcast_in_dim %down, dims = [0, 1, 2] : ({down}) -> {plane}
        %right = stablehlo.broadcast_in_dim %across, dims = [0, 1, 2] : ({across}) -> {plane}
        %sees = stablehlo.compare GE, %left, %right, SIGNED : ({plane}, {plane}) -> {square}
        %hidden = stablehlo.constant dense<0xFF800000> : tensor<f32> // hidden
        %mask = stablehlo.broadcast_in_dim %sees, dims = [0, 1, 2] : ({square}) -> {truths}
        %fill = stablehlo.broadcast_in_dim %hidden, dims = [] : (tensor<f32>) -> {scores}
        %masked = stablehlo.select %mask, %scaled, %fill : {truths}, {scores}
        %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %largest = stablehlo.reduce(%masked init: %lowest) applies stablehlo.maximum across dimensions = [2]
            : ({scores}, tensor<f32>) -> {row}
        %most = stablehlo.broadcast_in_dim %largest, dims = [0, 1] : ({row}) -> {scores}
        %below = stablehlo.subtract %masked, %most : {scores}
        %powers = stablehlo.exponential %below : {scores}
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %total = stablehlo.reduce(%powers init: %zero) applies stablehlo.add across dimensions = [2]
            : ({scores}, tensor<f32>) -> {row}
        %spread = stablehlo.broadcast_in_dim %total, dims = [0, 1] : ({row}) -> {scores}
        %weights = stablehlo.divide %powers, %spread : {scores}
        %narrow = stablehlo.convert %weights : ({scores}) -> {half}
        %sums = stablehlo.dot_general %narrow, %v2, {product} [1] : ({half}, {query}) -> {sums}
        %r = stablehlo.convert %sums : ({sums}) -> {query}
        return %r : {query}
      }}
    }}"""


TWO_PRODUCTS = """
func.func @main(%a: tensor<32x64xf32>, %b: tensor<64x48xf32>, %c: tensor<48x16xf32>) -> tensor<32x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %x = linalg.matmul ins(%a, %b : tensor<32x64xf32>, tensor<64x48xf32>)
      outs(%i : tensor<32x48xf32>) -> tensor<32x48xf32>
  %f = tensor.empty() : tensor<32x16xf32>
  %j = linalg.fill ins(%z : f32) outs(%f : tensor<32x16xf32>) -> tensor<32x16xf32>
  %y = linalg.matmul ins(%x, %c : tensor<32x48xf32>, tensor<48x16xf32>)
      outs(%j : tensor<32x16xf32>) -> tensor<32x16xf32>
  return %y : tensor<32x16xf32>
}
"""
