"""f32 matrix multiplications and convolutions in C with vector types, compiled by gcc or clang."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib import resources
from itertools import product
from pathlib import Path

from iree_tuner.kernels.kernel import Code, Knobs, Launch
from iree_tuner.kernels.problem import Conv, Gemm, KernelError, Problem, conv_of, gemm_of
from iree_tuner.ops.element_type import ElementType
from iree_tuner.targets import Target

ENTRY = "iree_tuner_gemm_f32"

_SOURCE = "gemm_f32.c"
_TYPES = tuple(map(ElementType.named, ("f32", "f32", "f32")))
_STEPS = ("bias", "residual", "relu", "gelu", "gelu_tanh")  # in any order
_EXTRAS = ("bias", "residual")  # those that have an operand
# Freestanding: the object is linked into an executable that has no C library.
_FLAGS = (
    "-O3", "-std=gnu11", "-ffreestanding", "-fno-builtin", "-fPIC", "-fvisibility=hidden", "-fno-math-errno",
    "-ffp-contract=fast", "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fno-tree-vectorize",
)  # fmt: skip
_TIMEOUT_S = 60.0
_ROWS = (4, 5, 6, 8, 10, 12)
_VECTORS = (1, 2, 3, 4)
_DEPTHS = (128, 256, 512)
_HEIGHTS = (32, 64, 128, 256)  # rows of a workgroup, about
_REGISTERS = {32: 16, 64: 32, 16: 32}  # by bytes of a vector: AVX2, AVX-512, NEON
_MOST_STACK = 128 * 1024


class CGemm:
    """Packs the right operand and keeps a tile of the result in registers; no edges in columns."""

    name = "c_gemm_f32"
    summary = "f32 matmul and 2-D convolution (nhwc, hwcf) in C, packed, register tiles, epilogues"
    backend = "llvm-cpu"

    def missing(self) -> str:
        """A C compiler that runs here."""
        return "" if compiler() else "no C compiler: install gcc or clang, or set CC"

    def tools(self) -> tuple[str, ...]:
        """The C compiler."""
        return (compiler_version(),)

    def refuses(self, problem: Problem) -> str:
        """Other types, an epilogue, other layouts, columns that no tile divides."""
        if problem.workload.types != _TYPES:
            return f"its types are {', '.join(map(str, problem.workload.types))}, not f32"
        unknown = [step for step in problem.epilogue if step not in _STEPS]
        if unknown:
            return f"its epilogue has {unknown[0]}, which is not one of {', '.join(_STEPS)}"
        if any(each.element_type != "f32" for each in problem.inputs):
            return "an operand of its epilogue is not f32"
        columns = _columns(problem)
        if columns is None:
            return "it is not A B, A Bt or a convolution of nhwc by hwcf"
        return "" if columns % 16 == 0 else f"its {columns} columns are not a multiple of 16"

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        """Tiles that fit into registers, wide ones first."""
        del target
        return tuple(sorted(_variants(problem, lanes()), key=lambda each: _misfit(problem, each)))

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        """Compile the source for a problem. Raises KernelError with the C compiler's first error."""
        if target.chip.partition("+")[0] != "host":
            raise KernelError(f"{self.name} is compiled for this machine, not for {target}")
        macros = {**_macros(problem), **{name.upper(): str(value) for name, value in knobs.items()}}
        macros["LANES"] = str(lanes())
        # Executables of a program are linked into one: each has its own name.
        entry = f"{ENTRY}_{hashlib.sha256(repr(sorted(macros.items())).encode()).hexdigest()[:12]}"
        data = _compiled({**macros, "ENTRY": entry})
        columns, tiles = _columns(problem) or 0, _tiles(problem, knobs["rows"])
        launch = Launch((columns // knobs["columns"], -(-tiles // knobs["tiles"]), 1))
        return Code("object", entry, data, launch, knobs=dict(knobs))


@cache
def compiler() -> str:
    """The C compiler: CC, gcc or clang; empty where there is none."""
    return next(
        (path for name in (os.environ.get("CC"), "gcc", "clang") if name and (path := shutil.which(name))), ""
    )


@cache
def compiler_version() -> str:
    """What the C compiler says that it is."""
    command = [compiler(), "--version"]
    return subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False).stdout


@cache
def lanes() -> int:
    """Numbers of f32 in a vector register of this machine, as its C compiler tells."""
    command = [compiler(), "-march=native", "-dM", "-E", "-x", "c", os.devnull]
    macros = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False).stdout
    sizes = {"__AVX512F__": 16, "__AVX__": 8}
    return next((size for name, size in sizes.items() if f"#define {name} 1" in macros), 4)


