"""IR is objects (CONTRIBUTING.md): every place that takes it for text is known here, with its reason."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from mlir_in_text import DIALECTS, Place, places

PACKAGE = Path(__file__).resolve().parents[2] / "iree_tuner"

STORED = "text or bytecode from a file, a database or another process"
NO_BUILDER = "no builder in 3.13 (docs/upstream/bindings.md); the one place"
NO_ACCESSOR = "no accessor in 3.13 (docs/upstream/bindings.md); the one place"
PASSES = "a pipeline of passes, which is text to the pass manager as well"
MESSAGE = "a diagnostic's text, which is all that there is of it"
NO_IR = "what is searched is not IR"
COMPARED = "compared with itself, before and after a change"

EXCEPTIONS: dict[tuple[str, str], tuple[int, str]] = {
    ("compiler/session.py", "parse"): (1, STORED),
    ("compiler/session.py", "printed"): (1, MESSAGE),
    ("compiler/unbound.py", "assemble"): (2, NO_BUILDER),
    ("compiler/unbound.py", "parse"): (12, NO_BUILDER + "; and attributes that come as text"),
    ("compiler/unbound.py", "pattern"): (
        3,
        NO_ACCESSOR + ": StableHLO's bounds, devices, and targets of executables",
    ),
    ("compiler/unbound.py", "printed"): (6, NO_ACCESSOR),
    ("compiler/unbound.py", "search"): (2, NO_ACCESSOR),
    ("store/causes.py", "pattern"): (1, "types in the messages of failures, to group them"),
    ("device/program_inputs.py", "map"): (1, "the ABI's declaration of a function in a compiled module"),
    ("check/reference/outputs.py", "parse"): (1, STORED),
    ("store/reproducer.py", "parse"): (2, STORED),
    ("store/reproducer.py", "pattern"): (1, NO_IR + ": a name becomes a folder"),
    ("kernels/executable.py", "assemble"): (2, NO_BUILDER),
    ("kernels/executable.py", "parse"): (2, NO_BUILDER),
    ("kernels/save.py", "parse"): (1, STORED),
    ("kernels/spec.py", "parse"): (1, STORED),
    ("kernels/spec.py", "pattern"): (1, NO_IR + ": a name becomes a symbol"),
    ("ops/dag.py", "parse"): (1, STORED),
    ("ops/element_type.py", "element"): (1, "names of element types are read here alone"),
    ("ops/element_type.py", "parse"): (1, "each float type has a class of its own; the one place"),
    ("ops/element_type.py", "pattern"): (1, "names of element types are read here alone"),
    ("ops/indexing_map.py", "assemble"): (2, "the stored form of maps is written and read here alone"),
    ("ops/indexing_map.py", "map"): (1, "the stored form of maps is written and read here alone"),
    ("ops/indexing_map.py", "parse"): (1, "the stored form of maps is written and read here alone"),
    ("ops/indexing_map.py", "search"): (1, "the stored form of maps is written and read here alone"),
    ("ops/probe.py", "parse"): (1, "checks of families ask for a module that has been text"),
    ("ops/scalar_body.py", "parse"): (1, STORED),
    ("ops/structure.py", "printed"): (1, NO_ACCESSOR + " that reads kinds of loops, of two dialects"),
    ("program/entries.py", "pattern"): (
        1,
        "names of values, of which the parser keeps the place in the text",
    ),
    ("program/dynamic.py", "pattern"): (1, NO_IR + ": sizes as options have them"),
    ("program/entries.py", "pattern"): (
        2,
        "types in the ABI's declarations, and torch's, which has no classes",
    ),
    ("program/extract.py", "assemble"): (2, PASSES),
    ("program/extract.py", "printed"): (1, COMPARED),
    ("program/harness.py", "assemble"): (1, PASSES),
    ("program/harness.py", "pattern"): (1, NO_IR + ": names that files can have"),
    ("program/harness.py", "printed"): (1, NO_ACCESSOR + " that reads descriptor flags"),
    ("program/parameters.py", "pattern"): (1, NO_ACCESSOR + " that reads a named parameter"),
    ("program/phases.py", "parse"): (1, STORED),
    ("space/chosen.py", "parse"): (5, STORED),
    ("space/chosen.py", "pattern"): (4, NO_ACCESSOR + " that reads llvm-cpu's configurations"),
    ("space/chosen.py", "printed"): (1, NO_ACCESSOR + " that reads an enumeration's attribute"),
    ("space/constraints.py", "assemble"): (2, NO_BUILDER),
    ("space/constraints.py", "parse"): (2, NO_BUILDER),
    ("space/gpu/instructions.py", "pattern"): (1, NO_IR + ": names of an enumeration"),
    ("space/gpu/scaled.py", "assemble"): (1, NO_BUILDER),
    ("space/gpu/scaled.py", "parse"): (2, NO_BUILDER),
    ("space/gpu/spaces.py", "parse"): (1, STORED),
    ("space/legality.py", "pattern"): (3, NO_IR + ": what asserts of constraints say"),
    ("space/judge.py", "printed"): (1, NO_IR + ": a name of z3's"),
    ("space/llvm_cpu/attributes.py", "assemble"): (2, NO_BUILDER),
    ("space/llvm_cpu/attributes.py", "parse"): (2, NO_BUILDER),
    ("space/restriction.py", "parse"): (1, "a copy of a module, by way of bytecode"),
    ("space/spirv/attributes.py", "assemble"): (2, NO_BUILDER),
    ("space/spirv/attributes.py", "parse"): (2, NO_BUILDER),
    ("spec/build.py", "pattern"): (1, NO_IR + ": a name becomes a symbol"),
    ("spec/check.py", "printed"): (1, "could be asked by its class, CompilationInfoAttr"),
    ("spec/check.py", "search"): (1, "could be asked by its class, CompilationInfoAttr"),
    ("spec/near/conditions.py", "pattern"): (2, MESSAGE),
    ("spec/near/difference.py", "printed"): (2, "values as people read them"),
    ("spec/near/difference.py", "search"): (1, "values as people read them"),
    ("store/recordings.py", "map"): (2, "recordings of others write maps with names of loops: `(m, k)`"),
    ("suite/kinds/layer.py", "pattern"): (1, NO_IR + ": sizes as arguments have them"),
    ("targets/limits.py", "pattern"): (2, NO_ACCESSOR + " that reads what `TargetInfo` leaves out"),
    ("script/build.py", "assemble"): (1, "what a script must leave, in a message"),
    ("script/diagnose.py", "parse"): (1, STORED),
    ("script/diagnose.py", "pattern"): (4, MESSAGE),
    ("script/knobs.py", "assemble"): (1, "an example in a message"),
    ("script/script.py", "parse"): (3, STORED),
    ("script/stages.py", "printed"): (1, COMPARED),
}
"""By file and kind: how many places there are, and why."""


@pytest.fixture(scope="module")
def found() -> dict[str, list[Place]]:
    """The places of each file. Not at import: each of xdist's workers imports this file."""
    return {
        path.relative_to(PACKAGE).as_posix(): places(ast.parse(path.read_text()))
        for path in PACKAGE.rglob("*.py")
    }


