"""Matrix multiplications for NVIDIA GPUs, by Triton's ahead-of-time compiler, which needs no GPU."""

from __future__ import annotations

from typing import Any

from iree_tuner.kernels.kernel import Code, Knobs
from iree_tuner.kernels.problem import KernelError, Problem, scratch_room
from iree_tuner.kernels.shapes import ADDED, BIAS, Matrices, ProductShape, product_shape
from iree_tuner.kernels.triton_code import ELEMENTS, TritonKernel, code_of, compiled, unfit_arrays
from iree_tuner.kernels.triton_tiles import (
    Limits,
    constants_of,
    engine_of,
    ordered,
    partial_bytes,
    placed,
    tiles_of,
    variants,
    workgroups_of,
)
from iree_tuner.targets import Target

_GROUP = 8

_BIASES = ("bias", "image_bias")  # at most one of them
_OPERANDS = (*_BIASES, "residual", "factor")
_STEPS = (*_OPERANDS, "scale", "relu", "gelu", "gelu_tanh", "silu", "truncf", "moved")  # in any order
_PARAMETERS = ("a", "b", "first", "second", "third", "c", "partial")
_RESULT, _PARTIAL, _SCRATCH = 5, 6, 7


class TritonGemm(TritonKernel):
    """Uses tensor cores with asynchronous or bulk copies: f16 or bf16 with f32 sums, in any layout."""

    name = "triton_gemm"
    summary = "f16 and bf16 products with f32 sums and epilogues, any layout, for Hopper, by Triton"

    def refuses(self, problem: Problem) -> str:
        shape = product_shape(problem)
        if shape is None:
            return "it is not a product whose operands are read in place"
        lhs, rhs, sums = map(str, problem.workload.types)
        if lhs != rhs or lhs not in ("f16", "bf16") or sums != "f32":
            return f"its types are {', '.join((lhs, rhs, sums))}, not f16 or bf16 with f32 sums"
        unknown = [step for step in problem.epilogue if step not in _STEPS]
        if unknown:
            return f"its epilogue has {unknown[0]}, which is not one of {', '.join(_STEPS)}"
        if {*_BIASES} <= {*problem.epilogue}:
            return "its epilogue has two biases"
        if why := unfit_arrays(problem):
            return why
        fits = next(variants(shape, Limits(2)), None)
        return "" if fits else "no tile divides its innermost reduction loop"

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        del target
        shape = product_shape(problem)
        added = not {"residual", "factor"}.isdisjoint(problem.epilogue)
        limits = Limits(_result_bytes(problem), scratch_room(problem), added)
        return () if shape is None else ordered(shape, limits)

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        shape = product_shape(problem)
        if shape is None or self.refuses(problem) or target.backend != self.backend:
            raise KernelError(f"{self.name} does not compute {problem.name} for {target}")
        function, constants = source_of(problem, shape, knobs)
        inputs = [ELEMENTS[each.element_type] for each in problem.inputs]
        unread = [inputs[0]] * (_RESULT - len(inputs))
        kinds = [*inputs, *unread, ELEMENTS[problem.result.element_type], ELEMENTS["f32"]]
        made = compiled(function, dict(zip(_PARAMETERS, kinds, strict=True)), constants, knobs)
        workgroups, partial = workgroups_of(shape, knobs), partial_bytes(shape, knobs)
        bound = [*range(len(inputs)), _RESULT, *([_PARTIAL] if partial else [])]
        split = knobs.get("split", 1)
        return code_of(
            made, bound, _SCRATCH, (workgroups, 1, 1), knobs, cluster=split, partial_bytes=partial
        )  # fmt: skip


def _result_bytes(problem: Problem) -> int:
    return 4 if problem.result.element_type == "f32" else 2


def source_of(problem: Problem, shape: ProductShape, knobs: Knobs) -> tuple[Any, dict[str, object]]:
    """The function of a variant in `triton_source`, and its constants.

    Raises KernelError if the variant needs the copy engine, which cannot read the operands.
    """
    from iree_tuner.kernels import triton_source

    extras = [step for step in problem.epilogue if step in _OPERANDS]
    operands = tuple(extras.index(step) if step in extras else -1 for step in problem.epilogue)
    steps = tuple("bias" if step in _BIASES else step for step in problem.epilogue)
    constants: dict[str, object] = {
        **constants_of(shape),
        "STEPS": steps, "OPERANDS": operands, "SCALE": problem.scale,
        "BIAS": placed(shape, BIAS), "ADDED": placed(shape, ADDED),
        "COLUMNS": shape.n, "DEPTH": shape.k, "BN": knobs["bn"], "BK": knobs["bk"],
    }  # fmt: skip
    if "bm" not in knobs:
        return triton_source.one_row, {**constants, "STAGES": knobs["stages"]}
    constants |= {"ROWS": shape.m, "BM": knobs["bm"], "GROUP": _GROUP}
    if not knobs["persistent"]:
        return triton_source.plain, {**constants, "SPLIT": knobs["split"]}
    engine = engine_of(shape, _result_bytes(problem))
    if engine is None:
        raise KernelError("the copy engine cannot read its operands")
    return triton_source.persistent, {
        **constants, "LEFT": _form(engine.left), "RIGHT": _form(engine.right),
        "OUT": None if engine.result is None else _form(engine.result),
        "TURNED": (engine.left.turned, engine.right.turned), "TILES": tiles_of(shape, knobs),
        "WORKGROUPS": workgroups_of(shape, knobs), "PARTS": knobs["parts"], "FLATTEN": bool(knobs["flatten"]),
    }  # fmt: skip


def _form(matrices: Matrices) -> tuple[int, ...]:
    return matrices.count, matrices.rows, matrices.columns, matrices.distance, matrices.step
