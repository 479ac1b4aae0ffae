module @resnet_bottlenecks attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x28x28x64xf32>, %arg1: tensor<1x1x64x32xf32>, %arg2: tensor<3x3x32x32xf32>, %arg3: tensor<1x1x32x128xf32>, %arg4: tensor<1x1x64x128xf32>, %arg5: tensor<1x1x128x64xf32>, %arg6: tensor<3x3x64x64xf32>, %arg7: tensor<1x1x64x256xf32>, %arg8: tensor<1x1x128x256xf32>) -> (tensor<1x14x14x256xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x28x28x64xf32>, tensor<1x1x64x32xf32>) -> tensor<1x28x28x32xf32>
    %1 = call @relu(%0) : (tensor<1x28x28x32xf32>) -> tensor<1x28x28x32xf32>
    %2 = stablehlo.convolution(%1, %arg2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x28x28x32xf32>, tensor<3x3x32x32xf32>) -> tensor<1x28x28x32xf32>
    %3 = call @relu(%2) : (tensor<1x28x28x32xf32>) -> tensor<1x28x28x32xf32>
    %4 = stablehlo.convolution(%3, %arg3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x28x28x32xf32>, tensor<1x1x32x128xf32>) -> tensor<1x28x28x128xf32>
    %5 = stablehlo.convolution(%arg0, %arg4) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x28x28x64xf32>, tensor<1x1x64x128xf32>) -> tensor<1x28x28x128xf32>
    %6 = stablehlo.add %4, %5 : tensor<1x28x28x128xf32>
    %7 = call @relu_0(%6) : (tensor<1x28x28x128xf32>) -> tensor<1x28x28x128xf32>
    %8 = stablehlo.convolution(%7, %arg5) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x28x28x128xf32>, tensor<1x1x128x64xf32>) -> tensor<1x28x28x64xf32>
    %9 = call @relu_1(%8) : (tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32>
    %10 = stablehlo.convolution(%9, %arg6) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x28x28x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x14x14x64xf32>
    %11 = call @relu_2(%10) : (tensor<1x14x14x64xf32>) -> tensor<1x14x14x64xf32>
    %12 = stablehlo.convolution(%11, %arg7) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x14x14x64xf32>, tensor<1x1x64x256xf32>) -> tensor<1x14x14x256xf32>
    %13 = stablehlo.convolution(%7, %arg8) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x28x28x128xf32>, tensor<1x1x128x256xf32>) -> tensor<1x14x14x256xf32>
    %14 = stablehlo.add %12, %13 : tensor<1x14x14x256xf32>
    %15 = call @relu_3(%14) : (tensor<1x14x14x256xf32>) -> tensor<1x14x14x256xf32>
    return %15 : tensor<1x14x14x256xf32>
  }
  func.func private @relu(%arg0: tensor<1x28x28x32xf32>) -> tensor<1x28x28x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x28x28x32xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<1x28x28x32xf32>
    return %1 : tensor<1x28x28x32xf32>
  }
  func.func private @relu_0(%arg0: tensor<1x28x28x128xf32>) -> tensor<1x28x28x128xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x28x28x128xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<1x28x28x128xf32>
    return %1 : tensor<1x28x28x128xf32>
  }
  func.func private @relu_1(%arg0: tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x28x28x64xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<1x28x28x64xf32>
    return %1 : tensor<1x28x28x64xf32>
  }
  func.func private @relu_2(%arg0: tensor<1x14x14x64xf32>) -> tensor<1x14x14x64xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x14x14x64xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<1x14x14x64xf32>
    return %1 : tensor<1x14x14x64xf32>
  }
  func.func private @relu_3(%arg0: tensor<1x14x14x256xf32>) -> tensor<1x14x14x256xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x14x14x256xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<1x14x14x256xf32>
    return %1 : tensor<1x14x14x256xf32>
  }
}
