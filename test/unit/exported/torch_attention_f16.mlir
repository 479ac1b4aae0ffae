module @module {
  func.func @main(%arg0: !torch.vtensor<[1,2,16,32],f16>, %arg1: !torch.vtensor<[1,2,16,32],f16>, %arg2: !torch.vtensor<[1,2,16,32],f16>) -> !torch.vtensor<[1,2,16,32],f16> attributes {torch.assume_strict_symbolic_shapes} {
    %none = torch.constant.none
    %float0.000000e00 = torch.constant.float 0.000000e+00
    %false = torch.constant.bool false
    %none_0 = torch.constant.none
    %false_1 = torch.constant.bool false
    %0 = torch.aten.scaled_dot_product_attention %arg2, %arg2, %arg2, %none, %float0.000000e00, %false, %none_0, %false_1 : !torch.vtensor<[1,2,16,32],f16>, !torch.vtensor<[1,2,16,32],f16>, !torch.vtensor<[1,2,16,32],f16>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool -> !torch.vtensor<[1,2,16,32],f16>
    return %0 : !torch.vtensor<[1,2,16,32],f16>
  }
}
