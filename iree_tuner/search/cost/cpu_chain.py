"""Two products with exponentials between them on CPUs, in one tile: attention."""

from __future__ import annotations

import numpy as np

from iree_tuner.ops.traits import Chain
from iree_tuner.search.cost.access import Array
from iree_tuner.targets.machine import Machine

_PORTS = 2.0
_LATENCY = 4.0
_SHUFFLES = 4.0
_EXPONENTIAL = 12.0
_LOOP_CYCLES = 20.0


def chain_cycles(chain: Chain, task: Array, vector: Array, lanes: float, machine: Machine) -> Array:
    """Cycles of one task. The scores are computed again for each tile of the second product's columns.

    Args:
        chain: its loops.
        task: tiles of a task, a column a loop.
        vector: vector tiles within it.
        lanes: elements of a vector.
        machine: its registers count.
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
    """Multiply-adds into so many accumulators, so many times; what does not fit in registers is spilled."""
    spilled = np.maximum(0.0, accumulators - (machine.registers or 16))
    return np.maximum(accumulators * depth / _PORTS, _LATENCY * depth) + 2.0 * spilled * depth
