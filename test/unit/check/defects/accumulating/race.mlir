// Each row is added by another workgroup, which reads and writes the sums with nothing to keep the others out.
// Between the two it computes a while, so that this shows on a busy machine too.
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, "ReadOnly|Indirect">, #hal.pipeline.binding<storage_buffer, Indirect>], flags = Indirect>
func.func @dispatch() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = arith.constant 2048 : index
  %while = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %a = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags("ReadOnly|Indirect") : memref<16x2048xf32, #hal.descriptor_type<storage_buffer>>
  %sum = hal.interface.binding.subspan layout(#layout) binding(1) alignment(64) offset(%c0) flags(Indirect) : memref<2048xf32, #hal.descriptor_type<storage_buffer>>
  scf.forall (%i) in (16) {
    scf.for %j = %c0 to %size step %c1 {
      %x = memref.load %a[%i, %j] : memref<16x2048xf32, #hal.descriptor_type<storage_buffer>>
      %before = memref.load %sum[%j] : memref<2048xf32, #hal.descriptor_type<storage_buffer>>
      %busy = scf.for %n = %c0 to %while step %c1 iter_args(%y = %x) -> f32 {
        %less = arith.mulf %y, %half : f32
        %more = arith.addf %less, %x : f32
        scf.yield %more : f32
      }
      %nothing = arith.mulf %busy, %zero : f32
      %value = arith.addf %x, %nothing : f32
      %after = arith.addf %before, %value : f32
      memref.store %after, %sum[%j] : memref<2048xf32, #hal.descriptor_type<storage_buffer>>
    }
  } {mapping = [#iree_codegen.workgroup_mapping<x>]}
  return
}
