"""Ops on GPUs that move data and compute little: reductions, softmaxes, norms, elementwise ops, transposes.

For the pipelines TileAndFuse, where each thread has results of its own, and VectorDistribute, where the lanes
of subgroups share a row and exchange partial results.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from iree_tuner.ops.workload import Workload
from iree_tuner.search.cost.gpu import MOST_REGISTERS, as_product, resident_groups
from iree_tuner.search.cost.terms import Array, Estimate, Operand, body_instructions, operands_of, terms_of
from iree_tuner.targets.machine import Machine

_LANES = 32.0
_LINE, _SECTOR = 128.0, 32.0  # bytes of a cache line, and of a read
_WIDEST = 16.0  # bytes of one load of a thread
# A multiprocessor of Hopper, each cycle: bytes from memory, bytes from the second-level cache, sectors of the
# first-level cache. Fitted: cycles between workgroups that begin, and what one round of loads waits for.
_MEMORY_BYTES, _FAR_BYTES, _SECTORS = 14.5, 40.0, 4.0
_BEGIN_CYCLES, _WAIT_CYCLES, _AGAIN_CYCLES = 145.0, 700.0, 250.0
_MOST_HELD, _HELD = 4.0, 4.0  # registers for values in between: at most; instructions for one
_SHUFFLE_CYCLES, _BARRIER_CYCLES = 150.0, 150.0  # to exchange partial results: in a subgroup, between them


def fits(workload: Workload, knobs: Mapping[str, Array]) -> bool:
    """Whether this model is for a space: tiles of threads, and no product."""
    tiled = any(name.startswith("th_") for name in knobs)
    return tiled and "mma_idx" not in knobs and not as_product(workload).role("k")


def estimate(workload: Workload, knobs: Mapping[str, Array], machine: Machine) -> Estimate:
    """Features and cycles of assignments, given by a column for each knob. No products."""
    found = _tiles(workload, knobs)
    found |= _resident(workload, found, machine)
    found |= _moved(workload, knobs, found)
    begin = np.full(len(found["groups"]), _BEGIN_CYCLES)
    per_group = np.maximum.reduce([found["memory_cycles"], found["far_cycles"], found["near_cycles"], begin])
    units = max(1, machine.units)
    parts = found["memory_cycles"] + found["far_cycles"] + found["near_cycles"]
    per_group = per_group + np.maximum(0.0, parts - per_group) / found["resident"]
    busy = np.ceil(found["groups"] / units) * per_group
    waits = found["waves"] * (found["wait_cycles"] + found["exchange_cycles"])
    terms = terms_of(
        found,
        memory_cycles="a workgroup's bytes from memory",
        far_cycles="its sectors from the second-level cache",
        near_cycles="its sectors from the first-level cache",
        wait_cycles="waiting for memory, a step after the other",
        exchange_cycles="partial results between lanes",
        waves="rounds of workgroups over the multiprocessors",
        waste_x="padding of tiles that do not divide",
    )
    return Estimate(found, terms, (busy + waits) * found["waste_x"] * found["spill_x"])


def _tiles(workload: Workload, knobs: Mapping[str, Array]) -> dict[str, Array]:
    one = np.ones(len(next(iter(knobs.values()))))

    def knob(name: str) -> Array:
        return np.maximum(1.0, knobs.get(name, one))

    groups, tile, own, waste, step, depth = one, one, one, one, one, 1.0
    for loop, (size, kind) in enumerate(zip(workload.loops, workload.iterators, strict=True)):
        if kind == "parallel":
            extent = knob(f"wg_{loop}")
            groups = groups * np.ceil(size / extent)
            waste = waste * np.ceil(size / extent) * extent / size
            tile, own = tile * extent, own * knob(f"th_{loop}")
        else:
            extent = knob(f"red_{loop}")
            step, depth = step * extent, depth * max(1, size)
    steps = np.ceil(depth / step)
    waste = waste * steps * step / depth
    threads = np.maximum(_LANES, knobs.get("wg_size_x", one))
    sharing = knobs.get("subgroups", 0 * one) > 0
    rows = np.where(sharing, tile, np.maximum(own, tile / threads))  # of a thread
    return {
        "groups": groups, "tile": tile, "rows": rows, "steps": steps, "step": step, "threads": threads,
        "waste_x": waste, "sharing": np.where(sharing, 2.0, 1.0),
        "subgroups": np.maximum(1.0, knobs.get("subgroups", one)),
        "own_k": np.where(sharing, np.maximum(1.0, step / threads), step), "depth": depth * one,
        "rounds": np.where(sharing, 1.0, np.maximum(1.0, tile / (threads * own))),
    }  # fmt: skip


def _resident(workload: Workload, found: Mapping[str, Array], machine: Machine) -> dict[str, Array]:
    work = body_instructions(workload, "root") or 1.0
    held = max(1, len(workload.types) - 1) + min(_MOST_HELD, work / _HELD)  # for each element of a thread
    registers = 24.0 + held * found["rows"] * found["own_k"] / found["rounds"]
    resident = resident_groups(
        found["groups"], found["threads"], registers, np.zeros(len(registers)), machine
    )
    units = max(1, machine.units)
    return {
        "registers": registers, "resident": resident, "resident_warps": resident * found["threads"] / _LANES,
        "waves": np.maximum(1.0, found["groups"] / (units * resident)),
        "spill_x": 1.0 + np.maximum(0.0, registers - MOST_REGISTERS) / 64.0,
    }  # fmt: skip


def _moved(workload: Workload, knobs: Mapping[str, Array], found: Mapping[str, Array]) -> dict[str, Array]:
    # How often the root op's iteration space is walked, and how often for a reduction.
    whole = math.prod(workload.loops)
    beside = [each.iterators for each in workload.companions if math.prod(each.loops) == whole]
    passes = 1.0 + len(beside)
    reducing = float(sum("reduction" in each for each in (workload.iterators, *beside)))
    operands = operands_of(workload)
    one = np.ones(len(found["groups"]))
    memory, far, near = 0.0 * one, 0.0 * one, 0.0 * one
    for place, operand in enumerate(operands):
        elements, size = _elements(workload, operand, knobs, found), operand.bits / 8
        widest, span, run = _spans(workload, operand, knobs, found)
        times = passes if place < len(operands) - 1 else 1.0
        width = np.minimum(widest, _WIDEST)  # of an access of a lane
        accesses = elements * size / (_LANES * width)
        # Lanes with more than one access each are apart from each other by all that they own.
        apart = np.where(widest > _WIDEST, widest, np.minimum(span, _LINE))
        lines = np.where(widest > _WIDEST, _LANES * np.minimum(1.0, apart / _LINE), _LANES * width / apart)
        sectors = np.where(
            widest > _WIDEST, _LANES * np.minimum(1.0, apart / _SECTOR),
            _LANES * width / np.minimum(span, _SECTOR),
        )  # fmt: skip
        near = near + times * accesses * np.maximum.reduce([one, lines, sectors / _SECTORS])
        if place < len(operands) - 1:
            memory = memory + elements * size
            far = far + elements * size * times * np.maximum(1.0, _SECTOR / run)
        else:  # stores of parts of a sector are not joined before memory
            memory = memory + accesses * sectors * _SECTOR
            far = far + accesses * sectors * _SECTOR
    if passes > 1.0 and reducing:  # another op writes a result as large as the first input
        memory, far = memory * 2.0, far * (1.0 + 1.0 / passes)
        near = near * (1.0 + 1.0 / passes)
    sharing = found["sharing"] > 1.0
    waits = found["steps"] * found["rounds"] * (_WAIT_CYCLES + (passes - 1.0) * _AGAIN_CYCLES)
    if passes > reducing:  # rows of an elementwise op come one after the other
        waits = waits * np.where(sharing, found["rows"], 1.0)
    across = _SHUFFLE_CYCLES + np.where(found["subgroups"] > 1.0, _BARRIER_CYCLES, 0.0)
    return {
        "memory_cycles": memory / _MEMORY_BYTES, "far_cycles": far / _FAR_BYTES,
        "near_cycles": near, "wait_cycles": waits,
        "exchange_cycles": np.where(sharing, reducing * across * found["rows"], 1.0),
    }  # fmt: skip


def _elements(
    workload: Workload, operand: Operand, knobs: Mapping[str, Array], found: Mapping[str, Array]
) -> Array:
    count = np.ones(len(found["groups"]))
    for loop in operand.loops:
        if workload.iterators[loop] == "parallel":
            count = count * np.maximum(1.0, knobs.get(f"wg_{loop}", np.ones(len(count))))
        else:
            count = count * max(1, workload.loops[loop])
    return count


def _spans(
    workload: Workload, operand: Operand, knobs: Mapping[str, Array], found: Mapping[str, Array]
) -> tuple[Array, Array, Array]:
    """Contiguous bytes of an operand: a thread's, those of neighboring lanes, and a workgroup's."""
    one, size = np.ones(len(found["groups"])), operand.bits / 8
    contiguous = operand.innermost[0][0] if operand.innermost else None
    if contiguous is None:
        return size * one, _SECTOR * one, _SECTOR * one
    sharing = found["sharing"] > 1.0
    if workload.iterators[contiguous] == "reduction":
        own = np.where(sharing, np.maximum(1.0, knobs.get("th_k", one)), found["step"])
        return own * size, own * size * np.where(sharing, _LANES, 1.0), found["step"] * size
    inner, lanes = one, one
    for loop in reversed(range(len(workload.loops))):
        if workload.iterators[loop] != "parallel":
            continue
        extent, own = (np.maximum(1.0, knobs.get(f"{level}_{loop}", one)) for level in ("wg", "th"))
        lanes = np.maximum(1.0, extent / own)
        if loop == contiguous:
            break
        inner = inner * lanes
    own = np.maximum(1.0, knobs.get(f"th_{contiguous}", one))
    extent = np.maximum(1.0, knobs.get(f"wg_{contiguous}", one))
    together = np.clip(_LANES / np.minimum(inner, _LANES), 1.0, lanes)
    return own * size, own * size * together, extent * size
