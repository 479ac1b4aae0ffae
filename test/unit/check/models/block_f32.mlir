module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<40x48xf32>, %arg1: tensor<48xf32>, %arg2: tensor<48x48xf32>, %arg3: tensor<48x48xf32>, %arg4: tensor<48x48xf32>, %arg5: tensor<48x48xf32>, %arg6: tensor<48xf32>, %arg7: tensor<48x96xf32>, %arg8: tensor<96xf32>, %arg9: tensor<96x48xf32>) -> (tensor<40x48xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_0 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<40x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<40x48xf32>
    %6 = stablehlo.multiply %5, %5 : tensor<40x48xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_2 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %10 = stablehlo.divide %8, %9 : tensor<40x1xf32>
    %11 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %12 = stablehlo.subtract %arg0, %11 : tensor<40x48xf32>
    %cst_3 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %14 = stablehlo.add %10, %13 : tensor<40x1xf32>
    %15 = stablehlo.rsqrt %14 : tensor<40x1xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %17 = stablehlo.multiply %12, %16 : tensor<40x48xf32>
    %18 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<48xf32>) -> tensor<1x48xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1] : (tensor<1x48xf32>) -> tensor<40x48xf32>
    %20 = stablehlo.multiply %17, %19 : tensor<40x48xf32>
    %21 = stablehlo.dot_general %20, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf32>, tensor<48x48xf32>) -> tensor<40x48xf32>
    %22 = stablehlo.reshape %21 : (tensor<40x48xf32>) -> tensor<40x3x16xf32>
    %23 = stablehlo.transpose %22, dims = [1, 0, 2] : (tensor<40x3x16xf32>) -> tensor<3x40x16xf32>
    %24 = stablehlo.dot_general %20, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf32>, tensor<48x48xf32>) -> tensor<40x48xf32>
    %25 = stablehlo.reshape %24 : (tensor<40x48xf32>) -> tensor<40x3x16xf32>
    %26 = stablehlo.transpose %25, dims = [1, 0, 2] : (tensor<40x3x16xf32>) -> tensor<3x40x16xf32>
    %27 = stablehlo.dot_general %20, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf32>, tensor<48x48xf32>) -> tensor<40x48xf32>
    %28 = stablehlo.reshape %27 : (tensor<40x48xf32>) -> tensor<40x3x16xf32>
    %29 = stablehlo.transpose %28, dims = [1, 0, 2] : (tensor<40x3x16xf32>) -> tensor<3x40x16xf32>
    %30 = stablehlo.dot_general %23, %26, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<3x40x16xf32>, tensor<3x40x16xf32>) -> tensor<3x40x40xf32>
    %cst_4 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<3x40x40xf32>
    %32 = stablehlo.divide %30, %31 : tensor<3x40x40xf32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %33 = stablehlo.reduce(%32 init: %cst_5) applies stablehlo.maximum across dimensions = [2] : (tensor<3x40x40xf32>, tensor<f32>) -> tensor<3x40xf32>
    %cst_6 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<3x40xf32>
    %35 = stablehlo.maximum %34, %33 : tensor<3x40xf32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1] : (tensor<3x40xf32>) -> tensor<3x40x1xf32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] : (tensor<3x40x1xf32>) -> tensor<3x40x40xf32>
    %38 = stablehlo.subtract %32, %37 : tensor<3x40x40xf32>
    %39 = stablehlo.exponential %38 : tensor<3x40x40xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %40 = stablehlo.reduce(%39 init: %cst_7) applies stablehlo.add across dimensions = [2] : (tensor<3x40x40xf32>, tensor<f32>) -> tensor<3x40xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0, 1] : (tensor<3x40xf32>) -> tensor<3x40x1xf32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [0, 1, 2] : (tensor<3x40x1xf32>) -> tensor<3x40x40xf32>
    %43 = stablehlo.divide %39, %42 : tensor<3x40x40xf32>
    %44 = stablehlo.dot_general %43, %29, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x40x40xf32>, tensor<3x40x16xf32>) -> tensor<3x40x16xf32>
    %45 = stablehlo.transpose %44, dims = [1, 0, 2] : (tensor<3x40x16xf32>) -> tensor<40x3x16xf32>
    %46 = stablehlo.reshape %45 : (tensor<40x3x16xf32>) -> tensor<40x48xf32>
    %47 = stablehlo.dot_general %46, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf32>, tensor<48x48xf32>) -> tensor<40x48xf32>
    %48 = stablehlo.add %arg0, %47 : tensor<40x48xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %49 = stablehlo.reduce(%48 init: %cst_8) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_9 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %52 = stablehlo.divide %50, %51 : tensor<40x1xf32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %54 = stablehlo.subtract %48, %53 : tensor<40x48xf32>
    %55 = stablehlo.multiply %54, %54 : tensor<40x48xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %56 = stablehlo.reduce(%55 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_11 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %59 = stablehlo.divide %57, %58 : tensor<40x1xf32>
    %60 = stablehlo.broadcast_in_dim %52, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %61 = stablehlo.subtract %48, %60 : tensor<40x48xf32>
    %cst_12 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %63 = stablehlo.add %59, %62 : tensor<40x1xf32>
    %64 = stablehlo.rsqrt %63 : tensor<40x1xf32>
    %65 = stablehlo.broadcast_in_dim %64, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %66 = stablehlo.multiply %61, %65 : tensor<40x48xf32>
    %67 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<48xf32>) -> tensor<1x48xf32>
    %68 = stablehlo.broadcast_in_dim %67, dims = [0, 1] : (tensor<1x48xf32>) -> tensor<40x48xf32>
    %69 = stablehlo.multiply %66, %68 : tensor<40x48xf32>
    %70 = stablehlo.dot_general %69, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf32>, tensor<48x96xf32>) -> tensor<40x96xf32>
    %71 = stablehlo.broadcast_in_dim %arg8, dims = [1] : (tensor<96xf32>) -> tensor<1x96xf32>
    %72 = stablehlo.broadcast_in_dim %71, dims = [0, 1] : (tensor<1x96xf32>) -> tensor<40x96xf32>
    %73 = stablehlo.add %70, %72 : tensor<40x96xf32>
    %74 = stablehlo.multiply %73, %73 : tensor<40x96xf32>
    %75 = stablehlo.multiply %74, %73 : tensor<40x96xf32>
    %cst_13 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %76 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<40x96xf32>
    %77 = stablehlo.multiply %76, %75 : tensor<40x96xf32>
    %78 = stablehlo.add %73, %77 : tensor<40x96xf32>
    %cst_14 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %79 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<40x96xf32>
    %80 = stablehlo.multiply %79, %78 : tensor<40x96xf32>
    %81 = stablehlo.tanh %80 : tensor<40x96xf32>
    %cst_15 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %82 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<40x96xf32>
    %83 = stablehlo.add %82, %81 : tensor<40x96xf32>
    %cst_16 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %84 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<40x96xf32>
    %85 = stablehlo.multiply %84, %83 : tensor<40x96xf32>
    %86 = stablehlo.multiply %73, %85 : tensor<40x96xf32>
    %87 = stablehlo.dot_general %86, %arg9, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x96xf32>, tensor<96x48xf32>) -> tensor<40x48xf32>
    %88 = stablehlo.add %48, %87 : tensor<40x48xf32>
    return %88 : tensor<40x48xf32>
  }
}
