"""Matrix multiplications for NVIDIA GPUs, by Triton's ahead-of-time compiler, which needs no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from iree_tuner.kernels.kernel import Code, Knobs
from iree_tuner.kernels.problem import Gemm, KernelError, Problem, gemm_of
from iree_tuner.kernels.triton_code import ELEMENTS, SHARED_BYTES, TritonKernel, code_of, compiled
from iree_tuner.ops.contraction import is_contraction
from iree_tuner.targets import Target

_MULTIPROCESSORS = 132  # of an H100 SXM and an H200
_GROUP = 8

_STEPS = ("bias", "residual", "relu", "gelu", "gelu_tanh", "truncf")  # in any order
_SCRATCH, _PARAMETERS = 5, ("a", "b", "first", "second", "c")


class TritonGemm(TritonKernel):
    """f16 and bf16 with f32 sums: tensor cores by groups of warps, asynchronous or bulk copies, pipelined."""

    name = "triton_gemm"
    summary = "f16 and bf16 matmul with f32 sums and epilogues, for Hopper, by Triton"

    def refuses(self, problem: Problem) -> str:
        """Other types, layouts and epilogues, and sizes that no tile divides."""
        if not is_contraction(problem.workload):
            return "it is not A B or A Bt"
        lhs, rhs, sums = map(str, problem.workload.types)
        if lhs != rhs or lhs not in ("f16", "bf16") or sums != "f32":
            return f"its types are {', '.join((lhs, rhs, sums))}, not f16 or bf16 with f32 sums"
        unknown = [step for step in problem.epilogue if step not in _STEPS]
        if unknown:
            return f"its epilogue has {unknown[0]}, which is not one of {', '.join(_STEPS)}"
        if any(each.element_type not in ELEMENTS for each in (*problem.inputs, problem.result)):
            return "an operand of its epilogue or its result is not f16, bf16 or f32"
        gemm = gemm_of(problem)
        if gemm is None:
            return "it is not A B or A Bt"
        return "" if next(_variants(gemm, 2), None) else "no tile size divides its sizes"

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        """Tiles that divide the sizes and whose stages fit into shared memory, promising ones first."""
        del target
        gemm = gemm_of(problem)
        if gemm is None:
            return ()
        result_bytes = 2 if problem.result.element_type != "f32" else 4
        return tuple(sorted(_variants(gemm, result_bytes), key=lambda each: _misfit(gemm, each)))

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        """Compile the source for a problem. Raises KernelError where Triton refuses it."""
        gemm = gemm_of(problem)
        if gemm is None or target.backend != self.backend:
            raise KernelError(f"{self.name} does not compute {problem.name} for {target}")
        made = _compiled(problem, gemm, knobs)
        return code_of(
            made,
            [*range(len(problem.inputs)), _SCRATCH - 1],
            _SCRATCH,
            (_workgroups(gemm, knobs), 1, 1),
            knobs,
        )


def _compiled(problem: Problem, gemm: Gemm, knobs: Knobs) -> Any:  # noqa: ANN401 - Triton has no types
    from iree_tuner.kernels import triton_source

    extras = [step for step in problem.epilogue if step in ("bias", "residual")]
    constants: dict[str, object] = {
        "M": gemm.m, "N": gemm.n, "K": gemm.k, "TRANSPOSED": gemm.transposed,
        "STEPS": problem.epilogue, "SWAPPED": bool(extras) and extras[0] == "residual",
        "BM": knobs["bm"], "BN": knobs["bn"], "BK": knobs["bk"], "GROUP": _GROUP,
    }  # fmt: skip
    function = triton_source.plain
    if knobs["persistent"]:
        function = triton_source.persistent
        constants |= {
            "WORKGROUPS": _workgroups(gemm, knobs),
            "PARTS": knobs["parts"],
            "FLATTEN": bool(knobs["flatten"]),
        }
    inputs = [ELEMENTS[each.element_type] for each in problem.inputs]
    missing = [inputs[0]] * (len(_PARAMETERS) - 1 - len(inputs))  # are not read
    kinds = [*inputs, *missing, ELEMENTS[problem.result.element_type]]
    pointers = dict(zip(_PARAMETERS, kinds, strict=True))
    return compiled(function, pointers, constants, knobs)


def _variants(gemm: Gemm, result_bytes: int) -> Iterator[Knobs]:
    tiles = product((64, 128, 256), (32, 64, 128, 256), (64, 128), (4, 8), (3, 4, 5, 6))
    for bm, bn, bk, warps, stages in tiles:
        if gemm.m % bm or gemm.n % bn or gemm.k % bk or not _balanced(bm * bn, warps):
            continue
        shared = (bm + bn) * bk * 2 * stages
        if shared > SHARED_BYTES:
            continue
        knobs = {"bm": bm, "bn": bn, "bk": bk, "warps": warps, "stages": stages}
        yield {**knobs, "persistent": 0}
        count = (gemm.m // bm) * (gemm.n // bn)
        for parts, flatten in ((1, 0), (1, 1), (2, 1)):
            fits = shared + bm * bn * result_bytes // parts <= SHARED_BYTES
            wide = parts == 1 or bn >= 128
            if fits and wide and (not flatten or count > _MULTIPROCESSORS):
                yield {**knobs, "persistent": 1, "parts": parts, "flatten": flatten}


def _balanced(results: int, warps: int) -> bool:
    """Whether a warp holds neither too many sums for its registers nor too few to be busy."""
    return 16 <= results / (warps * 32) <= 128


def _workgroups(gemm: Gemm, knobs: Knobs) -> int:
    tiles = (gemm.m // knobs["bm"]) * (gemm.n // knobs["bn"])
    return min(_MULTIPROCESSORS, tiles) if knobs["persistent"] else tiles


def _misfit(gemm: Gemm, knobs: Knobs) -> tuple[float, ...]:
    """Small for what is probably fast: full waves of workgroups, large tiles, deep pipelines."""
    bm, bn = knobs["bm"], knobs["bn"]
    tiles = (gemm.m // bm) * (gemm.n // bn)
    waves = -(-tiles // _MULTIPROCESSORS) * _MULTIPROCESSORS / tiles
    traffic = 1 / bm + 1 / bn  # bytes from memory and shared memory for each product
    return (waves * (1 + 64 * traffic), -(knobs["stages"] * knobs["bk"]), knobs.get("parts", 1))
