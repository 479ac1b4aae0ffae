module @jit_fused_causal attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x20x192xf16>) -> (tensor<2x20x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg0 [0:2, 0:20, 0:64] : (tensor<2x20x192xf16>) -> tensor<2x20x64xf16>
    %1 = stablehlo.slice %arg0 [0:2, 0:20, 64:128] : (tensor<2x20x192xf16>) -> tensor<2x20x64xf16>
    %2 = stablehlo.slice %arg0 [0:2, 0:20, 128:192] : (tensor<2x20x192xf16>) -> tensor<2x20x64xf16>
    %3 = stablehlo.reshape %0 : (tensor<2x20x64xf16>) -> tensor<2x20x4x16xf16>
    %4 = stablehlo.reshape %1 : (tensor<2x20x64xf16>) -> tensor<2x20x4x16xf16>
    %5 = stablehlo.reshape %2 : (tensor<2x20x64xf16>) -> tensor<2x20x4x16xf16>
    %6 = stablehlo.dot_general %3, %4, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>) -> tensor<2x4x20x20xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x20x20xf32>
    %8 = stablehlo.multiply %6, %7 : tensor<2x4x20x20xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<20x20xi1>
    %10 = call @tril(%9) : (tensor<20x20xi1>) -> tensor<20x20xi1>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = call @_where(%10, %8, %cst_0) : (tensor<20x20xi1>, tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.reduce(%11 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %14 = stablehlo.maximum %13, %12 : tensor<2x4x20xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %17 = stablehlo.subtract %11, %16 : tensor<2x4x20x20xf32>
    %18 = stablehlo.exponential %17 : tensor<2x4x20x20xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %19 = stablehlo.reduce(%18 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %22 = stablehlo.divide %18, %21 : tensor<2x4x20x20xf32>
    %23 = stablehlo.convert %22 : (tensor<2x4x20x20xf32>) -> tensor<2x4x20x20xf16>
    %24 = stablehlo.dot_general %5, %23, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x4x20x20xf16>) -> tensor<2x4x16x20xf32>
    %25 = stablehlo.transpose %24, dims = [0, 3, 1, 2] : (tensor<2x4x16x20xf32>) -> tensor<2x20x4x16xf32>
    %26 = stablehlo.convert %25 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    return %26 : tensor<2x20x4x16xf16>
  }
  func.func private @tril(%arg0: tensor<20x20xi1>) -> tensor<20x20xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<20x20xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<20x20xi32>
    %2 = stablehlo.add %0, %1 : tensor<20x20xi32>
    %3 = stablehlo.iota dim = 1 : tensor<20x20xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<20x20xi32>, tensor<20x20xi32>) -> tensor<20x20xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<20x20xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<20x20xi1>, tensor<20x20xi1>
    return %6 : tensor<20x20xi1>
  }
  func.func private @_where(%arg0: tensor<20x20xi1>, %arg1: tensor<2x4x20x20xf32>, %arg2: tensor<f32>) -> tensor<2x4x20x20xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<20x20xi1>) -> tensor<2x4x20x20xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x4x20x20xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x4x20x20xi1>, tensor<2x4x20x20xf32>
    return %3 : tensor<2x4x20x20xf32>
  }
}
