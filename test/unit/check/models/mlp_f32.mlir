module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<40x48xf32>, %arg1: tensor<48xf32>, %arg2: tensor<48x96xf32>, %arg3: tensor<96xf32>, %arg4: tensor<96x48xf32>) -> (tensor<40x48xf32> {jax.result_info = "result"}) {
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
    %21 = stablehlo.dot_general %20, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf32>, tensor<48x96xf32>) -> tensor<40x96xf32>
    %22 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<96xf32>) -> tensor<1x96xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1] : (tensor<1x96xf32>) -> tensor<40x96xf32>
    %24 = stablehlo.add %21, %23 : tensor<40x96xf32>
    %25 = stablehlo.multiply %24, %24 : tensor<40x96xf32>
    %26 = stablehlo.multiply %25, %24 : tensor<40x96xf32>
    %cst_4 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<40x96xf32>
    %28 = stablehlo.multiply %27, %26 : tensor<40x96xf32>
    %29 = stablehlo.add %24, %28 : tensor<40x96xf32>
    %cst_5 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<40x96xf32>
    %31 = stablehlo.multiply %30, %29 : tensor<40x96xf32>
    %32 = stablehlo.tanh %31 : tensor<40x96xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<40x96xf32>
    %34 = stablehlo.add %33, %32 : tensor<40x96xf32>
    %cst_7 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<40x96xf32>
    %36 = stablehlo.multiply %35, %34 : tensor<40x96xf32>
    %37 = stablehlo.multiply %24, %36 : tensor<40x96xf32>
    %38 = stablehlo.dot_general %37, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x96xf32>, tensor<96x48xf32>) -> tensor<40x48xf32>
    %39 = stablehlo.add %arg0, %38 : tensor<40x48xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %40 = stablehlo.reduce(%39 init: %cst_8) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_9 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %43 = stablehlo.divide %41, %42 : tensor<40x1xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %45 = stablehlo.subtract %39, %44 : tensor<40x48xf32>
    %46 = stablehlo.multiply %45, %45 : tensor<40x48xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %47 = stablehlo.reduce(%46 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %48 = stablehlo.broadcast_in_dim %47, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_11 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %50 = stablehlo.divide %48, %49 : tensor<40x1xf32>
    %51 = stablehlo.broadcast_in_dim %43, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %52 = stablehlo.subtract %39, %51 : tensor<40x48xf32>
    %cst_12 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %53 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %54 = stablehlo.add %50, %53 : tensor<40x1xf32>
    %55 = stablehlo.rsqrt %54 : tensor<40x1xf32>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %57 = stablehlo.multiply %52, %56 : tensor<40x48xf32>
    %58 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<48xf32>) -> tensor<1x48xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1] : (tensor<1x48xf32>) -> tensor<40x48xf32>
    %60 = stablehlo.multiply %57, %59 : tensor<40x48xf32>
    %61 = stablehlo.dot_general %60, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf32>, tensor<48x96xf32>) -> tensor<40x96xf32>
    %62 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<96xf32>) -> tensor<1x96xf32>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0, 1] : (tensor<1x96xf32>) -> tensor<40x96xf32>
    %64 = stablehlo.add %61, %63 : tensor<40x96xf32>
    %65 = stablehlo.multiply %64, %64 : tensor<40x96xf32>
    %66 = stablehlo.multiply %65, %64 : tensor<40x96xf32>
    %cst_13 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %67 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<40x96xf32>
    %68 = stablehlo.multiply %67, %66 : tensor<40x96xf32>
    %69 = stablehlo.add %64, %68 : tensor<40x96xf32>
    %cst_14 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %70 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<40x96xf32>
    %71 = stablehlo.multiply %70, %69 : tensor<40x96xf32>
    %72 = stablehlo.tanh %71 : tensor<40x96xf32>
    %cst_15 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %73 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<40x96xf32>
    %74 = stablehlo.add %73, %72 : tensor<40x96xf32>
    %cst_16 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %75 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<40x96xf32>
    %76 = stablehlo.multiply %75, %74 : tensor<40x96xf32>
    %77 = stablehlo.multiply %64, %76 : tensor<40x96xf32>
    %78 = stablehlo.dot_general %77, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x96xf32>, tensor<96x48xf32>) -> tensor<40x48xf32>
    %79 = stablehlo.add %39, %78 : tensor<40x48xf32>
    return %79 : tensor<40x48xf32>
  }
}
