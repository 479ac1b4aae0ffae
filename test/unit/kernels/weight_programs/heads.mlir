module @jit_heads attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x9x256xbf16>, %arg1: tensor<256x48xi8>, %arg2: tensor<48xbf16>) -> (tensor<2x4x9x12xbf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg1 : (tensor<256x48xi8>) -> tensor<256x48xbf16>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<48xbf16>) -> tensor<1x48xbf16>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x48xbf16>) -> tensor<256x48xbf16>
    %3 = stablehlo.multiply %0, %2 : tensor<256x48xbf16>
    %4 = stablehlo.dot_general %arg0, %3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x9x256xbf16>, tensor<256x48xbf16>) -> tensor<2x9x48xf32>
    %5 = stablehlo.convert %4 : (tensor<2x9x48xf32>) -> tensor<2x9x48xbf16>
    %6 = stablehlo.reshape %5 : (tensor<2x9x48xbf16>) -> tensor<2x9x4x12xbf16>
    %7 = stablehlo.transpose %6, dims = [0, 2, 1, 3] : (tensor<2x9x4x12xbf16>) -> tensor<2x4x9x12xbf16>
    return %7 : tensor<2x4x9x12xbf16>
  }
}
