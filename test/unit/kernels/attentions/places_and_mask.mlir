module @jit_places_and_mask attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x20x16xf16>, %arg1: tensor<2x4x24x16xf16>, %arg2: tensor<2x4x24x16xf16>, %arg3: tensor<4x20x24xf16>, %arg4: tensor<2x24xi1>) -> (tensor<2x4x20x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4x20x16xf16>, tensor<2x4x24x16xf16>) -> tensor<2x4x20x24xf32>
    %1 = stablehlo.broadcast_in_dim %arg3, dims = [1, 2, 3] : (tensor<4x20x24xf16>) -> tensor<1x4x20x24xf16>
    %2 = stablehlo.convert %1 : (tensor<1x4x20x24xf16>) -> tensor<1x4x20x24xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2, 3] : (tensor<1x4x20x24xf32>) -> tensor<2x4x20x24xf32>
    %4 = stablehlo.add %0, %3 : tensor<2x4x20x24xf32>
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x20x24xf32>
    %6 = stablehlo.multiply %4, %5 : tensor<2x4x20x24xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %7 = call @_where(%arg4, %cst_0, %cst_1) : (tensor<2x24xi1>, tensor<f32>, tensor<f32>) -> tensor<2x24xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 3] : (tensor<2x24xf32>) -> tensor<2x1x1x24xf32>
    %9 = stablehlo.convert %8 : tensor<2x1x1x24xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<2x1x1x24xf32>) -> tensor<2x4x20x24xf32>
    %11 = stablehlo.add %6, %10 : tensor<2x4x20x24xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.reduce(%11 init: %cst_2) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %14 = stablehlo.maximum %13, %12 : tensor<2x4x20xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x24xf32>
    %17 = stablehlo.subtract %11, %16 : tensor<2x4x20x24xf32>
    %18 = stablehlo.exponential %17 : tensor<2x4x20x24xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %19 = stablehlo.reduce(%18 init: %cst_4) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x24xf32>
    %22 = stablehlo.divide %18, %21 : tensor<2x4x20x24xf32>
    %23 = stablehlo.convert %22 : (tensor<2x4x20x24xf32>) -> tensor<2x4x20x24xf16>
    %24 = stablehlo.dot_general %23, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x4x20x24xf16>, tensor<2x4x24x16xf16>) -> tensor<2x4x20x16xf32>
    %25 = stablehlo.convert %24 : (tensor<2x4x20x16xf32>) -> tensor<2x4x20x16xf16>
    return %25 : tensor<2x4x20x16xf16>
  }
  func.func private @_where(%arg0: tensor<2x24xi1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<2x24xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<2x24xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x24xf32>
    %2 = stablehlo.select %arg0, %0, %1 : tensor<2x24xi1>, tensor<2x24xf32>
    return %2 : tensor<2x24xf32>
  }
}
