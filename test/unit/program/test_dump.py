"""Dispatches that the compiler dumps: as programs they have the workloads that they have in theirs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from amounts import amount
from iree.compiler import ir

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.compiler.session import parse_module
from iree_tuner.compiler.worker import session_for
from iree_tuner.errors import TunerError
from iree_tuner.program.dump_body import own_target
from iree_tuner.program.dynamic import DimensionSize, pin
from iree_tuner.program.extract import extract_here
from iree_tuner.program.harness import dump_benchmarks, run_passes
from iree_tuner.program.phases import run_phases
from iree_tuner.program.source import Program, load_program
from iree_tuner.space.build import build_spaces
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.entry import SpecEntry
from iree_tuner.targets import Target, parse_target
from iree_tuner.tuning.versions import with_spec

CPU = "llvm-cpu:generic"
RESNET = Path(__file__).parents[3] / "examples" / "resnet_bottlenecks.mlir"
MAPS = "#m = affine_map<(i, j) -> (i, j)>\n#r = affine_map<(i, j) -> (i)>\n"
MATMUL = """
func.func @matmul(%a: tensor<64x96xf32>, %b: tensor<96x32xf32>) -> tensor<64x32xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x32xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x96xf32>, tensor<96x32xf32>)
    outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %r : tensor<64x32xf32>
}
"""
IN_PLACE = """
func.func @in_place(%a: tensor<64x96xf32>, %b: tensor<96x48xf32>, %c: tensor<64x48xf32>)
    -> tensor<64x48xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<64x96xf32>, tensor<96x48xf32>)
    outs(%c : tensor<64x48xf32>) -> tensor<64x48xf32>
  return %r : tensor<64x48xf32>
}
"""
PADDED_CONV = """
func.func @conv(%a: tensor<1x8x8x16xf32>, %b: tensor<3x3x16x32xf32>) -> tensor<1x8x8x32xf32> {
  %z = arith.constant 0.0 : f32
  %p = tensor.pad %a low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %z : f32
  } : tensor<1x8x8x16xf32> to tensor<1x10x10x16xf32>
  %e = tensor.empty() : tensor<1x8x8x32xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  %r = linalg.conv_2d_nhwc_hwcf ins(%p, %b : tensor<1x10x10x16xf32>, tensor<3x3x16x32xf32>)
    outs(%f : tensor<1x8x8x32xf32>) -> tensor<1x8x8x32xf32>
  return %r : tensor<1x8x8x32xf32>
}
"""
SOFTMAX = """
func.func @softmax(%a: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %e = tensor.empty() : tensor<16x64xf32>
  %r = linalg.softmax dimension(1) ins(%a : tensor<16x64xf32>)
    outs(%e : tensor<16x64xf32>) -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}
"""
ATTENTION = """
func.func @attention(%q: tensor<2x32x16xf16>, %k: tensor<2x32x16xf16>, %v: tensor<2x32x16xf16>)
    -> tensor<2x32x16xf16> {
  %s = arith.constant 0.25 : f16
  %e = tensor.empty() : tensor<2x32x16xf16>
  %r = iree_linalg_ext.attention <indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>]>
    ins(%q, %k, %v, %s : tensor<2x32x16xf16>, tensor<2x32x16xf16>, tensor<2x32x16xf16>, f16)
    outs(%e : tensor<2x32x16xf16>) {
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  } -> tensor<2x32x16xf16>
  return %r : tensor<2x32x16xf16>
}
"""
CENTERED = """
func.func @centered(%a: tensor<16x64xf16>) -> tensor<16x64xf16> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %wide_e = tensor.empty() : tensor<16x64xf32>
  %out_e = tensor.empty() : tensor<16x64xf16>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %w = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<16x64xf16>) outs(%wide_e : tensor<16x64xf32>) {
  ^bb0(%x: f16, %o: f32):
    %1 = arith.extf %x : f16 to f32
    linalg.yield %1 : f32
  } -> tensor<16x64xf32>
  %s = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]}
      ins(%w : tensor<16x64xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %1 = arith.addf %x, %o : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  %c = linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "parallel"]}
      ins(%w, %s : tensor<16x64xf32>, tensor<16xf32>) outs(%out_e : tensor<16x64xf16>) {
  ^bb0(%x: f32, %y: f32, %o: f16):
    %1 = arith.subf %x, %y : f32
    %2 = arith.truncf %1 : f32 to f16
    linalg.yield %2 : f16
  } -> tensor<16x64xf16>
  return %c : tensor<16x64xf16>
}
"""
DYNAMIC = """
func.func @dynamic(%a: tensor<?x96xf32>, %b: tensor<96x32xf32>) -> tensor<?x32xf32> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %d = tensor.dim %a, %c0 : tensor<?x96xf32>
  %e = tensor.empty(%d) : tensor<?x32xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x96xf32>, tensor<96x32xf32>)
    outs(%f : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %r : tensor<?x32xf32>
}
"""
SCALED = """
func.func @scaled(%a: tensor<16x64xf32>, %s: f32, %n: i32) -> tensor<16x64xf32> {
  %e = tensor.empty() : tensor<16x64xf32>
  %r = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<16x64xf32>) outs(%e : tensor<16x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %1 = arith.mulf %x, %s : f32
    linalg.yield %1 : f32
  } -> tensor<16x64xf32>
  %t = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<16x64xf32>) outs(%e : tensor<16x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.sitofp %n : i32 to f32
    %1 = arith.addf %x, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x64xf32>
  %u = util.optimization_barrier %t : tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}
