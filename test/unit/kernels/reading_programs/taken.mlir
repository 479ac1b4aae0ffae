module {
  func.func public @main(%arg0: tensor<2x8x180x32xf16>) -> (tensor<2x6x180x32xf16> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<[3, 2, 1, 0, 5, 7]> : tensor<6xi32>
    %0 = call @_take(%arg0, %c) : (tensor<2x8x180x32xf16>, tensor<6xi32>) -> tensor<2x6x180x32xf16>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f16>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<2x6x180x32xf16>
    %2 = stablehlo.multiply %0, %1 : tensor<2x6x180x32xf16>
    return %2 : tensor<2x6x180x32xf16>
  }
  func.func private @_take(%arg0: tensor<2x8x180x32xf16>, %arg1: tensor<6xi32>) -> tensor<2x6x180x32xf16> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<6xi32>) -> tensor<6x1xi32>
    %1 = "stablehlo.gather"(%arg0, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2, 3], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 2, 1, 180, 32>}> : (tensor<2x8x180x32xf16>, tensor<6x1xi32>) -> tensor<2x6x180x32xf16>
    return %1 : tensor<2x6x180x32xf16>
  }
}
