module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<40x48xf16>, %arg1: tensor<48xf16>, %arg2: tensor<48x48xf16>, %arg3: tensor<48x48xf16>, %arg4: tensor<48x48xf16>, %arg5: tensor<48x48xf16>, %arg6: tensor<48xf16>, %arg7: tensor<48x96xf16>, %arg8: tensor<96xf16>, %arg9: tensor<96x48xf16>, %arg10: tensor<48xf16>, %arg11: tensor<48x48xf16>, %arg12: tensor<48x48xf16>, %arg13: tensor<48x48xf16>, %arg14: tensor<48x48xf16>, %arg15: tensor<48xf16>, %arg16: tensor<48x96xf16>, %arg17: tensor<96xf16>, %arg18: tensor<96x48xf16>, %arg19: tensor<48xf16>, %arg20: tensor<48x48xf16>, %arg21: tensor<48x48xf16>, %arg22: tensor<48x48xf16>, %arg23: tensor<48x48xf16>, %arg24: tensor<48xf16>, %arg25: tensor<48x96xf16>, %arg26: tensor<96xf16>, %arg27: tensor<96x48xf16>, %arg28: tensor<48xf16>, %arg29: tensor<48x48xf16>, %arg30: tensor<48x48xf16>, %arg31: tensor<48x48xf16>, %arg32: tensor<48x48xf16>, %arg33: tensor<48xf16>, %arg34: tensor<48x96xf16>, %arg35: tensor<96xf16>, %arg36: tensor<96x48xf16>) -> (tensor<40x48xf16> {jax.result_info = "result"}) {
    %0 = stablehlo.convert %arg0 : (tensor<40x48xf16>) -> tensor<40x48xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_0 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<40x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<40x48xf32>
    %7 = stablehlo.multiply %6, %6 : tensor<40x48xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_2 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %11 = stablehlo.divide %9, %10 : tensor<40x1xf32>
    %12 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %13 = stablehlo.subtract %0, %12 : tensor<40x48xf32>
    %cst_3 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %15 = stablehlo.add %11, %14 : tensor<40x1xf32>
    %16 = stablehlo.rsqrt %15 : tensor<40x1xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %18 = stablehlo.multiply %13, %17 : tensor<40x48xf32>
    %19 = stablehlo.convert %18 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %20 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<48xf16>) -> tensor<1x48xf16>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1] : (tensor<1x48xf16>) -> tensor<40x48xf16>
    %22 = stablehlo.multiply %19, %21 : tensor<40x48xf16>
    %23 = stablehlo.dot_general %22, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %24 = stablehlo.convert %23 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %25 = stablehlo.reshape %24 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %26 = stablehlo.transpose %25, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %27 = stablehlo.dot_general %22, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %28 = stablehlo.convert %27 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %29 = stablehlo.reshape %28 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %30 = stablehlo.transpose %29, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %31 = stablehlo.dot_general %22, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %32 = stablehlo.convert %31 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %33 = stablehlo.reshape %32 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %34 = stablehlo.transpose %33, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %35 = stablehlo.dot_general %26, %30, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<3x40x16xf16>, tensor<3x40x16xf16>) -> tensor<3x40x40xf32>
    %cst_4 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<3x40x40xf32>
    %37 = stablehlo.divide %35, %36 : tensor<3x40x40xf32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %38 = stablehlo.reduce(%37 init: %cst_5) applies stablehlo.maximum across dimensions = [2] : (tensor<3x40x40xf32>, tensor<f32>) -> tensor<3x40xf32>
    %cst_6 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<3x40xf32>
    %40 = stablehlo.maximum %39, %38 : tensor<3x40xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0, 1] : (tensor<3x40xf32>) -> tensor<3x40x1xf32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [0, 1, 2] : (tensor<3x40x1xf32>) -> tensor<3x40x40xf32>
    %43 = stablehlo.subtract %37, %42 : tensor<3x40x40xf32>
    %44 = stablehlo.exponential %43 : tensor<3x40x40xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %45 = stablehlo.reduce(%44 init: %cst_7) applies stablehlo.add across dimensions = [2] : (tensor<3x40x40xf32>, tensor<f32>) -> tensor<3x40xf32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0, 1] : (tensor<3x40xf32>) -> tensor<3x40x1xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2] : (tensor<3x40x1xf32>) -> tensor<3x40x40xf32>
    %48 = stablehlo.divide %44, %47 : tensor<3x40x40xf32>
    %49 = stablehlo.convert %48 : (tensor<3x40x40xf32>) -> tensor<3x40x40xf16>
    %50 = stablehlo.dot_general %49, %34, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x40x40xf16>, tensor<3x40x16xf16>) -> tensor<3x40x16xf32>
    %51 = stablehlo.convert %50 : (tensor<3x40x16xf32>) -> tensor<3x40x16xf16>
    %52 = stablehlo.transpose %51, dims = [1, 0, 2] : (tensor<3x40x16xf16>) -> tensor<40x3x16xf16>
    %53 = stablehlo.reshape %52 : (tensor<40x3x16xf16>) -> tensor<40x48xf16>
    %54 = stablehlo.dot_general %53, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %55 = stablehlo.convert %54 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %56 = stablehlo.add %arg0, %55 : tensor<40x48xf16>
    %57 = stablehlo.convert %56 : (tensor<40x48xf16>) -> tensor<40x48xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %58 = stablehlo.reduce(%57 init: %cst_8) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_9 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %60 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %61 = stablehlo.divide %59, %60 : tensor<40x1xf32>
    %62 = stablehlo.broadcast_in_dim %61, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %63 = stablehlo.subtract %57, %62 : tensor<40x48xf32>
    %64 = stablehlo.multiply %63, %63 : tensor<40x48xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %65 = stablehlo.reduce(%64 init: %cst_10) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_11 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %67 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %68 = stablehlo.divide %66, %67 : tensor<40x1xf32>
    %69 = stablehlo.broadcast_in_dim %61, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %70 = stablehlo.subtract %57, %69 : tensor<40x48xf32>
    %cst_12 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %71 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %72 = stablehlo.add %68, %71 : tensor<40x1xf32>
    %73 = stablehlo.rsqrt %72 : tensor<40x1xf32>
    %74 = stablehlo.broadcast_in_dim %73, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %75 = stablehlo.multiply %70, %74 : tensor<40x48xf32>
    %76 = stablehlo.convert %75 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %77 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<48xf16>) -> tensor<1x48xf16>
    %78 = stablehlo.broadcast_in_dim %77, dims = [0, 1] : (tensor<1x48xf16>) -> tensor<40x48xf16>
    %79 = stablehlo.multiply %76, %78 : tensor<40x48xf16>
    %80 = stablehlo.dot_general %79, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x96xf16>) -> tensor<40x96xf32>
    %81 = stablehlo.convert %80 : (tensor<40x96xf32>) -> tensor<40x96xf16>
    %82 = stablehlo.broadcast_in_dim %arg8, dims = [1] : (tensor<96xf16>) -> tensor<1x96xf16>
    %83 = stablehlo.broadcast_in_dim %82, dims = [0, 1] : (tensor<1x96xf16>) -> tensor<40x96xf16>
    %84 = stablehlo.add %81, %83 : tensor<40x96xf16>
    %85 = stablehlo.multiply %84, %84 : tensor<40x96xf16>
    %86 = stablehlo.multiply %85, %84 : tensor<40x96xf16>
    %cst_13 = stablehlo.constant dense<4.470830e-02> : tensor<f16>
    %87 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %88 = stablehlo.multiply %87, %86 : tensor<40x96xf16>
    %89 = stablehlo.add %84, %88 : tensor<40x96xf16>
    %cst_14 = stablehlo.constant dense<7.978520e-01> : tensor<f16>
    %90 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %91 = stablehlo.multiply %90, %89 : tensor<40x96xf16>
    %92 = stablehlo.tanh %91 : tensor<40x96xf16>
    %cst_15 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %93 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %94 = stablehlo.add %93, %92 : tensor<40x96xf16>
    %cst_16 = stablehlo.constant dense<5.000000e-01> : tensor<f16>
    %95 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %96 = stablehlo.multiply %95, %94 : tensor<40x96xf16>
    %97 = stablehlo.multiply %84, %96 : tensor<40x96xf16>
    %98 = stablehlo.dot_general %97, %arg9, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x96xf16>, tensor<96x48xf16>) -> tensor<40x48xf32>
    %99 = stablehlo.convert %98 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %100 = stablehlo.add %56, %99 : tensor<40x48xf16>
    %101 = stablehlo.convert %100 : (tensor<40x48xf16>) -> tensor<40x48xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %102 = stablehlo.reduce(%101 init: %cst_17) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %103 = stablehlo.broadcast_in_dim %102, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_18 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %104 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %105 = stablehlo.divide %103, %104 : tensor<40x1xf32>
    %106 = stablehlo.broadcast_in_dim %105, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %107 = stablehlo.subtract %101, %106 : tensor<40x48xf32>
    %108 = stablehlo.multiply %107, %107 : tensor<40x48xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %109 = stablehlo.reduce(%108 init: %cst_19) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %110 = stablehlo.broadcast_in_dim %109, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_20 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %111 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %112 = stablehlo.divide %110, %111 : tensor<40x1xf32>
    %113 = stablehlo.broadcast_in_dim %105, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %114 = stablehlo.subtract %101, %113 : tensor<40x48xf32>
    %cst_21 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %115 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %116 = stablehlo.add %112, %115 : tensor<40x1xf32>
    %117 = stablehlo.rsqrt %116 : tensor<40x1xf32>
    %118 = stablehlo.broadcast_in_dim %117, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %119 = stablehlo.multiply %114, %118 : tensor<40x48xf32>
    %120 = stablehlo.convert %119 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %121 = stablehlo.broadcast_in_dim %arg10, dims = [1] : (tensor<48xf16>) -> tensor<1x48xf16>
    %122 = stablehlo.broadcast_in_dim %121, dims = [0, 1] : (tensor<1x48xf16>) -> tensor<40x48xf16>
    %123 = stablehlo.multiply %120, %122 : tensor<40x48xf16>
    %124 = stablehlo.dot_general %123, %arg11, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %125 = stablehlo.convert %124 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %126 = stablehlo.reshape %125 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %127 = stablehlo.transpose %126, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %128 = stablehlo.dot_general %123, %arg12, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %129 = stablehlo.convert %128 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %130 = stablehlo.reshape %129 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %131 = stablehlo.transpose %130, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %132 = stablehlo.dot_general %123, %arg13, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %133 = stablehlo.convert %132 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %134 = stablehlo.reshape %133 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %135 = stablehlo.transpose %134, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %136 = stablehlo.dot_general %127, %131, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<3x40x16xf16>, tensor<3x40x16xf16>) -> tensor<3x40x40xf32>
    %cst_22 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %137 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<3x40x40xf32>
    %138 = stablehlo.divide %136, %137 : tensor<3x40x40xf32>
    %cst_23 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %139 = stablehlo.reduce(%138 init: %cst_23) applies stablehlo.maximum across dimensions = [2] : (tensor<3x40x40xf32>, tensor<f32>) -> tensor<3x40xf32>
    %cst_24 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %140 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<3x40xf32>
    %141 = stablehlo.maximum %140, %139 : tensor<3x40xf32>
    %142 = stablehlo.broadcast_in_dim %141, dims = [0, 1] : (tensor<3x40xf32>) -> tensor<3x40x1xf32>
    %143 = stablehlo.broadcast_in_dim %142, dims = [0, 1, 2] : (tensor<3x40x1xf32>) -> tensor<3x40x40xf32>
    %144 = stablehlo.subtract %138, %143 : tensor<3x40x40xf32>
    %145 = stablehlo.exponential %144 : tensor<3x40x40xf32>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %146 = stablehlo.reduce(%145 init: %cst_25) applies stablehlo.add across dimensions = [2] : (tensor<3x40x40xf32>, tensor<f32>) -> tensor<3x40xf32>
    %147 = stablehlo.broadcast_in_dim %146, dims = [0, 1] : (tensor<3x40xf32>) -> tensor<3x40x1xf32>
    %148 = stablehlo.broadcast_in_dim %147, dims = [0, 1, 2] : (tensor<3x40x1xf32>) -> tensor<3x40x40xf32>
    %149 = stablehlo.divide %145, %148 : tensor<3x40x40xf32>
    %150 = stablehlo.convert %149 : (tensor<3x40x40xf32>) -> tensor<3x40x40xf16>
    %151 = stablehlo.dot_general %150, %135, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x40x40xf16>, tensor<3x40x16xf16>) -> tensor<3x40x16xf32>
    %152 = stablehlo.convert %151 : (tensor<3x40x16xf32>) -> tensor<3x40x16xf16>
    %153 = stablehlo.transpose %152, dims = [1, 0, 2] : (tensor<3x40x16xf16>) -> tensor<40x3x16xf16>
    %154 = stablehlo.reshape %153 : (tensor<40x3x16xf16>) -> tensor<40x48xf16>
    %155 = stablehlo.dot_general %154, %arg14, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %156 = stablehlo.convert %155 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %157 = stablehlo.add %100, %156 : tensor<40x48xf16>
    %158 = stablehlo.convert %157 : (tensor<40x48xf16>) -> tensor<40x48xf32>
    %cst_26 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %159 = stablehlo.reduce(%158 init: %cst_26) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %160 = stablehlo.broadcast_in_dim %159, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_27 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %161 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %162 = stablehlo.divide %160, %161 : tensor<40x1xf32>
    %163 = stablehlo.broadcast_in_dim %162, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %164 = stablehlo.subtract %158, %163 : tensor<40x48xf32>
    %165 = stablehlo.multiply %164, %164 : tensor<40x48xf32>
    %cst_28 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %166 = stablehlo.reduce(%165 init: %cst_28) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %167 = stablehlo.broadcast_in_dim %166, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_29 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %168 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %169 = stablehlo.divide %167, %168 : tensor<40x1xf32>
    %170 = stablehlo.broadcast_in_dim %162, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %171 = stablehlo.subtract %158, %170 : tensor<40x48xf32>
    %cst_30 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %172 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %173 = stablehlo.add %169, %172 : tensor<40x1xf32>
    %174 = stablehlo.rsqrt %173 : tensor<40x1xf32>
    %175 = stablehlo.broadcast_in_dim %174, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %176 = stablehlo.multiply %171, %175 : tensor<40x48xf32>
    %177 = stablehlo.convert %176 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %178 = stablehlo.broadcast_in_dim %arg15, dims = [1] : (tensor<48xf16>) -> tensor<1x48xf16>
    %179 = stablehlo.broadcast_in_dim %178, dims = [0, 1] : (tensor<1x48xf16>) -> tensor<40x48xf16>
    %180 = stablehlo.multiply %177, %179 : tensor<40x48xf16>
    %181 = stablehlo.dot_general %180, %arg16, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x96xf16>) -> tensor<40x96xf32>
    %182 = stablehlo.convert %181 : (tensor<40x96xf32>) -> tensor<40x96xf16>
    %183 = stablehlo.broadcast_in_dim %arg17, dims = [1] : (tensor<96xf16>) -> tensor<1x96xf16>
    %184 = stablehlo.broadcast_in_dim %183, dims = [0, 1] : (tensor<1x96xf16>) -> tensor<40x96xf16>
    %185 = stablehlo.add %182, %184 : tensor<40x96xf16>
    %186 = stablehlo.multiply %185, %185 : tensor<40x96xf16>
    %187 = stablehlo.multiply %186, %185 : tensor<40x96xf16>
    %cst_31 = stablehlo.constant dense<4.470830e-02> : tensor<f16>
    %188 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %189 = stablehlo.multiply %188, %187 : tensor<40x96xf16>
    %190 = stablehlo.add %185, %189 : tensor<40x96xf16>
    %cst_32 = stablehlo.constant dense<7.978520e-01> : tensor<f16>
    %191 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %192 = stablehlo.multiply %191, %190 : tensor<40x96xf16>
    %193 = stablehlo.tanh %192 : tensor<40x96xf16>
    %cst_33 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %194 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %195 = stablehlo.add %194, %193 : tensor<40x96xf16>
    %cst_34 = stablehlo.constant dense<5.000000e-01> : tensor<f16>
    %196 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %197 = stablehlo.multiply %196, %195 : tensor<40x96xf16>
    %198 = stablehlo.multiply %185, %197 : tensor<40x96xf16>
    %199 = stablehlo.dot_general %198, %arg18, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x96xf16>, tensor<96x48xf16>) -> tensor<40x48xf32>
    %200 = stablehlo.convert %199 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %201 = stablehlo.add %157, %200 : tensor<40x48xf16>
    %202 = stablehlo.convert %201 : (tensor<40x48xf16>) -> tensor<40x48xf32>
    %cst_35 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %203 = stablehlo.reduce(%202 init: %cst_35) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %204 = stablehlo.broadcast_in_dim %203, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_36 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %205 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %206 = stablehlo.divide %204, %205 : tensor<40x1xf32>
    %207 = stablehlo.broadcast_in_dim %206, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %208 = stablehlo.subtract %202, %207 : tensor<40x48xf32>
    %209 = stablehlo.multiply %208, %208 : tensor<40x48xf32>
    %cst_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %210 = stablehlo.reduce(%209 init: %cst_37) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %211 = stablehlo.broadcast_in_dim %210, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_38 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %212 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %213 = stablehlo.divide %211, %212 : tensor<40x1xf32>
    %214 = stablehlo.broadcast_in_dim %206, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %215 = stablehlo.subtract %202, %214 : tensor<40x48xf32>
    %cst_39 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %216 = stablehlo.broadcast_in_dim %cst_39, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %217 = stablehlo.add %213, %216 : tensor<40x1xf32>
    %218 = stablehlo.rsqrt %217 : tensor<40x1xf32>
    %219 = stablehlo.broadcast_in_dim %218, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %220 = stablehlo.multiply %215, %219 : tensor<40x48xf32>
    %221 = stablehlo.convert %220 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %222 = stablehlo.broadcast_in_dim %arg19, dims = [1] : (tensor<48xf16>) -> tensor<1x48xf16>
    %223 = stablehlo.broadcast_in_dim %222, dims = [0, 1] : (tensor<1x48xf16>) -> tensor<40x48xf16>
    %224 = stablehlo.multiply %221, %223 : tensor<40x48xf16>
    %225 = stablehlo.dot_general %224, %arg20, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %226 = stablehlo.convert %225 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %227 = stablehlo.reshape %226 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %228 = stablehlo.transpose %227, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %229 = stablehlo.dot_general %224, %arg21, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %230 = stablehlo.convert %229 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %231 = stablehlo.reshape %230 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %232 = stablehlo.transpose %231, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %233 = stablehlo.dot_general %224, %arg22, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %234 = stablehlo.convert %233 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %235 = stablehlo.reshape %234 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %236 = stablehlo.transpose %235, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %237 = stablehlo.dot_general %228, %232, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<3x40x16xf16>, tensor<3x40x16xf16>) -> tensor<3x40x40xf32>
    %cst_40 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %238 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<3x40x40xf32>
    %239 = stablehlo.divide %237, %238 : tensor<3x40x40xf32>
    %cst_41 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %240 = stablehlo.reduce(%239 init: %cst_41) applies stablehlo.maximum across dimensions = [2] : (tensor<3x40x40xf32>, tensor<f32>) -> tensor<3x40xf32>
    %cst_42 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %241 = stablehlo.broadcast_in_dim %cst_42, dims = [] : (tensor<f32>) -> tensor<3x40xf32>
    %242 = stablehlo.maximum %241, %240 : tensor<3x40xf32>
    %243 = stablehlo.broadcast_in_dim %242, dims = [0, 1] : (tensor<3x40xf32>) -> tensor<3x40x1xf32>
    %244 = stablehlo.broadcast_in_dim %243, dims = [0, 1, 2] : (tensor<3x40x1xf32>) -> tensor<3x40x40xf32>
    %245 = stablehlo.subtract %239, %244 : tensor<3x40x40xf32>
    %246 = stablehlo.exponential %245 : tensor<3x40x40xf32>
    %cst_43 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %247 = stablehlo.reduce(%246 init: %cst_43) applies stablehlo.add across dimensions = [2] : (tensor<3x40x40xf32>, tensor<f32>) -> tensor<3x40xf32>
    %248 = stablehlo.broadcast_in_dim %247, dims = [0, 1] : (tensor<3x40xf32>) -> tensor<3x40x1xf32>
    %249 = stablehlo.broadcast_in_dim %248, dims = [0, 1, 2] : (tensor<3x40x1xf32>) -> tensor<3x40x40xf32>
    %250 = stablehlo.divide %246, %249 : tensor<3x40x40xf32>
    %251 = stablehlo.convert %250 : (tensor<3x40x40xf32>) -> tensor<3x40x40xf16>
    %252 = stablehlo.dot_general %251, %236, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x40x40xf16>, tensor<3x40x16xf16>) -> tensor<3x40x16xf32>
    %253 = stablehlo.convert %252 : (tensor<3x40x16xf32>) -> tensor<3x40x16xf16>
    %254 = stablehlo.transpose %253, dims = [1, 0, 2] : (tensor<3x40x16xf16>) -> tensor<40x3x16xf16>
    %255 = stablehlo.reshape %254 : (tensor<40x3x16xf16>) -> tensor<40x48xf16>
    %256 = stablehlo.dot_general %255, %arg23, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %257 = stablehlo.convert %256 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %258 = stablehlo.add %201, %257 : tensor<40x48xf16>
    %259 = stablehlo.convert %258 : (tensor<40x48xf16>) -> tensor<40x48xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %260 = stablehlo.reduce(%259 init: %cst_44) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %261 = stablehlo.broadcast_in_dim %260, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_45 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %262 = stablehlo.broadcast_in_dim %cst_45, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %263 = stablehlo.divide %261, %262 : tensor<40x1xf32>
    %264 = stablehlo.broadcast_in_dim %263, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %265 = stablehlo.subtract %259, %264 : tensor<40x48xf32>
    %266 = stablehlo.multiply %265, %265 : tensor<40x48xf32>
    %cst_46 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %267 = stablehlo.reduce(%266 init: %cst_46) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %268 = stablehlo.broadcast_in_dim %267, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_47 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %269 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %270 = stablehlo.divide %268, %269 : tensor<40x1xf32>
    %271 = stablehlo.broadcast_in_dim %263, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %272 = stablehlo.subtract %259, %271 : tensor<40x48xf32>
    %cst_48 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %273 = stablehlo.broadcast_in_dim %cst_48, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %274 = stablehlo.add %270, %273 : tensor<40x1xf32>
    %275 = stablehlo.rsqrt %274 : tensor<40x1xf32>
    %276 = stablehlo.broadcast_in_dim %275, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %277 = stablehlo.multiply %272, %276 : tensor<40x48xf32>
    %278 = stablehlo.convert %277 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %279 = stablehlo.broadcast_in_dim %arg24, dims = [1] : (tensor<48xf16>) -> tensor<1x48xf16>
    %280 = stablehlo.broadcast_in_dim %279, dims = [0, 1] : (tensor<1x48xf16>) -> tensor<40x48xf16>
    %281 = stablehlo.multiply %278, %280 : tensor<40x48xf16>
    %282 = stablehlo.dot_general %281, %arg25, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x96xf16>) -> tensor<40x96xf32>
    %283 = stablehlo.convert %282 : (tensor<40x96xf32>) -> tensor<40x96xf16>
    %284 = stablehlo.broadcast_in_dim %arg26, dims = [1] : (tensor<96xf16>) -> tensor<1x96xf16>
    %285 = stablehlo.broadcast_in_dim %284, dims = [0, 1] : (tensor<1x96xf16>) -> tensor<40x96xf16>
    %286 = stablehlo.add %283, %285 : tensor<40x96xf16>
    %287 = stablehlo.multiply %286, %286 : tensor<40x96xf16>
    %288 = stablehlo.multiply %287, %286 : tensor<40x96xf16>
    %cst_49 = stablehlo.constant dense<4.470830e-02> : tensor<f16>
    %289 = stablehlo.broadcast_in_dim %cst_49, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %290 = stablehlo.multiply %289, %288 : tensor<40x96xf16>
    %291 = stablehlo.add %286, %290 : tensor<40x96xf16>
    %cst_50 = stablehlo.constant dense<7.978520e-01> : tensor<f16>
    %292 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %293 = stablehlo.multiply %292, %291 : tensor<40x96xf16>
    %294 = stablehlo.tanh %293 : tensor<40x96xf16>
    %cst_51 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %295 = stablehlo.broadcast_in_dim %cst_51, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %296 = stablehlo.add %295, %294 : tensor<40x96xf16>
    %cst_52 = stablehlo.constant dense<5.000000e-01> : tensor<f16>
    %297 = stablehlo.broadcast_in_dim %cst_52, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %298 = stablehlo.multiply %297, %296 : tensor<40x96xf16>
    %299 = stablehlo.multiply %286, %298 : tensor<40x96xf16>
    %300 = stablehlo.dot_general %299, %arg27, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x96xf16>, tensor<96x48xf16>) -> tensor<40x48xf32>
    %301 = stablehlo.convert %300 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %302 = stablehlo.add %258, %301 : tensor<40x48xf16>
    %303 = stablehlo.convert %302 : (tensor<40x48xf16>) -> tensor<40x48xf32>
    %cst_53 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %304 = stablehlo.reduce(%303 init: %cst_53) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %305 = stablehlo.broadcast_in_dim %304, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_54 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %306 = stablehlo.broadcast_in_dim %cst_54, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %307 = stablehlo.divide %305, %306 : tensor<40x1xf32>
    %308 = stablehlo.broadcast_in_dim %307, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %309 = stablehlo.subtract %303, %308 : tensor<40x48xf32>
    %310 = stablehlo.multiply %309, %309 : tensor<40x48xf32>
    %cst_55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %311 = stablehlo.reduce(%310 init: %cst_55) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %312 = stablehlo.broadcast_in_dim %311, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_56 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %313 = stablehlo.broadcast_in_dim %cst_56, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %314 = stablehlo.divide %312, %313 : tensor<40x1xf32>
    %315 = stablehlo.broadcast_in_dim %307, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %316 = stablehlo.subtract %303, %315 : tensor<40x48xf32>
    %cst_57 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %317 = stablehlo.broadcast_in_dim %cst_57, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %318 = stablehlo.add %314, %317 : tensor<40x1xf32>
    %319 = stablehlo.rsqrt %318 : tensor<40x1xf32>
    %320 = stablehlo.broadcast_in_dim %319, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %321 = stablehlo.multiply %316, %320 : tensor<40x48xf32>
    %322 = stablehlo.convert %321 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %323 = stablehlo.broadcast_in_dim %arg28, dims = [1] : (tensor<48xf16>) -> tensor<1x48xf16>
    %324 = stablehlo.broadcast_in_dim %323, dims = [0, 1] : (tensor<1x48xf16>) -> tensor<40x48xf16>
    %325 = stablehlo.multiply %322, %324 : tensor<40x48xf16>
    %326 = stablehlo.dot_general %325, %arg29, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %327 = stablehlo.convert %326 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %328 = stablehlo.reshape %327 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %329 = stablehlo.transpose %328, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %330 = stablehlo.dot_general %325, %arg30, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %331 = stablehlo.convert %330 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %332 = stablehlo.reshape %331 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %333 = stablehlo.transpose %332, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %334 = stablehlo.dot_general %325, %arg31, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %335 = stablehlo.convert %334 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %336 = stablehlo.reshape %335 : (tensor<40x48xf16>) -> tensor<40x3x16xf16>
    %337 = stablehlo.transpose %336, dims = [1, 0, 2] : (tensor<40x3x16xf16>) -> tensor<3x40x16xf16>
    %338 = stablehlo.dot_general %329, %333, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<3x40x16xf16>, tensor<3x40x16xf16>) -> tensor<3x40x40xf32>
    %cst_58 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %339 = stablehlo.broadcast_in_dim %cst_58, dims = [] : (tensor<f32>) -> tensor<3x40x40xf32>
    %340 = stablehlo.divide %338, %339 : tensor<3x40x40xf32>
    %cst_59 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %341 = stablehlo.reduce(%340 init: %cst_59) applies stablehlo.maximum across dimensions = [2] : (tensor<3x40x40xf32>, tensor<f32>) -> tensor<3x40xf32>
    %cst_60 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %342 = stablehlo.broadcast_in_dim %cst_60, dims = [] : (tensor<f32>) -> tensor<3x40xf32>
    %343 = stablehlo.maximum %342, %341 : tensor<3x40xf32>
    %344 = stablehlo.broadcast_in_dim %343, dims = [0, 1] : (tensor<3x40xf32>) -> tensor<3x40x1xf32>
    %345 = stablehlo.broadcast_in_dim %344, dims = [0, 1, 2] : (tensor<3x40x1xf32>) -> tensor<3x40x40xf32>
    %346 = stablehlo.subtract %340, %345 : tensor<3x40x40xf32>
    %347 = stablehlo.exponential %346 : tensor<3x40x40xf32>
    %cst_61 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %348 = stablehlo.reduce(%347 init: %cst_61) applies stablehlo.add across dimensions = [2] : (tensor<3x40x40xf32>, tensor<f32>) -> tensor<3x40xf32>
    %349 = stablehlo.broadcast_in_dim %348, dims = [0, 1] : (tensor<3x40xf32>) -> tensor<3x40x1xf32>
    %350 = stablehlo.broadcast_in_dim %349, dims = [0, 1, 2] : (tensor<3x40x1xf32>) -> tensor<3x40x40xf32>
    %351 = stablehlo.divide %347, %350 : tensor<3x40x40xf32>
    %352 = stablehlo.convert %351 : (tensor<3x40x40xf32>) -> tensor<3x40x40xf16>
    %353 = stablehlo.dot_general %352, %337, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<3x40x40xf16>, tensor<3x40x16xf16>) -> tensor<3x40x16xf32>
    %354 = stablehlo.convert %353 : (tensor<3x40x16xf32>) -> tensor<3x40x16xf16>
    %355 = stablehlo.transpose %354, dims = [1, 0, 2] : (tensor<3x40x16xf16>) -> tensor<40x3x16xf16>
    %356 = stablehlo.reshape %355 : (tensor<40x3x16xf16>) -> tensor<40x48xf16>
    %357 = stablehlo.dot_general %356, %arg32, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x48xf16>) -> tensor<40x48xf32>
    %358 = stablehlo.convert %357 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %359 = stablehlo.add %302, %358 : tensor<40x48xf16>
    %360 = stablehlo.convert %359 : (tensor<40x48xf16>) -> tensor<40x48xf32>
    %cst_62 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %361 = stablehlo.reduce(%360 init: %cst_62) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %362 = stablehlo.broadcast_in_dim %361, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_63 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %363 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %364 = stablehlo.divide %362, %363 : tensor<40x1xf32>
    %365 = stablehlo.broadcast_in_dim %364, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %366 = stablehlo.subtract %360, %365 : tensor<40x48xf32>
    %367 = stablehlo.multiply %366, %366 : tensor<40x48xf32>
    %cst_64 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %368 = stablehlo.reduce(%367 init: %cst_64) applies stablehlo.add across dimensions = [1] : (tensor<40x48xf32>, tensor<f32>) -> tensor<40xf32>
    %369 = stablehlo.broadcast_in_dim %368, dims = [0] : (tensor<40xf32>) -> tensor<40x1xf32>
    %cst_65 = stablehlo.constant dense<4.800000e+01> : tensor<f32>
    %370 = stablehlo.broadcast_in_dim %cst_65, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %371 = stablehlo.divide %369, %370 : tensor<40x1xf32>
    %372 = stablehlo.broadcast_in_dim %364, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %373 = stablehlo.subtract %360, %372 : tensor<40x48xf32>
    %cst_66 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %374 = stablehlo.broadcast_in_dim %cst_66, dims = [] : (tensor<f32>) -> tensor<40x1xf32>
    %375 = stablehlo.add %371, %374 : tensor<40x1xf32>
    %376 = stablehlo.rsqrt %375 : tensor<40x1xf32>
    %377 = stablehlo.broadcast_in_dim %376, dims = [0, 1] : (tensor<40x1xf32>) -> tensor<40x48xf32>
    %378 = stablehlo.multiply %373, %377 : tensor<40x48xf32>
    %379 = stablehlo.convert %378 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %380 = stablehlo.broadcast_in_dim %arg33, dims = [1] : (tensor<48xf16>) -> tensor<1x48xf16>
    %381 = stablehlo.broadcast_in_dim %380, dims = [0, 1] : (tensor<1x48xf16>) -> tensor<40x48xf16>
    %382 = stablehlo.multiply %379, %381 : tensor<40x48xf16>
    %383 = stablehlo.dot_general %382, %arg34, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x48xf16>, tensor<48x96xf16>) -> tensor<40x96xf32>
    %384 = stablehlo.convert %383 : (tensor<40x96xf32>) -> tensor<40x96xf16>
    %385 = stablehlo.broadcast_in_dim %arg35, dims = [1] : (tensor<96xf16>) -> tensor<1x96xf16>
    %386 = stablehlo.broadcast_in_dim %385, dims = [0, 1] : (tensor<1x96xf16>) -> tensor<40x96xf16>
    %387 = stablehlo.add %384, %386 : tensor<40x96xf16>
    %388 = stablehlo.multiply %387, %387 : tensor<40x96xf16>
    %389 = stablehlo.multiply %388, %387 : tensor<40x96xf16>
    %cst_67 = stablehlo.constant dense<4.470830e-02> : tensor<f16>
    %390 = stablehlo.broadcast_in_dim %cst_67, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %391 = stablehlo.multiply %390, %389 : tensor<40x96xf16>
    %392 = stablehlo.add %387, %391 : tensor<40x96xf16>
    %cst_68 = stablehlo.constant dense<7.978520e-01> : tensor<f16>
    %393 = stablehlo.broadcast_in_dim %cst_68, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %394 = stablehlo.multiply %393, %392 : tensor<40x96xf16>
    %395 = stablehlo.tanh %394 : tensor<40x96xf16>
    %cst_69 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %396 = stablehlo.broadcast_in_dim %cst_69, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %397 = stablehlo.add %396, %395 : tensor<40x96xf16>
    %cst_70 = stablehlo.constant dense<5.000000e-01> : tensor<f16>
    %398 = stablehlo.broadcast_in_dim %cst_70, dims = [] : (tensor<f16>) -> tensor<40x96xf16>
    %399 = stablehlo.multiply %398, %397 : tensor<40x96xf16>
    %400 = stablehlo.multiply %387, %399 : tensor<40x96xf16>
    %401 = stablehlo.dot_general %400, %arg36, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<40x96xf16>, tensor<96x48xf16>) -> tensor<40x48xf32>
    %402 = stablehlo.convert %401 : (tensor<40x48xf32>) -> tensor<40x48xf16>
    %403 = stablehlo.add %359, %402 : tensor<40x48xf16>
    return %403 : tensor<40x48xf16>
  }
}
