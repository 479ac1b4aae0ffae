module @jit_scaled_before attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x256xf16>, %arg1: tensor<48x256xi8>, %arg2: tensor<48xf16>) -> (tensor<1x48xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg1 : (tensor<48x256xi8>) -> tensor<48x256xf16>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [0] : (tensor<48xf16>) -> tensor<48x1xf16>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<48x1xf16>) -> tensor<48x256xf16>
    %3 = stablehlo.multiply %0, %2 : tensor<48x256xf16>
    %4 = stablehlo.dot_general %arg0, %3, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<1x256xf16>, tensor<48x256xf16>) -> tensor<1x48xf32>
    %5 = stablehlo.convert %4 : (tensor<1x48xf32>) -> tensor<1x48xf16>
    return %5 : tensor<1x48xf16>
  }
}
