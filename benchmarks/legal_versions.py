"""Whether programs that are compiled in other correct ways are called right.

    python benchmarks/legal_programs.py FOLDER
    python benchmarks/legal_versions.py FOLDER/*.mlir --json rows.jsonl

Each program is compiled by default and in seven other ways for this machine's processor: other instructions,
sums in another order, O3, data tiling, aggressive fusion. Each version's results on three seeds are compared
with the default's, as `tune` compares them. Prints a row for each version, and in the end how many are called
wrong or said to be compared unreliably. Ends with status 1 if any is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from iree_tuner.errors import TunerError
from iree_tuner.execute.apart import judge_here
from iree_tuner.execute.conditioning import Depth, agreement_of
from iree_tuner.execute.parts_loaded import Pieces
from iree_tuner.execute.program_loaded import LoadedProgram
from iree_tuner.execute.program_request import request
from iree_tuner.program.extract import extract_here
from iree_tuner.program.parts import take_apart
from iree_tuner.program.phases import compile_widened, run_phases
from iree_tuner.program.source import load_program
from iree_tuner.targets import DEFAULT_DEVICE, target_for_device
from iree_tuner.tuning.sound import sums_of

_SSE = ("--iree-llvmcpu-target-cpu=x86-64", "--iree-llvmcpu-target-cpu-features=")
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
    spreads = base.spreads(Depth(longest, len(dispatches), judged.moves), widened)
    for name, flags in WAYS.items():
        found = agreement_of(loaded(name, flags).results(), base.results(), spreads)
        yield {
            "program": program.name, "way": name, "right": found.ok, "unreliable": found.loose,
            "of_allowed": found.worst, "message": found.message or found.note,
        }  # fmt: skip


def main() -> int:
    """Print a row a line, and the sum."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    count = wrong = unreliable = 0
    for path in given.programs:
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows = [*rows_of(path, Path(folder))]
            except TunerError as error:
                print(json.dumps({"program": path, "problem": str(error)}), flush=True)
                continue
        for row in rows:
            count, wrong = count + 1, wrong + (not row["right"])
            unreliable += bool(row["unreliable"])
            print(json.dumps(row), flush=True)
            if given.json is not None:
                with given.json.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    print(f"{count} versions: {wrong} called wrong, {unreliable} compared unreliably")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
