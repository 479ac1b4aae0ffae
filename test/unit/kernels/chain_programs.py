"""Programs with chains of slices, joins and elementwise ops, as front ends lower them."""

from __future__ import annotations


def _program(head: str, *lines: str) -> str:
    return "\n".join((f"func.func @main({head} {{", *(f"  {line}" for line in lines), "}"))


def _join(parts: str, along: int, kinds: str, result: str) -> str:
    return f"stablehlo.concatenate {parts}, dim = {along} : ({kinds}) -> {result}"


X, H, T = "tensor<4x6x16xf32>", "tensor<4x6x8xf32>", "tensor<6x8xf32>"
_SPREAD = (
    f"%cc = stablehlo.broadcast_in_dim %c, dims = [1, 2] : ({T}) -> {H}",
    f"%ss = stablehlo.broadcast_in_dim %s, dims = [1, 2] : ({T}) -> {H}",
)
_TURN = (
    *_SPREAD,
    f"%0 = stablehlo.multiply %a, %cc : {H}", f"%1 = stablehlo.multiply %b, %ss : {H}",
    f"%2 = stablehlo.subtract %0, %1 : {H}",
    f"%3 = stablehlo.multiply %b, %cc : {H}", f"%4 = stablehlo.multiply %a, %ss : {H}",
    f"%5 = stablehlo.add %3, %4 : {H}",
)  # fmt: skip
_HALVES = (
    f"%a = stablehlo.slice %w [0:4, 0:6, 0:8] : ({X}) -> {H}",
    f"%b = stablehlo.slice %w [0:4, 0:6, 8:16] : ({X}) -> {H}",
)
_ROTATED = (
    *_HALVES, *_TURN,
    f"%r = {_join('%2, %5', 2, f'{H}, {H}', X)}",
    f"%z = stablehlo.convert %r : ({X}) -> tensor<4x6x16xf16>",
)  # fmt: skip
_HEADS = (
    "%h = stablehlo.reshape %x : (tensor<6x64xf16>) -> tensor<6x4x16xf16>",
    "%o = stablehlo.transpose %h, dims = [1, 0, 2] : (tensor<6x4x16xf16>) -> tensor<4x6x16xf16>",
    f"%w = stablehlo.convert %o : (tensor<4x6x16xf16>) -> {X}",
)

