module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x12x64xf16>, %arg1: tensor<64x48xf16>, %arg2: tensor<3x48xf16>, %arg3: tensor<48xf16>) -> (tensor<3x12x48xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x12x64xf16>, tensor<64x48xf16>) -> tensor<3x12x48xf32>
    %1 = stablehlo.convert %0 : (tensor<3x12x48xf32>) -> tensor<3x12x48xf16>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [0, 2] : (tensor<3x48xf16>) -> tensor<3x1x48xf16>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2] : (tensor<3x1x48xf16>) -> tensor<3x12x48xf16>
    %4 = stablehlo.multiply %1, %3 : tensor<3x12x48xf16>
    %5 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<48xf16>) -> tensor<1x1x48xf16>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<1x1x48xf16>) -> tensor<3x12x48xf16>
    %7 = stablehlo.subtract %4, %6 : tensor<3x12x48xf16>
    return %7 : tensor<3x12x48xf16>
  }
}
