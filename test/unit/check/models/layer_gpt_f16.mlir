// A transformer layer, exported from JAX: `GPT`, 24 tokens, width 64, 4 heads.
  func.func private @layer(%arg0: tensor<24x64xf16>, %arg1: tensor<64xf16>, %arg2: tensor<64xf16>, %arg3: tensor<64x64xf16>, %arg4: tensor<64x64xf16>, %arg5: tensor<64x64xf16>, %arg6: tensor<64x64xf16>, %arg7: tensor<64xf16>, %arg8: tensor<64xf16>, %arg9: tensor<64x160xf16>, %arg10: tensor<160x64xf16>) -> (tensor<24x64xf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<24x64xf16>) -> tensor<24x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<24x64xf32>, tensor<f32>) -> tensor<24xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %cst_0 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<24x1xf32>
    %5 = stablehlo.convert %4 : (tensor<24x1xf32>) -> tensor<24x1xf16>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<24x1xf16>) -> tensor<24x64xf16>
    %7 = stablehlo.subtract %arg0, %6 : tensor<24x64xf16>
    %8 = stablehlo.convert %7 : (tensor<24x64xf16>) -> tensor<24x64xf32>
    %9 = stablehlo.multiply %8, %8 : tensor<24x64xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<24x64xf32>, tensor<f32>) -> tensor<24xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %cst_2 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %13 = stablehlo.divide %11, %12 : tensor<24x1xf32>
    %14 = stablehlo.convert %13 : (tensor<24x1xf32>) -> tensor<24x1xf16>
    %cst_3 = stablehlo.constant dense<1.001360e-05> : tensor<f16>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f16>) -> tensor<24x1xf16>
    %16 = stablehlo.add %14, %15 : tensor<24x1xf16>
    %17 = stablehlo.rsqrt %16 : tensor<24x1xf16>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<24x1xf16>) -> tensor<24x64xf16>
    %19 = stablehlo.multiply %7, %18 : tensor<24x64xf16>
    %20 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf16>) -> tensor<1x64xf16>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1] : (tensor<1x64xf16>) -> tensor<24x64xf16>
    %22 = stablehlo.multiply %19, %21 : tensor<24x64xf16>
    %23 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<64xf16>) -> tensor<1x64xf16>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1] : (tensor<1x64xf16>) -> tensor<24x64xf16>
    %25 = stablehlo.add %22, %24 : tensor<24x64xf16>
    %26 = stablehlo.dot_general %25, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xf16>, tensor<64x64xf16>) -> tensor<24x64xf16>
    %27 = stablehlo.dot_general %25, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xf16>, tensor<64x64xf16>) -> tensor<24x64xf16>
    %28 = stablehlo.dot_general %25, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xf16>, tensor<64x64xf16>) -> tensor<24x64xf16>
    %29 = stablehlo.reshape %26 : (tensor<24x64xf16>) -> tensor<24x4x16xf16>
    %30 = stablehlo.transpose %29, dims = [1, 0, 2] : (tensor<24x4x16xf16>) -> tensor<4x24x16xf16>
    %31 = stablehlo.reshape %27 : (tensor<24x64xf16>) -> tensor<24x4x16xf16>
    %32 = stablehlo.transpose %31, dims = [1, 0, 2] : (tensor<24x4x16xf16>) -> tensor<4x24x16xf16>
    %33 = stablehlo.reshape %28 : (tensor<24x64xf16>) -> tensor<24x4x16xf16>
    %34 = stablehlo.transpose %33, dims = [1, 0, 2] : (tensor<24x4x16xf16>) -> tensor<4x24x16xf16>
    %35 = stablehlo.dot_general %30, %32, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x24x16xf16>, tensor<4x24x16xf16>) -> tensor<4x24x24xf16>
    %cst_4 = stablehlo.constant dense<2.500000e-01> : tensor<f16>
    %36 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f16>) -> tensor<4x24x24xf16>
    %37 = stablehlo.multiply %35, %36 : tensor<4x24x24xf16>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %38 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<24x24xi1>
    %39 = call @tril(%38) : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %cst_5 = stablehlo.constant dense<0xFC00> : tensor<f16>
    %40 = call @_where(%39, %37, %cst_5) : (tensor<24x24xi1>, tensor<4x24x24xf16>, tensor<f16>) -> tensor<4x24x24xf16>
    %41 = stablehlo.convert %40 : (tensor<4x24x24xf16>) -> tensor<4x24x24xf32>
    %cst_6 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %42 = stablehlo.reduce(%41 init: %cst_6) applies stablehlo.maximum across dimensions = [2] : (tensor<4x24x24xf32>, tensor<f32>) -> tensor<4x24xf32>
    %cst_7 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x24xf32>
    %44 = stablehlo.maximum %43, %42 : tensor<4x24xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1] : (tensor<4x24xf32>) -> tensor<4x24x1xf32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0, 1, 2] : (tensor<4x24x1xf32>) -> tensor<4x24x24xf32>
    %47 = stablehlo.subtract %41, %46 : tensor<4x24x24xf32>
    %48 = stablehlo.exponential %47 : tensor<4x24x24xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %49 = stablehlo.reduce(%48 init: %cst_8) applies stablehlo.add across dimensions = [2] : (tensor<4x24x24xf32>, tensor<f32>) -> tensor<4x24xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1] : (tensor<4x24xf32>) -> tensor<4x24x1xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2] : (tensor<4x24x1xf32>) -> tensor<4x24x24xf32>
    %52 = stablehlo.divide %48, %51 : tensor<4x24x24xf32>
    %53 = stablehlo.convert %52 : (tensor<4x24x24xf32>) -> tensor<4x24x24xf16>
    %54 = stablehlo.dot_general %53, %34, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x24x24xf16>, tensor<4x24x16xf16>) -> tensor<4x24x16xf16>
    %55 = stablehlo.transpose %54, dims = [1, 0, 2] : (tensor<4x24x16xf16>) -> tensor<24x4x16xf16>
    %56 = stablehlo.reshape %55 : (tensor<24x4x16xf16>) -> tensor<24x64xf16>
    %57 = stablehlo.dot_general %56, %arg6, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xf16>, tensor<64x64xf16>) -> tensor<24x64xf16>
    %58 = stablehlo.add %arg0, %57 : tensor<24x64xf16>
    %59 = stablehlo.convert %58 : (tensor<24x64xf16>) -> tensor<24x64xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %60 = stablehlo.reduce(%59 init: %cst_9) applies stablehlo.add across dimensions = [1] : (tensor<24x64xf32>, tensor<f32>) -> tensor<24xf32>
    %61 = stablehlo.broadcast_in_dim %60, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %cst_10 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %63 = stablehlo.divide %61, %62 : tensor<24x1xf32>
    %64 = stablehlo.convert %63 : (tensor<24x1xf32>) -> tensor<24x1xf16>
    %65 = stablehlo.broadcast_in_dim %64, dims = [0, 1] : (tensor<24x1xf16>) -> tensor<24x64xf16>
    %66 = stablehlo.subtract %58, %65 : tensor<24x64xf16>
    %67 = stablehlo.convert %66 : (tensor<24x64xf16>) -> tensor<24x64xf32>
    %68 = stablehlo.multiply %67, %67 : tensor<24x64xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %69 = stablehlo.reduce(%68 init: %cst_11) applies stablehlo.add across dimensions = [1] : (tensor<24x64xf32>, tensor<f32>) -> tensor<24xf32>
    %70 = stablehlo.broadcast_in_dim %69, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %cst_12 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %71 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %72 = stablehlo.divide %70, %71 : tensor<24x1xf32>
    %73 = stablehlo.convert %72 : (tensor<24x1xf32>) -> tensor<24x1xf16>
    %cst_13 = stablehlo.constant dense<1.001360e-05> : tensor<f16>
    %74 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f16>) -> tensor<24x1xf16>
    %75 = stablehlo.add %73, %74 : tensor<24x1xf16>
    %76 = stablehlo.rsqrt %75 : tensor<24x1xf16>
    %77 = stablehlo.broadcast_in_dim %76, dims = [0, 1] : (tensor<24x1xf16>) -> tensor<24x64xf16>
    %78 = stablehlo.multiply %66, %77 : tensor<24x64xf16>
    %79 = stablehlo.broadcast_in_dim %arg7, dims = [1] : (tensor<64xf16>) -> tensor<1x64xf16>
    %80 = stablehlo.broadcast_in_dim %79, dims = [0, 1] : (tensor<1x64xf16>) -> tensor<24x64xf16>
    %81 = stablehlo.multiply %78, %80 : tensor<24x64xf16>
    %82 = stablehlo.broadcast_in_dim %arg8, dims = [1] : (tensor<64xf16>) -> tensor<1x64xf16>
    %83 = stablehlo.broadcast_in_dim %82, dims = [0, 1] : (tensor<1x64xf16>) -> tensor<24x64xf16>
    %84 = stablehlo.add %81, %83 : tensor<24x64xf16>
    %85 = stablehlo.dot_general %84, %arg9, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xf16>, tensor<64x160xf16>) -> tensor<24x160xf16>
    %86 = stablehlo.multiply %85, %85 : tensor<24x160xf16>
    %87 = stablehlo.multiply %86, %85 : tensor<24x160xf16>
    %cst_14 = stablehlo.constant dense<4.470830e-02> : tensor<f16>
    %88 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f16>) -> tensor<24x160xf16>
    %89 = stablehlo.multiply %88, %87 : tensor<24x160xf16>
    %90 = stablehlo.add %85, %89 : tensor<24x160xf16>
    %cst_15 = stablehlo.constant dense<7.978520e-01> : tensor<f16>
    %91 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f16>) -> tensor<24x160xf16>
    %92 = stablehlo.multiply %91, %90 : tensor<24x160xf16>
    %93 = stablehlo.tanh %92 : tensor<24x160xf16>
    %cst_16 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %94 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f16>) -> tensor<24x160xf16>
    %95 = stablehlo.add %94, %93 : tensor<24x160xf16>
    %cst_17 = stablehlo.constant dense<5.000000e-01> : tensor<f16>
    %96 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f16>) -> tensor<24x160xf16>
    %97 = stablehlo.multiply %96, %95 : tensor<24x160xf16>
    %98 = stablehlo.multiply %85, %97 : tensor<24x160xf16>
    %99 = stablehlo.dot_general %98, %arg10, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x160xf16>, tensor<160x64xf16>) -> tensor<24x64xf16>
    %100 = stablehlo.add %58, %99 : tensor<24x64xf16>
    return %100 : tensor<24x64xf16>
  }
  func.func private @tril(%arg0: tensor<24x24xi1>) -> tensor<24x24xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<24x24xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<24x24xi32>
    %2 = stablehlo.add %0, %1 : tensor<24x24xi32>
    %3 = stablehlo.iota dim = 1 : tensor<24x24xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<24x24xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<24x24xi1>, tensor<24x24xi1>
    return %6 : tensor<24x24xi1>
  }
  func.func private @_where(%arg0: tensor<24x24xi1>, %arg1: tensor<4x24x24xf16>, %arg2: tensor<f16>) -> tensor<4x24x24xf16> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<24x24xi1>) -> tensor<4x24x24xi1>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f16>) -> tensor<4x24x24xf16>
    %2 = stablehlo.select %0, %arg1, %1 : tensor<4x24x24xi1>, tensor<4x24x24xf16>
    return %2 : tensor<4x24x24xf16>
  }
