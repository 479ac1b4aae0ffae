module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<37x64xf16>, %arg1: tensor<64x48xf16>, %arg2: tensor<48xf16>) -> (tensor<37x48xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<37x64xf16>, tensor<64x48xf16>) -> tensor<37x48xf32>
    %1 = stablehlo.convert %arg2 : (tensor<48xf16>) -> tensor<48xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<48xf32>) -> tensor<1x48xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x48xf32>) -> tensor<37x48xf32>
    %4 = stablehlo.add %0, %3 : tensor<37x48xf32>
    %5 = stablehlo.convert %4 : (tensor<37x48xf32>) -> tensor<37x48xf16>
    %cst = stablehlo.constant dense<1.702150e+00> : tensor<f16>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<37x48xf16>
    %7 = stablehlo.multiply %6, %5 : tensor<37x48xf16>
    %8 = stablehlo.negate %7 : tensor<37x48xf16>
    %9 = stablehlo.exponential %8 : tensor<37x48xf16>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %10 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f16>) -> tensor<37x48xf16>
    %11 = stablehlo.add %10, %9 : tensor<37x48xf16>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f16>) -> tensor<37x48xf16>
    %13 = stablehlo.divide %12, %11 : tensor<37x48xf16>
    %14 = stablehlo.multiply %5, %13 : tensor<37x48xf16>
    return %14 : tensor<37x48xf16>
  }
}
