// Indices through calls, globals, loops and branches. What each argument may be is in test_valid_inputs.py.
util.global private mutable @state = 0 : i32
util.global private @ids = #flow.parameter.named<"model"::"ids"> : tensor<8xi64>
util.global private @table = #flow.parameter.named<"model"::"table"> : tensor<6x5xf32>

util.func public @call(%t: tensor<6x5xf32>, %i: tensor<8xi32>) -> tensor<8xf32> {
  %0 = util.call @look(%t, %i) : (tensor<6x5xf32>, tensor<8xi32>) -> tensor<8xf32>
  util.return %0 : tensor<8xf32>
}
util.func private @look(%t: tensor<6x5xf32>, %i: tensor<8xi32>) -> tensor<8xf32> attributes {inlining_policy = #util.inline.never} {
  %e = tensor.empty() : tensor<8xf32>
  %c0 = arith.constant 0 : index
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%i : tensor<8xi32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: i32, %o: f32):
    %x = arith.index_cast %a : i32 to index
    %y = tensor.extract %t[%x, %c0] : tensor<6x5xf32>
    linalg.yield %y : f32
  } -> tensor<8xf32>
  util.return %r : tensor<8xf32>
}
util.func public @returned(%t: tensor<6xf32>, %i: i32) -> f32 {
  %0 = util.call @next(%i) : (i32) -> i32
  %x = arith.index_cast %0 : i32 to index
  %y = tensor.extract %t[%x] : tensor<6xf32>
  util.return %y : f32
}
util.func private @next(%i: i32) -> i32 attributes {inlining_policy = #util.inline.never} {
  %c2 = arith.constant 2 : i32
  %0 = arith.addi %i, %c2 : i32
  util.return %0 : i32
}
util.func public @cfloop(%t: tensor<9xf32>, %n: i32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0.0 : f32
  cf.br ^head(%c0, %z : i32, f32)
^head(%i: i32, %s: f32):
  %c = arith.cmpi slt, %i, %n : i32
  cf.cond_br %c, ^body, ^exit
^body:
  %x = arith.index_cast %i : i32 to index
  %y = tensor.extract %t[%x] : tensor<9xf32>
  %s2 = arith.addf %s, %y : f32
  %j = arith.addi %i, %c1 : i32
  cf.br ^head(%j, %s2 : i32, f32)
^exit:
  util.return %s : f32
}
util.func public @while(%t: tensor<9xf32>, %n: i32, %start: i32) -> f32 {
  %c1 = arith.constant 1 : i32
  %z = arith.constant 0.0 : f32
  %r:2 = scf.while (%i = %start, %s = %z) : (i32, f32) -> (i32, f32) {
    %c = arith.cmpi sle, %i, %n : i32
    scf.condition(%c) %i, %s : i32, f32
  } do {
  ^bb0(%i: i32, %s: f32):
    %x = arith.index_cast %i : i32 to index
    %y = tensor.extract %t[%x] : tensor<9xf32>
    %s2 = arith.addf %s, %y : f32
    %j = arith.addi %i, %c1 : i32
    scf.yield %j, %s2 : i32, f32
  }
  util.return %r#1 : f32
}
util.func public @forcarried(%t: tensor<9xf32>, %n: index, %start: i32) -> f32 {
  %c1 = arith.constant 1 : i32
  %k0 = arith.constant 0 : index
  %k1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %r:2 = scf.for %q = %k0 to %n step %k1 iter_args(%i = %start, %s = %z) -> (i32, f32) {
    %x = arith.index_cast %i : i32 to index
    %y = tensor.extract %t[%x] : tensor<9xf32>
    %s2 = arith.addf %s, %y : f32
    %j = arith.addi %i, %c1 : i32
    scf.yield %j, %s2 : i32, f32
  }
  util.return %r#1 : f32
}
util.func public @iff(%t: tensor<9xf32>, %c: i1, %a: i32, %b: i32) -> f32 {
  %r = scf.if %c -> i32 { scf.yield %a : i32 } else { scf.yield %b : i32 }
  %x = arith.index_cast %r : i32 to index
  %y = tensor.extract %t[%x] : tensor<9xf32>
  util.return %y : f32
}
util.func public @store(%a: i32) {
  util.global.store %a, @state : i32
  util.return
}
util.func public @load(%t: tensor<9xf32>) -> f32 {
  %a = util.global.load @state : i32
  %x = arith.index_cast %a : i32 to index
  %y = tensor.extract %t[%x] : tensor<9xf32>
  util.return %y : f32
}
util.func public @parameter() -> tensor<8xf32> {
  %t = util.global.load @table : tensor<6x5xf32>
  %i = util.global.load @ids : tensor<8xi64>
  %e = tensor.empty() : tensor<8xf32>
  %c0 = arith.constant 0 : index
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%i : tensor<8xi64>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: i64, %o: f32):
    %x = arith.index_cast %a : i64 to index
    %y = tensor.extract %t[%x, %c0] : tensor<6x5xf32>
    linalg.yield %y : f32
  } -> tensor<8xf32>
  util.return %r : tensor<8xf32>
}
