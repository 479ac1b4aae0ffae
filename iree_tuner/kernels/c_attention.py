"""Attention in C with vector types, computed in f32. The scores of a block of keys stay in the cache."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from iree_tuner.device.device_facts import usable_cores
from iree_tuner.kernels.c_code import MOST_STACK, CKernel, c_type, compiled, floats, widths
from iree_tuner.kernels.kernel import Code, Knobs, Launch, Problem
from iree_tuner.kernels.shapes import AttentionShape, attention_shape
from iree_tuner.ops.attention import is_attention
from iree_tuner.targets import Target

_SOURCE, _ENTRY = "attention_f32.c", "iree_tuner_attention_f32"
_TILES: Mapping[int, tuple[tuple[int, int], ...]] = {
    16: ((12, 2), (6, 4), (8, 3), (14, 2), (4, 6), (8, 2), (4, 4), (2, 8), (2, 4), (1, 8), (1, 4)),
    8: ((6, 2), (4, 3), (4, 2), (3, 4), (2, 4), (1, 8), (1, 4)),
    4: ((8, 3), (6, 4), (12, 2), (4, 4), (2, 8), (1, 8), (1, 4)),
}  # fmt: skip
"""Rows and vectors of a tile of sums, by the number of f32 in a vector."""

_INPUTS = ("one", "two", "three", "four", "five")  # names of the entry's parameters
_MOST_DOTS = 4  # rows and keys of a tile of dot products, whose sums are in registers
_BLOCKS = (64, 128, 256, 96, 512)  # keys of a block
_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_FMA_CYCLES, _WORKGROUP_CYCLES = 4, 2000.0
_WEIGH_CYCLES, _PACK_CYCLES, _TOTAL_CYCLES = 16.0, 0.6, 8.0


class CAttention(CKernel):
    """Each workgroup computes some queries of a head, in one pass over the keys."""

    name = "c_attention_f32"
    summary = "attention of f32, f16 and bf16 in one pass in C, if a result has a head's values together"

    def refuses(self, problem: Problem) -> str:
        if not is_attention(problem.workload):
            return "it is not attention"
        shape = attention_shape(problem)
        if shape is None:
            return "several of its loops have the same role"
        types = [each.element_type for each in (*problem.inputs, problem.result)]
        if "BIAS" in shape.sources or problem.added is not None:
            return "it has a bias"
        if problem.before is not None:
            return "it has a window of keys"
        if not {*types} <= {*floats()}:
            return f"its types are {', '.join(types)}, not {' or '.join(floats())}"
        if shape.n > 1 and shape.steps["OUT"][1] != 1:
            return "the values of its result are not contiguous"
        fits = next(_plans(shape, _is_narrow(problem)), None)
        return "" if fits else f"its heads are too wide: {shape.k1} and {shape.n}"

    def variants(self, problem: Problem, target: Target) -> tuple[Knobs, ...]:
        shape = self.known(attention_shape(problem), problem)
        threads, plans = usable_cores(), _plans(shape, _is_narrow(problem))
        return tuple(each.knobs for each in sorted(plans, key=lambda each: each.cycles(threads)))

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        shape = self.known(attention_shape(problem), problem)
        plan = _AttentionTiling(shape, knobs, _is_narrow(problem))
        launch = Launch((-(-plan.all_tiles // knobs["tiles"]), math.prod(shape.batch), 1))
        return compiled(_SOURCE, _ENTRY, _macros(problem, plan), target, launch, knobs)


def _is_narrow(problem: Problem) -> bool:
    return problem.result.element_type != "f32"


def _macros(problem: Problem, plan: _AttentionTiling) -> dict[str, int | str]:
    shape = plan.shape
    types = [c_type(each.element_type) for each in (*problem.inputs, problem.result)]
    found: dict[str, int | str] = {
        **{name.upper(): value for name, value in plan.knobs.items()},
        "QUERIES": shape.m, "KEYS_IN_ALL": shape.k2, "DEPTH": shape.k1, "VALUES": shape.n,
        "SCALE": f"{problem.scale * math.log2(math.e) * (1.0 if problem.cap is None else 2.0)!r}f",
        "CAUSAL": int(problem.after is not None), "AFTER": problem.after or 0,
        "BATCHES": max(1, len(shape.batch)), "SIZES": ",".join(map(str, shape.batch or (1,))),
        "OUT_ROW": shape.steps["OUT"][0], "RESULT": types[-1], "KEPT": int(plan.keeps),
        "EARLIER": shape.earlier,
    }  # fmt: skip
    if problem.cap is not None:
        found["CAP"] = f"{problem.cap * math.log2(math.e)!r}f"
    for name, steps in shape.batch_steps.items():
        found[f"{name}_STEPS"] = ",".join(map(str, steps or (0,)))
    for name in shape.sources:
        found[f"{name}_ROW"], found[f"{name}_COLUMN"] = shape.steps[name]
        found[f"{name}_INPUT"], found[f"{name}_START"] = _INPUTS[shape.sources[name]], shape.starts[name]
        found[f"{name}_TYPE"] = types[shape.sources[name]]
    inputs = (f"const {kind} *{name}" for kind, name in zip(types[:-1], _INPUTS, strict=False))
    return found | {"INPUTS": ", ".join(inputs)}


@dataclass(frozen=True)
class _AttentionTiling:
    """A shape with knobs: `rows`, `vectors`, `lanes`, `keys`, `tiles`, `pack_values`, `dot`.

    `narrow` says that the result is not f32.
    """

    shape: AttentionShape
    knobs: Knobs
    narrow: bool

    @property
    def all_tiles(self) -> int:
        return -(-self.shape.m // self.knobs["rows"])

    @property
    def across(self) -> int:
        return -(-self.shape.n // self.knobs["lanes"])

    @property
    def keeps(self) -> bool:
        """Whether weighted sums of values go on with other keys, and the result cannot have them."""
        return self.narrow and min(self.knobs["keys"], self.shape.earlier) < self.shape.k2

    def legal(self) -> bool:
        """Whether its arrays fit onto the stack."""
        knobs = self.knobs
        packed = (1 - knobs["dot"]) * self.shape.k1 + knobs["pack_values"] * self.across * knobs["lanes"]
        each = 2 + self.keeps * self.across * knobs["lanes"]
        scores = knobs["rows"] * (knobs["keys"] + each * knobs["tiles"])
        return 4 * (knobs["keys"] * packed + scores) <= MOST_STACK

    def cycles(self, threads: int) -> float:
        """The predicted time on that many threads, in cycles."""
        shape, knobs = self.shape, self.knobs
        rows, vectors, lanes = knobs["rows"], knobs["vectors"], knobs["lanes"]
        if knobs["dot"]:
            one = rows * -(-shape.k1 // lanes) * 1.0 + rows * _TOTAL_CYCLES
            one *= shape.k2
        else:
            one = -(-shape.k2 // (vectors * lanes)) * shape.k1 * _step(rows, vectors)
        whole, rest = divmod(self.across, vectors)
        one += shape.k2 * (whole * _step(rows, vectors) + (_step(rows, rest) if rest else 0.0))
        one += rows * -(-shape.k2 // lanes) * _WEIGH_CYCLES
        one += -(-shape.k2 // knobs["keys"]) * rows * (40.0 + 4 * self.across)
        tiles = min(knobs["tiles"], self.all_tiles)
        packing = shape.k2 * shape.k1 * _PACK_CYCLES * (1 - knobs["dot"])
        packing += shape.k2 * self.across * 1.5 * knobs["pack_values"]
        workgroups = -(-self.all_tiles // knobs["tiles"]) * math.prod(shape.batch)
        slower = 1.0 if lanes == widths()[0] else 1.3
        return -(-workgroups // threads) * (tiles * one + packing + _WORKGROUP_CYCLES) * slower


def _step(rows: int, vectors: int) -> float:
    """Cycles of a tile's products for one element of the depth."""
    return max(rows * vectors / 2, _FMA_CYCLES, (rows + vectors) / 2)


