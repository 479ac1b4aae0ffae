"""Attention on CUDA and ROCm: the compiler's constraints, what is added to them, and what is built here.

Compiles for GPUs; needs none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial

import pytest
from amounts import amount, some
from iree.compiler import ir
from iree.compiler.dialects import iree_codegen
from light_members import light

from iree_tuner.compiler.worker import Workers
from iree_tuner.measure.candidate import Builder, Built
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.space.build import build_spaces
from iree_tuner.space.emitted import emit
from iree_tuner.space.gpu.attention import ATTENTION_SUPPLEMENTS, fits_matrix_instructions
from iree_tuner.space.gpu.constraints_draft import Draft, apply
from iree_tuner.space.space import Space
from iree_tuner.targets import GpuLimits, parse_target

DIMS = "affine_map<(b, m, n, k1, k2) -> "
FLUSHED = 'iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">'


def program(queries: int, keys: int, depth: int, kind: str) -> Program:
    query, key = f"tensor<4x{queries}x{depth}x{kind}>", f"tensor<4x{keys}x{depth}x{kind}>"
    maps = ", ".join(f"{DIMS}({each})>" for each in ("b, m, k1", "b, k2, k1", "b, k2, n", "", "b, m, n"))
    text = f"""
func.func @main(%q: {query}, %k: {key}, %v: {key}) -> {query} {{
  %s = arith.constant 0.125 : {kind}
  %e = tensor.empty() : {query}
  %r = iree_linalg_ext.attention <indexing_maps = [{maps}]>
      ins(%q, %k, %v, %s : {query}, {key}, {key}, {kind}) outs(%e : {query}) {{
  ^bb0(%x: f32):
    iree_linalg_ext.yield %x : f32
  }} -> {query}
  return %r : {query}
}}"""
    return Program("attention.mlir", text.encode())


class Case:
    """One attention on one target: its dispatch, and the ops that the compiler emits for it."""

    def __init__(self, workers: Workers, target: str, queries: int, keys: int, depth: int, kind: str) -> None:
        self.target = parse_target(target)
        self._workers = workers
        (self.dispatch,) = extract(program(queries, keys, depth, kind), self.target, workers).dispatches
        assert self.dispatch.harness is not None
        assert self.dispatch.workload is not None
        self.workload = self.dispatch.workload
        self.emitted = emit(self.dispatch.harness, self.workload, self.target, workers).modules
        self._spaces: dict[bool, Space] = {}

    @property
    def limits(self) -> GpuLimits:
        assert isinstance(self.dispatch.limits, GpuLimits)
        return self.dispatch.limits

    def space(self, context: ir.Context, *, supplements: bool = True) -> Space:
        if supplements not in self._spaces:
            (self._spaces[supplements],) = build_spaces(
                self.workload, self.limits, context, self.emitted, supplements=supplements
            )
        return self._spaces[supplements]

    def space_without(self, context: ir.Context, name: str) -> Space:
        """With all supplements but one."""
        (source,) = self.emitted
        with context, ir.Location.unknown(context):
            module = ir.Module.parse(source)
            (op,) = ir.get_ops_of_type(module, iree_codegen.ConstraintsOp)
            kept = tuple(each for each in ATTENTION_SUPPLEMENTS if each.name != name)
            apply(kept, Draft(op, self.workload, self.limits))
            return Space(self.workload, module)

    def build(self, space: Space, assignment: dict[str, int]) -> Built:
        assert self.dispatch.harness is not None
        builder = Builder(self.target, self._workers)
        return builder.build(self.dispatch.harness, space.configuration(assignment))


Make = partial[Case]


@pytest.fixture(scope="module")
def make(compilers: Workers) -> Make:
    return partial(Case, compilers)


@pytest.fixture(scope="module")
def gfx942(make: Make) -> Case:
    return make("hip:gfx942", 256, 512, 64, "f16")


def near_default(space: Space, **values: int) -> dict[str, int]:
    """A member with these values, and for the rest those of the compiler's own choice where they fit."""
    return dict(_near_default(space, tuple(sorted(values.items()))))


@cache
def _near_default(space: Space, changed: tuple[tuple[str, int], ...]) -> Mapping[str, int]:
    usual = {"m_tile": 64, "n_tile": 64, "red_k2": 64, "sg_m_cnt": 4, "sg_n_cnt": 1, "promote_qk": 3}
    usual |= {
        "promote_value": 1,
        "reorder_workgroups_strategy": 0,
        "no_reduce_shared_memory_bank_conflicts": 0,
    }
    known = {name: value for name, value in (usual | dict(changed)).items() if name in space.names}
    found = space.complete(known)
    assert found is not None, space.violations_of_part(known)
    return found


@pytest.mark.parametrize(
    "target", some(["cuda:sm_90", "cuda:sm_80", "hip:gfx942", "hip:gfx1201", "hip:gfx1100"], 5)
)
def test_samples_compile(make: Make, context: ir.Context, target: str) -> None:
    case = make(target, 256, 512, 64, "f16")
    assert bool(case.emitted) == target.startswith("hip")
    space = case.space(context)
    built = [case.build(space, dict(each)) for each in light(space.sample(16, seed=0))[: amount(1, 5)]]
    assert [each.message for each in built if each.outcome != "ok"] == []
    assert len({each.digest for each in built}) == len(built)


@pytest.mark.parametrize(
    ("target", "kind", "depth"),
    [
        pytest.param("cuda:sm_80", "f32", 64, marks=pytest.mark.exhaustive),
        ("hip:gfx1201", "f32", 64),
        ("cuda:sm_80", "f16", 72),
    ],
)
def test_without_instructions_keys_are_spread(
    make: Make, context: ir.Context, target: str, kind: str, depth: int
) -> None:
    case = make(target, 64, 512, depth, kind)
    with context:
        assert not fits_matrix_instructions(case.workload, case.limits)
    space = case.space(context)
    assert {"k1_threads", "k2_threads", "n_threads"} < set(space.names)
    built = [case.build(space, dict(each)) for each in light(space.sample(16, seed=0))[: amount(1, 3)]]
    assert [each.message for each in built if each.outcome != "ok"] == []