"""


def dumped(source: str, target: Target, kind: str, folder: Path) -> str:
    """What `iree-compile` dumps of a program: the text of all files of a kind, each as a module."""
    session = session_for((*target.flags, "--iree-codegen-add-tuner-attributes=true"))
    with session.context, ir.Location.unknown():
        module = session.parse(source)
        session.run(module, stop="executable-sources" if kind == "sources" else "executable-configurations")
        what = "benchmarks" if kind == "benchmarks" else "sources"
        run_passes(module, session, f"builtin.module(iree-hal-dump-executable-{what}{{path={folder}}})")
    return "\n".join(
        f"module {{\n{each.read_text()}\n}}" if what == "sources" else each.read_text()
        for each in sorted(folder.iterdir())
    )


def described(program: Program, target: Target, sizes: tuple[DimensionSize, ...] = ()):
    """What is known of a program's dispatches, by their names."""
    found = extract_here(program.data, program.name, target, sizes).dispatches
    return {
        each.name: (
            each.workload and (each.workload, each.workload.key), each.reason, each.tunable, each.default,
            each.pipeline, each.limits,
        )
        for each in found
    }  # fmt: skip


FUNCTIONS = {
    "matmul": MATMUL,
    "in_place": IN_PLACE,
    "conv": PADDED_CONV,
    "softmax": SOFTMAX,
    "attention": ATTENTION,
}


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("benchmarks", tuple(FUNCTIONS)),
        ("configurations", amount(("in_place", "conv"), tuple(FUNCTIONS))),
        ("sources", amount(("matmul", "softmax"), tuple(FUNCTIONS))),
    ],
)
def test_a_dump_has_the_workloads_of_the_program(kind, names, tmp_path) -> None:
    source = MAPS + "".join(FUNCTIONS[name] for name in names)
    target = parse_target(CPU)
    original = described(load_program(source), target)
    assert {name.partition("_dispatch")[0] for name in original} == set(names)
    assert all(tunable for _, _, tunable, *_ in original.values())
    assert described(load_program(dumped(source, target, kind, tmp_path)), target) == original


OF_GPUS = MATMUL + PADDED_CONV + SOFTMAX + ATTENTION


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("hip:gfx942", OF_GPUS),
        pytest.param("cuda:sm_80", OF_GPUS, marks=pytest.mark.exhaustive),
        ("vulkan:sm_80", amount(SOFTMAX, OF_GPUS)),
    ],
    ids=["hip:gfx942", "cuda:sm_80", "vulkan:sm_80"],
)
def test_a_gpus_dump_has_them_too_and_says_what_it_is_for(name, source, tmp_path) -> None:
    target = parse_target(name)
    program = load_program(dumped(source, target, "benchmarks", tmp_path))
    assert described(program, target) == described(load_program(source), target)
    assert own_target(program.data, program.name) == target


def test_data_tiled_matrices_are_met_with_the_programs_prologue(tmp_path) -> None:
    target = parse_target(f"{CPU}+data-tiling")
    program = load_program(dumped(MATMUL, target, "benchmarks", tmp_path))
    original, found = described(load_program(MATMUL), target), described(program, target)
    assert found == original
    workloads = [workload[0] for workload, *_ in found.values() if workload]
    assert [(each.op, each.prologue) for each in workloads] == [("mmt4d", target.spec_prologue)]
    reasons = [reason for _, reason, *_ in described(program, parse_target(CPU)).values()]
    assert any(each.startswith("data tiling packed its matrices: pass") for each in reasons)


