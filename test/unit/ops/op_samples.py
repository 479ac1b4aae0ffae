"""Payloads: functions as tuning specs see them, by kind of op."""

from functools import cache

from iree.compiler import ir
from iree.compiler.passmanager import PassManager

from iree_tuner.compiler.context import new_context
from iree_tuner.ops.check import Sample
from iree_tuner.ops.family import describe
from iree_tuner.ops.workload import Workload

MATMUL = """
func.func @f(%a: tensor<{m}x{k}x{lhs}>, %b: tensor<{k}x{n}x{rhs}>, %c: tensor<{m}x{n}x{out}>)
    -> tensor<{m}x{n}x{out}> {{
  %r = linalg.matmul ins(%a, %b : tensor<{m}x{k}x{lhs}>, tensor<{k}x{n}x{rhs}>)
    outs(%c : tensor<{m}x{n}x{out}>) -> tensor<{m}x{n}x{out}>
  return %r : tensor<{m}x{n}x{out}>
}}
"""


def matmul(m=6, n=10, k=14, lhs="f32", rhs="f32", out="f32") -> str:
    return MATMUL.format(m=m, n=n, k=k, lhs=lhs, rhs=rhs, out=out)


def generic(loops: str, maps: list[str], kinds: str, types: list[str], body: str) -> str:
    """A function around one generic: its last type is the init's, `kinds` like `ppr`; `body` has %x %y %o."""
    affine = ", ".join(f"affine_map<({loops}) -> ({each})>" for each in maps)
    iterators = ", ".join({"p": '"parallel"', "r": '"reduction"'}[kind] for kind in kinds)
    names = [f"%v{index}" for index in range(len(types))]
    elements = [each.removesuffix(">").rpartition("x")[2] for each in types]
    inner = [*("%x", "%y")[: len(types) - 1], "%o"]
    arguments = ", ".join(f"{name}: {each}" for name, each in zip(names, types, strict=True))
    block = ", ".join(f"{name}: {each}" for name, each in zip(inner, elements, strict=True))
    ins = f"ins({', '.join(names[:-1])} : {', '.join(types[:-1])})"
    return f"""
func.func @f({arguments}) -> {types[-1]} {{
  %r = linalg.generic {{indexing_maps = [{affine}], iterator_types = [{iterators}]}}
    {ins} outs({names[-1]} : {types[-1]}) {{
  ^bb0({block}):
    {body}
  }} -> {types[-1]}
  return %r : {types[-1]}
}}
"""


MAC = "%p = arith.mulf %x, %y : f32 %s = arith.addf %o, %p : f32 linalg.yield %s : f32"


def named(name: str, operands: list[str], attributes: str = "") -> str:
    """A function around one named op of two inputs and an init."""
    lhs, rhs, out = operands
    return f"""
func.func @f(%a: {lhs}, %b: {rhs}, %c: {out}) -> {out} {{
  %r = linalg.{name} {attributes} ins(%a, %b : {lhs}, {rhs}) outs(%c : {out}) -> {out}
  return %r : {out}
}}
"""


ATTENTION = """
#q = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#k = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#v = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#s = affine_map<(b, m, n, k1, k2) -> ()>
#o = affine_map<(b, m, n, k1, k2) -> (b, m, n)>
func.func @f(%q: tensor<2x6x10xf16>, %k: tensor<2x14x10xf16>, %v: tensor<2x14x18xf16>, %s: f16,
             %o: tensor<2x6x18xf16>) -> tensor<2x6x18xf16> {
  %r = iree_linalg_ext.attention <indexing_maps = [#q, #k, #v, #s, #o]>
    ins(%q, %k, %v, %s : tensor<2x6x10xf16>, tensor<2x14x10xf16>, tensor<2x14x18xf16>, f16)
    outs(%o : tensor<2x6x18xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<2x6x18xf16>
  return %r : tensor<2x6x18xf16>
}
"""

