module @square attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x100xf32>, %arg1: tensor<3x100xf32>, %arg2: tensor<100x100xi1>) -> (tensor<3x100x100xf16>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<3x100xf32>) -> tensor<3x100x1xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [0, 2] : (tensor<3x100xf32>) -> tensor<3x1x100xf32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<3x100x1xf32>) -> tensor<3x100x100xf32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<3x1x100xf32>) -> tensor<3x100x100xf32>
    %4 = stablehlo.add %2, %3 : tensor<3x100x100xf32>
    %cst = stablehlo.constant dense<2.000000e-01> : tensor<f32>
    %5 = call @leaky_relu(%4, %cst) : (tensor<3x100x100xf32>, tensor<f32>) -> tensor<3x100x100xf32>
    %6 = stablehlo.broadcast_in_dim %arg2, dims = [1, 2] : (tensor<100x100xi1>) -> tensor<1x100x100xi1>
    %cst_0 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %7 = call @_where_0(%6, %5, %cst_0) : (tensor<1x100x100xi1>, tensor<3x100x100xf32>, tensor<f32>) -> tensor<3x100x100xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.maximum across dimensions = [2] : (tensor<3x100x100xf32>, tensor<f32>) -> tensor<3x100xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<3x100xf32>
    %10 = stablehlo.maximum %9, %8 : tensor<3x100xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<3x100xf32>) -> tensor<3x100x1xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<3x100x1xf32>) -> tensor<3x100x100xf32>
    %13 = stablehlo.subtract %7, %12 : tensor<3x100x100xf32>
    %14 = stablehlo.exponential %13 : tensor<3x100x100xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.reduce(%14 init: %cst_3) applies stablehlo.add across dimensions = [2] : (tensor<3x100x100xf32>, tensor<f32>) -> tensor<3x100xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<3x100xf32>) -> tensor<3x100x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<3x100x1xf32>) -> tensor<3x100x100xf32>
    %18 = stablehlo.divide %14, %17 : tensor<3x100x100xf32>
    %19 = stablehlo.convert %18 : (tensor<3x100x100xf32>) -> tensor<3x100x100xf16>
    %20 = stablehlo.transpose %19, dims = [0, 2, 1] : (tensor<3x100x100xf16>) -> tensor<3x100x100xf16>
    return %20 : tensor<3x100x100xf16>
  }
  func.func private @leaky_relu(%arg0: tensor<3x100x100xf32>, %arg1: tensor<f32>) -> tensor<3x100x100xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x100x100xf32>
    %1 = stablehlo.compare GE, %arg0, %0, FLOAT : (tensor<3x100x100xf32>, tensor<3x100x100xf32>) -> tensor<3x100x100xi1>
    %2 = stablehlo.convert %arg1 : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<3x100x100xf32>
    %4 = stablehlo.multiply %3, %arg0 : tensor<3x100x100xf32>
    %5 = call @_where(%1, %arg0, %4) : (tensor<3x100x100xi1>, tensor<3x100x100xf32>, tensor<3x100x100xf32>) -> tensor<3x100x100xf32>
    return %5 : tensor<3x100x100xf32>
  }
  func.func private @_where(%arg0: tensor<3x100x100xi1>, %arg1: tensor<3x100x100xf32>, %arg2: tensor<3x100x100xf32>) -> tensor<3x100x100xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<3x100x100xi1>, tensor<3x100x100xf32>
    return %0 : tensor<3x100x100xf32>
  }
  func.func private @_where_0(%arg0: tensor<1x100x100xi1>, %arg1: tensor<3x100x100xf32>, %arg2: tensor<f32>) -> tensor<3x100x100xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2] : (tensor<1x100x100xi1>) -> tensor<3x100x100xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x100x100xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<3x100x100xi1>, tensor<3x100x100xf32>
    return %3 : tensor<3x100x100xf32>
  }
}
