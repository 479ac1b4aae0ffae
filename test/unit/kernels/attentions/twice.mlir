module @jit_twice attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x20x16xf16>, %arg1: tensor<2x20x16xf16>, %arg2: tensor<2x20x16xf16>) -> (tensor<4x20x16xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<20xi32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<20xi32>) -> tensor<20x1xi32>
    %2 = stablehlo.iota dim = 0 : tensor<20xi32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<20xi32>) -> tensor<1x20xi32>
    %4 = stablehlo.broadcast_in_dim %arg1, dims = [0, 2, 3] : (tensor<2x20x16xf16>) -> tensor<2x2x20x16xf16>
    %5 = stablehlo.reshape %4 : (tensor<2x2x20x16xf16>) -> tensor<4x20x16xf16>
    %6 = stablehlo.broadcast_in_dim %arg2, dims = [0, 2, 3] : (tensor<2x20x16xf16>) -> tensor<2x2x20x16xf16>
    %7 = stablehlo.reshape %6 : (tensor<2x2x20x16xf16>) -> tensor<4x20x16xf16>
    %8 = stablehlo.dot_general %arg0, %5, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x20x16xf16>, tensor<4x20x16xf16>) -> tensor<4x20x20xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x20x20xf32>
    %10 = stablehlo.multiply %8, %9 : tensor<4x20x20xf32>
    %c = stablehlo.constant dense<2> : tensor<i32>
    %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<20x1xi32>
    %12 = stablehlo.add %1, %11 : tensor<20x1xi32>
    %13 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x20xi32>) -> tensor<20x20xi32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<20x1xi32>) -> tensor<20x20xi32>
    %15 = stablehlo.compare LE, %13, %14, SIGNED : (tensor<20x20xi32>, tensor<20x20xi32>) -> tensor<20x20xi1>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %16 = call @_where(%15, %10, %cst_0) : (tensor<20x20xi1>, tensor<4x20x20xf32>, tensor<f32>) -> tensor<4x20x20xf32>
    %17 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<20x1xi32>) -> tensor<20x20xi32>
    %18 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<1x20xi32>) -> tensor<20x20xi32>
    %19 = stablehlo.subtract %17, %18 : tensor<20x20xi32>
    %c_1 = stablehlo.constant dense<8> : tensor<i32>
    %20 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<20x20xi32>
    %21 = stablehlo.compare LT, %19, %20, SIGNED : (tensor<20x20xi32>, tensor<20x20xi32>) -> tensor<20x20xi1>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %22 = call @_where(%21, %16, %cst_2) : (tensor<20x20xi1>, tensor<4x20x20xf32>, tensor<f32>) -> tensor<4x20x20xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %23 = stablehlo.reduce(%22 init: %cst_3) applies stablehlo.maximum across dimensions = [2] : (tensor<4x20x20xf32>, tensor<f32>) -> tensor<4x20xf32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x20xf32>
    %25 = stablehlo.maximum %24, %23 : tensor<4x20xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1] : (tensor<4x20xf32>) -> tensor<4x20x1xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2] : (tensor<4x20x1xf32>) -> tensor<4x20x20xf32>
    %28 = stablehlo.subtract %22, %27 : tensor<4x20x20xf32>
    %29 = stablehlo.exponential %28 : tensor<4x20x20xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %30 = stablehlo.reduce(%29 init: %cst_5) applies stablehlo.add across dimensions = [2] : (tensor<4x20x20xf32>, tensor<f32>) -> tensor<4x20xf32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1] : (tensor<4x20xf32>) -> tensor<4x20x1xf32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<4x20x1xf32>) -> tensor<4x20x20xf32>
    %33 = stablehlo.divide %29, %32 : tensor<4x20x20xf32>
    %34 = stablehlo.convert %33 : (tensor<4x20x20xf32>) -> tensor<4x20x20xf16>
    %35 = stablehlo.dot_general %34, %7, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x20x20xf16>, tensor<4x20x16xf16>) -> tensor<4x20x16xf32>
    %36 = stablehlo.convert %35 : (tensor<4x20x16xf32>) -> tensor<4x20x16xf16>
    return %36 : tensor<4x20x16xf16>
  }
  func.func private @_where(%arg0: tensor<20x20xi1>, %arg1: tensor<4x20x20xf32>, %arg2: tensor<f32>) -> tensor<4x20x20xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<20x20xi1>) -> tensor<4x20x20xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x20x20xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<4x20x20xi1>, tensor<4x20x20xf32>
    return %3 : tensor<4x20x20xf32>
  }
}
