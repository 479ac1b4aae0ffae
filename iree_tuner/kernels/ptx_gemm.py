"""f16 matrix multiplications in hand-written PTX: a simple example of a kernel, to read and to copy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources
from itertools import product
from string import Template

from iree_tuner.kernels.kernel import Code, KernelError, Knobs, Launch, Problem
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
        return _tiles(problem)

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        """Insert a problem's sizes into the source. Raises KernelError for other backends and problems."""
        gemm = gemm_of(problem)
        if gemm is None or target.backend != self.backend:
            raise KernelError(f"{self.name} does not compute {problem.name} for {target}")
        rows, threads = _ROWS_OF_WARP * knobs["warps"], 32 * knobs["warps"]
        depth, b_row = knobs["depth"], 2 * _COLUMNS + _PADDING_BYTES
        a_row = 2 * depth + _PADDING_BYTES
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
    gemm = gemm_of(problem)
    if gemm is None or gemm.n % _COLUMNS:
        return ()
    return tuple(
        {"warps": warps, "depth": depth}
        for warps, depth in product(_WARPS, _DEPTHS)
        if gemm.m % (_ROWS_OF_WARP * warps) == 0 and gemm.k % depth == 0
    )


# Adapt PTX to the calls of IREE's CUDA driver, which passes only one pointer for each binding.
#
# Triton's kernels have all parameters of their function, also unused ones, and two more pointers: scratch
# memory of the workgroups, for tensor descriptors, and memory for a profiler. Parameters that the code never
# reads are removed here. The remaining parameters are the bindings: inputs, result and, if it is read,
# scratch memory.
#
# Dynamic shared memory is not a parameter. The launch gives its size (`Launch.shared_bytes`, in HAL's export
# `workgroup_local_memory`).


_ENTRY = re.compile(r"\.entry\s+(?P<name>[\w$]+)\s*\((?P<parameters>[^)]*)\)")
_NAME = re.compile(r"([\w$]+)\s*$")


@dataclass(frozen=True)
class Ptx:
    """A kernel's text with only the parameters that it reads; `kept` has their original numbers."""

    text: str
    entry: str
    kept: tuple[int, ...]


def without_unused(text: str, suffix: str = "") -> Ptx:
    """Remove unread parameters of a module's only entry, and add to its name.

    Raises KernelError unless the module has one entry.
    """
    found = list(_ENTRY.finditer(text))
    if len(found) != 1:
        raise KernelError(f"the PTX has {len(found)} entries, not one")
    (entry,) = found
    parameters = [each.strip() for each in entry["parameters"].split(",") if each.strip()]
    kept = [number for number, each in enumerate(parameters) if _is_read(each, text)]
    list_ = ",\n\t".join(parameters[number] for number in kept)
    start, end = entry.span("parameters")
    name = entry["name"] + suffix
    before = text[: entry.start("name")] + name + text[entry.end("name") : start]
    return Ptx(f"{before}\n\t{list_}\n{text[end:]}", name, tuple(kept))


def in_clusters(text: str, count: int) -> str:
    """Make `count` consecutive workgroups a cluster: they run together, and can wait for each other.

    Raises KernelError if the entry does not declare its number of threads.
    """
    found = re.search(r"^\.(?:reqntid|maxntid)[^\n]*\n", text, re.MULTILINE)
    if found is None:
        raise KernelError("the PTX does not say how many threads a workgroup has")
    wanted = f".explicitcluster\n.reqnctapercluster {count}, 1, 1\n"
    return f"{text[: found.end()]}{wanted}{text[found.end() :]}"


def _is_read(parameter: str, text: str) -> bool:
    named = _NAME.search(parameter)
    if named is None:
        raise KernelError(f"a parameter of the PTX has no name: {parameter}")
    return len(re.findall(rf"(?<![\w$]){re.escape(named[1])}(?![\w$])", text)) > 1
