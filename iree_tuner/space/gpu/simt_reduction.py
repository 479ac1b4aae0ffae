"""VectorDistribute for contractions with one or few rows or columns: subgroups share each reduction.

The compiler chooses it for them (setReductionConfig, ReductionConfigUtils.cpp): the lanes of all subgroups of
a workgroup are spread along the innermost reduction loop, each lane reads a vector at a time, and partial
results are combined with shuffles and, across subgroups, through shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from iree_tuner.ops.workload import Workload
from iree_tuner.space.constraints import integers, knob
from iree_tuner.space.expressions import Integer, constant, product, require
from iree_tuner.space.gpu.ladders import divisors, powers
from iree_tuner.space.gpu.operands import bits_of
from iree_tuner.space.gpu.options import OPTIONS
from iree_tuner.space.gpu.simt_tiles import is_by_rows, plain_options
from iree_tuner.targets import GpuLimits

_MOST_RESULTS = 64
"""Of one workgroup: each is reduced by all of its threads, in unrolled code."""

_MOST_SUBGROUPS = 16


def is_reducible(workload: Workload, limits: GpuLimits) -> bool:
    """Whether subgroups can share a contraction's reductions, and the compiler would have them do so."""
    reduced = workload.role("k")
    if workload.family != "contraction" or not reduced or is_by_rows(workload, limits):
        return False
    return workload.loops[reduced[-1]] % limits.subgroup_size == 0


class Reduction:
    """How the threads of a workgroup share reductions, while the constraints op is being built."""

    def __init__(self, workload: Workload, limits: GpuLimits) -> None:
        self.workload = workload
        self.limits = limits
        self.inner = workload.role("k")[-1]
        self.workgroup: dict[int, Integer] = {}

    def declare(self) -> None:
        """All knobs and asserts."""
        for loop, kind in enumerate(self.workload.iterators):
            size = self.workload.loops[loop]
            values = [value for value in divisors(size) if value in powers(_MOST_RESULTS)]
            if kind == "parallel" and len(values) > 1:
                self.workgroup[loop] = knob(f"wg_{loop}", values, f"a power of two that divides {size}")
        results = product(list(self.workgroup.values()) or [constant(1)])
        message = f"a workgroup must have at most {_MOST_RESULTS} results, not {{}}"
        require(results <= _MOST_RESULTS, message, results)
        self._declare_step()

    def _declare_step(self) -> None:
        size, lanes = self.workload.loops[self.inner], self.limits.subgroup_size
        bits = max(bits_of(kind) for kind in self.workload.types[:2])
        widest = max(1, self.limits.max_load_bits // bits)
        vector = knob(
            "th_k", powers(widest), f"a power of two up to {widest} ({self.limits.max_load_bits} bits)"
        )
        most = min(_MOST_SUBGROUPS, self.limits.max_threads // lanes)
        subgroups = knob("subgroups", powers(most), f"a power of two up to {most}")
        threads = knob("wg_size_x", [count * lanes for count in powers(most)], "a number of whole subgroups")
        count = subgroups * lanes
        require(
            threads.equals(count), "wg_size_x ({}) must be the threads of all subgroups ({})", threads, count
        )
        steps = [lanes * value for value in powers(most * widest)]
        step = knob(f"red_{self.inner}", steps, f"{lanes} times a power of two")
        wanted = threads * vector
        message = f"red_{self.inner} ({{}}) must be one vector for each thread ({{}})"
        require(step.equals(wanted), message, step, wanted)
        require((constant(size) % step).equals(0), f"red_{self.inner} ({{}}) must divide {size}", step)

    def knobs(self) -> Mapping[str, ir.Attribute]:
        """The knobs dictionary."""
        kinds = list(enumerate(self.workload.iterators))
        workgroup = {
            loop: f"wg_{loop}" if loop in self.workgroup else 1 for loop, kind in kinds if kind == "parallel"
        }
        ones: dict[int, int | str] = {loop: 1 for loop, kind in kinds if kind == "reduction"}
        all_ones: dict[int, int | str] = {loop: 1 for loop, _ in kinds}
        return {
            "workgroup": self._level(workgroup),
            "partial_reduction": self._level({**ones, self.inner: f"red_{self.inner}"}),
            "thread": self._level({**ones, self.inner: "th_k"}),
            "lane_basis": self._basis({**all_ones, self.inner: self.limits.subgroup_size}),
            "subgroup_basis": self._basis({**all_ones, self.inner: "subgroups"}),
            "workgroup_size": integers(["wg_size_x", 1, 1]),
            "subgroup_size": integers([self.limits.subgroup_size])[0],
            OPTIONS: plain_options(ir.BoolAttr.get(False)),
        }

    def _level(self, sizes: Mapping[int, int | str]) -> ir.ArrayAttr:
        return integers([sizes.get(loop, 0) for loop in range(len(self.workload.loops))])

    def _basis(self, counts: Mapping[int, int | str]) -> ir.ArrayAttr:
        return ir.ArrayAttr.get([self._level(counts), integers(list(range(len(self.workload.loops))))])
