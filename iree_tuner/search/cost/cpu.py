"""llvm-cpu: tiles of loops against vector registers, caches and cores.

One model for all families, as all of their pipelines do the same: distribute parallel loops, tile what is
left into vectors, and unroll these. Other effects of a pipeline are left to models that learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iree_tuner.ops.family import Chain, family_of
from iree_tuner.ops.workload import Workload
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


_SHUFFLES = 4.0
_EXPONENTIAL = 12.0
_CHAINED_CYCLES = 20.0  # of the loops around both


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
    return (scores + turned + weights + values + _CHAINED_CYCLES) * steps


def _contraction(accumulators: Array, depth: Array, machine: Machine) -> Array:
    """`depth` multiply-adds into each accumulator; accumulators beyond the registers are spilled."""
    spilled = np.maximum(0.0, accumulators - (machine.registers or 16))
    return np.maximum(accumulators * depth / PORTS, _LATENCY * depth) + 2.0 * spilled * depth


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


# The tiles of a CPU task, and the work of one core for it: instructions, their latencies, and registers.


PEELING = "enable_loop_peeling"


@dataclass(frozen=True)
class TileColumns:
    """Tiles of all loops, a column each; untiled loops are whole."""

    sizes: Array  # of the loops
    task: Array  # what one task does of them
    cache: Array  # blocks of a task; 0 for none
    vector: Array  # what is unrolled into vectors, within blocks
    peeled: Array  # 1 where loops are peeled
    parallel: NDArray[np.bool_]  # which loops are parallel

    @property
    def blocked(self) -> Array:
        """Cache tiles, or the task's."""
        return np.where(self.cache > 0, np.minimum(self.cache, self.task), self.task)

    @property
    def uneven(self) -> NDArray[np.bool_]:
        """Loops with a tile that does not divide the surrounding one, except for steps of one."""
        blocked = self.blocked
        inside = (np.mod(self.task, blocked) > 0) | (np.mod(blocked, self.vector) > 0)
        return (inside | (np.mod(self.sizes, self.task) > 0)) & (self.vector > 1)

    @property
    def covered(self) -> Array:
        """The part of each loop that whole vector tiles make up."""
        tasks, rest = np.floor(self.sizes / self.task), np.mod(self.sizes, self.task)
        return (tasks * self._in_blocks(self.task) + self._in_blocks(rest)) / self.sizes

    def _in_blocks(self, extent: Array) -> Array:
        blocked = self.blocked
        blocks, rest = np.floor(extent / blocked), np.mod(extent, blocked)
        return (blocks * np.floor(blocked / self.vector) + np.floor(rest / self.vector)) * self.vector


def tiles_of(workload: Workload, knobs: Mapping[str, Array], count: int) -> TileColumns:
    """The tiles of `count` assignments, given by a column for each knob."""
    sizes = np.tile(np.array([max(1, size) for size in workload.loops], float), (count, 1))
    task, vector, cache = sizes.copy(), sizes.copy(), np.zeros_like(sizes)
    for loop in range(len(workload.loops)):
        for level, columns in (("distribution", task), ("vector", vector), ("cache", cache)):
            if f"{level}_{loop}" in knobs:
                columns[:, loop] = knobs[f"{level}_{loop}"]
    parallel = np.array([kind == "parallel" for kind in workload.iterators])
    return TileColumns(
        sizes, task, cache, np.minimum(vector, task), knobs.get(PEELING, np.zeros(count)), parallel
    )


_WINDOW = 300.0  # instructions that a core looks ahead: 224 to 512 in those of the last ten years


def sums(
    rows: Array, along: Array, lanes: float, registers: int, ordered: bool, apart: bool
) -> tuple[Array, Array]:
    """Instructions that reduce the rows of a tile along the lanes, and the cycles of their longest chain.

    Sums and products of floats keep their order: one addition an element, each waiting for the one before.
    Within the core's reorder window, rows overlap. All else is folded in halves.

    Args:
        rows, along: of the tile, and its size along the lanes.
        lanes: elements of a vector.
        registers: vectors that a core holds.
        ordered: whether the order must be kept.
        apart: whether elements are extracted from vectors first, unless they were loaded directly before.
    """
    # Running sums are taken out of their vector and put back; more than the registers hold, out of memory.
    kept = 2.0 * rows + 2.0 * np.maximum(0.0, rows - registers)
    if ordered:
        at_once = np.clip(_WINDOW / along, 1.0, rows)
        return rows * along * (2.0 if apart else 1.0) + kept, rows * along * _LATENCY / at_once
    folds = 2.0 * np.log2(np.maximum(2.0, np.minimum(along, lanes)))
    return rows * (folds + np.ceil(along / lanes)) + kept, np.full(len(rows), _LATENCY)


