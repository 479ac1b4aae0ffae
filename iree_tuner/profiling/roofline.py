"""A device's limits: arithmetic by element type, and bytes by the memory that they lie in."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
from iree.compiler import ir
from iree.compiler.dialects import arith, func, tensor
from iree.compiler.dialects import math as math_ops

from iree_tuner.compiler.context import new_context, to_bytecode
from iree_tuner.compiler.linalg import access, generic, named
from iree_tuner.compiler.versions import installed
from iree_tuner.compiler.worker import Workers
from iree_tuner.device.bench import Bench
from iree_tuner.device.device_facts import DeviceFacts
from iree_tuner.errors import TunerError
from iree_tuner.measure.candidate import Builder
from iree_tuner.measure.measurer import Measurer
from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.space.llvm_cpu.attributes import LOWERING_CONFIG, cpu_configuration, pipeline
from iree_tuner.targets import CpuLimits, Target
from iree_tuner.targets.registry import DEFAULT_DEVICE, driver_of, on_one_core

_LETTERS = {"float": "f", "integer": "i"}
_REFERENCE_BITS = 32

Speed = Annotated[float, msgspec.Meta(gt=0)]
"""Something a second."""


@dataclass(frozen=True)
class MemoryLevel:
    """A level of memory."""

    bytes_per_s: Speed | None  # read bandwidth of all units together; None if it is not a limit
    capacity_bytes: Annotated[int, msgspec.Meta(gt=0)] | None = None  # None for the memory behind all caches


@dataclass(frozen=True)
class Roofline:
    """The bounds of one device."""

    name: str  # as the device reports it
    flops_per_s: tuple[tuple[str, Speed], ...]  # by the multiplied type; `f32` is used for missing types
    levels: tuple[MemoryLevel, ...]  # nearest first; the last one holds everything
    how: str = ""  # the source of the numbers, or how they were measured
    conditions: tuple[tuple[str, str], ...] = ()  # what they were measured under, as names and values

    def peak(self, element_type: str) -> float | None:
        """Operations per second on elements of a type; None if not known.

        A type that is not listed has the number of its kind and width. If there is none, it has the number of
        `f32`, times the number of elements in the width of an f32: no known unit does more.
        """
        known = dict(self.flops_per_s)
        if element_type in known:
            return known[element_type]
        kind = ElementType.named(element_type)
        if kind.kind not in _LETTERS:
            return None
        bits, same = kind.bits, known.get(f"{_LETTERS[kind.kind]}{kind.bits}")
        base = known.get("f32")
        return same if same is not None or base is None else base * _REFERENCE_BITS / bits

    def bytes_per_s(self, footprint_bytes: float) -> float | None:
        """The speed of reading this amount of data; None where nothing bounds it."""
        for level in self.levels:
            if level.capacity_bytes is None or footprint_bytes <= level.capacity_bytes:
                return level.bytes_per_s
        return self.levels[-1].bytes_per_s if self.levels else None

    def attainable_us(self, flops: float, bytes_: float, element_type: str) -> float:
        """The least microseconds for this work; 0 if not known.

        Data that fits in a cache is assumed to be there: a dispatch often reads data that the one before has
        written.
        """
        peak, speed = self.peak(element_type), self.bytes_per_s(bytes_)
        compute_s = flops / peak if peak else 0.0
        memory_s = bytes_ / speed if speed else 0.0
        return max(compute_s, memory_s) * 1e6


def raised(roofline: Roofline, reached: Iterable[tuple[float, float]]) -> Roofline:
    """The roofline with the speeds of memory that calls of dispatches reached, where these are higher.

    A probe is slower on a busy machine, and its result stays in a file. A nearer level is not slower than the
    one behind it.

    Args:
        roofline: of a processor, as it was measured.
        reached: of each dispatch, the bytes that a call reads and writes, and its seconds.
    """
    speeds = [each.bytes_per_s for each in roofline.levels]
    for moved, seconds in reached:
        inside = (moved <= (each.capacity_bytes or math.inf) for each in roofline.levels)
        for place in range(next((place for place, fits in enumerate(inside) if fits), len(speeds)) + 1):
            known = speeds[place] if place < len(speeds) else None
            if known is not None and seconds and moved / seconds > known:
                speeds[place] = moved / seconds
    levels = zip(roofline.levels, speeds, strict=True)
    return replace(roofline, levels=tuple(replace(each, bytes_per_s=speed) for each, speed in levels))


def to_json(roofline: Roofline) -> dict[str, object]:
    """As JSON-ready data."""
    pairs_of = {"flops_per_s": dict(roofline.flops_per_s), "conditions": dict(roofline.conditions)}
    return {**asdict(roofline), "levels": [asdict(each) for each in roofline.levels], **pairs_of}


def from_json(data: Mapping[str, object]) -> Roofline:
    """The inverse of `to_json`. Raises TypeError or ValueError for other data."""
    objects = msgspec.convert(data, dict[str, object])
    for name in ("flops_per_s", "conditions"):
        objects[name] = list(msgspec.convert(data.get(name, {}), dict[str, object]).items())
    return msgspec.convert(objects, Roofline)


# Rooflines of GPUs, from `datasheets.json`, which says where each number comes from.


_FILE = Path(__file__).with_name("datasheets.json")


def datasheet_roofline(device_name: str, cache_bytes: int) -> Roofline | None:
    """The roofline of a GPU by its name; None if the table does not have it.

    Data sheets do not say how fast caches are: data that fits in `cache_bytes` is bound by arithmetic alone.
    """
    for entry in _entries():
        if entry["name"] in device_name:
            flops = tuple((kind, value * 1e12) for kind, value in entry["tflops"].items())
            levels = (MemoryLevel(None, cache_bytes), MemoryLevel(entry["tbytes_per_s"] * 1e12))
            return Roofline(device_name, flops, levels, entry["source"])
    return None


@cache
def _entries() -> list[dict[str, Any]]:
    return json.loads(_FILE.read_text())["devices"]


# The roofline of this machine's CPU, measured with programs that the compiler makes and the harness times.
#
# Arithmetic: a chain of multiply-adds on as many vectors as hide its latency, so that no other code is
# faster. Memory: sums over blocks of rows, which read everything once and write next to nothing, of sizes
# that fit in the cores' own caches, in the last-level cache, and in none.


_CHAIN = 128
_VECTORS = (8, 12)  # in flight: two units of latency 4, or three; 12 fit in 16 registers
_CHUNKS = 128  # of these vectors, in a task
_TASKS_PER_CORE = 8
_ROW = 256
_MIB = 1 << 20
_LEAST_MEMORY, _MOST_MEMORY = 64 * _MIB, 512 * _MIB
_UNKNOWN_CACHE = 512 << 10

Levels = Mapping[str, tuple[int, ...]]


def cpu_roofline(
    target: Target, compilers: Workers, builder: Builder, measurer: Measurer, cache: Path | None = None
) -> Roofline:
    """The CPU's roofline, from the file `cache` or measured. Raises TunerError if a probe did not run."""
    conditions = conditions_of(target, measurer.facts)
    key = json.dumps(conditions, sort_keys=True)
    known = _read(cache).get(key) if cache else None
    if known is not None:
        return known
    found = measure_cpu(target, compilers, builder, measurer, conditions)
    if cache:
        _write(cache, key, found)
    return found


