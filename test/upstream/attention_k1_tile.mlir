// A tile of 8 where k1 is larger: docs/upstream/attention_k1_tile.md
#config = #iree_cpu.lowering_config<distribution = [2, 16, 12, 0, 0], vector_common_parallel = [1, 2, 4, 0, 0], vector_reduction = [0, 0, 0, 8, 12]>
#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<LinalgExtTileAndVectorize>>
#compilation = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation>
module {
  func.func @main(%arg0: tensor<2x1x2xf32>, %arg1: tensor<2x1x2xf32>, %arg2: tensor<2x1x2xf32>, %arg3: tensor<2x1xf32>, %arg4: tensor<2x1xf32>, %arg5: tensor<2x1x2xf32>, %arg6: f32) -> tensor<2x1xf32> {
    %0:3 = iree_linalg_ext.online_attention <indexing_maps = [#map, #map1, #map2, #map3, #map4, #map5, #map5]> {compilation_info = #compilation} ins(%arg0, %arg1, %arg2, %arg6 : tensor<2x1x2xf32>, tensor<2x1x2xf32>, tensor<2x1x2xf32>, f32) outs(%arg5, %arg4, %arg3 : tensor<2x1x2xf32>, tensor<2x1xf32>, tensor<2x1xf32>) {
    ^bb0(%arg7: f32):
      iree_linalg_ext.yield %arg7 : f32
    } -> tensor<2x1x2xf32>, tensor<2x1xf32>, tensor<2x1xf32>
    return %0#2 : tensor<2x1xf32>
  }
}