HALVES = _program(
    f"%x: tensor<6x64xf16>, %c: {T}, %s: {T}) -> tensor<4x6x16xf16>",
    *_HEADS, *_ROTATED, "return %z : tensor<4x6x16xf16>",
)  # fmt: skip
AFTER_PRODUCT = _program(
    f"%y: tensor<6x32xf16>, %k: tensor<32x64xf16>, %c: {T}, %s: {T}) -> tensor<4x6x16xf16>",
    "%p = stablehlo.dot_general %y, %k, contracting_dims = [1] x [0] :"
    " (tensor<6x32xf16>, tensor<32x64xf16>) -> tensor<6x64xf32>",
    "%x = stablehlo.convert %p : (tensor<6x64xf32>) -> tensor<6x64xf16>",
    *_HEADS, *_ROTATED, "return %z : tensor<4x6x16xf16>",
)  # fmt: skip
NEGATED = _program(  # the compiler knows this form
    f"%x: tensor<4x6x16xf16>, %c: tensor<6x16xf32>, %s: tensor<6x16xf32>) -> {X}",
    f"%w = stablehlo.convert %x : (tensor<4x6x16xf16>) -> {X}", *_HALVES,
    f"%n = stablehlo.negate %b : {H}", f"%r = {_join('%n, %a', 2, f'{H}, {H}', X)}",
    f"%cc = stablehlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<6x16xf32>) -> {X}",
    f"%ss = stablehlo.broadcast_in_dim %s, dims = [1, 2] : (tensor<6x16xf32>) -> {X}",
    f"%p = stablehlo.multiply %w, %cc : {X}", f"%q = stablehlo.multiply %r, %ss : {X}",
    f"%z = stablehlo.add %p, %q : {X}", f"return %z : {X}",
)  # fmt: skip
_P, _O = "tensor<4x6x8x2xf32>", "tensor<4x6x8x1xf32>"
PAIRS = _program(
    f"%x: {X}, %c: {T}, %s: {T}) -> {X}",
    f"%w = stablehlo.reshape %x : ({X}) -> {_P}",
    f"%a0 = stablehlo.slice %w [0:4, 0:6, 0:8, 0:1] : ({_P}) -> {_O}",
    f"%a = stablehlo.reshape %a0 : ({_O}) -> {H}",
    f"%b0 = stablehlo.slice %w [0:4, 0:6, 0:8, 1:2] : ({_P}) -> {_O}",
    f"%b = stablehlo.reshape %b0 : ({_O}) -> {H}",
    *_TURN,
    f"%6 = stablehlo.reshape %2 : ({H}) -> {_O}", f"%7 = stablehlo.reshape %5 : ({H}) -> {_O}",
    f"%r = {_join('%6, %7', 3, f'{_O}, {_O}', _P)}",
    f"%f = stablehlo.reshape %r : ({_P}) -> {X}",
    f"%z = stablehlo.add %f, %f : {X}", f"return %z : {X}",
)  # fmt: skip
EVERY_OTHER = _program(
    "%x: tensor<6x16xf32>) -> tensor<6x16xf32>",
    f"%a = stablehlo.slice %x [0:6, 0:16:2] : (tensor<6x16xf32>) -> {T}",
    f"%b = stablehlo.slice %x [0:6, 1:16:2] : (tensor<6x16xf32>) -> {T}",
    f"%e = stablehlo.multiply %a, %b : {T}",
    f"%r = {_join('%e, %b', 1, f'{T}, {T}', 'tensor<6x16xf32>')}",
    "%z = stablehlo.tanh %r : tensor<6x16xf32>",
    "return %z : tensor<6x16xf32>",
)
_I = "tensor<1x5x7x32xf32>"
SKIP = _program(  # as a U-Net joins what it had before
    f"%x: tensor<1x5x7x24xf32>, %y: tensor<1x5x7x8xf32>, %b: tensor<32xf32>) -> {_I}",
    "%0 = stablehlo.tanh %y : tensor<1x5x7x8xf32>",
    f"%r = {_join('%x, %0', 3, 'tensor<1x5x7x24xf32>, tensor<1x5x7x8xf32>', _I)}",
    f"%bb = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<32xf32>) -> {_I}",
    f"%s = stablehlo.add %r, %bb : {_I}",
    f"%z = stablehlo.logistic %s : {_I}",
    f"return %z : {_I}",
)
_U = ("tensor<5x6xf32>", "tensor<5x4xf32>")
UNEVEN = _program(  # parts of no common size: elements are looked up one by one
    "%x: tensor<5x13xf32>, %y: tensor<5x6xf32>, %w: tensor<5x4xf32>) -> tensor<5x23xf32>",
    f"%r = {_join('%x, %y, %w', 1, ', '.join(('tensor<5x13xf32>', *_U)), 'tensor<5x23xf32>')}",
    "%z = stablehlo.exponential %r : tensor<5x23xf32>",
    "return %z : tensor<5x23xf32>",
)
ZEROS = _program(
    "%x: tensor<5x12xf32>) -> tensor<5x17xf32>",
    "%0 = stablehlo.constant dense<0.0> : tensor<5x5xf32>",
    f"%r = {_join('%0, %x', 1, 'tensor<5x5xf32>, tensor<5x12xf32>', 'tensor<5x17xf32>')}",
    "%z = stablehlo.cosine %r : tensor<5x17xf32>",
    "return %z : tensor<5x17xf32>",
)
_G = "tensor<8x12x4xf32>"
ROLLED = _program(  # in two dimensions, as a window transformer shifts images
    f"%x: {_G}) -> {_G}",
    f"%0 = stablehlo.slice %x [3:8, 0:12, 0:4] : ({_G}) -> tensor<5x12x4xf32>",
    f"%1 = stablehlo.slice %x [0:3, 0:12, 0:4] : ({_G}) -> tensor<3x12x4xf32>",
    f"%2 = {_join('%0, %1', 0, 'tensor<5x12x4xf32>, tensor<3x12x4xf32>', _G)}",
    f"%3 = stablehlo.slice %2 [0:8, 4:12, 0:4] : ({_G}) -> tensor<8x8x4xf32>",
    f"%4 = stablehlo.slice %2 [0:8, 0:4, 0:4] : ({_G}) -> tensor<8x4x4xf32>",
    f"%z = {_join('%3, %4', 1, 'tensor<8x8x4xf32>, tensor<8x4x4xf32>', _G)}",
    f"return %z : {_G}",
)
POSITIONS = _program(  # a body uses its loops' indices
    "%x: tensor<6x8xi32>) -> tensor<6x16xi32>",
    "%i = stablehlo.iota dim = 1 : tensor<6x8xi32>",
    "%0 = stablehlo.add %x, %i : tensor<6x8xi32>",
    "%1 = stablehlo.subtract %x, %i : tensor<6x8xi32>",
    f"%r = {_join('%0, %1', 1, 'tensor<6x8xi32>, tensor<6x8xi32>', 'tensor<6x16xi32>')}",
    "%z = stablehlo.abs %r : tensor<6x16xi32>",
    "return %z : tensor<6x16xi32>",
)
APPENDED = _program(  # a part of a tensor is written, which may be done in place
    "%x: tensor<8x16xf32>, %y: tensor<1x16xf32>) -> tensor<8x16xf32>",
    "%e = stablehlo.exponential %y : tensor<1x16xf32>",
    "%z = tensor.insert_slice %e into %x[5, 0] [1, 16] [1, 1] : tensor<1x16xf32> into tensor<8x16xf32>",
    "return %z : tensor<8x16xf32>",
)
_E, _F = "tensor<4x6x5x2xf32>", "tensor<4x6x10xf32>"
ENCODED = _program(  # a part has two loops, more often than a loop may choose
    "%x: tensor<4x6x2xf32>, %f: tensor<5xf32>) -> tensor<4x6x22xf16>",
    f"%p = stablehlo.broadcast_in_dim %x, dims = [0, 1, 3] : (tensor<4x6x2xf32>) -> {_E}",
    f"%q = stablehlo.broadcast_in_dim %f, dims = [2] : (tensor<5xf32>) -> {_E}",
    f"%m = stablehlo.multiply %p, %q : {_E}", f"%c = stablehlo.reshape %m : ({_E}) -> {_F}",
    f"%a = stablehlo.abs %c : {_F}", f"%b = stablehlo.add %c, %c : {_F}",
    f"%r = {_join('%x, %a, %b', 2, f'tensor<4x6x2xf32>, {_F}, {_F}', 'tensor<4x6x22xf32>')}",
    "%z = stablehlo.convert %r : (tensor<4x6x22xf32>) -> tensor<4x6x22xf16>",
    "return %z : tensor<4x6x22xf16>",
)  # fmt: skip

PROGRAMS = {
    "halves": HALVES, "every other": EVERY_OTHER, "pairs": PAIRS, "rolled": ROLLED, "uneven": UNEVEN,
    "skip": SKIP, "zeros": ZEROS, "positions": POSITIONS, "encoded": ENCODED,
}  # fmt: skip
