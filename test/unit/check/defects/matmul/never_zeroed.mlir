// The accumulator starts with what the output held.
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>
func.func @dispatch() {
  %c0 = arith.constant 0 : index
  %a_in = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : !iree_tensor_ext.dispatch.tensor<readonly:tensor<45x128xf32>>
  %b_in = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : !iree_tensor_ext.dispatch.tensor<readonly:tensor<128x37xf32>>
  %out = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) flags(Indirect) : !iree_tensor_ext.dispatch.tensor<readwrite:tensor<45x37xf32>>
  %a = iree_tensor_ext.dispatch.tensor.load %a_in, offsets = [0, 0], sizes = [45, 128], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<45x128xf32>> -> tensor<45x128xf32>
  %b = iree_tensor_ext.dispatch.tensor.load %b_in, offsets = [0, 0], sizes = [128, 37], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<128x37xf32>> -> tensor<128x37xf32>
  %old = iree_tensor_ext.dispatch.tensor.load %out, offsets = [0, 0], sizes = [45, 37], strides = [1, 1] : !iree_tensor_ext.dispatch.tensor<readwrite:tensor<45x37xf32>> -> tensor<45x37xf32>
  %r = linalg.matmul ins(%a, %b : tensor<45x128xf32>, tensor<128x37xf32>) outs(%old : tensor<45x37xf32>) -> tensor<45x37xf32>
  iree_tensor_ext.dispatch.tensor.store %r, %out, offsets = [0, 0], sizes = [45, 37], strides = [1, 1] : tensor<45x37xf32> -> !iree_tensor_ext.dispatch.tensor<readwrite:tensor<45x37xf32>>
  return
}
