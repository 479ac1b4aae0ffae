// Sums are held in f16.
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>
func.func @dispatch() {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f16
  %a_in = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : !iree_tensor_ext.dispatch.tensor<readonly:tensor<32x1024xf16>>
  %b_in = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : !iree_tensor_ext.dispatch.tensor<readonly:tensor<1024x32xf16>>
  %out = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) flags(Indirect) : !iree_tensor_ext.dispatch.tensor<writeonly:tensor<32x32xf32>>
  %a = iree_tensor_ext.dispatch.tensor.load %a_in, offsets = [0, 0], sizes = [32, 1024], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<32x1024xf16>> -> tensor<32x1024xf16>
  %b = iree_tensor_ext.dispatch.tensor.load %b_in, offsets = [0, 0], sizes = [1024, 32], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<1024x32xf16>> -> tensor<1024x32xf16>
  %sum_empty = tensor.empty() : tensor<32x32xf16>
  %sum_zero = linalg.fill ins(%zero : f16) outs(%sum_empty : tensor<32x32xf16>) -> tensor<32x32xf16>
  %sum = linalg.matmul ins(%a, %b : tensor<32x1024xf16>, tensor<1024x32xf16>) outs(%sum_zero : tensor<32x32xf16>) -> tensor<32x32xf16>
  %empty = tensor.empty() : tensor<32x32xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<32x32xf16>) outs(%empty : tensor<32x32xf32>) {
    ^bb0(%x: f16, %o: f32):
      %y = arith.extf %x : f16 to f32
      linalg.yield %y : f32
  } -> tensor<32x32xf32>
  iree_tensor_ext.dispatch.tensor.store %r, %out, offsets = [0, 0], sizes = [32, 32], strides = [1, 1] : tensor<32x32xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<32x32xf32>>
  return
}
