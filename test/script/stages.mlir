// The shipped script for matrix multiplications, on the IR after each of its stages.
// RUN: %iree_tuner script stages %s cpu_matmul --knob tile_rows=32 --knob tile_columns=48 --knob rows=4 --knob columns=16 --knob depth=2 2> %t.err > %t
// RUN: FileCheck %s --input-file %t
// RUN: %iree_tuner script stages %s cpu_matmul --stage vectorize --json 2> %t.err | FileCheck %s --check-prefix=ONE
// RUN: not %iree_tuner script stages %s cpu_matmul --stage vectorise 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK-LABEL: // main_dispatch_0_matmul_64x96x32_f32, input
// CHECK: %[[ZEROS:.+]] = linalg.fill ins(%{{.+}} : f32) outs(%{{.+}} : tensor<64x96xf32>)
// CHECK: linalg.matmul ins(%{{.+}}, %{{.+}} : tensor<64x32xf32>, tensor<32x96xf32>) outs(%[[ZEROS]] : tensor<64x96xf32>)

// Two workgroups down, two across, each with its own zeros.
// CHECK-LABEL: // main_dispatch_0_matmul_64x96x32_f32, tile_for_workgroups
// CHECK: scf.forall (%[[Y:.+]], %[[X:.+]]) in (2, 2) shared_outs(%[[OUT:.+]] = %{{.+}}) -> (tensor<64x96xf32>)
// CHECK: %[[ZEROS:.+]] = linalg.fill ins(%{{.+}} : f32) outs(%{{.+}} : tensor<32x48xf32>)
// CHECK: linalg.matmul {root} ins(%{{.+}}, %{{.+}} : tensor<32x32xf32>, tensor<32x48xf32>) outs(%[[ZEROS]] : tensor<32x48xf32>)
// CHECK: tensor.parallel_insert_slice
// CHECK: mapping = [#gpu.block<y>, #gpu.block<x>]

// CHECK-LABEL: // main_dispatch_0_matmul_64x96x32_f32, tile_for_registers
// CHECK: scf.for {{.*}} to %c32 step %c4
// CHECK: scf.for {{.*}} to %c48 step %c16
// CHECK: linalg.fill {{.*}} -> tensor<4x16xf32>
// CHECK: scf.for {{.*}} to %c32 step %c2
// CHECK: linalg.matmul {{.*}} outs(%{{.+}} : tensor<4x16xf32>)
// Tiles divide: nothing is left over.
// CHECK-NOT: linalg.matmul

// Sums are carried in registers.
// CHECK-LABEL: // main_dispatch_0_matmul_64x96x32_f32, vectorize
// CHECK-NOT: linalg.
// CHECK: scf.for {{.*}} to %c32 step %c2 iter_args(%[[SUM:.+]] = %{{.+}}) -> (vector<4x16xf32>)
// CHECK: vector.transfer_read %{{.*}} vector<4x2xf32>
// CHECK: vector.transfer_read %{{.*}} vector<2x16xf32>
// CHECK: vector.contract {{.*}}%[[SUM]] : vector<4x2xf32>, vector<2x16xf32> into vector<4x16xf32>
// CHECK: vector.transfer_write

// CHECK-LABEL: // main_dispatch_0_matmul_64x96x32_f32, bufferize
// CHECK-NOT: memref.alloc
// CHECK: scf.forall (%{{.+}}, %{{.+}}) in (2, 2) {
// CHECK: memref.subview %{{.*}} to memref<32x48xf32,
// CHECK: vector.contract
// CHECK: vector.transfer_write {{.*}} memref<32x48xf32,

// CHECK-LABEL: // main_dispatch_0_matmul_64x96x32_f32, distribute
// CHECK-DAG: %[[X:.+]] = hal.interface.workgroup.id[0]
// CHECK-DAG: %[[Y:.+]] = hal.interface.workgroup.id[1]
// CHECK-NOT: scf.forall
// CHECK: affine.apply affine_map<()[s0] -> (s0 * 32)>()[%[[Y]]]
// CHECK: affine.apply affine_map<()[s0] -> (s0 * 48)>()[%[[X]]]
// No copy of memory to itself is left.
// CHECK-NOT: linalg.

// CHECK-LABEL: // main_dispatch_0_matmul_64x96x32_f32, lower_vectors
// CHECK-NOT: vector.contract
// CHECK-COUNT-8: vector.fma %{{.+}} : vector<16xf32>
// CHECK-NOT: vector.fma
// CHECK-COUNT-4: vector.store %{{.+}} vector<16xf32>

// CHECK-LABEL: // main_dispatch_0_matmul_64x96x32_f32, leave_to_llvm
// CHECK: translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>

// ONE: {"function": "main_dispatch_0_matmul_64x96x32_f32", "stage": "vectorize", "ir": "func.func
// ONE-NOT: "stage"

// NONE: error: there is no stage 'vectorise' (one of: input, tile_for_workgroups, tile_for_registers, vectorize, bufferize, distribute, lower_vectors, leave_to_llvm)

func.func @main(%a: tensor<64x32xf32>, %b: tensor<32x96xf32>) -> tensor<64x96xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x96xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x96xf32>) -> tensor<64x96xf32>
  %sums = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x96xf32>) outs(%zeros : tensor<64x96xf32>) -> tensor<64x96xf32>
  return %sums : tensor<64x96xf32>
}
