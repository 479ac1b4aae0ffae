module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<37x64xf16>, %arg1: tensor<64x48xf16>) -> (tensor<37x24xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<37x64xf16>, tensor<64x48xf16>) -> tensor<37x48xf32>
    %1 = stablehlo.convert %0 : (tensor<37x48xf32>) -> tensor<37x48xf16>
    %2 = stablehlo.slice %1 [0:37, 0:24] : (tensor<37x48xf16>) -> tensor<37x24xf16>
    %3 = stablehlo.slice %1 [0:37, 24:48] : (tensor<37x48xf16>) -> tensor<37x24xf16>
    %4 = stablehlo.negate %3 : tensor<37x24xf16>
    %5 = stablehlo.exponential %4 : tensor<37x24xf16>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<37x24xf16>
    %7 = stablehlo.add %6, %5 : tensor<37x24xf16>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f16>) -> tensor<37x24xf16>
    %9 = stablehlo.divide %8, %7 : tensor<37x24xf16>
    %10 = stablehlo.multiply %2, %9 : tensor<37x24xf16>
    return %10 : tensor<37x24xf16>
  }
}
