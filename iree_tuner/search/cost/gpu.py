"""Products and attention on GPUs: workgroups over multiprocessors, tiles in shared memory and registers.

First products with matrix instructions, for the pipelines TileAndFuse and VectorDistribute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from iree_tuner.ops.attention import is_attention
from iree_tuner.ops.contraction import is_contraction
from iree_tuner.ops.convolution import is_convolution
from iree_tuner.ops.workload import Workload
from iree_tuner.search.cost.terms import Array, Estimate, operands_of, terms_of, total
from iree_tuner.targets.machine import Machine

_SHAPE = (16.0, 8.0, 16.0)  # of an instruction: NVIDIA's for f16
MOST_REGISTERS = 255.0
_THREADS_OF_UNIT = 2048.0
_GROUPS_OF_UNIT = 32.0
_BANKS = 32

# A multiprocessor of Hopper or Ampere, each cycle, by the makers' white papers: multiply-adds of f16 through
# mma.sync, bytes from shared memory, bytes from the second-level cache and from memory.
MATRIX_OPS = 1024.0
SHARED_BYTES = 128.0
_FAR_BYTES = 40.0
MEMORY_BYTES = 20.0
_LATENCY_CYCLES = 900.0  # of one step: a load from memory, two barriers
_HIDING_WARPS = 16.0


def fits(workload: Workload, knobs: Mapping[str, Array]) -> bool:
    """Whether this model is for a space: a product or a convolution with matrix instructions."""
    return "mma_idx" in knobs and bool(as_product(workload).role("k"))


def as_product(workload: Workload) -> Workload:
    """A convolution with the roles of a product: pixels by filters, summed over windows and channels.

    With channels first, filters are the rows, and pixels the columns.
    """
    if not is_convolution(workload):
        return workload if is_contraction(workload) else replace(workload, roles=())
    pixels = workload.role("batch") + workload.role("output_image")
    filters = workload.role("output_channel")
    summed = workload.role("filter") + workload.role("input_channel")
    last = operands_of(workload)[-1].innermost
    m, n = (pixels, filters) if last and last[0][0] in filters else (filters, pixels)
    return replace(workload, roles=(("batch", workload.role("depth")), ("m", m), ("n", n), ("k", summed)))


def estimate(workload: Workload, knobs: Mapping[str, Array], second: Array, machine: Machine) -> Estimate:
    """Features and cycles of a contraction's assignments, given by a column for each knob.

    `second` is 1 for the pipeline VectorDistribute, 0 for TileAndFuse.
    """
    workload = as_product(workload)
    found = _tiles(workload, knobs, second)
    found |= _memory(workload, found, machine)
    found |= _conflicts(workload, found)
    found |= _cycles(workload, found, machine)
    per_group = np.maximum.reduce([found["matrix_cycles"], found["shared_cycles"], found["far_cycles"]])
    cycles = cycles_of(found, per_group) * found["waste_x"]
    terms = terms_of(
        found,
        matrix_cycles="matrix instructions of a workgroup",
        shared_cycles="operands from shared memory to registers",
        far_cycles="operands from memory to shared memory",
        waves="rounds of workgroups over the multiprocessors",
        spill_x="registers that a thread needs beyond those it has",
        waste_x="padding of tiles that do not divide",
    )
    return Estimate(found, terms, cycles)


def _tiles(workload: Workload, knobs: Mapping[str, Array], second: Array) -> dict[str, Array]:
    count = len(knobs["mma_idx"])
    rows, columns, depth = _SHAPE
    m, n = (extent_of(workload, knobs, role, "wg") for role in ("m", "n"))
    last = workload.role("k")[-1]
    step = np.maximum(1.0, knobs.get(f"red_{last}", np.ones(count)))
    k = np.where(second > 0, step, step * depth)
    threads = np.maximum(32.0, knobs.get("wg_size_x", np.full(count, 32.0)))
    threads = threads * np.maximum(1.0, knobs.get("wg_size_y", np.ones(count)))
    warps = threads / np.maximum(1.0, knobs.get("sg_size", np.full(count, 32.0)))
    zero = np.zeros(count)
    across = np.maximum(1.0, knobs.get("sg_m_cnt", zero))
    along = np.maximum(1.0, knobs.get("sg_n_cnt", zero))
    own_m = np.where(second > 0, m / across, extent_of(workload, knobs, "m", "sg") * rows)
    own_n = np.where(second > 0, n / along, extent_of(workload, knobs, "n", "sg") * columns)
    sizes = {role: total(workload.sizes(role)) for role in ("batch", "m", "n", "k")}
    groups = np.ceil(sizes["m"] / m) * np.ceil(sizes["n"] / n) * sizes["batch"]
    steps = np.ceil(sizes["k"] / k)
    waste = np.ceil(sizes["m"] / m) * m / sizes["m"] * np.ceil(sizes["n"] / n) * n / sizes["n"] * steps * k
    return {
        "tile_m": m, "tile_n": n, "tile_k": k, "threads": threads, "warps": warps, "own_m": own_m,
        "own_n": own_n, "groups": groups, "steps": steps, "waste_x": waste / sizes["k"],
        "instructions": np.maximum(1.0, own_m / rows) * np.maximum(1.0, own_n / columns) * (k / depth),
        "aspect": m / n, "own_aspect": own_m / own_n, "second": 1.0 + second,
        "conflicts": 1.0 + knobs.get("no_reduce_shared_memory_bank_conflicts", zero),
        "reordered": 1.0 + knobs.get("reorder_workgroups_strategy", zero),
        "stages": np.maximum(1.0, knobs.get("prefetch_num_stages", zero)),
        "size_m": np.full(len(m), sizes["m"]), "size_n": np.full(len(m), sizes["n"]),
        "size_k": np.full(len(m), sizes["k"]),
        "idle_x": np.maximum(1.0, warps * own_m * own_n / (m * n)),
        "serial_x": np.maximum(1.0, m * n / (warps * own_m * own_n)),
    }  # fmt: skip


def extent_of(workload: Workload, knobs: Mapping[str, Array], role: str, level: str) -> Array:
    """The product of the knobs of a level, such as `wg`, over the loops of a role."""
    count = len(next(iter(knobs.values())))
    extent = np.ones(count)
    for loop in workload.role(role):
        extent = extent * np.maximum(1.0, knobs.get(f"{level}_{loop}", np.ones(count)))
    return extent


def _memory(workload: Workload, found: Mapping[str, Array], machine: Machine) -> dict[str, Array]:
    left, right, result = (kind.bits / 8 for kind in workload.types[:3])
    m, n, k = found["tile_m"], found["tile_n"], found["tile_k"]
    shared = (m * left + n * right) * k
    held = found["own_m"] * found["own_n"] * max(result, 2.0) / 4.0 / 32.0  # in the result's type
    # Fragments of both operands for one instruction's depth, and what is under way from memory.
    fragments = (found["own_m"] * left + found["own_n"] * right) * 16.0 / 4.0 / 32.0
    under_way = shared / 4.0 / found["threads"]
    needed = held + fragments + 32.0
    registers = needed + under_way
    resident = resident_groups(found["groups"], found["threads"], registers, shared, machine)
    units = max(1, machine.units)
    return {
        "shared_bytes": shared, "registers": registers,
        # Values under way need not be held: loads may sink to where their values are stored.
        "spill_x": 1.0 + np.maximum(0.0, needed - MOST_REGISTERS) / 64.0,
        "resident": resident, "resident_warps": resident * found["warps"],
        "groups_per_unit": found["groups"] / units,
        "waves": np.ceil(found["groups"] / (units * resident)),
        "tail_x": np.ceil(found["groups"] / units) * units / found["groups"],
        "load_bytes": shared / found["threads"], "row_bytes": k * left, "column_bytes": n * right,
    }  # fmt: skip


def cycles_of(found: Mapping[str, Array], per_group: Array) -> Array:
    """Cycles of all rounds of workgroups: of the workgroups, and the latency that warps do not hide."""
    exposed = found["steps"] * _LATENCY_CYCLES / np.maximum(1.0, found["resident_warps"] / _HIDING_WARPS)
    return found["waves"] * (per_group * found["resident"] + exposed) * found["spill_x"]


def resident_groups(
    groups: Array, threads: Array, registers: Array, shared: Array, machine: Machine
) -> Array:
    """Workgroups that a multiprocessor has at the same time.

    Args:
        groups: of all multiprocessors.
        threads: of a workgroup.
        registers: of a thread.
        shared: bytes of shared memory of a workgroup.
        machine: a GPU.
    """
    by_memory = np.floor((machine.near_bytes or 200 << 10) / np.maximum(shared, 1024.0))
    by_threads = np.floor(_THREADS_OF_UNIT / threads)
    by_registers = np.floor((machine.registers or 65536) / (np.minimum(registers, MOST_REGISTERS) * threads))
    resident = np.clip(np.minimum.reduce([by_memory, by_threads, by_registers]), 1.0, _GROUPS_OF_UNIT)
    return np.minimum(resident, np.maximum(1.0, np.ceil(groups / max(1, machine.units))))


def _conflicts(workload: Workload, found: Mapping[str, Array]) -> dict[str, Array]:
    """Number of times that a load of fragments from shared memory is repeated because of bank conflicts.

    There are 32 banks of four bytes. If the reduction is contiguous, the lanes of a warp read four adjacent
    words of eight rows; else single elements of four pairs of rows, eight adjacent ones in each. Rows follow
    each other at a tile's width. The compiler pads them, unless an option forbids it.
    """
    last = workload.role("k")[-1]
    factors: dict[str, Array] = {}
    for name, operand, side in zip(("left_x", "right_x"), operands_of(workload)[:2], ("m", "n"), strict=True):
        along = bool(operand.innermost) and operand.innermost[-1][0] == last
        width = found["tile_k" if along else f"tile_{side}"] * operand.bits / 8
        words = np.maximum(1.0, np.round(width * (1.0 if along else 2.0) / 4.0)).astype(np.int64)
        apart = np.gcd(words, _BANKS)
        repeated = np.clip(apart / 4.0, 1.0, 8.0) if along else np.clip(apart / 8.0, 1.0, 4.0)
        factors[name] = np.where(found["conflicts"] > 1.0, repeated, 1.0)
    return factors


def _cycles(workload: Workload, found: Mapping[str, Array], machine: Machine) -> dict[str, Array]:
    left, right, result = (kind.bits / 8 for kind in workload.types[:3])
    m, n, k, steps = found["tile_m"], found["tile_n"], found["tile_k"], found["steps"]
    rate = MATRIX_OPS * 2.0 / left
    matrix = m * n * k * steps / rate * found["idle_x"]
    rows, columns = found["own_m"] * left * found["left_x"], found["own_n"] * right * found["right_x"]
    through = found["warps"] * (rows + columns) * k * found["serial_x"]
    shared = steps * (through + found["shared_bytes"]) / SHARED_BYTES
    units = max(1, machine.units)
    moved = found["shared_bytes"] * steps
    alone = np.maximum(1.0, found["groups"] / units)
    footprint = total(workload.loops) ** (2 / 3) * left
    rate_far = np.where(footprint < (machine.last_bytes or 1 << 25), _FAR_BYTES, MEMORY_BYTES)
    far = moved / rate_far + m * n * result / MEMORY_BYTES
    return {
        "matrix_cycles": matrix,
        "shared_cycles": shared,
        "far_cycles": far,
        "intensity": 2.0 * m * n / (m * left + n * right),
        "work_per_unit": alone * matrix,
    }


# Attention: queries by workgroup, keys and values in parts, both products with matrix instructions. For the
# pipeline VectorDistribute.


_KNOBS = ("m_tile", "n_tile", "red_k2")
_SOFTMAX_CYCLES = 8.0  # of a warp for 32 scores: scale, maximum, exponential, sum, conversion
_SCATTERED = 4.0  # loads of fragments from memory: how many more bytes a cache moves for them
_REPEATED = 2.0  # loads of rows that meet in a bank of shared memory, since a row has a power of two


def fits_attention(workload: Workload, knobs: Mapping[str, Array]) -> bool:
    """Whether this model is for a space: an attention with matrix instructions."""
    return is_attention(workload) and all(name in knobs for name in _KNOBS)


def estimate_attention(workload: Workload, knobs: Mapping[str, Array], machine: Machine) -> Estimate:
    """Features and cycles of an attention's assignments, given by a column for each knob."""
    found = _attention_tiles(workload, knobs)
    found |= _attention_memory(workload, found, machine)
    found |= _attention_cycles(workload, found)
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


