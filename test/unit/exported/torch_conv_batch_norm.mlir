module @module {
  func.func @main(%arg0: !torch.vtensor<[1,3,16,16],f32>) -> !torch.vtensor<[1,8,16,16],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.vtensor.literal(dense_resource<torch_tensor_8_3_3_3_torch.float32> : tensor<8x3x3x3xf32>) : !torch.vtensor<[8,3,3,3],f32>
    %1 = torch.vtensor.literal(dense_resource<torch_tensor_8_torch.float32> : tensor<8xf32>) : !torch.vtensor<[8],f32>
    %int1 = torch.constant.int 1
    %int1_0 = torch.constant.int 1
    %2 = torch.prim.ListConstruct %int1, %int1_0 : (!torch.int, !torch.int) -> !torch.list<int>
    %int1_1 = torch.constant.int 1
    %int1_2 = torch.constant.int 1
    %3 = torch.prim.ListConstruct %int1_1, %int1_2 : (!torch.int, !torch.int) -> !torch.list<int>
    %int1_3 = torch.constant.int 1
    %int1_4 = torch.constant.int 1
    %4 = torch.prim.ListConstruct %int1_3, %int1_4 : (!torch.int, !torch.int) -> !torch.list<int>
    %int1_5 = torch.constant.int 1
    %5 = torch.aten.conv2d %arg0, %0, %1, %2, %3, %4, %int1_5 : !torch.vtensor<[1,3,16,16],f32>, !torch.vtensor<[8,3,3,3],f32>, !torch.vtensor<[8],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[1,8,16,16],f32>
    %6 = torch.vtensor.literal(dense_resource<torch_tensor_8_torch.float32_1> : tensor<8xf32>) : !torch.vtensor<[8],f32>
    %int6 = torch.constant.int 6
    %7 = torch.prims.convert_element_type %6, %int6 : !torch.vtensor<[8],f32>, !torch.int -> !torch.vtensor<[8],f32>
    %8 = torch.vtensor.literal(dense_resource<torch_tensor_8_torch.float32_2> : tensor<8xf32>) : !torch.vtensor<[8],f32>
    %int6_6 = torch.constant.int 6
    %9 = torch.prims.convert_element_type %8, %int6_6 : !torch.vtensor<[8],f32>, !torch.int -> !torch.vtensor<[8],f32>
    %float1.000000e-05 = torch.constant.float 1.000000e-05
    %int1_7 = torch.constant.int 1
    %10 = torch.aten.add.Scalar %9, %float1.000000e-05, %int1_7 : !torch.vtensor<[8],f32>, !torch.float, !torch.int -> !torch.vtensor<[8],f32>
    %11 = torch.aten.sqrt %10 : !torch.vtensor<[8],f32> -> !torch.vtensor<[8],f32>
    %12 = torch.aten.reciprocal %11 : !torch.vtensor<[8],f32> -> !torch.vtensor<[8],f32>
    %int1_8 = torch.constant.int 1
    %13 = torch.aten.mul.Scalar %12, %int1_8 : !torch.vtensor<[8],f32>, !torch.int -> !torch.vtensor<[8],f32>
    %int-1 = torch.constant.int -1
    %14 = torch.aten.unsqueeze %7, %int-1 : !torch.vtensor<[8],f32>, !torch.int -> !torch.vtensor<[8,1],f32>
    %int-1_9 = torch.constant.int -1
    %15 = torch.aten.unsqueeze %14, %int-1_9 : !torch.vtensor<[8,1],f32>, !torch.int -> !torch.vtensor<[8,1,1],f32>
    %int-1_10 = torch.constant.int -1
    %16 = torch.aten.unsqueeze %13, %int-1_10 : !torch.vtensor<[8],f32>, !torch.int -> !torch.vtensor<[8,1],f32>
    %int-1_11 = torch.constant.int -1
    %17 = torch.aten.unsqueeze %16, %int-1_11 : !torch.vtensor<[8,1],f32>, !torch.int -> !torch.vtensor<[8,1,1],f32>
    %int1_12 = torch.constant.int 1
    %18 = torch.aten.sub.Tensor %5, %15, %int1_12 : !torch.vtensor<[1,8,16,16],f32>, !torch.vtensor<[8,1,1],f32>, !torch.int -> !torch.vtensor<[1,8,16,16],f32>
    %19 = torch.aten.mul.Tensor %18, %17 : !torch.vtensor<[1,8,16,16],f32>, !torch.vtensor<[8,1,1],f32> -> !torch.vtensor<[1,8,16,16],f32>
    %20 = torch.vtensor.literal(dense_resource<torch_tensor_8_torch.float32_3> : tensor<8xf32>) : !torch.vtensor<[8],f32>
    %int-1_13 = torch.constant.int -1
    %21 = torch.aten.unsqueeze %20, %int-1_13 : !torch.vtensor<[8],f32>, !torch.int -> !torch.vtensor<[8,1],f32>
    %int-1_14 = torch.constant.int -1
    %22 = torch.aten.unsqueeze %21, %int-1_14 : !torch.vtensor<[8,1],f32>, !torch.int -> !torch.vtensor<[8,1,1],f32>
    %23 = torch.aten.mul.Tensor %19, %22 : !torch.vtensor<[1,8,16,16],f32>, !torch.vtensor<[8,1,1],f32> -> !torch.vtensor<[1,8,16,16],f32>
    %24 = torch.vtensor.literal(dense_resource<torch_tensor_8_torch.float32_4> : tensor<8xf32>) : !torch.vtensor<[8],f32>
    %int-1_15 = torch.constant.int -1
    %25 = torch.aten.unsqueeze %24, %int-1_15 : !torch.vtensor<[8],f32>, !torch.int -> !torch.vtensor<[8,1],f32>
    %int-1_16 = torch.constant.int -1
    %26 = torch.aten.unsqueeze %25, %int-1_16 : !torch.vtensor<[8,1],f32>, !torch.int -> !torch.vtensor<[8,1,1],f32>
    %int1_17 = torch.constant.int 1
    %27 = torch.aten.add.Tensor %23, %26, %int1_17 : !torch.vtensor<[1,8,16,16],f32>, !torch.vtensor<[8,1,1],f32>, !torch.int -> !torch.vtensor<[1,8,16,16],f32>
    %28 = torch.aten.relu %27 : !torch.vtensor<[1,8,16,16],f32> -> !torch.vtensor<[1,8,16,16],f32>
    return %28 : !torch.vtensor<[1,8,16,16],f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_8_3_3_3_torch.float32: "0x040000001EB011BE95F49ABDE11FD93D3BAB763D789F313EC3A8433E84EE8DBD155A9ABD3EBED73C25EC1CBE0761D63D47DF0DBDF00225BE8DC814BE3FCB07BEC4A8583D3311173EDC201C3E3C0E59BDF2EFE4BD9EEEAEBD209F06BE0A3C4BBD32FB31BE69AAD23DF57A39BEDB2CF5BDC440043ECB6813BEE8723C3DF99B133EE640423EFD6DC73DDD8B53BD6C39E13D3B1FD0BB9A0E73BDE44D243A3FD1303D7B23043EE671A53D7032BC3D20D9EB3C5EB31EBC497FA53D11993D3DC4923CBEA6E3FE3C8D08AFBDAC02D1BDCF6C983D8231213D3E7D053DF3F8BABDEF1EB63D8AEF383EE6DEC03C4300A23DE1E42CBE2250EA3D33EB883DF391B13D3E5CA43DFA554FBDE9433DBC4D9E3E3ED033103EB7410DBEEF5B1C3E1121443E9755CF3CE8BF19BEC2CC183D65331FBDA0B00D3E35573DBEF3B8493DF2ED13BB9D38783CE68F073E01D7633B08A81EBE53EAE5BD75D09DBDC623A83C0519983D142313BDBC8E9BBD3DF3AC3D959C3FBE43B5093E0645B7BC5620093E73E8143E076BA83C655A793D48EDDEBD5C320D3ED9AFE63D7D9CF7BC3CA0993D8D9D30BCCDF7193EAD3EA23D27AC0F3EA82133BE6E02403E30D9923D689FBF3D9DA62F3DAB6E013E6086393E9B4E86BCF3B221BE0DF6343E983D26BD5115BEBD26A0F23DB8F5DB3D7412D33C6AED45BC3DCC16BDC1B1343E6424F03D23B9EA3D4355FB3D9346CEBD9196243D757B2ABE65FCE43D125643BE94F344BE8FCC42BE4E0DF33D5412A43CD972E5390AC2FA3C742995BDD45E6FBD7ABE04BE9F8240BD0287F2BD78EBA53B99D61A3E53EA22BE5FD3C13D579412BEFC4CA3BD91241A3DE7A2073D899C213E23FA96B8591D96BDBD00A3BD99E2B83B97C413BE75831ABE17A3A8BDE1FEA13BB71605BEA8FCE0BDCDB40C3E761D363E6DEA76BDA41229BEA4E596BD2C139F3DB1D47F3D7D5D74BDFA8F2DBE68066DBD1A4130BD22F8E23DEC70C3BD348CEC3D61B2DA3C151D04BDB69F2FBE468F423E14900CBDADFDF73D02E0CBBD68E93FBE81151DBE64FDC9BD6C0A7BBD53A1DEBCB85B243E9BBF35BE82B8C43DC5D1253E4B5AA23A09CDF5BDF0B2C93B76023B3DF963AE3D889C6FBDBE4187BD54F1B9BD9A9B3EBEB76C8A3DACFC14BE2A58BDBD82CA01BBD4EB173E96382F3E0E570FBE51EA2A3ED487303E09331F3E0542893C6B461E3E857FBF3D9F680DBEB5BDCFBD9F326D3B",
      torch_tensor_8_torch.float32: "0x04000000A0A80BBE4FC881BD99E21E3EA280B73D8B9F2B3E1761C13A9FF8C8BDFD6D023E",
      torch_tensor_8_torch.float32_1: "0x040000000000000000000000000000000000000000000000000000000000000000000000",
      torch_tensor_8_torch.float32_2: "0x040000000000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F",
      torch_tensor_8_torch.float32_3: "0x040000000000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F",
      torch_tensor_8_torch.float32_4: "0x040000000000000000000000000000000000000000000000000000000000000000000000"
    }
  }
#-}
