"""Matrix multiplications for NVIDIA GPUs, by Triton's ahead-of-time compiler, which needs no GPU."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from itertools import product
from typing import Any

from iree_tuner.kernels.kernel import Code, Knobs, Launch
from iree_tuner.kernels.problem import Gemm, KernelError, Problem, gemm_of
from iree_tuner.kernels.ptx import without_unused
from iree_tuner.targets import Target

_ARCHITECTURE = 90  # the instructions and the copy engine that the sources are for
_PTX_VERSION = 86  # what drivers of CUDA 12.6 and later take; Triton asks for the newest that it knows
_SHARED_BYTES = 227 * 1024  # of a workgroup: CUDA C++ Programming Guide, compute capability 9.0
_MULTIPROCESSORS = 132  # of an H100 SXM and an H200
_GROUP = 8

_ELEMENTS = {"f16": "*fp16", "bf16": "*bf16", "f32": "*fp32"}
_STEPS = ("bias", "residual", "relu", "gelu", "gelu_tanh", "truncf")  # in any order
_SCRATCH, _PARAMETERS = 5, ("a", "b", "first", "second", "c")


class TritonGemm:
    """f16 and bf16 with f32 sums: tensor cores by groups of warps, asynchronous or bulk copies, pipelined."""

    name = "triton_gemm"
    summary = "f16 and bf16 matmul with f32 sums and epilogues, for Hopper, by Triton"
    backend = "cuda"

    def missing(self) -> str:
        """Triton."""
        return "" if find_spec("triton") else "Triton is not installed: pip install 'iree-tuner[triton]'"

    def tools(self) -> tuple[str, ...]:
        """Triton."""
        return (f"triton {version('triton')}",)

    def refuses(self, problem: Problem) -> str:
        """Other types, layouts and epilogues, and sizes that no tile divides."""
        lhs, rhs, sums = problem.workload.types
        if lhs != rhs or lhs not in ("f16", "bf16") or sums != "f32":
            return f"its types are {', '.join(problem.workload.types)}, not f16 or bf16 with f32 sums"
        unknown = [step for step in problem.epilogue if step not in _STEPS]
        if unknown:
            return f"its epilogue has {unknown[0]}, which is none of {', '.join(_STEPS)}"
        if any(each.element_type not in _ELEMENTS for each in (*problem.inputs, problem.result)):
            return "an operand of its epilogue or its result is not f16, bf16 or f32"
        gemm = gemm_of(problem)
        if gemm is None:
            return "it is no A B or A Bt"
        return "" if next(_variants(gemm, 2), None) else "no tile divides its sizes"

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
        compiled = _compiled(problem, gemm, knobs)
        shared = int(compiled.metadata.shared)
        if shared > _SHARED_BYTES:
            raise KernelError(f"it needs {shared} bytes of shared memory, of {_SHARED_BYTES}")
        ptx = without_unused(compiled.asm["ptx"])
        bindings = [*range(len(problem.inputs)), len(_PARAMETERS) - 1]
        if list(ptx.kept) not in (bindings, [*bindings, _SCRATCH]):
            raise KernelError(f"Triton's kernel reads the parameters {ptx.kept}, which no binding is for")
        workgroups = _workgroups(gemm, knobs)
        scratch = int(compiled.metadata.global_scratch_size) * workgroups if _SCRATCH in ptx.kept else 0
        launch = Launch((workgroups, 1, 1), (32 * knobs["warps"], 1, 1), shared)
        return Code("ptx", ptx.entry, ptx.text.encode(), launch, scratch, dict(knobs))


def _compiled(problem: Problem, gemm: Gemm, knobs: Knobs) -> Any:  # noqa: ANN401 - Triton has no types
    from triton import compile as compile_  # pyright: ignore
    from triton.backends.compiler import GPUTarget  # pyright: ignore
    from triton.compiler import ASTSource  # pyright: ignore

    from iree_tuner.kernels import triton_source

    extras = [step for step in problem.epilogue if step in ("bias", "residual")]
    constants: dict[str, int | bool | tuple[str, ...]] = {
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
    inputs = [_ELEMENTS[each.element_type] for each in problem.inputs]
    missing = [inputs[0]] * (len(_PARAMETERS) - 1 - len(inputs))  # are not read
    kinds = [*inputs, *missing, _ELEMENTS[problem.result.element_type]]
    pointers = dict(zip(_PARAMETERS, kinds, strict=True))
    aligned = {(number,): [["tt.divisibility", 16]] for number in range(len(pointers))}
    source = ASTSource(function, {**pointers, **dict.fromkeys(constants, "constexpr")}, constants, aligned)
    options = {"num_warps": knobs["warps"], "num_stages": knobs["stages"], "ptx_version": _PTX_VERSION}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return compile_(source, target=GPUTarget("cuda", _ARCHITECTURE, 32), options=options)
        except Exception as error:  # it raises what its passes and ptxas raise
            first = next(iter(str(error).strip().splitlines()), "")
            raise KernelError(f"Triton refused: {type(error).__name__}: {first}") from error


def _variants(gemm: Gemm, result_bytes: int) -> Iterator[Knobs]:
    tiles = product((64, 128, 256), (32, 64, 128, 256), (64, 128), (4, 8), (3, 4, 5, 6))
    for bm, bn, bk, warps, stages in tiles:
        if gemm.m % bm or gemm.n % bn or gemm.k % bk or not _balanced(bm * bn, warps):
            continue
        shared = (bm + bn) * bk * 2 * stages
        if shared > _SHARED_BYTES:
            continue
        knobs = {"bm": bm, "bn": bn, "bk": bk, "warps": warps, "stages": stages}
        yield {**knobs, "persistent": 0}
        count = (gemm.m // bm) * (gemm.n // bn)
        for parts, flatten in ((1, 0), (1, 1), (2, 1)):
            fits = shared + bm * bn * result_bytes // parts <= _SHARED_BYTES
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
