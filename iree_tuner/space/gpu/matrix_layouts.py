"""VectorDistribute with matrix instructions, built here: batched contractions, several products in one op.

Names and limits are as in the compiler's own emitter (emitVectorDistributeConstraints in
LLVMGPUConstraintGenerator.cpp). It knows batches here, but TileAndFuse's, which runs first, crashes on them
(docs/upstream/emitter_batch_crash.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu

from iree_tuner.compiler.unbound import derived_thread_config
from iree_tuner.space.constraints import integers, knob, knob_attribute, one_of_attribute
from iree_tuner.space.expressions import Integer, lookup, product, require, total
from iree_tuner.space.gpu.ladders import divisors, powers
from iree_tuner.space.gpu.matrix_problem import MatrixProblem
from iree_tuner.space.gpu.options import OPTIONS
from iree_tuner.space.gpu.prefetch import PREFETCH
from iree_tuner.space.gpu.thread_layout import require_thread_layout
from iree_tuner.targets import GpuLimits

_LARGEST_TILE = 512
_MOST_SUBGROUPS = 16
_MOST_INSTRUCTIONS = 512


class MatrixLayouts:
    """Tiles of the innermost m, n and k loop, while the op is being built; other loops have the tile 1."""

    def __init__(self, problem: MatrixProblem, mmas: Sequence[iree_gpu.MMAAttr], limits: GpuLimits) -> None:
        self.problem = problem
        self.mmas = mmas
        self.limits = limits
        self.tiles: dict[int, Integer] = {}

    def declare(self) -> None:
        """All knobs and asserts."""
        index = knob("mma_idx", range(len(self.mmas)), f"the place of one of {len(self.mmas)} instructions")
        shapes = [mma.mnk_shape for mma in self.mmas]
        instruction = [lookup(index, [shape[i] for shape in shapes]) for i in range(3)]
        pieces: list[Integer] = []
        counts: list[Integer] = []
        for what, loop, step in zip("mnk", self._loops(), instruction, strict=True):
            tile = self._declare_tile("red" if what == "k" else "wg", loop)
            share = step
            if what != "k":
                count = knob(
                    f"sg_{what}_cnt", powers(_MOST_SUBGROUPS), f"a power of two up to {_MOST_SUBGROUPS}"
                )
                counts.append(count)
                share = product([count, step])
            message = f"the subgroups' instructions along {what} ({{}}) must divide the tile ({{}})"
            require((tile % share).equals(0), message, share, tile)
            pieces.append(tile // share)
        unrolled = product([*pieces, 1 + len(self.problem.others)])
        message = f"{{}} instructions of a subgroup are unrolled in one step: at most {_MOST_INSTRUCTIONS}"
        require(unrolled <= _MOST_INSTRUCTIONS, message, unrolled)
        self._declare_workgroup(product(counts))
        self._limit_operands()

    def _loops(self) -> tuple[int, int, int]:
        return self.problem.m[-1], self.problem.n[-1], self.problem.k[-1]

    def _declare_tile(self, prefix: str, loop: int) -> Integer:
        size = self.problem.loops[loop]
        values = [value for value in divisors(size) if value <= _LARGEST_TILE]
        tile = knob(f"{prefix}_{loop}", values, f"a divisor of {size}, at most {_LARGEST_TILE}")
        self.tiles[loop] = tile
        return tile

    def _declare_workgroup(self, subgroups: Integer) -> None:
        lanes = self.limits.subgroup_size
        most = min(_MOST_SUBGROUPS, self.limits.max_threads // lanes)
        values = [count * lanes for count in powers(most)]
        self.threads = knob("wg_size_x", values, f"{lanes} times a power of two, up to {most * lanes}")
        threads = subgroups * lanes
        message = "wg_size_x ({}) must be the threads of all subgroups ({})"
        require(self.threads.equals(threads), message, self.threads, threads)
        stages = Integer(iree_codegen.KnobOp(PREFETCH).result)
        require(stages.equals(2), f"{PREFETCH} == 2, but is {{}}", stages)

    def _limit_operands(self) -> None:
        """All operands go through shared memory, where they must fit, and are read by all threads."""
        kinds = self.problem.types
        sizes: list[Integer] = []
        rights = [
            ("the right operand", each, kinds[1]) for each in (self.problem.right, *self.problem.others)
        ]
        for what, loops, kind in (("the left operand", self.problem.left, kinds[0]), *rights):
            shape = [self.tiles.get(loop, 1) for loop in loops]
            require_thread_layout(shape, self.threads, kind.bits, what)
            sizes.append(product([*shape, kind.bytes]))
        size = total(sizes)
        limit = self.limits.shared_memory_bytes
        require(size <= limit, f"the operands' tiles take {{}} bytes of shared memory, of {limit}", size)

    def knobs(self) -> Mapping[str, ir.Attribute]:
        """The knobs dictionary."""
        m, n, k = self._loops()
        problem = self.problem
        ones: dict[int, int | str] = dict.fromkeys((*problem.batch, *problem.m, *problem.n), 1)
        steps: dict[int, int | str] = dict.fromkeys(problem.k, 1)
        operands = range(2 + len(problem.others))
        every: dict[int, int | str] = dict.fromkeys(range(len(self.problem.loops)), 1)
        derived = derived_thread_config()
        return {
            "workgroup": self._level({**ones, m: f"wg_{m}", n: f"wg_{n}"}),
            "reduction": self._level({**steps, k: f"red_{k}"}),
            "subgroup_basis": ir.ArrayAttr.get(
                [self._level({**every, m: "sg_m_cnt", n: "sg_n_cnt"}), integers(list(every))]
            ),
            "mma_kind": one_of_attribute("mma_idx", list(self.mmas)),
            "promote_operands": integers(list(operands)),
            "promotion_types": ir.ArrayAttr.get([derived for _ in operands]),
            "workgroup_size": integers(["wg_size_x", 1, 1]),
            "subgroup_size": integers([self.limits.subgroup_size])[0],
            OPTIONS: ir.DictAttr.get(
                {
                    PREFETCH: knob_attribute(PREFETCH),
                    "no_reduce_shared_memory_bank_conflicts": ir.BoolAttr.get(False),
                    "use_igemm_convolution": ir.BoolAttr.get(False),
                }
            ),
        }

    def _level(self, sizes: Mapping[int, int | str]) -> ir.ArrayAttr:
        return integers([sizes.get(loop, 0) for loop in range(len(self.problem.loops))])
