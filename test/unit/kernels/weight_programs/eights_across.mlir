module @jit_eights_across attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x256xf16>, %arg1: tensor<256x6xi32>, %arg2: tensor<4x48xf16>) -> (tensor<5x48xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1] : (tensor<256x6xi32>) -> tensor<256x6x1xi32>
    %1 = stablehlo.iota dim = 0 : tensor<8xi32>
    %c = stablehlo.constant dense<4> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %3 = stablehlo.multiply %2, %1 : tensor<8xi32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [2] : (tensor<8xi32>) -> tensor<1x1x8xi32>
    %5 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<256x6x1xi32>) -> tensor<256x6x8xi32>
    %6 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<1x1x8xi32>) -> tensor<256x6x8xi32>
    %7 = stablehlo.shift_right_arithmetic %5, %6 : tensor<256x6x8xi32>
    %c_0 = stablehlo.constant dense<15> : tensor<i32>
    %8 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<256x6x8xi32>
    %9 = stablehlo.and %7, %8 : tensor<256x6x8xi32>
    %10 = stablehlo.reshape %9 : (tensor<256x6x8xi32>) -> tensor<256x48xi32>
    %11 = stablehlo.convert %10 : (tensor<256x48xi32>) -> tensor<256x48xf16>
    %cst = stablehlo.constant dense<8.000000e+00> : tensor<f16>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<256x48xf16>
    %13 = stablehlo.subtract %11, %12 : tensor<256x48xf16>
    %14 = stablehlo.reshape %13 : (tensor<256x48xf16>) -> tensor<4x64x48xf16>
    %15 = stablehlo.broadcast_in_dim %arg2, dims = [0, 2] : (tensor<4x48xf16>) -> tensor<4x1x48xf16>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<4x1x48xf16>) -> tensor<4x64x48xf16>
    %17 = stablehlo.multiply %14, %16 : tensor<4x64x48xf16>
    %18 = stablehlo.reshape %17 : (tensor<4x64x48xf16>) -> tensor<256x48xf16>
    %19 = stablehlo.dot_general %arg0, %18, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<5x256xf16>, tensor<256x48xf16>) -> tensor<5x48xf32>
    %20 = stablehlo.convert %19 : (tensor<5x48xf32>) -> tensor<5x48xf16>
    return %20 : tensor<5x48xf16>
  }
}