def _variants(problem: Problem, width: int) -> Iterator[Knobs]:
    columns = _columns(problem) or 0
    registers = _REGISTERS[width * 4]
    for rows, vectors, depth in product(_ROWS, _VECTORS, _DEPTHS):
        wide = vectors * width
        # The sums, a vector of each column, and one number that is spread over a vector.
        if rows * vectors + vectors + 1 > registers or columns % wide or depth * wide * 4 > _MOST_STACK:
            continue
        tiles = _tiles(problem, rows)
        heights = dict.fromkeys(min(tiles, max(1, height // rows)) for height in _HEIGHTS)
        for factor, height in product((1, 2, 4), heights):
            if columns % (wide * factor) == 0:
                sizes = {"rows": rows, "vectors": vectors, "depth": depth}
                yield {**sizes, "columns": wide * factor, "tiles": height}


def _misfit(problem: Problem, knobs: Knobs) -> tuple[float, ...]:
    """Small for what is probably fast: much work for each load, few rows that a tile lacks."""
    rows, vectors = knobs["rows"], knobs["vectors"]
    width = _width(problem)
    waste = -(-width // rows) * rows / width
    return (waste * (1 / rows + 1 / vectors), abs(knobs["depth"] - 256), -knobs["tiles"], knobs["columns"])


def _columns(problem: Problem) -> int | None:
    gemm, conv = gemm_of(problem), conv_of(problem)
    return gemm.n if gemm else conv.filters if conv else None


def _width(problem: Problem) -> int:
    gemm, conv = gemm_of(problem), conv_of(problem)
    return gemm.m if gemm else conv.out_w if conv else 1


def _tiles(problem: Problem, rows: int) -> int:
    conv = conv_of(problem)
    lines = conv.batch * conv.out_h if conv else 1
    return lines * -(-_width(problem) // rows)


def _macros(problem: Problem) -> dict[str, str]:
    gemm, conv = gemm_of(problem), conv_of(problem)
    found = _of_gemm(gemm) if gemm else _of_conv(problem, conv) if conv else {}
    found["EXTRAS"] = " ".join(f"EXTRA({step})" for step in problem.epilogue if step in _EXTRAS)
    found["STEPS"] = " ".join(f"STEP({step})" for step in problem.epilogue)
    return {name: str(value) for name, value in found.items()}


def _of_gemm(gemm: Gemm) -> dict[str, int | str]:
    row, column = (1, gemm.k) if gemm.transposed else (gemm.n, 1)
    return {
        "LINES": 1, "WIDTH": gemm.m, "LINES_OF_IMAGE": 1, "IMAGE": 0, "LINE": 0, "PIXEL": gemm.k,
        "FILTERS": gemm.n, "CHANNELS": gemm.k, "PLACES": 1, "PLACE_OFFSETS": "0",
        "RIGHT_ROW": row, "RIGHT_COLUMN": column,
    }  # fmt: skip


def _of_conv(problem: Problem, conv: Conv) -> dict[str, int | str]:
    _, height, width, channels = problem.inputs[0].shape  # an image may have more than what is read
    line = width * channels
    offsets = [
        (y * conv.dilations[0] * line) + x * conv.dilations[1] * channels
        for y in range(conv.window_h)
        for x in range(conv.window_w)
    ]
    return {
        "LINES": conv.batch * conv.out_h, "WIDTH": conv.out_w, "LINES_OF_IMAGE": conv.out_h,
        "IMAGE": height * line, "LINE": conv.strides[0] * line, "PIXEL": conv.strides[1] * channels,
        "FILTERS": conv.filters, "CHANNELS": channels, "PLACES": len(offsets),
        "PLACE_OFFSETS": ",".join(map(str, offsets)), "RIGHT_ROW": conv.filters, "RIGHT_COLUMN": 1,
    }  # fmt: skip


def _compiled(macros: dict[str, str]) -> bytes:
    source = resources.files("iree_tuner.kernels.code") / _SOURCE
    with resources.as_file(source) as path, tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        output = Path(folder) / "kernel.o"
        defined = [f"-D{name}={value}" for name, value in macros.items()]
        command = [compiler(), *_FLAGS, "-march=native", *defined, "-c", str(path), "-o", str(output)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise KernelError(f"the C compiler took longer than {_TIMEOUT_S:.0f} s") from None
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
            raise KernelError(f"the C compiler rejected {_SOURCE}: {first}")
        return output.read_bytes()
