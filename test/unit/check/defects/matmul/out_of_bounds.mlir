// One row too many is written: what lies behind the output changes.
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>
func.func @dispatch() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %columns = arith.constant 37 : index
  %products = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %last = arith.constant 44 : index
  %a = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : memref<45x128xf32, #hal.descriptor_type<storage_buffer>>
  %b = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : memref<128x37xf32, #hal.descriptor_type<storage_buffer>>
  %out = hal.interface.binding.subspan layout(#layout) binding(2) alignment(64) offset(%c0) flags(Indirect) : memref<46x37xf32, #hal.descriptor_type<storage_buffer>>
  scf.forall (%i) in (46) {
    %row = arith.minsi %i, %last : index
    scf.for %j = %c0 to %columns step %c1 {
      %sum = scf.for %k = %c0 to %products step %c1 iter_args(%before = %zero) -> f32 {
        %x = memref.load %a[%row, %k] : memref<45x128xf32, #hal.descriptor_type<storage_buffer>>
        %y = memref.load %b[%k, %j] : memref<128x37xf32, #hal.descriptor_type<storage_buffer>>
        %xy = arith.mulf %x, %y : f32
        %after = arith.addf %before, %xy : f32
        scf.yield %after : f32
      }
      memref.store %sum, %out[%i, %j] : memref<46x37xf32, #hal.descriptor_type<storage_buffer>>
    }
  } {mapping = [#iree_codegen.workgroup_mapping<x>]}
  return
}
