"""Generated integers are what the program's uses of them allow: indices are within their tables."""

from pathlib import Path

import numpy as np
import pytest
from amounts import some
from hypothesis import given
from hypothesis import strategies as st
from index_programs import PROGRAMS, case, lookup
from iree.compiler import ir

from iree_tuner.check.reference.interpreter import reference_outputs
from iree_tuner.check.reference.scalars import Unsupported
from iree_tuner.compiler.context import to_bytecode
from iree_tuner.compiler.worker import session_for
from iree_tuner.device.data import fill, integers, random_values
from iree_tuner.device.program_inputs import Argument, arguments_of, values_of
from iree_tuner.device.program_parameters import generate
from iree_tuner.device.program_request import request
from iree_tuner.program.dynamic import DimensionSize, sized
from iree_tuner.program.entries import Feed, Taken
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.program.valid.interval import Interval
from iree_tuner.program.valid.program import ValidInputs, valid_inputs

SEEDS = (0, 1, 2)


def found_in(program: str, sizes=(), function="main"):
    """What is found of a function's arguments: by number, the least and the largest value."""
    valid = valid_inputs(program.encode(), "test.mlir", sizes)
    assert valid.unclear == ()
    return {number: (each.low, each.high) for number, each in dict(valid.arguments)[function]}


@pytest.mark.parametrize("name", PROGRAMS)
def test_arguments_are_what_their_uses_allow(name):
    program, expected = PROGRAMS[name]
    assert found_in(program) == expected


@pytest.mark.parametrize("name", some(PROGRAMS, 5))
def test_programs_at_phase_flow_say_it_too(name):
    program, expected = PROGRAMS[name]
    session = session_for(
        ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
    )
    with session.context, ir.Location.unknown():
        module = session.parse(program.encode(), name)
        session.run(module, stop="flow")
        program = to_bytecode(module)
    valid = valid_inputs(program, "test.mlir")
    assert valid.unclear == ()
    found = dict(dict(valid.arguments)["main"])
    assert found.keys() == expected.keys()
    for number, bounds in expected.items():  # columns of indices are one tensor there: the smaller table's
        assert found[number].is_within(Interval(*bounds))


CONTROL_FLOW = {
    "call": {1: (0, 5)},
    "returned": {1: (-2, 3)},
    "cfloop": {1: (1, 9)},  # counts up to it
    "while": {1: (0, 8), 2: (0, 8)},  # counts from the second up to the first, which is counted too
    "forcarried": {1: (1, 4), 2: (0, 5)},  # as many steps, from there
    "iff": {2: (0, 8), 3: (0, 8)},
    "store": {0: (0, 8)},  # what another function reads
    "load": {},
}


@pytest.mark.parametrize("function", CONTROL_FLOW)
def test_indices_are_followed_through_control_flow(function):
    assert found_in(case("control_flow"), function=function) == CONTROL_FLOW[function]


def test_parameters_are_what_their_uses_allow():
    run = request(load_program(case("control_flow")))
    ids, table = run.wanted
    assert (ids.key, ids.values) == ("ids", Interval(0, 5))
    assert (table.key, table.values) == ("table", None)
    assert {*generate(ids).tolist()} <= {*range(6)}


DYNAMIC = lookup("i64").replace("6x5", "?x5")


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [((), 0), ((DimensionSize(9),), 8), ((DimensionSize(9), DimensionSize(4, (0, 0))), 3)],
)
def test_rows_of_a_dynamic_table_are_those_of_its_size(sizes, expected):
    assert found_in(DYNAMIC, sizes) == {1: (0, expected)}


def test_sizes_that_were_set_reach_a_run():
    run = request(sized(load_program(DYNAMIC), ("7",)))
    assert run.entries[0].feeds[1].values == Interval(0, 6)


def test_rows_that_a_scatter_writes_at_once_are_distinct():
    ((_, (_, found)), *_) = [
        (name, each[0]) for name, each in valid_inputs(PROGRAMS["torch index_put"][0].encode(), "t").arguments
    ]
    assert found == Interval(0, 6, distinct=True)
    values = random_values((3,), "i64", 0, np.random.default_rng(0), found)
    assert len({*values.tolist()}) == 3


