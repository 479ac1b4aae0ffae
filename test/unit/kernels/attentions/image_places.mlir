module @jit_image_places attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x24x16xf16>, %arg1: tensor<3x24x16xf16>, %arg2: tensor<3x24x16xf16>, %arg3: tensor<4x4x16xf16>, %arg4: tensor<6x6x16xf16>) -> (tensor<3x24x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.reshape %arg0 : (tensor<3x24x16xf16>) -> tensor<3x4x6x16xf16>
    %1 = stablehlo.dot_general %arg3, %0, batching_dims = [0] x [1], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x4x16xf16>, tensor<3x4x6x16xf16>) -> tensor<4x4x3x6xf32>
    %2 = stablehlo.transpose %1, dims = [2, 0, 3, 1] : (tensor<4x4x3x6xf32>) -> tensor<3x4x6x4xf32>
    %3 = stablehlo.convert %2 : (tensor<3x4x6x4xf32>) -> tensor<3x4x6x4xf16>
    %4 = stablehlo.dot_general %arg4, %0, batching_dims = [0] x [2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<6x6x16xf16>, tensor<3x4x6x16xf16>) -> tensor<6x6x3x4xf32>
    %5 = stablehlo.transpose %4, dims = [2, 3, 0, 1] : (tensor<6x6x3x4xf32>) -> tensor<3x4x6x6xf32>
    %6 = stablehlo.convert %5 : (tensor<3x4x6x6xf32>) -> tensor<3x4x6x6xf16>
    %7 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<3x24x16xf16>, tensor<3x24x16xf16>) -> tensor<3x24x24xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x24x24xf32>
    %9 = stablehlo.multiply %7, %8 : tensor<3x24x24xf32>
    %10 = stablehlo.reshape %9 : (tensor<3x24x24xf32>) -> tensor<3x4x6x4x6xf32>
    %11 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<3x4x6x4xf16>) -> tensor<3x4x6x4x1xf16>
    %12 = stablehlo.convert %11 : (tensor<3x4x6x4x1xf16>) -> tensor<3x4x6x4x1xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3, 4] : (tensor<3x4x6x4x1xf32>) -> tensor<3x4x6x4x6xf32>
    %14 = stablehlo.add %10, %13 : tensor<3x4x6x4x6xf32>
    %15 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2, 4] : (tensor<3x4x6x6xf16>) -> tensor<3x4x6x1x6xf16>
    %16 = stablehlo.convert %15 : (tensor<3x4x6x1x6xf16>) -> tensor<3x4x6x1x6xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3, 4] : (tensor<3x4x6x1x6xf32>) -> tensor<3x4x6x4x6xf32>
    %18 = stablehlo.add %14, %17 : tensor<3x4x6x4x6xf32>
    %19 = stablehlo.reshape %18 : (tensor<3x4x6x4x6xf32>) -> tensor<3x24x24xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_0) applies stablehlo.maximum across dimensions = [2] : (tensor<3x24x24xf32>, tensor<f32>) -> tensor<3x24xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x24xf32>
    %22 = stablehlo.maximum %21, %20 : tensor<3x24xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1] : (tensor<3x24xf32>) -> tensor<3x24x1xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<3x24x1xf32>) -> tensor<3x24x24xf32>
    %25 = stablehlo.subtract %19, %24 : tensor<3x24x24xf32>
    %26 = stablehlo.exponential %25 : tensor<3x24x24xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %27 = stablehlo.reduce(%26 init: %cst_2) applies stablehlo.add across dimensions = [2] : (tensor<3x24x24xf32>, tensor<f32>) -> tensor<3x24xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1] : (tensor<3x24xf32>) -> tensor<3x24x1xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2] : (tensor<3x24x1xf32>) -> tensor<3x24x24xf32>
    %30 = stablehlo.divide %26, %29 : tensor<3x24x24xf32>
    %31 = stablehlo.convert %30 : (tensor<3x24x24xf32>) -> tensor<3x24x24xf16>
    %32 = stablehlo.dot_general %31, %arg2, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x24x24xf16>, tensor<3x24x16xf16>) -> tensor<3x24x16xf32>
    %33 = stablehlo.convert %32 : (tensor<3x24x16xf32>) -> tensor<3x24x16xf16>
    return %33 : tensor<3x24x16xf16>
  }
}
