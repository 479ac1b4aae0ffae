// As torch exports a layer over a dynamic batch.
func.func @main(%a: !torch.vtensor<[?,32],f32>, %w: !torch.vtensor<[32,16],f32>) -> !torch.vtensor<[?,16],f32> {
  %y = torch.aten.mm %a, %w : !torch.vtensor<[?,32],f32>, !torch.vtensor<[32,16],f32> -> !torch.vtensor<[?,16],f32>
  %t = torch.aten.tanh %y : !torch.vtensor<[?,16],f32> -> !torch.vtensor<[?,16],f32>
  return %t : !torch.vtensor<[?,16],f32>
}
