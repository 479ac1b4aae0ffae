// A dump says what it is for: `extract` and `space` need no target.
// RUN: mkdir -p %t
// RUN: %iree_compile %s --iree-hal-target-device=hip --iree-rocm-target=gfx942 --compile-to=executable-configurations --iree-hal-dump-executable-benchmarks-to=- -o %t/ignored.mlir > %t/hip.mlir
// RUN: %iree_tuner extract %s --target hip:gfx942 --json > %t/original.json
// RUN: %iree_tuner extract %t/hip.mlir --json > %t/dumped.json
// RUN: diff %t/original.json %t/dumped.json
// RUN: %iree_tuner space %t/hip.mlir --count | FileCheck %s
// CHECK: main_dispatch_0_matmul_128x256x64_f16xf16xf32: TileAndFuse: {{[1-9]}}
// RUN: not %iree_tuner tune %t/hip.mlir --no-db --effort smoke -o %t/spec.mlir 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: error: the dispatch was dumped for hip:gfx942, but cannot be compiled for llvm-cpu:host

func.func @main(%a: tensor<128x64xf16>, %b: tensor<64x256xf16>) -> tensor<128x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x256xf32>) -> tensor<128x256xf32>
  %m = linalg.matmul ins(%a, %b : tensor<128x64xf16>, tensor<64x256xf16>) outs(%init : tensor<128x256xf32>) -> tensor<128x256xf32>
  return %m : tensor<128x256xf32>
}
