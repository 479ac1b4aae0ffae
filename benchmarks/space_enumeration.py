"""How long it takes to enumerate spaces and to sample them, beside z3 on the same constraints.

    python benchmarks/space_enumeration.py --z3-limit 120 [CASE ...]

Each time is from the constraints op on, with nothing kept from an earlier run: the op is read, and domains
and tables are made. z3 enumerates model by model (it is asked for another one until there is none) and is
stopped at the limit. Where z3 ends, the two sets are compared.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from iree.compiler import ir

from iree_tuner.compiler.context import new_context
from iree_tuner.program.extract import extract_here
from iree_tuner.space.build import build_space
from iree_tuner.space.emitted import emit_here
from iree_tuner.space.interpreter import read_program
from iree_tuner.space.sampling import Join, Members, enumerate_members, shuffled
from iree_tuner.space.space import Judge, Space
from iree_tuner.targets import CpuLimits, parse_target

PROGRAMS = Path(__file__).parent.parent / "programs" / "ops"
SAMPLES = 100


@dataclass(frozen=True)
class GpuCase:
    """A matrix multiplication in f16, its sum in f32, and a pipeline with constraints of the compiler."""

    name: str
    target: str
    pipeline: str
    program: str


GPU_CASES = (
    GpuCase("gfx942_tile_and_fuse", "hip:gfx942", "TileAndFuse", "matmul_1024x1280x1280_f16_transposed"),
    GpuCase("sm_80_tile_and_fuse", "cuda:sm_80", "TileAndFuse", "matmul_1024_f16_f32"),
    GpuCase("sm_80_vector_distribute", "cuda:sm_80", "VectorDistribute", "matmul_1024_f16_f32"),
)
CPU_CASES = ("matmul_f32", "conv_stride_1", "softmax", "attention")


def main() -> int:
    """Print a line a case. Exit status 1 when z3 ends and has another set."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", help="names of cases; all of them without")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--z3-limit", type=float, default=120.0, metavar="SECONDS", help="0 leaves z3 out")
    arguments = parser.parse_args()
    print(f"{'case':24} {'members':>9} {'enumerate ms':>17} {f'{SAMPLES} samples ms':>17}  z3")
    print(f"{'':24} {'':>9} {'median':>8} {'min':>8} {'median':>8} {'min':>8}")
    agree = True
    for name, space in spaces():
        if arguments.cases and name not in arguments.cases:
            continue
        op = space.op.operation
        everyone = enumerate_members(Join(read_program(op)))
        enumerated = times(lambda op=op: len(enumerate_members(Join(read_program(op)))), arguments.repeats)
        sampled = times(lambda op=op: sample(op), arguments.repeats)
        figures = " ".join(f"{figure:8.1f}" for figure in (*enumerated, *sampled))
        print(f"{name:24} {len(everyone):>9} {figures}", end="  ", flush=True)
        verdict, same = ask_z3(op, everyone, arguments.z3_limit)
        print(verdict, flush=True)
        agree &= same
    return 0 if agree else 1


def spaces() -> Iterator[tuple[str, Space]]:
    """The cases by name. GPU spaces are the compiler's constraints as they are, without supplements."""
    context = new_context()
    for case in GPU_CASES:
        target = parse_target(case.target)
        source = PROGRAMS / f"{case.program}.mlir"
        (dispatch,) = extract_here(source.read_bytes(), source.name, target).dispatches
        assert dispatch.harness is not None
        for bytecode in emit_here(dispatch.harness.module, target.flags):
            with context:
                space = Space(dispatch.workload, ir.Module.parse(bytecode))
            if space.pipeline == case.pipeline:
                yield case.name, space
    target = parse_target("llvm-cpu:host")
    for name in CPU_CASES:
        source = PROGRAMS / f"cpu_{name}.mlir"
        (dispatch,) = extract_here(source.read_bytes(), source.name, target).dispatches[-1:]
        yield name, build_space(dispatch.workload, CpuLimits(), context)


def sample(op: ir.Operation) -> int:
    """Draw the first samples of a seeded order."""
    join = Join(read_program(op))
    return len(list(islice(shuffled(join, lambda: enumerate_members(join), 0), SAMPLES)))


def times(run: Callable[[], int], repeats: int) -> tuple[float, float]:
    """Median and minimum in milliseconds."""
    found: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        run()
        found.append((time.perf_counter() - started) * 1e3)
    return statistics.median(found), min(found)


def ask_z3(op: ir.Operation, members: Members, limit_s: float) -> tuple[str, bool]:
    """What z3 found, in words, and whether it is what we found, as far as it got."""
    if not limit_s:
        return "not asked", True
    ours = set(map(tuple, members.values(np.arange(len(members))).tolist()))
    started = time.perf_counter()
    found: set[tuple[int, ...]] = set()
    for model in Judge(op).each_model(members.names):
        found.add(model)
        if time.perf_counter() - started > limit_s:
            return f"more than {len(found)} members in {limit_s:.0f} s", found <= ours
    seconds = time.perf_counter() - started
    same = found == ours
    return f"{len(found)} members in {seconds:.1f} s, {'the same' if same else 'ANOTHER SET'}", same


if __name__ == "__main__":
    sys.exit(main())
