// The shipped script for a matrix multiplication and an elementwise op, stage by stage, with sizes that no tile
// divides: what tiles leave over is known at run time, and is done a row, a column at a time.
// RUN: %iree_tuner script stages %s cpu_matmul_elementwise --knob tile_rows=8 --knob tile_columns=16 --knob rows=4 --knob columns=8 2> %t.err > %t
// RUN: FileCheck %s --input-file %t

// The sums are computed in the loop that uses them.
// CHECK-LABEL: // main_dispatch_0_matmul_10x21x9_f32, tile_for_workgroups
// CHECK: scf.forall
// CHECK: linalg.fill
// CHECK: %[[SUMS:.+]] = linalg.matmul
// CHECK: linalg.generic {{.*}} ins(%[[SUMS]], %{{.+}} : tensor<?x?xf32>, tensor<?xf32>)
// CHECK: scf.forall.in_parallel

// CHECK-LABEL: // main_dispatch_0_matmul_10x21x9_f32, tile_for_registers
// CHECK: linalg.matmul {{.*}} outs(%{{.+}} : tensor<4x8xf32>)
// CHECK: linalg.generic {{.*}} outs(%{{.+}} : tensor<4x8xf32>)
// CHECK: linalg.matmul {{.*}} outs(%{{.+}} : tensor<4x1xf32>)
// CHECK: linalg.matmul {{.*}} outs(%{{.+}} : tensor<1x8xf32>)
// CHECK: linalg.matmul {{.*}} outs(%{{.+}} : tensor<1x1xf32>)
// CHECK-NOT: linalg.matmul

// Bias and relu are done on the registers, before the only write.
// CHECK-LABEL: // main_dispatch_0_matmul_10x21x9_f32, vectorize
// CHECK-NOT: linalg.
// CHECK: %[[SUMS:.+]] = scf.for {{.*}} -> (vector<4x8xf32>)
// CHECK: vector.contract
// CHECK: %[[ADDED:.+]] = arith.addf %[[SUMS]], %{{.+}} : vector<4x8xf32>
// CHECK: %[[POSITIVE:.+]] = arith.maximumf %[[ADDED]], %{{.+}} : vector<4x8xf32>
// CHECK: vector.transfer_write %[[POSITIVE]]

// CHECK-LABEL: // main_dispatch_0_matmul_10x21x9_f32, bufferize
// CHECK-NOT: memref.alloc
// CHECK-LABEL: // main_dispatch_0_matmul_10x21x9_f32, distribute
// CHECK-NOT: scf.forall
// CHECK-LABEL: // main_dispatch_0_matmul_10x21x9_f32, lower_vectors
// CHECK: vector.fma
// CHECK-NOT: vector.contract
// CHECK-LABEL: // main_dispatch_0_matmul_10x21x9_f32, leave_to_llvm


#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main(%a: tensor<10x9xf32>, %b: tensor<9x21xf32>, %bias: tensor<21xf32>) -> tensor<10x21xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<10x21xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<10x21xf32>) -> tensor<10x21xf32>
  %sums = linalg.matmul ins(%a, %b : tensor<10x9xf32>, tensor<9x21xf32>) outs(%zeros : tensor<10x21xf32>) -> tensor<10x21xf32>
  %result = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sums, %bias : tensor<10x21xf32>, tensor<21xf32>) outs(%empty : tensor<10x21xf32>) {
  ^bb0(%sum: f32, %b0: f32, %old: f32):
    %added = arith.addf %sum, %b0 : f32
    %positive = arith.maximumf %added, %zero : f32
    linalg.yield %positive : f32
  } -> tensor<10x21xf32>
  return %result : tensor<10x21xf32>
}