def test_a_spec_made_from_a_dump_configures_the_program(tmp_path) -> None:
    source, target = MAPS + MATMUL + PADDED_CONV + SOFTMAX + CENTERED, parse_target(CPU)
    from_dump = load_program(dumped(source, target, "benchmarks", tmp_path))
    found = extract_here(from_dump.data, "dump", target).dispatches
    last = {each.name.partition("_dispatch")[0]: each for each in found}
    assert {name: each.workload.prologue for name, each in last.items()} == {
        "matmul": (),
        "conv": ("iree-codegen-insert-batch-dim-for-batchless-conv",),
        "softmax": (),
        "centered": ("iree-codegen-rematerialize-parallel-ops",),
    }
    context, entries = new_context(), []
    for dispatch in last.values():
        (space,) = build_spaces(dispatch.workload, dispatch.limits, context)
        configurations = [space.configuration(each) for each in space.sample(4, seed=1)]
        asked = next(each for each in configurations if dispatch.default not in str(each))
        entries.append(SpecEntry(dispatch.workload, asked))
    spec = to_bytecode(build_spec(entries, context))
    text = run_phases(
        with_spec(load_program(source), spec).data, "program", target, stop="executable-configurations",
        output="text",
    ).data.decode()  # fmt: skip
    for op in (each for entry in entries for each in entry.configuration.ops):
        value = (
            op.value.partition("lowering_config = ")[2].partition(">")[0] + ">"
            if op.label == "root"
            else op.value
        )
        assert value in text


def test_identical_layers_differ_in_offsets_that_are_constants(tmp_path) -> None:
    """Weights of one constant lie at offsets that the one dispatch is given: no size is unknown."""
    layer = """%r{n} = linalg.matmul ins(%r{m}, %w{n} : tensor<32x32xf32>, tensor<32x32xf32>)
    outs(%f : tensor<32x32xf32>) -> tensor<32x32xf32>"""
    weights = [f"%w{n} = arith.constant dense_resource<w{n}> : tensor<32x32xf32>" for n in (1, 2)]
    blobs = ", ".join(f'w{n}: "0x04000000{bytes([n] * 4096).hex()}"' for n in (1, 2))
    source = f"""
func.func @layers(%r0: tensor<32x32xf32>) -> tensor<32x32xf32> {{
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  {chr(10).join([*weights, layer.format(n=1, m=0), layer.format(n=2, m=1)])}
  return %r2 : tensor<32x32xf32>
}}
{{-# dialect_resources: {{ builtin: {{ {blobs} }} }} #-}}
"""
    target = parse_target(CPU)
    original = described(load_program(source), target)
    for kind in ("benchmarks", "sources"):
        folder = tmp_path / kind
        folder.mkdir()
        text = dumped(source, target, kind, folder)
        assert "hal.interface.constant.load" in text
        assert described(load_program(text), target) == original


def test_sizes_that_a_benchmark_has_stay_arguments_and_those_of_sources_are_given(tmp_path) -> None:
    target, sizes = parse_target(CPU), (DimensionSize(128),)
    original = described(load_program(DYNAMIC), target, sizes)
    ((workload, _), *_) = next(iter(original.values()))
    assert workload.dynamic
    session = session_for((*target.flags, "--iree-codegen-add-tuner-attributes=true"))
    with session.context, ir.Location.unknown():
        module = session.parse(DYNAMIC)
        session.run(module, stop="executable-sources")
        pin(module, sizes, session)
        (benchmark,) = dump_benchmarks(module, session)
    assert described(load_program(str(benchmark)), target) == original
    sources = load_program(dumped(DYNAMIC, target, "sources", tmp_path))
    assert described(sources, target, sizes) == original
    assert described(sources, target) == described(load_program(DYNAMIC), target)


def test_numbers_are_what_they_are_in_the_program(tmp_path) -> None:
    """Where a dispatch is timed alone, a constant stands for each (`program.runtime_values`)."""
    target = parse_target(CPU)
    found = described(load_program(dumped(MAPS + SCALED, target, "sources", tmp_path)), target)
    assert found == described(load_program(MAPS + SCALED), target)
    assert [tunable for _, _, tunable, *_ in found.values()] == [True, True]


