module {
  func.func public @main(%arg0: tensor<2x48x64xf16>, %arg1: tensor<64x64xf16>, %arg2: tensor<64x64xf16>, %arg3: tensor<64x64xf16>, %arg4: tensor<64x64xf16>, %arg5: tensor<64x160xf16>, %arg6: tensor<160x64xf16>) -> (tensor<2x48x64xf16>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFC00> : tensor<f16>
    %cst_1 = stablehlo.constant dense<4.000000e+00> : tensor<f16>
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [2] x [0] : (tensor<2x48x64xf16>, tensor<64x64xf16>) -> tensor<2x48x64xf16>
    %1 = stablehlo.reshape %0 : (tensor<2x48x64xf16>) -> tensor<2x48x2x32xf16>
    %2 = stablehlo.transpose %1, dims = [0, 2, 1, 3] : (tensor<2x48x2x32xf16>) -> tensor<2x2x48x32xf16>
    %3 = stablehlo.dot_general %arg0, %arg2, contracting_dims = [2] x [0] : (tensor<2x48x64xf16>, tensor<64x64xf16>) -> tensor<2x48x64xf16>
    %4 = stablehlo.reshape %3 : (tensor<2x48x64xf16>) -> tensor<2x48x2x32xf16>
    %5 = stablehlo.transpose %4, dims = [0, 2, 1, 3] : (tensor<2x48x2x32xf16>) -> tensor<2x2x48x32xf16>
    %6 = stablehlo.dot_general %arg0, %arg3, contracting_dims = [2] x [0] : (tensor<2x48x64xf16>, tensor<64x64xf16>) -> tensor<2x48x64xf16>
    %7 = stablehlo.reshape %6 : (tensor<2x48x64xf16>) -> tensor<2x48x2x32xf16>
    %8 = stablehlo.transpose %7, dims = [0, 2, 1, 3] : (tensor<2x48x2x32xf16>) -> tensor<2x2x48x32xf16>
    %9 = stablehlo.dot_general %2, %5, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x2x48x32xf16>, tensor<2x2x48x32xf16>) -> tensor<2x2x48x48xf16>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f16>) -> tensor<2x2x48x48xf16>
    %11 = stablehlo.divide %9, %10 : tensor<2x2x48x48xf16>
    %12 = stablehlo.reduce(%11 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x2x48x48xf16>, tensor<f16>) -> tensor<2x2x48xf16>
    %13 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f16>) -> tensor<2x2x48xf16>
    %14 = stablehlo.maximum %13, %12 : tensor<2x2x48xf16>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<2x2x48xf16>) -> tensor<2x2x48x1xf16>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<2x2x48x1xf16>) -> tensor<2x2x48x48xf16>
    %17 = stablehlo.subtract %11, %16 : tensor<2x2x48x48xf16>
    %18 = stablehlo.exponential %17 : tensor<2x2x48x48xf16>
    %19 = stablehlo.convert %18 : (tensor<2x2x48x48xf16>) -> tensor<2x2x48x48xf32>
    %20 = stablehlo.reduce(%19 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<2x2x48x48xf32>, tensor<f32>) -> tensor<2x2x48xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<2x2x48xf32>) -> tensor<2x2x48x1xf32>
    %22 = stablehlo.convert %21 : (tensor<2x2x48x1xf32>) -> tensor<2x2x48x1xf16>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3] : (tensor<2x2x48x1xf16>) -> tensor<2x2x48x48xf16>
    %24 = stablehlo.divide %18, %23 : tensor<2x2x48x48xf16>
    %25 = stablehlo.dot_general %24, %8, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x2x48x48xf16>, tensor<2x2x48x32xf16>) -> tensor<2x2x48x32xf16>
    %26 = stablehlo.transpose %25, dims = [0, 2, 1, 3] : (tensor<2x2x48x32xf16>) -> tensor<2x48x2x32xf16>
    %27 = stablehlo.reshape %26 : (tensor<2x48x2x32xf16>) -> tensor<2x48x64xf16>
    %28 = stablehlo.dot_general %27, %arg4, contracting_dims = [2] x [0] : (tensor<2x48x64xf16>, tensor<64x64xf16>) -> tensor<2x48x64xf16>
    %29 = stablehlo.add %arg0, %28 : tensor<2x48x64xf16>
    %30 = stablehlo.dot_general %29, %arg5, contracting_dims = [2] x [0] : (tensor<2x48x64xf16>, tensor<64x160xf16>) -> tensor<2x48x160xf16>
    %31 = call @relu(%30) : (tensor<2x48x160xf16>) -> tensor<2x48x160xf16>
    %32 = stablehlo.dot_general %31, %arg6, contracting_dims = [2] x [0] : (tensor<2x48x160xf16>, tensor<160x64xf16>) -> tensor<2x48x64xf16>
    %33 = stablehlo.add %29, %32 : tensor<2x48x64xf16>
    return %33 : tensor<2x48x64xf16>
  }
  func.func private @relu(%arg0: tensor<2x48x160xf16>) -> tensor<2x48x160xf16> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f16>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<2x48x160xf16>
    %1 = stablehlo.maximum %arg0, %0 : tensor<2x48x160xf16>
    return %1 : tensor<2x48x160xf16>
  }
}
