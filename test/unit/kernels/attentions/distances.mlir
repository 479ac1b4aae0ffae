module @jit_distances attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x20x16xf16>, %arg1: tensor<4x20x16xf16>, %arg2: tensor<4x20x16xf16>, %arg3: tensor<4xf32>) -> (tensor<4x20x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<20xi32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<20xi32>) -> tensor<20x1xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<20xi32>) -> tensor<1x20xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<20x1xi32>) -> tensor<20x20xi32>
    %4 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x20xi32>) -> tensor<20x20xi32>
    %5 = stablehlo.subtract %3, %4 : tensor<20x20xi32>
    %6 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x20x16xf16>, tensor<4x20x16xf16>) -> tensor<4x20x20xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x20x20xf32>
    %8 = stablehlo.multiply %6, %7 : tensor<4x20x20xf32>
    %9 = stablehlo.broadcast_in_dim %arg3, dims = [0] : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %10 = stablehlo.convert %5 : (tensor<20x20xi32>) -> tensor<20x20xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [1, 2] : (tensor<20x20xf32>) -> tensor<1x20x20xf32>
    %12 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<4x1x1xf32>) -> tensor<4x20x20xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<1x20x20xf32>) -> tensor<4x20x20xf32>
    %14 = stablehlo.multiply %12, %13 : tensor<4x20x20xf32>
    %15 = stablehlo.subtract %8, %14 : tensor<4x20x20xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %16 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<20x20xi32>
    %17 = stablehlo.compare GE, %5, %16, SIGNED : (tensor<20x20xi32>, tensor<20x20xi32>) -> tensor<20x20xi1>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %18 = call @_where(%17, %15, %cst_0) : (tensor<20x20xi1>, tensor<4x20x20xf32>, tensor<f32>) -> tensor<4x20x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %19 = stablehlo.reduce(%18 init: %cst_1) applies stablehlo.maximum across dimensions = [2] : (tensor<4x20x20xf32>, tensor<f32>) -> tensor<4x20xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x20xf32>
    %21 = stablehlo.maximum %20, %19 : tensor<4x20xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1] : (tensor<4x20xf32>) -> tensor<4x20x1xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<4x20x1xf32>) -> tensor<4x20x20xf32>
    %24 = stablehlo.subtract %18, %23 : tensor<4x20x20xf32>
    %25 = stablehlo.exponential %24 : tensor<4x20x20xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %26 = stablehlo.reduce(%25 init: %cst_3) applies stablehlo.add across dimensions = [2] : (tensor<4x20x20xf32>, tensor<f32>) -> tensor<4x20xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1] : (tensor<4x20xf32>) -> tensor<4x20x1xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<4x20x1xf32>) -> tensor<4x20x20xf32>
    %29 = stablehlo.divide %25, %28 : tensor<4x20x20xf32>
    %30 = stablehlo.convert %29 : (tensor<4x20x20xf32>) -> tensor<4x20x20xf16>
    %31 = stablehlo.dot_general %30, %arg2, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x20x20xf16>, tensor<4x20x16xf16>) -> tensor<4x20x16xf32>
    %32 = stablehlo.convert %31 : (tensor<4x20x16xf32>) -> tensor<4x20x16xf16>
    return %32 : tensor<4x20x16xf16>
  }
  func.func private @_where(%arg0: tensor<20x20xi1>, %arg1: tensor<4x20x20xf32>, %arg2: tensor<f32>) -> tensor<4x20x20xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<20x20xi1>) -> tensor<4x20x20xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x20x20xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<4x20x20xi1>, tensor<4x20x20xf32>
    return %3 : tensor<4x20x20xf32>
  }
}
