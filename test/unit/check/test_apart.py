"""Programs of all kinds are compared as a whole and in parts: sizes, types, loops, calls and state."""

from pathlib import Path

import numpy as np
import pytest
from amounts import ALL
from apart_programs import Apart, same

from iree_tuner.check.parts import LoadedParts
from iree_tuner.compiler.worker import Workers
from iree_tuner.device.program_loaded import SEEDS
from iree_tuner.device.slack import ErrorDepth, agreement_of
from iree_tuner.measure.program import compare_programs

FOLDER = Path(__file__).parent / "apart"
DOUBLE = ("--iree-input-demote-f64-to-f32=false",)
DIMS = {
    "dynamic_beside": "8", "dynamic_batch": "1", "dynamic_mlp": "5", "dynamic_joined": "6",
    "dynamic_assumed": "16", "torch_dynamic": "3", "loops_dynamic": "3",
}  # fmt: skip
FLAGS = dict.fromkeys(("complex_double", "rank0_bool", "state_unwritten"), DOUBLE)
NO_RESULTS = ("branches_cf",)
"""Programs whose results are not made of parts."""

EVERY = sorted(path.stem for path in FOLDER.glob("*.mlir"))
KINDS = ("async_scalar", "calls_state", "counter", "dynamic_result", "loop_stablehlo", "scalars")
"""By default: fences, calls of functions with state, integers, sizes that are results, a loop, scalars."""


OTHERWISE = ("dynamic_result", "loop_stablehlo")
"""By default these are compared with what other flags make of them, the rest with themselves."""


def chosen(cases, names):
    """Those of some programs, all with `--all`; programs that several tests look at are compiled once."""
    return [each for each in cases if ALL or (each if isinstance(each, str) else each[0]) in names]


@pytest.fixture(scope="module")
def apart_of(tmp_path_factory):
    known = {}

    def find(name):
        if name not in known:
            text, dims = (FOLDER / f"{name}.mlir").read_text(), DIMS.get(name)
            folder = tmp_path_factory.mktemp(name)
            known[name] = Apart(text, folder, [dims] if dims else [], FLAGS.get(name, ()))
        return known[name]

    return find


@pytest.fixture(scope="module")
def measuring():
    with Workers(1) as workers:
        yield workers


@pytest.mark.parametrize("name", chosen(EVERY, KINDS))
def test_a_program_is_compared_as_a_whole_and_in_its_parts(name, apart_of):
    apart = apart_of(name)
    other = apart.otherwise() if ALL or name in OTHERWISE else apart.base
    judged = apart.judge(other)
    assert sorted(set(judged.compared)) == apart.dispatches
    assert set(apart.dispatches) == apart.exports
    assert (judged.faults, judged.own, judged.overflown) == ((), (), ())
    assert not apart.follow(apart.base)
    whole, again = apart.whole(), apart.whole()
    expected = whole.results()
    assert not whole.known.unwritten
    found = agreement_of(again.results(), expected, whole.spreads(ErrorDepth(64, 2, judged.moves)))
    assert found.ok
    assert found.worst == 0
    assert not apart.base.parts.left_out
    if name not in NO_RESULTS:
        assert all(same(apart.results(seed), own) for seed, own in zip(SEEDS, expected, strict=True))


PLANTED = [
    ("scalar_result", "arith.addf", "arith.subf", "reduction"),
    ("scalar_input", "arith.mulf", "arith.addf", "elementwise"),
    ("rank0_f16", "arith.extf %in : f16 to f32", "arith.constant 3.0 : f32", "elementwise"),
    ("rank0_bool", "arith.andi", "arith.xori", "elementwise"),
    ("complex_input", "complex.re", "complex.im", "elementwise"),
    ("complex_result", "complex.create %in, %in", "complex.create %in, %cst", ""),
    ("complex_double", "arith.addf", "arith.subf", "elementwise"),
    ("complex_between", "= math.sqrt", "= math.absf", "elementwise"),
    ("dynamic_mlp", "math.tanh", "math.absf", "Dx"),
    ("dynamic_assumed", "arith.addi", "arith.subi", "i8xi8xi32"),
    ("dynamic_beside", "arith.addf %in, %in", "arith.mulf %in, %in", "elementwise_D"),
    ("loops_two", "math.tanh", "math.absf", ""),
    ("loops_nested", "arith.addf", "arith.subf", "elementwise"),
    ("loop_stablehlo", "arith.cmpf olt", "arith.cmpf ogt", "main_dispatch_"),
    ("loop_until", "arith.mulf", "arith.addf", "elementwise"),
    ("branch_on_data", "arith.negf", "math.absf", "elementwise"),
    ("calls", "math.tanh", "math.absf", "vecmat"),
    ("counter", "arith.addi", "arith.subi", "elementwise"),
    ("shared_state", "arith.addf %in, %in", "arith.mulf %in, %in", "prefill"),
    ("state_of_several", "arith.addi", "arith.subi", "step"),
    ("state_unwritten", "arith.subf", "arith.addf", "12x16"),
]


