module {
  %c1024 = arith.constant 1024 : index
  %c1280 = arith.constant 1280 : index
  %c1280_0 = arith.constant 1280 : index
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_gpu.pipeline<TileAndFuse>, 
   knobs = {gpu_pipeline_options = {no_reduce_shared_memory_bank_conflicts = false, prefetch_num_stages = #iree_codegen.smt.int_knob<"prefetch_num_stages">, use_igemm_convolution = false}, mma_kind = #iree_codegen.smt.one_of_knob<"mma_idx", [#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, #iree_gpu.mma_layout<MFMA_F32_32x32x8_F16>]>, promote_operands = [0, 1], reduction = [0, 0, #iree_codegen.smt.int_knob<"red_2">], subgroup = [#iree_codegen.smt.int_knob<"sg_0">, #iree_codegen.smt.int_knob<"sg_1">, 0], subgroup_size = #iree_codegen.smt.int_knob<"sg_size">, workgroup = [#iree_codegen.smt.int_knob<"wg_0">, #iree_codegen.smt.int_knob<"wg_1">, 0], workgroup_size = [#iree_codegen.smt.int_knob<"wg_size_x">, #iree_codegen.smt.int_knob<"wg_size_y">, #iree_codegen.smt.int_knob<"wg_size_z">]}
   dims(%c1024, %c1280, %c1280_0) {
  ^bb0(%arg0: !smt.int, %arg1: !smt.int, %arg2: !smt.int):
    %c1024_1 = smt.int.constant 1024
    %0 = smt.eq %arg0, %c1024_1 : !smt.int
    iree_codegen.smt.assert %0, "dim_0 ({}) == 1024", %arg0 : !smt.bool, !smt.int
    %c1280_2 = smt.int.constant 1280
    %1 = smt.eq %arg1, %c1280_2 : !smt.int
    iree_codegen.smt.assert %1, "dim_1 ({}) == 1280", %arg1 : !smt.bool, !smt.int
    %c1280_3 = smt.int.constant 1280
    %2 = smt.eq %arg2, %c1280_3 : !smt.int
    iree_codegen.smt.assert %2, "dim_2 ({}) == 1280", %arg2 : !smt.bool, !smt.int
    %c64 = smt.int.constant 64
    %c1024_4 = smt.int.constant 1024
    %c65536 = smt.int.constant 65536
    %c512 = smt.int.constant 512
    %3 = iree_codegen.smt.knob "wg_0" : !smt.int
    %4 = iree_codegen.smt.knob "wg_1" : !smt.int
    %5 = iree_codegen.smt.knob "sg_0" : !smt.int
    %6 = iree_codegen.smt.knob "sg_1" : !smt.int
    %7 = iree_codegen.smt.knob "red_2" : !smt.int
    %8 = iree_codegen.smt.knob "sg_size" : !smt.int
    %9 = iree_codegen.smt.knob "wg_size_x" : !smt.int
    %10 = iree_codegen.smt.knob "wg_size_y" : !smt.int
    %11 = iree_codegen.smt.knob "wg_size_z" : !smt.int
    %12 = iree_codegen.smt.knob "prefetch_num_stages" : !smt.int
    %13 = iree_codegen.smt.knob "mma_idx" : !smt.int
    %c0 = smt.int.constant 0
    %c1 = smt.int.constant 1
    %14 = smt.int.cmp ge %13, %c0
    iree_codegen.smt.assert %14, "mma_idx >= 0" : !smt.bool
    %15 = smt.int.cmp le %13, %c1
    iree_codegen.smt.assert %15, "mma_idx <= 1" : !smt.bool
    %16 = iree_codegen.smt.lookup %13 [0, 1] -> [16, 32] : !smt.int
    %17 = iree_codegen.smt.lookup %13 [0, 1] -> [16, 32] : !smt.int
    %18 = iree_codegen.smt.lookup %13 [0, 1] -> [16, 8] : !smt.int
    %c1_5 = smt.int.constant 1
    %19 = smt.int.mul %c1_5, %3
    %c1_6 = smt.int.constant 1
    %20 = smt.int.mul %c1_6, %4
    %c1_7 = smt.int.constant 1
    %21 = smt.int.mul %c1_7, %5
    %c1_8 = smt.int.constant 1
    %22 = smt.int.mul %c1_8, %6
    %23 = smt.int.mul %21, %16
    %24 = smt.int.mul %22, %17
    %sg_m_cnt = smt.declare_fun "sg_m_cnt" : !smt.int
    %sg_n_cnt = smt.declare_fun "sg_n_cnt" : !smt.int
    %25 = smt.int.mul %sg_m_cnt, %sg_n_cnt
    %26 = smt.int.mul %25, %8
    %27 = smt.int.mul %7, %18
    %c1_9 = smt.int.constant 1
    %28 = smt.int.sub %16, %c1_9
    %29 = smt.int.add %arg0, %28
    %30 = smt.int.div %29, %16
    %31 = smt.int.mul %30, %16
    %c1_10 = smt.int.constant 1
    %32 = smt.int.sub %17, %c1_10
    %33 = smt.int.add %arg1, %32
    %34 = smt.int.div %33, %17
    %35 = smt.int.mul %34, %17
    %c1_11 = smt.int.constant 1
    %36 = smt.int.sub %18, %c1_11
    %37 = smt.int.add %arg2, %36
    %38 = smt.int.div %37, %18
    %39 = smt.int.mul %38, %18
    %40 = smt.eq %8, %c64 : !smt.int
    iree_codegen.smt.assert %40, "sg_size == preferred_subgroup_size" : !smt.bool
    %c0_12 = smt.int.constant 0
    %41 = smt.int.mod %31, %3
    %42 = smt.eq %41, %c0_12 : !smt.int
    iree_codegen.smt.assert %42, "dim_0 must be divisible by wg_0 ({} % {} == 0)", %31, %3 : !smt.bool, !smt.int, !smt.int
    %c1_13 = smt.int.constant 1
    %43 = smt.int.cmp ge %3, %c1_13
    iree_codegen.smt.assert %43, "wg_0 >= 1" : !smt.bool
    %44 = smt.int.cmp le %3, %31
    iree_codegen.smt.assert %44, "wg_0 <= dim_0" : !smt.bool
    %c0_14 = smt.int.constant 0
    %45 = smt.int.mod %3, %5
    %46 = smt.eq %45, %c0_14 : !smt.int
    iree_codegen.smt.assert %46, "wg_0 must be divisible by sg_0 ({} % {} == 0)", %3, %5 : !smt.bool, !smt.int, !smt.int
    %c0_15 = smt.int.constant 0
    %47 = smt.int.mod %35, %4
    %48 = smt.eq %47, %c0_15 : !smt.int
    iree_codegen.smt.assert %48, "dim_1 must be divisible by wg_1 ({} % {} == 0)", %35, %4 : !smt.bool, !smt.int, !smt.int
    %c1_16 = smt.int.constant 1
    %49 = smt.int.cmp ge %4, %c1_16
    iree_codegen.smt.assert %49, "wg_1 >= 1" : !smt.bool
    %50 = smt.int.cmp le %4, %35
    iree_codegen.smt.assert %50, "wg_1 <= dim_1" : !smt.bool
    %c0_17 = smt.int.constant 0
    %51 = smt.int.mod %4, %6
    %52 = smt.eq %51, %c0_17 : !smt.int
    iree_codegen.smt.assert %52, "wg_1 must be divisible by sg_1 ({} % {} == 0)", %4, %6 : !smt.bool, !smt.int, !smt.int
    %53 = smt.int.cmp ge %3, %16
    iree_codegen.smt.assert %53, "wg_0 >= mma_m" : !smt.bool
    %54 = smt.int.cmp ge %4, %17
    iree_codegen.smt.assert %54, "wg_1 >= mma_n" : !smt.bool
    %c0_18 = smt.int.constant 0
    %55 = smt.int.mod %3, %16
    %56 = smt.eq %55, %c0_18 : !smt.int
    iree_codegen.smt.assert %56, "wg_0 must be divisible by mma_m ({} % {} == 0)", %3, %16 : !smt.bool, !smt.int, !smt.int
    %c0_19 = smt.int.constant 0
    %57 = smt.int.mod %4, %17
    %58 = smt.eq %57, %c0_19 : !smt.int
    iree_codegen.smt.assert %58, "wg_1 must be divisible by mma_n ({} % {} == 0)", %4, %17 : !smt.bool, !smt.int, !smt.int
    %59 = smt.int.mul %5, %16
    %60 = smt.int.mul %6, %17
    %c0_20 = smt.int.constant 0
    %61 = smt.int.mod %3, %59
    %62 = smt.eq %61, %c0_20 : !smt.int
    iree_codegen.smt.assert %62, "wg_0 must be divisible by sg_0 * mma_m ({} % {} == 0)", %3, %59 : !smt.bool, !smt.int, !smt.int
    %c0_21 = smt.int.constant 0
    %63 = smt.int.mod %4, %60
    %64 = smt.eq %63, %c0_21 : !smt.int
    iree_codegen.smt.assert %64, "wg_1 must be divisible by sg_1 * mma_n ({} % {} == 0)", %4, %60 : !smt.bool, !smt.int, !smt.int
    %65 = smt.int.cmp le %19, %c512
    iree_codegen.smt.assert %65, "prod(wg_m) <= 512 (max_vgprs)" : !smt.bool
    %66 = smt.int.cmp le %20, %c512
    iree_codegen.smt.assert %66, "prod(wg_n) <= 512 (max_vgprs)" : !smt.bool
    %c0_22 = smt.int.constant 0
    %67 = smt.int.mod %19, %23
    %68 = smt.eq %67, %c0_22 : !smt.int
    iree_codegen.smt.assert %68, "prod(wg_m) must be divisible by prod(sg_m) * mma_m ({} % {} == 0)", %19, %23 : !smt.bool, !smt.int, !smt.int
    %c0_23 = smt.int.constant 0
    %69 = smt.int.mod %20, %24
    %70 = smt.eq %69, %c0_23 : !smt.int
    iree_codegen.smt.assert %70, "prod(wg_n) must be divisible by prod(sg_n) * mma_n ({} % {} == 0)", %20, %24 : !smt.bool, !smt.int, !smt.int
    %71 = smt.int.mul %21, %sg_m_cnt, %16
    %72 = smt.int.mul %22, %sg_n_cnt, %17
    %73 = smt.eq %19, %71 : !smt.int
    %74 = smt.eq %20, %72 : !smt.int
    iree_codegen.smt.assert %73, "prod(wg_m) == prod(sg_m) * sg_m_cnt * mma_m" : !smt.bool
    iree_codegen.smt.assert %74, "prod(wg_n) == prod(sg_n) * sg_n_cnt * mma_n" : !smt.bool
    %c1_24 = smt.int.constant 1
    %75 = smt.int.cmp ge %7, %c1_24
    iree_codegen.smt.assert %75, "red_2 >= 1" : !smt.bool
    %c0_25 = smt.int.constant 0
    %76 = smt.int.mod %39, %27
    %77 = smt.eq %76, %c0_25 : !smt.int
    iree_codegen.smt.assert %77, "aligned inner k dim dim_2 must be divisible by red_2 * mma_k ({} % {} == 0)", %39, %27 : !smt.bool, !smt.int, !smt.int
    %78 = smt.int.cmp le %27, %c512
    iree_codegen.smt.assert %78, "red_2 * mma_k <= 512 (max_vgprs)" : !smt.bool
    %79 = smt.int.cmp le %27, %39
    iree_codegen.smt.assert %79, "red_2 * mma_k <= aligned k dim" : !smt.bool
    %c1_26 = smt.int.constant 1
    %80 = smt.int.cmp ge %5, %c1_26
    iree_codegen.smt.assert %80, "sg_0 >= 1" : !smt.bool
    %c1_27 = smt.int.constant 1
    %81 = smt.int.cmp ge %6, %c1_27
    iree_codegen.smt.assert %81, "sg_1 >= 1" : !smt.bool
    %c1_28 = smt.int.constant 1
    %c32 = smt.int.constant 32
    %82 = smt.int.cmp ge %sg_m_cnt, %c1_28
    iree_codegen.smt.assert %82, "sg_m_cnt >= 1" : !smt.bool
    %83 = smt.int.cmp le %sg_m_cnt, %c32
    iree_codegen.smt.assert %83, "sg_m_cnt <= 32" : !smt.bool
    %c1_29 = smt.int.constant 1
    %c32_30 = smt.int.constant 32
    %84 = smt.int.cmp ge %sg_n_cnt, %c1_29
    iree_codegen.smt.assert %84, "sg_n_cnt >= 1" : !smt.bool
    %85 = smt.int.cmp le %sg_n_cnt, %c32_30
    iree_codegen.smt.assert %85, "sg_n_cnt <= 32" : !smt.bool
    %c1_31 = smt.int.constant 1
    %c10 = smt.int.constant 10
    %86 = smt.int.cmp ge %25, %c1_31
    iree_codegen.smt.assert %86, "sg_num >= 1" : !smt.bool
    %87 = smt.int.cmp le %25, %c10
    iree_codegen.smt.assert %87, "sg_num <= 10" : !smt.bool
    %88 = smt.int.cmp le %26, %c1024_4
    iree_codegen.smt.assert %88, "total_threads <= max_threads" : !smt.bool
    %c2 = smt.int.constant 2
    %c2_32 = smt.int.constant 2
    %89 = smt.int.mul %c2, %19, %27
    %90 = smt.int.mul %c2_32, %20, %27
    %91 = smt.int.add %89, %90
    %92 = smt.int.cmp le %91, %c65536
    iree_codegen.smt.assert %92, "shared memory must fit in workgroup memory" : !smt.bool
    %93 = smt.eq %9, %26 : !smt.int
    iree_codegen.smt.assert %93, "wg_size_x == total_threads" : !smt.bool
    %c1_33 = smt.int.constant 1
    %94 = smt.eq %10, %c1_33 : !smt.int
    iree_codegen.smt.assert %94, "wg_size_y == 1" : !smt.bool
    %c1_34 = smt.int.constant 1
    %95 = smt.eq %11, %c1_34 : !smt.int
    iree_codegen.smt.assert %95, "wg_size_z == 1" : !smt.bool
    %c2_35 = smt.int.constant 2
    %96 = smt.eq %12, %c2_35 : !smt.int
    iree_codegen.smt.assert %96, "prefetch_num_stages == 2 (use_igemm_convolution=false)" : !smt.bool
  }
}
