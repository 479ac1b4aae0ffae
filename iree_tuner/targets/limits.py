"""What a target can hold, read off the executable target attribute that the compiler attaches."""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir


@dataclass(frozen=True)
class CpuLimits:
    """Limits of an llvm-cpu target.

    Attributes:
        native_vector_bytes: width of a vector register, in bytes.
        max_stack_bytes: what a function may put on the stack; also the size that no vector may reach
            (`LLVMCPUVerifyVectorSizeLegality` and `LLVMCPUCheckIRBeforeLLVMConversion` refuse more).
    """

    native_vector_bytes: int = 16
    max_stack_bytes: int = 32768


def cpu_limits(target: ir.Attribute) -> CpuLimits:
    """From `#hal.executable.target<"llvm-cpu", ..., {native_vector_size, max_stack_allocation_size}>`.

    The attribute has no binding for its dictionary, so its printed form is searched.
    """
    import re

    text = str(target)
    found = {
        name: int(value)
        for name, value in re.findall(r"(native_vector_size|max_stack_allocation_size) = (\d+)", text)
    }
    default = CpuLimits()
    return CpuLimits(
        native_vector_bytes=found.get("native_vector_size", default.native_vector_bytes),
        max_stack_bytes=found.get("max_stack_allocation_size", default.max_stack_bytes),
    )