def test_an_op_that_is_not_understood_is_named():
    body = "%c = arith.constant 3 : i32\n    %w = arith.xori %a, %c : i32"
    run = request(load_program(lookup("i32", body=body, index="%w")))
    assert run.unclear == ("arith.xori",)
    assert "may be invalid" in run.doubt
    assert "arith.xori" in run.doubt
    assert request(load_program(lookup("i32"))).doubt == ""
    program = load_program(lookup("i32", body=body, index="%w"))
    assert request(program, inputs=[1.0]).doubt
    assert not request(program, inputs=[1.0, 2]).doubt, "no input is generated"


def test_a_program_without_integers_starts_no_worker(monkeypatch):
    monkeypatch.setattr("iree_tuner.device.program_request.Workers", None)
    request(load_program(lookup("i1").replace("%i: tensor<8xi1>", "%i: tensor<8xf32>").split("%r =")[0] +
                         "return %e : tensor<8xf32> }"))  # fmt: skip


@pytest.mark.parametrize(
    "name", ["two tables", "jax positions from a start", "torch embedding", "onnx Gather"]
)
def test_long_programs_are_sent_without_weights(name, monkeypatch, every_dialect):
    program, expected = PROGRAMS[name]
    monkeypatch.setattr("iree_tuner.device.program_request._LONG", 0)
    (entry,) = request(load_program(program)).entries
    found = {number: feed.values for number, feed in enumerate(entry.feeds) if feed.values}
    assert found == {number: Interval(*bounds) for number, bounds in expected.items()}


def test_weights_are_not_sent(monkeypatch):
    sent = []
    monkeypatch.setattr(
        "iree_tuner.device.program_request.valid_inputs", lambda *_: pytest.fail("it runs in a worker")
    )
    monkeypatch.setattr(
        "iree_tuner.compiler.worker.Workers.call", lambda _, *each: sent.append(each) or ValidInputs()
    )
    values = np.arange(1 << 20, dtype=np.float32)
    weights = f'dense<"0x{values.tobytes().hex()}">'
    text = lookup("i64").replace(
        "%e = t", f"%w = arith.constant {weights} : tensor<{values.size}xf32>\n  %e = t"
    )
    request(load_program(text))
    ((_, data, *_),) = sent
    assert len(data) < 4096 < len(text)


def test_values_of_a_run_are_within_the_tables():
    program, _ = PROGRAMS["two tables"]
    run = request(load_program(program))
    (entry,) = run.entries
    for seed in SEEDS:
        words, kinds = values_of(arguments_of(run, entry.name, entry.inputs, ()), (seed, 0))[2:]
        assert (words.min() >= 0, words.max() < 512, kinds.min() >= 0, kinds.max() < 2) == (True,) * 4
    assert words.max() > 3


def test_floats_that_become_indices_are_within_the_table():
    body = "%w = arith.fptosi %a : f32 to i32\n    %d = arith.index_cast %w : i32 to index"
    text = lookup("f32", body=body, index="%w").replace("%x = arith.index_cast %w : f32 to index", "")
    program = text.replace("%t[%x", "%t[%d")
    (entry,) = request(load_program(program)).entries
    allowed = entry.feeds[1].values
    assert allowed == Interval(0, 5)
    for seed in SEEDS:
        argument = Argument(0, Taken("f32", (64,)), feed=Feed(9, values=allowed))
        values = argument.value(seed, np.random.default_rng(seed))
        assert values.min() >= 0
        assert values.max() <= 5


@pytest.mark.parametrize(
    ("op", "values", "unclear"),
    [("stablehlo.convert", Interval(0, 5), ()), ("tosa.cast", None, ("arith.maximumf",))],
)
def test_floats_that_other_dialects_convert_are_looked_at(op, values, unclear, every_dialect):
    made = f"  %c = {op} %i : (tensor<8xf32>) -> tensor<8xi32>\n"
    text = lookup("i32").replace("%i: tensor<8xi32>)", "%i: tensor<8xf32>)")
    text = text.replace("  %e =", f"{made}  %e =", 1).replace("ins(%i", "ins(%c")
    run = request(load_program(text))
    assert (run.entries[0].feeds[1].values, run.unclear) == (values, unclear)


