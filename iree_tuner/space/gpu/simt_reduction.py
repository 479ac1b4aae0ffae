"""VectorDistribute for reductions that subgroups share: of contractions with one or few rows or columns,
and of generic ops such as a softmax or a norm.

The compiler chooses it for them (setReductionConfig, ReductionConfigUtils.cpp). The lanes of all subgroups of
a workgroup are spread along the innermost reduction loop, and each lane reads a vector at a time. Partial
results are combined with shuffles and, across subgroups, through shared memory. Other ops of the dispatch
that walk the same loop are spread in the same way, step by step where they do not reduce it.
"""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.workload import Companion, Workload
from iree_tuner.space.constraints import COMPANIONS, integers, knob
from iree_tuner.space.expressions import Integer, constant, product, require
from iree_tuner.space.gpu.ladders import divisors, powers
from iree_tuner.space.gpu.options import OPTIONS
from iree_tuner.space.gpu.simt_tiles import is_by_rows, plain_options
from iree_tuner.targets import GpuLimits

_MOST_RESULTS = 64
"""Of one workgroup: each is reduced by all of its threads, in unrolled code."""

_MOST_ROWS = 8
"""Of one workgroup, of a softmax or a norm: registers hold them."""

_MOST_SUBGROUPS = 16


def shared_loop(workload: Workload, limits: GpuLimits) -> int | None:
    """The loop whose reduction subgroups can share, as the compiler would have them do; None without one."""
    kinds = list(enumerate(workload.iterators))
    reduced = [
        loop for loop, kind in kinds
        if kind == "reduction" and (workload.loops[loop] > 1 or workload.dynamic_loop(loop) is not None)
    ]  # fmt: skip
    if is_contraction(workload):
        reduced = [] if is_by_rows(workload, limits) else list(workload.role("k"))
    elif len(reduced) != 1:
        return None
    lanes = limits.subgroup_size
    whole = (workload.dynamic_loop(loop) is not None or not workload.loops[loop] % lanes for loop in reduced)
    return next((loop for loop, fits in list(zip(reduced, whole, strict=True))[-1:] if fits), None)


class Reduction:
    """How the threads of a workgroup share reductions, while the constraints op is being built.

    Args:
        workload: the root op, and its companions.
        limits: of the target.
        inner: the loop that is shared (`shared_loop`).
    """

    def __init__(self, workload: Workload, limits: GpuLimits, inner: int) -> None:
        self.workload = workload
        self.limits = limits
        self.inner = inner
        self.workgroup: dict[int, Integer] = {}

    def declare(self) -> None:
        """All knobs and asserts."""
        most = _MOST_RESULTS if is_contraction(self.workload) else _MOST_ROWS
        for loop in self._tiled:
            size = self.workload.loops[loop]
            values = [value for value in divisors(size) if value in powers(most)]
            if len(values) > 1:
                self.workgroup[loop] = knob(f"wg_{loop}", values, f"a power of two that divides {size}")
        results = product(list(self.workgroup.values()) or [constant(1)])
        require(results <= most, f"a workgroup must have at most {most} results, not {{}}", results)
        self._declare_step()

    @property
    def _tiled(self) -> list[int]:
        """Loops that a workgroup may take more than one of: of a generic op the innermost, for its rows."""
        kinds = list(enumerate(self.workload.iterators))
        parallel = [loop for loop, kind in kinds if kind == "parallel"]
        return parallel if is_contraction(self.workload) else parallel[-1:]

    def _declare_step(self) -> None:
        size, lanes = self.workload.loops[self.inner], self.limits.subgroup_size
        widest = self._widest
        vector = knob(
            "th_k", powers(widest), f"a power of two up to {widest} ({self.limits.max_load_bits} bits)"
        )
        static = self.workload.dynamic_loop(self.inner) is None
        most = self.limits.max_threads // lanes
        most = min(_MOST_SUBGROUPS, most) if static else most
        counts, what = powers(most), "a power of two"
        if static and not is_contraction(self.workload):  # the compiler takes any number that divides
            counts = tuple(sorted({*counts, *(each for each in divisors(size // lanes) if each <= most)}))
            what = f"a power of two or a divisor of {size // lanes},"
        subgroups = knob("subgroups", counts, f"{what} up to {most}")
        threads = knob("wg_size_x", [count * lanes for count in counts], "a number of whole subgroups")
        count = subgroups * lanes
        require(
            threads.equals(count), "wg_size_x ({}) must be the threads of all subgroups ({})", threads, count
        )
        steps = sorted({lanes * each * vectors for each in counts for vectors in powers(widest)})
        step = knob(f"red_{self.inner}", steps, f"{lanes} times {what}")
        wanted = threads * vector
        message = f"red_{self.inner} ({{}}) must be one vector for each thread ({{}})"
        require(step.equals(wanted), message, step, wanted)
        if static:  # else what is left over is masked
            require((constant(size) % step).equals(0), f"red_{self.inner} ({{}}) must divide {size}", step)

    @property
    def _widest(self) -> int:
        """Elements that a lane reads at once at most: of a generic op the narrowest type decides."""
        kinds = [kind.bits for kind in self.workload.types]
        bits = max(kinds[:2]) if is_contraction(self.workload) else min(kinds)
        return max(1, self.limits.max_load_bits // bits)

    def knobs(self) -> Mapping[str, ir.Attribute]:
        """The knobs dictionary."""
        kinds = list(enumerate(self.workload.iterators))
        workgroup = {
            loop: f"wg_{loop}" if loop in self.workgroup else 1 for loop, kind in kinds if kind == "parallel"
        }
        ones: dict[int, int | str] = {loop: 1 for loop, kind in kinds if kind == "reduction"}
        count = len(kinds)
        found: dict[str, ir.Attribute] = {
            "workgroup": _level(workgroup, count),
            "partial_reduction": _level({**ones, self.inner: f"red_{self.inner}"}, count),
            **self._spread(self.inner, ones, count),
            "workgroup_size": integers(["wg_size_x", 1, 1]),
            "subgroup_size": integers([self.limits.subgroup_size])[0],
            OPTIONS: plain_options(ir.BoolAttr.get(False)),
        }
        others = {each.label: self._beside(each) for each in self.workload.companions}
        spread = {label: entries for label, entries in others.items() if entries is not None}
        return found | ({COMPANIONS: ir.DictAttr.get(spread)} if spread else {})

    def _beside(self, companion: Companion) -> ir.Attribute | None:
        """The attributes of another op of the dispatch; None for one that does not walk the loop."""
        if self.inner not in companion.shared:
            return None
        loop, count = companion.shared.index(self.inner), len(companion.loops)
        step = "partial_reduction" if companion.iterators[loop] == "reduction" else "serial"
        entries = {step: _level({loop: f"red_{self.inner}"}, count), **self._spread(loop, {}, count)}
        return ir.DictAttr.get(entries)

    def _spread(self, loop: int, ones: Mapping[int, int | str], count: int) -> dict[str, ir.Attribute]:
        """How the lanes of all subgroups are spread along a loop of so many."""
        all_ones: dict[int, int | str] = dict.fromkeys(range(count), 1)
        return {
            "thread": _level({**ones, loop: "th_k"}, count),
            "lane_basis": _basis({**all_ones, loop: self.limits.subgroup_size}, count),
            "subgroup_basis": _basis({**all_ones, loop: "subgroups"}, count),
        }


def _level(sizes: Mapping[int, int | str], count: int) -> ir.ArrayAttr:
    return integers([sizes.get(loop, 0) for loop in range(count)])


def _basis(counts: Mapping[int, int | str], count: int) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([_level(counts, count), integers(list(range(count)))])