@pytest.mark.parametrize(
    ("name", "right", "wrong", "dispatch"),
    chosen(PLANTED, ("branch_on_data", "complex_result", "shared_state", "state_unwritten")),
)
def test_a_wrong_dispatch_is_found(name, right, wrong, dispatch, apart_of):
    apart = apart_of(name)
    version = apart.pieces(apart.with_defect(right, wrong))
    faults = apart.judge(version).faults
    assert {fault.fault for fault in faults} == {"wrong"}
    assert all(dispatch in fault.dispatch for fault in faults)
    assert {fault.dispatch for fault in apart.follow(version)} & {fault.dispatch for fault in faults}


def loop(a, w):
    for _ in range(4):
        a = (a @ w)[:, :64]
    return a


def doubled(a, w):
    for number in range(5):
        if not a.max() < 1e4:
            return [np.int32(number), a]
        a = a @ w
    return [np.int32(5), a]


def until(a):
    while a > np.float32(0.01):
        a = a * np.float32(0.5)
    return a


def updated(cache, x, w, position):
    cache = cache.copy()
    cache[min(int(position), 15)] = (x @ w)[0]
    return cache


RIGHT = {
    "scalar_result": lambda a, w: [(a @ w).sum()],
    "scalar_input": lambda a, w, c: [(a * c) @ w],
    "complex_input": lambda c, w: [c.real @ w],
    "complex_result": lambda a, w: [(a @ w) * (1 + 1j)],
    "dynamic_beside": lambda a, w, c: [a @ w, c + c],
    "dynamic_batch": lambda a, w: [a @ w],
    "cache_update": lambda cache, x, w, position: [updated(cache, x, w, position)],
    "dynamic_result": lambda a, w: [np.flatnonzero((a @ w)[0, :16] > 0)],
    "decode_loop": lambda a, w: [loop(a, w)],
    "loop_stablehlo": doubled,
    "shared_state": lambda a, w: [(a + a) @ w],
    "counter": lambda x, w: [x @ w, np.int32(1)],
    "async": lambda a, w: [a @ w],
    "loop_until": lambda a: [until(a)],
    "complex_between": lambda a, w: [a @ w, (a @ w).sum(), np.abs((a @ w).sum())],
    "rank0_linalg": lambda a, k: [(a * k).sum(), a / (a * k).sum()],
    "dynamic_joined": lambda a, b, w: [np.concatenate([a, b]) @ w],
    "state_unwritten": lambda a: [0.25 + a.sum(0), a - 0.25],
}


@pytest.mark.parametrize(
    "name",
    chosen(RIGHT, ("complex_result", "loop_stablehlo", "dynamic_beside", "shared_state", "state_unwritten")),
)
def test_results_are_right(name, apart_of):
    """Also after further invocations: each comparison begins from the state after loading."""
    apart = apart_of(name)
    loaded, whole = LoadedParts(apart.base, "local-task", apart.run), apart.whole()
    for seed in (*SEEDS, SEEDS[0]):
        inputs = loaded.inputs(seed).values()
        assert same(whole.results_of(seed), [np.asarray(each) for each in RIGHT[name](*inputs)])
        whole.batch(1)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    chosen([
        ("counter", "dense<1>", "dense<2>"),
        ("shared_state", "arith.addf %a, %a", "arith.mulf %a, %a"),
        ("state_of_several", "arith.mulf %s, %f", "arith.subf %s, %f"),
        ("cache_update", "%cache, %k, %pos, %z", "%cache, %k, %z, %z"),
        ("dynamic_result", "ogt", "olt"),
        ("async", "%z = arith.constant 0.0", "%z = arith.constant 0.5"),
        ("decode_loop", "%c4 = arith.constant 4", "%c4 = arith.constant 3"),
        ("complex_result", "complex.create %x, %x", "complex.create %x, %z"),
    ], ("counter", "dynamic_result", "shared_state")),
)  # fmt: skip
def test_a_wrong_whole_program_is_found_and_a_right_one_is_timed(name, right, wrong, apart_of, measuring):
    apart = apart_of(name)
    made, other = apart.compiled(), apart.compiled(right, wrong)
    again, changed = compare_programs(
        [[made, made, other]], "local-task", measuring, 4, ErrorDepth(64, 2), apart.run, batch_s=0.001
    )
    assert again.ok
    assert again.comparison is not None
    assert again.agreement.worst == 0
    assert changed.error.startswith("wrong results: seed ")


def test_scalars_have_the_types_that_are_declared(apart_of):
    (_, *found) = apart_of("scalars").whole().results()[0]
    assert [each.dtype.name for each in found] == ["float32", "int64", "int32", "int8"]
    assert [each.item() for each in found] == [pytest.approx(0.4), 3, 3, 1]


def test_integers_have_no_note_on_rounding(apart_of):
    counter = apart_of("counter")
    whole, again = counter.whole(), counter.whole()
    found = agreement_of(again.results(), whole.results(), whole.spreads(ErrorDepth(64, 2)))
    assert (found.ok, found.note) == (True, "")
    assert [int(each[1]) for each in whole.results()] == [1, 1, 1]
