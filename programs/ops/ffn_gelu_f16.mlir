// A feed-forward layer as SDXL's transformer blocks have it (2048 pixels, 1280 channels), with gelu, f16 with f32 sums,
// as jax 0.10.2 lowers it:
//
//   h = jax.nn.gelu(jnp.dot(x, w1, preferred_element_type=f32) + b1.astype(f32), approximate=True).astype(f16)
//   return (jnp.dot(h, w2, preferred_element_type=f32) + b2.astype(f32) + x.astype(f32)).astype(f16)
module @jit_main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2048x1280xf16>, %arg1: tensor<1280x5120xf16>, %arg2: tensor<5120xf16>, %arg3: tensor<5120x1280xf16>, %arg4: tensor<1280xf16>) -> (tensor<2048x1280xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2048x1280xf16>, tensor<1280x5120xf16>) -> tensor<2048x5120xf32>
    %1 = stablehlo.convert %arg2 : (tensor<5120xf16>) -> tensor<5120xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<5120xf32>) -> tensor<1x5120xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x5120xf32>) -> tensor<2048x5120xf32>
    %4 = stablehlo.add %0, %3 : tensor<2048x5120xf32>
    %5 = stablehlo.multiply %4, %4 : tensor<2048x5120xf32>
    %6 = stablehlo.multiply %5, %4 : tensor<2048x5120xf32>
    %cst = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2048x5120xf32>
    %8 = stablehlo.multiply %7, %6 : tensor<2048x5120xf32>
    %9 = stablehlo.add %4, %8 : tensor<2048x5120xf32>
    %cst_0 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2048x5120xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<2048x5120xf32>
    %12 = stablehlo.tanh %11 : tensor<2048x5120xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2048x5120xf32>
    %14 = stablehlo.add %13, %12 : tensor<2048x5120xf32>
    %cst_2 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2048x5120xf32>
    %16 = stablehlo.multiply %15, %14 : tensor<2048x5120xf32>
    %17 = stablehlo.multiply %4, %16 : tensor<2048x5120xf32>
    %18 = stablehlo.convert %17 : (tensor<2048x5120xf32>) -> tensor<2048x5120xf16>
    %19 = stablehlo.dot_general %18, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2048x5120xf16>, tensor<5120x1280xf16>) -> tensor<2048x1280xf32>
    %20 = stablehlo.convert %arg4 : (tensor<1280xf16>) -> tensor<1280xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [1] : (tensor<1280xf32>) -> tensor<1x1280xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1] : (tensor<1x1280xf32>) -> tensor<2048x1280xf32>
    %23 = stablehlo.add %19, %22 : tensor<2048x1280xf32>
    %24 = stablehlo.convert %arg0 : (tensor<2048x1280xf16>) -> tensor<2048x1280xf32>
    %25 = stablehlo.add %23, %24 : tensor<2048x1280xf32>
    %26 = stablehlo.convert %25 : (tensor<2048x1280xf32>) -> tensor<2048x1280xf16>
    return %26 : tensor<2048x1280xf16>
  }
}
