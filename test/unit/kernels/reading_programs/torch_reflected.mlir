module @module {
  func.func @main(%arg0: !torch.vtensor<[1,64,32,32],f16>) -> !torch.vtensor<[1,64,34,34],f16> attributes {torch.assume_strict_symbolic_shapes} {
    %int1 = torch.constant.int 1
    %int1_0 = torch.constant.int 1
    %int1_1 = torch.constant.int 1
    %int1_2 = torch.constant.int 1
    %0 = torch.prim.ListConstruct %int1, %int1_0, %int1_1, %int1_2 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
    %str = torch.constant.str "reflect"
    %none = torch.constant.none
    %1 = torch.aten.pad %arg0, %0, %str, %none : !torch.vtensor<[1,64,32,32],f16>, !torch.list<int>, !torch.str, !torch.none -> !torch.vtensor<[1,64,34,34],f16>
    %int2 = torch.constant.int 2
    %2 = torch.aten.mul.Scalar %1, %int2 : !torch.vtensor<[1,64,34,34],f16>, !torch.int -> !torch.vtensor<[1,64,34,34],f16>
    return %2 : !torch.vtensor<[1,64,34,34],f16>
  }
}
