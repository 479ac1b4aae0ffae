"""Products and convolutions on GPUs without matrix instructions: each thread has a tile of the result.

For the pipeline TileAndFuse.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from iree_tuner.ops.workload import Workload
from iree_tuner.search.cost.gpu import (
    MOST_REGISTERS,
    SHARED_BYTES,
    as_product,
    cycles_of,
    extent_of,
    resident_groups,
)
from iree_tuner.search.cost.terms import Array, Estimate, terms_of, total
from iree_tuner.targets.machine import Machine

# A multiprocessor of Hopper or Ampere, each cycle: multiply-adds of f32 and of narrow types, elements that
# threads load, bytes from the second-level cache.
_OPS, _NARROW_OPS, _LOADS, _FAR_BYTES = 128.0, 32.0, 32.0, 40.0
_WIDE = 4.0  # elements in a load of 16 bytes
_STEP_CYCLES = 60.0  # of a warp in each step: addresses, a branch, two barriers


def fits(workload: Workload, knobs: Mapping[str, Array]) -> bool:
    """Whether this model is for a space: tiles of threads, over a product or a convolution."""
    tiled = any(name.startswith("th_") for name in knobs)
    return tiled and "mma_idx" not in knobs and bool(as_product(workload).role("k"))


def estimate(workload: Workload, knobs: Mapping[str, Array], machine: Machine) -> Estimate:
    """Features and cycles of a product's or a convolution's assignments, given by a column for each knob."""
    workload = as_product(workload)
    found = _tiles(workload, knobs)
    found |= _memory(workload, found, machine)
    found |= _cycles(workload, found)
    per_group = np.maximum.reduce([found["compute_cycles"], found["load_cycles"], found["far_cycles"]])
    per_group = per_group + found["step_cycles"]
    terms = terms_of(
        found,
        compute_cycles="multiply-adds of a workgroup",
        load_cycles="operands to registers",
        far_cycles="operands from the second-level cache",
        step_cycles="addresses and barriers of the steps",
        waves="rounds of workgroups over the multiprocessors",
        spill_x="registers that a thread needs beyond those it has",
        waste_x="padding of tiles that do not divide",
    )
    return Estimate(found, terms, cycles_of(found, per_group) * found["waste_x"])


def _tiles(workload: Workload, knobs: Mapping[str, Array]) -> dict[str, Array]:
    count = len(next(iter(knobs.values())))
    one = np.ones(count)
    m, n = (extent_of(workload, knobs, role, "wg") for role in ("m", "n"))
    own_m, own_n = (extent_of(workload, knobs, role, "th") for role in ("m", "n"))
    k = extent_of(workload, knobs, "k", "red")
    threads = np.maximum(1.0, knobs.get("wg_size_x", one)) * np.maximum(1.0, knobs.get("wg_size_y", one))
    sizes = {role: total(workload.sizes(role)) for role in ("batch", "m", "n", "k")}
    steps = np.ceil(sizes["k"] / k)
    whole = [
        np.ceil(sizes[role] / tile) * tile / sizes[role] for role, tile in (("m", m), ("n", n), ("k", k))
    ]
    return {
        "tile_m": m, "tile_n": n, "tile_k": k, "own_m": own_m, "own_n": own_n, "threads": threads,
        "warps": np.ceil(threads / 32.0), "steps": steps, "waste_x": whole[0] * whole[1] * whole[2],
        "groups": np.ceil(sizes["m"] / m) * np.ceil(sizes["n"] / n) * sizes["batch"],
        "repeats": np.maximum(1.0, m * n / (threads * own_m * own_n)),
        "promoted": 1.0 + knobs.get("promote", np.zeros(count)),
        "padded": 1.0 + knobs.get("pad_rows", np.zeros(count)),
        "size_k": np.full(count, sizes["k"]),
    }  # fmt: skip


def _memory(workload: Workload, found: Mapping[str, Array], machine: Machine) -> dict[str, Array]:
    left, right = (kind.bits / 8 for kind in workload.types[:2])
    promoted = found["promoted"] > 1.0
    tiles = (found["tile_m"] * left + found["tile_n"] * right) * found["tile_k"]
    # Operands of some iterations of the reduction are in registers together with the sums.
    together = np.minimum(found["tile_k"], _WIDE)
    needed = found["own_m"] * found["own_n"] * found["repeats"]
    needed = needed + (found["own_m"] + found["own_n"]) * together + 24.0
    shared = np.where(promoted, tiles, 0.0)
    resident = resident_groups(found["groups"], found["threads"], needed, shared, machine)
    units = max(1, machine.units)
    return {
        "registers": needed, "shared_bytes": np.maximum(1.0, shared), "resident": resident,
        "resident_warps": resident * found["warps"],
        "waves": np.ceil(found["groups"] / (units * resident)),
        "spill_x": 1.0 + np.maximum(0.0, needed - MOST_REGISTERS) / 64.0,
    }  # fmt: skip


def _cycles(workload: Workload, found: Mapping[str, Array]) -> dict[str, Array]:
    left, right, result = (kind.bits / 8 for kind in workload.types[:3])
    m, n, k, steps = (found[name] for name in ("tile_m", "tile_n", "tile_k", "steps"))
    lanes = found["warps"] * 32.0  # a part of a warp takes as long as a whole one
    own = found["own_m"] * found["own_n"] * found["repeats"] * lanes
    ops = _OPS if left >= 4.0 else _NARROW_OPS  # narrow operands are widened, one by one
    wide = np.minimum(found["own_n"], _WIDE)
    along = np.minimum(found["tile_k"], _WIDE)
    loads = found["own_m"] / along + found["own_n"] / wide
    promoted = found["promoted"] > 1.0
    near = loads * found["repeats"] * lanes * k * steps / _LOADS
    copied = np.where(promoted, (m * left + n * right) * k * steps / SHARED_BYTES, 0.0)
    return {
        "compute_cycles": own * k * steps / ops,
        "load_cycles": near * np.where(promoted, 1.0, 1.5) + copied,
        "far_cycles": (m * left + n * right) * k * steps / _FAR_BYTES + m * n * result / _FAR_BYTES,
        "step_cycles": steps * found["warps"] * _STEP_CYCLES / 4.0,
    }
