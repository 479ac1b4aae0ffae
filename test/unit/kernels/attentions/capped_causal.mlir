module @jit_run attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x20x4x16xf16>, %arg1: tensor<2x20x2x16xf16>, %arg2: tensor<2x20x2x16xf16>) -> (tensor<2x20x4x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2, 4] : (tensor<2x20x2x16xf16>) -> tensor<2x20x2x2x16xf16>
    %1 = stablehlo.reshape %0 : (tensor<2x20x2x2x16xf16>) -> tensor<2x20x4x16xf16>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2, 4] : (tensor<2x20x2x16xf16>) -> tensor<2x20x2x2x16xf16>
    %3 = stablehlo.reshape %2 : (tensor<2x20x2x2x16xf16>) -> tensor<2x20x4x16xf16>
    %4 = stablehlo.dot_general %arg0, %1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>) -> tensor<2x4x20x20xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x20x20xf32>
    %6 = stablehlo.multiply %4, %5 : tensor<2x4x20x20xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4x20x20xf32>
    %8 = stablehlo.divide %6, %7 : tensor<2x4x20x20xf32>
    %9 = stablehlo.tanh %8 : tensor<2x4x20x20xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x20x20xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<2x4x20x20xf32>
    %12 = stablehlo.iota dim = 0 : tensor<20xi32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0] : (tensor<20xi32>) -> tensor<20x1xi32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [1] : (tensor<20xi32>) -> tensor<1x20xi32>
    %15 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<20x1xi32>) -> tensor<20x20xi32>
    %16 = stablehlo.broadcast_in_dim %14, dims = [0, 1] : (tensor<1x20xi32>) -> tensor<20x20xi32>
    %17 = stablehlo.compare GE, %15, %16, SIGNED : (tensor<20x20xi32>, tensor<20x20xi32>) -> tensor<20x20xi1>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %18 = call @_where(%17, %11, %cst_2) : (tensor<20x20xi1>, tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20x20xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %19 = stablehlo.reduce(%18 init: %cst_3) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %21 = stablehlo.maximum %20, %19 : tensor<2x4x20xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %24 = stablehlo.subtract %18, %23 : tensor<2x4x20x20xf32>
    %25 = stablehlo.exponential %24 : tensor<2x4x20x20xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %26 = stablehlo.reduce(%25 init: %cst_5) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %29 = stablehlo.divide %25, %28 : tensor<2x4x20x20xf32>
    %30 = stablehlo.convert %29 : (tensor<2x4x20x20xf32>) -> tensor<2x4x20x20xf16>
    %31 = stablehlo.dot_general %3, %30, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x4x20x20xf16>) -> tensor<2x4x16x20xf32>
    %32 = stablehlo.transpose %31, dims = [0, 3, 1, 2] : (tensor<2x4x16x20xf32>) -> tensor<2x20x4x16xf32>
    %33 = stablehlo.convert %32 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    return %33 : tensor<2x20x4x16xf16>
  }
  func.func private @_where(%arg0: tensor<20x20xi1>, %arg1: tensor<2x4x20x20xf32>, %arg2: tensor<f32>) -> tensor<2x4x20x20xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<20x20xi1>) -> tensor<2x4x20x20xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x4x20x20xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x4x20x20xi1>, tensor<2x4x20x20xf32>
    return %3 : tensor<2x4x20x20xf32>
  }
}
