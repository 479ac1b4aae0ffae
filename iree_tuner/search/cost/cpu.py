"""llvm-cpu: tiles of loops against vector registers, caches and cores.

One model for all families, as all of their pipelines do the same: distribute parallel loops, tile what is
left into vectors, and unroll these. Other effects of a pipeline are left to models that learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from iree_tuner.ops.family import Chain, family_of
from iree_tuner.ops.workload import Workload
from iree_tuner.search.cost.cpu_core import (
    LOOP_CYCLES,
    PORTS,
    Core,
    TileColumns,
    sums,
    tiles_of,
    traffic,
    vector_instructions,
)
from iree_tuner.search.cost.terms import (
    Array,
    Estimate,
    Operand,
    body_instructions,
    keeps_order,
    operands_of,
    terms_of,
)
from iree_tuner.targets.machine import Machine

# Two products with exponentials between them on CPUs, in one tile: attention.


_PORTS = 2.0
_LATENCY = 4.0
_SHUFFLES = 4.0
_EXPONENTIAL = 12.0
_LOOP_CYCLES = 20.0


def chain_cycles(chain: Chain, task: Array, vector: Array, lanes: float, machine: Machine) -> Array:
    """Cycles of one task. The scores are computed again for each tile of the second product's columns.

    `task` and `vector` have the tiles of a task and the vector tiles within it, a column a loop.
    """
    groups = (chain.rows, chain.inner, chain.keys, chain.columns)
    rows, inner, keys, columns = (vector[:, loops].prod(axis=1) for loops in groups)
    along_keys, along_columns = np.ceil(keys / lanes), np.ceil(columns / lanes)
    scores = _contraction(rows * along_keys, inner, machine)
    turned = _SHUFFLES * keys * inner / lanes
    weights = _EXPONENTIAL * rows * along_keys
    values = _contraction(rows * along_columns, keys, machine)
    steps = np.ceil(task / vector).prod(axis=1)
    return (scores + turned + weights + values + _LOOP_CYCLES) * steps


def _contraction(accumulators: Array, depth: Array, machine: Machine) -> Array:
    """`depth` multiply-adds into each accumulator; accumulators beyond the registers are spilled."""
    spilled = np.maximum(0.0, accumulators - (machine.registers or 16))
    return np.maximum(accumulators * depth / _PORTS, _LATENCY * depth) + 2.0 * spilled * depth


# Bytes a cycle from the second-level cache and from beyond it, by the makers' optimization guides.
_MIDDLE_BYTES = 32.0
_FAR_BYTES = 6.0
_EXPOSED = 0.25
_TASK_CYCLES = 4000.0
_UNKNOWN_BODY = 12.0  # instructions of a companion of which nothing is known
_REGISTERS = 16
_RAGGED, _PEELED = 3.0, 0.25  # what masks cost, and bounds that are not known
_LONG = 1000.0  # unrolled instructions that compile about as fast as what the compiler chooses


def estimate(workload: Workload, knobs: Mapping[str, Array], count: int, machine: Machine) -> Estimate:
    """Features and cycles of `count` assignments, given by a column for each knob."""
    tiles = tiles_of(workload, knobs, count)
    operands = operands_of(workload)
    lane = _lane(workload, operands)
    lanes = max(1.0, machine.vector_bytes * 8 / max(operands[-1].bits, 8))
    found = _work(workload, knobs, tiles, operands, lane, lanes, machine)
    found |= _shape(tiles, operands, lane)
    found |= _spread(tiles, machine)
    middle, far = traffic(tiles, operands, machine)
    found |= {"middle_cycles": middle / _MIDDLE_BYTES, "far_cycles": far / _FAR_BYTES}
    found["ragged_x"] = 1.0 + np.where(tiles.peeled > 0, _PEELED, _RAGGED) * tiles.uneven.sum(axis=1)
    found["long_x"] = np.maximum(1.0, found["code"] / _LONG)
    parts = [found[name] for name in ("compute_cycles", "middle_cycles", "far_cycles")]
    # The longest part hides the rest, but not all of it.
    per_task = np.maximum.reduce(parts) * (1.0 - _EXPOSED) + sum(parts) * _EXPOSED
    cycles = found["rounds"] * (per_task * found["ragged_x"] * found["long_x"] + _TASK_CYCLES)
    terms = terms_of(
        found,
        compute_cycles="arithmetic, loads and latency of one task",
        middle_cycles="traffic from the second-level cache",
        far_cycles="traffic from beyond it",
        ragged_x="tiles that do not divide what is around them",
        long_x="unrolled so far that compiling it may take too long",
        rounds="tasks that each core runs one after the other",
    )
    return Estimate(found, terms, cycles)


def _lane(workload: Workload, operands: Sequence[Operand]) -> int:
    """The loop that vectors lie along: the result's innermost one, to which contractions transpose operands.

    Other reductions are lowered as they stand: along the loop that is contiguous in their input.
    """
    inner = operands[0].innermost
    if not family_of(workload).turns_operands and len(inner) == 1:
        ((loop, factor),) = inner
        if factor == 1 and workload.iterators[loop] == "reduction":
            return loop
    result = operands[-1].innermost
    return result[-1][0] if result else len(workload.loops) - 1


def _work(
    workload: Workload, knobs: Mapping[str, Array], tiles: TileColumns, operands: Sequence[Operand],
    lane: int, lanes: float, machine: Machine,
) -> dict[str, Array]:  # fmt: skip
    """The work of a core for a task, the root op and its companions together."""
    registers = machine.registers or _REGISTERS
    body = body_instructions(workload, "root") or 1.0
    core = Core(tiles, operands[:-1], lane, lanes, registers, body, keeps_order(workload, "root"))
    found = core.features()
    chain = family_of(workload).chain(workload)
    if chain is not None:
        found["compute_cycles"] = chain_cycles(chain, tiles.task, tiles.vector, lanes, machine)
        found["code"] = np.ones(len(tiles.task))  # its ops have tiles of their own
    cycles, code = _companions(workload, knobs, tiles, lanes, registers)
    found["companion_cycles"] = cycles
    found["compute_cycles"] = found["compute_cycles"] + cycles
    found["code"] = found["code"] + code
    return found


def _companions(
    workload: Workload, knobs: Mapping[str, Array], tiles: TileColumns, lanes: float, registers: int
) -> tuple[Array, Array]:
    """Cycles and unrolled instructions of a task's other ops: each walks its own loops in its own tiles.

    A tile is unrolled instruction by instruction: values that do not fit in registers go through memory
    between any two instructions.
    """
    cycles, code = np.zeros((2, len(tiles.sizes)))
    for companion in workload.companions:
        count = len(companion.loops)
        if not count:  # a single number
            continue
        sizes, tile = np.ones((2, len(cycles), count))
        for loop, shared in enumerate(companion.shared):
            whole = float(max(1, companion.loops[loop]))
            sizes[:, loop] = whole if shared is None else tiles.task[:, shared]
            around = np.full(len(cycles), whole) if shared is None else tiles.vector[:, shared]
            tile[:, loop] = knobs.get(f"{companion.label}_{loop}", around)
        tile = np.minimum(tile, sizes)
        vectors = vector_instructions(tile, count - 1, lanes)
        body = body_instructions(workload, companion.label) or _UNKNOWN_BODY
        work, chain = vectors * body, np.zeros(len(cycles))
        if companion.iterators[-1] == "reduction":
            rows, ordered = tile[:, :-1].prod(axis=1), keeps_order(workload, companion.label)
            added, chain = sums(rows, tile[:, -1], lanes, registers, ordered, body > 1)
            work = work + added
        spilled = np.maximum(0.0, vectors - registers) * (body if body > 1 else 0.0)
        once = np.maximum(work / PORTS, chain) + spilled + LOOP_CYCLES
        cycles += once * np.ceil(sizes / tile).prod(axis=1)
        code += work
    return cycles, code


def _spread(tiles: TileColumns, machine: Machine) -> dict[str, Array]:
    tasks = np.ceil(tiles.sizes / tiles.task)[:, tiles.parallel].prod(axis=1)
    units = max(1, machine.units)
    rounds = np.ceil(tasks / units)
    return {"tasks_per_unit": tasks / units, "rounds": rounds, "imbalance": rounds * units / tasks}


def _shape(tiles: TileColumns, operands: Sequence[Operand], lane: int) -> dict[str, Array]:
    rows = tiles.parallel.copy()
    rows[lane] = False
    groups = {"lane": np.arange(len(rows)) == lane, "row": rows, "reduced": ~tiles.parallel}
    found: dict[str, Array] = {}
    for name, chosen in groups.items():
        found[f"{name}_size"] = tiles.sizes[:, chosen].prod(axis=1)
        found[f"{name}_task"] = tiles.task[:, chosen].prod(axis=1)
        found[f"{name}_vector"] = tiles.vector[:, chosen].prod(axis=1)
        found[f"{name}_steps"] = np.ceil(tiles.task / tiles.vector)[:, chosen].prod(axis=1)
        found[f"{name}_cache"] = np.maximum(1.0, tiles.cache[:, chosen]).prod(axis=1)
        found[f"{name}_uneven"] = 1.0 + tiles.uneven[:, chosen].sum(axis=1)
    found["peeled"] = 1.0 + tiles.peeled
    nothing = np.zeros(len(tiles.task))
    found["task_bytes"] = sum((operand.bytes(tiles.task) for operand in operands), nothing)
    found["total_bytes"] = sum((operand.bytes(tiles.sizes) for operand in operands), nothing)
    return found