# Of cores of the last ten years, from their makers' optimization guides: two multiply-adds and two loads a
# cycle, results after four cycles.
PORTS = 2.0
LOOP_CYCLES = 6.0
_LATENCY = 4.0
_SCALAR_CYCLES = 1.5  # a point done on its own: two loads and a multiply-add
_SHUFFLED = ((4, 8), (8, 8), (16, 16))  # 32-bit tiles that LLVMCPUVectorTransposeLowering has a network for


@dataclass(frozen=True)
class Core:
    """A task's vector tiles on a core."""

    tiles: TileColumns
    inputs: Sequence[Operand]  # operands except for the result
    lane: int  # the loop that vectors lie along
    lanes: float  # elements of a vector
    registers: int  # vectors that a core holds
    body: float  # instructions for a vector of elements
    ordered: bool  # whether lanes that are reduced must be added up in their order

    def features(self) -> dict[str, Array]:
        """Named features."""
        tiles = self.tiles
        instructions = vector_instructions(tiles.vector, self.lane, self.lanes)
        loads = np.maximum(1.0, sum((self._loads(each) for each in self.inputs), np.zeros(len(instructions))))
        depth = tiles.vector[:, ~tiles.parallel].prod(axis=1)
        if tiles.parallel[self.lane]:
            work, chain = instructions * self.body, _LATENCY * depth
            accumulators = instructions / depth
            needed = accumulators + self._held(loads, depth)
            spilled = np.maximum(0.0, needed - self.registers)
            stored = 2.0 * spilled * depth
        else:
            along = tiles.vector[:, self.lane]
            rows = np.delete(tiles.vector, self.lane, axis=1).prod(axis=1)
            work, chain = sums(rows, along, self.lanes, self.registers, self.ordered, self.body > 1)
            work = work + (instructions * self.body if self.body > 1 else 0.0)
            accumulators = needed = instructions
            spilled = np.maximum(0.0, needed - self.registers)
            stored = 2.0 * spilled * (self.body if self.body > 1 else 0.0)
        once = np.maximum(np.maximum(work, loads) / PORTS, chain) + stored + LOOP_CYCLES
        steps = np.ceil(tiles.task / tiles.vector).prod(axis=1)
        # Peeling leaves whole vectors as they are; what is left over is done point by point.
        covered = np.where(tiles.peeled > 0, tiles.covered.prod(axis=1), 1.0)
        left = tiles.task.prod(axis=1) * (1.0 - covered) * _SCALAR_CYCLES
        vectors = np.ceil(tiles.vector[:, self.lane] / self.lanes)
        return {
            "compute_cycles": once * steps * covered + left,
            "instructions": instructions,
            "code": work + loads,
            "accumulators": accumulators,
            "register_pressure": needed / self.registers,
            "spilled": spilled + 1.0,
            "loads_per_instruction": loads / instructions,
            "chain_per_instruction": chain / instructions,
            "lane_fill": tiles.vector[:, self.lane] / (vectors * self.lanes),
            "lane_vectors": vectors,
            "depth": depth,
            "steps": steps,
        }

    def _held(self, loads: Array, depth: Array) -> Array:
        """Registers for inputs: contractions reduce step by step, but load the whole of transposed inputs."""
        turned = [each.elements(self.tiles.vector) for each in self.inputs if self._is_turned(each)]
        return sum(turned, np.zeros(len(loads))) / self.lanes if turned else loads / np.maximum(1.0, depth)

    def _loads(self, operand: Operand) -> Array:
        """Load instructions for one vector tile: whole vectors, single elements, or broadcast ones."""
        elements = operand.elements(self.tiles.vector)
        if self.lane not in operand.loops:
            return elements
        rows = self.tiles.vector[:, self.lane]
        if operand.innermost == ((self.lane, 1),):
            return elements / np.minimum(self.lanes, rows)
        if self._is_turned(operand):
            columns = self.tiles.vector[:, operand.innermost[0][0]]
            loads, turned = elements / np.minimum(self.lanes, columns), elements / rows
            return loads + turned * np.ceil(rows / self.lanes) * self._shuffles(rows, columns, operand.bits)
        return elements

    def _shuffles(self, rows: Array, columns: Array, bits: int) -> Array:
        """Instructions for a vector of a transposed tile, which is gathered from its sources.

        One less than these, or the logarithm of its rows if the compiler knows a network.
        """
        sources = np.minimum(rows, self.lanes)
        known = np.zeros(len(rows), np.bool_)
        for height, width in _SHUFFLED if bits == 32 else ():
            known |= (rows == height) & (columns == width)
        packed = sources * np.minimum(columns, self.lanes) / self.lanes
        return np.where(known, np.log2(np.maximum(sources, 2.0)), np.maximum(1.0, packed - 1.0))

    def _is_turned(self, operand: Operand) -> bool:
        """Whether it is contiguous along another loop than the lanes: loaded there, and transposed."""
        if self.lane not in operand.loops or len(operand.innermost) != 1:
            return False
        ((loop, factor),) = operand.innermost
        return loop != self.lane and factor == 1


