"""Make PTX with Triton's ahead-of-time compiler, which needs no GPU."""

from __future__ import annotations

import math
import warnings
from collections.abc import Container, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from iree_tuner.kernels.kernel import Code, KernelError, Knobs, Launch, Problem
from iree_tuner.kernels.ptx_gemm import in_clusters, without_unused

SHARED_BYTES = 227 * 1024
"""The most shared memory of a workgroup: CUDA C++ Programming Guide, compute capability 9.0."""

ELEMENTS = {"f16": "*fp16", "bf16": "*bf16", "f32": "*fp32"}
"""Triton's names for pointers to each element type."""

NARROW = {"i1": "*i8", "i4": "*i8", "i8": "*i8", "i16": "*i16", "i32": "*i32"}
"""The same for integers, which only operands that are computed have. Two of 4 bits are in a byte."""

MOST_VALUES = (1 << 31) - 1
"""The most elements of an array: offsets are 32 bits wide."""

_ARCHITECTURE = 90  # the sources need its instructions and its copy engine
_PTX_VERSION = 86  # drivers of CUDA 12.6 and later take it; Triton's default is the newest that it knows


class TritonKernel:
    """The common part of kernels by Triton."""

    backend = "cuda"

    def missing(self) -> str:
        return "" if find_spec("triton") else "Triton is not installed: pip install 'iree-tuner[triton]'"

    def tools(self) -> tuple[str, ...]:
        return (f"triton {version('triton')}",)


def unfit_arrays(problem: Problem, others: Container[str] = ()) -> str:
    """Why the sources cannot read or write a problem's arrays, also of other types; empty if they can."""
    arrays = (*problem.inputs, problem.result)
    if any(each.element_type not in ELEMENTS and each.element_type not in others for each in arrays):
        return "an operand of its epilogue or its result is not f16, bf16 or f32"
    if max(math.prod(each.shape) for each in arrays) > MOST_VALUES:
        return "an array has too many values for offsets of 32 bits"
    return ""


def compiled(
    function: object, pointers: Mapping[str, str], constants: Mapping[str, object], knobs: Knobs
) -> Any:  # noqa: ANN401 - Triton has no types
    """Compile a function for these constants, with pointers that are aligned to 16 bytes.

    The knobs `warps` and `stages` become options of the compiler. Raises KernelError if Triton rejects the
    function.
    """
    from triton import compile as compile_  # pyright: ignore
    from triton import knobs as settings  # pyright: ignore
    from triton.backends.compiler import GPUTarget  # pyright: ignore
    from triton.compiler import ASTSource  # pyright: ignore

    aligned = {(number,): [["tt.divisibility", 16]] for number in range(len(pointers))}
    kinds = {**pointers, **dict.fromkeys(constants, "constexpr")}
    source = ASTSource(function, kinds, dict(constants), aligned)
    options = {"num_warps": knobs["warps"], "num_stages": knobs["stages"], "ptx_version": _PTX_VERSION}
    settings.compilation.disable_line_info = True  # otherwise code has the source's path on this machine
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return compile_(source, target=GPUTarget("cuda", _ARCHITECTURE, 32), options=options)
        except Exception as error:  # Triton's passes and ptxas raise errors of any type
            first = next(iter(str(error).strip().splitlines()), "")
            raise KernelError(f"Triton rejected it: {type(error).__name__}: {first}") from error


def made_code(
    problem: Problem, function: object, constants: Mapping[str, object], knobs: Knobs, names: Sequence[str],
    workgroups: tuple[int, int, int], partial_bytes: int,
) -> Code:  # fmt: skip
    """Make a kernel's code from a function of the problem's inputs, its result and partial results.

    `names` are of its parameters: those for inputs may be more than there are, and are not read then. For the
    rest see `code_of`; the knob `split` is the number of workgroups of a cluster.
    """
    result = len(names) - 2
    inputs = [{**ELEMENTS, **NARROW}[each.element_type] for each in problem.inputs]
    unread = [inputs[0]] * (result - len(inputs))
    kinds = [*inputs, *unread, ELEMENTS[problem.result.element_type], ELEMENTS["f32"]]
    made = compiled(function, dict(zip(names, kinds, strict=True)), constants, knobs)
    bound = [*range(len(inputs)), result, *([result + 1] if partial_bytes else [])]
    return code_of(
        problem,
        made,
        bound,
        len(names),
        workgroups,
        knobs,
        cluster=knobs.get("split", 1),
        partial_bytes=partial_bytes,
    )


def code_of(
    problem: Problem, made: Any,  # noqa: ANN401 - Triton has no types
    bindings: Sequence[int], scratch: int, workgroups: tuple[int, int, int], knobs: Knobs, *,
    cluster: int = 1, partial_bytes: int = 0,
) -> Code:  # fmt: skip
    """Make a kernel's code from the result of `compiled`; profilers of devices show the problem's name.

    Args:
        problem: what it computes.
        made: that result.
        bindings: numbers of the parameters that are bound.
        scratch: number of the parameter for Triton's scratch memory, after the bindings.
        workgroups: number of workgroups in x, y and z.
        knobs: the knobs that it was compiled with.
        cluster: the number of workgroups of a cluster.
        partial_bytes: if not 0, the size of the last binding, in which the workgroups of a cluster share
            partial results. The kernel must then do without Triton's scratch memory.

    Raises:
        KernelError: the code needs too much shared memory, or reads other parameters.
    """
    shared = int(made.metadata.shared)
    if shared > SHARED_BYTES:
        raise KernelError(f"it needs {shared} bytes of shared memory, of {SHARED_BYTES}")
    text = made.asm["ptx"]
    ptx = without_unused(in_clusters(text, cluster) if cluster > 1 else text, f"_{problem.name}")
    known = [[*bindings], *([] if partial_bytes else [[*bindings, scratch]])]
    if list(ptx.kept) not in known:
        raise KernelError(f"Triton's kernel reads the parameters {ptx.kept}, for which there is no binding")
    x, y, z = workgroups
    own_bytes = int(made.metadata.global_scratch_size) * x * y * z if scratch in ptx.kept else 0
    launch = Launch(workgroups, (32 * knobs["warps"], 1, 1), shared)
    return Code("ptx", ptx.entry, ptx.text.encode(), launch, partial_bytes or own_bytes, dict(knobs))
