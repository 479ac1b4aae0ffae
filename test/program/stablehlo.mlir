// Programs in any input dialect of the compiler are taken as they are; here what JAX makes.
// RUN: %iree_tuner extract %examples/transformer_block.mlir --json | FileCheck %s
// RUN: %iree_tuner extract %examples/mlp_batch1.mlir --json | FileCheck %s --check-prefix=MLP
// RUN: %iree_tuner extract %examples/resnet_bottlenecks.mlir --json | FileCheck %s --check-prefix=RESNET

// CHECK-DAG: "family": "contraction", "op": "matmul", "loops": [128, 1024, 256]
// CHECK-DAG: "family": "contraction", "op": "batch_matmul", "loops": [4, 128, 128, 64]
// CHECK-DAG: "family": "generic", "op": "softmax"
// MLP: "op": "vecmat"
// The batch of 1 is folded away before specs run; the specs' prologue brings it back.
// RESNET: "family": "convolution"{{.*}}"prologue": ["iree-codegen-insert-batch-dim-for-batchless-conv"]
