"""What `compiler.unbound` works around: these fail when a release of the compiler has a binding for it.

What fails then goes from `compiler/unbound.py`, or from a place with a comment `# IR as text`, and from
docs/upstream/bindings.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from iree.compiler import ir
from iree.compiler.dialects import hal, iree_codegen, iree_gpu, stream

from iree_tuner.compiler import unbound
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.linalg import iterator_type
from iree_tuner.space.gpu.instructions import column_major, name_of

OPAQUE = (
    "#iree_cpu.pipeline<DoubleTilingExpert>",
    "#iree_cpu.lowering_config<distribution = [4, 8]>",
    "#iree_gpu.spirv_pipeline<BaseVectorize>",
    "#iree_codegen.lowering_config<tile_sizes = [[4, 8]]>",
    "#iree_gpu.derived_thread_config",
    '#iree_codegen.denormal_fp_math<"preserve-sign">',
    '#hal.executable.object<{path = "x.o"}>',
    "#hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>",
    '#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {}>',
    "#util.int.assumption<umin = 1, umax = 4>",
    "#linalg.iterator_type<parallel>",
)
"""Attributes without a class in Python, so that they can be neither built nor read."""


@pytest.fixture(autouse=True)
def context() -> Iterator[ir.Context]:
    with new_context() as context, ir.Location.unknown():
        yield context


@pytest.mark.parametrize("text", OPAQUE)
def test_an_attribute_has_no_class(text: str) -> None:
    assert type(ir.Attribute.parse(text)) is ir.Attribute


@pytest.mark.parametrize("text", ["!hal.buffer", "!hal.buffer_view", "!hal.device", "!stream.binding",
                                  "!iree_tensor_ext.dispatch.tensor<readonly:tensor<2xf32>>"])  # fmt: skip
def test_a_type_has_no_class(text: str) -> None:
    assert type(ir.Type.parse(text)) is ir.Type


def test_classes_lack_builders_and_accessors() -> None:
    assert not hasattr(iree_codegen.IntKnobAttr, "get")
    assert not hasattr(iree_codegen.OneOfKnobAttr, "get")
    assert not {"mma", "value", "raw_value", "intrinsic"} & set(dir(iree_gpu.MMAAttr))
    assert not hasattr(ir.AffineMap, "parse")
    assert not [name for name in (*dir(hal), *dir(stream)) if name in ("BufferType", "BindingType")]


def test_the_builder_of_denormals_leaves_out_the_quotes(context: ir.Context) -> None:
    build = ir.AttrBuilder.get("iree_codegen.DenormalFpMathAttr")
    with pytest.raises(ir.MLIRError, match="expected one of"):
        build(iree_codegen.DenormalFpMath.PreserveSign, context=context)
    assert "preserve-sign" in str(unbound.flushed_denormals())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("#util.int.assumption<umin = 1, umax = 4>", "{umax = 4 : i64, umin = 1 : i64}"),
        (
            "#iree_codegen.lowering_config<tile_sizes = [{sizes = [4, 8], interchange = [1, 0]}, [2]]>",
            "{tile_sizes = [{interchange = [1, 0], sizes = [4, 8]}, [2]]}",
        ),
        ('#hal.executable.object<{path = "x.o"}>', '{path = "x.o"}'),
        ('#hal.executable.target<"cuda", "f", {n = 4 : i64, d = {a = "}"}}>', '{d = {a = "}"}, n = 4 : i64}'),
        ('#hal.executable.target<"cuda", "f">', "{}"),
        ("#iree_codegen.no_pipeline", "{}"),
    ],
)
def test_parameters_are_read_as_a_dictionary(text: str, found: str) -> None:
    assert ir.DictAttr.get(unbound.parameters_of(ir.Attribute.parse(text))) == ir.Attribute.parse(found)


def test_what_a_binding_holds_is_taken_out_as_it_was_put_in() -> None:
    tensor = ir.Type.parse("tensor<2x?xf32>")
    assert unbound.held_by(unbound.held_type("readwrite", tensor)) == ("readwrite", tensor)
    assert unbound.held_by(tensor) == ("", tensor)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("#iree_cpu.pipeline<DoubleTilingExpert>", ("iree_cpu.pipeline", "DoubleTilingExpert")),
        ("#iree_gpu.pipeline<TileAndFuse>", ("iree_gpu.pipeline", "TileAndFuse")),
        ("#iree_codegen.no_pipeline", ("iree_codegen.no_pipeline", "")),
    ],
)
def test_pipelines_have_a_kind_and_a_name(text: str, found: tuple[str, str]) -> None:
    assert unbound.pipeline_of(ir.Attribute.parse(text)) == found


@pytest.mark.parametrize("kind", ["parallel", "reduction"])
def test_iterators_are_built_by_the_registered_builder(kind: str) -> None:
    assert iterator_type(kind) == ir.Attribute.parse(f"#linalg.iterator_type<{kind}>")


def test_every_instruction_is_found_again_and_exchanged() -> None:
    known = [(iree_gpu.MMAAttr, each) for each in iree_gpu.MMAIntrinsic]
    known += [(iree_gpu.VirtualMMAAttr, each) for each in iree_gpu.VirtualMMAIntrinsic]
    for kind, number in known:
        plain = kind.get(number)
        exchanged = column_major(plain)
        assert (name_of(plain), name_of(exchanged)) == (number.name, number.name)
        assert str(exchanged) == str(plain).removesuffix(">") + ", col_major = true>"
    assert name_of(unbound.derived_thread_config()) == ""
