module @module {
  func.func @main(%arg0: !torch.vtensor<[1,16,32,32],f16>) -> !torch.vtensor<[1,32,64,64],f16> attributes {torch.assume_strict_symbolic_shapes} {
    %none = torch.constant.none
    %float2.000000e00 = torch.constant.float 2.000000e+00
    %float2.000000e00_0 = torch.constant.float 2.000000e+00
    %0 = torch.prim.ListConstruct %float2.000000e00, %float2.000000e00_0 : (!torch.float, !torch.float) -> !torch.list<float>
    %1 = torch.aten.upsample_nearest2d.vec %arg0, %none, %0 : !torch.vtensor<[1,16,32,32],f16>, !torch.none, !torch.list<float> -> !torch.vtensor<[1,16,64,64],f16>
    %2 = torch.aten.neg %1 : !torch.vtensor<[1,16,64,64],f16> -> !torch.vtensor<[1,16,64,64],f16>
    %3 = torch.prim.ListConstruct %1, %2 : (!torch.vtensor<[1,16,64,64],f16>, !torch.vtensor<[1,16,64,64],f16>) -> !torch.list<vtensor>
    %int1 = torch.constant.int 1
    %4 = torch.aten.cat %3, %int1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[1,32,64,64],f16>
    return %4 : !torch.vtensor<[1,32,64,64],f16>
  }
}
