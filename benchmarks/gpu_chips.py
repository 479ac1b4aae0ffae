"""Is code that is compiled for one chip faster than code for another? Each dispatch of a program, in turns.

    python benchmarks/gpu_chips.py programs/layers/llama_3_8b.mlir --chips sm_89 sm_90 --device cuda://0 \\
        --spec specs/cuda/h200/llama_3_8b.spec.mlir --json rows.jsonl

The compiler's default, compiled for each chip, takes turns with itself on the same memory, and so does the
spec's choice, where there is one. Prints a JSON object a dispatch: the defaults, and the spec's choices, for
the second chip against the first (above 1 the second is faster), with intervals; `differs` says where numbers
are not those of the first chip's default.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.device.bench import Bench
from iree_tuner.measure.candidate import Builder
from iree_tuner.measure.measurer import Measurer
from iree_tuner.measure.statistics import JudgePlan
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.spec.io import Starter, read_starters
from iree_tuner.targets import Target, target_for_device
from iree_tuner.tuning.baseline import tolerance_of

SECONDS = 20.0


def main() -> None:
    """Compile all, then compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=Path)
    parser.add_argument("--spec", type=Path, action="append", default=[])
    parser.add_argument("--chips", nargs=2, default=["sm_89", "sm_90"])
    parser.add_argument("--device", default="cuda://0")
    parser.add_argument("--rounds", type=int, default=128)
    parser.add_argument("--json", type=Path, help="file to which rows are appended, one a line")
    given = parser.parse_args()
    chosen = read_starters(given.spec, new_context())
    targets = [target_for_device(given.device, chip) for chip in given.chips]
    with Workers(2) as workers, Workers(1, memory_bytes=None) as measuring:
        program = load_program(given.program)
        first, second = (
            {each.name: each for each in extract(program, target, workers).dispatches} for target in targets
        )
        pairs = [(each, second[name]) for name, each in first.items() if name in second]
        measurer = Measurer(given.device, measuring)
        built = [made for pair in pairs if (made := versions(pair, targets, chosen, workers))]
        for bench, names, codes in built:
            row = {
                "program": given.program.stem,
                "chips": given.chips,
                **compared(bench, names, codes, measurer, given),
            }
            print(json.dumps(row), flush=True)
            if given.json:
                with given.json.open("a") as file:
                    file.write(json.dumps(row) + "\n")


def versions(
    pair: tuple[Dispatch, ...],
    targets: list[Target],
    chosen: dict[str, tuple[Starter, ...]],
    workers: Workers,
) -> tuple[Bench, list[str], list[bytes]] | None:
    """A dispatch's bench, with names and executables; None where it cannot be run, or has no default."""
    workload, harness = pair[0].workload, pair[0].harness
    if workload is None or harness is None:
        return None
    names, codes = list[str](), list[bytes]()
    starters = chosen.get(workload.key, ())[:1]
    for what, choice in (("default", None), *(("spec", configuration_of(each)) for each in starters)):
        for dispatch, target in zip(pair, targets, strict=True):
            assert dispatch.harness is not None, "the same dispatch can be run on both"
            made = Builder(target, workers).build(dispatch.harness, choice)
            if made.outcome == "ok":
                names.append(f"{what} {target.chip}")
                codes.append(made.vmfb)
    if not names or names[0] != f"default {targets[0].chip}":
        return None
    bench = Bench(harness, "", codes[0], tolerance_of(workload))
    return bench, [workload.name, *names], codes


def configuration_of(starter: Starter) -> Configuration:
    """What a spec says of a root op, as it is put on it."""
    with new_context():
        lowering, translation = map(ir.Attribute.parse, (starter.lowering_config, starter.translation_info))
        info = iree_codegen.CompilationInfoAttr.get(lowering, translation)
        return Configuration((OpConfiguration("root", "compilation_info", str(info)),))


def compared(
    bench: Bench, names: list[str], codes: list[bytes], measurer: Measurer, given: argparse.Namespace
) -> dict[str, Any]:
    """Pairs of the same choice for both chips."""
    workload, *versions = names
    bench = replace(bench, device=given.device)
    measurer.time_default(bench)
    row: dict[str, Any] = {"workload": workload}
    by_name = dict(zip(versions, codes, strict=True))
    for what in ("default", "spec"):
        pair = [by_name.get(f"{what} {chip}") for chip in given.chips]
        if None in pair:
            continue
        first, second = (code for code in pair if code is not None)
        plan = JudgePlan(given.rounds, seconds=SECONDS, hope=0.0)
        (found,) = measurer.compare([(first, [second])], bench, plan)
        agreement = measurer.agrees(second, bench)
        row[what] = [found.speedup, *found.interval]
        row[f"{what}_us"] = [found.default_us, found.candidate_us]
        if not agreement.ok:
            row["differs"] = f"{what}: {agreement.message}"
    return row


if __name__ == "__main__":
    main()
