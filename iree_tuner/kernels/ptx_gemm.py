"""f16 matrix multiplications in hand-written PTX: a simple example of a kernel, to read and to copy."""

from __future__ import annotations

from importlib import resources
from itertools import product
from string import Template

from iree_tuner.kernels.kernel import Code, Knobs, Launch
from iree_tuner.kernels.problem import KernelError, Problem
from iree_tuner.kernels.product_shape import gemm_of
from iree_tuner.ops.element_type import ElementType
from iree_tuner.targets import Target

ENTRY = "iree_tuner_gemm_f16"

_SOURCE = "gemm_f16.ptx"
_TYPES = tuple(map(ElementType.named, ("f16", "f16", "f32")))
_EPILOGUES = ((), ("truncf",))
_COLUMNS = 32  # of a workgroup's tile, fixed in the source
_ROWS_OF_WARP = 16
_WARPS = (4, 8, 2)
_DEPTHS = (32, 64, 16)
_PADDING_BYTES = 16
_MOST_ELEMENTS = 2**31  # offsets are 32 bits wide


class PtxGemm:
    """Uses tensor cores by mma.sync, with tiles in shared memory. The only epilogue is a narrower result."""

    name = "ptx_gemm_f16"
    summary = "f16 matmul with f32 sums in hand-written PTX (sm_80 and later): an example to copy"
    backend = "cuda"
    example = True

    def missing(self) -> str:
        """Always empty: the source is text that the driver compiles."""
        return ""

    def refuses(self, problem: Problem) -> str:
        """Other types, layouts and epilogues, and sizes that are not multiples of the smallest tile."""
        if problem.workload.types != _TYPES:
            return f"its types are {', '.join(map(str, problem.workload.types))}, not f16 with f32 sums"
        if problem.epilogue not in _EPILOGUES:
            return f"its epilogue is {', '.join(problem.epilogue)}, not truncf alone"
        if problem.result.element_type not in ("f32", "f16"):
            return f"its result is {problem.result.element_type}, not f32 or f16"
        gemm = gemm_of(problem)
        if gemm is None or gemm.transposed:
            return "it is not a plain matrix product A B"
        if max(gemm.m * gemm.k, gemm.k * gemm.n, gemm.m * gemm.n) >= _MOST_ELEMENTS:
            return "an operand or the result has 2^31 elements or more"
        if _tiles(problem):
            return ""
        rows, depth = _ROWS_OF_WARP * min(_WARPS), min(_DEPTHS)
        return f"its sizes are not multiples of {rows} rows, {_COLUMNS} columns and a depth of {depth}"

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        """Choices of the warps of a workgroup and of a tile's depth."""
        del target
        return _tiles(problem)

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        """Insert a problem's sizes into the source. Raises KernelError for other backends and problems."""
        gemm = gemm_of(problem)
        if gemm is None or target.backend != self.backend:
            raise KernelError(f"{self.name} does not compute {problem.name} for {target}")
        rows, threads = _ROWS_OF_WARP * knobs["warps"], 32 * knobs["warps"]
        depth, a_row, b_row = (
            knobs["depth"],
            2 * knobs["depth"] + _PADDING_BYTES,
            2 * _COLUMNS + _PADDING_BYTES,
        )
        constants = {
            "N": gemm.n, "K": gemm.k, "BM": rows, "BK": depth, "THREADS": threads,
            "A_ROW": a_row, "B_ROW": b_row, "A_BYTES": rows * a_row, "B_BYTES": depth * b_row,
            "RESULT_BYTES": 4 if problem.result.element_type == "f32" else 2,
        }  # fmt: skip
        source = resources.files("iree_tuner.kernels.code") / _SOURCE
        text = Template(source.read_text(encoding="utf-8")).substitute(constants)
        launch = Launch((gemm.n // _COLUMNS, gemm.m // rows, 1), (threads, 1, 1))
        return Code("ptx", ENTRY, text.encode(), launch, knobs=dict(knobs))


def _tiles(problem: Problem) -> tuple[Knobs, ...]:
    """The knobs whose tiles divide a problem's sizes."""
    gemm = gemm_of(problem)
    if gemm is None or gemm.n % _COLUMNS:
        return ()
    return tuple(
        {"warps": warps, "depth": depth}
        for warps, depth in product(_WARPS, _DEPTHS)
        if gemm.m % (_ROWS_OF_WARP * warps) == 0 and gemm.k % depth == 0
    )
