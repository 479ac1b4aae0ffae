module @jit_halves attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x256xf16>, %arg1: tensor<128x48xui8>, %arg2: tensor<4x48xf16>, %arg3: tensor<4x48xf16>) -> (tensor<5x48xf16> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<15> : tensor<ui8>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui8>) -> tensor<128x48xui8>
    %1 = stablehlo.and %arg1, %0 : tensor<128x48xui8>
    %c_0 = stablehlo.constant dense<4> : tensor<ui8>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui8>) -> tensor<128x48xui8>
    %3 = stablehlo.shift_right_logical %arg1, %2 : tensor<128x48xui8>
    %4 = stablehlo.concatenate %1, %3, dim = 0 : (tensor<128x48xui8>, tensor<128x48xui8>) -> tensor<256x48xui8>
    %5 = stablehlo.convert %4 : (tensor<256x48xui8>) -> tensor<256x48xi8>
    %6 = stablehlo.reshape %5 : (tensor<256x48xi8>) -> tensor<4x64x48xi8>
    %7 = stablehlo.convert %6 : (tensor<4x64x48xi8>) -> tensor<4x64x48xf16>
    %8 = stablehlo.broadcast_in_dim %arg3, dims = [0, 2] : (tensor<4x48xf16>) -> tensor<4x1x48xf16>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<4x1x48xf16>) -> tensor<4x64x48xf16>
    %10 = stablehlo.subtract %7, %9 : tensor<4x64x48xf16>
    %11 = stablehlo.broadcast_in_dim %arg2, dims = [0, 2] : (tensor<4x48xf16>) -> tensor<4x1x48xf16>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<4x1x48xf16>) -> tensor<4x64x48xf16>
    %13 = stablehlo.multiply %10, %12 : tensor<4x64x48xf16>
    %14 = stablehlo.reshape %13 : (tensor<4x64x48xf16>) -> tensor<256x48xf16>
    %15 = stablehlo.dot_general %arg0, %14, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x256xf16>, tensor<256x48xf16>) -> tensor<5x48xf32>
    %16 = stablehlo.convert %15 : (tensor<5x48xf32>) -> tensor<5x48xf16>
    return %16 : tensor<5x48xf16>
  }
}
