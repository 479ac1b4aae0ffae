func.func @quantized(%a: tensor<33x96xi8>, %b: tensor<96x33xi8>) -> tensor<33x33xi8> {
  %zero = arith.constant 0 : i32
  %half = arith.constant 1024 : i32
  %bits = arith.constant 11 : i32
  %empty = tensor.empty() : tensor<33x33xi32>
  %narrow = tensor.empty() : tensor<33x33xi8>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<33x33xi32>) -> tensor<33x33xi32>
  %sums = linalg.matmul ins(%a, %b : tensor<33x96xi8>, tensor<96x33xi8>)
          outs(%fill : tensor<33x33xi32>) -> tensor<33x33xi32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%sums : tensor<33x33xi32>) outs(%narrow : tensor<33x33xi8>) {
    ^bb0(%x: i32, %o: i8):
      %rounded = arith.addi %x, %half : i32
      %shifted = arith.shrsi %rounded, %bits : i32
      %y = arith.trunci %shifted : i32 to i8
      linalg.yield %y : i8
  } -> tensor<33x33xi8>
  return %r : tensor<33x33xi8>
}
