module @jit_tril attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x20x4x16xf16>, %arg1: tensor<2x20x4x16xf16>, %arg2: tensor<2x20x4x16xf16>) -> (tensor<2x20x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>) -> tensor<2x4x20x20xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x20x20xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<2x4x20x20xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<20x20xi1>
    %4 = call @tril(%3) : (tensor<20x20xi1>) -> tensor<20x20xi1>
    %5 = stablehlo.broadcast_in_dim %4, dims = [2, 3] : (tensor<20x20xi1>) -> tensor<1x1x20x20xi1>
    %cst_0 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %6 = call @_where(%5, %2, %cst_0) : (tensor<1x1x20x20xi1>, tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %9 = stablehlo.maximum %8, %7 : tensor<2x4x20xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %12 = stablehlo.subtract %6, %11 : tensor<2x4x20x20xf32>
    %13 = stablehlo.exponential %12 : tensor<2x4x20x20xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.reduce(%13 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %17 = stablehlo.divide %13, %16 : tensor<2x4x20x20xf32>
    %18 = stablehlo.convert %17 : (tensor<2x4x20x20xf32>) -> tensor<2x4x20x20xf16>
    %19 = stablehlo.dot_general %arg2, %18, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x4x20x20xf16>) -> tensor<2x4x16x20xf32>
    %20 = stablehlo.transpose %19, dims = [0, 3, 1, 2] : (tensor<2x4x16x20xf32>) -> tensor<2x20x4x16xf32>
    %21 = stablehlo.convert %20 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    return %21 : tensor<2x20x4x16xf16>
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
  func.func private @_where(%arg0: tensor<1x1x20x20xi1>, %arg1: tensor<2x4x20x20xf32>, %arg2: tensor<f32>) -> tensor<2x4x20x20xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2, 3] : (tensor<1x1x20x20xi1>) -> tensor<2x4x20x20xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x4x20x20xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x4x20x20xi1>, tensor<2x4x20x20xf32>
    return %3 : tensor<2x4x20x20xf32>
  }
}
