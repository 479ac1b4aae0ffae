// The second half of the layer of `layer_gpt_bf16.mlir`: a norm, and an MLP beside its input.
  func.func private @layer(%arg0: tensor<24x64xbf16>, %arg1: tensor<64xbf16>, %arg2: tensor<64xbf16>, %arg3: tensor<64x160xbf16>, %arg4: tensor<160x64xbf16>) -> (tensor<24x64xbf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<24x64xbf16>) -> tensor<24x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<24x64xf32>, tensor<f32>) -> tensor<24xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %cst_0 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<24x1xf32>
    %5 = stablehlo.convert %4 : (tensor<24x1xf32>) -> tensor<24x1xbf16>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<24x1xbf16>) -> tensor<24x64xbf16>
    %7 = stablehlo.subtract %arg0, %6 : tensor<24x64xbf16>
    %8 = stablehlo.convert %7 : (tensor<24x64xbf16>) -> tensor<24x64xf32>
    %9 = stablehlo.multiply %8, %8 : tensor<24x64xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<24x64xf32>, tensor<f32>) -> tensor<24xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %cst_2 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %13 = stablehlo.divide %11, %12 : tensor<24x1xf32>
    %14 = stablehlo.convert %13 : (tensor<24x1xf32>) -> tensor<24x1xbf16>
    %cst_3 = stablehlo.constant dense<1.001360e-05> : tensor<bf16>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<bf16>) -> tensor<24x1xbf16>
    %16 = stablehlo.add %14, %15 : tensor<24x1xbf16>
    %17 = stablehlo.rsqrt %16 : tensor<24x1xbf16>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<24x1xbf16>) -> tensor<24x64xbf16>
    %19 = stablehlo.multiply %7, %18 : tensor<24x64xbf16>
    %20 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xbf16>) -> tensor<1x64xbf16>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1] : (tensor<1x64xbf16>) -> tensor<24x64xbf16>
    %22 = stablehlo.multiply %19, %21 : tensor<24x64xbf16>
    %23 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<64xbf16>) -> tensor<1x64xbf16>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1] : (tensor<1x64xbf16>) -> tensor<24x64xbf16>
    %25 = stablehlo.add %22, %24 : tensor<24x64xbf16>
    %26 = stablehlo.dot_general %25, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xbf16>, tensor<64x160xbf16>) -> tensor<24x160xbf16>
    %27 = stablehlo.multiply %26, %26 : tensor<24x160xbf16>
    %28 = stablehlo.multiply %27, %26 : tensor<24x160xbf16>
    %cst_4 = stablehlo.constant dense<4.467770e-02> : tensor<bf16>
    %29 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<bf16>) -> tensor<24x160xbf16>
    %30 = stablehlo.multiply %29, %28 : tensor<24x160xbf16>
    %31 = stablehlo.add %26, %30 : tensor<24x160xbf16>
    %cst_5 = stablehlo.constant dense<7.968750e-01> : tensor<bf16>
    %32 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<bf16>) -> tensor<24x160xbf16>
    %33 = stablehlo.multiply %32, %31 : tensor<24x160xbf16>
    %34 = stablehlo.tanh %33 : tensor<24x160xbf16>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %35 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<bf16>) -> tensor<24x160xbf16>
    %36 = stablehlo.add %35, %34 : tensor<24x160xbf16>
    %cst_7 = stablehlo.constant dense<5.000000e-01> : tensor<bf16>
    %37 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<bf16>) -> tensor<24x160xbf16>
    %38 = stablehlo.multiply %37, %36 : tensor<24x160xbf16>
    %39 = stablehlo.multiply %26, %38 : tensor<24x160xbf16>
    %40 = stablehlo.dot_general %39, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x160xbf16>, tensor<160x64xbf16>) -> tensor<24x64xbf16>
    %41 = stablehlo.add %arg0, %40 : tensor<24x64xbf16>
    return %41 : tensor<24x64xbf16>
  }
