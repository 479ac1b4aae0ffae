module @rotary_grouped attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x20x4x16xf16>, %arg1: tensor<2x20x2x16xf16>, %arg2: tensor<2x20x2x16xf16>, %arg3: tensor<20x8xf32>, %arg4: tensor<20x8xf32>) -> (tensor<2x20x2x2x16xf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2x20x4x16xf16>) -> tensor<2x20x4x16xf32>
    %1 = stablehlo.slice %0 [0:2, 0:20, 0:4, 0:8] : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x8xf32>
    %2 = stablehlo.slice %0 [0:2, 0:20, 0:4, 8:16] : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x8xf32>
    %3 = stablehlo.broadcast_in_dim %arg3, dims = [0, 2] : (tensor<20x8xf32>) -> tensor<20x1x8xf32>
    %4 = stablehlo.broadcast_in_dim %arg4, dims = [0, 2] : (tensor<20x8xf32>) -> tensor<20x1x8xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x4x8xf32>
    %7 = stablehlo.multiply %1, %6 : tensor<2x20x4x8xf32>
    %8 = stablehlo.broadcast_in_dim %4, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x4x8xf32>
    %10 = stablehlo.multiply %2, %9 : tensor<2x20x4x8xf32>
    %11 = stablehlo.subtract %7, %10 : tensor<2x20x4x8xf32>
    %12 = stablehlo.broadcast_in_dim %3, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x4x8xf32>
    %14 = stablehlo.multiply %2, %13 : tensor<2x20x4x8xf32>
    %15 = stablehlo.broadcast_in_dim %4, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x4x8xf32>
    %17 = stablehlo.multiply %1, %16 : tensor<2x20x4x8xf32>
    %18 = stablehlo.add %14, %17 : tensor<2x20x4x8xf32>
    %19 = stablehlo.concatenate %11, %18, dim = 3 : (tensor<2x20x4x8xf32>, tensor<2x20x4x8xf32>) -> tensor<2x20x4x16xf32>
    %20 = stablehlo.convert %19 : (tensor<2x20x4x16xf32>) -> tensor<2x20x4x16xf16>
    %21 = stablehlo.convert %arg1 : (tensor<2x20x2x16xf16>) -> tensor<2x20x2x16xf32>
    %22 = stablehlo.slice %21 [0:2, 0:20, 0:2, 0:8] : (tensor<2x20x2x16xf32>) -> tensor<2x20x2x8xf32>
    %23 = stablehlo.slice %21 [0:2, 0:20, 0:2, 8:16] : (tensor<2x20x2x16xf32>) -> tensor<2x20x2x8xf32>
    %24 = stablehlo.broadcast_in_dim %arg3, dims = [0, 2] : (tensor<20x8xf32>) -> tensor<20x1x8xf32>
    %25 = stablehlo.broadcast_in_dim %arg4, dims = [0, 2] : (tensor<20x8xf32>) -> tensor<20x1x8xf32>
    %26 = stablehlo.broadcast_in_dim %24, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x2x8xf32>
    %28 = stablehlo.multiply %22, %27 : tensor<2x20x2x8xf32>
    %29 = stablehlo.broadcast_in_dim %25, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x2x8xf32>
    %31 = stablehlo.multiply %23, %30 : tensor<2x20x2x8xf32>
    %32 = stablehlo.subtract %28, %31 : tensor<2x20x2x8xf32>
    %33 = stablehlo.broadcast_in_dim %24, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x2x8xf32>
    %35 = stablehlo.multiply %23, %34 : tensor<2x20x2x8xf32>
    %36 = stablehlo.broadcast_in_dim %25, dims = [1, 2, 3] : (tensor<20x1x8xf32>) -> tensor<1x20x1x8xf32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2, 3] : (tensor<1x20x1x8xf32>) -> tensor<2x20x2x8xf32>
    %38 = stablehlo.multiply %22, %37 : tensor<2x20x2x8xf32>
    %39 = stablehlo.add %35, %38 : tensor<2x20x2x8xf32>
    %40 = stablehlo.concatenate %32, %39, dim = 3 : (tensor<2x20x2x8xf32>, tensor<2x20x2x8xf32>) -> tensor<2x20x2x16xf32>
    %41 = stablehlo.convert %40 : (tensor<2x20x2x16xf32>) -> tensor<2x20x2x16xf16>
    %42 = stablehlo.reshape %20 : (tensor<2x20x4x16xf16>) -> tensor<2x20x2x2x16xf16>
    %43 = stablehlo.dot_general %41, %42, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x20x2x16xf16>, tensor<2x20x2x2x16xf16>) -> tensor<2x2x20x20x2xf32>
    %44 = stablehlo.transpose %43, dims = [0, 1, 4, 3, 2] : (tensor<2x2x20x20x2xf32>) -> tensor<2x2x2x20x20xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x2x20x20xf32>
    %46 = stablehlo.multiply %44, %45 : tensor<2x2x2x20x20xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %47 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<20x20xi1>
    %48 = call @tril(%47) : (tensor<20x20xi1>) -> tensor<20x20xi1>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %49 = call @_where(%48, %46, %cst_0) : (tensor<20x20xi1>, tensor<2x2x2x20x20xf32>, tensor<f32>) -> tensor<2x2x2x20x20xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %50 = stablehlo.reduce(%49 init: %cst_1) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x2x20x20xf32>, tensor<f32>) -> tensor<2x2x2x20xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x2x2x20xf32>
    %52 = stablehlo.maximum %51, %50 : tensor<2x2x2x20xf32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [0, 1, 2, 3] : (tensor<2x2x2x20xf32>) -> tensor<2x2x2x20x1xf32>
    %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1, 2, 3, 4] : (tensor<2x2x2x20x1xf32>) -> tensor<2x2x2x20x20xf32>
    %55 = stablehlo.subtract %49, %54 : tensor<2x2x2x20x20xf32>
    %56 = stablehlo.exponential %55 : tensor<2x2x2x20x20xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %57 = stablehlo.reduce(%56 init: %cst_3) applies stablehlo.add across dimensions = [4] : (tensor<2x2x2x20x20xf32>, tensor<f32>) -> tensor<2x2x2x20xf32>
    %58 = stablehlo.broadcast_in_dim %57, dims = [0, 1, 2, 3] : (tensor<2x2x2x20xf32>) -> tensor<2x2x2x20x1xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2, 3, 4] : (tensor<2x2x2x20x1xf32>) -> tensor<2x2x2x20x20xf32>
    %60 = stablehlo.divide %56, %59 : tensor<2x2x2x20x20xf32>
    %61 = stablehlo.convert %60 : (tensor<2x2x2x20x20xf32>) -> tensor<2x2x2x20x20xf16>
    %62 = stablehlo.dot_general %arg2, %61, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x20x2x16xf16>, tensor<2x2x2x20x20xf16>) -> tensor<2x2x16x2x20xf32>
    %63 = stablehlo.transpose %62, dims = [0, 4, 1, 3, 2] : (tensor<2x2x16x2x20xf32>) -> tensor<2x20x2x2x16xf32>
    %64 = stablehlo.convert %63 : (tensor<2x20x2x2x16xf32>) -> tensor<2x20x2x2x16xf16>
    return %64 : tensor<2x20x2x2x16xf16>
  }
  func.func private @tril(%arg0: tensor<20x20xi1>) -> tensor<20x20xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<20x20xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<20x20xi32>
    %2 = stablehlo.add %0, %1 : tensor<20x20xi32>
    %3 = stablehlo.iota dim = 1 : tensor<20x20xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<20x20xi32>, tensor<20x20xi32>) -> tensor<20x20xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<20x20xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<20x20xi1>, tensor<20x20xi1>
    return %6 : tensor<20x20xi1>
  }
  func.func private @_where(%arg0: tensor<20x20xi1>, %arg1: tensor<2x2x2x20x20xf32>, %arg2: tensor<f32>) -> tensor<2x2x2x20x20xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [3, 4] : (tensor<20x20xi1>) -> tensor<2x2x2x20x20xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x2x2x20x20xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x2x2x20x20xi1>, tensor<2x2x2x20x20xf32>
    return %3 : tensor<2x2x2x20x20xf32>
  }
}
