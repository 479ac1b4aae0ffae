// The half that rounds to nearest is not added before the shift.
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>
func.func @dispatch() {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %bits = arith.constant 11 : i32
  %a_in = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : !iree_tensor_ext.dispatch.tensor<readonly:tensor<33x96xi8>>
  %b_in = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : !iree_tensor_ext.dispatch.tensor<readonly:tensor<96x33xi8>>
  %out = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) flags(Indirect) : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<33x33xi8>>
  %a = iree_tensor_ext.dispatch.tensor.load %a_in, offsets = [0, 0], sizes = [33, 96], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<33x96xi8>> -> tensor<33x96xi8>
  %b = iree_tensor_ext.dispatch.tensor.load %b_in, offsets = [0, 0], sizes = [96, 33], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<96x33xi8>> -> tensor<96x33xi8>
  %sums_empty = tensor.empty() : tensor<33x33xi32>
  %sums_zero = linalg.fill ins(%zero : i32) outs(%sums_empty : tensor<33x33xi32>) -> tensor<33x33xi32>
  %sums = linalg.matmul ins(%a, %b : tensor<33x96xi8>, tensor<96x33xi8>) outs(%sums_zero : tensor<33x33xi32>) -> tensor<33x33xi32>
  %narrow = tensor.empty() : tensor<33x33xi8>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%sums : tensor<33x33xi32>) outs(%narrow : tensor<33x33xi8>) {
    ^bb0(%x: i32, %o: i8):
      %shifted = arith.shrsi %x, %bits : i32
      %y = arith.trunci %shifted : i32 to i8
      linalg.yield %y : i8
  } -> tensor<33x33xi8>
  iree_tensor_ext.dispatch.tensor.store %r, %out, offsets = [0, 0], sizes = [33, 33], strides = [1, 1] : tensor<33x33xi8> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<33x33xi8>>
  return
}