T = "tensor<8xf32>"
ONE = f"%one = stablehlo.constant dense<1.0> : {T}"
LEFT = f"%q = stablehlo.subtract %one, %p : {T}"
FRACTIONS = {
    "cross entropy": f"{ONE}\n {LEFT}\n %l = stablehlo.log %q : {T}\n %r = stablehlo.add %l, %x : {T}",
    "odds": f"{ONE}\n {LEFT}\n %o = stablehlo.divide %p, %q : {T}\n %r = stablehlo.log %o : {T}",
    "noise": f"{ONE}\n {LEFT}\n %s = stablehlo.sqrt %q : {T}\n %r = stablehlo.multiply %s, %x : {T}",
    "log1p": f"%n = stablehlo.negate %p : {T}\n %r = stablehlo.log_plus_one %n : {T}",
    "body": f"""%r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}} ins(%p : {T}) outs(%x : {T}) {{
      ^bb0(%a: f32, %b: f32):
        %c1 = arith.constant 1.0 : f32
        %d = arith.subf %c1, %a : f32
        %e = math.log %d : f32
        linalg.yield %e : f32
      }} -> {T}""",
}
NO_FRACTIONS = {
    "variance": f"%r = stablehlo.rsqrt %p : {T}",
    "gate": f"{ONE}\n {LEFT}\n %r = stablehlo.multiply %q, %x : {T}",
    "log of one and more": f"%r = stablehlo.log_plus_one %p : {T}",
    "difference": f"%d = stablehlo.subtract %x, %p : {T}\n %r = stablehlo.exponential %d : {T}",
}


@pytest.mark.parametrize("name", FRACTIONS | NO_FRACTIONS)
def test_probabilities_are_between_zero_and_one(name):
    body = (FRACTIONS | NO_FRACTIONS)[name]
    run = request(load_program(f"func.func @main(%p: {T}, %x: {T}) -> {T} {{ {body}\n return %r : {T} }}"))
    (entry,) = run.entries
    found = arguments_of(run, entry.name, entry.inputs, ())
    values = [values_of(found, (seed, 0))[0] for seed in SEEDS]
    assert all(((each > 0) & (each < 1)).all() for each in values) == (name in FRACTIONS)
    assert all(np.unique(each).size == each.size for each in values)


@pytest.mark.parametrize("op", ["flow.tensor.constant", "util.unfoldable_constant"])
def test_constants_of_other_dialects_are_no_inputs(op):
    made = f"  %c = {op} dense<3> : tensor<8xi32>\n"
    text = lookup("i32").replace("  %e =", f"{made}  %e =", 1).replace("ins(%i", "ins(%c")
    assert request(load_program(text)).unclear == ()


TAKES_POSITIONS = [name for name, (_, expected) in PROGRAMS.items() if expected]


@pytest.mark.parametrize("name", some(TAKES_POSITIONS, 8))
def test_dispatches_are_given_indices_within_their_tables(name, cpu, reading):
    """The reference refuses an index out of a table."""
    program, _ = PROGRAMS[name]
    for dispatch in extract(load_program(program), cpu, reading(program)).dispatches:
        harness = dispatch.harness
        if harness is None:
            continue
        for seed in SEEDS:
            found = reference_outputs(harness, fill(harness.bindings, harness.buffer_bytes, seed))
            assert not isinstance(found, Unsupported) or "out of its table" not in found.reason


def test_bindings_have_what_their_dispatch_allows(only_dispatch):
    harness = only_dispatch(case("embed_two_tables")).harness
    held = [
        each.values for binding in harness.bindings for each in binding.tensors if each.element_type == "i64"
    ]
    assert held == [Interval(0, 511), Interval(0, 1)]


@pytest.mark.parametrize(
    ("allowed", "element_type", "low", "high"),
    [
        (None, "i8", -128, 127),
        (None, "i32", 0, 3),
        (None, "i4", -8, 7),
        (None, "ui4", 0, 15),
        (None, "i1", 0, 1),
        (Interval(0, 299), "i4", 0, 7),
        (Interval(0, 299), "i8", 0, 127),  # as far as the type goes
        (Interval(0, 299), "i16", 0, 299),
        (Interval(-2, 3), "i32", 0, 3),  # negative ones only where nothing else is allowed
        (Interval(-9, -4), "i64", -9, -4),
        (Interval(5), "i64", 5, 8),
        (Interval(None, 7), "i64", 0, 7),
        (Interval(None, -7), "i64", -7, -7),
    ],
)
def test_integers_are_of_an_interval(allowed, element_type, low, high):
    values = integers((4096,), element_type, allowed, np.random.default_rng(0))
    assert (values.min(), values.max()) == (low, high)


