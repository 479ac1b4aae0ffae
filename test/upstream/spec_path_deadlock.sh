# Compiles eight small functions 25 times with a spec of 62 sequences, none of which matches.
python - <<'EOF'
with open("program.mlir", "w") as file:
    for size in range(16, 24):
        kind = f"tensor<{size}xf32>"
        file.write(f"func.func @f{size}(%a: {kind}) -> {kind} {{\n"
                   f"  %r = arith.addf %a, %a : {kind}\n  return %r : {kind}\n}}\n")
OP, READ = "!transform.any_op", "{transform.readonly}"
with open("spec.mlir", "w") as file:
    file.write("module attributes {transform.with_named_sequence} {\n")
    for n in range(60):
        file.write(f"  transform.named_sequence @match{n}(%op: {OP} {READ}) -> {OP} {{\n"
                   f'    transform.match.operation_name %op ["linalg.matmul"] : {OP}\n'
                   f"    transform.yield %op : {OP}\n  }}\n")
    pairs = ", ".join(f"@match{n} -> @apply" for n in range(60))
    file.write(f"  transform.named_sequence @apply(%op: {OP} {READ}) {{ transform.yield }}\n"
               f"  transform.named_sequence @__kernel_config(%op: {OP} {{transform.consumed}}) -> {OP}\n"
               "      attributes {iree_codegen.tuning_spec_entrypoint} {\n"
               f"    %r = transform.foreach_match in %op {pairs} : ({OP}) -> {OP}\n"
               f"    transform.yield %r : {OP}\n  }}\n}}\n")
EOF
for i in $(seq 25); do
  timeout 30 iree-compile program.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
    --iree-llvmcpu-target-cpu=host --iree-codegen-tuning-spec-path=spec.mlir -o program.vmfb || echo "no end after 30 s"
done
