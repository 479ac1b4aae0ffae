module @shifted attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x70x700xf16>, %arg1: tensor<700xf16>, %arg2: tensor<700xf16>, %arg3: tensor<700xf16>) -> (tensor<2x70x700xf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x70x700xf16>) -> tensor<2x70x700xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x70x700xf32>, tensor<f32>) -> tensor<2x70xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<2x70xf32>) -> tensor<2x70x1xf32>
    %cst_0 = stablehlo.constant dense<7.000000e+02> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x70x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<2x70x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<2x70x1xf32>) -> tensor<2x70x700xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<2x70x700xf32>
    %7 = stablehlo.multiply %6, %6 : tensor<2x70x700xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<2x70x700xf32>, tensor<f32>) -> tensor<2x70xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<2x70xf32>) -> tensor<2x70x1xf32>
    %cst_2 = stablehlo.constant dense<7.000000e+02> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x70x1xf32>
    %11 = stablehlo.divide %9, %10 : tensor<2x70x1xf32>
    %12 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<2x70x1xf32>) -> tensor<2x70x700xf32>
    %13 = stablehlo.subtract %0, %12 : tensor<2x70x700xf32>
    %cst_3 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x70x1xf32>
    %15 = stablehlo.add %11, %14 : tensor<2x70x1xf32>
    %16 = stablehlo.rsqrt %15 : tensor<2x70x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<2x70x1xf32>) -> tensor<2x70x700xf32>
    %18 = stablehlo.multiply %13, %17 : tensor<2x70x700xf32>
    %19 = stablehlo.convert %arg1 : (tensor<700xf16>) -> tensor<700xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [2] : (tensor<700xf32>) -> tensor<1x1x700xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<1x1x700xf32>) -> tensor<2x70x700xf32>
    %22 = stablehlo.multiply %18, %21 : tensor<2x70x700xf32>
    %23 = stablehlo.convert %arg2 : (tensor<700xf16>) -> tensor<700xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [2] : (tensor<700xf32>) -> tensor<1x1x700xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<1x1x700xf32>) -> tensor<2x70x700xf32>
    %26 = stablehlo.add %22, %25 : tensor<2x70x700xf32>
    %27 = stablehlo.convert %26 : (tensor<2x70x700xf32>) -> tensor<2x70x700xf16>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f16>
    %28 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f16>) -> tensor<2x1x700xf16>
    %29 = stablehlo.slice %27 [0:2, 0:69, 0:700] : (tensor<2x70x700xf16>) -> tensor<2x69x700xf16>
    %30 = stablehlo.concatenate %28, %29, dim = 1 : (tensor<2x1x700xf16>, tensor<2x69x700xf16>) -> tensor<2x70x700xf16>
    %31 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<700xf16>) -> tensor<1x1x700xf16>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<1x1x700xf16>) -> tensor<2x70x700xf16>
    %33 = stablehlo.multiply %27, %32 : tensor<2x70x700xf16>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %34 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f16>) -> tensor<700xf16>
    %35 = stablehlo.subtract %34, %arg3 : tensor<700xf16>
    %36 = stablehlo.broadcast_in_dim %35, dims = [2] : (tensor<700xf16>) -> tensor<1x1x700xf16>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] : (tensor<1x1x700xf16>) -> tensor<2x70x700xf16>
    %38 = stablehlo.multiply %30, %37 : tensor<2x70x700xf16>
    %39 = stablehlo.add %33, %38 : tensor<2x70x700xf16>
    return %39 : tensor<2x70x700xf16>
  }
}
