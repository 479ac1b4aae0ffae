// What the compiler has for ampere, less its matrix instructions, with what Mesa's llvmpipe has: subgroups of eight
// (256-bit vectors of 32 bits) and 32 KiB of shared memory. vulkan_programs.py makes a target of it.
module attributes {
  hal.device.targets = [#hal.device.target<"vulkan", [
    #hal.executable.target<"vulkan-spirv", "vulkan-spirv-fb", {
      iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "spirv:v1.6,cap:Shader", wgp = <
        compute = fp64|fp32|fp16|int64|int32|int16|int8, storage = b64|b32|b16|b8, subgroup = shuffle|arithmetic,
        dot = dp4xi8toi32, mma = [], subgroup_size_choices = [8], max_workgroup_sizes = [1024, 1024, 1024],
        max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 32768,
        max_workgroup_counts = [65535, 65535, 65535]>>}>]> : !hal.device]
} {}
