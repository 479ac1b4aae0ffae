"""Attention on CPUs: two contractions with exponentials between them, in one tile."""

from __future__ import annotations

import numpy as np

from iree_tuner.cost.access import Array
from iree_tuner.ops.workload import Workload
from iree_tuner.targets.machine import Machine

_PORTS = 2.0
_LATENCY = 4.0
_SHUFFLES = 4.0
_EXPONENTIAL = 12.0
_LOOP_CYCLES = 20.0


def attention_cycles(workload: Workload, task: Array, vector: Array, lanes: float, machine: Machine) -> Array:
    """Cycles of one task. The scores are computed again for each tile of the values' columns (`n`).

    Args:
        workload: with the roles batch, m, n, k1 and k2.
        task: tiles of a task, a column a loop.
        vector: vector tiles within it.
        lanes: elements of a vector.
        machine: its registers count.
    """
    rows = _product(workload, vector, "batch", "m")
    inner, keys, columns = (_product(workload, vector, role) for role in ("k1", "k2", "n"))
    along_keys, along_columns = np.ceil(keys / lanes), np.ceil(columns / lanes)
    scores = _contraction(rows * along_keys, inner, machine)
    turned = _SHUFFLES * keys * inner / lanes
    weights = _EXPONENTIAL * rows * along_keys
    values = _contraction(rows * along_columns, keys, machine)
    steps = np.ceil(task / vector).prod(axis=1)
    return (scores + turned + weights + values + _LOOP_CYCLES) * steps


def _contraction(accumulators: Array, depth: Array, machine: Machine) -> Array:
    """Multiply-adds into so many accumulators, so many times; what does not fit in registers is spilled."""
    spilled = np.maximum(0.0, accumulators - (machine.registers or 16))
    return np.maximum(accumulators * depth / _PORTS, _LATENCY * depth) + 2.0 * spilled * depth


def _product(workload: Workload, tiles: Array, *roles: str) -> Array:
    loops = [loop for role in roles for loop in workload.role(role)]
    return tiles[:, loops].prod(axis=1)
