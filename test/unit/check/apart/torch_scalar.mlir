// As torch exports a loss: a sum without dimensions.
func.func @main(%a: !torch.vtensor<[4,32],f32>, %w: !torch.vtensor<[32,16],f32>) -> !torch.vtensor<[],f32> {
  %none = torch.constant.none
  %y = torch.aten.mm %a, %w : !torch.vtensor<[4,32],f32>, !torch.vtensor<[32,16],f32> -> !torch.vtensor<[4,16],f32>
  %t = torch.aten.sum %y, %none : !torch.vtensor<[4,16],f32>, !torch.none -> !torch.vtensor<[],f32>
  return %t : !torch.vtensor<[],f32>
}
