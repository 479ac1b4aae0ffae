// Crashes: docs/upstream/emitter_batch_crash.md
#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info =
    #iree_gpu.target<arch = "gfx942", features = "", wgp = <
        compute = fp16|fp32, storage = b16|b32, subgroup = shuffle, mma = [<MFMA_F32_16x16x16_F16>],
        subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024],
        max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536,
        max_workgroup_counts = [65536, 65536, 65536]>>}>

hal.executable @grouped {
  hal.executable.variant public @rocm target(#target) {
    builtin.module {
      func.func @grouped(%a: tensor<1x2x16x18x18xf16>, %b: tensor<2x16x16x3x3xf16>, %c: tensor<1x2x16x16x16xf32>) -> tensor<1x2x16x16x16xf32> {
        %r = linalg.conv_2d_ngchw_gfchw {root_op = #iree_codegen.root_op<set = 0>}
            ins(%a, %b : tensor<1x2x16x18x18xf16>, tensor<2x16x16x3x3xf16>) outs(%c : tensor<1x2x16x16x16xf32>) -> tensor<1x2x16x16x16xf32>
        return %r : tensor<1x2x16x16x16xf32>
      }
    }
  }
}
