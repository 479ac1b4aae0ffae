"""Chains of slices, joins and elementwise ops are one dispatch as one op, and compute the same."""

import re

import iree.runtime as rt
import numpy as np
import pytest

from iree_tuner.compiler.session import CompilerSession
from iree_tuner.kernels.find import find_here
from iree_tuner.targets import parse_target

HOST = parse_target("llvm-cpu:host")


def body(head: str, *lines: str) -> str:
    return "\n".join((f"func.func @main({head} {{", *lines, "}"))


ROTATE_HALF = body(
    "%x: tensor<4x6x16xf16>, %c: tensor<6x16xf32>, %s: tensor<6x16xf32>) -> tensor<4x6x16xf16>",
    "%w = stablehlo.convert %x : (tensor<4x6x16xf16>) -> tensor<4x6x16xf32>",
    "%a = stablehlo.slice %w [0:4, 0:6, 0:8] : (tensor<4x6x16xf32>) -> tensor<4x6x8xf32>",
    "%b = stablehlo.slice %w [0:4, 0:6, 8:16] : (tensor<4x6x16xf32>) -> tensor<4x6x8xf32>",
    "%n = stablehlo.negate %b : tensor<4x6x8xf32>",
    "%r = stablehlo.concatenate %n, %a, dim = 2 : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x16xf32>",
    "%cc = stablehlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<6x16xf32>) -> tensor<4x6x16xf32>",
    "%ss = stablehlo.broadcast_in_dim %s, dims = [1, 2] : (tensor<6x16xf32>) -> tensor<4x6x16xf32>",
    "%p = stablehlo.multiply %w, %cc : tensor<4x6x16xf32>",
    "%q = stablehlo.multiply %r, %ss : tensor<4x6x16xf32>",
    "%t = stablehlo.add %p, %q : tensor<4x6x16xf32>",
    "%z = stablehlo.convert %t : (tensor<4x6x16xf32>) -> tensor<4x6x16xf16>",
    "return %z : tensor<4x6x16xf16>",
)
HALVES = body(
    "%x: tensor<6x64xf16>, %c: tensor<6x8xf32>, %s: tensor<6x8xf32>) -> tensor<4x6x16xf16>",
    "%h = stablehlo.reshape %x : (tensor<6x64xf16>) -> tensor<6x4x16xf16>",
    "%o = stablehlo.transpose %h, dims = [1, 0, 2] : (tensor<6x4x16xf16>) -> tensor<4x6x16xf16>",
    "%w = stablehlo.convert %o : (tensor<4x6x16xf16>) -> tensor<4x6x16xf32>",
    "%a = stablehlo.slice %w [0:4, 0:6, 0:8] : (tensor<4x6x16xf32>) -> tensor<4x6x8xf32>",
    "%b = stablehlo.slice %w [0:4, 0:6, 8:16] : (tensor<4x6x16xf32>) -> tensor<4x6x8xf32>",
    "%cc = stablehlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<6x8xf32>) -> tensor<4x6x8xf32>",
    "%ss = stablehlo.broadcast_in_dim %s, dims = [1, 2] : (tensor<6x8xf32>) -> tensor<4x6x8xf32>",
    "%0 = stablehlo.multiply %a, %cc : tensor<4x6x8xf32>",
    "%1 = stablehlo.multiply %b, %ss : tensor<4x6x8xf32>",
    "%2 = stablehlo.subtract %0, %1 : tensor<4x6x8xf32>",
    "%3 = stablehlo.multiply %b, %cc : tensor<4x6x8xf32>",
    "%4 = stablehlo.multiply %a, %ss : tensor<4x6x8xf32>",
    "%5 = stablehlo.add %3, %4 : tensor<4x6x8xf32>",
    "%r = stablehlo.concatenate %2, %5, dim = 2 : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x16xf32>",
    "%z = stablehlo.convert %r : (tensor<4x6x16xf32>) -> tensor<4x6x16xf16>",
    "return %z : tensor<4x6x16xf16>",
)
PAIRS = body(
    "%x: tensor<4x6x16xf32>, %c: tensor<6x8xf32>, %s: tensor<6x8xf32>) -> tensor<4x6x16xf32>",
    "%w = stablehlo.reshape %x : (tensor<4x6x16xf32>) -> tensor<4x6x8x2xf32>",
    "%a0 = stablehlo.slice %w [0:4, 0:6, 0:8, 0:1] : (tensor<4x6x8x2xf32>) -> tensor<4x6x8x1xf32>",
    "%a = stablehlo.reshape %a0 : (tensor<4x6x8x1xf32>) -> tensor<4x6x8xf32>",
    "%b0 = stablehlo.slice %w [0:4, 0:6, 0:8, 1:2] : (tensor<4x6x8x2xf32>) -> tensor<4x6x8x1xf32>",
    "%b = stablehlo.reshape %b0 : (tensor<4x6x8x1xf32>) -> tensor<4x6x8xf32>",
    "%cc = stablehlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<6x8xf32>) -> tensor<4x6x8xf32>",
    "%ss = stablehlo.broadcast_in_dim %s, dims = [1, 2] : (tensor<6x8xf32>) -> tensor<4x6x8xf32>",
    "%0 = stablehlo.multiply %a, %cc : tensor<4x6x8xf32>",
    "%1 = stablehlo.multiply %b, %ss : tensor<4x6x8xf32>",
    "%2 = stablehlo.subtract %0, %1 : tensor<4x6x8xf32>",
    "%3 = stablehlo.multiply %b, %cc : tensor<4x6x8xf32>",
    "%4 = stablehlo.multiply %a, %ss : tensor<4x6x8xf32>",
    "%5 = stablehlo.add %3, %4 : tensor<4x6x8xf32>",
    "%6 = stablehlo.reshape %2 : (tensor<4x6x8xf32>) -> tensor<4x6x8x1xf32>",
    "%7 = stablehlo.reshape %5 : (tensor<4x6x8xf32>) -> tensor<4x6x8x1xf32>",
    "%r = stablehlo.concatenate %6, %7, dim = 3 : (tensor<4x6x8x1xf32>, tensor<4x6x8x1xf32>) -> tensor<4x6x8x2xf32>",
    "%f = stablehlo.reshape %r : (tensor<4x6x8x2xf32>) -> tensor<4x6x16xf32>",
    "%z = stablehlo.add %f, %f : tensor<4x6x16xf32>",
    "return %z : tensor<4x6x16xf32>",
)
EVERY_OTHER = body(
    "%x: tensor<6x16xf32>) -> tensor<6x16xf32>",
    "%a = stablehlo.slice %x [0:6, 0:16:2] : (tensor<6x16xf32>) -> tensor<6x8xf32>",
    "%b = stablehlo.slice %x [0:6, 1:16:2] : (tensor<6x16xf32>) -> tensor<6x8xf32>",
    "%e = stablehlo.multiply %a, %b : tensor<6x8xf32>",
    "%r = stablehlo.concatenate %e, %b, dim = 1 : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x16xf32>",
    "%z = stablehlo.tanh %r : tensor<6x16xf32>",
    "return %z : tensor<6x16xf32>",
)
SKIP = body(
    "%x: tensor<1x5x7x24xf32>, %y: tensor<1x5x7x8xf32>, %b: tensor<32xf32>) -> tensor<1x5x7x32xf32>",
    "%0 = stablehlo.tanh %y : tensor<1x5x7x8xf32>",
    "%r = stablehlo.concatenate %x, %0, dim = 3 :"
    " (tensor<1x5x7x24xf32>, tensor<1x5x7x8xf32>) -> tensor<1x5x7x32xf32>",
    "%bb = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<32xf32>) -> tensor<1x5x7x32xf32>",
    "%s = stablehlo.add %r, %bb : tensor<1x5x7x32xf32>",
    "%z = stablehlo.logistic %s : tensor<1x5x7x32xf32>",
    "return %z : tensor<1x5x7x32xf32>",
)
UNEVEN = body(
    "%x: tensor<5x13xf32>, %y: tensor<5x6xf32>, %w: tensor<5x4xf32>) -> tensor<5x23xf32>",
    "%r = stablehlo.concatenate %x, %y, %w, dim = 1 :"
    " (tensor<5x13xf32>, tensor<5x6xf32>, tensor<5x4xf32>) -> tensor<5x23xf32>",
    "%z = stablehlo.exponential %r : tensor<5x23xf32>",
    "return %z : tensor<5x23xf32>",
)
ZEROS = body(
    "%x: tensor<5x12xf32>) -> tensor<5x17xf32>",
    "%0 = stablehlo.constant dense<0.0> : tensor<5x5xf32>",
    "%r = stablehlo.concatenate %0, %x, dim = 1 : (tensor<5x5xf32>, tensor<5x12xf32>) -> tensor<5x17xf32>",
    "%z = stablehlo.cosine %r : tensor<5x17xf32>",
    "return %z : tensor<5x17xf32>",
)
ROLLED = body(  # of images, in both dimensions, as a window transformer shifts them
    "%x: tensor<8x12x4xf32>) -> tensor<8x12x4xf32>",
    "%0 = stablehlo.slice %x [3:8, 0:12, 0:4] : (tensor<8x12x4xf32>) -> tensor<5x12x4xf32>",
    "%1 = stablehlo.slice %x [0:3, 0:12, 0:4] : (tensor<8x12x4xf32>) -> tensor<3x12x4xf32>",
    "%2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<5x12x4xf32>, tensor<3x12x4xf32>) -> tensor<8x12x4xf32>",
    "%3 = stablehlo.slice %2 [0:8, 4:12, 0:4] : (tensor<8x12x4xf32>) -> tensor<8x8x4xf32>",
    "%4 = stablehlo.slice %2 [0:8, 0:4, 0:4] : (tensor<8x12x4xf32>) -> tensor<8x4x4xf32>",
    "%z = stablehlo.concatenate %3, %4, dim = 1 : (tensor<8x8x4xf32>, tensor<8x4x4xf32>) -> tensor<8x12x4xf32>",
    "return %z : tensor<8x12x4xf32>",
)
POSITIONS = body(  # an index that a body uses
    "%x: tensor<6x8xi32>) -> tensor<6x16xi32>",
    "%i = stablehlo.iota dim = 1 : tensor<6x8xi32>",
    "%0 = stablehlo.add %x, %i : tensor<6x8xi32>",
    "%1 = stablehlo.subtract %x, %i : tensor<6x8xi32>",
    "%r = stablehlo.concatenate %0, %1, dim = 1 : (tensor<6x8xi32>, tensor<6x8xi32>) -> tensor<6x16xi32>",
    "%z = stablehlo.abs %r : tensor<6x16xi32>",
    "return %z : tensor<6x16xi32>",
)
PROGRAMS = {
    "halves": HALVES, "pairs": PAIRS, "every other": EVERY_OTHER, "skip": SKIP,
    "uneven": UNEVEN, "zeros": ZEROS, "rolled": ROLLED, "positions": POSITIONS,
}  # fmt: skip


