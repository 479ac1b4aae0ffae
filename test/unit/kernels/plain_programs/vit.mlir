module {
  func.func public @main(%arg0: tensor<2x48x64xf16>, %arg1: tensor<64x192xf16>, %arg2: tensor<192xf16>, %arg3: tensor<64x64xf16>, %arg4: tensor<64xf16>, %arg5: tensor<64x128xf16>, %arg6: tensor<128xf16>, %arg7: tensor<128x64xf16>, %arg8: tensor<64xf16>, %arg9: tensor<64xf16>, %arg10: tensor<64xf16>) -> (tensor<2x48x64xf16>) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f16>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %cst_1 = stablehlo.constant dense<7.978520e-01> : tensor<f16>
    %cst_2 = stablehlo.constant dense<4.470830e-02> : tensor<f16>
    %cst_3 = stablehlo.constant dense<0xFC00> : tensor<f16>
    %cst_4 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %cst_5 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %cst_6 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.convert %arg0 : (tensor<2x48x64xf16>) -> tensor<2x48x64xf32>
    %1 = stablehlo.reduce(%0 init: %cst_7) applies stablehlo.add across dimensions = [2] : (tensor<2x48x64xf32>, tensor<f32>) -> tensor<2x48xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<2x48xf32>) -> tensor<2x48x1xf32>
    %3 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x48x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<2x48x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<2x48x1xf32>) -> tensor<2x48x64xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<2x48x64xf32>
    %7 = stablehlo.multiply %6, %6 : tensor<2x48x64xf32>
    %8 = stablehlo.reduce(%7 init: %cst_7) applies stablehlo.add across dimensions = [2] : (tensor<2x48x64xf32>, tensor<f32>) -> tensor<2x48xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<2x48xf32>) -> tensor<2x48x1xf32>
    %10 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x48x1xf32>
    %11 = stablehlo.divide %9, %10 : tensor<2x48x1xf32>
    %12 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<2x48x1xf32>) -> tensor<2x48x64xf32>
    %13 = stablehlo.subtract %0, %12 : tensor<2x48x64xf32>
    %14 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x48x1xf32>
    %15 = stablehlo.add %11, %14 : tensor<2x48x1xf32>
    %16 = stablehlo.rsqrt %15 : tensor<2x48x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<2x48x1xf32>) -> tensor<2x48x64xf32>
    %18 = stablehlo.multiply %13, %17 : tensor<2x48x64xf32>
    %19 = stablehlo.convert %18 : (tensor<2x48x64xf32>) -> tensor<2x48x64xf16>
    %20 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<64xf16>) -> tensor<1x1x64xf16>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<1x1x64xf16>) -> tensor<2x48x64xf16>
    %22 = stablehlo.multiply %19, %21 : tensor<2x48x64xf16>
    %23 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<64xf16>) -> tensor<1x1x64xf16>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<1x1x64xf16>) -> tensor<2x48x64xf16>
    %25 = stablehlo.add %22, %24 : tensor<2x48x64xf16>
    %26 = stablehlo.dot_general %25, %arg1, contracting_dims = [2] x [0] : (tensor<2x48x64xf16>, tensor<64x192xf16>) -> tensor<2x48x192xf16>
    %27 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<192xf16>) -> tensor<1x1x192xf16>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<1x1x192xf16>) -> tensor<2x48x192xf16>
    %29 = stablehlo.add %26, %28 : tensor<2x48x192xf16>
    %30 = stablehlo.slice %29 [0:2, 0:48, 0:64] : (tensor<2x48x192xf16>) -> tensor<2x48x64xf16>
    %31 = stablehlo.slice %29 [0:2, 0:48, 64:128] : (tensor<2x48x192xf16>) -> tensor<2x48x64xf16>
    %32 = stablehlo.slice %29 [0:2, 0:48, 128:192] : (tensor<2x48x192xf16>) -> tensor<2x48x64xf16>
    %33 = stablehlo.reshape %30 : (tensor<2x48x64xf16>) -> tensor<2x48x2x32xf16>
    %34 = stablehlo.reshape %31 : (tensor<2x48x64xf16>) -> tensor<2x48x2x32xf16>
    %35 = stablehlo.reshape %32 : (tensor<2x48x64xf16>) -> tensor<2x48x2x32xf16>
    %36 = stablehlo.sqrt %cst_4 : tensor<f32>
    %37 = stablehlo.convert %36 : (tensor<f32>) -> tensor<f16>
    %38 = stablehlo.broadcast_in_dim %37, dims = [] : (tensor<f16>) -> tensor<2x48x2x32xf16>
    %39 = stablehlo.divide %33, %38 : tensor<2x48x2x32xf16>
    %40 = stablehlo.dot_general %39, %34, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x48x2x32xf16>, tensor<2x48x2x32xf16>) -> tensor<2x2x48x48xf16>
    %41 = stablehlo.reduce(%40 init: %cst_3) applies stablehlo.maximum across dimensions = [3] : (tensor<2x2x48x48xf16>, tensor<f16>) -> tensor<2x2x48xf16>
    %42 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f16>) -> tensor<2x2x48xf16>
    %43 = stablehlo.maximum %42, %41 : tensor<2x2x48xf16>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2] : (tensor<2x2x48xf16>) -> tensor<2x2x48x1xf16>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2, 3] : (tensor<2x2x48x1xf16>) -> tensor<2x2x48x48xf16>
    %46 = stablehlo.subtract %40, %45 : tensor<2x2x48x48xf16>
    %47 = stablehlo.exponential %46 : tensor<2x2x48x48xf16>
    %48 = stablehlo.convert %47 : (tensor<2x2x48x48xf16>) -> tensor<2x2x48x48xf32>
    %49 = stablehlo.reduce(%48 init: %cst_7) applies stablehlo.add across dimensions = [3] : (tensor<2x2x48x48xf32>, tensor<f32>) -> tensor<2x2x48xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2] : (tensor<2x2x48xf32>) -> tensor<2x2x48x1xf32>
    %51 = stablehlo.convert %50 : (tensor<2x2x48x1xf32>) -> tensor<2x2x48x1xf16>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0, 1, 2, 3] : (tensor<2x2x48x1xf16>) -> tensor<2x2x48x48xf16>
    %53 = stablehlo.divide %47, %52 : tensor<2x2x48x48xf16>
    %54 = stablehlo.dot_general %35, %53, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x48x2x32xf16>, tensor<2x2x48x48xf16>) -> tensor<2x2x32x48xf16>
    %55 = stablehlo.transpose %54, dims = [0, 3, 1, 2] : (tensor<2x2x32x48xf16>) -> tensor<2x48x2x32xf16>
    %56 = stablehlo.reshape %55 : (tensor<2x48x2x32xf16>) -> tensor<2x48x64xf16>
    %57 = stablehlo.dot_general %56, %arg3, contracting_dims = [2] x [0] : (tensor<2x48x64xf16>, tensor<64x64xf16>) -> tensor<2x48x64xf16>
    %58 = stablehlo.add %arg0, %57 : tensor<2x48x64xf16>
    %59 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<64xf16>) -> tensor<1x1x64xf16>
    %60 = stablehlo.broadcast_in_dim %59, dims = [0, 1, 2] : (tensor<1x1x64xf16>) -> tensor<2x48x64xf16>
    %61 = stablehlo.add %58, %60 : tensor<2x48x64xf16>
    %62 = stablehlo.convert %61 : (tensor<2x48x64xf16>) -> tensor<2x48x64xf32>
    %63 = stablehlo.reduce(%62 init: %cst_7) applies stablehlo.add across dimensions = [2] : (tensor<2x48x64xf32>, tensor<f32>) -> tensor<2x48xf32>
    %64 = stablehlo.broadcast_in_dim %63, dims = [0, 1] : (tensor<2x48xf32>) -> tensor<2x48x1xf32>
    %65 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x48x1xf32>
    %66 = stablehlo.divide %64, %65 : tensor<2x48x1xf32>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0, 1, 2] : (tensor<2x48x1xf32>) -> tensor<2x48x64xf32>
    %68 = stablehlo.subtract %62, %67 : tensor<2x48x64xf32>
    %69 = stablehlo.multiply %68, %68 : tensor<2x48x64xf32>
    %70 = stablehlo.reduce(%69 init: %cst_7) applies stablehlo.add across dimensions = [2] : (tensor<2x48x64xf32>, tensor<f32>) -> tensor<2x48xf32>
    %71 = stablehlo.broadcast_in_dim %70, dims = [0, 1] : (tensor<2x48xf32>) -> tensor<2x48x1xf32>
    %72 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x48x1xf32>
    %73 = stablehlo.divide %71, %72 : tensor<2x48x1xf32>
    %74 = stablehlo.broadcast_in_dim %66, dims = [0, 1, 2] : (tensor<2x48x1xf32>) -> tensor<2x48x64xf32>
    %75 = stablehlo.subtract %62, %74 : tensor<2x48x64xf32>
    %76 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x48x1xf32>
    %77 = stablehlo.add %73, %76 : tensor<2x48x1xf32>
    %78 = stablehlo.rsqrt %77 : tensor<2x48x1xf32>
    %79 = stablehlo.broadcast_in_dim %78, dims = [0, 1, 2] : (tensor<2x48x1xf32>) -> tensor<2x48x64xf32>
    %80 = stablehlo.multiply %75, %79 : tensor<2x48x64xf32>
    %81 = stablehlo.convert %80 : (tensor<2x48x64xf32>) -> tensor<2x48x64xf16>
    %82 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<64xf16>) -> tensor<1x1x64xf16>
    %83 = stablehlo.broadcast_in_dim %82, dims = [0, 1, 2] : (tensor<1x1x64xf16>) -> tensor<2x48x64xf16>
    %84 = stablehlo.multiply %81, %83 : tensor<2x48x64xf16>
    %85 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<64xf16>) -> tensor<1x1x64xf16>
    %86 = stablehlo.broadcast_in_dim %85, dims = [0, 1, 2] : (tensor<1x1x64xf16>) -> tensor<2x48x64xf16>
    %87 = stablehlo.add %84, %86 : tensor<2x48x64xf16>
    %88 = stablehlo.dot_general %87, %arg5, contracting_dims = [2] x [0] : (tensor<2x48x64xf16>, tensor<64x128xf16>) -> tensor<2x48x128xf16>
    %89 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<128xf16>) -> tensor<1x1x128xf16>
    %90 = stablehlo.broadcast_in_dim %89, dims = [0, 1, 2] : (tensor<1x1x128xf16>) -> tensor<2x48x128xf16>
    %91 = stablehlo.add %88, %90 : tensor<2x48x128xf16>
    %92 = stablehlo.multiply %91, %91 : tensor<2x48x128xf16>
    %93 = stablehlo.multiply %92, %91 : tensor<2x48x128xf16>
    %94 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f16>) -> tensor<2x48x128xf16>
    %95 = stablehlo.multiply %94, %93 : tensor<2x48x128xf16>
    %96 = stablehlo.add %91, %95 : tensor<2x48x128xf16>
    %97 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f16>) -> tensor<2x48x128xf16>
    %98 = stablehlo.multiply %97, %96 : tensor<2x48x128xf16>
    %99 = stablehlo.tanh %98 : tensor<2x48x128xf16>
    %100 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f16>) -> tensor<2x48x128xf16>
    %101 = stablehlo.add %100, %99 : tensor<2x48x128xf16>
    %102 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<2x48x128xf16>
    %103 = stablehlo.multiply %102, %101 : tensor<2x48x128xf16>
    %104 = stablehlo.multiply %91, %103 : tensor<2x48x128xf16>
    %105 = stablehlo.dot_general %104, %arg7, contracting_dims = [2] x [0] : (tensor<2x48x128xf16>, tensor<128x64xf16>) -> tensor<2x48x64xf16>
    %106 = stablehlo.add %61, %105 : tensor<2x48x64xf16>
    %107 = stablehlo.broadcast_in_dim %arg8, dims = [2] : (tensor<64xf16>) -> tensor<1x1x64xf16>
    %108 = stablehlo.broadcast_in_dim %107, dims = [0, 1, 2] : (tensor<1x1x64xf16>) -> tensor<2x48x64xf16>
    %109 = stablehlo.add %106, %108 : tensor<2x48x64xf16>
    return %109 : tensor<2x48x64xf16>
  }
}
