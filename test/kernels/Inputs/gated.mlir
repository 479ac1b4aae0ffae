// A gated layer in half precision on 154 rows, as JAX exports it: silu(x G) * (x U), times D; and scores of heads.
func.func @main(%x: tensor<154x256xf16>, %g: tensor<256x320xf16>, %u: tensor<256x320xf16>, %d: tensor<320x256xf16>,
                %q: tensor<4x77x64xf16>, %k: tensor<4x154x64xf16>) -> (tensor<154x256xf16>, tensor<4x77x154xf32>) {
  %0 = stablehlo.dot_general %x, %g, contracting_dims = [1] x [0] : (tensor<154x256xf16>, tensor<256x320xf16>) -> tensor<154x320xf32>
  %1 = stablehlo.convert %0 : (tensor<154x320xf32>) -> tensor<154x320xf16>
  %2 = stablehlo.negate %1 : tensor<154x320xf16>
  %3 = stablehlo.exponential %2 : tensor<154x320xf16>
  %4 = stablehlo.constant dense<1.0> : tensor<154x320xf16>
  %5 = stablehlo.add %4, %3 : tensor<154x320xf16>
  %6 = stablehlo.divide %4, %5 : tensor<154x320xf16>
  %7 = stablehlo.multiply %1, %6 : tensor<154x320xf16>
  %8 = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0] : (tensor<154x256xf16>, tensor<256x320xf16>) -> tensor<154x320xf32>
  %9 = stablehlo.convert %8 : (tensor<154x320xf32>) -> tensor<154x320xf16>
  %10 = stablehlo.multiply %7, %9 : tensor<154x320xf16>
  %11 = stablehlo.dot_general %10, %d, contracting_dims = [1] x [0] : (tensor<154x320xf16>, tensor<320x256xf16>) -> tensor<154x256xf32>
  %12 = stablehlo.convert %11 : (tensor<154x256xf32>) -> tensor<154x256xf16>
  %13 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x77x64xf16>, tensor<4x154x64xf16>) -> tensor<4x77x154xf32>
  %14 = stablehlo.constant dense<1.250000e-01> : tensor<4x77x154xf32>
  %15 = stablehlo.multiply %13, %14 : tensor<4x77x154xf32>
  return %12, %15 : tensor<154x256xf16>, tensor<4x77x154xf32>
}
