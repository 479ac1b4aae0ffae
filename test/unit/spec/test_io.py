from __future__ import annotations

import pytest
from iree.compiler import ir

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.errors import TunerError
from iree_tuner.program.carried import IN_MEMORY
from iree_tuner.program.extract import extract_here
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.io import embed, embed_bytes, from_attribute, load_spec, save_spec
from iree_tuner.targets import parse_target


@pytest.mark.parametrize("extension", ["mlir", "mlirbc"])
def test_files_round_trip(context, entry, tmp_path, extension):
    spec = build_spec([entry("softmax"), entry("conv")], context)
    path = tmp_path / f"model.spec.{extension}"
    save_spec(spec, path)
    assert str(load_spec(path, context)) == str(spec)
    assert str(load_spec(str(path), new_context())) == str(spec)
    assert str(load_spec(path.read_bytes(), context)) == str(spec)


def test_text(context, entry):
    spec = build_spec([entry("matmul")], context)
    assert str(load_spec(str(spec), context)) == str(spec)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b" \n", "here.mlir: the spec is empty"),
        (b"\x7fELF\xff\xfe\n", "here.mlir: not MLIR"),
        (b"module {\n  nonsense\n}", r"here.mlir:2:\d+: cannot parse"),
        (b"module {\n}", "here.mlir: not a tuning spec"),
        (b"ML\xefRbroken", "cannot parse"),
    ],
)
def test_what_is_no_spec(context, data, message):
    with pytest.raises(TunerError, match=message):
        load_spec(data, context, name="here.mlir")


def test_embedding_across_contexts(context, entry):
    spec = build_spec([entry("matmul")], context)
    program = ir.Module.parse("module {}", new_context())
    embed(program, spec)
    assert from_attribute(program.operation.attributes[IN_MEMORY]) == to_bytecode(spec)
    embed(program, spec)  # the same again, which is linked
    embed(program, spec, replace=True)
    assert from_attribute(program.operation.attributes[IN_MEMORY]) == to_bytecode(spec)


def test_a_spec_of_the_program_keeps_what_it_configures(context, entry, program):
    target = parse_target("llvm-cpu:host")
    text = program("matmul")
    own = embed_bytes(text, to_bytecode(build_spec([entry("matmul")], context)))
    (dispatch,) = extract_here(own, "own.mlir", target).dispatches
    assert dispatch.reason.startswith("the program has a spec that configures it")
    other = embed_bytes(text, to_bytecode(build_spec([entry("other_matmul")], context)))
    assert extract_here(other, "other.mlir", target).dispatches[0].tunable
    with pytest.raises(TunerError, match="the program's spec"):
        embed_bytes(own, to_bytecode(build_spec([entry("matmul_conflict")], context)))


def test_embedding_in_bytes(context, entry):
    spec = to_bytecode(build_spec([entry("matmul")], context))
    module = ir.Module.parse(embed_bytes("module {}", spec), context)
    assert from_attribute(module.operation.attributes[IN_MEMORY]) == spec
    assert str(load_spec(from_attribute(module.operation.attributes[IN_MEMORY]), context))
