module @jit_eights attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<37x256xf16>, %arg1: tensor<32x48xi32>, %arg2: tensor<4x48xf16>, %arg3: tensor<4x48xf16>) -> (tensor<37x48xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0, 2] : (tensor<32x48xi32>) -> tensor<32x1x48xi32>
    %1 = stablehlo.iota dim = 0 : tensor<8xi32>
    %c = stablehlo.constant dense<4> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %3 = stablehlo.multiply %2, %1 : tensor<8xi32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<8xi32>) -> tensor<1x8x1xi32>
    %5 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<32x1x48xi32>) -> tensor<32x8x48xi32>
    %6 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<1x8x1xi32>) -> tensor<32x8x48xi32>
    %7 = stablehlo.shift_right_arithmetic %5, %6 : tensor<32x8x48xi32>
    %c_0 = stablehlo.constant dense<15> : tensor<i32>
    %8 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<32x8x48xi32>
    %9 = stablehlo.and %7, %8 : tensor<32x8x48xi32>
    %10 = stablehlo.reshape %9 : (tensor<32x8x48xi32>) -> tensor<256x48xi32>
    %11 = stablehlo.convert %10 : (tensor<256x48xi32>) -> tensor<256x48xi8>
    %12 = stablehlo.reshape %11 : (tensor<256x48xi8>) -> tensor<4x64x48xi8>
    %13 = stablehlo.convert %12 : (tensor<4x64x48xi8>) -> tensor<4x64x48xf16>
    %14 = stablehlo.broadcast_in_dim %arg3, dims = [0, 2] : (tensor<4x48xf16>) -> tensor<4x1x48xf16>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<4x1x48xf16>) -> tensor<4x64x48xf16>
    %16 = stablehlo.subtract %13, %15 : tensor<4x64x48xf16>
    %17 = stablehlo.broadcast_in_dim %arg2, dims = [0, 2] : (tensor<4x48xf16>) -> tensor<4x1x48xf16>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<4x1x48xf16>) -> tensor<4x64x48xf16>
    %19 = stablehlo.multiply %16, %18 : tensor<4x64x48xf16>
    %20 = stablehlo.reshape %19 : (tensor<4x64x48xf16>) -> tensor<256x48xf16>
    %21 = stablehlo.dot_general %arg0, %20, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<37x256xf16>, tensor<256x48xf16>) -> tensor<37x48xf32>
    %22 = stablehlo.convert %21 : (tensor<37x48xf32>) -> tensor<37x48xf16>
    return %22 : tensor<37x48xf16>
  }
}
