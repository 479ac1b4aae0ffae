"""f32 matrix multiplications and convolutions in C with vector types, compiled by gcc or clang."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path

from iree_tuner.kernels.c_plan import Plan, plans
from iree_tuner.kernels.c_shape import shape_of
from iree_tuner.kernels.kernel import Code, Knobs, Launch
from iree_tuner.kernels.problem import KernelError, Problem
from iree_tuner.ops.element_type import ElementType
from iree_tuner.targets import Target

ENTRY = "iree_tuner_gemm_f32"

_SOURCE = "gemm_f32.c"
_TYPES = tuple(map(ElementType.named, ("f32", "f32", "f32")))
_STEPS = (
    "bias", "channel_bias", "residual", "relu", "relu_ordered", "at_most_6", "gelu", "gelu_tanh",
)  # fmt: skip
"""In any order."""
_EXTRAS = ("bias", "channel_bias", "residual")  # those that have an operand
# Freestanding: the object is linked into an executable that has no C library.
_FLAGS = (
    "-O3", "-std=gnu11", "-ffreestanding", "-fno-builtin", "-fPIC", "-fvisibility=hidden", "-fno-math-errno",
    "-ffp-contract=fast", "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fno-tree-vectorize",
)  # fmt: skip
_TIMEOUT_S = 60.0


class CGemm:
    """Keeps a tile of the result in registers; packs operands where that helps; any sizes."""

    name = "c_gemm_f32"
    summary = "f32 products and 2-D convolutions (nhwc, nchw) in C, register tiles, packing, epilogues"
    backend = "llvm-cpu"

    def missing(self) -> str:
        """A C compiler that runs here."""
        return "" if compiler() else "no C compiler: install gcc or clang, or set CC"

    def tools(self) -> tuple[str, ...]:
        """The C compiler."""
        return (compiler_version(),)

    def refuses(self, problem: Problem) -> str:
        """Other types, an epilogue, other layouts."""
        if problem.workload.types != _TYPES:
            return f"its types are {', '.join(map(str, problem.workload.types))}, not f32"
        unknown = [step for step in problem.epilogue if step not in _STEPS]
        if unknown:
            return f"its epilogue has {unknown[0]}, which is not one of {', '.join(_STEPS)}"
        if any(each.element_type != "f32" for each in problem.inputs):
            return "an operand of its epilogue is not f32"
        shape = shape_of(problem)
        if shape is None:
            return "it is not a product or convolution whose layouts can be read in place"
        sizes = problem.result.shape
        along = {
            "bias": (shape.columns, sizes[-1]),
            "channel_bias": (shape.rows, sizes[min(1, len(sizes) - 1)]),
        }
        other = [step for step, (one, two) in along.items() if step in problem.epilogue and one != two]
        return f"its {other[0]} is not along the rows or columns of its product" if other else ""

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        """Legal ones, by what they probably cost."""
        del target
        shape = shape_of(problem)
        widths = tuple(each for each in (16, 8) if each <= lanes()) or (lanes(),)
        return tuple(plan.knobs for plan in plans(shape, widths)) if shape else ()

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        """Compile the source for a problem. Raises KernelError with the C compiler's first error."""
        if not target.native:
            raise KernelError(f"{self.name} is compiled for this machine, not for {target}")
        shape = shape_of(problem)
        if shape is None:
            raise KernelError(f"{self.name} does not compute {problem.name}")
        plan = Plan(shape, knobs)
        macros = {name: str(value) for name, value in _macros(problem, plan).items()}
        # Executables of a program are linked into one: each has its own name.
        entry = f"{ENTRY}_{hashlib.sha256(repr(sorted(macros.items())).encode()).hexdigest()[:12]}"
        data = _compiled({**macros, "ENTRY": entry}, knobs["lanes"])
        launch = Launch((*plan.workgroups, shape.batch[0]))
        return Code("object", entry, data, launch, plan.scratch_bytes, knobs=dict(knobs))


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


def _macros(problem: Problem, plan: Plan) -> dict[str, int | str]:
    shape = plan.shape
    found: dict[str, int | str] = {
        **{name.upper(): value for name, value in plan.knobs.items()},
        "LINES": shape.lines, "WIDTH": shape.width, "LINES_OF_IMAGE": shape.lines_of_image,
        "IMAGE": shape.image, "LINE": shape.line, "PIXEL": shape.pixel, "FILTERS": shape.columns,
        "CHANNELS": shape.channels, "PLACES": len(shape.offsets),
        "PLACE_OFFSETS": ",".join(map(str, shape.offsets)),
        "RIGHT_ROW": shape.right_row, "RIGHT_COLUMN": shape.right_column, "RESULT_ROW": shape.result_row,
        "SWAPPED": int(shape.swapped), "STRIDE": plan.stride, "WINDOWS": int(shape.windows is not None),
        "EXTRAS": " ".join(f"EXTRA({step})" for step in problem.epilogue if step in _EXTRAS),
        "STEPS": " ".join(f"STEP({step})" for step in problem.epilogue),
    }  # fmt: skip
    found |= zip(("BATCH_LEFT", "BATCH_RIGHT", "BATCH_RESULT"), shape.batch[1:], strict=True)
    if shape.windows is not None:
        windows = shape.windows
        found |= {
            "WINDOW_WIDTH": windows.width, "WINDOW_LINE": windows.line, "WINDOW_PIXEL": windows.pixel,
            "WINDOW_CHANNEL": windows.channel, "WINDOW_PLACES": len(windows.offsets),
            "WINDOW_OFFSETS": ",".join(map(str, windows.offsets)),
        }  # fmt: skip
    return found


def _compiled(macros: dict[str, str], width: int) -> bytes:
    source = resources.files("iree_tuner.kernels.code") / _SOURCE
    with resources.as_file(source) as path, tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        output = Path(folder) / "kernel.o"
        defined = [f"-D{name}={value}" for name, value in macros.items()]
        machine = ["-march=native", *(["-mno-avx512f"] if lanes() == 16 > width else [])]
        command = [compiler(), *_FLAGS, *machine, *defined, "-c", str(path), "-o", str(output)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise KernelError(f"the C compiler took longer than {_TIMEOUT_S:.0f} s") from None
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
            raise KernelError(f"the C compiler rejected {_SOURCE}: {first}")
        return output.read_bytes()
