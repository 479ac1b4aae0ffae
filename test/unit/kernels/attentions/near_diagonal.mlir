module @jit_near_diagonal attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x20x16xf16>, %arg1: tensor<2x4x24x16xf16>, %arg2: tensor<2x4x24x16xf16>, %arg3: tensor<4xf32>, %arg4: tensor<2x24xf16>) -> (tensor<2x4x20x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<20xi32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<20xi32>) -> tensor<20x1xi32>
    %2 = stablehlo.iota dim = 0 : tensor<24xi32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<24xi32>) -> tensor<1x24xi32>
    %4 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<20x1xi32>) -> tensor<20x24xi32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x24xi32>) -> tensor<20x24xi32>
    %6 = stablehlo.subtract %4, %5 : tensor<20x24xi32>
    %c = stablehlo.constant dense<3> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<20x24xi32>
    %8 = stablehlo.compare LT, %6, %7, SIGNED : (tensor<20x24xi32>, tensor<20x24xi32>) -> tensor<20x24xi1>
    %c_0 = stablehlo.constant dense<-3> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<20x24xi32>
    %10 = stablehlo.compare GT, %6, %9, SIGNED : (tensor<20x24xi32>, tensor<20x24xi32>) -> tensor<20x24xi1>
    %11 = stablehlo.and %8, %10 : tensor<20x24xi1>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = call @_where(%11, %cst, %cst_1) : (tensor<20x24xi1>, tensor<f32>, tensor<f32>) -> tensor<20x24xf32>
    %13 = stablehlo.convert %12 : tensor<20x24xf32>
    %14 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4x20x16xf16>, tensor<2x4x24x16xf16>) -> tensor<2x4x20x24xf32>
    %cst_2 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4x20x24xf32>
    %16 = stablehlo.multiply %14, %15 : tensor<2x4x20x24xf32>
    %17 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<4xf32>) -> tensor<1x4x1x1xf32>
    %18 = stablehlo.broadcast_in_dim %13, dims = [2, 3] : (tensor<20x24xf32>) -> tensor<1x1x20x24xf32>
    %19 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<1x4x1x1xf32>) -> tensor<1x4x20x24xf32>
    %20 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<1x1x20x24xf32>) -> tensor<1x4x20x24xf32>
    %21 = stablehlo.multiply %19, %20 : tensor<1x4x20x24xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2, 3] : (tensor<1x4x20x24xf32>) -> tensor<2x4x20x24xf32>
    %23 = stablehlo.add %16, %22 : tensor<2x4x20x24xf32>
    %24 = stablehlo.broadcast_in_dim %arg4, dims = [0, 3] : (tensor<2x24xf16>) -> tensor<2x1x1x24xf16>
    %25 = stablehlo.convert %24 : (tensor<2x1x1x24xf16>) -> tensor<2x1x1x24xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3] : (tensor<2x1x1x24xf32>) -> tensor<2x4x20x24xf32>
    %27 = stablehlo.add %23, %26 : tensor<2x4x20x24xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %28 = stablehlo.reduce(%27 init: %cst_3) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %30 = stablehlo.maximum %29, %28 : tensor<2x4x20xf32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x24xf32>
    %33 = stablehlo.subtract %27, %32 : tensor<2x4x20x24xf32>
    %34 = stablehlo.exponential %33 : tensor<2x4x20x24xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %35 = stablehlo.reduce(%34 init: %cst_5) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x24xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x24xf32>
    %38 = stablehlo.divide %34, %37 : tensor<2x4x20x24xf32>
    %39 = stablehlo.convert %38 : (tensor<2x4x20x24xf32>) -> tensor<2x4x20x24xf16>
    %40 = stablehlo.dot_general %39, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x4x20x24xf16>, tensor<2x4x24x16xf16>) -> tensor<2x4x20x16xf32>
    %41 = stablehlo.convert %40 : (tensor<2x4x20x16xf32>) -> tensor<2x4x20x16xf16>
    return %41 : tensor<2x4x20x16xf16>
  }
  func.func private @_where(%arg0: tensor<20x24xi1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<20x24xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<20x24xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<20x24xf32>
    %2 = stablehlo.select %arg0, %0, %1 : tensor<20x24xi1>, tensor<20x24xf32>
    return %2 : tensor<20x24xf32>
  }
}
