module @module {
  func.func @main(%arg0: !torch.vtensor<[8,32],f32>) -> !torch.vtensor<[8,32],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %0 = torch.aten.abs %arg0 : !torch.vtensor<[8,32],f32> -> !torch.vtensor<[8,32],f32>
    %int-1 = torch.constant.int -1
    %1 = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
    %true = torch.constant.bool true
    %2 = torch.aten.amax %0, %1, %true : !torch.vtensor<[8,32],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[8,1],f32>
    %int127 = torch.constant.int 127
    %3 = torch.aten.div.Scalar %2, %int127 : !torch.vtensor<[8,1],f32>, !torch.int -> !torch.vtensor<[8,1],f32>
    %4 = torch.aten.div.Tensor %arg0, %3 : !torch.vtensor<[8,32],f32>, !torch.vtensor<[8,1],f32> -> !torch.vtensor<[8,32],f32>
    %5 = torch.aten.round %4 : !torch.vtensor<[8,32],f32> -> !torch.vtensor<[8,32],f32>
    %none = torch.constant.none
    %none_0 = torch.constant.none
    %int6 = torch.constant.int 6
    %cpu = torch.constant.device "cpu"
    %int0 = torch.constant.int 0
    torch.aten._assert_tensor_metadata %5, %none, %none_0, %int6, %cpu, %int0 : !torch.vtensor<[8,32],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %int1 = torch.constant.int 1
    %6 = torch.prims.convert_element_type %5, %int1 : !torch.vtensor<[8,32],f32>, !torch.int -> !torch.vtensor<[8,32],si8>
    %none_1 = torch.constant.none
    %none_2 = torch.constant.none
    %int1_3 = torch.constant.int 1
    %cpu_4 = torch.constant.device "cpu"
    %int0_5 = torch.constant.int 0
    torch.aten._assert_tensor_metadata %6, %none_1, %none_2, %int1_3, %cpu_4, %int0_5 : !torch.vtensor<[8,32],si8>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %int3 = torch.constant.int 3
    %7 = torch.prims.convert_element_type %6, %int3 : !torch.vtensor<[8,32],si8>, !torch.int -> !torch.vtensor<[8,32],si32>
    %8 = torch.vtensor.literal(dense_resource<torch_tensor_32_32_torch.int8> : tensor<32x32xsi8>) : !torch.vtensor<[32,32],si8>
    %none_6 = torch.constant.none
    %none_7 = torch.constant.none
    %int1_8 = torch.constant.int 1
    %cpu_9 = torch.constant.device "cpu"
    %int0_10 = torch.constant.int 0
    torch.aten._assert_tensor_metadata %8, %none_6, %none_7, %int1_8, %cpu_9, %int0_10 : !torch.vtensor<[32,32],si8>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %int3_11 = torch.constant.int 3
    %9 = torch.prims.convert_element_type %8, %int3_11 : !torch.vtensor<[32,32],si8>, !torch.int -> !torch.vtensor<[32,32],si32>
    %10 = torch.aten.matmul %7, %9 : !torch.vtensor<[8,32],si32>, !torch.vtensor<[32,32],si32> -> !torch.vtensor<[8,32],si32>
    %none_12 = torch.constant.none
    %none_13 = torch.constant.none
    %int3_14 = torch.constant.int 3
    %cpu_15 = torch.constant.device "cpu"
    %int0_16 = torch.constant.int 0
    torch.aten._assert_tensor_metadata %10, %none_12, %none_13, %int3_14, %cpu_15, %int0_16 : !torch.vtensor<[8,32],si32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
    %int6_17 = torch.constant.int 6
    %11 = torch.prims.convert_element_type %10, %int6_17 : !torch.vtensor<[8,32],si32>, !torch.int -> !torch.vtensor<[8,32],f32>
    %12 = torch.aten.mul.Tensor %11, %3 : !torch.vtensor<[8,32],f32>, !torch.vtensor<[8,1],f32> -> !torch.vtensor<[8,32],f32>
    return %12 : !torch.vtensor<[8,32],f32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_32_32_torch.int8: "0x01000000BB61383D984F2622FD933E626E76656828E7D8B890CBFC37F06BA5741C1F0A65E7094D0F5590CC8A9F7176E8F875EFA79B5837D510081E36548CB5D74A30A90C9600D887D3234C0E7073FEE26C4F6FB99F6007BF9F25BC058F4BBC9C28A95D1EEDF9AB12FB458F8C7693737D29E8A6325F68FFE7F7BCA172D4C9005D7213AE71B71B1ECF8162153049AB473976CCA52A9CE53512D8050C21086ACAD4FCB0AE89363B9784386791C15DE67B70999AC3CCE89F03EF517E9ACAA270FCC808F162C85BD9DC8198192E109954BEB17BAADBB5F011AFE7386252D7AED0AD4C86F5200C66FE9008EB78EC6DD9FFB7196E1CC8636D4690304C97CB7138A6EEB5BF955EF40EE74E0D931B978D06FE5325FC2D891EFA4D0B1DAB189F48E8386AF5F6EFA65B3AEABA12A497785117A9907EC5BEB2016980EDF6717635AB2B67AB84F3E009B72CFE0EC1BA036A759B3CED1A8B84C6416F42F8701AF2C90BB616F5B3116AFB1AD88065A9EED8A2EAA46C4B1911F057B6ABD32D52C8C989C0A0D398372C9D2AE0C9562965A29D0386C054FBE3C0E0930EDB23DA1A4C622CADB09FD5802A7AD3167E0F884E13DCBA0461C447A4401E770D2EC89DE57AC096166131267C7BB80E0CA10A4FDB26D1039A0A70F616AE226B7387C1420C6392C9D405DE3B9C2C82A7314410511A538D06735892D0B7EA8BC2D6E15080ADB606FCE691FC3C00AD5695D19818196AE2AFAA3E7B1A1A4636B8EB3D79F4C8633DBF3923EB66EA4AC0762A6D4AB7A34103EE578A45BE230289420E42AE398591F23AA2DF33FCEE89A3AF725DD31C0741B00B1729253FD7F24DBBB85D09B7B85A704159964ABF0B9381CC559D76973AD638D50D9F3C1572672ED75B6B24C1E014C8B68AC261A30B9F09818697BAB0A31BF61518EDCBD51043FB4C1F8088AADE433BB97DE48BA135DC5623E00E3165D96617E798A9B4FE865262E281EF6314159FCB8690C8D0F2D7F1CE3E0E4310D4EAE568AAC535257383464E45C146EE19E2C5710B7DAB7C40B8203210A271E9968221566BD97EFF1243392312212B56CDA6ED54782154F8A41E76FCD95B146FF283035BDD11D063987C56679AA09CA481DB4C7E3AEAAC3B623D81E4F61EA88345E405F86AE0E100C879AC59C08CD4F9410C97C705579ECF03EC006905E0E9A0C16A38B2F736F76B0C3849CB484FE25A60A8C16D913AE762A5FE2B7DB303729381EE88DFFCC1FEF49D81D95B878DD65F4D5AB95C62B72E134C29AF03C4E54A7539B67D790E7D48272CD4044970E3B31720895030F0B844A5077D7E9FC21551298A576463BB3F23F6BEFBB53B457715536F709D81AE2456E4F4D52FAE6918BE5E0C323FE5F6BDA7C3982C0C3993F9112D8AC7F479F404716A61E590075DBA4CB5053347B6CD5FD5ABBE5D0D06C93B172F8A025EC71FD372D7F67E23C9509572"
    }
  }
#-}
