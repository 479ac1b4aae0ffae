// A block of MobileNet-V2 of 8-bit integers, as JAX exports it.
module @jit_main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x6x7x8xi8>, %arg1: tensor<1x1x8x24xi8>, %arg2: tensor<24xf32>, %arg3: tensor<24xf32>, %arg4: tensor<3x3x24xi8>, %arg5: tensor<24xf32>, %arg6: tensor<24xf32>, %arg7: tensor<1x1x24x8xi8>, %arg8: tensor<8xf32>, %arg9: tensor<8xf32>, %arg10: tensor<f32>, %arg11: tensor<f32>, %arg12: tensor<f32>) -> (tensor<1x6x7x8xi8> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x6x7x8xi8>, tensor<1x1x8x24xi8>) -> tensor<1x6x7x24xi32>
    %1 = stablehlo.convert %0 : (tensor<1x6x7x24xi32>) -> tensor<1x6x7x24xf32>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<24xf32>) -> tensor<1x1x1x24xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2, 3] : (tensor<1x1x1x24xf32>) -> tensor<1x6x7x24xf32>
    %4 = stablehlo.multiply %1, %3 : tensor<1x6x7x24xf32>
    %5 = stablehlo.broadcast_in_dim %arg3, dims = [3] : (tensor<24xf32>) -> tensor<1x1x1x24xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2, 3] : (tensor<1x1x1x24xf32>) -> tensor<1x6x7x24xf32>
    %7 = stablehlo.add %4, %6 : tensor<1x6x7x24xf32>
    %8 = call @round(%7) : (tensor<1x6x7x24xf32>) -> tensor<1x6x7x24xf32>
    %cst = stablehlo.constant dense<-1.280000e+02> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.270000e+02> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x6x7x24xf32>
    %10 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x6x7x24xf32>
    %11 = stablehlo.clamp %9, %8, %10 : tensor<1x6x7x24xf32>
    %12 = stablehlo.convert %11 : (tensor<1x6x7x24xf32>) -> tensor<1x6x7x24xi8>
    %13 = stablehlo.convert %12 : (tensor<1x6x7x24xi8>) -> tensor<1x6x7x24xi32>
    %c = stablehlo.constant dense<-128> : tensor<i32>
    %14 = call @_pad(%13, %c) : (tensor<1x6x7x24xi32>, tensor<i32>) -> tensor<1x8x9x24xi32>
    %15 = stablehlo.convert %arg4 : (tensor<3x3x24xi8>) -> tensor<3x3x24xi32>
    %16 = stablehlo.reshape %15 : (tensor<3x3x24xi32>) -> tensor<3x3x1x24xi32>
    %17 = stablehlo.convolution(%14, %16) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 24 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x9x24xi32>, tensor<3x3x1x24xi32>) -> tensor<1x6x7x24xi32>
    %18 = stablehlo.convert %17 : (tensor<1x6x7x24xi32>) -> tensor<1x6x7x24xf32>
    %19 = stablehlo.broadcast_in_dim %arg5, dims = [3] : (tensor<24xf32>) -> tensor<1x1x1x24xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<1x1x1x24xf32>) -> tensor<1x6x7x24xf32>
    %21 = stablehlo.multiply %18, %20 : tensor<1x6x7x24xf32>
    %22 = stablehlo.broadcast_in_dim %arg6, dims = [3] : (tensor<24xf32>) -> tensor<1x1x1x24xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3] : (tensor<1x1x1x24xf32>) -> tensor<1x6x7x24xf32>
    %24 = stablehlo.add %21, %23 : tensor<1x6x7x24xf32>
    %25 = call @round(%24) : (tensor<1x6x7x24xf32>) -> tensor<1x6x7x24xf32>
    %cst_1 = stablehlo.constant dense<-1.280000e+02> : tensor<f32>
    %cst_2 = stablehlo.constant dense<1.270000e+02> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x6x7x24xf32>
    %27 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x6x7x24xf32>
    %28 = stablehlo.clamp %26, %25, %27 : tensor<1x6x7x24xf32>
    %29 = stablehlo.convert %28 : (tensor<1x6x7x24xf32>) -> tensor<1x6x7x24xi8>
    %30 = stablehlo.convolution(%29, %arg7) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x6x7x24xi8>, tensor<1x1x24x8xi8>) -> tensor<1x6x7x8xi32>
    %31 = stablehlo.convert %30 : (tensor<1x6x7x8xi32>) -> tensor<1x6x7x8xf32>
    %32 = stablehlo.broadcast_in_dim %arg8, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<1x6x7x8xf32>
    %34 = stablehlo.multiply %31, %33 : tensor<1x6x7x8xf32>
    %35 = stablehlo.broadcast_in_dim %arg9, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<1x6x7x8xf32>
    %37 = stablehlo.add %34, %36 : tensor<1x6x7x8xf32>
    %38 = call @round_0(%37) : (tensor<1x6x7x8xf32>) -> tensor<1x6x7x8xf32>
    %cst_3 = stablehlo.constant dense<-1.280000e+02> : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.270000e+02> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x6x7x8xf32>
    %40 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<1x6x7x8xf32>
    %41 = stablehlo.clamp %39, %38, %40 : tensor<1x6x7x8xf32>
    %42 = stablehlo.convert %41 : (tensor<1x6x7x8xf32>) -> tensor<1x6x7x8xi8>
    %43 = stablehlo.convert %arg0 : (tensor<1x6x7x8xi8>) -> tensor<1x6x7x8xf32>
    %44 = stablehlo.broadcast_in_dim %arg10, dims = [] : (tensor<f32>) -> tensor<1x6x7x8xf32>
    %45 = stablehlo.multiply %43, %44 : tensor<1x6x7x8xf32>
    %46 = stablehlo.convert %42 : (tensor<1x6x7x8xi8>) -> tensor<1x6x7x8xf32>
    %47 = stablehlo.broadcast_in_dim %arg11, dims = [] : (tensor<f32>) -> tensor<1x6x7x8xf32>
    %48 = stablehlo.multiply %46, %47 : tensor<1x6x7x8xf32>
    %49 = stablehlo.broadcast_in_dim %arg12, dims = [] : (tensor<f32>) -> tensor<1x6x7x8xf32>
    %50 = stablehlo.add %48, %49 : tensor<1x6x7x8xf32>
    %51 = stablehlo.add %45, %50 : tensor<1x6x7x8xf32>
    %52 = call @round_0(%51) : (tensor<1x6x7x8xf32>) -> tensor<1x6x7x8xf32>
    %cst_5 = stablehlo.constant dense<-1.280000e+02> : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.270000e+02> : tensor<f32>
    %53 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<1x6x7x8xf32>
    %54 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<1x6x7x8xf32>
    %55 = stablehlo.clamp %53, %52, %54 : tensor<1x6x7x8xf32>
    %56 = stablehlo.convert %55 : (tensor<1x6x7x8xf32>) -> tensor<1x6x7x8xi8>
    return %56 : tensor<1x6x7x8xi8>
  }
  func.func private @round(%arg0: tensor<1x6x7x24xf32>) -> tensor<1x6x7x24xf32> {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<1x6x7x24xf32>
    return %0 : tensor<1x6x7x24xf32>
  }
  func.func private @_pad(%arg0: tensor<1x6x7x24xi32>, %arg1: tensor<i32>) -> tensor<1x8x9x24xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.pad %arg0, %0, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0] : (tensor<1x6x7x24xi32>, tensor<i32>) -> tensor<1x8x9x24xi32>
    return %1 : tensor<1x8x9x24xi32>
  }
  func.func private @round_0(%arg0: tensor<1x6x7x8xf32>) -> tensor<1x6x7x8xf32> {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<1x6x7x8xf32>
    return %0 : tensor<1x6x7x8xf32>
  }
}

