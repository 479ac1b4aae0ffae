// A sample of a space becomes a recording; the same command again measures nothing.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %iree_tuner db record --jobs 1 %s --count 3 --seed 3 -o %t/a --db %t/trials.db --json 2>%t/people | FileCheck %s --check-prefix=JSON
// RUN: FileCheck %s --check-prefix=PEOPLE < %t/people
// RUN: %iree_tuner db record --jobs 1 %s --count 3 --seed 3 -o %t/b --db %t/trials.db 2>&1 | FileCheck %s --check-prefix=PEOPLE
// RUN: %iree_tuner db list --db %t/trials.db --json | FileCheck %s --check-prefix=DB
// RUN: %python -c "import gzip, sys; print(gzip.open(sys.argv[1], 'rt').read())" %t/a/matmul_32x48x64_f32_f32_f32.jsonl.gz | FileCheck %s --check-prefix=LINES
// RUN: not %iree_tuner db record %S/Inputs/nothing.mlir -o %t/c --no-db 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not %iree_tuner db record %s -o %t/people --no-db 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not %iree_tuner db record %s -o %t/c --count -1 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: %iree_tuner db record --help | FileCheck %s --check-prefix=HELP

// JSON: "workload": "matmul_32x48x64_f32_f32_f32", "path": "{{.*}}matmul_32x48x64_f32_f32_f32.jsonl.gz", "outcomes": {
// PEOPLE: matmul_32x48x64_f32_f32_f32: {{.*}}, written to {{.*}}matmul_32x48x64_f32_f32_f32.jsonl.gz
// DB: "count": 3
// LINES: {"recording": 1, {{.*}}"machine": {"kind": "cpu"{{.*}}"start": {"pipeline": "DoubleTilingExpert", "knobs": {{.*}}"conditions": {
// LINES-NEXT: {"pipeline": null, "knobs": null, "outcome": "ok", "time_us": {{.*}}"again_us": {{[0-9.]+}}}
// LINES-COUNT-3: {"pipeline": "DoubleTilingExpert", "knobs": {
// NOTHING: error: {{.*}}nothing.mlir: the program has no dispatches that can be tuned
// FOLDER: error: {{.*}}people: this is a file, not a folder
// COUNT: error: count must be at least 0, but is -1
// HELP: Example: iree-tuner db record examples/mlp_batch1.mlir

func.func @main(%a: tensor<32x64xf32>, %b: tensor<64x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %r = linalg.matmul ins(%a, %b : tensor<32x64xf32>, tensor<64x48xf32>) outs(%init : tensor<32x48xf32>) -> tensor<32x48xf32>
  return %r : tensor<32x48xf32>
}
