"""Attention on GPUs: queries by workgroup, keys and values in parts, both products with matrix instructions.

For the pipeline VectorDistribute.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from iree_tuner.ops.attention import is_attention
from iree_tuner.ops.workload import Workload
from iree_tuner.search.cost.gpu import (
    MATRIX_OPS,
    MEMORY_BYTES,
    MOST_REGISTERS,
    SHARED_BYTES,
    cycles_of,
    resident_groups,
)
from iree_tuner.search.cost.terms import Array, Estimate, terms_of, total
from iree_tuner.targets.machine import Machine

_KNOBS = ("m_tile", "n_tile", "red_k2")
_FAR_BYTES = 40.0
_SOFTMAX_CYCLES = 8.0  # of a warp for 32 scores: scale, maximum, exponential, sum, conversion
_SCATTERED = 4.0  # loads of fragments from memory: how many more bytes a cache moves for them
_REPEATED = 2.0  # loads of rows that meet in a bank of shared memory, since a row has a power of two


def fits(workload: Workload, knobs: Mapping[str, Array]) -> bool:
    """Whether this model is for a space: an attention with matrix instructions."""
    return is_attention(workload) and all(name in knobs for name in _KNOBS)


def estimate(workload: Workload, knobs: Mapping[str, Array], machine: Machine) -> Estimate:
    """Features and cycles of an attention's assignments, given by a column for each knob."""
    found = _tiles(workload, knobs)
    found |= _memory(workload, found, machine)
    found |= _cycles(workload, found)
    per_group = np.maximum.reduce(
        [found["matrix_cycles"] + found["softmax_cycles"], found["shared_cycles"], found["far_cycles"]]
    )
    terms = terms_of(
        found,
        matrix_cycles="matrix instructions of a workgroup",
        softmax_cycles="maxima, exponentials and sums of scores",
        shared_cycles="keys and values to registers",
        far_cycles="keys and values from memory",
        waves="rounds of workgroups over the multiprocessors",
        spill_x="registers that a thread needs beyond those it has",
    )
    return Estimate(found, terms, cycles_of(found, per_group))


def _tiles(workload: Workload, knobs: Mapping[str, Array]) -> dict[str, Array]:
    count = len(knobs["m_tile"])
    zero = np.zeros(count)
    m, n, keys = (np.maximum(1.0, knobs[name]) for name in _KNOBS)
    down, across = (np.maximum(1.0, knobs.get(name, zero)) for name in ("sg_m_cnt", "sg_n_cnt"))
    threads = np.maximum(32.0, knobs.get("wg_size_x", zero))
    sizes = {role: total(workload.sizes(role)) for role in ("batch", "m", "n", "k1", "k2")}
    return {
        "tile_m": m, "tile_n": n, "tile_keys": keys, "threads": threads, "warps": threads / 32.0,
        "own_m": m / down, "own_n": n / across, "across": across,
        "groups": np.ceil(sizes["m"] / m) * np.ceil(sizes["n"] / n) * sizes["batch"],
        "steps": np.ceil(sizes["k2"] / keys), "width": np.full(count, sizes["k1"]),
        # Its lowest bit is for keys, the other one for queries.
        "keys_promoted": 1.0 + np.mod(knobs.get("promote_qk", zero), 2.0),
        "values_promoted": 1.0 + knobs.get("promote_value", zero),
        "conflicts": 1.0 + knobs.get("no_reduce_shared_memory_bank_conflicts", zero),
        "reordered": 1.0 + knobs.get("reorder_workgroups_strategy", zero),
    }  # fmt: skip


def _memory(workload: Workload, found: Mapping[str, Array], machine: Machine) -> dict[str, Array]:
    element = workload.types[0].bits / 8
    keys = found["tile_keys"] * found["width"] * element
    values = found["tile_keys"] * found["tile_n"] * element
    shared = keys * (found["keys_promoted"] - 1.0) + values * (found["values_promoted"] - 1.0)
    # Sums and scores in f32, queries and probabilities in the operands' type, four bytes a register.
    held = found["own_m"] * (found["own_n"] + found["tile_keys"]) / 32.0
    held += found["own_m"] * (found["width"] + found["tile_keys"]) * element / 4.0 / 32.0
    needed = held + 40.0
    registers = needed + (keys + values) / 4.0 / found["threads"]
    resident = resident_groups(found["groups"], found["threads"], registers, shared, machine)
    units = max(1, machine.units)
    return {
        "shared_bytes": np.maximum(1.0, shared), "registers": registers, "resident": resident,
        "resident_warps": resident * found["warps"],
        "waves": np.ceil(found["groups"] / (units * resident)),
        "spill_x": 1.0 + np.maximum(0.0, needed - MOST_REGISTERS) / 64.0,
    }  # fmt: skip


def _cycles(workload: Workload, found: Mapping[str, Array]) -> dict[str, Array]:
    element = workload.types[0].bits / 8
    m, n, keys, width, steps = (found[name] for name in ("tile_m", "tile_n", "tile_keys", "width", "steps"))
    # Each warp along the values computes all scores of its rows.
    scores = m * keys * steps * found["across"]
    products = scores * width + m * keys * steps * n
    loaded = found["warps"] * steps * keys * element
    repeated = np.where(found["conflicts"] > 1.0, _REPEATED, 1.0)
    near, far = np.zeros(len(m)), m * (width + n) * element
    for promoted, long in ((found["keys_promoted"], width), (found["values_promoted"], found["own_n"])):
        inside = promoted > 1.0
        near = near + np.where(inside, loaded * long * repeated + steps * keys * long * element, 0.0)
        far = far + np.where(inside, steps * keys * long * element, loaded * long * _SCATTERED)
    return {
        "matrix_cycles": products / (MATRIX_OPS * 2.0 / element),
        "softmax_cycles": scores / 32.0 * _SOFTMAX_CYCLES / 4.0,  # four schedulers
        "shared_cycles": near / SHARED_BYTES,
        "far_cycles": far / _FAR_BYTES + m * n * element / MEMORY_BYTES,
    }