@pytest.fixture
def counted(found: dict[str, list[Place]]) -> Counter[tuple[str, str]]:
    """The number of places by file and kind."""
    return Counter((name, place.kind) for name, each in found.items() for place in each)


def test_no_place_takes_ir_for_text_without_a_reason(found, counted) -> None:
    beyond = {key for key, count in counted.items() if count > EXCEPTIONS.get(key, (0, ""))[0]}
    shown = [
        f"{name}:{place.line}: {place.kind}: {place.code}"
        for name, each in found.items()
        for place in each
        if (name, place.kind) in beyond
    ]
    assert shown == []


def test_no_exception_is_left_that_is_not_needed(counted) -> None:
    assert {key: count for key, (count, _) in EXCEPTIONS.items() if counted[key] < count} == {}


def test_every_exception_has_a_reason() -> None:
    assert [key for key, (_, reason) in EXCEPTIONS.items() if not reason] == []


@pytest.mark.parametrize(
    ("kind", "homes"),
    [
        ("map", {"ops/indexing_map.py", "store/recordings.py", "device/program_inputs.py"}),
        ("element", {"ops/element_type.py"}),
    ],
)
def test_maps_and_element_types_are_read_in_one_place(counted, kind: str, homes: set[str]) -> None:
    """Beside it, only another form of maps and a function type are taken apart: see `EXCEPTIONS`."""
    assert {name for name, of in counted if of == kind} == homes