def vector_instructions(tile: Array, lane: int, lanes: float) -> Array:
    """Vectors that a tile is made of, when they lie along one of its loops."""
    return np.delete(tile, lane, axis=1).prod(axis=1) * np.ceil(tile[:, lane] / lanes)


# The cost of loading a CPU task's operands: bytes that move, and cache lines that evict each other.


_LINE = 64.0
_NEAR_WAY = 4096.0  # bytes of a way: first-level caches are indexed within a page
_MIDDLE_WAYS = 16.0
_NEAR, _MIDDLE = 32 << 10, 1 << 20  # caches of machines that do not say


def traffic(tiles: TileColumns, operands: Sequence[Operand], machine: Machine) -> tuple[Array, Array]:
    """Bytes that one task moves from the second-level cache, and from beyond it."""
    blocked = tiles.blocked
    panel = np.where(tiles.parallel, tiles.vector, blocked)
    visits = _visits(tiles, operands, panel, float(machine.near_bytes or _NEAR))
    through, whole, held = (np.zeros(len(panel)) for _ in range(3))
    for count, operand in zip(visits, operands, strict=True):
        through += operand.bytes(panel) * count
        whole += operand.bytes(tiles.task)
        held += operand.bytes(np.where(tiles.parallel, blocked, panel))
    beyond = np.where(held < (machine.middle_bytes or _MIDDLE), whole, np.maximum(whole, through))
    middle_again, far_again = _again(tiles, operands[:-1], machine)
    return through + middle_again, beyond + far_again


def _visits(tiles: TileColumns, operands: Sequence[Operand], panel: Array, near: float) -> list[Array]:
    """Number of times that a task brings each operand's panel to the first-level cache.

    Data that does not depend on a loop is still cached in its next step, if all data of one step fits.
    """
    steps = np.ceil(tiles.task / panel)
    visits = [steps.prod(axis=1) for _ in operands]
    touched = panel.copy()
    for loop in reversed(np.flatnonzero(tiles.parallel)):
        fits = sum((each.bytes(touched) for each in operands), np.zeros(len(panel))) <= near
        for place, operand in enumerate(operands):
            if loop not in operand.loops:
                visits[place] = np.where(fits, visits[place] / steps[:, loop], visits[place])
        touched[:, loop] = tiles.task[:, loop]
    return visits


def _again(tiles: TileColumns, operands: Sequence[Operand], machine: Machine) -> tuple[Array, Array]:
    """Bytes that are moved twice, because their lines were evicted before they were used up.

    The rows of a tile advance together along the innermost loop, a part of a line at a time. Rows that are a
    multiple of a way apart share a set: more of them than there are ways are evicted.
    """
    reduced = np.flatnonzero(~tiles.parallel)
    loop = int(reduced[-1]) if len(reduced) else len(tiles.parallel) - 1
    near, middle = float(machine.near_bytes or _NEAR), float(machine.middle_bytes or _MIDDLE)
    found = [np.zeros(len(tiles.task)), np.zeros(len(tiles.task))]
    for operand in operands:
        if operand.innermost != ((loop, 1),):
            continue
        part = tiles.vector[:, loop] * operand.bits / 8
        again = operand.bytes(tiles.task) * np.maximum(0.0, _LINE / part - 1.0)
        rows = operand.elements(tiles.vector) / tiles.vector[:, loop]
        apart = int(tiles.sizes[:, loop].max(initial=1.0) * operand.bits / 8)
        for level, (capacity, way) in enumerate(((near, _NEAR_WAY), (middle, middle / _MIDDLE_WAYS))):
            places = min(way / _LINE, way / np.gcd(apart, int(way)))
            found[level] += np.where(rows / places > capacity / way, again, 0.0)
    return found[0], found[1]