def _plans(shape: AttentionShape, narrow: bool) -> Iterator[_AttentionTiling]:
    apart = {name: shape.steps[name][1] for name in shape.sources}  # elements from column to column
    dots = (0, 1) if apart["Q"] == apart["K"] == apart.get("K_LATER", 1) == 1 or shape.k1 == 1 else (0,)
    in_place = apart["V"] == apart.get("V_LATER", 1) == 1 or shape.n == 1
    for lanes in widths():
        for (rows, vectors), dot, packs in product(_TILES[lanes], dots, (0, 1) if in_place else (1,)):
            if rows > max(1, shape.m) or (dot and rows > _MOST_DOTS):
                continue
            wide, all_tiles = vectors * lanes, -(-shape.m // rows)
            most = -(-shape.k2 // wide)
            blocks = dict.fromkeys(wide * max(1, min(each // wide, most)) for each in _BLOCKS)
            for keys, parts in product(blocks, (each for each in _PARTS if each <= all_tiles)):
                knobs = {
                    "rows": rows, "vectors": vectors, "lanes": lanes, "keys": keys,
                    "tiles": -(-all_tiles // parts), "pack_values": packs, "dot": dot,
                }  # fmt: skip
                plan = _AttentionTiling(shape, knobs, narrow)
                if plan.legal():
                    yield plan
