// A transformer layer, exported from JAX: `Llama`, 24 tokens, width 64, 4 heads.
  func.func private @layer(%arg0: tensor<24x64xbf16>, %arg1: tensor<64xbf16>, %arg2: tensor<64x64xbf16>, %arg3: tensor<64x64xbf16>, %arg4: tensor<64x64xbf16>, %arg5: tensor<64x64xbf16>, %arg6: tensor<64xbf16>, %arg7: tensor<64x160xbf16>, %arg8: tensor<64x160xbf16>, %arg9: tensor<160x64xbf16>) -> (tensor<24x64xbf16>) {
    %cst = stablehlo.constant dense<"0x803F803F803F803F803F803F803F803F0A3F733F7F3F803F803F803F803F803FD5BE4E3F7B3F7F3F803F803F803F803F7DBF153F753F7F3F803F803F803F803F27BF9A3E6C3F7E3F803F803F803F803F913E29BC613F7D3F803F803F803F803F763FA4BE533F7B3F803F803F803F803F413F19BF443F7A3F7F3F803F803F803F15BE52BF323F783F7F3F803F803F803F69BF75BF1F3F763F7F3F803F803F803F57BF80BF0A3F733F7F3F803F803F803F913B72BFE83E713F7E3F803F803F803F583F4BBFBA3E6E3F7E3F803F803F803F683F11BF893E6B3F7E3F803F803F803F0C3E90BE2E3E673F7D3F803F803F803F42BFFE3C913D643F7D3F803F803F803F75BFAE3EEFBC603F7D3F803F803F803F8DBE1E3F04BE5C3F7C3F803F803F803F293F553F69BE583F7C3F803F803F803F7D3F763FA6BE533F7B3F803F803F803FD13E803FD5BE4E3F7B3F7F3F803F803F0CBF703F01BF4A3F7A3F7F3F803F803F80BF483F17BF453F7A3F7F3F803F803F08BF0C3F2BBF3F3F793F7F3F803F803F"> : tensor<24x1x8xbf16>
    %cst_0 = stablehlo.constant dense<"0x00000000000000000000000000000000573F9F3ECC3D023D243C4F3B833AA639693F173F4B3E813DA43CCF3B033B263A113E503F973EC23DF63C1B3C453B793A42BF743FC73E013E243D4F3C833BA63A75BF803FF53E213E4D3D823CA43BCF3A8FBE723F113F413E763D9B3CC53BF93A283F4D3F253F613E8F3DB53CE53B113B7D3F133F383F803EA43DCF3C033C263BD33E953E493F903EB83DE93C133C3B3B0BBFA9BC573F9F3ECC3D023D243C4F3B80BFA9BE643FAF3EE13D0E3D343C643B09BF1CBF6F3FBE3EF53D1B3D453C793BD73E53BF773FCD3E053E283D553C873B7E3F76BF7C3FDB3E0F3E353D653C913B263F80BF7F3FEA3E193E423D763C9B3B93BE71BF803FF83E233E4F3D833CA63B76BF4ABF7E3F033F2D3E5C3D8B3CB03B40BF0FBF793F0A3F373E693D933CBB3B193E8BBE723F113F413E763D9C3CC53B6A3F293D693F173F4B3E813DA43CCF3B563FB33E5D3F1E3F553E883DAC3CDA3B11BC203F4F3F243F5F3E8E3DB43CE43B59BF563F3F3F2A3F693E953DBC3CEE3B"> : tensor<24x1x8xbf16>
    %cst_1 = stablehlo.constant dense<"0x803F803F803F803F803F803F803F803F0A3F733F7F3F803F803F803F803F803FD5BE4E3F7B3F7F3F803F803F803F803F7DBF153F753F7F3F803F803F803F803F27BF9A3E6C3F7E3F803F803F803F803F913E29BC613F7D3F803F803F803F803F763FA4BE533F7B3F803F803F803F803F413F19BF443F7A3F7F3F803F803F803F15BE52BF323F783F7F3F803F803F803F69BF75BF1F3F763F7F3F803F803F803F57BF80BF0A3F733F7F3F803F803F803F913B72BFE83E713F7E3F803F803F803F583F4BBFBA3E6E3F7E3F803F803F803F683F11BF893E6B3F7E3F803F803F803F0C3E90BE2E3E673F7D3F803F803F803F42BFFE3C913D643F7D3F803F803F803F75BFAE3EEFBC603F7D3F803F803F803F8DBE1E3F04BE5C3F7C3F803F803F803F293F553F69BE583F7C3F803F803F803F7D3F763FA6BE533F7B3F803F803F803FD13E803FD5BE4E3F7B3F7F3F803F803F0CBF703F01BF4A3F7A3F7F3F803F803F80BF483F17BF453F7A3F7F3F803F803F08BF0C3F2BBF3F3F793F7F3F803F803F"> : tensor<24x1x8xbf16>
    %cst_2 = stablehlo.constant dense<"0x00000000000000000000000000000000573F9F3ECC3D023D243C4F3B833AA639693F173F4B3E813DA43CCF3B033B263A113E503F973EC23DF63C1B3C453B793A42BF743FC73E013E243D4F3C833BA63A75BF803FF53E213E4D3D823CA43BCF3A8FBE723F113F413E763D9B3CC53BF93A283F4D3F253F613E8F3DB53CE53B113B7D3F133F383F803EA43DCF3C033C263BD33E953E493F903EB83DE93C133C3B3B0BBFA9BC573F9F3ECC3D023D243C4F3B80BFA9BE643FAF3EE13D0E3D343C643B09BF1CBF6F3FBE3EF53D1B3D453C793BD73E53BF773FCD3E053E283D553C873B7E3F76BF7C3FDB3E0F3E353D653C913B263F80BF7F3FEA3E193E423D763C9B3B93BE71BF803FF83E233E4F3D833CA63B76BF4ABF7E3F033F2D3E5C3D8B3CB03B40BF0FBF793F0A3F373E693D933CBB3B193E8BBE723F113F413E763D9C3CC53B6A3F293D693F173F4B3E813DA43CCF3B563FB33E5D3F1E3F553E883DAC3CDA3B11BC203F4F3F243F5F3E8E3DB43CE43B59BF563F3F3F2A3F693E953DBC3CEE3B"> : tensor<24x1x8xbf16>
    %0 = stablehlo.convert %arg0 : (tensor<24x64xbf16>) -> tensor<24x64xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<24x64xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<24x64xf32>, tensor<f32>) -> tensor<24xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %cst_4 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %5 = stablehlo.divide %3, %4 : tensor<24x1xf32>
    %6 = stablehlo.convert %arg0 : (tensor<24x64xbf16>) -> tensor<24x64xf32>
    %cst_5 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %8 = stablehlo.add %5, %7 : tensor<24x1xf32>
    %9 = stablehlo.rsqrt %8 : tensor<24x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x64xf32>
    %11 = stablehlo.multiply %6, %10 : tensor<24x64xf32>
    %12 = stablehlo.convert %11 : (tensor<24x64xf32>) -> tensor<24x64xbf16>
    %13 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xbf16>) -> tensor<1x64xbf16>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<1x64xbf16>) -> tensor<24x64xbf16>
    %15 = stablehlo.multiply %12, %14 : tensor<24x64xbf16>
    %16 = stablehlo.dot_general %15, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xbf16>, tensor<64x64xbf16>) -> tensor<24x64xbf16>
    %17 = stablehlo.reshape %16 : (tensor<24x64xbf16>) -> tensor<24x4x16xbf16>
    %18 = stablehlo.slice %17 [0:24, 0:4, 0:8] : (tensor<24x4x16xbf16>) -> tensor<24x4x8xbf16>
    %19 = stablehlo.slice %17 [0:24, 0:4, 8:16] : (tensor<24x4x16xbf16>) -> tensor<24x4x8xbf16>
    %20 = stablehlo.broadcast_in_dim %cst, dims = [0, 1, 2] : (tensor<24x1x8xbf16>) -> tensor<24x4x8xbf16>
    %21 = stablehlo.multiply %18, %20 : tensor<24x4x8xbf16>
    %22 = stablehlo.broadcast_in_dim %cst_0, dims = [0, 1, 2] : (tensor<24x1x8xbf16>) -> tensor<24x4x8xbf16>
    %23 = stablehlo.multiply %19, %22 : tensor<24x4x8xbf16>
    %24 = stablehlo.subtract %21, %23 : tensor<24x4x8xbf16>
    %25 = stablehlo.broadcast_in_dim %cst, dims = [0, 1, 2] : (tensor<24x1x8xbf16>) -> tensor<24x4x8xbf16>
    %26 = stablehlo.multiply %19, %25 : tensor<24x4x8xbf16>
    %27 = stablehlo.broadcast_in_dim %cst_0, dims = [0, 1, 2] : (tensor<24x1x8xbf16>) -> tensor<24x4x8xbf16>
    %28 = stablehlo.multiply %18, %27 : tensor<24x4x8xbf16>
    %29 = stablehlo.add %26, %28 : tensor<24x4x8xbf16>
    %30 = stablehlo.concatenate %24, %29, dim = 2 : (tensor<24x4x8xbf16>, tensor<24x4x8xbf16>) -> tensor<24x4x16xbf16>
    %31 = stablehlo.reshape %30 : (tensor<24x4x16xbf16>) -> tensor<24x64xbf16>
    %32 = stablehlo.dot_general %15, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xbf16>, tensor<64x64xbf16>) -> tensor<24x64xbf16>
    %33 = stablehlo.reshape %32 : (tensor<24x64xbf16>) -> tensor<24x4x16xbf16>
    %34 = stablehlo.slice %33 [0:24, 0:4, 0:8] : (tensor<24x4x16xbf16>) -> tensor<24x4x8xbf16>
    %35 = stablehlo.slice %33 [0:24, 0:4, 8:16] : (tensor<24x4x16xbf16>) -> tensor<24x4x8xbf16>
    %36 = stablehlo.broadcast_in_dim %cst_1, dims = [0, 1, 2] : (tensor<24x1x8xbf16>) -> tensor<24x4x8xbf16>
    %37 = stablehlo.multiply %34, %36 : tensor<24x4x8xbf16>
    %38 = stablehlo.broadcast_in_dim %cst_2, dims = [0, 1, 2] : (tensor<24x1x8xbf16>) -> tensor<24x4x8xbf16>
    %39 = stablehlo.multiply %35, %38 : tensor<24x4x8xbf16>
    %40 = stablehlo.subtract %37, %39 : tensor<24x4x8xbf16>
    %41 = stablehlo.broadcast_in_dim %cst_1, dims = [0, 1, 2] : (tensor<24x1x8xbf16>) -> tensor<24x4x8xbf16>
    %42 = stablehlo.multiply %35, %41 : tensor<24x4x8xbf16>
    %43 = stablehlo.broadcast_in_dim %cst_2, dims = [0, 1, 2] : (tensor<24x1x8xbf16>) -> tensor<24x4x8xbf16>
    %44 = stablehlo.multiply %34, %43 : tensor<24x4x8xbf16>
    %45 = stablehlo.add %42, %44 : tensor<24x4x8xbf16>
    %46 = stablehlo.concatenate %40, %45, dim = 2 : (tensor<24x4x8xbf16>, tensor<24x4x8xbf16>) -> tensor<24x4x16xbf16>
    %47 = stablehlo.reshape %46 : (tensor<24x4x16xbf16>) -> tensor<24x64xbf16>
    %48 = stablehlo.dot_general %15, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xbf16>, tensor<64x64xbf16>) -> tensor<24x64xbf16>
    %49 = stablehlo.reshape %31 : (tensor<24x64xbf16>) -> tensor<24x4x16xbf16>
    %50 = stablehlo.transpose %49, dims = [1, 0, 2] : (tensor<24x4x16xbf16>) -> tensor<4x24x16xbf16>
    %51 = stablehlo.reshape %47 : (tensor<24x64xbf16>) -> tensor<24x4x16xbf16>
    %52 = stablehlo.transpose %51, dims = [1, 0, 2] : (tensor<24x4x16xbf16>) -> tensor<4x24x16xbf16>
    %53 = stablehlo.reshape %48 : (tensor<24x64xbf16>) -> tensor<24x4x16xbf16>
    %54 = stablehlo.transpose %53, dims = [1, 0, 2] : (tensor<24x4x16xbf16>) -> tensor<4x24x16xbf16>
    %55 = stablehlo.dot_general %50, %52, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x24x16xbf16>, tensor<4x24x16xbf16>) -> tensor<4x24x24xbf16>
    %cst_6 = stablehlo.constant dense<2.500000e-01> : tensor<bf16>
    %56 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<bf16>) -> tensor<4x24x24xbf16>
    %57 = stablehlo.multiply %55, %56 : tensor<4x24x24xbf16>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %58 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<24x24xi1>
    %59 = call @tril(%58) : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %cst_7 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %60 = call @_where(%59, %57, %cst_7) : (tensor<24x24xi1>, tensor<4x24x24xbf16>, tensor<bf16>) -> tensor<4x24x24xbf16>
    %61 = stablehlo.convert %60 : (tensor<4x24x24xbf16>) -> tensor<4x24x24xf32>
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
    %73 = stablehlo.convert %72 : (tensor<4x24x24xf32>) -> tensor<4x24x24xbf16>
    %74 = stablehlo.dot_general %73, %54, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x24x24xbf16>, tensor<4x24x16xbf16>) -> tensor<4x24x16xbf16>
    %75 = stablehlo.transpose %74, dims = [1, 0, 2] : (tensor<4x24x16xbf16>) -> tensor<24x4x16xbf16>
    %76 = stablehlo.reshape %75 : (tensor<24x4x16xbf16>) -> tensor<24x64xbf16>
    %77 = stablehlo.dot_general %76, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xbf16>, tensor<64x64xbf16>) -> tensor<24x64xbf16>
    %78 = stablehlo.add %arg0, %77 : tensor<24x64xbf16>
    %79 = stablehlo.convert %78 : (tensor<24x64xbf16>) -> tensor<24x64xf32>
    %80 = stablehlo.multiply %79, %79 : tensor<24x64xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %81 = stablehlo.reduce(%80 init: %cst_11) applies stablehlo.add across dimensions = [1] : (tensor<24x64xf32>, tensor<f32>) -> tensor<24xf32>
    %82 = stablehlo.broadcast_in_dim %81, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %cst_12 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %83 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %84 = stablehlo.divide %82, %83 : tensor<24x1xf32>
    %85 = stablehlo.convert %78 : (tensor<24x64xbf16>) -> tensor<24x64xf32>
    %cst_13 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %86 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %87 = stablehlo.add %84, %86 : tensor<24x1xf32>
    %88 = stablehlo.rsqrt %87 : tensor<24x1xf32>
    %89 = stablehlo.broadcast_in_dim %88, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x64xf32>
    %90 = stablehlo.multiply %85, %89 : tensor<24x64xf32>
    %91 = stablehlo.convert %90 : (tensor<24x64xf32>) -> tensor<24x64xbf16>
    %92 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<64xbf16>) -> tensor<1x64xbf16>
    %93 = stablehlo.broadcast_in_dim %92, dims = [0, 1] : (tensor<1x64xbf16>) -> tensor<24x64xbf16>
    %94 = stablehlo.multiply %91, %93 : tensor<24x64xbf16>
    %95 = stablehlo.dot_general %94, %arg7, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xbf16>, tensor<64x160xbf16>) -> tensor<24x160xbf16>
    %96 = call @silu(%95) : (tensor<24x160xbf16>) -> tensor<24x160xbf16>
    %97 = stablehlo.dot_general %94, %arg8, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x64xbf16>, tensor<64x160xbf16>) -> tensor<24x160xbf16>
    %98 = stablehlo.multiply %96, %97 : tensor<24x160xbf16>
    %99 = stablehlo.dot_general %98, %arg9, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x160xbf16>, tensor<160x64xbf16>) -> tensor<24x64xbf16>
    %100 = stablehlo.add %78, %99 : tensor<24x64xbf16>
    return %100 : tensor<24x64xbf16>
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
  func.func private @_where(%arg0: tensor<24x24xi1>, %arg1: tensor<4x24x24xbf16>, %arg2: tensor<bf16>) -> tensor<4x24x24xbf16> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<24x24xi1>) -> tensor<4x24x24xi1>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<bf16>) -> tensor<4x24x24xbf16>
    %2 = stablehlo.select %0, %arg1, %1 : tensor<4x24x24xi1>, tensor<4x24x24xbf16>
    return %2 : tensor<4x24x24xbf16>
  }
  func.func private @silu(%arg0: tensor<24x160xbf16>) -> tensor<24x160xbf16> {
    %0 = stablehlo.negate %arg0 : tensor<24x160xbf16>
    %1 = stablehlo.exponential %0 : tensor<24x160xbf16>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<24x160xbf16>
    %3 = stablehlo.add %2, %1 : tensor<24x160xbf16>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<bf16>) -> tensor<24x160xbf16>
    %5 = stablehlo.divide %4, %3 : tensor<24x160xbf16>
    %6 = stablehlo.multiply %arg0, %5 : tensor<24x160xbf16>
    return %6 : tensor<24x160xbf16>
  }
