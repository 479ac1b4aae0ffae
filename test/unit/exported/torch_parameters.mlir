module @module {
  util.global private @__auto.0.weight = #flow.parameter.named<"model"::"0.weight"> : tensor<32x32xf32>
  util.global private @__auto.0.bias = #flow.parameter.named<"model"::"0.bias"> : tensor<32xf32>
  func.func @main(%arg0: !torch.vtensor<[8,32],f32>) -> !torch.vtensor<[8,32],f32> attributes {torch.assume_strict_symbolic_shapes} {
    %__auto.0.weight = util.global.load @__auto.0.weight : tensor<32x32xf32>
    %0 = torch_c.from_builtin_tensor %__auto.0.weight : tensor<32x32xf32> -> !torch.vtensor<[32,32],f32>
    %__auto.0.bias = util.global.load @__auto.0.bias : tensor<32xf32>
    %1 = torch_c.from_builtin_tensor %__auto.0.bias : tensor<32xf32> -> !torch.vtensor<[32],f32>
    %2 = torch.aten.linear %arg0, %0, %1 : !torch.vtensor<[8,32],f32>, !torch.vtensor<[32,32],f32>, !torch.vtensor<[32],f32> -> !torch.vtensor<[8,32],f32>
    %str = torch.constant.str "none"
    %3 = torch.aten.gelu %2, %str : !torch.vtensor<[8,32],f32>, !torch.str -> !torch.vtensor<[8,32],f32>
    return %3 : !torch.vtensor<[8,32],f32>
  }
}
