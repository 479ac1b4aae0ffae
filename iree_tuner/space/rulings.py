"""Rulings: which of a space's constraints the compiler insists on, on CUDA and ROCm, Vulkan, and CPUs.

A space says where a search goes. The compiler refuses configurations that break some of its asserts. Others
keep the search from code that is slow, compiles for long, or is the same as another member's. The
compiler's own ops mix the two as well: most of its constraints are not checked when it compiles. A
configuration that a person wrote is judged by a *ruling* over these asserts: some are rules, some are worth
a warning, some say nothing.

Which is which was found by compiling configurations that break one of them (benchmarks/verify_agreement.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from iree_tuner.ops.attention import is_attention
from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.space.constraints import at_most, divides_or_covers, powers, rounded_up
from iree_tuner.space.expressions import (
    Integer,
    all_of,
    any_of,
    constant,
    if_else,
    lookup,
    product,
    require,
    total,
)  # fmt: skip
from iree_tuner.space.gpu.attention import PV, QK, attention_tiles, promoted_operands, step_of
from iree_tuner.space.gpu.constraints_draft import Draft, operand_tile
from iree_tuner.space.gpu.contraction import PAD_K, PADDING
from iree_tuner.space.gpu.instructions import blocks_of
from iree_tuner.space.gpu.matrix_problem import (
    MatrixProblem,
    contraction_problem,
    direct_problem,
    fused_problem,
    igemm_problem,
)  # fmt: skip
from iree_tuner.space.gpu.options import PREFETCH, require_thread_layout
from iree_tuner.space.space import Space
from iree_tuner.space.spirv.tiling import VECTOR_BITS

Force = Literal["error", "warning", "none"]
"""The effect of breaking an assert: the compiler refuses it or makes wrong code of it (`error`); it takes it,
though the code is slow, compiles for long, or is not what the constraint's authors had in mind (`warning`);
nothing, as the assert only says what a search tries (`none`)."""

Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Ruling(Generic[Subject]):
    """How the asserts of one kind of space are taken, and what is asserted instead of some."""

    name: str
    reason: str  # where in the compiler that is decided
    applies: Callable[[Subject], bool]  # whether a space is of the kind
    # patterns of the messages of asserts that are rules; None for all but `nothing`
    rules: tuple[str, ...] | None = None
    # the same of asserts that do not describe the compiler, or that `extend` replaces
    nothing: tuple[str, ...] = ()
    extend: Callable[[Subject], None] | None = None  # adds asserts, which are rules
    # turns the knobs' values into the ones that the compiler uses
    settle: Callable[[Subject, Mapping[str, int]], Mapping[str, int]] | None = None
    # patterns of two messages: asserts of the first count only if the second hold
    only_where: tuple[str, str] | None = None
    releases: tuple[str, ...] = ("3.13",)  # of the compiler, with which it has been checked

    def force(self, message: str) -> Force:
        """The effect of breaking one of the space's own asserts."""
        if any(re.search(pattern, message) for pattern in self.nothing):
            return "none"
        if self.rules is None or any(re.search(pattern, message) for pattern in self.rules):
            return "error"
        return "warning"


# CUDA and ROCm.


_CANNOT = (
    r"must accumulate in ", r"^a stride of ", r"^mma\.sync cannot add ", r"results are no numbers$",
    r"padded sums of a subgroup begin in memory", r"the instruction's .* blocks$",
)  # fmt: skip
"""Messages of faults that no other value of a knob corrects."""


def matrix_problem_of(draft: Draft) -> MatrixProblem | None:
    """A root op as the multiplication that a space's knobs are named for."""
    workload = draft.workload
    if is_contraction(workload):
        return contraction_problem(workload)
    if is_convolution(workload):
        return igemm_problem(workload) if draft.igemm else direct_problem(workload)
    return fused_problem(workload)


def _threads(draft: Draft) -> Integer:
    """Threads of a workgroup along all its dimensions."""
    names = [f"wg_size_{axis}" for axis in "xyz"]
    return product([draft.value(name) for name in names if draft.has(name)])