def _attention_tiles(workload: Workload, knobs: Mapping[str, Array]) -> dict[str, Array]:
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


def _attention_memory(workload: Workload, found: Mapping[str, Array], machine: Machine) -> dict[str, Array]:
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


def _attention_cycles(workload: Workload, found: Mapping[str, Array]) -> dict[str, Array]:
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


# Products and convolutions without matrix instructions: each thread has a tile of the result. For the
# pipeline TileAndFuse.


# A multiprocessor of Hopper or Ampere, each cycle: multiply-adds of f32 and of narrow types, elements that
# threads load.
_OPS, _NARROW_OPS, _LOADS = 128.0, 32.0, 32.0
_WIDE = 4.0  # elements in a load of 16 bytes
_STEP_CYCLES = 60.0  # of a warp in each step: addresses, a branch, two barriers


def fits_threads(workload: Workload, knobs: Mapping[str, Array]) -> bool:
    """Whether this model is for a space: tiles of threads, over a product or a convolution."""
    tiled = any(name.startswith("th_") for name in knobs)
    return tiled and "mma_idx" not in knobs and bool(as_product(workload).role("k"))


def estimate_threads(workload: Workload, knobs: Mapping[str, Array], machine: Machine) -> Estimate:
    """Features and cycles of a product's or a convolution's assignments, given by a column for each knob."""
    workload = as_product(workload)
    found = _threads_tiles(workload, knobs)
    found |= _threads_memory(workload, found, machine)
    found |= _threads_cycles(workload, found)
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


def _threads_tiles(workload: Workload, knobs: Mapping[str, Array]) -> dict[str, Array]:
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


def _threads_memory(workload: Workload, found: Mapping[str, Array], machine: Machine) -> dict[str, Array]:
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


def _threads_cycles(workload: Workload, found: Mapping[str, Array]) -> dict[str, Array]:
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