# Compositions: each op with what it computes, by numpy. Nothing of the analysis is used here.
OPS = {
    "addi": (lambda x, c: x + c, st.integers(-9, 9)),
    "subi": (lambda x, c: x - c, st.integers(-9, 9)),
    "muli": (lambda x, c: x * c, st.sampled_from([-3, -1, 1, 2, 5])),
    "divsi": (lambda x, c: np.trunc(x / c).astype(np.int64), st.integers(1, 5)),
    "remsi": (lambda x, c: x - c * np.trunc(x / c).astype(np.int64), st.integers(1, 40)),
    "shli": (lambda x, c: x << c, st.integers(0, 3)),
    "shrsi": (lambda x, c: x >> c, st.integers(0, 3)),
    "maxsi": (lambda x, c: np.maximum(x, c), st.integers(-5, 9)),
    "minsi": (lambda x, c: np.minimum(x, c), st.integers(-2, 40)),
    "andi": (lambda x, c: x & c, st.sampled_from([1, 3, 7, 31])),
    "wrap": (lambda x, c: np.where(x < 0, x + c, x), st.integers(1, 40)),
}
STEPS = st.lists(
    st.sampled_from(sorted(OPS)).flatmap(lambda op: st.tuples(st.just(op), OPS[op][1])), max_size=5
)


def written(steps, kind):
    """The body of a composition, and the name of its result."""
    lines, value = [], "%a"
    for number, (op, constant) in enumerate(steps):
        lines.append(f"%k{number} = arith.constant {constant} : {kind}")
        if op == "wrap":
            lines += [
                f"%z{number} = arith.constant 0 : {kind}",
                f"%l{number} = arith.cmpi slt, {value}, %z{number} : {kind}",
                f"%m{number} = arith.addi {value}, %k{number} : {kind}",
                f"%v{number} = arith.select %l{number}, %m{number}, {value} : {kind}",
            ]
        else:
            lines.append(f"%v{number} = arith.{op} {value}, %k{number} : {kind}")
        value = f"%v{number}"
    return "\n    ".join(lines), value


def computed(steps, values):
    for op, constant in steps:
        values = OPS[op][0](values, constant)
    return values


@given(steps=STEPS, rows=st.integers(1, 40), kind=st.sampled_from(["i32", "i64"]))
def test_compositions_of_ops_give_rows_of_the_table(steps, rows, kind):
    body, index = written(steps, kind)
    valid = valid_inputs(lookup(kind, rows, body, index).encode(), "test.mlir")
    allowed = dict(dict(valid.arguments)["main"]).get(1)
    values = random_values((512,), kind, 0, np.random.default_rng(0), allowed).astype(np.int64)
    reached = computed(steps, values)
    some = computed(steps, np.arange(-4000, 4000))
    possible = bool(((some >= 0) & (some < rows)).any())
    within = bool(((reached >= 0) & (reached < rows)).all())
    assert within or not possible or valid.unclear, (allowed, reached.min(), reached.max())


MOVES = {
    "transpose": "%{n} = stablehlo.transpose %{v}, dims = [1, 0] : (tensor<4x4xi32>) -> tensor<4x4xi32>",
    "reverse": "%{n} = stablehlo.reverse %{v}, dims = [0] : tensor<4x4xi32>",
    "slice": "%s{n} = stablehlo.slice %{v} [0:2, 0:4] : (tensor<4x4xi32>) -> tensor<2x4xi32>\n"
    "  %{n} = stablehlo.concatenate %s{n}, %s{n}, dim = 0\n"
    "    : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<4x4xi32>",
    "reshape": "%s{n} = stablehlo.reshape %{v} : (tensor<4x4xi32>) -> tensor<2x8xi32>\n"
    "  %{n} = stablehlo.reshape %s{n} : (tensor<2x8xi32>) -> tensor<4x4xi32>",
    "narrow": "%s{n} = stablehlo.convert %{v} : (tensor<4x4xi32>) -> tensor<4x4xi16>\n"
    "  %{n} = stablehlo.convert %s{n} : (tensor<4x4xi16>) -> tensor<4x4xi32>",
    "add": "%{n} = stablehlo.add %{v}, %three : tensor<4x4xi32>",
    "two": "%{n} = stablehlo.add %{v}, %q : tensor<4x4xi32>",
    "broadcast": "%s{n} = stablehlo.slice %{v} [0:1, 0:4] : (tensor<4x4xi32>) -> tensor<1x4xi32>\n"
    "  %{n} = stablehlo.broadcast_in_dim %s{n}, dims = [0, 1] : (tensor<1x4xi32>) -> tensor<4x4xi32>",
}
COMPUTED = {
    "transpose": lambda x, q: x.T,
    "reverse": lambda x, q: x[::-1],
    "slice": lambda x, q: np.concatenate([x[:2], x[:2]]),
    "reshape": lambda x, q: x,
    "narrow": lambda x, q: x,
    "add": lambda x, q: x + 3,
    "two": lambda x, q: x + q,
    "broadcast": lambda x, q: np.broadcast_to(x[:1], (4, 4)),
}