def _depth(draft: Draft, step: Integer) -> Integer:
    """The part of the reduction that is in shared memory at once."""
    names = (f"red_{loop}" for loop in range(len(draft.workload.loops)))
    return product([draft.value(next(name for name in names if draft.has(name))), step])


def _tile_and_fuse(draft: Draft) -> None:
    problem = matrix_problem_of(draft)
    assert problem is not None, "the ruling is of matrix instructions"
    shape = draft.mma_shape()
    padded = PADDING in draft.entries
    steps = {problem.m[-1]: shape[0], problem.n[-1]: shape[1]}
    tiles: dict[int, Integer] = {}
    counts: list[Integer] = []
    for loop in (*problem.m, *problem.n):
        size, tile = problem.loops[loop], draft.value(f"wg_{loop}")
        piece = product([draft.value(f"sg_{loop}"), steps.get(loop, 1)])
        cut = tiles[loop] = tile if padded else at_most(tile, size)
        counts.append(if_else(piece >= cut, 1, (cut + piece - 1) // piece))
        if not padded:
            message = f"wg_{loop} ({{}}) must divide dim_{loop} ({size}), or cover it"
            require(divides_or_covers(tile, size), message, tile)
        whole = [(cut % piece).equals(0), piece >= cut]
        if padded:  # a rest of less than an instruction is padded to one
            whole.append(draft.value(f"sg_{loop}").equals(1))
        message = f"sg_{loop}, which is {{}} elements with the instruction, must divide wg_{loop} ({{}})"
        require(any_of(whole), message, piece, cut)
        if draft.igemm and loop in steps:
            message = f"wg_{loop} ({{}}) must be made of instructions of {{}}"
            require((tile % steps[loop]).equals(0), message, tile, steps[loop])
    depth = _depth(draft, shape[2])
    if draft.has(PAD_K):
        filled = rounded_up(constant(problem.loops[problem.k[-1]]), draft.value(PAD_K))
        message = f"{PAD_K} fills the reduction up to {{}}, which its step ({{}}) must divide"
        require((filled % depth).equals(0), message, filled, depth)
    if not padded:
        # "LLVM Translation failed for operation: builtin.unrealized_conversion_cast"
        columns = tiles[problem.n[-1]]
        require(columns > 1, f"wg_{problem.n[-1]} ({{}}) must be more than 1", columns)
    _require_lanes(draft)
    _stage_results(draft, problem, tiles, depth, product([*counts, draft.limits.subgroup_size]))


def _stage_results(
    draft: Draft, problem: MatrixProblem, tiles: Mapping[int, Integer], depth: Integer, wanted: Integer
) -> None:
    """If the number of threads differs from the subgroups' tiles, results move to shared memory.

    The sum is N in the compiler's message "uses N bytes of shared memory; exceeded the limit". Copies of
    three prefetch stages need not be even then.
    """
    threads, limit = _threads(draft), draft.limits.shared_memory_bytes
    rows, columns = (product([tiles[loop] for loop in group]) for group in (problem.m, problem.n))
    left, right, result = (each.bytes for each in problem.types)
    batch = f"wg_{problem.batch[-1]}" if problem.batch else ""
    together = draft.value(batch) if draft.has(batch) else constant(1)
    operands = product([rows * left + columns * right, depth, together])
    require(operands <= limit, f"the operands take {{}} of {limit} bytes of shared memory", operands)
    used = operands + product([rows, columns, result, together])
    blocks = [blocks_of(mma) for mma in draft.mma()]
    if max(blocks) > 1:  # subgroups share the batch as well
        wanted = product([wanted, together // lookup(draft.value("mma_idx"), blocks)])
    message = (
        f"{{}} threads are not the {{}} of all subgroups' tiles: results are staged, and take with the "
        f"operands {{}} of {limit} bytes of shared memory"
    )
    exact = threads.equals(wanted)
    once = depth >= math.prod(problem.loops[loop] for loop in problem.k)  # no loop carries results then
    require(any_of([exact, once, used <= limit]), message, threads, wanted, used)
    if draft.has(PREFETCH) and draft.limits.codegen.prefetches and not draft.igemm:
        stages = draft.value(PREFETCH)
        even = [(product([each, depth]) % threads).equals(0) for each in (rows, columns)]
        message = "with {} prefetch stages, {} threads must share each operand's tile evenly"
        require(any_of([~exact, ~stages.equals(3), all_of(even)]), message, stages, threads)


def _vector_distribute(draft: Draft) -> None:
    """Tiles that do not divide are masked, and distributed as the whole instructions that cover them."""
    problem = matrix_problem_of(draft)
    assert problem is not None, "the ruling is of matrix instructions"
    m, n, k = problem.m[-1], problem.n[-1], problem.k[-1]
    shape = draft.mma_shape()
    steps = (draft.value("sg_m_cnt") * shape[0], draft.value("sg_n_cnt") * shape[1], shape[2])
    names = (f"wg_{m}", f"wg_{n}", f"red_{k}")
    tiles: dict[int, Integer | int] = {
        loop: rounded_up(at_most(draft.value(name), problem.loops[loop]), step)
        for loop, name, step in zip((m, n, k), names, steps, strict=True)
    }
    names = ("image", "filter") if is_convolution(draft.workload) else ("left operand", "right operand")
    names = (*names, *(f"{names[1]} {place + 2}" for place in range(len(problem.others))))
    shapes = [operand_tile(draft.workload, place, tiles) for place in range(len(names))]
    for place, (what, each) in enumerate(zip(names, shapes, strict=True)):
        _require_layout(draft, each, place, what)
    _limit_memory(draft, shapes)
    _require_lanes(draft)


def _require_layout(draft: Draft, shape: Sequence[Integer | int], place: int, what: str) -> None:
    require_thread_layout(shape, _threads(draft), draft.workload.types[place].bits, f"the {what}")


def _limit_memory(draft: Draft, shapes: Sequence[Sequence[Integer | int]]) -> None:
    limit, types = draft.limits.shared_memory_bytes, draft.workload.types
    used = total([product([*shape, kind.bytes]) for shape, kind in zip(shapes, types, strict=False)])
    require(used <= limit, f"the operands take {{}} of {limit} bytes of shared memory", used)


def _require_lanes(draft: Draft) -> None:
    """Subgroups that exist. On CUDA nothing checks this, but layouts have the instructions' lanes."""
    if not draft.has("sg_size"):
        return
    lanes, own = draft.value("sg_size"), draft.limits.subgroup_size
    known = draft.limits.codegen.subgroups
    if known:
        message = f"subgroups have {' or '.join(map(str, known))} threads here, not {{}}"
        require(lanes.is_one_of(known), message, lanes)
    elif draft.pipeline == "VectorDistribute":
        require(lanes >= own, f"subgroups have {own} threads here, not {{}}", lanes)


def _attention(draft: Draft) -> None:
    """Both multiplications have whole instructions, and must agree on the tile of scores between them."""
    workload = draft.workload
    loop = {role: workload.role(role)[-1] for role in ("m", "n", "k2")}
    rows = [draft.value("sg_m_cnt") * step_of(draft, which, 0) for which in (QK, PV)]
    keys = [step_of(draft, QK, 1), step_of(draft, PV, 2)]
    columns = draft.value("sg_n_cnt") * step_of(draft, PV, 1)
    own = attention_tiles(draft)
    cut = {
        role: at_most(draft.value(name), workload.loops[loop[role]])
        for role, name in (("m", "m_tile"), ("n", "n_tile"), ("k2", "red_k2"))
    }
    for name, tile, steps in (("m_tile", cut["m"], rows), ("red_k2", cut["k2"], keys)):
        first, second = (rounded_up(tile, step) for step in steps)
        message = f"{name} ({{}}) is {{}} in one multiplication, and {{}} in the other, in whole instructions"
        require(first.equals(second), message, tile, first, second)
    size = workload.loops[loop["n"]]
    tile = draft.value("n_tile")
    message = f"n_tile ({{}}) must divide dim_{loop['n']} ({size}), or cover it"
    require(divides_or_covers(tile, size), message, tile)
    filled = {
        **own,
        loop["m"]: rounded_up(cut["m"], rows[1]),
        loop["n"]: rounded_up(cut["n"], columns),
        loop["k2"]: rounded_up(cut["k2"], keys[1]),
    }
    held: list[Integer | int] = []
    for place, (what, is_read) in enumerate(
        zip(("query", "key", "value"), promoted_operands(draft), strict=True)
    ):
        shape = operand_tile(workload, place, filled)
        _require_layout(draft, [if_else(is_read, each, 1) for each in shape], place, what)
        held.append(if_else(is_read, product([*shape, workload.types[place].bytes]), 0))
    used, limit = total(held), draft.limits.shared_memory_bytes
    require(used <= limit, f"the operands take {{}} of {limit} bytes of shared memory", used)
    _require_lanes(draft)


def _is_matrix(draft: Draft, pipeline: str) -> bool:
    return draft.pipeline == pipeline and draft.has("mma_idx") and matrix_problem_of(draft) is not None


GPU_RULINGS: tuple[Ruling[Draft], ...] = (
    Ruling(
        name="matrix instructions",
        reason="GPUDistributeForall gives any number of threads the subgroups' tiles, in a loop or with idle "
        "threads. Without padding, tiles have to be equal: 'op was not bufferized', 'Yield operand #0 is not "
        "equivalent', 'expected 4 offset values'",
        applies=lambda draft: _is_matrix(draft, "TileAndFuse"),
        rules=(
            *_CANNOT,
            r"^the operands and the .* bytes of shared memory",
            r"^aligned inner k dim",
            r"^the reduction's step .* must divide",
            r"^the reduction tile .* must divide \d+$",
            r"'s size of \d+, padded$",
        ),
        nothing=(
            r"^prefetch_num_stages",
            r"^with three prefetch stages",
            r"usual tile$",
            r"^shared memory must fit",
            r"^the operands' tiles take",
            r"^dim_\d+ must be divisible by wg_",
            r"^wg_\d+ <= dim_",
            r"^wg_\d+ \(\{\}\) must divide ",
        ),
        extend=_tile_and_fuse,
    ),
    Ruling(
        name="distributed matrix instructions",
        reason="what does not divide is masked, and layouts are of whole instructions; GPUVectorAlloc "
        "refuses shapes that it cannot spread over the threads: 'failed to derive layout'",
        applies=lambda draft: _is_matrix(draft, "VectorDistribute"),
        rules=_CANNOT,
        nothing=(
            r"^prefetch_num_stages",
            r"no thread layout",
            r"of shared memory",
            r"^shared memory must fit",
        ),
        extend=_vector_distribute,
    ),
    Ruling(
        name="attention",
        reason="as for matrix instructions; the scores' tile is packed for both multiplications: 'tile size "
        "analysis did not determine a valid tile size', and masks of columns: 'failed to distribute'",
        applies=lambda draft: is_attention(draft.workload) and draft.has("qk_mma_idx"),
        rules=(r"of shared memory", r"^dim_k1 ", r"^both instructions must have "),
        nothing=(r"no thread layout", r"^qk_mma_idx", r"^pv_mma_idx"),
        extend=_attention,
    ),
    Ruling(
        name="threads",
        reason="tiles of threads are cut to what is left, and any number of threads takes them in turn "
        "(GPUDistributeForall); only shared memory ends",
        applies=lambda draft: draft.pipeline == "TileAndFuse",
        rules=(r"of shared memory",),
        nothing=(r"no rows to pad",),
    ),
    Ruling(
        name="reductions",
        reason="what is left over is masked: of 100 configurations with one knob changed, none was refused",
        applies=lambda draft: draft.pipeline == "VectorDistribute" and draft.has("subgroups"),
        rules=(),
    ),
)
"""In this order: the first that applies."""


# Vulkan.


_MEMORY = r"bytes of shared memory must be"


def _cooperative(draft: Draft) -> None:
    """A workgroup's tile is cut into subgroups' tiles, and must hold one."""
    for loop, size in enumerate(draft.workload.loops):
        if not draft.has(f"workgroup_{loop}"):
            continue
        workgroup, subgroup = draft.value(f"workgroup_{loop}"), draft.value(f"subgroup_{loop}")
        message = f"workgroup_{loop} ({{}}) must hold a tile of a subgroup, subgroup_{loop} ({{}})"
        require(subgroup <= workgroup, message, workgroup, subgroup)
        message = f"workgroup_{loop} ({{}}) must divide dim_{loop} ({size})"
        require((constant(size) % workgroup).equals(0), message, workgroup)


def _reduce(draft: Draft) -> None:
    """Elements that a thread takes at once are a vector, which has to be one that SPIR-V has.

    Where the last step is smaller than the others there are no vectors, and where there is one step only, no
    loop that would carry them.
    """
    loops = draft.workload.loops
    tiled = [loop for loop in range(len(loops)) if draft.has(f"reduction_{loop}")]
    if len(tiled) != 1:
        return
    size = loops[tiled[0]]
    vectors = powers(VECTOR_BITS // draft.workload.types[-1].bits)
    taken, threads = draft.value(f"reduction_{tiled[0]}"), draft.value("threads_x")
    fits = [taken.equals(threads * each) for each in vectors]
    alone = [taken >= size, ~(constant(size) % taken).equals(0)]
    message = f"reduction_{tiled[0]} ({{}}) must be 1 to {vectors[-1]} elements for each of {{}} threads"
    require(any_of([*fits, *alone]), message, taken, threads)


SPIRV_RULINGS: tuple[Ruling[Draft], ...] = (
    Ruling(
        name="cooperative matrices",
        reason="'failed conversion to GPU subgroup MMA ops', 'no GPU subgroup mma compute ops generated', "
        "'exceeded the limit' (GPUCheckResourceUsage)",
        applies=lambda draft: draft.pipeline == "CooperativeMatrixVectorize",
        rules=(_MEMORY, r"must be made of instructions"),
        extend=_cooperative,
    ),
    Ruling(
        name="subgroup reductions",
        reason="a longer vector is not cut: failed to legalize operation 'arith.constant'",
        applies=lambda draft: draft.pipeline == "SubgroupReduce",
        rules=(),
        nothing=(r"elements at once must be",),
        extend=_reduce,
    ),
    Ruling(
        name="tiles",
        reason="threads take the tiles in loops, or idle; only shared memory ends (GPUCheckResourceUsage)",
        applies=lambda _: True,
        rules=(_MEMORY, r"must be more than 1 where threads_y"),
        nothing=(r"^workgroups of a loop that is not cut",),
    ),
)
"""In this order: the first that applies."""


# CPUs.


_TOO_LARGE = r"\(large vector check\)$"


def _cut(space: Space, values: Mapping[str, int]) -> Mapping[str, int]:
    """Each tile cut to the one around it: vector, cache tile, workgroup's tile, loop."""
    found = dict(values)
    for loop, size in enumerate(space.workload.loops):
        around = size
        for level in ("distribution", "cache", "vector"):
            name = f"{level}_{loop}"
            if name in found and (found[name] or level != "cache"):
                around = found[name] = min(found[name], around)
        outer, cached = found.get(f"distribution_{loop}"), values.get(f"cache_{loop}")
        if outer and cached:
            # The fill of the result is fused into the outermost loop that is cut for caches. Where a
            # workgroup's tile leaves a rest, its size is not known there: the cache tile alone bounds it.
            found[f"distribution_{loop}"] = min(outer, cached) if size % outer == 0 else cached
    return found


CPU_RULINGS: tuple[Ruling[Space], ...] = (
    Ruling(
        name="packed matrices",
        reason="their tiles are counted in packed ones",
        applies=lambda space: space.pipeline == "Mmt4dTilingExpert",
        rules=(_TOO_LARGE,),
    ),
    Ruling(
        name="tiles",
        reason="tiles are cut to what is around them, and may leave a rest. Only vectors end "
        "(LLVMCPUVerifyVectorSizeLegality). verifyConvTileAndDecomposeExpertConfig looks at named ops, which "
        "these no longer are: what is not decomposed is computed as it is. A tile of k1 makes wrong results "
        "(docs/upstream/attention_k1_tile.md)",
        applies=lambda _: True,
        rules=(_TOO_LARGE, r"must be the whole of k1"),
        nothing=(r"^cache_", r"^there is nothing to peel"),
        settle=_cut,
        only_where=(r"of a tap: |that is read: ", r"^can't decompose"),
    ),
)
"""In this order: the first that applies."""