def test_both_attributes_arrive(gfx942: Case, context: ir.Context) -> None:
    space = gfx942.space(context)
    member = near_default(space, qk_mma_idx=5, pv_mma_idx=4)
    attributes = [op.attribute for op in space.configuration(member).ops]
    assert attributes == ["compilation_info", "decomposition_config"]
    assert FLUSHED in space.configuration(member).ops[0].value
    other = near_default(space, qk_mma_idx=1, pv_mma_idx=0)
    first, second = gfx942.build(space, member), gfx942.build(space, other)
    assert (first.outcome, second.outcome) == ("ok", "ok")
    assert first.digest != second.digest


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"sg_m_cnt": 2}, marks=pytest.mark.exhaustive),
        {"sg_m_cnt": 2, "sg_n_cnt": 2},
        pytest.param({"promote_qk": 0}, marks=pytest.mark.exhaustive),
        {"promote_value": 0},
        {"qk_mma_idx": 5, "pv_mma_idx": 4},
        # As in other spaces of the pipeline (test_the_same_edits_elsewhere in test_gpu_options.py).
        pytest.param({"reorder_workgroups_strategy": 1}, marks=pytest.mark.exhaustive),
    ],
)
def test_what_is_opened_changes_the_code(gfx942: Case, context: ir.Context, values: dict[str, int]) -> None:
    raw = gfx942.space(context, supplements=False)
    assert not values.keys() <= set(raw.names) or raw.complete(values) is None
    space = gfx942.space(context)
    member = near_default(space, **{"qk_mma_idx": 1, "pv_mma_idx": 0, **values})
    usual = near_default(space, qk_mma_idx=1, pv_mma_idx=0)
    assert gfx942.build(space, member).outcome == "ok"
    assert gfx942.build(space, member).digest != gfx942.build(space, usual).digest


@pytest.mark.parametrize(
    ("supplement", "values", "refusal"),
    [
        (
            "score tile",
            {"red_k2": 16, "m_tile": 128, "qk_mma_idx": 2, "pv_mma_idx": 2},
            "did not determine a valid tile size",
        ),
        (
            "shared memory",
            {"red_k2": 128, "m_tile": 128, "qk_mma_idx": 0, "pv_mma_idx": 0},
            "bytes of shared memory; exceeded the limit",
        ),
    ],
)
def test_what_the_compiler_refuses_is_left_out(
    gfx942: Case, context: ir.Context, supplement: str, values: dict[str, int], refusal: str
) -> None:
    without = gfx942.space_without(context, supplement)
    member = near_default(without, **values)
    built = gfx942.build(without, member)
    assert built.outcome == "compile_error"
    assert refusal in built.message
    assert not gfx942.space(context).contains(member)


def test_operands_without_a_thread_layout_stay_in_global_memory(make: Make, context: ir.Context) -> None:
    case = make("hip:gfx942", 256, 512, 80, "f16")
    space = case.space(context)
    member = near_default(space, n_tile=16, promote_qk=0, promote_value=0)
    assert case.build(space, member).outcome == "ok"
    promoted = {**member, "promote_qk": 3}
    assert any("no thread layout" in reason for reason in space.violations(promoted))
    refused = case.build(space, promoted)
    assert "failed to derive layout for promoted read-like op" in refused.message


@pytest.mark.parametrize(
    ("target", "queries", "keys"),
    some(
        [
            ("cuda:sm_80", 100, 512),
            ("hip:gfx942", 100, 512),
            ("cuda:sm_80", 256, 500),
            ("hip:gfx942", 256, 500),
        ],
        3,
    ),
)
def test_rows_or_keys_that_no_tile_divides(
    make: Make, context: ir.Context, target: str, queries: int, keys: int
) -> None:
    case = make(target, queries, keys, 64, "f16")
    space = case.space(context)
    assert "qk_mma_idx" in space.names
    built = [case.build(space, dict(each)) for each in light(space.sample(16, seed=0))[: amount(1, 3)]]
    assert [each.message for each in built if each.outcome != "ok"] == []


def test_registers_bound_what_llvm_takes_long_over(gfx942: Case, context: ir.Context) -> None:
    large = {"m_tile": 256, "red_k2": 256, "sg_m_cnt": 1, "promote_qk": 0, "promote_value": 0}
    near_default(gfx942.space_without(context, "registers"), **large)
    assert gfx942.space(context).complete(large) is None


def test_supplements_have_reasons_and_releases() -> None:
    assert all(each.reason and each.releases == ("3.13",) for each in ATTENTION_SUPPLEMENTS)
    assert len({each.name for each in ATTENTION_SUPPLEMENTS}) == len(ATTENTION_SUPPLEMENTS)


def test_few_rows_or_two_remainders_have_no_instruction(gfx942: Case, context: ir.Context) -> None:
    workload = gfx942.workload
    few = replace(workload, loops=(workload.loops[0], 4, *workload.loops[2:]))
    uneven = replace(workload, loops=(4, 100, *workload.loops[2:4], 500))
    with context:
        assert fits_matrix_instructions(workload, gfx942.limits)
        assert not fits_matrix_instructions(few, gfx942.limits)
        assert not fits_matrix_instructions(uneven, gfx942.limits)


def test_default_is_known(gfx942: Case) -> None:
    assert isinstance(gfx942.dispatch, Dispatch)
    assert "qk_attrs" in gfx942.dispatch.decomposition
