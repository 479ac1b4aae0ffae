"""llvm-cpu: tiles of loops against vector registers, caches and cores.

One model for all families, as all of their pipelines do the same: distribute parallel loops, tile what is
left into vectors, and unroll these. What a pipeline does beyond that is left to models that learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iree_tuner.cost.access import Array, Operand, operands_of
from iree_tuner.cost.cpu_attention import attention_cycles
from iree_tuner.cost.terms import Estimate, Term
from iree_tuner.ops.workload import Workload
from iree_tuner.targets.machine import Machine

PEELING = "enable_loop_peeling"

# Of cores of the last ten years, from their makers' optimization guides: two multiply-adds and two loads a
# cycle, results after four cycles; bytes a cycle from the second-level cache and from beyond it.
_PORTS = 2.0
_LATENCY = 4.0
_MIDDLE_BYTES = 32.0
_FAR_BYTES = 6.0
_EXPOSED = 0.25
_TASK_CYCLES = 4000.0
_SHUFFLES = 4.0  # to turn a vector's worth of elements around
_FOLD = 8.0  # to add up the lanes of a vector
_EXPONENTIAL = 12.0
_LOOP_CYCLES = 6.0
_RAGGED = 3.0
_SCALAR_LOOP = 0.5


@dataclass(frozen=True)
class _Tiles:
    """Tiles of all loops, a column each; what is not tiled is whole."""

    sizes: Array
    task: Array
    cache: Array
    vector: Array
    peeled: Array
    parallel: NDArray[np.bool_]  # which loops are


def estimate(workload: Workload, knobs: Mapping[str, Array], count: int, machine: Machine) -> Estimate:
    """Features and cycles of `count` assignments, given by a column for each knob."""
    tiles = _tiles(workload, knobs, count)
    operands = operands_of(workload)
    result = operands[-1]
    lane = result.innermost[-1][0] if result.innermost else len(workload.loops) - 1
    lanes = max(1.0, machine.vector_bytes * 8 / max(result.bits, 8))
    found = _Core(tiles, operands, lane, lanes, machine).features()
    found |= _shape(workload, tiles, lane)
    spread = _spread(tiles, machine)
    found |= spread
    if workload.family == "attention":
        found["compute_cycles"] = attention_cycles(workload, tiles.task, tiles.vector, lanes, machine)
    found["companion_cycles"] = _companions(workload, knobs, tiles, lanes, machine)
    found["compute_cycles"] = found["compute_cycles"] + found["companion_cycles"]
    parts = [found[name] for name in ("compute_cycles", "middle_cycles", "far_cycles")]
    # What takes longest hides the rest, but not all of it.
    per_task = np.maximum.reduce(parts) * (1.0 - _EXPOSED) + sum(parts) * _EXPOSED
    cycles = spread["rounds"] * (per_task * found["ragged_x"] + _TASK_CYCLES)
    terms = (
        Term(
            "compute_cycles", found["compute_cycles"], "cycles", "arithmetic, loads and latency of one task"
        ),
        Term("middle_cycles", found["middle_cycles"], "cycles", "traffic from the second-level cache"),
        Term("far_cycles", found["far_cycles"], "cycles", "traffic from beyond it"),
        Term("ragged_x", found["ragged_x"], "x", "tiles that do not divide what is around them"),
        Term("rounds", spread["rounds"], "x", "tasks that each core runs one after the other"),
    )
    return Estimate(found, terms, cycles)


def _tiles(workload: Workload, knobs: Mapping[str, Array], count: int) -> _Tiles:
    sizes = np.tile(np.array([max(1, size) for size in workload.loops], float), (count, 1))
    task, vector, cache = sizes.copy(), sizes.copy(), np.zeros_like(sizes)
    for loop in range(len(workload.loops)):
        for level, columns in (("distribution", task), ("vector", vector), ("cache", cache)):
            if f"{level}_{loop}" in knobs:
                columns[:, loop] = knobs[f"{level}_{loop}"]
    parallel = np.array([kind == "parallel" for kind in workload.iterators])
    vector = np.minimum(vector, task)
    peeled = knobs.get(PEELING, np.zeros(count))
    return _Tiles(sizes, task, cache, vector, peeled, parallel)


class _Core:
    """What one core does for one task."""

    def __init__(
        self, tiles: _Tiles, operands: tuple[Operand, ...], lane: int, lanes: float, machine: Machine
    ) -> None:
        self.tiles = tiles
        self.operands = operands
        self.lane = lane
        self.lanes = lanes
        self.machine = machine
        self.vectors = np.ceil(tiles.vector[:, lane] / lanes)
        self.instructions = vector_instructions(tiles.vector, lane, lanes)
        self.depth = tiles.vector[:, ~tiles.parallel].prod(axis=1)
        self.accumulators = self.instructions / self.depth if not self._lane_reduces else self.instructions

    @property
    def _lane_reduces(self) -> bool:
        return not bool(self.tiles.parallel[self.lane])

    def features(self) -> dict[str, Array]:
        """By name."""
        tiles, machine = self.tiles, self.machine
        loads = np.maximum(1.0, sum(self._loads(operand) for operand in self.operands[:-1]))
        held = loads / np.maximum(1.0, self.depth)
        # A contraction takes its reduction step by step; what has to be turned around is loaded whole.
        turned = [operand for operand in self.operands[:-1] if self._is_turned(operand)]
        if turned:
            held = sum(operand.elements(tiles.vector) for operand in turned) / self.lanes
        needed = self.accumulators + held
        spilled = np.maximum(0.0, needed - (machine.registers or 16))
        chain = _LATENCY * self.depth
        bound = np.maximum(np.maximum(self.instructions / _PORTS, loads / _PORTS), chain)
        once = bound + 2.0 * spilled * np.maximum(1.0, self.depth) + _LOOP_CYCLES
        steps = np.ceil(tiles.task / tiles.vector)
        middle, far = self._traffic()
        return {
            "compute_cycles": once * steps.prod(axis=1),
            "middle_cycles": middle / _MIDDLE_BYTES,
            "far_cycles": far / _FAR_BYTES,
            "ragged_x": self._ragged(),
            "instructions": self.instructions,
            "accumulators": self.accumulators,
            "register_pressure": needed / (machine.registers or 16),
            "spilled": spilled + 1.0,
            "loads_per_instruction": loads / self.instructions,
            "chain_per_instruction": chain / self.instructions,
            "lane_fill": tiles.vector[:, self.lane] / (self.vectors * self.lanes),
            "lane_vectors": self.vectors,
            "depth": self.depth,
            "steps": steps.prod(axis=1),
        }

    def _loads(self, operand: Operand) -> Array:
        """Load instructions for one vector tile: whole vectors, elements one by one, or broadcast ones."""
        elements = operand.elements(self.tiles.vector)
        if self.lane not in operand.loops:
            return elements
        inner = operand.innermost
        if len(inner) == 1 and inner[0] == (self.lane, 1):
            return elements / np.minimum(self.lanes, self.tiles.vector[:, self.lane])
        if self._is_turned(operand):
            along = np.minimum(self.lanes, self.tiles.vector[:, inner[0][0]])
            return elements / along + _SHUFFLES * elements / self.tiles.vector[:, self.lane] * self.vectors
        return elements

    def _is_turned(self, operand: Operand) -> bool:
        """Whether it is contiguous along another loop than the lanes: loaded there, and transposed."""
        if self.lane not in operand.loops or len(operand.innermost) != 1:
            return False
        ((loop, factor),) = operand.innermost
        return loop != self.lane and factor == 1

    def _traffic(self) -> tuple[Array, Array]:
        """Bytes that one task moves from the second-level cache, and from beyond it."""
        tiles, machine = self.tiles, self.machine
        near, middle = machine.near_bytes or 32 << 10, machine.middle_bytes or 1 << 20
        blocked = np.where(tiles.cache > 0, np.minimum(tiles.cache, tiles.task), tiles.task)
        panel = np.where(tiles.parallel, tiles.vector, blocked)
        inner = int(np.flatnonzero(tiles.parallel)[-1]) if tiles.parallel.any() else 0
        steps = np.ceil(tiles.task / panel)
        through, whole, held = (np.zeros(len(panel)) for _ in range(3))
        for operand in self.operands:
            kept = inner not in operand.loops
            size = operand.bytes(panel)
            visits = steps.prod(axis=1)
            reused = np.where(size * 2 < near, steps[:, inner], 1.0) if kept else 1.0
            through += size * visits / reused
            whole += operand.bytes(tiles.task)
            held += operand.bytes(np.where(tiles.parallel, blocked, panel))
        beyond = np.where(held < middle, whole, np.maximum(whole, through))
        return through, beyond

    def _ragged(self) -> Array:
        """A factor for tiles that do not divide: their code has sizes that are not known, or masks."""
        tiles = self.tiles
        uneven = (np.mod(tiles.sizes, tiles.task) > 0) | (np.mod(tiles.task, tiles.vector) > 0)
        counted = uneven.sum(axis=1)
        return 1.0 + np.where(tiles.peeled > 0, _SCALAR_LOOP, _RAGGED) * counted


def vector_instructions(tile: Array, lane: int, lanes: float) -> Array:
    """Vectors that a tile is made of, when they lie along one of its loops."""
    return np.delete(tile, lane, axis=1).prod(axis=1) * np.ceil(tile[:, lane] / lanes)


def _companions(
    workload: Workload, knobs: Mapping[str, Array], tiles: _Tiles, lanes: float, machine: Machine
) -> Array:
    """Cycles of the other ops of a task: each walks its own loops in tiles of its own."""
    cycles = np.zeros(len(tiles.sizes))
    for companion in workload.companions:
        count = len(companion.loops)
        sizes, tile = np.ones((2, len(cycles), count))
        for loop, shared in enumerate(companion.shared):
            whole = float(max(1, companion.loops[loop]))
            sizes[:, loop] = whole if shared is None else tiles.task[:, shared]
            around = np.full(len(cycles), whole) if shared is None else tiles.vector[:, shared]
            tile[:, loop] = knobs.get(f"{companion.label}_{loop}", around)
        tile = np.minimum(tile, sizes)
        vectors = vector_instructions(tile, count - 1, lanes)
        spilled = np.maximum(0.0, vectors - (machine.registers or 16))
        folds = _FOLD * vectors / np.ceil(tile[:, -1] / lanes) if "reduction" in companion.iterators else 0.0
        once = vectors * _EXPONENTIAL / _PORTS + 2.0 * spilled + folds + _LOOP_CYCLES
        cycles += once * np.ceil(sizes / tile).prod(axis=1)
    return cycles


def _spread(tiles: _Tiles, machine: Machine) -> dict[str, Array]:
    """Tasks over cores."""
    tasks = np.ceil(tiles.sizes / tiles.task)[:, tiles.parallel].prod(axis=1)
    units = max(1, machine.units)
    rounds = np.ceil(tasks / units)
    return {"tasks_per_unit": tasks / units, "rounds": rounds, "imbalance": rounds * units / tasks}


def _shape(workload: Workload, tiles: _Tiles, lane: int) -> dict[str, Array]:
    """Tiles by the part that their loops play: along the lanes, across them, and reduced."""
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
        found[f"{name}_uneven"] = 1.0 + (
            (np.mod(tiles.sizes, tiles.task) > 0)[:, chosen].sum(axis=1)
            + (np.mod(tiles.task, tiles.vector) > 0)[:, chosen].sum(axis=1)
        )
    found["peeled"] = 1.0 + tiles.peeled
    operands = operands_of(workload)
    found["task_bytes"] = sum((operand.bytes(tiles.task) for operand in operands), np.zeros(len(tiles.task)))
    found["total_bytes"] = sum(
        (operand.bytes(tiles.sizes) for operand in operands), np.zeros(len(tiles.task))
    )
    return found
