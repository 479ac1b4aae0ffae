// The Hopper target that IREE 3.13's list of known targets lacks (iree-org/iree issue 22147): what the list has
// for sm_89, with Hopper's shared memory (227 KiB for one block: CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability"). PTX 8.4 as there: 7.8 is the first that knows sm_90, 8.4 the first
// with mma.sync on fp8. It has no wgmma: the compiler has no such intrinsic, and emits mma.sync.
module attributes {
  hal.device.targets = [#hal.device.target<"cuda", [
    #hal.executable.target<"cuda", "cuda-nvptx-fb", {
      iree_codegen.target_info = #iree_gpu.target<arch = "sm_90", features = "+ptx84", wgp = <
        compute = fp64|fp32|fp16|int64|int32|int16|int8, storage = b64|b32|b16|b8, subgroup = shuffle|arithmetic,
        dot = dp4xi8toi32,
        mma = [<NV_MMA_SYNC_F32_16x8x16_F16>, <NV_MMA_SYNC_F16_16x8x16_F16>, <NV_MMA_SYNC_F32_16x8x16_BF16>,
               <NV_MMA_SYNC_F32_16x8x32_F8E4M3FN>, <NV_MMA_SYNC_F32_16x8x32_F8E5M2>,
               <NV_WMMA_F32_16x16x16_F16>, <NV_WMMA_F16_16x16x16_F16>],
        subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024],
        max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 232448,
        max_workgroup_counts = [2147483647, 65535, 65535]>>}>]> : !hal.device]
} {}
