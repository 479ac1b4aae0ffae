// Rows whose number is known only at run time, on GPUs: the compiler splits a multiple of 16 into two loops.
// RUN: %iree_tuner space --jobs 1 %s --target cuda:sm_80 --dim 128 --sample 1 --seed 0 --compile 2>&1 | FileCheck %s --check-prefix=CUDA
// RUN: %iree_tuner extract %s --target hip:gfx942 --dim 128 --json | FileCheck %s

// CHECK: "dispatch": "divided{{.*}}"loops": [8, 16, 256, 512], {{.*}}"dynamic": [{"loop": 0, "lower": 1, "upper": 256, "multiple": 1}]
// CHECK: "dispatch": "bounded{{.*}}"loops": [128, 128, 512], {{.*}}"dynamic": [{"loop": 0, "lower": 1, "upper": 4096, "multiple": 1}]

// CUDA: ok {{.*}} wg_0=1 wg_1=16
// CUDA: divided{{.*}}: TileAndFuse: 1 of 1 samples compile
// CUDA: ok {{.*}} pad_k=
// CUDA: bounded{{.*}}: TileAndFuse: 1 of 1 samples compile

// Rows of generic ops are masked; lanes share the sums of each row.
// CHECK: "dispatch": "rows{{.*}}"family": "generic"{{.*}}"dynamic": [{"loop": 0, "lower": 1, "upper": 4096, "multiple": 1}]
// CUDA: rows{{.*}}: TileAndFuse: 1 of 1 samples compile
// CUDA: rows{{.*}}: VectorDistribute: 1 of 1 samples compile

func.func @divided(%a: tensor<?x512xf16>, %b: tensor<512x256xf16>) -> tensor<?x256xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %d = tensor.dim %a, %c0 : tensor<?x512xf16>
  %m = util.assume.int %d<umin = 16, umax = 4096, udiv = 16> : index
  %e = tensor.empty(%m) : tensor<?x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x256xf32>) -> tensor<?x256xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x512xf16>, tensor<512x256xf16>) outs(%f : tensor<?x256xf32>) -> tensor<?x256xf32>
  return %r : tensor<?x256xf32>
}

func.func @bounded(%a: tensor<?x512xf16>, %b: tensor<512x128xf16>) -> tensor<?x128xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %d = tensor.dim %a, %c0 : tensor<?x512xf16>
  %m = util.assume.int %d<umin = 1, umax = 4096> : index
  %e = tensor.empty(%m) : tensor<?x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x128xf32>) -> tensor<?x128xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x512xf16>, tensor<512x128xf16>) outs(%f : tensor<?x128xf32>) -> tensor<?x128xf32>
  return %r : tensor<?x128xf32>
}

func.func @rows(%a: tensor<?x512xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %d = tensor.dim %a, %c0 : tensor<?x512xf32>
  %m = util.assume.int %d<umin = 1, umax = 4096> : index
  %e = tensor.empty(%m) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<?x512xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %x, %o : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
