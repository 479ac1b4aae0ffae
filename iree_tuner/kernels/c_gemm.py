"""Matrix multiplications and convolutions of floats in C with vector types, compiled by gcc or clang."""

from __future__ import annotations

from dataclasses import replace

from iree_tuner.kernels.c_code import CKernel, c_type, compiled, refused, steps_of, widths
from iree_tuner.kernels.c_plan import CTiling, from_memory, plans, right_matrix, shape_of
from iree_tuner.kernels.kernel import Code, Knobs, Launch, Packed, Problem
from iree_tuner.kernels.moves import MOST_PADDING
from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.targets import Target

ENTRY = "iree_tuner_gemm_f32"

_SOURCE = "gemm_f32.c"


class CGemm(CKernel):
    """Keeps a tile of f32 sums in registers, and packs operands where that helps. Supports any sizes."""

    name = "c_gemm_f32"
    summary = "products and 2-D convolutions (nhwc, nchw) of f32, f16 and bf16 in C, f32 sums, epilogues"

    def refuses(self, problem: Problem) -> str:
        if not is_contraction(problem.workload) and not is_convolution(problem.workload):
            return "it is neither a product nor a convolution"
        if problem.padding:
            return "it cannot pad the image"
        if why := refused(problem):
            return why
        shape = shape_of(problem)
        if shape is None:
            return "its operands have a layout that the kernel cannot read in place"
        sizes = problem.result.shape
        along = {
            "bias": (shape.columns, sizes[-1]),
            "channel_bias": (shape.rows, sizes[min(1, len(sizes) - 1)]),
        }
        other = [step for step, (one, two) in along.items() if step in problem.epilogue and one != two]
        return f"its {other[0]} is not along the rows or columns of its product" if other else ""

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        shape = self.known(shape_of(problem), problem)
        matrix = right_matrix(problem, shape) is not None and not from_memory(shape)
        packed = int(not shape.swapped) in problem.constants and matrix
        return tuple(plan.knobs for plan in plans(shape, widths(), packed=packed))

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        shape = self.known(shape_of(problem), problem)
        return replace(_code(problem, CTiling(shape, knobs).unpacked(), target), knobs=dict(knobs))

    def packed(self, problem: Problem, target: Target, knobs: Knobs) -> Packed | None:
        """Code for a right operand packed into tiles of columns, if it is a matrix. Raises KernelError."""
        plan = CTiling(self.known(shape_of(problem), problem), knobs)
        packing = _packing(problem, plan)
        return (
            None
            if packing is None
            else Packed(*packing, plan.wide, _code(problem, plan, target, packed=True))
        )


def _code(problem: Problem, plan: CTiling, target: Target, *, packed: bool = False) -> Code:
    launch = Launch((*plan.workgroups, plan.shape.batch[0]))
    code = compiled(_SOURCE, ENTRY, _macros(problem, plan, packed=packed), target, launch, plan.knobs)
    return replace(code, scratch_bytes=plan.scratch_bytes)


def _packing(problem: Problem, plan: CTiling) -> tuple[int, tuple[int, int], int] | None:
    """The right operand's number, its matrix sizes, and the dimension of columns; None if packing is useless.

    Dot products already read the operand along the depth, images change with each run, and memory delivers
    large weights no faster.
    """
    padding = -plan.shape.columns % plan.wide * plan.shape.depth * 4
    in_place = plan.knobs["dot"] or plan.streams or from_memory(plan.shape)
    return None if in_place or padding > MOST_PADDING else right_matrix(problem, plan.shape)


def _macros(problem: Problem, plan: CTiling, *, packed: bool) -> dict[str, int | str]:
    shape = plan.shape
    types = [c_type(problem.inputs[number].element_type) for number in (shape.swapped, not shape.swapped)]
    found: dict[str, int | str] = {
        **{name.upper(): value for name, value in plan.knobs.items()},
        "LINES": shape.lines, "WIDTH": shape.width, "LINES_OF_IMAGE": shape.lines_of_image,
        "IMAGE": shape.image, "LINE": shape.line, "PIXEL": shape.pixel, "FILTERS": shape.columns,
        "CHANNELS": shape.channels, "PLACES": len(shape.offsets),
        "PLACE_OFFSETS": ",".join(map(str, shape.offsets)),
        "RIGHT_ROW": shape.right_row, "RIGHT_COLUMN": shape.right_column, "RESULT_ROW": shape.result_row,
        "SWAPPED": int(shape.swapped), "STRIDE": plan.stride, "WINDOWS": int(shape.windows is not None),
        "PACKED": int(packed), "STREAM": int(plan.streams), **steps_of(problem),
        "LEFT": types[0], "RIGHT": types[1], "NARROW_RIGHT": int(types[1] != "float"),
        "KEPT": int(plan.kept_bytes > 0), "KEPT_FROM": plan.packed_left_bytes // 4,
    }  # fmt: skip
    found |= zip(("BATCH_LEFT", "BATCH_RIGHT", "BATCH_RESULT"), shape.batch[1:], strict=True)
    if packed:
        found["PACK_RIGHT"] = 0
    if shape.windows is not None:
        windows = shape.windows
        found |= {
            "WINDOW_WIDTH": windows.width, "WINDOW_LINE": windows.line, "WINDOW_PIXEL": windows.pixel,
            "WINDOW_CHANNEL": windows.channel, "WINDOW_PLACES": len(windows.offsets),
            "WINDOW_OFFSETS": ",".join(map(str, windows.offsets)),
        }  # fmt: skip
    return found
