// A transformer layer, exported from JAX: `Llama`, 24 tokens, width 64, 4 heads.
  func.func private @layer(%arg0: tensor<24x64xf16>, %arg1: tensor<64xf16>, %arg2: tensor<64x64xf16>, %arg3: tensor<64x64xf16>, %arg4: tensor<64x64xf16>, %arg5: tensor<64x64xf16>, %arg6: tensor<64xf16>, %arg7: tensor<64x160xf16>, %arg8: tensor<64x160xf16>, %arg9: tensor<160x64xf16>) -> (tensor<24x64xf16>) {
    %cst = stablehlo.constant dense<"0x003C003C003C003C003C003C003C003C53389A3BF63BFF3B003C003C003C003CA9B6743AD73BFC3B003C003C003C003CECBBA938A53BF73BFF3B003C003C003C3BB9D1345E3BF03BFE3B003C003C003C8A344CA1053BE63BFD3B003C003C003CAE3B22B59A3ADB3BFC3B003C003C003C083ACCB81E3ACE3BFB3BFF3B003C003CA8B08DBA9339BF3BF93BFF3B003C003C4ABBA7BBF938AE3BF83BFF3B003C003CB6BA00BC53389A3BF63BFF3B003C003C881C8DBB4237853BF43BFF3B003C003CC03A5ABACC356E3BF13BFF3B003C003C423B87B84834553BEF3BFE3B003C003C603080B470313B3BEC3BFE3B003C003C14BAF127872C1E3BE93BFE3B003C003CA9BB72357AA7FF3AE63BFD3B003C003C67B4ED381FB0DF3AE23BFD3B003C003C4839A53A45B3BD3ADF3BFD3B003C003CE93BB33B2CB5993ADB3BFC3B003C003C8836FE3BA9B6743AD73BFC3B003C003C62B87E3B0AB84D3AD33BFB3B003C003C00BC403AB5B8243ACF3BFB3B003C003C43B8643855B9FA39CA3BFB3BFF3B003C"> : tensor<24x1x8xf16>
    %cst_0 = stablehlo.constant dense<"0x00000000000000000000000000000000BB3AFA34642E0C281F217A1A19142E0D463BBB385B320C2C1F257A1E19182E118430803ABA34102EAE27DB20251AC6130EBAA13B3B3609301E297A22191C2E15ACBB003CAC370A31662A0C241F1D7A1678B4943B84380932AD2BDB24251EC6174239673A273907337A2CAB252B1F8918EA3B9838BD3901341D2D7A2619202E199836A934443A7E34C12D49279C20D4195AB84CA5BB3AFA34642E0C281F217A1A00BC4AB5213B7435072F7428A221201B4BB8DDB8753BED35A92FDB282522C61BB93699BAB53B653626304329A822361CED3BADBBE23BDB367730AA292B23891C3439FFBBFB3B4F37C830122AAE23DB1C9BB486BBFF3BC1371931792A19242E1DB1BB4EBAEF3B19386A31E12A5A24811D02BA75B8CA3B5038BB31482B9C24D41DCC3058B4923B86380B32B02BDD24271E4E3B4B29463BBB385B320C2C1F257A1EB13A9A35E83AEE38AC323F2C6025CD1E88A0FE38783A2139FC32732CA225201FC5BAB03AF73952394C33A72CE325731F"> : tensor<24x1x8xf16>
    %cst_1 = stablehlo.constant dense<"0x003C003C003C003C003C003C003C003C53389A3BF63BFF3B003C003C003C003CA9B6743AD73BFC3B003C003C003C003CECBBA938A53BF73BFF3B003C003C003C3BB9D1345E3BF03BFE3B003C003C003C8A344CA1053BE63BFD3B003C003C003CAE3B22B59A3ADB3BFC3B003C003C003C083ACCB81E3ACE3BFB3BFF3B003C003CA8B08DBA9339BF3BF93BFF3B003C003C4ABBA7BBF938AE3BF83BFF3B003C003CB6BA00BC53389A3BF63BFF3B003C003C881C8DBB4237853BF43BFF3B003C003CC03A5ABACC356E3BF13BFF3B003C003C423B87B84834553BEF3BFE3B003C003C603080B470313B3BEC3BFE3B003C003C14BAF127872C1E3BE93BFE3B003C003CA9BB72357AA7FF3AE63BFD3B003C003C67B4ED381FB0DF3AE23BFD3B003C003C4839A53A45B3BD3ADF3BFD3B003C003CE93BB33B2CB5993ADB3BFC3B003C003C8836FE3BA9B6743AD73BFC3B003C003C62B87E3B0AB84D3AD33BFB3B003C003C00BC403AB5B8243ACF3BFB3B003C003C43B8643855B9FA39CA3BFB3BFF3B003C"> : tensor<24x1x8xf16>
    %cst_2 = stablehlo.constant dense<"0x00000000000000000000000000000000BB3AFA34642E0C281F217A1A19142E0D463BBB385B320C2C1F257A1E19182E118430803ABA34102EAE27DB20251AC6130EBAA13B3B3609301E297A22191C2E15ACBB003CAC370A31662A0C241F1D7A1678B4943B84380932AD2BDB24251EC6174239673A273907337A2CAB252B1F8918EA3B9838BD3901341D2D7A2619202E199836A934443A7E34C12D49279C20D4195AB84CA5BB3AFA34642E0C281F217A1A00BC4AB5213B7435072F7428A221201B4BB8DDB8753BED35A92FDB282522C61BB93699BAB53B653626304329A822361CED3BADBBE23BDB367730AA292B23891C3439FFBBFB3B4F37C830122AAE23DB1C9BB486BBFF3BC1371931792A19242E1DB1BB4EBAEF3B19386A31E12A5A24811D02BA75B8CA3B5038BB31482B9C24D41DCC3058B4923B86380B32B02BDD24271E4E3B4B29463BBB385B320C2C1F257A1EB13A9A35E83AEE38AC323F2C6025CD1E88A0FE38783A2139FC32732CA225201FC5BAB03AF73952394C33A72CE325731F"> : tensor<24x1x8xf16>
    %0 = stablehlo.convert %arg0 : (tensor<24x64xf16>) -> tensor<24x64xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<24x64xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<24x64xf32>, tensor<f32>) -> tensor<24xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %cst_4 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %5 = stablehlo.divide %3, %4 : tensor<24x1xf32>
    %6 = stablehlo.convert %arg0 : (tensor<24x64xf16>) -> tensor<24x64xf32>
    %cst_5 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %8 = stablehlo.add %5, %7 : tensor<24x1xf32>
    %9 = stablehlo.rsqrt %8 : tensor<24x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x64xf32>
    %11 = stablehlo.multiply %6, %10 : tensor<24x64xf32>
    %12 = stablehlo.convert %11 : (tensor<24x64xf32>) -> tensor<24x64xf16>
    %13 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf16>) -> tensor<1x64xf16>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<1x64xf16>) -> tensor<24x64xf16>
    %15 = stablehlo.multiply %12, %14 : tensor<24x64xf16>
    %16 = stablehlo.dot_general %15, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xf16>, tensor<64x64xf16>) -> tensor<24x64xf16>
    %17 = stablehlo.reshape %16 : (tensor<24x64xf16>) -> tensor<24x4x16xf16>
    %18 = stablehlo.slice %17 [0:24, 0:4, 0:8] : (tensor<24x4x16xf16>) -> tensor<24x4x8xf16>
    %19 = stablehlo.slice %17 [0:24, 0:4, 8:16] : (tensor<24x4x16xf16>) -> tensor<24x4x8xf16>
    %20 = stablehlo.broadcast_in_dim %cst, dims = [0, 1, 2] : (tensor<24x1x8xf16>) -> tensor<24x4x8xf16>
    %21 = stablehlo.multiply %18, %20 : tensor<24x4x8xf16>
    %22 = stablehlo.broadcast_in_dim %cst_0, dims = [0, 1, 2] : (tensor<24x1x8xf16>) -> tensor<24x4x8xf16>
    %23 = stablehlo.multiply %19, %22 : tensor<24x4x8xf16>
    %24 = stablehlo.subtract %21, %23 : tensor<24x4x8xf16>
    %25 = stablehlo.broadcast_in_dim %cst, dims = [0, 1, 2] : (tensor<24x1x8xf16>) -> tensor<24x4x8xf16>
    %26 = stablehlo.multiply %19, %25 : tensor<24x4x8xf16>
    %27 = stablehlo.broadcast_in_dim %cst_0, dims = [0, 1, 2] : (tensor<24x1x8xf16>) -> tensor<24x4x8xf16>
    %28 = stablehlo.multiply %18, %27 : tensor<24x4x8xf16>
    %29 = stablehlo.add %26, %28 : tensor<24x4x8xf16>
    %30 = stablehlo.concatenate %24, %29, dim = 2 : (tensor<24x4x8xf16>, tensor<24x4x8xf16>) -> tensor<24x4x16xf16>
    %31 = stablehlo.reshape %30 : (tensor<24x4x16xf16>) -> tensor<24x64xf16>
    %32 = stablehlo.dot_general %15, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xf16>, tensor<64x64xf16>) -> tensor<24x64xf16>
    %33 = stablehlo.reshape %32 : (tensor<24x64xf16>) -> tensor<24x4x16xf16>
    %34 = stablehlo.slice %33 [0:24, 0:4, 0:8] : (tensor<24x4x16xf16>) -> tensor<24x4x8xf16>
    %35 = stablehlo.slice %33 [0:24, 0:4, 8:16] : (tensor<24x4x16xf16>) -> tensor<24x4x8xf16>
    %36 = stablehlo.broadcast_in_dim %cst_1, dims = [0, 1, 2] : (tensor<24x1x8xf16>) -> tensor<24x4x8xf16>
    %37 = stablehlo.multiply %34, %36 : tensor<24x4x8xf16>
    %38 = stablehlo.broadcast_in_dim %cst_2, dims = [0, 1, 2] : (tensor<24x1x8xf16>) -> tensor<24x4x8xf16>
    %39 = stablehlo.multiply %35, %38 : tensor<24x4x8xf16>
    %40 = stablehlo.subtract %37, %39 : tensor<24x4x8xf16>
    %41 = stablehlo.broadcast_in_dim %cst_1, dims = [0, 1, 2] : (tensor<24x1x8xf16>) -> tensor<24x4x8xf16>
    %42 = stablehlo.multiply %35, %41 : tensor<24x4x8xf16>
    %43 = stablehlo.broadcast_in_dim %cst_2, dims = [0, 1, 2] : (tensor<24x1x8xf16>) -> tensor<24x4x8xf16>
    %44 = stablehlo.multiply %34, %43 : tensor<24x4x8xf16>
    %45 = stablehlo.add %42, %44 : tensor<24x4x8xf16>
    %46 = stablehlo.concatenate %40, %45, dim = 2 : (tensor<24x4x8xf16>, tensor<24x4x8xf16>) -> tensor<24x4x16xf16>
    %47 = stablehlo.reshape %46 : (tensor<24x4x16xf16>) -> tensor<24x64xf16>
    %48 = stablehlo.dot_general %15, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xf16>, tensor<64x64xf16>) -> tensor<24x64xf16>
    %49 = stablehlo.reshape %31 : (tensor<24x64xf16>) -> tensor<24x4x16xf16>
    %50 = stablehlo.transpose %49, dims = [1, 0, 2] : (tensor<24x4x16xf16>) -> tensor<4x24x16xf16>
    %51 = stablehlo.reshape %47 : (tensor<24x64xf16>) -> tensor<24x4x16xf16>
    %52 = stablehlo.transpose %51, dims = [1, 0, 2] : (tensor<24x4x16xf16>) -> tensor<4x24x16xf16>
    %53 = stablehlo.reshape %48 : (tensor<24x64xf16>) -> tensor<24x4x16xf16>
    %54 = stablehlo.transpose %53, dims = [1, 0, 2] : (tensor<24x4x16xf16>) -> tensor<4x24x16xf16>
    %55 = stablehlo.dot_general %50, %52, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x24x16xf16>, tensor<4x24x16xf16>) -> tensor<4x24x24xf16>
    %cst_6 = stablehlo.constant dense<2.500000e-01> : tensor<f16>
    %56 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f16>) -> tensor<4x24x24xf16>
    %57 = stablehlo.multiply %55, %56 : tensor<4x24x24xf16>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %58 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<24x24xi1>
    %59 = call @tril(%58) : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %cst_7 = stablehlo.constant dense<0xFC00> : tensor<f16>
    %60 = call @_where(%59, %57, %cst_7) : (tensor<24x24xi1>, tensor<4x24x24xf16>, tensor<f16>) -> tensor<4x24x24xf16>
    %61 = stablehlo.convert %60 : (tensor<4x24x24xf16>) -> tensor<4x24x24xf32>
    %cst_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %62 = stablehlo.reduce(%61 init: %cst_8) applies stablehlo.maximum across dimensions = [2] : (tensor<4x24x24xf32>, tensor<f32>) -> tensor<4x24xf32>
    %cst_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %63 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<4x24xf32>
    %64 = stablehlo.maximum %63, %62 : tensor<4x24xf32>
    %65 = stablehlo.broadcast_in_dim %64, dims = [0, 1] : (tensor<4x24xf32>) -> tensor<4x24x1xf32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [0, 1, 2] : (tensor<4x24x1xf32>) -> tensor<4x24x24xf32>
    %67 = stablehlo.subtract %61, %66 : tensor<4x24x24xf32>
    %68 = stablehlo.exponential %67 : tensor<4x24x24xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %69 = stablehlo.reduce(%68 init: %cst_10) applies stablehlo.add across dimensions = [2] : (tensor<4x24x24xf32>, tensor<f32>) -> tensor<4x24xf32>
    %70 = stablehlo.broadcast_in_dim %69, dims = [0, 1] : (tensor<4x24xf32>) -> tensor<4x24x1xf32>
    %71 = stablehlo.broadcast_in_dim %70, dims = [0, 1, 2] : (tensor<4x24x1xf32>) -> tensor<4x24x24xf32>
    %72 = stablehlo.divide %68, %71 : tensor<4x24x24xf32>
    %73 = stablehlo.convert %72 : (tensor<4x24x24xf32>) -> tensor<4x24x24xf16>
    %74 = stablehlo.dot_general %73, %54, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x24x24xf16>, tensor<4x24x16xf16>) -> tensor<4x24x16xf16>
    %75 = stablehlo.transpose %74, dims = [1, 0, 2] : (tensor<4x24x16xf16>) -> tensor<24x4x16xf16>
    %76 = stablehlo.reshape %75 : (tensor<24x4x16xf16>) -> tensor<24x64xf16>
    %77 = stablehlo.dot_general %76, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xf16>, tensor<64x64xf16>) -> tensor<24x64xf16>
    %78 = stablehlo.add %arg0, %77 : tensor<24x64xf16>
    %79 = stablehlo.convert %78 : (tensor<24x64xf16>) -> tensor<24x64xf32>
    %80 = stablehlo.multiply %79, %79 : tensor<24x64xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %81 = stablehlo.reduce(%80 init: %cst_11) applies stablehlo.add across dimensions = [1] : (tensor<24x64xf32>, tensor<f32>) -> tensor<24xf32>
    %82 = stablehlo.broadcast_in_dim %81, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %cst_12 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %83 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %84 = stablehlo.divide %82, %83 : tensor<24x1xf32>
    %85 = stablehlo.convert %78 : (tensor<24x64xf16>) -> tensor<24x64xf32>
    %cst_13 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %86 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %87 = stablehlo.add %84, %86 : tensor<24x1xf32>
    %88 = stablehlo.rsqrt %87 : tensor<24x1xf32>
    %89 = stablehlo.broadcast_in_dim %88, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x64xf32>
    %90 = stablehlo.multiply %85, %89 : tensor<24x64xf32>
    %91 = stablehlo.convert %90 : (tensor<24x64xf32>) -> tensor<24x64xf16>
    %92 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<64xf16>) -> tensor<1x64xf16>
    %93 = stablehlo.broadcast_in_dim %92, dims = [0, 1] : (tensor<1x64xf16>) -> tensor<24x64xf16>
    %94 = stablehlo.multiply %91, %93 : tensor<24x64xf16>
    %95 = stablehlo.dot_general %94, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xf16>, tensor<64x160xf16>) -> tensor<24x160xf16>
    %96 = call @silu(%95) : (tensor<24x160xf16>) -> tensor<24x160xf16>
    %97 = stablehlo.dot_general %94, %arg8, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xf16>, tensor<64x160xf16>) -> tensor<24x160xf16>
    %98 = stablehlo.multiply %96, %97 : tensor<24x160xf16>
    %99 = stablehlo.dot_general %98, %arg9, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x160xf16>, tensor<160x64xf16>) -> tensor<24x64xf16>
    %100 = stablehlo.add %78, %99 : tensor<24x64xf16>
    return %100 : tensor<24x64xf16>
  }
  func.func private @tril(%arg0: tensor<24x24xi1>) -> tensor<24x24xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<24x24xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<24x24xi32>
    %2 = stablehlo.add %0, %1 : tensor<24x24xi32>
    %3 = stablehlo.iota dim = 1 : tensor<24x24xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<24x24xi32>, tensor<24x24xi32>) -> tensor<24x24xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<24x24xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<24x24xi1>, tensor<24x24xi1>
    return %6 : tensor<24x24xi1>
  }
  func.func private @_where(%arg0: tensor<24x24xi1>, %arg1: tensor<4x24x24xf16>, %arg2: tensor<f16>) -> tensor<4x24x24xf16> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<24x24xi1>) -> tensor<4x24x24xi1>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f16>) -> tensor<4x24x24xf16>
    %2 = stablehlo.select %0, %arg1, %1 : tensor<4x24x24xi1>, tensor<4x24x24xf16>
    return %2 : tensor<4x24x24xf16>
  }
  func.func private @silu(%arg0: tensor<24x160xf16>) -> tensor<24x160xf16> {
    %0 = stablehlo.negate %arg0 : tensor<24x160xf16>
    %1 = stablehlo.exponential %0 : tensor<24x160xf16>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f16>) -> tensor<24x160xf16>
    %3 = stablehlo.add %2, %1 : tensor<24x160xf16>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f16>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f16>) -> tensor<24x160xf16>
    %5 = stablehlo.divide %4, %3 : tensor<24x160xf16>
    %6 = stablehlo.multiply %arg0, %5 : tensor<24x160xf16>
    return %6 : tensor<24x160xf16>
  }
