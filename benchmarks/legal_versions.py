"""Whether programs that are compiled in other correct ways are called right.

    python benchmarks/legal_programs.py FOLDER
    python benchmarks/legal_versions.py FOLDER/*.mlir --json rows.jsonl

Each program is compiled by default and in seven other ways for this machine's processor: other instructions,
sums in another order, O3, data tiling, aggressive fusion. Each version's results on three seeds are compared
with the default's, as `tune` compares them.

A version is correct if it is at most five times as far from the program in f32 as the default is. `further`
says how many times (root of the mean square, of the worst result and seed). Some code is not: plain SSE makes
zeros of subnormal numbers of f16 (docs/upstream). Prints a row for each version, and in the end how many
correct ones are called wrong or compared unreliably. The status is 1 if any is called wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from iree_tuner.check.parts import Pieces, judge_here
from iree_tuner.device.numerics import is_float
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.device.slack import ErrorDepth, Results, Spread, Spreads, agreement_of
from iree_tuner.errors import TunerError
from iree_tuner.program.extract import extract_here
from iree_tuner.program.parts import take_apart
from iree_tuner.program.phases import compile_widened, run_phases
from iree_tuner.program.source import load_program
from iree_tuner.targets import DEFAULT_DEVICE, target_for_device
from iree_tuner.tuning.faults import sums_of

_SSE = ("--iree-llvmcpu-target-cpu=x86-64", "--iree-llvmcpu-target-cpu-features=")
_FURTHER = 5.0  # times as far from f32 as the default: no correct version
_TILING = "--iree-opt-data-tiling=true"
WAYS = {
    "sse": _SSE,
    "avx2": ("--iree-llvmcpu-target-cpu=haswell",),
    "order": ("--iree-llvmcpu-reassociate-fp-reductions=false",),
    "O3": ("--iree-opt-level=O3",),
    "data_tiling": (_TILING,),
    "fusion": ("--iree-dispatch-creation-enable-aggressive-fusion=true",),
    "sse_data_tiling": (*_SSE, _TILING),
}


def rows_of(path: str, folder: Path) -> Iterator[dict[str, object]]:
    """One row for each way to compile a program."""
    program, target = load_program(path), target_for_device(DEFAULT_DEVICE, "host")
    run = request(program)

    def written(name: str, data: bytes) -> str:
        file = folder / f"{Path(path).stem}.{name}.vmfb"
        file.write_bytes(data)
        return str(file)

    def loaded(name: str, flags: tuple[str, ...]) -> LoadedProgram:
        own = replace(target, flags=(*target.flags, *flags))
        made = run_phases(program.data, program.name, own, stop=None, output="vmfb", filled=True)
        return LoadedProgram(written(name, made.data), DEFAULT_DEVICE, run)

    base = loaded("default", ())
    data = compile_widened(program.data, program.name, target)
    widened = LoadedProgram(written("widened", data), DEFAULT_DEVICE, run, like=base) if data else None
    dispatches = extract_here(program.data, program.name, target).dispatches
    parts = take_apart(program.data, program.name, target)
    pieces = Pieces(written("parts", parts.vmfb), replace(parts, vmfb=b""))
    judged = judge_here(pieces, None, DEFAULT_DEVICE, run, sums_of(dispatches), narrow=widened is None)
    longest = max((each.workload.reduction_length for each in dispatches if each.workload), default=1)
    seen = base.spreads(ErrorDepth(longest, len(dispatches)), widened)
    spreads = base.spreads(ErrorDepth(longest, len(dispatches), judged.moves), widened)
    for name, flags in WAYS.items():
        results = loaded(name, flags).results()
        found = agreement_of(results, base.results(), spreads)
        yield {
            "program": program.name, "way": name, "right": found.ok, "unreliable": found.loose,
            "further": further(results, widened.results(), seen) if widened else None,
            "of_allowed": found.worst, "message": found.message or found.note,
        }  # fmt: skip


def further(results: Results, exact: Results, seen: Spreads) -> float:
    """How many times as far from the program in f32 as the default."""
    return max(
        Spread.between([(own, wide)]).typical / max(spread.typical, sys.float_info.min)
        for mine, others, most in zip(results, exact, seen, strict=True)
        for own, wide, spread in zip(mine, others, most, strict=True)
        if is_float(own) and spread.typical
    )


def main() -> int:
    """Print a row a line, and the sum."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    count = wrong = unreliable = apart = 0
    for path in given.programs:
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows = [*rows_of(path, Path(folder))]
            except TunerError as error:
                print(json.dumps({"program": path, "problem": str(error)}), flush=True)
                continue
        for row in rows:
            if (row["further"] or 0.0) > _FURTHER:
                apart += 1
            else:
                count, wrong = count + 1, wrong + (not row["right"])
                unreliable += bool(row["unreliable"])
            print(json.dumps(row), flush=True)
            if given.json is not None:
                with given.json.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    print(f"{count} correct versions: {wrong} called wrong, {unreliable} compared unreliably; {apart} others")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
