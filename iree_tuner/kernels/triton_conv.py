"""2-D convolutions for NVIDIA GPUs, by Triton's ahead-of-time compiler, which needs no GPU."""

from __future__ import annotations

from typing import Any

from iree_tuner.kernels.conv_plan import Plan, plans
from iree_tuner.kernels.conv_shape import ConvShape, conv_shape
from iree_tuner.kernels.kernel import Code, Knobs
from iree_tuner.kernels.problem import KernelError, Problem
from iree_tuner.kernels.triton_code import ELEMENTS, TritonKernel, code_of, compiled, unfit_arrays
from iree_tuner.targets import Target

_PARAMETERS: tuple[str, ...] = ("x", "w", "e0", "e1", "e2", "e3", "out", "partial")
_RESULT, _PARTIAL, _SCRATCH = (*map(_PARAMETERS.index, ("out", "partial")), len(_PARAMETERS))
_MOST_EXTRAS = _RESULT - 2

_ELEMENTWISE = ("relu", "relu_ordered", "at_most_6", "gelu", "gelu_tanh", "silu", "truncf")
_OPERATIONS = {"bias": "add", "gain": "multiply", "minus": "subtract"}

Step = tuple[str, str]
"""An operation, and the index of its operand: `filter`, `image` or `pixel`; empty without an operand."""


class TritonConv(TritonKernel):
    """Computes an implicit product of pixels by filters, also with padding: f16 or bf16 with f32 sums."""

    name = "triton_conv"
    summary = "f16 and bf16 2-D convolutions, padded or not, with epilogues, for Hopper, by Triton"

    def refuses(self, problem: Problem) -> str:
        """Other ops, types and epilogues, and convolutions without channels to sum over."""
        shape = shape_for(problem)
        if shape is None:
            return "it is not a 2-D convolution with channels, whose filter can be read in place"
        image, weights, sums = map(str, problem.workload.types)
        if image != weights or image not in ("f16", "bf16") or sums not in ("f32", image):
            return f"its types are {', '.join((image, weights, sums))}, not f16 or bf16"
        unknown = [step for step in problem.epilogue if _step(problem, shape, step) is None]
        if unknown:
            return f"its epilogue has {unknown[0]}, which it does not compute in this layout"
        if len(problem.inputs) - 2 > _MOST_EXTRAS:
            return f"its epilogue has more than {_MOST_EXTRAS} operands"
        if why := unfit_arrays(problem):
            return why
        return "" if plans(shape) else "no tile fits it"

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        """The variants, lowest predicted cost first."""
        del target
        shape = shape_for(problem)
        return () if shape is None else tuple(plan.knobs for plan in plans(shape))

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        """Compile the source for a problem. Raises KernelError if Triton rejects it."""
        shape = shape_for(problem)
        if shape is None or target.backend != self.backend or self.refuses(problem):
            raise KernelError(f"{self.name} does not compute {problem.name} for {target}")
        plan = Plan(shape, knobs)
        made = _compiled(problem, plan)
        partial = plan.partial_bytes
        bindings = [*range(len(problem.inputs)), _RESULT, *([_PARTIAL] if partial else [])]
        workgroups = plan.workgroups, plan.shape.groups, 1
        return code_of(
            made, bindings, _SCRATCH, workgroups, knobs, cluster=plan.split, partial_bytes=partial
        )  # fmt: skip


def shape_for(problem: Problem) -> ConvShape | None:
    """The shape that the source computes: pixels are joined into one line if a window is one pixel."""
    shape = conv_shape(problem)
    images = not any(step.startswith("image_") for step in problem.epilogue)
    return None if shape is None else shape.joined(images=images)


def _step(problem: Problem, shape: ConvShape, name: str) -> Step | None:
    """A step of the epilogue in the source's form; None if the source does not compute it."""
    if name in _ELEMENTWISE:
        return name, ""
    if name in ("residual", "factor"):
        return ("add" if name == "residual" else "multiply"), "pixel"
    (n,), (f,) = (problem.workload.role(each) for each in ("batch", "output_channel"))
    result, last = problem.workload.maps[2], len(problem.result.shape) - 1
    *along, operation = name.split("_")
    filters = 1 if "channel" in along else last
    if operation not in _OPERATIONS or shape.groups > 1 or result.dimension_of(f) != filters:
        return None
    if "image" not in along:
        return _OPERATIONS[operation], "filter"
    return (_OPERATIONS[operation], "image") if result.dimension_of(n) == 0 else None


def constants_of(problem: Problem, plan: Plan) -> dict[str, object]:
    """The compile-time constants of the source."""
    shape, knobs = plan.shape, plan.knobs
    narrow = ["truncf"] if str(problem.workload.types[2]) != "f32" else []
    steps = [each for each in (_step(problem, shape, name) for name in (*narrow, *problem.epilogue)) if each]
    extras = [number for number, (_, where) in enumerate(steps) if where]
    found: dict[str, object] = {
        "N": shape.images, "H": shape.in_h, "W": shape.in_w, "C": shape.channels, "OH": shape.out_h,
        "OW": shape.out_w, "F": shape.filters, "KH": shape.window_h, "KW": shape.window_w,
        "STRIDES": shape.strides, "DILATIONS": shape.dilations, "LOW": shape.low,
        "STEPS": tuple(name for name, _ in steps), "WHERE": tuple(where for _, where in steps),
        "EXTRA": tuple(extras.index(each) if each in extras else -1 for each in range(len(steps))),
        "BN": knobs["bn"], "BK": knobs["bk"],
    }  # fmt: skip
    if knobs["boxed"]:
        own = {
            "TN": knobs["images"], "TH": knobs["lines"], "TW": knobs["pixels"],
            "WORKGROUPS": plan.workgroups, "FLATTEN": bool(knobs["persistent"]), "MORE": knobs.get("more", 0),
        }  # fmt: skip
    else:
        own = {
            "PADDED": shape.padded, "X": shape.image, "Y": shape.filter,
            "Z": shape.result, "BM": plan.bm, "FLAT": bool(knobs["flat"]),
            "CHANNELS_LAST": shape.channels_last, "SPLIT": plan.split,
        }  # fmt: skip
    return found | own


def _compiled(problem: Problem, plan: Plan) -> Any:  # noqa: ANN401 - Triton has no types
    from iree_tuner.kernels import triton_conv_source

    function = triton_conv_source.boxed if plan.knobs["boxed"] else triton_conv_source.gathered
    inputs = [ELEMENTS[each.element_type] for each in problem.inputs]
    missing = [inputs[0]] * (_RESULT - len(inputs))  # never read
    kinds = [*inputs, *missing, ELEMENTS[problem.result.element_type], ELEMENTS["f32"]]
    pointers = dict(zip(_PARAMETERS, kinds, strict=True))
    return compiled(function, pointers, constants_of(problem, plan), plan.knobs)
