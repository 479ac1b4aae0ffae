module {
  func.func public @main(%arg0: tensor<1x40x128xf16>, %arg1: tensor<128x128xf16>, %arg2: tensor<128x64xf16>, %arg3: tensor<128x64xf16>, %arg4: tensor<128x128xf16>, %arg5: tensor<128x176xf16>, %arg6: tensor<128x176xf16>, %arg7: tensor<176x128xf16>, %arg8: tensor<128xf16>, %arg9: tensor<128xf16>, %arg10: tensor<40x32xf16>, %arg11: tensor<40x32xf16>) -> (tensor<1x40x128xf16>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<-6.550400e+04> : tensor<f16>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %cst_1 = stablehlo.constant dense<1.767580e-01> : tensor<f16>
    %cst_2 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.convert %arg0 : (tensor<1x40x128xf16>) -> tensor<1x40x128xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<1x40x128xf32>
    %2 = stablehlo.reduce(%1 init: %cst_4) applies stablehlo.add across dimensions = [2] : (tensor<1x40x128xf32>, tensor<f32>) -> tensor<1x40xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x40xf32>) -> tensor<1x40x1xf32>
    %4 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x40x1xf32>
    %5 = stablehlo.divide %3, %4 : tensor<1x40x1xf32>
    %6 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x40x1xf32>
    %7 = stablehlo.add %5, %6 : tensor<1x40x1xf32>
    %8 = stablehlo.rsqrt %7 : tensor<1x40x1xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x40x1xf32>) -> tensor<1x40x128xf32>
    %10 = stablehlo.multiply %0, %9 : tensor<1x40x128xf32>
    %11 = stablehlo.convert %10 : (tensor<1x40x128xf32>) -> tensor<1x40x128xf16>
    %12 = stablehlo.broadcast_in_dim %arg8, dims = [2] : (tensor<128xf16>) -> tensor<1x1x128xf16>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<1x1x128xf16>) -> tensor<1x40x128xf16>
    %14 = stablehlo.multiply %13, %11 : tensor<1x40x128xf16>
    %15 = stablehlo.dot_general %14, %arg1, contracting_dims = [2] x [0] : (tensor<1x40x128xf16>, tensor<128x128xf16>) -> tensor<1x40x128xf16>
    %16 = stablehlo.reshape %15 : (tensor<1x40x128xf16>) -> tensor<1x40x4x32xf16>
    %17 = stablehlo.transpose %16, dims = [0, 2, 1, 3] : (tensor<1x40x4x32xf16>) -> tensor<1x4x40x32xf16>
    %18 = stablehlo.dot_general %14, %arg2, contracting_dims = [2] x [0] : (tensor<1x40x128xf16>, tensor<128x64xf16>) -> tensor<1x40x64xf16>
    %19 = stablehlo.reshape %18 : (tensor<1x40x64xf16>) -> tensor<1x40x2x32xf16>
    %20 = stablehlo.transpose %19, dims = [0, 2, 1, 3] : (tensor<1x40x2x32xf16>) -> tensor<1x2x40x32xf16>
    %21 = stablehlo.dot_general %14, %arg3, contracting_dims = [2] x [0] : (tensor<1x40x128xf16>, tensor<128x64xf16>) -> tensor<1x40x64xf16>
    %22 = stablehlo.reshape %21 : (tensor<1x40x64xf16>) -> tensor<1x40x2x32xf16>
    %23 = stablehlo.transpose %22, dims = [0, 2, 1, 3] : (tensor<1x40x2x32xf16>) -> tensor<1x2x40x32xf16>
    %24 = stablehlo.slice %17 [0:1, 0:4, 0:40, 0:16] : (tensor<1x4x40x32xf16>) -> tensor<1x4x40x16xf16>
    %25 = stablehlo.slice %17 [0:1, 0:4, 0:40, 16:32] : (tensor<1x4x40x32xf16>) -> tensor<1x4x40x16xf16>
    %26 = stablehlo.broadcast_in_dim %arg10, dims = [2, 3] : (tensor<40x32xf16>) -> tensor<1x1x40x32xf16>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3] : (tensor<1x1x40x32xf16>) -> tensor<1x4x40x32xf16>
    %28 = stablehlo.multiply %17, %27 : tensor<1x4x40x32xf16>
    %29 = stablehlo.negate %25 : tensor<1x4x40x16xf16>
    %30 = stablehlo.concatenate %29, %24, dim = 3 : (tensor<1x4x40x16xf16>, tensor<1x4x40x16xf16>) -> tensor<1x4x40x32xf16>
    %31 = stablehlo.broadcast_in_dim %arg11, dims = [2, 3] : (tensor<40x32xf16>) -> tensor<1x1x40x32xf16>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3] : (tensor<1x1x40x32xf16>) -> tensor<1x4x40x32xf16>
    %33 = stablehlo.multiply %30, %32 : tensor<1x4x40x32xf16>
    %34 = stablehlo.add %28, %33 : tensor<1x4x40x32xf16>
    %35 = stablehlo.slice %20 [0:1, 0:2, 0:40, 0:16] : (tensor<1x2x40x32xf16>) -> tensor<1x2x40x16xf16>
    %36 = stablehlo.slice %20 [0:1, 0:2, 0:40, 16:32] : (tensor<1x2x40x32xf16>) -> tensor<1x2x40x16xf16>
    %37 = stablehlo.broadcast_in_dim %arg10, dims = [2, 3] : (tensor<40x32xf16>) -> tensor<1x1x40x32xf16>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2, 3] : (tensor<1x1x40x32xf16>) -> tensor<1x2x40x32xf16>
    %39 = stablehlo.multiply %20, %38 : tensor<1x2x40x32xf16>
    %40 = stablehlo.negate %36 : tensor<1x2x40x16xf16>
    %41 = stablehlo.concatenate %40, %35, dim = 3 : (tensor<1x2x40x16xf16>, tensor<1x2x40x16xf16>) -> tensor<1x2x40x32xf16>
    %42 = stablehlo.broadcast_in_dim %arg11, dims = [2, 3] : (tensor<40x32xf16>) -> tensor<1x1x40x32xf16>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2, 3] : (tensor<1x1x40x32xf16>) -> tensor<1x2x40x32xf16>
    %44 = stablehlo.multiply %41, %43 : tensor<1x2x40x32xf16>
    %45 = stablehlo.add %39, %44 : tensor<1x2x40x32xf16>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0, 1, 3, 4] : (tensor<1x2x40x32xf16>) -> tensor<1x2x2x40x32xf16>
    %47 = stablehlo.reshape %46 : (tensor<1x2x2x40x32xf16>) -> tensor<1x4x40x32xf16>
    %48 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 3, 4] : (tensor<1x2x40x32xf16>) -> tensor<1x2x2x40x32xf16>
    %49 = stablehlo.reshape %48 : (tensor<1x2x2x40x32xf16>) -> tensor<1x4x40x32xf16>
    %50 = stablehlo.dot_general %34, %47, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<1x4x40x32xf16>, tensor<1x4x40x32xf16>) -> tensor<1x4x40x40xf16>
    %51 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f16>) -> tensor<1x4x40x40xf16>
    %52 = stablehlo.multiply %50, %51 : tensor<1x4x40x40xf16>
    %53 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<40x40xi1>
    %54 = call @tril(%53) : (tensor<40x40xi1>) -> tensor<40x40xi1>
    %55 = call @_where(%54, %52, %cst_0) : (tensor<40x40xi1>, tensor<1x4x40x40xf16>, tensor<f16>) -> tensor<1x4x40x40xf16>
    %56 = stablehlo.convert %55 : (tensor<1x4x40x40xf16>) -> tensor<1x4x40x40xf32>
    %57 = stablehlo.reduce(%56 init: %cst) applies stablehlo.maximum across dimensions = [3] : (tensor<1x4x40x40xf32>, tensor<f32>) -> tensor<1x4x40xf32>
    %58 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x4x40xf32>
    %59 = stablehlo.maximum %58, %57 : tensor<1x4x40xf32>
    %60 = stablehlo.broadcast_in_dim %59, dims = [0, 1, 2] : (tensor<1x4x40xf32>) -> tensor<1x4x40x1xf32>
    %61 = stablehlo.broadcast_in_dim %60, dims = [0, 1, 2, 3] : (tensor<1x4x40x1xf32>) -> tensor<1x4x40x40xf32>
    %62 = stablehlo.subtract %56, %61 : tensor<1x4x40x40xf32>
    %63 = stablehlo.exponential %62 : tensor<1x4x40x40xf32>
    %64 = stablehlo.reduce(%63 init: %cst_4) applies stablehlo.add across dimensions = [3] : (tensor<1x4x40x40xf32>, tensor<f32>) -> tensor<1x4x40xf32>
    %65 = stablehlo.broadcast_in_dim %64, dims = [0, 1, 2] : (tensor<1x4x40xf32>) -> tensor<1x4x40x1xf32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [0, 1, 2, 3] : (tensor<1x4x40x1xf32>) -> tensor<1x4x40x40xf32>
    %67 = stablehlo.divide %63, %66 : tensor<1x4x40x40xf32>
    %68 = stablehlo.convert %67 : (tensor<1x4x40x40xf32>) -> tensor<1x4x40x40xf16>
    %69 = stablehlo.dot_general %68, %49, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<1x4x40x40xf16>, tensor<1x4x40x32xf16>) -> tensor<1x4x40x32xf16>
    %70 = stablehlo.transpose %69, dims = [0, 2, 1, 3] : (tensor<1x4x40x32xf16>) -> tensor<1x40x4x32xf16>
    %71 = stablehlo.reshape %70 : (tensor<1x40x4x32xf16>) -> tensor<1x40x128xf16>
    %72 = stablehlo.dot_general %71, %arg4, contracting_dims = [2] x [0] : (tensor<1x40x128xf16>, tensor<128x128xf16>) -> tensor<1x40x128xf16>
    %73 = stablehlo.add %arg0, %72 : tensor<1x40x128xf16>
    %74 = stablehlo.convert %73 : (tensor<1x40x128xf16>) -> tensor<1x40x128xf32>
    %75 = stablehlo.multiply %74, %74 : tensor<1x40x128xf32>
    %76 = stablehlo.reduce(%75 init: %cst_4) applies stablehlo.add across dimensions = [2] : (tensor<1x40x128xf32>, tensor<f32>) -> tensor<1x40xf32>
    %77 = stablehlo.broadcast_in_dim %76, dims = [0, 1] : (tensor<1x40xf32>) -> tensor<1x40x1xf32>
    %78 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x40x1xf32>
    %79 = stablehlo.divide %77, %78 : tensor<1x40x1xf32>
    %80 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x40x1xf32>
    %81 = stablehlo.add %79, %80 : tensor<1x40x1xf32>
    %82 = stablehlo.rsqrt %81 : tensor<1x40x1xf32>
    %83 = stablehlo.broadcast_in_dim %82, dims = [0, 1, 2] : (tensor<1x40x1xf32>) -> tensor<1x40x128xf32>
    %84 = stablehlo.multiply %74, %83 : tensor<1x40x128xf32>
    %85 = stablehlo.convert %84 : (tensor<1x40x128xf32>) -> tensor<1x40x128xf16>
    %86 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<128xf16>) -> tensor<1x1x128xf16>
    %87 = stablehlo.broadcast_in_dim %86, dims = [0, 1, 2] : (tensor<1x1x128xf16>) -> tensor<1x40x128xf16>
    %88 = stablehlo.multiply %87, %85 : tensor<1x40x128xf16>
    %89 = stablehlo.dot_general %88, %arg5, contracting_dims = [2] x [0] : (tensor<1x40x128xf16>, tensor<128x176xf16>) -> tensor<1x40x176xf16>
    %90 = call @silu(%89) : (tensor<1x40x176xf16>) -> tensor<1x40x176xf16>
    %91 = stablehlo.dot_general %88, %arg6, contracting_dims = [2] x [0] : (tensor<1x40x128xf16>, tensor<128x176xf16>) -> tensor<1x40x176xf16>
    %92 = stablehlo.multiply %90, %91 : tensor<1x40x176xf16>
    %93 = stablehlo.dot_general %92, %arg7, contracting_dims = [2] x [0] : (tensor<1x40x176xf16>, tensor<176x128xf16>) -> tensor<1x40x128xf16>
    %94 = stablehlo.add %73, %93 : tensor<1x40x128xf16>
    return %94 : tensor<1x40x128xf16>
  }
  func.func private @tril(%arg0: tensor<40x40xi1>) -> tensor<40x40xi1> {
    %c = stablehlo.constant dense<false> : tensor<i1>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.iota dim = 0 : tensor<40x40xi32>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<40x40xi32>
    %2 = stablehlo.add %0, %1 : tensor<40x40xi32>
    %3 = stablehlo.iota dim = 1 : tensor<40x40xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<40x40xi32>, tensor<40x40xi32>) -> tensor<40x40xi1>
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<40x40xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<40x40xi1>, tensor<40x40xi1>
    return %6 : tensor<40x40xi1>
  }
  func.func private @_where(%arg0: tensor<40x40xi1>, %arg1: tensor<1x4x40x40xf16>, %arg2: tensor<f16>) -> tensor<1x4x40x40xf16> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<40x40xi1>) -> tensor<1x4x40x40xi1>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f16>) -> tensor<1x4x40x40xf16>
    %2 = stablehlo.select %0, %arg1, %1 : tensor<1x4x40x40xi1>, tensor<1x4x40x40xf16>
    return %2 : tensor<1x4x40x40xf16>
  }
  func.func private @silu(%arg0: tensor<1x40x176xf16>) -> tensor<1x40x176xf16> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %0 = stablehlo.negate %arg0 : tensor<1x40x176xf16>
    %1 = stablehlo.exponential %0 : tensor<1x40x176xf16>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<1x40x176xf16>
    %3 = stablehlo.add %2, %1 : tensor<1x40x176xf16>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<1x40x176xf16>
    %5 = stablehlo.divide %4, %3 : tensor<1x40x176xf16>
    %6 = stablehlo.multiply %arg0, %5 : tensor<1x40x176xf16>
    return %6 : tensor<1x40x176xf16>
  }
}
