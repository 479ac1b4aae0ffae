module @jit_run attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x20x4x16xf16>, %arg1: tensor<2x20x4x16xf16>, %arg2: tensor<2x20x4x16xf16>, %arg3: tensor<1x4x20x20xf16>) -> (tensor<2x20x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2, 4] : (tensor<2x20x4x16xf16>) -> tensor<2x20x4x1x16xf16>
    %1 = stablehlo.reshape %0 : (tensor<2x20x4x1x16xf16>) -> tensor<2x20x4x16xf16>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2, 4] : (tensor<2x20x4x16xf16>) -> tensor<2x20x4x1x16xf16>
    %3 = stablehlo.reshape %2 : (tensor<2x20x4x1x16xf16>) -> tensor<2x20x4x16xf16>
    %4 = stablehlo.dot_general %arg0, %1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>) -> tensor<2x4x20x20xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x20x20xf32>
    %6 = stablehlo.multiply %4, %5 : tensor<2x4x20x20xf32>
    %7 = stablehlo.convert %arg3 : (tensor<1x4x20x20xf16>) -> tensor<1x4x20x20xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<1x4x20x20xf32>) -> tensor<2x4x20x20xf32>
    %9 = stablehlo.add %6, %8 : tensor<2x4x20x20xf32>
    %10 = stablehlo.iota dim = 0 : tensor<20xi32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<20xi32>) -> tensor<20x1xi32>
    %12 = stablehlo.broadcast_in_dim %10, dims = [1] : (tensor<20xi32>) -> tensor<1x20xi32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<20x1xi32>) -> tensor<20x20xi32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<1x20xi32>) -> tensor<20x20xi32>
    %15 = stablehlo.compare GE, %13, %14, SIGNED : (tensor<20x20xi32>, tensor<20x20xi32>) -> tensor<20x20xi1>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %16 = call @_where(%15, %9, %cst_0) : (tensor<20x20xi1>, tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %17 = stablehlo.reduce(%16 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %19 = stablehlo.maximum %18, %17 : tensor<2x4x20xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %22 = stablehlo.subtract %16, %21 : tensor<2x4x20x20xf32>
    %23 = stablehlo.exponential %22 : tensor<2x4x20x20xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.reduce(%23 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %27 = stablehlo.divide %23, %26 : tensor<2x4x20x20xf32>
    %28 = stablehlo.convert %27 : (tensor<2x4x20x20xf32>) -> tensor<2x4x20x20xf16>
    %29 = stablehlo.dot_general %3, %28, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x4x20x20xf16>) -> tensor<2x4x16x20xf32>
    %30 = stablehlo.transpose %29, dims = [0, 3, 1, 2] : (tensor<2x4x16x20xf32>) -> tensor<2x20x4x16xf32>
    %31 = stablehlo.convert %30 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    return %31 : tensor<2x20x4x16xf16>
  }
  func.func private @_where(%arg0: tensor<20x20xi1>, %arg1: tensor<2x4x20x20xf32>, %arg2: tensor<f32>) -> tensor<2x4x20x20xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<20x20xi1>) -> tensor<2x4x20x20xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x4x20x20xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x4x20x20xi1>, tensor<2x4x20x20xf32>
    return %3 : tensor<2x4x20x20xf32>
  }
}