def test_every_dialect_of_the_compiler_is_known() -> None:
    tool = Path(sys.executable).parent / "iree-opt"
    shown = subprocess.run([tool, "--show-dialects"], capture_output=True, text=True, check=True).stdout
    listed = {name.strip() for name in shown.partition(":")[2].split(",")}
    assert listed == set(DIALECTS)


IMPORT = "from iree.compiler import ir\n"


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("assemble", 'f"func.func @{name}() {{"'),
        ("assemble", '"transform.named_sequence @%s" % name'),
        ("assemble", '"linalg.matmul ins(" + operands'),
        ("assemble", '"#iree_gpu.lowering_config<{}>".format(text)'),
        ("assemble", 'f"!hal.{name}"'),
        ("assemble", 'f"#iree_cpu.pipeline<{name}>"'),
        ("assemble", 'f"tensor<{shape}x{element}>"'),
        ("assemble", 'f"affine_map<{text}>"'),
        ("assemble", 'f"%{i} = arith.addf"'),
        ("assemble", 'f"module attributes {{ {text} }}"'),
        ("parse", "ir.Attribute.parse(text)"),
        ("parse", "Type.parse(text, context)"),
        ("parse", "ir.Module.parseFile(path)"),
        ("printed", IMPORT + "'NV_' in str(mma)"),
        ("printed", IMPORT + "str(kind) == '!hal.buffer'"),
        ("printed", IMPORT + "str(op.pipeline).partition('<')"),
        ("printed", IMPORT + "def f(kind):\n    text = str(kind)\n    return 'x' in text"),
        ("assemble", "HELD = '!hal.buffer<'\nf'{HELD}{kind}>'"),
        ("search", "'memref<' in workload.dag"),
        ("search", "HELD = '!hal.buffer<'\ntext.startswith(HELD)"),
        ("search", "text.partition('dispatch.tensor<')"),
        ("pattern", IMPORT + "re.compile(r'(\\w+) = (\\d+)')"),
        ("pattern", "re.compile(r'iree_tuner|#iree_gpu\\.mma<(.*)>')"),
        ("map", "text.rpartition('-> (')"),
        ("map", "re.findall(r'\\bd(\\d+)', text)"),
        ("element", "kind.startswith(('f', 'bf'))"),
        ("element", "{'f64': 8, 'f32': 4, 'i8': 1}"),
        ("element", "re.compile(r'^(bf|f|i)(\\d+)')"),
    ],
)
def test_text_is_found(kind: str, source: str) -> None:
    assert kind in {place.kind for place in places(ast.parse(source))}


@pytest.mark.parametrize(
    "source",
    [
        '"func.func"',
        'f"no op named linalg.{name} in the program"',
        'f"the {name} module has no functions"',
        'f"{count} % = {total}"',
        'f"{a} -> {b}"',
        "json.parse(text)",
        "str(path) == name",
        IMPORT + "str(error).splitlines()",
        IMPORT + "op.name.startswith('linalg.')",
        "{'f64': 'float64', 'f32': 'float32', 'i8': 'int8'}",
        "{'m': 1, 'n': 2, 'k': 3}",
    ],
)
def test_other_code_is_not(source: str) -> None:
    assert places(ast.parse(source)) == []
