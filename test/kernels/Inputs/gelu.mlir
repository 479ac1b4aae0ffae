#id = affine_map<(m, n) -> (m, n)>
#last = affine_map<(m, n) -> (n)>

func.func @main(%a: tensor<32x48xf32>, %b: tensor<48x64xf32>, %extra0: tensor<64xf32>, %extra2: tensor<32x64xf32>) -> tensor<32x64xf32> {
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : tensor<32x64xf32>
      %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x64xf32>) -> tensor<32x64xf32>
      %r = linalg.matmul ins(%a, %b : tensor<32x48xf32>, tensor<48x64xf32>)
          outs(%init : tensor<32x64xf32>) -> tensor<32x64xf32>
      
          %zero0 = arith.constant 0.0 : f32
          %one0 = arith.constant 1.0 : f32
          %half0 = arith.constant 0.5 : f32
          %root0 = arith.constant 1.4142135623730951 : f32
          %zero1 = arith.constant 0.0 : f32
          %one1 = arith.constant 1.0 : f32
          %half1 = arith.constant 0.5 : f32
          %root1 = arith.constant 1.4142135623730951 : f32
          %zero2 = arith.constant 0.0 : f32
          %one2 = arith.constant 1.0 : f32
          %half2 = arith.constant 0.5 : f32
          %root2 = arith.constant 1.4142135623730951 : f32
      %empty0 = tensor.empty() : tensor<32x64xf32>
      %r0 = linalg.generic {indexing_maps = [#id, #last, #id],
          iterator_types = ["parallel", "parallel"]}
          ins(%r, %extra0 : tensor<32x64xf32>, tensor<64xf32>)
          outs(%empty0 : tensor<32x64xf32>) {
        ^bb0(%x: f32, %a0: f32, %o: f32):
          %v0 = arith.addf %x, %a0 : f32
          linalg.yield %v0 : f32
      } -> tensor<32x64xf32>
      %empty1 = tensor.empty() : tensor<32x64xf32>
      %r1 = linalg.generic {indexing_maps = [#id, #id],
          iterator_types = ["parallel", "parallel"]}
          ins(%r0 : tensor<32x64xf32>)
          outs(%empty1 : tensor<32x64xf32>) {
        ^bb0(%x: f32, %o: f32):
          %d1 = arith.divf %x, %root1 : f32
          %e1 = math.erf %d1 : f32
          %p1 = arith.addf %e1, %one1 : f32
          %h1 = arith.mulf %p1, %half1 : f32
          %v1 = arith.mulf %x, %h1 : f32
          linalg.yield %v1 : f32
      } -> tensor<32x64xf32>
      %empty2 = tensor.empty() : tensor<32x64xf32>
      %r2 = linalg.generic {indexing_maps = [#id, #id, #id],
          iterator_types = ["parallel", "parallel"]}
          ins(%r1, %extra2 : tensor<32x64xf32>, tensor<32x64xf32>)
          outs(%empty2 : tensor<32x64xf32>) {
        ^bb0(%x: f32, %a2: f32, %o: f32):
          %v2 = arith.addf %a2, %x : f32
          linalg.yield %v2 : f32
      } -> tensor<32x64xf32>
      return %r2 : tensor<32x64xf32>
}