// A part of an input is copied before it is read; see docs/upstream/input_parts.md.

util.func public @of_an_input(%view: !hal.buffer_view) -> !stream.resource<external> {
  %begin = arith.constant 256 : index
  %end = arith.constant 512 : index
  %size = arith.constant 1024 : index
  %zero = arith.constant 0 : index
  %whole = stream.tensor.import %view : !hal.buffer_view -> tensor<256xf32> in !stream.resource<external>{%size}
  %part = stream.async.slice %whole[%begin to %end] : !stream.resource<external>{%size} -> !stream.resource<external>{%begin}
  %sum = stream.async.dispatch @code::@kernel(%part[%zero to %begin for %begin]) : (!stream.resource<external>{%begin}) -> !stream.resource<external>{%begin}
  util.return %sum : !stream.resource<external>
}
util.func public @of_another_value(%whole: !stream.resource<external>) -> !stream.resource<external> {
  %begin = arith.constant 256 : index
  %end = arith.constant 512 : index
  %size = arith.constant 1024 : index
  %zero = arith.constant 0 : index
  %part = stream.async.slice %whole[%begin to %end] : !stream.resource<external>{%size} -> !stream.resource<external>{%begin}
  %sum = stream.async.dispatch @code::@kernel(%part[%zero to %begin for %begin]) : (!stream.resource<external>{%begin}) -> !stream.resource<external>{%begin}
  util.return %sum : !stream.resource<external>
}