SCALED = """
#l = affine_map<(m, n, k, b) -> (m, k, b)>
#r = affine_map<(m, n, k, b) -> (n, k, b)>
#ls = affine_map<(m, n, k, b) -> (m, k)>
#rs = affine_map<(m, n, k, b) -> (n, k)>
#o = affine_map<(m, n, k, b) -> (m, n)>
func.func @f(%a: tensor<16x4x32xf4E2M1FN>, %b: tensor<8x4x32xf4E2M1FN>, %as: tensor<16x4xf8E8M0FNU>,
             %bs: tensor<8x4xf8E8M0FNU>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %r = linalg.generic {indexing_maps = [#l, #r, #ls, #rs, #o],
                       iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
    ins(%a, %b, %as, %bs : tensor<16x4x32xf4E2M1FN>, tensor<8x4x32xf4E2M1FN>, tensor<16x4xf8E8M0FNU>,
        tensor<8x4xf8E8M0FNU>) outs(%c : tensor<16x8xf32>) {
  ^bb0(%x: f4E2M1FN, %y: f4E2M1FN, %xs: f8E8M0FNU, %ys: f8E8M0FNU, %o: f32):
    %1 = arith.scaling_extf %x, %xs : f4E2M1FN, f8E8M0FNU to f32
    %2 = arith.scaling_extf %y, %ys : f4E2M1FN, f8E8M0FNU to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}
"""

SOFTMAX = """
func.func @f(%a: tensor<6x10xf32>) -> tensor<6x10xf32> {
  %e = tensor.empty() : tensor<6x10xf32>
  %r = linalg.softmax dimension(1) ins(%a : tensor<6x10xf32>) outs(%e : tensor<6x10xf32>) -> tensor<6x10xf32>
  return %r : tensor<6x10xf32>
}
"""

LAYERNORM = """
#full = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
func.func @f(%a: tensor<6x10xf32>, %mean: tensor<6xf32>) -> tensor<6x10xf32> {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 10.0 : f32
  %rows = tensor.empty() : tensor<6xf32>
  %all = tensor.empty() : tensor<6x10xf32>
  %init = linalg.fill ins(%zero : f32) outs(%rows : tensor<6xf32>) -> tensor<6xf32>
  %sum = linalg.generic {indexing_maps = [#full, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a, %mean : tensor<6x10xf32>, tensor<6xf32>) outs(%init : tensor<6xf32>) {
  ^bb0(%x: f32, %m: f32, %o: f32):
    %d = arith.subf %x, %m : f32
    %q = arith.mulf %d, %d : f32
    %s = arith.addf %q, %o : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  %r = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]}
    ins(%a, %sum : tensor<6x10xf32>, tensor<6xf32>) outs(%all : tensor<6x10xf32>) {
  ^bb0(%x: f32, %v: f32, %o: f32):
    %d = arith.divf %v, %count : f32
    %s = math.rsqrt %d : f32
    %y = arith.mulf %x, %s : f32
    linalg.yield %y : f32
  } -> tensor<6x10xf32>
  return %r : tensor<6x10xf32>
}
"""


@cache
def _context() -> ir.Context:
    return new_context()


def prepare(text: str, *passes: str) -> ir.Module:
    """Parse, and run passes on each function. All are in one context: each takes 20 ms."""
    context = _context()
    module = ir.Module.parse(text, context)
    if passes:
        pipeline = f"builtin.module(func.func({','.join(passes)}))"
        PassManager.parse(pipeline, context=context).run(module.operation)
    return module


def online_attention() -> str:
    return str(prepare(ATTENTION, "iree-linalg-ext-convert-attention-to-online-attention"))


def softmax() -> str:
    return str(prepare(SOFTMAX, "iree-codegen-decompose-softmax"))


def workloads(source: str | ir.Module) -> list[Workload]:
    """Everything described in a module, in order; found through the installed families."""
    module = prepare(source) if isinstance(source, str) else source
    found: list[Workload] = []

    def look(op: ir.Operation) -> ir.WalkResult:
        workload = describe(op)
        if workload is not None:
            found.append(workload)
        return ir.WalkResult.ADVANCE

    module.operation.walk(look)
    return found


def only(source: str | ir.Module) -> Workload:
    (found,) = workloads(source)
    return found


def sample(payload: str, *near_misses: str) -> Sample:
    return Sample("payload", payload, near_misses)
