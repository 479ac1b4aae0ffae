module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<40x48xf16>, %arg1: tensor<48xf16>, %arg2: tensor<48x48xf16>, %arg3: tensor<48x48xf16>, %arg4: tensor<48x48xf16>, %arg5: tensor<48x48xf16>, %arg6: tensor<48xf16>, %arg7: tensor<48x96xf16>, %arg8: tensor<96xf16>, %arg9: tensor<96x48xf16>) -> (tensor<40x48xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg0 : (tensor<40x48xf16>) -> tensor<40x48xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_0 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<40x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<40x48xf32>
    %7 = stablehlo.multiply %6, %6 : tensor<40x48xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_2 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %11 = stablehlo.divide %9, %10 : tensor<40x1xf32>
    %12 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %13 = stablehlo.subtract %0, %12 : tensor<40x48xf32>
    %cst_3 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %15 = stablehlo.add %11, %14 : tensor<40x1xf32>
    %16 = stablehlo.rsqrt %15 : tensor<40x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %18 = stablehlo.multiply %13, %17 : tensor<40x48xf32>
    %19 = stablehlo.convert %18 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %20 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<48xf16>) -> tensor<1x48xf16>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1] : (tensor<1x48xf16>) -> tensor<40x48xf16>
    %22 = stablehlo.multiply %19, %21 : tensor<40x48xf16>
    %23 = stablehlo.dot_general %22, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %24 = stablehlo.convert %23 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %25 = stablehlo.reshape %24 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %26 = stablehlo.transpose %25, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %27 = stablehlo.dot_general %22, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %28 = stablehlo.convert %27 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %29 = stablehlo.reshape %28 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %30 = stablehlo.transpose %29, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %31 = stablehlo.dot_general %22, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %32 = stablehlo.convert %31 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %33 = stablehlo.reshape %32 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %34 = stablehlo.transpose %33, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %35 = stablehlo.dot_general %26, %30, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<3x40x16xf16>, tensor<3x40x16xf16>) -> tensor<3x40x40xf32>
    %cst_4 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<3x40x40xf32>
    %37 = stablehlo.divide %35, %36 : tensor<3x40x40xf32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %38 = stablehlo.reduce(%37 init: %cst_5) applies stablehlo.maximum across dimensions = [2] : (tensor<3x40x40xf32>, tensor<f32>) -> tensor<3x40xf32>
    %cst_6 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<3x40xf32>
    %40 = stablehlo.maximum %39, %38 : tensor<3x40xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0, 1] : (tensor<3x40xf32>) -> tensor<3x40x1xf32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [0, 1, 2] : (tensor<3x40x1xf32>) -> tensor<3x40x40xf32>
    %43 = stablehlo.subtract %37, %42 : tensor<3x40x40xf32>
    %44 = stablehlo.exponential %43 : tensor<3x40x40xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %45 = stablehlo.reduce(%44 init: %cst_7) applies stablehlo.add across dimensions = [2] : (tensor<3x40x40xf32>, tensor<f32>) -> tensor<3x40xf32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0, 1] : (tensor<3x40xf32>) -> tensor<3x40x1xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2] : (tensor<3x40x1xf32>) -> tensor<3x40x40xf32>
    %48 = stablehlo.divide %44, %47 : tensor<3x40x40xf32>
    %49 = stablehlo.convert %48 : (tensor<3x40x40xf32>) -> tensor<3x40x40xf16>
    %50 = stablehlo.dot_general %49, %34, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x40x40xf16>, tensor<3x40x16xf16>) -> tensor<3x40x16xf32>
    %51 = stablehlo.convert %50 : (tensor<3x40x16xf32>) -> tensor<3x40x16xf16>
    %52 = stablehlo.transpose %51, dims = [1, 0, 2] : (tensor<3x40x16xf16>) -> tensor<40x3x16xf16>
    %53 = stablehlo.reshape %52 : (tensor<40x3x16xf16>) -> tensor<40x48xf16>
    %54 = stablehlo.dot_general %53, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %55 = stablehlo.convert %54 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %56 = stablehlo.add %arg0, %55 : tensor<40x48xf16>
    %57 = stablehlo.convert %56 : (tensor<40x48xf16>) -> tensor<40x48xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %58 = stablehlo.reduce(%57 init: %cst_8) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_9 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %60 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %61 = stablehlo.divide %59, %60 : tensor<40x1xf32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %63 = stablehlo.subtract %57, %62 : tensor<40x48xf32>
    %64 = stablehlo.multiply %63, %63 : tensor<40x48xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %65 = stablehlo.reduce(%64 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_11 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %67 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %68 = stablehlo.divide %66, %67 : tensor<40x1xf32>
    %69 = stablehlo.broadcast_in_dim %61, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %70 = stablehlo.subtract %57, %69 : tensor<40x48xf32>
    %cst_12 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %71 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %72 = stablehlo.add %68, %71 : tensor<40x1xf32>
    %73 = stablehlo.rsqrt %72 : tensor<40x1xf32>
    %74 = stablehlo.broadcast_in_dim %73, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %75 = stablehlo.multiply %70, %74 : tensor<40x48xf32>
    %76 = stablehlo.convert %75 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %77 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<48xf16>) -> tensor<1x48xf16>
    %78 = stablehlo.broadcast_in_dim %77, dims = [0, 1] : (tensor<1x48xf16>) -> tensor<40x48xf16>
    %79 = stablehlo.multiply %76, %78 : tensor<40x48xf16>
    %80 = stablehlo.dot_general %79, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x96xf16>) -> tensor<40x96xf32>
    %81 = stablehlo.convert %80 : (tensor<40x96xf32>) -> tensor<40x96xf16>
    %82 = stablehlo.broadcast_in_dim %arg8, dims = [1] : (tensor<96xf16>) -> tensor<1x96xf16>
    %83 = stablehlo.broadcast_in_dim %82, dims = [0, 1] : (tensor<1x96xf16>) -> tensor<40x96xf16>
    %84 = stablehlo.add %81, %83 : tensor<40x96xf16>
    %85 = stablehlo.multiply %84, %84 : tensor<40x96xf16>
    %86 = stablehlo.multiply %85, %84 : tensor<40x96xf16>
    %cst_13 = stablehlo.constant dense<4.470830e-02> : tensor<f16>
    %87 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %88 = stablehlo.multiply %87, %86 : tensor<40x96xf16>
    %89 = stablehlo.add %84, %88 : tensor<40x96xf16>
    %cst_14 = stablehlo.constant dense<7.978520e-01> : tensor<f16>
    %90 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %91 = stablehlo.multiply %90, %89 : tensor<40x96xf16>
    %92 = stablehlo.tanh %91 : tensor<40x96xf16>
    %cst_15 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %93 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %94 = stablehlo.add %93, %92 : tensor<40x96xf16>
    %cst_16 = stablehlo.constant dense<5.000000e-01> : tensor<f16>
    %95 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %96 = stablehlo.multiply %95, %94 : tensor<40x96xf16>
    %97 = stablehlo.multiply %84, %96 : tensor<40x96xf16>
    %98 = stablehlo.dot_general %97, %arg9, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x96xf16>, tensor<96x48xf16>) -> tensor<40x48xf32>
    %99 = stablehlo.convert %98 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %100 = stablehlo.add %56, %99 : tensor<40x48xf16>
    return %100 : tensor<40x48xf16>
  }
}
