// Generated indices are rows of their tables, in the program and in its dispatches. The compiler is blamed for nothing.
// RUN: %iree_tuner tune %s --effort smoke --candidates 1 --strategy shuffle --no-db -o %t.mlir > %t.said 2>&1
// RUN: FileCheck %s --check-prefix=SAID < %t.said
// SAID-NOT: {{run_error|uninitialized|wrong results|NaN|may be invalid}}
// SAID: 1 workload to tune
// SAID-NOT: {{run_error|uninitialized|wrong results|NaN|may be invalid}}

// Where they may not be, this is said.
// RUN: sed "s/index_cast %%b/index_cast %%odd/" %s > %t.odd.mlir
// RUN: %iree_tuner run %t.odd.mlir 2> %t.note
// RUN: FileCheck %s --check-prefix=ODD < %t.note
// ODD: note: generated inputs may be invalid: indices depend on arith.xori; pass inputs with --input

func.func @main(%words: tensor<512x16xf32>, %types: tensor<2x16xf32>, %ids: tensor<8xi64>, %kinds: tensor<8xi64>) -> tensor<8x16xf32> {
  %e = tensor.empty() : tensor<8x16xf32>
  %three = arith.constant 3 : i64
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%ids, %kinds : tensor<8xi64>, tensor<8xi64>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: i64, %b: i64, %o: f32):
    %odd = arith.xori %b, %three : i64
    %i = arith.index_cast %a : i64 to index
    %j = arith.index_cast %b : i64 to index
    %d = linalg.index 1 : index
    %x = tensor.extract %words[%i, %d] : tensor<512x16xf32>
    %y = tensor.extract %types[%j, %d] : tensor<2x16xf32>
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}
