module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x12x64xf16>, %arg1: tensor<64x48xf16>, %arg2: tensor<3x144xf16>, %arg3: tensor<3x12x48xf16>) -> (tensor<3x12x48xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [0, 2] : (tensor<3x144xf16>) -> tensor<3x1x144xf16>
    %1 = stablehlo.slice %0 [0:3, 0:1, 0:48] : (tensor<3x1x144xf16>) -> tensor<3x1x48xf16>
    %2 = stablehlo.slice %0 [0:3, 0:1, 48:96] : (tensor<3x1x144xf16>) -> tensor<3x1x48xf16>
    %3 = stablehlo.slice %0 [0:3, 0:1, 96:144] : (tensor<3x1x144xf16>) -> tensor<3x1x48xf16>
    %4 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x12x64xf16>, tensor<64x48xf16>) -> tensor<3x12x48xf32>
    %5 = stablehlo.convert %4 : (tensor<3x12x48xf32>) -> tensor<3x12x48xf16>
    %6 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2] : (tensor<3x1x48xf16>) -> tensor<3x12x48xf16>
    %7 = stablehlo.multiply %6, %5 : tensor<3x12x48xf16>
    %8 = stablehlo.add %arg3, %7 : tensor<3x12x48xf16>
    return %8 : tensor<3x12x48xf16>
  }
}
