module @jit_both_distances attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x20x16xf16>, %arg1: tensor<4x24x16xf16>, %arg2: tensor<4x24x16xf16>, %arg3: tensor<4xf32>) -> (tensor<4x20x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<20xi32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<20xi32>) -> tensor<20x1xi32>
    %2 = stablehlo.iota dim = 0 : tensor<24xi32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<24xi32>) -> tensor<1x24xi32>
    %4 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<20x1xi32>) -> tensor<20x24xi32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x24xi32>) -> tensor<20x24xi32>
    %6 = stablehlo.subtract %4, %5 : tensor<20x24xi32>
    %7 = stablehlo.abs %6 : tensor<20x24xi32>
    %8 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x20x16xf16>, tensor<4x24x16xf16>) -> tensor<4x20x24xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x20x24xf32>
    %10 = stablehlo.multiply %8, %9 : tensor<4x20x24xf32>
    %11 = stablehlo.broadcast_in_dim %arg3, dims = [0] : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %c = stablehlo.constant dense<7> : tensor<i32>
    %12 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<20x24xi32>
    %13 = stablehlo.minimum %7, %12 : tensor<20x24xi32>
    %14 = stablehlo.convert %13 : (tensor<20x24xi32>) -> tensor<20x24xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [1, 2] : (tensor<20x24xf32>) -> tensor<1x20x24xf32>
    %16 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<4x1x1xf32>) -> tensor<4x20x24xf32>
    %17 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<1x20x24xf32>) -> tensor<4x20x24xf32>
    %18 = stablehlo.multiply %16, %17 : tensor<4x20x24xf32>
    %19 = stablehlo.subtract %10, %18 : tensor<4x20x24xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_0) applies stablehlo.maximum across dimensions = [2] : (tensor<4x20x24xf32>, tensor<f32>) -> tensor<4x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x20xf32>
    %22 = stablehlo.maximum %21, %20 : tensor<4x20xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1] : (tensor<4x20xf32>) -> tensor<4x20x1xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<4x20x1xf32>) -> tensor<4x20x24xf32>
    %25 = stablehlo.subtract %19, %24 : tensor<4x20x24xf32>
    %26 = stablehlo.exponential %25 : tensor<4x20x24xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %27 = stablehlo.reduce(%26 init: %cst_2) applies stablehlo.add across dimensions = [2] : (tensor<4x20x24xf32>, tensor<f32>) -> tensor<4x20xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1] : (tensor<4x20xf32>) -> tensor<4x20x1xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2] : (tensor<4x20x1xf32>) -> tensor<4x20x24xf32>
    %30 = stablehlo.divide %26, %29 : tensor<4x20x24xf32>
    %31 = stablehlo.convert %30 : (tensor<4x20x24xf32>) -> tensor<4x20x24xf16>
    %32 = stablehlo.dot_general %31, %arg2, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x20x24xf16>, tensor<4x24x16xf16>) -> tensor<4x20x16xf32>
    %33 = stablehlo.convert %32 : (tensor<4x20x16xf32>) -> tensor<4x20x16xf16>
    return %33 : tensor<4x20x16xf16>
  }
}
