// The torch dialect, as frameworks export it.
// RUN: %iree_tuner_itself extract %s --json | FileCheck %s
// CHECK: "family": "contraction", "op": "matmul", "loops": [32, 48, 64]

func.func @main(%a: !torch.vtensor<[32,64],f32>, %b: !torch.vtensor<[64,48],f32>) -> !torch.vtensor<[32,48],f32> {
  %0 = torch.aten.mm %a, %b : !torch.vtensor<[32,64],f32>, !torch.vtensor<[64,48],f32> -> !torch.vtensor<[32,48],f32>
  return %0 : !torch.vtensor<[32,48],f32>
}