def conditions_of(target: Target, facts: DeviceFacts) -> dict[str, str]:
    """The facts that must be equal for a roofline to be used again."""
    return {
        "processor": facts.name, "cores": str(facts.cores),
        "device": driver_of(target.device or DEFAULT_DEVICE), "target": target.chip.partition("+")[0],
        "compiler": installed()["iree-base-compiler"] or "",
    }  # fmt: skip


def keep_raised(
    cache: Path | None, target: Target, facts: DeviceFacts, roofline: Roofline,
    reached: Iterable[tuple[float, float]],
) -> Roofline:  # fmt: skip
    """The roofline that calls of dispatches have raised, also in the file that keeps it, if there is one."""
    found = raised(roofline, reached)
    if cache is not None and found != roofline:
        _write(cache, json.dumps(conditions_of(target, facts), sort_keys=True), found)
    return found


def measure_cpu(
    target: Target, compilers: Workers, builder: Builder, measurer: Measurer, conditions: Mapping[str, str]
) -> Roofline:
    """Measure it, which takes some ten seconds. Raises TunerError if a probe did not run."""
    probe = _Probe(target, compilers, builder, measurer)
    units = 1 if on_one_core(measurer.device) else measurer.facts.cores
    peak = max(probe.multiply_adds_per_s(count, units) for count in _VECTORS)
    middle = (measurer.facts.middle_bytes or _UNKNOWN_CACHE) * units
    last = measurer.facts.last_level_bytes
    memory = min(_MOST_MEMORY, max(_LEAST_MEMORY, 4 * last))
    sizes = [(middle, middle // 2), (last, last // 2), (None, memory)]
    levels: list[MemoryLevel] = []
    for capacity, size in reversed(sizes):  # a nearer level is not slower than the one behind it
        behind = levels[0].bytes_per_s if levels else None
        levels.insert(0, MemoryLevel(max(probe.bytes_per_s(size, units), behind or 0.0), capacity))
    today = datetime.now(UTC).date().isoformat()
    return Roofline(
        conditions["processor"], (("f32", 2.0 * peak),), tuple(levels),
        "measured: chains of multiply-adds, and sums over data in the second-level cache, the last-level"
        " cache and memory",
        (*conditions.items(), ("date", today)),
    )  # fmt: skip


class _Probe:
    def __init__(self, target: Target, compilers: Workers, builder: Builder, measurer: Measurer) -> None:
        self._target, self._compilers, self._builder = target, compilers, builder
        self._measurer = measurer

    def multiply_adds_per_s(self, vectors: int, units: int) -> float:
        """With this number of vectors in flight."""
        lanes = 16  # of the widest registers; on narrower ones a vector is two or four of them
        tasks = units * _TASKS_PER_CORE
        size = lanes * vectors * _CHUNKS * tasks

        def levels(register_bytes: int) -> Levels:
            tile = register_bytes // 4 * vectors
            return {"distribution": (size // tasks,), "vector_common_parallel": (tile,)}

        seconds = self._seconds(multiply_adds(size), levels)
        return size * _CHAIN / seconds

    def bytes_per_s(self, size: int, units: int) -> float:
        """Reading data of a size again and again."""
        blocks = units * _TASKS_PER_CORE
        rows = max(1, size // (blocks * _ROW * 4))

        def levels(register_bytes: int) -> Levels:
            return {
                "distribution": (1, _ROW, 0),
                "vector_common_parallel": (1, min(_ROW, 8 * register_bytes // 4), 0),
                "vector_reduction": (0, 0, 1),
            }

        return blocks * rows * _ROW * 4 / self._seconds(sums(blocks, rows), levels)

    def _seconds(self, module: bytes, levels_for: Callable[[int], Levels]) -> float:
        """The time of one run, with its data where the run before has left it."""
        program = Program("<roofline>", module)
        (dispatch,) = extract(program, self._target, self._compilers).dispatches
        limits = dispatch.limits
        assert dispatch.harness is not None
        assert isinstance(limits, CpuLimits)
        with new_context():
            levels = levels_for(limits.native_vector_bytes)
            configuration = cpu_configuration(pipeline("DoubleTilingExpert"), {LOWERING_CONFIG: levels})
        built = self._builder.build(dispatch.harness, configuration)
        if built.outcome != "ok":
            raise TunerError(f"the roofline cannot be measured: {built.outcome}: {built.message}")
        bench = Bench(dispatch.harness, self._measurer.device, built.vmfb, Tolerance(), cold=False)
        timed = self._measurer.time(built.vmfb, bench)
        if timed.outcome != "ok":
            raise TunerError(f"the roofline cannot be measured: {timed.outcome}: {timed.message}")
        return min(timed.samples_us) / 1e6


def multiply_adds(size: int) -> bytes:
    """A program that does a chain of multiply-adds on each of `size` numbers, as bytecode."""

    def body(value: ir.Value, _: ir.Value) -> ir.Value:
        factor = arith.constant(ir.F32Type.get(), 0.5)
        for _step in range(_CHAIN):
            value = math_ops.fma(value, factor, factor)
        return value

    with new_context(), ir.Location.unknown():
        every = ir.AffineMap.get_identity(1)
        return _program((size,), (size,), (every, every), body, filled=False)


def sums(blocks: int, rows: int) -> bytes:
    """A program that adds up the rows of each block, as bytecode."""
    with new_context(), ir.Location.unknown():
        maps = (ir.AffineMap.get_identity(3), access(3, (0, 2)))
        return _program((blocks, rows, _ROW), (blocks, _ROW), maps, arith.addf, filled=True)


def _program(
    taken: tuple[int, ...], given: tuple[int, ...], maps: tuple[ir.AffineMap, ...],
    body: Callable[[ir.Value, ir.Value], ir.Value], *, filled: bool,
) -> bytes:  # fmt: skip
    """A function of one linalg op, in the current context and location."""
    element = ir.F32Type.get()
    operand, result = (ir.RankedTensorType.get(shape, element) for shape in (taken, given))
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("main", ir.FunctionType.get([operand], [result]))
        block = function.add_entry_block()
    with ir.InsertionPoint(block):
        out = tensor.empty(given, element)
        if filled:
            out = named("fill")(arith.constant(element, 0.0), outs=[out])
        func.ReturnOp([generic([block.arguments[0]], out, maps, body)])
    return to_bytecode(module)


def _read(path: Path) -> dict[str, Roofline]:
    """The rooflines that were measured before; empty for a missing or other file."""
    try:
        return {key: from_json(value) for key, value in json.loads(path.read_text()).items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _write(path: Path, key: str, roofline: Roofline) -> None:
    kept = {name: to_json(each) for name, each in {**_read(path), key: roofline}.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w") as file:
        json.dump(kept, file, indent=1)
    Path(name).replace(path)
