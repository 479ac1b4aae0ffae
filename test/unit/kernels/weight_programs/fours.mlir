module @jit_fours attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x256xf16>, %arg1: tensor<256x48xi4>, %arg2: tensor<4x48xf16>) -> (tensor<5x48xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.reshape %arg1 : (tensor<256x48xi4>) -> tensor<4x64x48xi4>
    %1 = stablehlo.convert %0 : (tensor<4x64x48xi4>) -> tensor<4x64x48xf16>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [0, 2] : (tensor<4x48xf16>) -> tensor<4x1x48xf16>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2] : (tensor<4x1x48xf16>) -> tensor<4x64x48xf16>
    %4 = stablehlo.multiply %1, %3 : tensor<4x64x48xf16>
    %5 = stablehlo.reshape %4 : (tensor<4x64x48xf16>) -> tensor<256x48xf16>
    %6 = stablehlo.dot_general %arg0, %5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x256xf16>, tensor<256x48xf16>) -> tensor<5x48xf32>
    %7 = stablehlo.convert %6 : (tensor<5x48xf32>) -> tensor<5x48xf16>
    return %7 : tensor<5x48xf16>
  }
}
