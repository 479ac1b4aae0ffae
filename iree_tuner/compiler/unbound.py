"""Attributes and types without a builder or an accessor in the bindings of release 3.13.

Forms that several files need are parsed or read here, the others where they are used, with a comment
`# IR as text` that says why (`test/unit/test_mlir_text.py`). For IREE they are in docs/upstream/bindings.md.
"""

from __future__ import annotations

import re
from typing import Literal

from iree.compiler import ir

Access = Literal["readonly", "writeonly", "readwrite"]

_BOUNDS = re.compile(r"#stablehlo\.bounds<([^>]*)>")
_DEVICE = re.compile(r'#hal\.device\.(?:target|alias)<"([\w-]+)"')
_EXECUTABLE_TARGET = "#hal.executable.target<"
_HELD = "!iree_tensor_ext.dispatch.tensor<"


def attribute_from(text: str, context: ir.Context | None = None) -> ir.Attribute:
    """An attribute that came as text, from another process or context. Raises MLIRError for other text."""
    return ir.Attribute.parse(text, context)


def parameters_of(attribute: ir.Attribute) -> dict[str, ir.Attribute]:
    """The fields of an attribute without accessors: `#d.a<x = 1>`, `#d.a<{x = 1}>`, `#d.a<"n", {..}>`.

    MLIR's parser reads the text in its brackets, as a dictionary.
    """
    inside = str(attribute).partition("<")[2].removesuffix(">")
    if inside.startswith(("{", '"')):
        inside = inside[inside.find("{") + 1 : inside.rfind("}")] if "{" in inside else ""
    found = ir.DictAttr(ir.Attribute.parse(f"{{{inside}}}", attribute.context))
    return {each.name: each.attr for each in found}


def bounds_of_type(kind: ir.Type) -> tuple[int | None, ...]:
    """The largest sizes of `tensor<?x4xf32, #stablehlo.bounds<8, ?>>`; empty for a type without them.

    The dialect StableHLO has no attributes in Python.
    """
    encoding = kind.encoding if isinstance(kind, ir.RankedTensorType) else None
    found = _BOUNDS.fullmatch(str(encoding)) if encoding is not None else None
    return tuple(int(each) if each.strip() != "?" else None for each in found[1].split(",")) if found else ()


def enumerator_of(attribute: ir.Attribute) -> str:
    """The last word of an enumeration without a class: `GE` of `#stablehlo<comparison_direction GE>`."""
    return str(attribute).rstrip(">").rpartition(" ")[2]


def executable_targets_in(attribute: ir.Attribute) -> list[ir.Attribute]:
    """The `#hal.executable.target` attributes in one of a device or of objects, which have no accessors."""
    text, found = str(attribute), list[ir.Attribute]()
    for start in (each.start() for each in re.finditer(re.escape(_EXECUTABLE_TARGET), text)):
        depth, end = 0, start
        for end in range(start, len(text)):
            depth += {"<": 1, ">": text[end - 1] != "-" and -1}.get(text[end], 0)
            if text[end] == ">" and not depth:
                break
        found.append(ir.Attribute.parse(text[start : end + 1], attribute.context))
    return found


def device_name(attribute: ir.Attribute) -> str:
    """`cuda` of the first `#hal.device.target<"cuda">` or alias in an attribute, if any."""
    found = _DEVICE.search(str(attribute))
    return found[1] if found else ""


def is_affinity(attribute: ir.Attribute, symbol: str) -> bool:
    """Whether an attribute places something on the device of a symbol: `#hal.device.affinity<@symbol>`."""
    return f"<@{symbol}>" in str(attribute)


def hal_type(
    name: Literal["buffer", "buffer_view", "device", "fence"], context: ir.Context | None = None
) -> ir.Type:
    """`!hal.NAME`. The dialect has ops in Python, and no types."""
    return ir.Type.parse(f"!hal.{name}", context)


def binding_type() -> ir.Type:
    """`!stream.binding`: no types here either."""
    return ir.Type.parse("!stream.binding")


def staging_resource(context: ir.Context) -> ir.Type:
    """`!stream.resource<staging>`: memory for transfers between host and device. No types here either."""
    return ir.Type.parse("!stream.resource<staging>", context)


def held_type(access: Access, tensor: ir.Type) -> ir.Type:
    """`!iree_tensor_ext.dispatch.tensor<ACCESS:TENSOR>`, which has no class in Python."""
    return ir.Type.parse(f"{_HELD}{access}:{tensor}>")


def held_by(kind: ir.Type) -> tuple[str, ir.Type]:
    """The parts of a `held_type`; for any other type no access, and the type itself."""
    text = str(kind)
    if not text.startswith(_HELD):
        return "", kind
    access, _, tensor = text.removeprefix(_HELD).removesuffix(">").partition(":")
    return access, ir.Type.parse(tensor, kind.context)


def pipeline_of(attribute: ir.Attribute) -> tuple[str, str]:
    """The kind and the name of a code generation pipeline: `iree_cpu.pipeline`, `DoubleTilingExpert`.

    Those of llvm-cpu and SPIR-V have no class in Python, that of GPUs has. One without parameters has no
    name.
    """
    kind, _, name = str(attribute).removeprefix("#").partition("<")
    return kind, name.removesuffix(">")


def derived_thread_config() -> ir.Attribute:
    """`#iree_gpu.derived_thread_config`: an operand is copied in the tiles of its consumer. No builder."""
    return ir.Attribute.parse("#iree_gpu.derived_thread_config")


def flushed_denormals() -> ir.Attribute:
    """`#iree_codegen.denormal_fp_math<"preserve-sign">`; the registered builder leaves out the quotes."""
    return ir.Attribute.parse('#iree_codegen.denormal_fp_math<"preserve-sign">')


def direct_load() -> ir.Attribute:
    """`#iree_gpu.use_global_load_dma`: an operand goes into shared memory past registers. No builder."""
    return ir.Attribute.parse("#iree_gpu.use_global_load_dma")


def swizzled_direct_load() -> ir.Attribute:
    """`direct_load` in the order in which the compiler has f16 and bf16 on gfx950. No builder."""
    return ir.Attribute.parse(
        "#iree_gpu.swizzle_operand<copy_config = #iree_gpu.use_global_load_dma, "
        "swizzle = #iree_codegen.xor_shuffle<64, 8>>"
    )