def test_constraints_that_the_compiler_has_left_are_no_part_of_a_dispatch(tmp_path) -> None:
    target = parse_target("hip:gfx942")
    inserted = "iree-codegen-insert-smt-constraints"
    nested = f"builtin.module(hal.executable(hal.executable.variant(builtin.module(func.func({inserted})))))"
    session = session_for((*target.flags, "--iree-codegen-add-tuner-attributes=true"))
    with session.context, ir.Location.unknown():
        module = session.parse(MATMUL)
        session.run(module, stop="executable-configurations")
        run_passes(module, session, nested)
        run_passes(module, session, f"builtin.module(iree-hal-dump-executable-benchmarks{{path={tmp_path}}})")
    (file,) = tmp_path.iterdir()
    assert "iree_codegen.smt.constraints" in file.read_text()
    assert described(load_program(file), target) == described(load_program(MATMUL), target)


def test_global_optimization_does_not_rewrite_what_is_a_dispatch_already(tmp_path) -> None:
    """One of them is a strided 1x1 convolution: alone in a program, a pass would take its stride out."""
    source, target = RESNET.read_text(), parse_target(CPU)
    original = described(load_program(source), target)
    assert any(found and "d0 * 2, d1 * 2, d3" in str(found[0].maps[0]) for found, *_ in original.values())
    assert described(load_program(dumped(source, target, "benchmarks", tmp_path)), target) == original


def test_it_comes_as_text_as_bytecode_and_as_a_module(tmp_path) -> None:
    target = parse_target(CPU)
    text = dumped(MATMUL, target, "benchmarks", tmp_path)
    module = parse_module(text, new_context())
    programs = [load_program(each) for each in (text, to_bytecode(module), module)]
    assert len({str(described(each, target)) for each in programs}) == 1
    assert all(own_target(each.data, each.name) is not None for each in programs)


def test_what_is_no_dump_stays_as_it_is() -> None:
    target = parse_target(CPU)
    session = session_for(target.flags)
    whole = session.parse(MATMUL)
    session.run(whole, stop="executable-sources")
    data = str(whole).encode()
    assert b"hal.executable.variant" in data
    assert load_program(data).data == data
    assert load_program(b"hal.executable.variant is no MLIR").data == b"hal.executable.variant is no MLIR"


def test_an_executable_that_nothing_dispatches_is_told(tmp_path) -> None:
    target = parse_target(CPU)
    text = dumped(MATMUL, target, "benchmarks", tmp_path).rstrip().removesuffix("}")
    found = described(load_program(text + "func.func @other() { return }\n}"), target)
    assert [reason for _, reason, *_ in found.values()] == ["the program never dispatches it"]


def test_what_cannot_be_called_is_refused_with_the_reason(tmp_path) -> None:
    cpu, tiled, gpu = parse_target(CPU), parse_target(f"{CPU}+data-tiling"), parse_target("cuda:sm_80")
    folders = [tmp_path / name for name in ("cpu", "tiled", "gpu")]
    for folder in folders:
        folder.mkdir()
    plain = dumped(MATMUL, cpu, "benchmarks", folders[0])
    load = re.search(r"= iree_codegen.load_from_buffer (%\w+) : (.*) -> .*\n", plain)
    assert load
    copied = plain.replace(
        load[0], f"{load[0]}memref.copy {load[1]}, {load[1]} : {load[2]} to {load[2]}\n", 1
    )
    (call,) = re.findall(r"hal.command_buffer.dispatch<.*?flags\(\"None\"\)", plain, re.DOTALL)
    for text, says in (
        (plain.replace(call, ""), "@.*_f32 does not call one dispatch"),
        (plain.replace("@matmul_dispatch_0::", "@other::"), "the file lacks the executable @other"),
        (copied, "it operates on a buffer instead of tensors: memref.copy"),
        (
            dumped(MATMUL, tiled, "sources", folders[1]),
            "its tensors have an encoding, which callers cannot pass",
        ),
        (
            f"{plain}\n{dumped(MATMUL, gpu, 'benchmarks', folders[2])}",
            "the dispatches are for several targets",
        ),
    ):
        with pytest.raises(TunerError, match=f"^<text>: the dumped dispatch cannot be run: {says}"):
            load_program(text)
