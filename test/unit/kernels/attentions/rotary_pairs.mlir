module @rotary_pairs attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x20x4x16xf16>, %arg1: tensor<2x20x4x16xf16>, %arg2: tensor<2x20x4x16xf16>, %arg3: tensor<20x8xf32>, %arg4: tensor<20x8xf32>) -> (tensor<2x20x4x16xf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x20x4x16xf16>) -> tensor<2x20x4x16xf32>
    %1 = stablehlo.slice %0 [0:2, 0:20, 0:4, 0:16:2] : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x8xf32>
    %2 = stablehlo.slice %0 [0:2, 0:20, 0:4, 1:16:2] : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x8xf32>
    %3 = stablehlo.broadcast_in_dim %arg3, dims = [0, 2] : (tensor<20x8xf32>) -> tensor<20x1x8xf32>
    %4 = stablehlo.broadcast_in_dim %arg4, dims = [0, 2] : (tensor<20x8xf32>) -> tensor<20x1x8xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x4x8xf32>
    %7 = stablehlo.multiply %1, %6 : tensor<2x20x4x8xf32>
    %8 = stablehlo.broadcast_in_dim %4, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x4x8xf32>
    %10 = stablehlo.multiply %2, %9 : tensor<2x20x4x8xf32>
    %11 = stablehlo.subtract %7, %10 : tensor<2x20x4x8xf32>
    %12 = stablehlo.broadcast_in_dim %4, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x4x8xf32>
    %14 = stablehlo.multiply %1, %13 : tensor<2x20x4x8xf32>
    %15 = stablehlo.broadcast_in_dim %3, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x4x8xf32>
    %17 = stablehlo.multiply %2, %16 : tensor<2x20x4x8xf32>
    %18 = stablehlo.add %14, %17 : tensor<2x20x4x8xf32>
    %19 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3] : (tensor<2x20x4x8xf32>) -> tensor<2x20x4x8x1xf32>
    %20 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<2x20x4x8xf32>) -> tensor<2x20x4x8x1xf32>
    %21 = stablehlo.concatenate %19, %20, dim = 4 : (tensor<2x20x4x8x1xf32>, tensor<2x20x4x8x1xf32>) -> tensor<2x20x4x8x2xf32>
    %22 = stablehlo.reshape %21 : (tensor<2x20x4x8x2xf32>) -> tensor<2x20x4x16xf32>
    %23 = stablehlo.convert %22 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    %24 = stablehlo.convert %arg1 : (tensor<2x20x4x16xf16>) -> tensor<2x20x4x16xf32>
    %25 = stablehlo.slice %24 [0:2, 0:20, 0:4, 0:16:2] : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x8xf32>
    %26 = stablehlo.slice %24 [0:2, 0:20, 0:4, 1:16:2] : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x8xf32>
    %27 = stablehlo.broadcast_in_dim %arg3, dims = [0, 2] : (tensor<20x8xf32>) -> tensor<20x1x8xf32>
    %28 = stablehlo.broadcast_in_dim %arg4, dims = [0, 2] : (tensor<20x8xf32>) -> tensor<20x1x8xf32>
    %29 = stablehlo.broadcast_in_dim %27, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x4x8xf32>
    %31 = stablehlo.multiply %25, %30 : tensor<2x20x4x8xf32>
    %32 = stablehlo.broadcast_in_dim %28, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x4x8xf32>
    %34 = stablehlo.multiply %26, %33 : tensor<2x20x4x8xf32>
    %35 = stablehlo.subtract %31, %34 : tensor<2x20x4x8xf32>
    %36 = stablehlo.broadcast_in_dim %28, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x4x8xf32>
    %38 = stablehlo.multiply %25, %37 : tensor<2x20x4x8xf32>
    %39 = stablehlo.broadcast_in_dim %27, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x4x8xf32>
    %41 = stablehlo.multiply %26, %40 : tensor<2x20x4x8xf32>
    %42 = stablehlo.add %38, %41 : tensor<2x20x4x8xf32>
    %43 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2, 3] : (tensor<2x20x4x8xf32>) -> tensor<2x20x4x8x1xf32>
    %44 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2, 3] : (tensor<2x20x4x8xf32>) -> tensor<2x20x4x8x1xf32>
    %45 = stablehlo.concatenate %43, %44, dim = 4 : (tensor<2x20x4x8x1xf32>, tensor<2x20x4x8x1xf32>) -> tensor<2x20x4x8x2xf32>
    %46 = stablehlo.reshape %45 : (tensor<2x20x4x8x2xf32>) -> tensor<2x20x4x16xf32>
    %47 = stablehlo.convert %46 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    %48 = stablehlo.dot_general %23, %47, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x20x4x16xf16>) -> tensor<2x4x20x20xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x20x20xf32>
    %50 = stablehlo.multiply %48, %49 : tensor<2x4x20x20xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %51 = stablehlo.reduce(%50 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %52 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x20xf32>
    %53 = stablehlo.maximum %52, %51 : tensor<2x4x20xf32>
    %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %56 = stablehlo.subtract %50, %55 : tensor<2x4x20x20xf32>
    %57 = stablehlo.exponential %56 : tensor<2x4x20x20xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %58 = stablehlo.reduce(%57 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<2x4x20x20xf32>, tensor<f32>) -> tensor<2x4x20xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2] : (tensor<2x4x20xf32>) -> tensor<2x4x20x1xf32>
    %60 = stablehlo.broadcast_in_dim %59, dims = [0, 1, 2, 3] : (tensor<2x4x20x1xf32>) -> tensor<2x4x20x20xf32>
    %61 = stablehlo.divide %57, %60 : tensor<2x4x20x20xf32>
    %62 = stablehlo.convert %61 : (tensor<2x4x20x20xf32>) -> tensor<2x4x20x20xf16>
    %63 = stablehlo.dot_general %arg2, %62, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x20x4x16xf16>, tensor<2x4x20x20xf16>) -> tensor<2x4x16x20xf32>
    %64 = stablehlo.transpose %63, dims = [0, 3, 1, 2] : (tensor<2x4x16x20xf32>) -> tensor<2x20x4x16xf32>
    %65 = stablehlo.convert %64 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    return %65 : tensor<2x20x4x16xf16>
  }
}