def chains_in(text: str, target=HOST):
    places = find_here(text.encode(), "p.mlir", target, chains=True).places
    return [place.sites[0] for place in places if place.sites[0].problem.fused]


def results(program: bytes, arrays):
    session = CompilerSession(HOST.flags)
    with session.context:
        data = session.to_vmfb(session.parse(program))
    context = rt.SystemContext(config=rt.Config("local-sync"))
    context.add_vm_module(rt.VmModule.copy_buffer(context.instance, data))
    return context.modules.module["main"](*arrays).to_host()


def inputs_of(site, *, special: bool):
    """Random numbers, and now and then one that is none or infinite."""
    rng = np.random.default_rng(0)
    found = []
    for each in site.problem.inputs:
        if each.element_type == "i32":
            found.append(rng.integers(-100, 100, each.shape, dtype=np.int32))
            continue
        kind = {"f16": np.float16, "f32": np.float32}[each.element_type]
        values = rng.standard_normal(each.shape).astype(kind)
        if special:
            values[rng.random(each.shape) < 0.2] = np.inf
            values[rng.random(each.shape) < 0.1] = np.nan
        found.append(values)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_chain_is_one_op_with_the_same_results(name: str) -> None:
    (site,) = chains_in(PROGRAMS[name])
    assert len(re.findall("linalg.generic", site.problem.fused.decode())) == 1
    for special in (False, True):
        given = inputs_of(site, special=special)
        np.testing.assert_array_equal(results(site.case, given), results(site.problem.fused, given))
