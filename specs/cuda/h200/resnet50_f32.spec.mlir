#map = affine_map<(d0, d1, d2, d3) -> (d0 * 2, d1 * 2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map5 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map6 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation1 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [448, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation2 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation3 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [16, 16, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = true, use_igemm_convolution = false>}>
#translation4 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [2, 16, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation5 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [1, 64, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = true, use_igemm_convolution = false>}>
#translation6 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [16, 16, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
#translation7 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [7, 32, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = true, use_igemm_convolution = false>}>
#translation8 = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [1, 32, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = true, use_igemm_convolution = false>}>
#compilation = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 2], thread = [1, 2, 2, 0], workgroup = [1, 4, 256, 0]}>, translation_info = #translation>
#compilation1 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 4], thread = [1, 1, 1, 0], workgroup = [4, 7, 16, 0]}>, translation_info = #translation1>
#compilation2 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 4], thread = [1, 1, 4, 0], workgroup = [1, 2, 64, 0]}>, translation_info = #translation2>
#compilation3 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], reduction = [0, 0, 0, 64], thread = [1, 1, 2, 0], workgroup = [1, 16, 32, 1]}>, translation_info = #translation3>
#compilation4 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], reduction = [0, 0, 0, 64], thread = [1, 1, 1, 0], workgroup = [1, 2, 16, 1]}>, translation_info = #translation4>
#compilation5 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], reduction = [0, 0, 16], thread = [4, 2, 0], workgroup = [4, 128, 1]}>, translation_info = #translation5>
#compilation6 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], reduction = [0, 0, 64], thread = [1, 1, 0], workgroup = [16, 16, 1]}>, translation_info = #translation6>
#compilation7 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 64], thread = [4, 4, 0], workgroup = [28, 128, 1]}>, translation_info = #translation7>
#compilation8 = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 4], thread = [1, 1, 2, 0], workgroup = [1, 1, 64, 1]}>, translation_info = #translation8>
module @tuning_spec attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence} {
  transform.named_sequence @apply_op_config(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.yield 
  }
  transform.named_sequence @match_reduction_28x28x512x256_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 18004.301999980045 : f64, device = "cuda://0", dispatch = "main_dispatch_15_reduction_28x28x512x256_f32", interval = array<f64: 868.36093095955778, 868.66061075478024>, loops = array<i64: 28, 28, 512, 256>, op = "reduction", samples = 39 : i64, speedup = 868.51075793159816 : f64, tuned_us = 20.889581854014391 : f64, workload = "56a52b87e8d9acc0"}} {
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<56x56x256xf32>, %arg2: tensor<256x512xf32>):
      %cst = arith.constant 0.000000e+00 : f32
      %3 = tensor.empty() : tensor<28x28x512xf32>
      %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<28x28x512xf32>) -> tensor<28x28x512xf32>
      %5 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg1, %arg2 : tensor<56x56x256xf32>, tensor<256x512xf32>) outs(%4 : tensor<28x28x512xf32>) {
      ^bb0(%in: f32, %in_0: f32, %out: f32):
        %6 = arith.mulf %in, %in_0 : f32
        %7 = arith.addf %out, %6 : f32
        linalg.yield %7 : f32
      } -> tensor<28x28x512xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.get_producer_of_operand %arg0[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %0 ["iree_tensor_ext.dispatch.tensor.load", "iree_codegen.load_from_buffer"] : !transform.any_op
    %1 = transform.get_producer_of_operand %arg0[1] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %1 ["iree_tensor_ext.dispatch.tensor.load", "iree_codegen.load_from_buffer"] : !transform.any_op
    %2 = transform.param.constant #compilation -> !transform.any_param
    transform.yield %arg0, %2 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_reduction_7x7x2048x1024_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 17503.908000009003 : f64, device = "cuda://0", dispatch = "main_dispatch_47_reduction_7x7x2048x1024_f32", interval = array<f64: 459.35376602702939, 472.13772717270405>, loops = array<i64: 7, 7, 2048, 1024>, op = "reduction", samples = 45 : i64, speedup = 465.70188217380411 : f64, tuned_us = 37.854097378256192 : f64, workload = "e3ca583d32cd9aa6"}} {
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<14x14x1024xf32>, %arg2: tensor<1024x2048xf32>):
      %cst = arith.constant 0.000000e+00 : f32
      %3 = tensor.empty() : tensor<7x7x2048xf32>
      %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<7x7x2048xf32>) -> tensor<7x7x2048xf32>
      %5 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg1, %arg2 : tensor<14x14x1024xf32>, tensor<1024x2048xf32>) outs(%4 : tensor<7x7x2048xf32>) {
      ^bb0(%in: f32, %in_0: f32, %out: f32):
        %6 = arith.mulf %in, %in_0 : f32
        %7 = arith.addf %out, %6 : f32
        linalg.yield %7 : f32
      } -> tensor<7x7x2048xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.get_producer_of_operand %arg0[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %0 ["iree_tensor_ext.dispatch.tensor.load", "iree_codegen.load_from_buffer"] : !transform.any_op
    %1 = transform.get_producer_of_operand %arg0[1] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %1 ["iree_tensor_ext.dispatch.tensor.load", "iree_codegen.load_from_buffer"] : !transform.any_op
    %2 = transform.param.constant #compilation1 -> !transform.any_param
    transform.yield %arg0, %2 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_reduction_14x14x1024x512_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 17575.3559999805 : f64, device = "cuda://0", dispatch = "main_dispatch_28_reduction_14x14x1024x512_f32", interval = array<f64: 841.58321893734478, 846.66983572922209>, loops = array<i64: 14, 14, 1024, 512>, op = "reduction", samples = 62 : i64, speedup = 844.12269589802622 : f64, tuned_us = 21.032847082495554 : f64, workload = "20d5f21a8b6f7afa"}} {
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<28x28x512xf32>, %arg2: tensor<512x1024xf32>):
      %cst = arith.constant 0.000000e+00 : f32
      %3 = tensor.empty() : tensor<14x14x1024xf32>
      %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<14x14x1024xf32>) -> tensor<14x14x1024xf32>
      %5 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg1, %arg2 : tensor<28x28x512xf32>, tensor<512x1024xf32>) outs(%4 : tensor<14x14x1024xf32>) {
      ^bb0(%in: f32, %in_0: f32, %out: f32):
        %6 = arith.mulf %in, %in_0 : f32
        %7 = arith.addf %out, %6 : f32
        linalg.yield %7 : f32
      } -> tensor<14x14x1024xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.get_producer_of_operand %arg0[0] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %0 ["iree_tensor_ext.dispatch.tensor.load", "iree_codegen.load_from_buffer"] : !transform.any_op
    %1 = transform.get_producer_of_operand %arg0[1] : (!transform.any_op) -> !transform.any_op
    transform.match.operation_name %1 ["iree_tensor_ext.dispatch.tensor.load", "iree_codegen.load_from_buffer"] : !transform.any_op
    %2 = transform.param.constant #compilation2 -> !transform.any_param
    transform.yield %arg0, %2 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_14x14x256x1024_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 200.61322549020804 : f64, device = "cuda://0", dispatch = "main_dispatch_30_matmul_like_14x14x256x1024_f32", interval = array<f64: 11.403614819939115, 11.419864283867076>, loops = array<i64: 14, 14, 256, 1024>, op = "matmul", samples = 52 : i64, speedup = 11.41173665965001 : f64, tuned_us = 17.58713162393019 : f64, workload = "067df348c584f160"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map3, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [14, 14] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1024] : !transform.param<i64>
    %0 = transform.param.constant #compilation3 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_7x7x512x2048_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 466.10818181911577 : f64, device = "cuda://0", dispatch = "main_dispatch_49_matmul_like_7x7x512x2048_f32", interval = array<f64: 13.503807963768484, 13.524315357896825>, loops = array<i64: 7, 7, 512, 2048>, op = "matmul", samples = 45 : i64, speedup = 13.514057770872654 : f64, tuned_us = 34.692956810688329 : f64, workload = "8acd63b7178c3e93"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map3, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [7, 7] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [2048] : !transform.param<i64>
    %0 = transform.param.constant #compilation4 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_196x1024x256_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 75.57930656932669 : f64, device = "cuda://0", dispatch = "main_dispatch_32_matmul_like_196x1024x256_f32", interval = array<f64: 5.1054988175264269, 5.1721796278934509>, loops = array<i64: 196, 1024, 256>, op = "matmul", samples = 54 : i64, speedup = 5.1387310665420394 : f64, tuned_us = 14.842224860343268 : f64, workload = "ba729734c480fa4a"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map4, #map5, #map6] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [196] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [256] : !transform.param<i64>
    %0 = transform.param.constant #compilation5 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_49x2048x512_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 147.51524285705793 : f64, device = "cuda://0", dispatch = "main_dispatch_48_matmul_like_49x2048x512_f32", interval = array<f64: 8.3553384395657257, 8.4115161535029159>, loops = array<i64: 49, 2048, 512>, op = "matmul", samples = 53 : i64, speedup = 8.3833802402366882 : f64, tuned_us = 17.623988095275916 : f64, workload = "d4da256d92b4e6ec"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map4, #map5, #map6] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [49] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [512] : !transform.param<i64>
    %0 = transform.param.constant #compilation6 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_784x512x128_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 110.83801041689156 : f64, device = "cuda://0", dispatch = "main_dispatch_19_matmul_like_784x512x128_f32", interval = array<f64: 14.118259498562017, 14.259749251018251>, loops = array<i64: 784, 512, 128>, op = "matmul", samples = 54 : i64, speedup = 14.188828010456008 : f64, tuned_us = 7.8150176691737983 : f64, workload = "782606918b0425b7"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map4, #map5, #map6] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [784] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [128] : !transform.param<i64>
    %0 = transform.param.constant #compilation7 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_28x28x128x512_f32_f32_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {iree_tuner = {chip = "NVIDIA H200, 132 cores", compiler = "3.13.0", date = "2026-11-22", default_us = 138.16593333369079 : f64, device = "cuda://0", dispatch = "main_dispatch_17_matmul_like_28x28x128x512_f32", interval = array<f64: 10.11791716609927, 10.218126550322813>, loops = array<i64: 28, 28, 128, 512>, op = "matmul", samples = 53 : i64, speedup = 10.167898407679234 : f64, tuned_us = 13.761167330690904 : f64, workload = "82194acdab5bad18"}} {
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map3, #map1, #map2] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [28, 28] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [512] : !transform.param<i64>
    %0 = transform.param.constant #compilation8 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %updated_root = transform.foreach_match in %arg0 
        @match_reduction_28x28x512x256_f32_f32_f32 -> @apply_op_config, 
        @match_reduction_7x7x2048x1024_f32_f32_f32 -> @apply_op_config, 
        @match_reduction_14x14x1024x512_f32_f32_f32 -> @apply_op_config, 
        @match_matmul_14x14x256x1024_f32_f32_f32 -> @apply_op_config, 
        @match_matmul_7x7x512x2048_f32_f32_f32 -> @apply_op_config, 
        @match_matmul_196x1024x256_f32_f32_f32 -> @apply_op_config, 
        @match_matmul_49x2048x512_f32_f32_f32 -> @apply_op_config, 
        @match_matmul_784x512x128_f32_f32_f32 -> @apply_op_config, 
        @match_matmul_28x28x128x512_f32_f32_f32 -> @apply_op_config : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
