module @jit_pairs attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<37x256xf16>, %arg1: tensor<128x48xui8>, %arg2: tensor<4x48xf16>, %arg3: tensor<4x48xf16>) -> (tensor<37x48xf16> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<15> : tensor<ui8>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui8>) -> tensor<128x48xui8>
    %1 = stablehlo.and %arg1, %0 : tensor<128x48xui8>
    %c_0 = stablehlo.constant dense<4> : tensor<ui8>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui8>) -> tensor<128x48xui8>
    %3 = stablehlo.shift_right_logical %arg1, %2 : tensor<128x48xui8>
    %4 = stablehlo.broadcast_in_dim %1, dims = [0, 2] : (tensor<128x48xui8>) -> tensor<128x1x48xui8>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 2] : (tensor<128x48xui8>) -> tensor<128x1x48xui8>
    %6 = stablehlo.concatenate %4, %5, dim = 1 : (tensor<128x1x48xui8>, tensor<128x1x48xui8>) -> tensor<128x2x48xui8>
    %7 = stablehlo.convert %6 : (tensor<128x2x48xui8>) -> tensor<128x2x48xi8>
    %8 = stablehlo.reshape %7 : (tensor<128x2x48xi8>) -> tensor<256x48xi8>
    %9 = stablehlo.reshape %8 : (tensor<256x48xi8>) -> tensor<4x64x48xi8>
    %10 = stablehlo.convert %9 : (tensor<4x64x48xi8>) -> tensor<4x64x48xf16>
    %11 = stablehlo.broadcast_in_dim %arg3, dims = [0, 2] : (tensor<4x48xf16>) -> tensor<4x1x48xf16>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<4x1x48xf16>) -> tensor<4x64x48xf16>
    %13 = stablehlo.subtract %10, %12 : tensor<4x64x48xf16>
    %14 = stablehlo.broadcast_in_dim %arg2, dims = [0, 2] : (tensor<4x48xf16>) -> tensor<4x1x48xf16>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<4x1x48xf16>) -> tensor<4x64x48xf16>
    %16 = stablehlo.multiply %13, %15 : tensor<4x64x48xf16>
    %17 = stablehlo.reshape %16 : (tensor<4x64x48xf16>) -> tensor<256x48xf16>
    %18 = stablehlo.dot_general %arg0, %17, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<37x256xf16>, tensor<256x48xf16>) -> tensor<37x48xf32>
    %19 = stablehlo.convert %18 : (tensor<37x48xf32>) -> tensor<37x48xf16>
    return %19 : tensor<37x48xf16>
  }
}
