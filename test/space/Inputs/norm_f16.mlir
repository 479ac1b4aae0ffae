// Each row divided by the root of the mean of its squares.
#rows = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%a: tensor<256x640xf16>) -> tensor<256x640xf32> {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 640.0 : f32
  %rows = tensor.empty() : tensor<256xf32>
  %whole = tensor.empty() : tensor<256x640xf32>
  %init = linalg.fill ins(%zero : f32) outs(%rows : tensor<256xf32>) -> tensor<256xf32>
  %squares = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<256x640xf16>) outs(%init : tensor<256xf32>) {
  ^bb0(%x: f16, %sum: f32):
    %y = arith.extf %x : f16 to f32
    %square = arith.mulf %y, %y : f32
    %next = arith.addf %square, %sum : f32
    linalg.yield %next : f32
  } -> tensor<256xf32>
  %r = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]} ins(%a, %squares : tensor<256x640xf16>, tensor<256xf32>) outs(%whole : tensor<256x640xf32>) {
  ^bb0(%x: f16, %sum: f32, %out: f32):
    %y = arith.extf %x : f16 to f32
    %mean = arith.divf %sum, %count : f32
    %scale = math.rsqrt %mean : f32
    %z = arith.mulf %y, %scale : f32
    linalg.yield %z : f32
  } -> tensor<256x640xf32>
  return %r : tensor<256x640xf32>
}
