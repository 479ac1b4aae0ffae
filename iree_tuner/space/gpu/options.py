"""Options of the pipelines that the compiler pins, opened where they change the code on a target.

Their effects were found by comparing executables (test/unit/space/test_gpu_options.py): on CUDA the
number of prefetch stages and the flushing of denormals change nothing; reordering workgroups changes
nothing in TileAndFuse anywhere; the backend tries for one wave per execution unit anyway.
"""

from __future__ import annotations

from iree.compiler import ir
from iree.compiler.dialects import iree_gpu

from iree_tuner.compiler.unbound import flushed_denormals
from iree_tuner.space.constraints import one_of_attribute
from iree_tuner.space.gpu.constraints_draft import Draft, Supplement
from iree_tuner.space.gpu.prefetch import PREFETCH, PREFETCH_SUPPLEMENTS

OPTIONS = "gpu_pipeline_options"
DENORMALS = "iree_codegen.denormal_fp_math_f32"

_WAVES = (2, 4)

CONFLICTS = "no_reduce_shared_memory_bank_conflicts"
_REORDER = "reorder_workgroups_strategy"


def pipeline_options(
    stages: ir.Attribute, rows_stay: ir.Attribute | None = None, *, igemm: bool = False
) -> ir.DictAttr:
    """The entry `gpu_pipeline_options`; `stages` are prefetched at once.

    Rows in shared memory are padded unless they `stay`; with `igemm`, patches of a convolution are gathered.
    """
    if rows_stay is None:
        rows_stay = ir.BoolAttr.get(False)
    entries = {PREFETCH: stages, CONFLICTS: rows_stay, "use_igemm_convolution": ir.BoolAttr.get(igemm)}
    return ir.DictAttr.get(entries)


def _open_conflicts(draft: Draft) -> None:
    draft.declare(CONFLICTS, (0, 1), "0 (rows in shared memory are padded) or 1 (they are not)")
    choice = one_of_attribute(CONFLICTS, [ir.BoolAttr.get(False), ir.BoolAttr.get(True)])
    _set_option(draft, CONFLICTS, choice)


def _open_reordering(draft: Draft) -> None:
    draft.declare(_REORDER, (0, 1), "0 (none) or 1 (transposed)")
    # `get` takes the enumeration's number: None is 0, Transpose is 1.
    strategies = [
        iree_gpu.ReorderWorkgroupsStrategyAttr.get(iree_gpu.ReorderWorkgroupsStrategy(i)) for i in (0, 1)
    ]
    _set_option(draft, _REORDER, one_of_attribute(_REORDER, strategies))


def _open_denormals(draft: Draft) -> None:
    draft.declare("flush_denormals", (0, 1), "0 (as they are) or 1 (flushed to zero)")
    kinds = [ir.UnitAttr.get(), flushed_denormals()]
    draft.set_entries(**{DENORMALS: one_of_attribute("flush_denormals", kinds)})


def _open_waves(draft: Draft) -> None:
    draft.declare("waves_per_eu", range(len(_WAVES) + 1), "0 (no wish), 1 (two) or 2 (four)")
    wishes = [ir.DictAttr.get({"amdgpu-waves-per-eu": ir.StringAttr.get(str(waves))}) for waves in _WAVES]
    draft.set_entries(**{"llvm_func_attrs": one_of_attribute("waves_per_eu", [ir.UnitAttr.get(), *wishes])})


def _set_option(draft: Draft, name: str, value: ir.Attribute) -> None:
    options = {named.name: named.attr for named in ir.DictAttr(draft.entries[OPTIONS])}
    draft.set_entries(**{OPTIONS: ir.DictAttr.get(options | {name: value})})


OPTION_SUPPLEMENTS = (
    *PREFETCH_SUPPLEMENTS,
    Supplement(
        name="bank conflicts",
        reason="the emitter pins the padding of rows in shared memory (GPUReduceBankConflicts) to on",
        applies=lambda draft: OPTIONS in draft.entries,
        extend=_open_conflicts,
    ),
    Supplement(
        name="workgroup order",
        reason="the emitter leaves out the order of workgroups, which VectorDistribute's tiling takes",
        applies=lambda draft: OPTIONS in draft.entries and draft.pipeline == "VectorDistribute",
        extend=_open_reordering,
    ),
    Supplement(
        name="denormals",
        reason="the emitter leaves out the flushing of denormals, an attribute of the AMDGPU backend",
        applies=lambda draft: draft.limits.codegen.hints and OPTIONS in draft.entries,
        extend=_open_denormals,
    ),
    Supplement(
        name="waves",
        reason="the emitter leaves out how many waves an execution unit should hold at least, by which the "
        "AMDGPU backend limits registers",
        applies=lambda draft: draft.limits.codegen.hints and OPTIONS in draft.entries,
        extend=_open_waves,
    ),
)
"""For every family."""