@given(moves=st.lists(st.sampled_from(sorted(MOVES)), max_size=6), rows=st.integers(40, 90))
def test_moves_of_tensors_give_rows_of_the_table(moves, rows):
    lines = [
        MOVES[move].replace("{n}", str(number + 1)).replace("{v}", str(number))
        for number, move in enumerate(moves)
    ]
    text = f"""
func.func @main(%t: tensor<{rows}xf32>, %0: tensor<4x4xi32>, %q: tensor<4x4xi32>) -> tensor<16xf32> {{
  %three = stablehlo.constant dense<3> : tensor<4x4xi32>
  {"  ".join(line + chr(10) for line in lines)}
  %s = stablehlo.reshape %{len(moves)} : (tensor<4x4xi32>) -> tensor<16x1xi32>
  %r = "stablehlo.gather"(%t, %s) {{dimension_numbers = #stablehlo.gather<offset_dims = [],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>,
    indices_are_sorted = false}} : (tensor<{rows}xf32>, tensor<16x1xi32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}}"""
    valid = valid_inputs(text.encode(), "test.mlir")
    assert not valid.unclear
    each, rng = dict(dict(valid.arguments)["main"]), np.random.default_rng(0)
    values, q = (random_values((4, 4), "i32", 0, rng, each.get(number)) for number in (1, 2))
    for move in moves:
        values = COMPUTED[move](values, q)
    assert values.min() >= 0
    assert values.max() < rows


@given(
    rows=st.integers(4, 40), first=st.integers(0, 3), step=st.integers(1, 3), factor=st.integers(1, 2),
    offset=st.integers(0, 3), carried=st.sampled_from([-2, -1, 1, 2]), kind=st.sampled_from(["i32", "index"]),
)  # fmt: skip
def test_loops_read_rows_of_the_table(rows, first, step, factor, offset, carried, kind):
    """A loop with a bound and a counter that are inputs: all indices of all its steps."""
    text = f"""
util.func public @main(%t: tensor<{rows}xf32>, %n: {kind}, %s: i32) -> f32 {{
  %lb = arith.constant {first} : {kind}
  %st = arith.constant {step} : {kind}
  %f = arith.constant {factor} : {kind}
  %o = arith.constant {offset} : {kind}
  %c = arith.constant {carried} : i32
  %z = arith.constant 0.0 : f32
  %r:2 = scf.for %i = %lb to %n step %st iter_args(%j = %s, %a = %z) -> (i32, f32)
      {"" if kind == "index" else ": i32"} {{
    %m = arith.muli %i, %f : {kind}
    %p = arith.addi %m, %o : {kind}
    %x = {"arith.addi %p, %zero : index" if kind == "index" else "arith.index_cast %p : i32 to index"}
    %y = arith.index_cast %j : i32 to index
    %u = tensor.extract %t[%x] : tensor<{rows}xf32>
    %v = tensor.extract %t[%y] : tensor<{rows}xf32>
    %w = arith.addf %u, %v : f32
    %b = arith.addf %a, %w : f32
    %k = arith.addi %j, %c : i32
    scf.yield %k, %b : i32, f32
  }}
  util.return %r#1 : f32
}}""".replace("%z = ar", "%zero = arith.constant 0 : index\n  %z = ar", 1)
    valid = valid_inputs(text.encode(), "test.mlir")
    each, rng = dict(dict(valid.arguments)["main"]), np.random.default_rng(0)
    for _ in range(32):
        end, start = (
            int(integers((), "i64", each[number], rng)) if number in each else 1 for number in (1, 2)
        )
        steps = range(first, end, step)
        reached = [place * factor + offset for place in steps]
        reached += [start + carried * number for number in range(len(steps))]
        assert valid.unclear or {*reached} <= {*range(rows)}


CASES = sorted((Path(__file__).parent / "cases").glob("*.mlir"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_what_is_found_does_not_depend_on_names(path):
    """Bytecode has no names of values."""
    text = path.read_bytes()
    program = load_program(path)
    assert valid_inputs(text, "a") == valid_inputs(program.data, "b")
