module @jit_channels attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<37x256xf16>, %arg1: tensor<256x48xi8>, %arg2: tensor<48xf16>) -> (tensor<37x48xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg1 : (tensor<256x48xi8>) -> tensor<256x48xf16>
    %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<37x256xf16>, tensor<256x48xf16>) -> tensor<37x48xf32>
    %2 = stablehlo.convert %arg2 : (tensor<48xf16>) -> tensor<48xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<48xf32>) -> tensor<1x48xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x48xf32>) -> tensor<37x48xf32>
    %5 = stablehlo.multiply %1, %4 : tensor<37x48xf32>
    %6 = stablehlo.convert %5 : (tensor<37x48xf32>) -> tensor<37x48xf16>
    return %6 : tensor<37x48xf16>
  }
}
