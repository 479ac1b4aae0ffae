"""Options of the pipelines that the compiler pins, opened where they change the code on a target.

What they change was found by comparing executables (test/unit/space/test_gpu_options.py): on CUDA the
number of prefetch stages and the flushing of denormals change nothing; reordering workgroups changes
nothing in TileAndFuse anywhere; `amdgpu-waves-per-eu` changes nothing anywhere.
"""

from __future__ import annotations

from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

from iree_tuner.space.constraints import knob_attribute, one_of_attribute
from iree_tuner.space.expressions import require
from iree_tuner.space.gpu.draft import Draft
from iree_tuner.space.gpu.supplement import Supplement

OPTIONS = "gpu_pipeline_options"
DENORMALS = "iree_codegen.denormal_fp_math_f32"

_PREFETCH = "prefetch_num_stages"
_CONFLICTS = "no_reduce_shared_memory_bank_conflicts"
_REORDER = "reorder_workgroups_strategy"


def _open_prefetch(draft: Draft) -> None:
    draft.remove(f"{_PREFETCH} == ")
    with draft.extending():
        stages = draft.value(_PREFETCH)
        require(stages.is_one_of((1, 2, 3)), f"{_PREFETCH} ({{}}) must be 1 (none), 2 or 3", stages)


def _open_conflicts(draft: Draft) -> None:
    draft.declare(_CONFLICTS, (0, 1), "0 (rows in shared memory are padded) or 1 (they are not)")
    choice = one_of_attribute(_CONFLICTS, [ir.BoolAttr.get(False), ir.BoolAttr.get(True)])
    _set_option(draft, _CONFLICTS, choice)


def _open_reordering(draft: Draft) -> None:
    draft.declare(_REORDER, (0, 1), "0 (none) or 1 (transposed)")
    # `get` takes the enumeration's number: None is 0, Transpose is 1.
    strategies = [iree_gpu.ReorderWorkgroupsStrategyAttr.get(iree_gpu.ReorderWorkgroupsStrategy(i)) for i in (0, 1)]
    _set_option(draft, _REORDER, one_of_attribute(_REORDER, strategies))


def _open_denormals(draft: Draft) -> None:
    draft.declare("flush_denormals", (0, 1), "0 (as they are) or 1 (flushed to zero)")
    kinds = [ir.UnitAttr.get(), ir.Attribute.parse('#iree_codegen.denormal_fp_math<"preserve-sign">')]
    draft.set_entries(**{DENORMALS: one_of_attribute("flush_denormals", kinds)})


def _set_option(draft: Draft, name: str, value: ir.Attribute) -> None:
    options = {named.name: named.attr for named in ir.DictAttr(draft.entries[OPTIONS])}
    draft.set_entries(**{OPTIONS: ir.DictAttr.get(options | {name: value})})


def _is_rocm(draft: Draft) -> bool:
    return draft.limits.backend == "hip"


OPTION_SUPPLEMENTS = (
    Supplement(
        name="prefetch",
        reason="the emitter pins two stages; ROCDLPrefetchSharedMemory knows one to three, and NVVM has no such pass",
        releases=("3.13",),
        applies=lambda draft: _is_rocm(draft) and draft.has(_PREFETCH) and not draft.igemm,
        extend=_open_prefetch,
    ),
    Supplement(
        name="bank conflicts",
        reason="the emitter pins the padding of rows in shared memory (GPUReduceBankConflicts) to on",
        releases=("3.13",),
        applies=lambda draft: OPTIONS in draft.entries,
        extend=_open_conflicts,
    ),
    Supplement(
        name="workgroup order",
        reason="the emitter leaves out the order of workgroups, which VectorDistribute's tiling takes",
        releases=("3.13",),
        applies=lambda draft: OPTIONS in draft.entries and draft.pipeline == "VectorDistribute",
        extend=_open_reordering,
    ),
    Supplement(
        name="denormals",
        reason="the emitter leaves out the flushing of denormals, which the AMDGPU backend takes as an attribute",
        releases=("3.13",),
        applies=lambda draft: _is_rocm(draft) and OPTIONS in draft.entries,
        extend=_open_denormals,
    ),
)
"""For every family."""

__all__ = ["DENORMALS", "OPTIONS", "OPTION_SUPPLEMENTS", "knob_attribute"]
